"""Samples that buy nested sets of features, stage after stage.

The counterpart of `traversal` for models that are not one forest: a sample requests all features of
the next set, and goes on while the model on that set is not sure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thriftwood.acquisition.kernels import KNOWN, NOTHING, REQUESTED, UNKNOWN, USED, State
from thriftwood.acquisition.traversal import Traversal
from thriftwood.forest import Forest, NestedStages, Stages
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray


@dataclass(frozen=True, eq=False)
class CompiledSets:
    """Nested stages, as `CompiledForest` is for trees."""

    nested: NestedStages
    stages: Stages
    wait: bool = False

    @property
    def richest(self) -> Forest:
        """Trees that know the columns and the classes."""
        return self.stages.richest

    @property
    def in_use(self) -> IntArray:
        return np.array(self.nested.in_use)

    def predictions(self, scores: FloatArray, _stage: IndexArray) -> FloatArray:
        return scores

    def traversal(self, n_samples: int, n_slots: int, one_by_one: bool, _: None) -> SetTraversal:
        return SetTraversal(self.nested, n_samples, n_slots, one_by_one, self.wait)


class SetTraversal(Traversal):
    """Samples on their way through the stages; they keep their own state, in no slots."""

    def __init__(
        self,
        nested: NestedStages,
        n_samples: int,
        n_slots: int,
        one_by_one: bool,
        wait: bool = False,
    ) -> None:
        shape = n_samples, nested.n_features
        self._nested, self._one_by_one, self._waits = nested, one_by_one, wait
        self._in_use = nested.in_use
        self._columns = [np.array(sorted(nested.sets[number]), int) for number in self._in_use]
        self.first_uses = [b""] * n_samples
        self._uses: list[list[tuple[int, int]]] = [[] for _ in range(n_samples)]
        self._is_done = np.zeros(n_samples, dtype=np.bool_)
        self.state = State(
            values=np.full(shape, np.nan),
            status=np.zeros(shape, np.uint8),
            stage=np.zeros(n_samples, np.int32),
            scores=np.empty((n_samples, max(1, len(nested.error_costs)))),
            n_tests=np.zeros(n_samples, np.int64),
            node=np.empty((n_slots, 0), np.int32),
            first_uses=np.empty((0, 0, 2), np.int32),
            n_first_uses=np.empty(0, np.int32),
        )
        self._numbers = np.arange(max(n_samples, n_slots))

    def clear(self, _slots: int | slice) -> None:
        """Do nothing."""

    def send_on(self, samples: IntArray) -> None:
        """Send samples that wait at a stage to the next."""
        self.state.stage[samples] += 1
        self._is_done[samples] = False

    def finish(self, i: int, _slot: int) -> None:
        """Keep the first uses of a sample that has arrived."""
        self.first_uses[i] = np.array(self._uses[i], np.int32).tobytes()

    def _advance(self, samples: IntArray, _slots: IntArray) -> int:
        """Advance samples until each waits for a value or has arrived; return the last request."""
        wanted, moving = NOTHING, samples[~self._is_done[samples]]
        while len(moving):
            ready = []
            for i in moving.tolist():
                requested = self._request(i)
                wanted = requested if requested != NOTHING else wanted
                if requested == NOTHING:
                    ready.append(i)
            moving = self._unsure(np.array(ready, dtype=np.int64))
        return int(wanted)

    def _request(self, i: int) -> int:
        """Request what the stage of a sample lacks, one value or all; return the last."""
        stage = self.state.stage[i]
        columns, status = self._columns[stage], self.state.status[i]
        for feature in columns[status[columns] == KNOWN].tolist():
            status[feature] = USED
            self._uses[i].append((feature, self._in_use[stage]))
        lacking = columns[status[columns] <= REQUESTED]
        if self._one_by_one:
            lacking = lacking[:1]
        for feature in lacking[status[lacking] == UNKNOWN].tolist():
            status[feature] = REQUESTED
            self._uses[i].append((feature, self._in_use[stage]))
        return int(lacking[-1]) if len(lacking) else NOTHING

    def _unsure(self, samples: IntArray) -> IntArray:
        """Predict samples that have all of their stage; return those that go on."""
        go_on = [np.empty(0, dtype=np.int64)]
        for stage in np.unique(self.state.stage[samples]).tolist():
            own = samples[self.state.stage[samples] == stage]
            number, values = self._in_use[stage], self.state.values[own]
            outputs = self._nested.outputs(number, values)
            margins = self._nested.margins(number, values, outputs)
            stops = (margins >= self._nested.thresholds[number]) | self._waits
            self.state.scores[own[stops]] = outputs[stops]
            self._is_done[own[stops]] = True
            self.state.stage[own[~stops]] += 1
            go_on.append(own[~stops])
        return np.concatenate(go_on)
