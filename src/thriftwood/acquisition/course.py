"""The stages of a model, laid out one after another in the arrays that rows walk along."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.acquisition import decided_kernels
from thriftwood.forest import (
    LEAF,
    Forest,
    Stages,
    leaf_ranges,
    predictions,
)
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    read_only_copy,
)


class Track(NamedTuple):
    """What kernels walk along, in the order of their arguments.

    The nodes of all stages follow each other; `roots` has a row for each stage, and a row is sure
    enough to stop at a stage if its margin is at least `enough`. Stage `s` asks first for
    ``first_asked[first_asked_start[s]:first_asked_start[s + 1]]``, on which draws depend.
    """

    feature: IndexArray
    threshold: FloatArray
    left: IndexArray
    right: IndexArray
    missing_left: BoolArray
    kind: NDArray[np.uint8]
    category_set: IndexArray
    set_start: IntArray
    in_set: BoolArray
    roots: IndexArray
    says: FloatArray
    bias: FloatArray
    divisor: FloatArray
    enough: FloatArray
    first_asked: IntArray
    first_asked_start: IntArray


class Bounds(NamedTuple):
    """Between what the leaves below each node lie, and when a stage is sure of a label."""

    low: FloatArray
    high: FloatArray
    rule: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Course:
    """The way of rows through a model.

    Attributes
    ----------
    stages : Stages
    forests : list of Forest
        Those of the stages in use.
    track : Track
    """

    stages: Stages
    forests: list[Forest]
    track: Track

    @property
    def forest(self) -> Forest:
        """The richest forest: what it says about columns and classes holds for all."""
        return self.stages.richest

    @cached_property
    def bounds(self) -> Bounds:
        ranges = [leaf_ranges(forest) for forest in self.forests]
        return Bounds(
            low=_joined([low for low, _ in ranges]),
            high=_joined([high for _, high in ranges]),
            rule=read_only_copy([_rule(forest) for forest in self.forests], np.uint8),
        )

    def predictions(self, scores: FloatArray, stage: IndexArray) -> FloatArray:
        """Return what rows are predicted, by their scores and the stages in use they stopped at."""
        if len(self.forests) == 1:
            return predictions(self.forests[0].link, scores)
        n_columns = len(self.forest.classes) if self.forest.classes is not None else 1
        predicted = np.empty((len(scores), n_columns))
        for number, forest in enumerate(self.forests):
            stopped = stage == number
            predicted[stopped] = predictions(forest.link, scores[stopped])
        return predicted


def lay_out(stages: Stages) -> Course:
    """Lay out the stages in use, a single one for a plain model, for rows to walk along."""
    forests = [stages.forests[number] for number in stages.in_use]
    offsets = np.cumsum([0] + [forest.n_nodes for forest in forests[:-1]]).astype(np.int32)
    shifted = list(zip(forests, offsets, strict=True))
    splits = [forest.splits for forest in forests]
    at_roots = [forest.features_at_roots for forest in forests]
    track = Track(
        feature=_joined([one.feature for one in splits]),
        threshold=_joined([one.threshold for one in splits]),
        left=_joined([_shift(forest.left, offset) for forest, offset in shifted]),
        right=_joined([_shift(forest.right, offset) for forest, offset in shifted]),
        missing_left=_joined([one.missing_left for one in splits]),
        kind=_joined([one.kind for one in splits]),
        category_set=_joined([one.category_set for one in splits]),
        set_start=stages.richest.set_start,
        in_set=stages.richest.in_set,
        roots=read_only_copy(
            [forest.tree_start[:-1] + offset for forest, offset in shifted], np.int32
        ),
        says=_joined([forest.values for forest in forests]),
        bias=read_only_copy([forest.bias for forest in forests], np.float64),
        divisor=read_only_copy(
            [forest.n_trees if forest.combine == "mean" else 1 for forest in forests],
            np.float64,
        ),
        enough=read_only_copy(stages.thresholds[stages.in_use], np.float64),
        first_asked=read_only_copy(np.concatenate(at_roots), np.int64),
        first_asked_start=read_only_copy(np.cumsum([0, *map(len, at_roots)]), np.int64),
    )
    return Course(stages, forests, track)


def _joined(parts: list[NDArray[Any]]) -> Any:
    """Return one array of all parts, read-only: kernels are compiled again for what is not."""
    return read_only_copy(parts[0] if len(parts) == 1 else np.concatenate(parts), None)


def _shift(children: IndexArray, offset: np.int32) -> IndexArray:
    return np.where(children == LEAF, LEAF, children + offset).astype(np.int32)


def _rule(forest: Forest) -> int:
    """Return how sure scores must be of a label: as sure as what the link makes of them is."""
    if forest.link == "identity":
        return int(decided_kernels.EXACT)
    if forest.link == "logistic" and forest.n_outputs > 1:
        return int(decided_kernels.SHARES)
    return int(decided_kernels.GAP)
