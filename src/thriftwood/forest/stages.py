"""Forests from cheap to rich, each a part of the next: a row goes on only while it is not sure."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import ForestError
from thriftwood.forest.collapse import is_top_of
from thriftwood.forest.forest import Forest
from thriftwood.forest.links import predictions
from thriftwood.forest.prediction import predict, scores
from thriftwood.support.arrays import FloatArray, IntArray, read_only_copy
from thriftwood.support.draws import uniform_per_row

# A stage with this threshold is left out: nobody is ever so sure.
SKIPPED = np.inf
# By this part of it, at the most, a draw raises a margin; wide enough to tell a million rows apart.
TIE_BREAK = 1e-6


@dataclass(frozen=True, eq=False)
class Stages:
    """Nested forests, and how sure a row must be to stop at each.

    How sure a forest is of a row is its margin: by how much the best score is above the second
    best, before the link. Trees ask for features from the root down, so that what a row buys at one
    stage is part of what it buys at the next.

    Parameters
    ----------
    forests : tuple of Forest
        Every tree is the top of the same tree of the next forest; what nodes say may differ.
    thresholds : shape (n_stages,)
        A row stops at the first stage where its margin is at least this. Infinity leaves a stage
        out; at the last it is 0, so that every row stops.
    """

    forests: tuple[Forest, ...]
    thresholds: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "forests", tuple(self.forests))
        object.__setattr__(self, "thresholds", read_only_copy(self.thresholds, np.float64))

    @property
    def richest(self) -> Forest:
        return self.forests[-1]

    @property
    def in_use(self) -> list[int]:
        """The stages that rows may look at; none that is left out, or behind one where all stop."""
        first_end = int(np.argmax(self.thresholds == 0))
        return np.flatnonzero(self.thresholds[: first_end + 1] < SKIPPED).tolist()

    @property
    def last_in_use(self) -> Forest:
        return self.forests[self.in_use[-1]]

    def __len__(self) -> int:
        return len(self.forests)

    def __repr__(self) -> str:
        return f"Stages({len(self.in_use)} of {len(self)} in use, up to {self.richest!r})"

    def check(self) -> "Stages":
        """Return the stages, or raise `ForestError` where they do not belong together."""
        if not self.forests or self.thresholds.shape != (len(self.forests),):
            raise ForestError("There must be at least one stage, and a threshold for each.")
        if not (self.thresholds >= 0).all() or self.thresholds[-1] != 0:
            raise ForestError("Thresholds are at least 0, and that of the last stage is 0.")
        for number, (cheap, rich) in enumerate(pairwise(self.forests)):
            if not (_predict_the_same(cheap, rich) and is_top_of(cheap.check(), rich.check())):
                raise ForestError(f"The forest of stage {number} is no part of the next one.")
        self.richest.check()
        return self


def one_stage(forest: Forest) -> Stages:
    """Return a forest as stages: a single one, at which every row stops."""
    return Stages((forest,), np.zeros(1))


class Passage(NamedTuple):
    """How rows went through stages.

    Attributes
    ----------
    stage : shape (n_samples,)
        Where each row stopped.
    margins : shape (n_samples, n_stages)
        NaN at stages that a row did not look at.
    predictions : shape (n_samples, n_classes)
        As `predict` has them, of the stage where the row stopped.
    """

    stage: IntArray
    margins: FloatArray
    predictions: FloatArray


def pass_stages(stages: Stages, rows: NDArray[Any], n_jobs: int | None = None) -> Passage:
    """Send rows through stages until each is sure enough.

    Parameters
    ----------
    stages : Stages
        Of a classifier.
    rows : shape (n_samples, n_features)
        In the forests' `input_dtype`; missing values are NaN.
    n_jobs : int, optional
        Threads, as in scikit-learn.
    """
    stage = np.full(len(rows), len(stages) - 1)
    margins = np.full((len(rows), len(stages)), np.nan)
    n_columns = predict(stages.richest, rows[:0]).shape[1]
    predicted = np.full((len(rows), n_columns), np.nan)
    unsure = np.arange(len(rows))
    for number in stages.in_use:
        forest = stages.forests[number]
        own = rows[unsure]
        found = scores(forest, own, n_jobs)
        margins[unsure, number] = margins_of(forest, own, found)
        stops = margins[unsure, number] >= stages.thresholds[number]
        stage[unsure[stops]] = number
        predicted[unsure[stops]] = predictions(forest.link, found[stops])
        unsure = unsure[~stops]
    return Passage(stage, margins, predicted)


def margins_of(forest: Forest, rows: NDArray[Any], found: FloatArray) -> FloatArray:
    """Return how sure a forest is of rows: how far the best score is above the second best.

    Cheap forests have few leaves, and many rows get the very same scores. So that a threshold can
    let some of these go on and others not, ties are broken by a draw, which depends on values that
    a row has bought anyway: those that the trees ask for first.

    Parameters
    ----------
    forest : Forest
    rows : shape (n_samples, n_features)
        Only what the roots of trees test is looked at.
    found : shape (n_samples, n_outputs)
        The scores; a single one is that of the second class, the first has 0.
    """
    drawn = uniform_per_row(rows[:, forest.features_at_roots])
    margins: FloatArray = _gaps(found) * (1.0 + TIE_BREAK * drawn)
    return margins


def _gaps(found: FloatArray) -> FloatArray:
    if found.shape[1] == 1:
        return np.abs(found[:, 0])
    best_two = np.partition(found, -2, axis=1)[:, -2:]
    gaps: FloatArray = best_two[:, 1] - best_two[:, 0]
    return gaps


def _predict_the_same(small: Forest, large: Forest) -> bool:
    """Say whether two forests predict the same classes from the same columns."""
    return (
        small.classes is not None
        and np.array_equal(small.classes, np.array(large.classes))
        and (small.n_features, small.input_dtype, dict(small.category_labels))
        == (large.n_features, large.input_dtype, dict(large.category_labels))
        and small.n_outputs == large.n_outputs
        and small.feature_names == large.feature_names
        and np.array_equal(small.set_start, large.set_start)
        and np.array_equal(small.in_set, large.in_set)
    )
