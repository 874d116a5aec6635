"""Samples in progress: a compiled forest, and how far each sample has come in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.acquisition import decided_kernels, kernels
from thriftwood.acquisition.decided_kernels import LeafBounds, PriceArrays
from thriftwood.acquisition.kernels import KNOWN, NOTHING, REQUESTED, NodeArrays, State
from thriftwood.costs import MODEL, PriceList
from thriftwood.forest import LEAF, Forest, Stages, leaf_ranges, predictions
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, frozen

# A `NodeArrays`, `LeafBounds`, `PriceArrays` or `State` without its names.
PlainTuple = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class CompiledForest:
    """The stages of a model, a single one for a plain model, as kernels read them.

    Attributes
    ----------
    stages : Stages
    forests : list of Forest
        Those of the stages in use.
    nodes : plain tuple of `NodeArrays`
    """

    stages: Stages
    forests: list[Forest]
    nodes: PlainTuple

    @property
    def richest(self) -> Forest:
        """The last forest, whose columns and classes are those of all."""
        return self.stages.richest

    @cached_property
    def leaf_bounds(self) -> PlainTuple:
        """Plain tuple of `LeafBounds`."""
        ranges = [leaf_ranges(forest) for forest in self.forests]
        return tuple(
            LeafBounds(
                low=_joined([low for low, _ in ranges]),
                high=_joined([high for _, high in ranges]),
                label_rule=frozen([_label_rule(forest) for forest in self.forests], np.uint8),
            )
        )

    def predictions(self, scores: FloatArray, stage: IndexArray) -> FloatArray:
        """Return predictions from scores and the stages in use where samples stopped."""
        if len(self.forests) == 1:
            return predictions(self.forests[0].link, scores)
        n_columns = len(self.richest.classes) if self.richest.classes is not None else 1
        predicted = np.empty((len(scores), n_columns))
        for number, forest in enumerate(self.forests):
            stopped = stage == number
            predicted[stopped] = predictions(forest.link, scores[stopped])
        return predicted


def compile_stages(stages: Stages) -> CompiledForest:
    """Put the nodes of the stages in use into arrays, one stage after the other."""
    forests = [stages.forests[number] for number in stages.in_use]
    splits = [forest.splits for forest in forests]
    n_nodes = [forest.n_nodes for forest in forests]
    first_node = np.cumsum([0, *n_nodes[:-1]]).astype(np.int32)
    shift = np.repeat(first_node, n_nodes)
    root_features = [forest.features_at_roots for forest in forests]
    joined = {
        name: _joined([getattr(one, name) for one in splits])
        for name in ("feature", "threshold", "left", "right", "missing_left", "kind", "category_set")
    }
    for name in ("left", "right"):
        below = joined[name]
        joined[name] = frozen(np.where(below == LEAF, LEAF, below + shift), np.int32)
    nodes = NodeArrays(
        splits=(*joined.values(), stages.richest.set_start, stages.richest.in_set),
        roots=frozen(
            [one.tree_start[:-1] + first for one, first in zip(forests, first_node, strict=True)],
            np.int32,
        ),
        values=_joined([forest.values for forest in forests]),
        bias=frozen([forest.bias for forest in forests], np.float64),
        divisor=frozen(
            [forest.n_trees if forest.combine == "mean" else 1 for forest in forests], np.float64
        ),
        threshold=frozen(stages.thresholds[stages.in_use], np.float64),
        root_features=frozen(np.concatenate(root_features), np.int64),
        root_feature_start=frozen(np.cumsum([0, *map(len, root_features)]), np.int64),
    )
    return CompiledForest(stages, forests, tuple(nodes))


def price_arrays(prices: PriceList) -> PlainTuple:
    """Return the plain tuple of `PriceArrays`: what values would add to the bill of a sample.

    That is nothing for cost items of the model, and of what batches pay together a part, for
    batches of the usual size.
    """
    amount = prices.prices.copy()
    amount[prices.payer == MODEL] = 0
    for number, batch_of in enumerate(prices.batch_of):
        amount[prices.payer == number] *= (batch_of.max() + 1) / len(batch_of)
    own = None if prices.samples is None else prices.samples.own_prices
    return tuple(
        PriceArrays(
            start=frozen(prices.start, np.int32),
            cost_item=frozen(prices.cost_item, np.int32),
            mask=frozen(prices.mask, np.int32),
            amount=frozen(amount, np.float64),
            own_price=frozen(np.empty((0, 0)) if own is None else own, np.float64),
            masks=frozen(prices.masks, np.bool_),
        )
    )


class Traversal:
    """Samples on their way down the trees, and the values that they have got so far.

    Parameters
    ----------
    forest : CompiledForest
    n_samples : int
    n_slots : int
        How many samples can be in progress at a time: working memory goes by slots.
    one_by_one : bool
        Whether a sample requests one value at a time, tree after tree.
    prices : plain tuple of `PriceArrays`, optional
        Given, a sample requests one value at a time, the most telling for its price, and only
        until its label is decided.

    Attributes
    ----------
    values : shape (n_samples, n_features)
        What was known or found; NaN elsewhere, and where a value is missing.
    status : shape (n_samples, n_features)
        Of each value: `UNKNOWN`, `USED` and so on, in `kernels`.
    stage : shape (n_samples,)
        Of the stages in use, the one that a sample has come to.
    scores : shape (n_samples, n_outputs)
        Of samples that have arrived.
    n_tests : shape (n_samples,)
        How many splits have tested each sample, at its stage.
    first_uses : list of bytes
        Of samples that have arrived: pairs of 32-bit integers, the features in the order of their
        first use and the tree that was first. Bytes, since small arrays are mostly overhead.
    """

    values: NDArray[Any]
    status: NDArray[np.uint8]
    stage: IndexArray
    scores: FloatArray
    n_tests: IntArray
    first_uses: list[bytes]

    def __init__(
        self,
        forest: CompiledForest,
        n_samples: int,
        n_slots: int,
        one_by_one: bool,
        prices: PlainTuple | None = None,
    ) -> None:
        richest = forest.richest
        n_features = richest.n_features
        n_cost_items = 0 if prices is None else len(PriceArrays(*prices).amount)
        self.values = np.full((n_samples, n_features), np.nan, richest.input_dtype)
        self.status = np.zeros((n_samples, n_features), np.uint8)
        self.stage = np.zeros(n_samples, np.int32)
        self.scores = np.empty((n_samples, richest.n_outputs))
        self.n_tests = np.zeros(n_samples, np.int64)
        self.first_uses = [b""] * n_samples
        self._roots = NodeArrays(*forest.nodes).roots[0]
        self._numbers = np.arange(max(n_samples, n_slots))
        self._state = State(
            values=self.values,
            status=self.status,
            stage=self.stage,
            scores=self.scores,
            n_tests=self.n_tests,
            node=np.empty((n_slots, richest.n_trees), np.int32),
            first_uses=np.empty((n_slots, n_features, 2), np.int32),
            n_first_uses=np.zeros(n_slots, np.int32),
            paid=np.zeros((n_slots, n_cost_items), np.bool_),
        )
        state = tuple(self._state)
        if prices is None:
            self._advance = partial(kernels.advance, forest.nodes, state, one_by_one)
        else:
            self._advance = partial(
                decided_kernels.advance_until_decided,
                forest.nodes,
                forest.leaf_bounds,
                prices,
                state,
            )

    @property
    def n_slots(self) -> int:
        return len(self._state.node)

    def set_known(self, known: BoolArray, values: NDArray[Any]) -> None:
        """Take in what samples know before they start."""
        self.status[known] = KNOWN
        self.values[known] = values[known]

    def start(self, slots: int | slice) -> None:
        """Put samples that are about to start in some slots at the roots."""
        self._state.node[slots] = self._roots
        self._state.n_first_uses[slots] = 0
        self._state.paid[slots] = False

    def next_need(self, i: int, slot: int) -> int:
        """Advance one sample; return the feature that it requests last, or `NOTHING`."""
        numbers = self._numbers
        need: int = self._advance(numbers[i : i + 1], numbers[slot : slot + 1])
        return need

    def needs(self, i: int, slot: int) -> list[int]:
        """Advance one sample; return all features that it requests, none at the end."""
        if self.next_need(i, slot) == NOTHING:
            return []
        return np.flatnonzero(self.status[i] == REQUESTED).tolist()

    def needs_of_batch(self, samples: IntArray, slots: IntArray) -> tuple[IntArray, IntArray]:
        """Advance several samples; return the samples and features of all their requests."""
        self._advance(samples, slots)
        place, feature = np.nonzero(self.status[samples] == REQUESTED)
        return samples[place], feature

    def finish(self, i: int, slot: int) -> None:
        """Keep the first uses of a sample that has arrived: its slot will be used again."""
        number = self._state.n_first_uses[slot]
        self.first_uses[i] = self._state.first_uses[slot, :number].tobytes()


def _joined(parts: list[NDArray[Any]]) -> Any:
    """Return one array of all parts, read-only: kernels are compiled again for what is not."""
    return frozen(parts[0] if len(parts) == 1 else np.concatenate(parts), None)


def _label_rule(forest: Forest) -> int:
    """Return how sure scores must be of a label: as sure as what the link makes of them is."""
    if forest.link == "identity":
        return int(decided_kernels.EXACT)
    if forest.link == "logistic" and forest.n_outputs > 1:
        return int(decided_kernels.SHARES)
    return int(decided_kernels.GAP)
