"""Samples in progress: a compiled forest, and how far each sample has come in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.acquisition import decided_kernels, kernels
from thriftwood.acquisition.decided_kernels import ScoreBounds
from thriftwood.acquisition.kernels import KNOWN, REQUESTED, NodeArrays, State
from thriftwood.costs import MODEL, PriceList
from thriftwood.forest import LEAF, LINK_NUMBERS, Forest, Stages, predictions, value_ranges
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only_copy

# A bundle of arrays for kernels, without its names.
PlainTuple = tuple[Any, ...]
# `ScoreBounds`, `PriceArrays` and `Stopping`, in plain tuples.
Weighing = tuple[PlainTuple, PlainTuple, PlainTuple]


@dataclass(frozen=True, eq=False)
class CompiledForest:
    """The stages of a model, a single one for a plain model, as kernels read them.

    `forests` are those of the stages `in_use`, `nodes` is a plain tuple of `NodeArrays`.
    """

    stages: Stages
    in_use: IntArray
    forests: list[Forest]
    nodes: PlainTuple

    @property
    def richest(self) -> Forest:
        """The last forest, whose columns and classes are those of all."""
        return self.stages.richest

    def score_bounds(self, leaves_only: bool) -> PlainTuple:
        """Return the plain tuple of `ScoreBounds`, of trees that end at leaves or at any node."""
        ranges = [value_ranges(forest, leaves_only) for forest in self.forests]
        low, high = (_joined(bounds) for bounds in zip(*ranges, strict=True))
        rules = [_label_rule(forest) for forest in self.forests]
        return tuple(ScoreBounds(low, high, label_rule=read_only_copy(rules, np.uint8)))

    def predictions(self, scores: FloatArray, stage: IndexArray) -> FloatArray:
        """Return predictions from scores and the stages in use where samples stopped."""
        if len(self.forests) == 1:
            return predictions(self.forests[0].link, scores)
        classes = self.richest.classes
        predicted = np.empty((len(scores), 1 if classes is None else len(classes)))
        for number, forest in enumerate(self.forests):
            stopped = stage == number
            predicted[stopped] = predictions(forest.link, scores[stopped])
        return predicted

    def traversal(
        self, n_samples: int, n_slots: int, one_by_one: bool, weighing: Weighing | None
    ) -> Traversal:
        return Traversal(self, n_samples, n_slots, one_by_one, weighing)


def compile_stages(stages: Stages, wait: bool = False) -> CompiledForest:
    """Put the nodes of the stages in use into arrays, one stage after the other.

    Those that `wait` stop at every stage, until they are sent on.
    """
    in_use = np.array(stages.in_use)
    forests = [stages.forests[number] for number in in_use]
    first_node = np.cumsum([0] + [forest.n_nodes for forest in forests[:-1]])
    splits = [_shifted(*one) for one in zip(forests, first_node, strict=True)]
    of_nodes = [_joined(arrays) for arrays in zip(*splits, strict=True)][:-2]
    roots = [one.tree_start[:-1] + first for one, first in zip(forests, first_node, strict=True)]
    root_features = [forest.features_at_roots for forest in forests]
    divisor = [forest.n_trees if forest.combine == "mean" else 1 for forest in forests]
    nodes = NodeArrays(
        splits=(*of_nodes, stages.richest.set_start, stages.richest.in_set),
        roots=read_only_copy(roots, np.int32),
        values=_joined([forest.values for forest in forests]),
        bias=read_only_copy([forest.bias for forest in forests], np.float64),
        divisor=read_only_copy(divisor, np.float64),
        link=read_only_copy([LINK_NUMBERS.get(forest.link, 0) for forest in forests], np.int64),
        error_costs=read_only_copy(stages.error_costs),
        threshold=read_only_copy(stages.thresholds[in_use] * (not wait)),
        root_features=read_only_copy(np.concatenate(root_features), np.int64),
        root_feature_start=read_only_copy(np.cumsum([0, *map(len, root_features)]), np.int64),
    )
    return CompiledForest(stages, in_use, forests, tuple(nodes))


def price_arrays(prices: PriceList) -> PlainTuple:
    """Return the plain tuple of `PriceArrays`: what features add to the bill of a sample.

    That is nothing for cost items of the model, and of what batches pay together a part, for
    batches of the usual size.
    """
    amount = prices.prices.copy()
    amount[prices.payer == MODEL] = 0
    for number, batch_of in enumerate(prices.batch_of):
        amount[prices.payer == number] *= (batch_of.max() + 1) / len(batch_of)
    own_price = np.empty((0, 0)) if prices.own_prices is None else prices.own_prices
    arrays = prices.start, prices.cost_item, prices.mask, amount, own_price, prices.masks
    return *(read_only_copy(array) for array in arrays), float(prices.per_split)


class Traversal:
    """Samples on their way down the trees, and the values that they have got so far.

    Working memory goes by slots, one for each sample in progress. With `one_by_one` a sample
    requests one value at a time, tree after tree. With `weighing`, which is `ScoreBounds`,
    `PriceArrays` and `Stopping` in plain tuples, it requests the most telling value for its price.
    `first_uses` keeps the pairs of feature and tree of samples that have arrived, as bytes: small
    arrays are mostly overhead.
    """

    def __init__(
        self,
        forest: CompiledForest,
        n_samples: int,
        n_slots: int,
        one_by_one: bool,
        weighing: Weighing | None = None,
    ) -> None:
        richest = forest.richest
        shape = n_samples, richest.n_features
        self.first_uses = [b""] * n_samples
        self.state = State(
            values=np.full(shape, np.nan, richest.input_dtype),
            status=np.zeros(shape, np.uint8),
            stage=np.zeros(n_samples, np.int32),
            scores=np.empty((n_samples, richest.n_outputs)),
            n_tests=np.zeros(n_samples, np.int64),
            node=np.empty((n_slots, richest.n_trees), np.int32),
            first_uses=np.empty((n_slots, richest.n_features, 2), np.int32),
            n_first_uses=np.zeros(n_slots, np.int32),
        )
        self._roots_of_stages = NodeArrays(*forest.nodes).roots
        self._roots = self._roots_of_stages[0]
        self._numbers = np.arange(max(n_samples, n_slots))
        state = tuple(self.state)
        self._advance: Callable[[IntArray, IntArray], int]
        if weighing is None:
            self._advance = partial(kernels.advance, forest.nodes, state, one_by_one)
        else:
            advance = decided_kernels.advance_weighing
            self._advance = partial(advance, forest.nodes, *weighing, state)

    def set_known(self, known: BoolArray, values: NDArray[Any]) -> None:
        """Take in what samples know before they start."""
        self.state.status[known] = KNOWN
        self.state.values[known] = values[known]

    def start(self, i: int, slot: int) -> Callable[[], int]:
        """Put a sample at the roots; return the function that advances it to its next request.

        That returns the feature that the sample requests last, or `NOTHING` at the end.
        """
        self.clear(slot)
        return partial(self._advance, self._numbers[i : i + 1], self._numbers[slot : slot + 1])

    def clear(self, slots: int | slice) -> None:
        """Put samples that are about to start in some slots at the roots."""
        self.state.node[slots] = self._roots
        self.state.n_first_uses[slots] = 0

    def send_on(self, samples: IntArray) -> None:
        """Send samples that wait at a stage to the next, where each has its own slot."""
        self.state.stage[samples] += 1
        self.state.n_tests[samples] = 0
        self.state.node[samples] = self._roots_of_stages[self.state.stage[samples]]

    def requested(self, i: int) -> list[int]:
        """Return all features that a sample has requested."""
        return np.flatnonzero(self.state.status[i] == REQUESTED).tolist()

    def advance_batch(self, samples: IntArray, slots: IntArray) -> tuple[IntArray, IntArray]:
        """Advance several samples; return the samples and features of all their requests."""
        self._advance(samples, slots)
        place, feature = np.nonzero(self.state.status[samples] == REQUESTED)
        return samples[place], feature

    def finish(self, i: int, slot: int) -> None:
        """Keep the first uses of a sample that has arrived: its slot will be used again."""
        number = self.state.n_first_uses[slot]
        self.first_uses[i] = self.state.first_uses[slot, :number].tobytes()


def _shifted(forest: Forest, first_node: int) -> PlainTuple:
    """Return the splits of a forest whose nodes are numbered from another one on."""
    splits = forest.layout.splits
    left, right = (
        np.where(below == LEAF, LEAF, below + first_node).astype(np.int32)
        for below in (splits.left, splits.right)
    )
    return splits._replace(left=left, right=right)


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return one array of all parts, read-only: kernels are compiled again for what is not."""
    return read_only_copy(parts[0] if len(parts) == 1 else np.concatenate(parts))


def _label_rule(forest: Forest) -> int:
    """Return the rule by which scores decide on a label, given the link."""
    if forest.link == "identity":
        return int(decided_kernels.EXACT)
    if forest.link == "logistic" and forest.n_outputs > 1:
        return int(decided_kernels.SHARES)
    return int(decided_kernels.GAP)
