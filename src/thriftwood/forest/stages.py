"""Nested forests from cheap to rich; a sample goes on while its margin is small."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import ForestError
from thriftwood.forest import files
from thriftwood.forest.collapse import is_top_of
from thriftwood.forest.forest import Forest
from thriftwood.forest.links import Link, predictions
from thriftwood.forest.margin_kernels import IDENTITY, LOGISTIC, SOFTMAX, fill_margins
from thriftwood.forest.prediction import scores
from thriftwood.support.arrays import FloatArray, IntArray, read_only_copy
from thriftwood.support.draws import uniform_per_row
from thriftwood.support.parallel import aside, n_threads

# A stage with this threshold is left out: no margin is so large.
SKIPPED = np.inf
# By this part of it, at the most, a draw raises a margin; enough to tell a million samples apart.
TIE_BREAK = 1e-6
LINK_NUMBERS: dict[Link, int] = {"identity": IDENTITY, "logistic": LOGISTIC, "softmax": SOFTMAX}
NO_COSTS = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class Stages:
    """Nested forests, and the margin that a sample needs to stop at each.

    The margin is by how much the best score is above the second best, before the link; where errors
    have costs, by how much the second best answer is expected to cost more, see `margins`. Trees
    ask for features from the root down, so that what a sample buys at one stage is part of what it
    buys at the next.
    """

    # every tree is the top of the same tree of the next forest; values may differ
    forests: tuple[Forest, ...]
    # A sample stops at the first stage where its margin is at least this. Infinity leaves a stage
    # out; at the last it is 0, so that every sample stops.
    thresholds: FloatArray
    # Of answers: true class, answer. Empty where a sample gets the likeliest class.
    error_costs: FloatArray = field(default_factory=NO_COSTS.copy)

    def __post_init__(self) -> None:
        object.__setattr__(self, "forests", tuple(self.forests))
        for name in ("thresholds", "error_costs"):
            object.__setattr__(self, name, read_only_copy(getattr(self, name), np.float64))

    @property
    def richest(self) -> Forest:
        return self.forests[-1]

    @property
    def in_use(self) -> list[int]:
        """The stages that samples may reach."""
        return stages_in_use(self.thresholds)

    @property
    def last_in_use(self) -> Forest:
        return self.forests[self.in_use[-1]]

    def called(self, given: Iterable[Any]) -> "Stages":
        """Return the stages under the names that are given, where a library changed them."""
        names = self.richest.columns.called(given).names
        return replace(self, forests=tuple(one.named(names) for one in self.forests))

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

    def outputs(self, number: int, X: NDArray[Any], n_jobs: int | None = None) -> FloatArray:
        """Return the scores that a stage gives samples."""
        return scores(self.forests[number], X, n_jobs)

    def margins(self, number: int, X: NDArray[Any], found: FloatArray) -> FloatArray:
        """Return the margins of samples at a stage, of their scores there.

        Cheap forests have few leaves, and many samples get the very same scores. So that a
        threshold can let some of these go on and others not, ties are broken by a draw, which
        depends on values that a sample has bought anyway: those that the roots of trees test.
        """
        forest = self.forests[number]
        drawn = uniform_per_row(X[:, forest.features_at_roots])
        return margins_of(found, forest.link, self.error_costs) * (1.0 + TIE_BREAK * drawn)

    def predicted(
        self, number: int, X: NDArray[Any], n_jobs: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the margins of samples at a stage, and what it predicts."""
        found = self.outputs(number, X, n_jobs)
        return self.margins(number, X, found), predictions(self.forests[number].link, found)


def one_stage(forest: Forest) -> Stages:
    """Return a forest as stages: a single one, at which every sample stops."""
    return Stages((forest,), np.zeros(1))


def stage_parts(stages: Stages) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
    """Return the forests of stages for a file: a header entry for each, and arrays."""
    abouts: list[dict[str, Any]] = []
    arrays: dict[str, NDArray[Any]] = {}
    for number, forest in enumerate(stages.forests):
        about, own = files.forest_parts(forest, f"stage_{number}")
        abouts.append(about)
        arrays |= own
    return abouts, arrays


def stages_from(abouts: Sequence[Any], arrays: dict[str, NDArray[Any]]) -> Stages:
    """Return the stages of a file, checked, where errors cost the same."""
    numbered = enumerate(abouts)
    forests = [files.forest_from(about, arrays, f"stage_{number}") for number, about in numbered]
    return Stages(tuple(forests), arrays["thresholds"]).check()


class StagePredictions(NamedTuple):
    """Predictions of samples by the stages where they stop.

    Attributes
    ----------
    stage : shape (n_samples,)
        Where each sample stops.
    margins : shape (n_samples, n_stages)
        NaN at stages that a sample does not reach.
    predictions : shape (n_samples, n_classes)
        As `predict` has them, of the stage where the sample stops.
    """

    stage: IntArray
    margins: FloatArray
    predictions: FloatArray


def predict_stages(stages: Stages, X: NDArray[Any], n_jobs: int | None = None) -> StagePredictions:
    """Send samples, in the forests' `input_dtype`, on until the margin of each is large enough."""
    return aside(send_on, stages, X, n_threads(n_jobs))  # to another thread once, not per kernel


def send_on(stages: Any, X: NDArray[Any], n_jobs: int | None = None) -> StagePredictions:
    """Send samples through `Stages` or `NestedStages` until the margin of each is large enough."""
    stage = np.full(len(X), len(stages) - 1)
    margins = np.full((len(X), len(stages)), np.nan)
    predicted = np.empty((len(X), 0))
    unsure = np.arange(len(X))
    for number in stages.in_use:
        if not len(unsure):  # not every learner of a user's predicts no samples
            break
        margins[unsure, number], found = stages.predicted(number, X[unsure], n_jobs)
        if not predicted.shape[1]:
            predicted = np.full((len(X), found.shape[1]), np.nan)
        stops = margins[unsure, number] >= stages.thresholds[number]
        stage[unsure[stops]] = number
        predicted[unsure[stops]] = found[stops]
        unsure = unsure[~stops]
    return StagePredictions(stage, margins, predicted)


def stages_in_use(thresholds: FloatArray) -> list[int]:
    """Return the stages that are not left out, nor behind one where all samples stop."""
    first_end = int(np.argmax(thresholds == 0))
    return np.flatnonzero(thresholds[: first_end + 1] < SKIPPED).tolist()


def margins_of(scores: FloatArray, link: Link, error_costs: FloatArray) -> FloatArray:
    """Return margins, of the best answer over the second best; see `margin_of`."""
    margins = np.empty(len(scores))
    fill_margins(
        np.ascontiguousarray(scores), LINK_NUMBERS[link], read_only_copy(error_costs), margins
    )
    return margins


def _predict_the_same(small: Forest, large: Forest) -> bool:
    """Return True if two forests predict the same classes, or numbers, from the same columns."""
    arrays = ("classes", "set_start", "in_set")
    others = ("n_features", "n_outputs", "input_dtype", "feature_names", "category_labels")
    return (
        small.is_classifier == large.is_classifier
        and all(np.array_equal(getattr(small, name), getattr(large, name)) for name in arrays)
        and all(getattr(small, name) == getattr(large, name) for name in others)
    )
