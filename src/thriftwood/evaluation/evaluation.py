"""Real errors and bills along a path, from single leaves back to the model before pruning."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import Scoring
from thriftwood.billing import mean_costs, nested_bills, sorted_by_step, steps_of
from thriftwood.costs import PriceList
from thriftwood.evaluation import kernels
from thriftwood.evaluation.scores import (
    CLASS_LOSSES,
    NEG_ERROR_COSTS,
    Predicted,
    read_score,
    standard_errors_to,
)
from thriftwood.forest import Forest, Routes, predictions, route_samples
from thriftwood.problem import ErrorCosts, Prunings, SampleData, read_points
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only
from thriftwood.support.libraries import frame_of
from thriftwood.support.progress import progress_bar
from thriftwood.support.validation import shares_of_one

if TYPE_CHECKING:
    import pandas as pd

# Values of nodes are added in whole numbers of this many bits.
VALUE_BITS = 44
# Probabilities stay this far from 0 and 1, as for scikit-learn.
SMALLEST = float(np.finfo(np.float64).eps)
# More numbers than this are not kept as confusion matrices of all points.
MOST_CONFUSION = 2**24
# So many samples are looked at before all the others.
A_FEW = 100
# How many samples are measured at a time.
TOGETHER = 2**14
# Nested prunings: the step with which each split drops, and the number of points.
Nested = tuple[IndexArray, int]


class Measures(NamedTuple):
    """What was measured of one model, on the samples of an evaluation: as there."""

    error: float
    standard_error: float
    cost: float
    score: float
    is_constant: bool
    one_class: bool
    confusion: FloatArray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Errors and bills of the points of a path on some samples, one entry per point.

    Attributes
    ----------
    points : int array
        Which points of the path.
    tradeoffs : float array
        From which tradeoff on each is optimal on the samples it was computed on; NaN where points
        have none.
    error : float array
        Share of samples that the ensemble misclassifies; for regressors the mean squared error.
    standard_error : float array
        Of `error`.
    vote_error : float array, optional
        Share of samples that the majority of the trees misclassifies; not of boosted trees, which
        do not vote.
    log_loss, brier : float arrays, optional
        Of the ensemble's probabilities, as scikit-learn defines them.
    cost : float array
        Mean bill of a sample, its part of what is paid once for the model included.
    quantiles : tuple of float
    cost_quantiles : shape (n_points, n_quantiles)
        Of the bills, without what is paid for the model.
    n_samples : int
        How many samples were predicted.
    original : Measures
        The same of the model before pruning.
    scoring : str
        The name of the score by which a point is chosen.
    score : float array
        The higher the better.
    is_constant : bool array
        Whether all samples get the same probabilities, or the same number.
    one_class : bool array
        Whether one class is predicted for all samples.
    deviations : shape (1 + n_points, n_groups)
        Of the score of the model before pruning, then of the points, on groups of samples: the
        length of a row is the standard error of its score, and the length of the difference of two
        rows that of the paired difference of their scores.
    confusion : shape (n_points, n_classes, n_classes), optional
        How many samples of each class (rows, in the order of the model's classes) are predicted as
        each (columns); with `sample_weight` their weights, as whole numbers in the same ratios. Not
        of regressors, nor where there are very many points and classes.
    """

    points: IntArray
    tradeoffs: FloatArray
    error: FloatArray
    standard_error: FloatArray
    vote_error: FloatArray | None
    log_loss: FloatArray | None
    brier: FloatArray | None
    cost: FloatArray
    quantiles: tuple[float, ...]
    cost_quantiles: FloatArray
    n_samples: int
    original: Measures
    scoring: str
    score: FloatArray
    is_constant: BoolArray
    one_class: BoolArray
    deviations: FloatArray
    confusion: FloatArray | None = None

    def __repr__(self) -> str:
        best = int(self.score.argmax())
        return (
            f"Evaluation of {len(self.points)} points on {self.n_samples} samples: best "
            f"{self.scoring} {self.score[best]:.4g} at point {self.points[best]}, mean cost "
            f"{self.cost[best]:.6g}"
        )

    @property
    def score_error(self) -> FloatArray:
        """The standard error of each point's score."""
        return standard_errors_to(self.deviations[1:], np.zeros(self.deviations.shape[1]))

    @property
    def total_cost(self) -> FloatArray | None:
        """Mean bill and mean cost of errors together, where `error_costs` were given."""
        return self.cost - self.score if self.scoring == NEG_ERROR_COSTS else None

    def to_frame(self) -> pd.DataFrame:
        """Return one line per point as a pandas data frame."""
        columns: dict[str, Any] = {"point": self.points, "tradeoff": self.tradeoffs}
        for name in ("error", "standard_error", "vote_error", "log_loss", "brier"):
            columns[name] = getattr(self, name)
        columns |= {"score": self.score, "score_error": self.score_error, "cost": self.cost}
        columns["total_cost"] = self.total_cost
        for column, quantile in enumerate(self.quantiles):
            columns[f"cost_q{quantile:g}"] = self.cost_quantiles[:, column]
        return frame_of({name: column for name, column in columns.items() if column is not None})


def evaluate(
    path: Prunings,
    data: SampleData,
    prices: PriceList,
    points: Sequence[int] | None = None,
    quantiles: Sequence[float] = (),
    n_jobs: int | None = None,
    progress: bool | None = None,
    scoring: Scoring | ErrorCosts = None,
    X: Any = None,
) -> Evaluation:
    """Measure points of a path on samples; parameters as in `PruningPath.evaluate`.

    `X` is for scores of the user's own, which may look at it.
    """
    forest, weights = path.forest, data.weights
    wanted = np.arange(len(path)) if points is None else read_points(points, len(path))
    # Point 0 is the model before pruning from here on.
    visited, place = np.unique(np.append(0, wanted + 1), return_inverse=True)
    shares = shares_of_one(quantiles, "quantiles")
    routes = route_samples(forest, data.table, n_jobs)
    counted, counted_once = data.counted_losses, data.counted
    judged = np.flatnonzero(counted > 0)
    score = read_score(scoring, forest, data, data.table.values if X is None else X)
    names = CLASS_LOSSES if forest.is_classifier else CLASS_LOSSES[:1]
    means = np.empty((len(names), len(visited)))
    standard_error = np.empty(len(visited))
    cost_quantiles = np.empty((len(visited), len(shares)))
    confusion = _room_for_confusion(forest, len(visited))
    scores = np.empty(len(visited))
    is_constant, one_class = np.zeros((2, len(visited)), dtype=np.bool_)
    deviations: list[FloatArray] = []
    predicted_along = _predicted_along(forest, routes, data, _nested(path, visited))
    bills_along: Iterable[FloatArray] = repeat(weights)  # nobody looks
    if shares:
        bills_along = chain.from_iterable(
            nested_bills(forest, routes, prices, *nested) for nested in _nested(path, visited)
        )
    with progress_bar("Evaluating", progress) as bar:
        number = len(visited)
        for predicted, bill in zip(predicted_along, bills_along, strict=False):
            number -= 1
            means[:, number] = predicted.losses @ counted / counted.sum()
            standard_error[number] = _standard_error(predicted.losses[0], counted)
            scores[number], own = score.of(predicted)
            deviations.append(own)
            is_constant[number] = _all_alike(predicted.outputs, judged)
            one_class[number] = forest.is_classifier and _all_alike(predicted.labels, judged)
            cost_quantiles[number] = _quantiles(bill, weights, shares)
            if confusion is not None:
                labels, n_classes = predicted.labels, confusion.shape[1]
                confusion[number] = _confusion(data.target, labels, counted_once, n_classes)
            bar(1 - number / len(visited))
    costs = [mean_costs(forest, routes, prices, weights, *one) for one in _nested(path, visited)]
    cost = np.concatenate(costs[::-1])
    original, at = place[0], place[1:]
    mean = {name: read_only(row[at]) for name, row in zip(names, means, strict=True)}
    return Evaluation(
        points=read_only(wanted),
        tradeoffs=read_only(path.tradeoffs[wanted]),
        error=mean["error"],
        standard_error=read_only(standard_error[at]),
        vote_error=mean.get("vote_error") if forest.is_averaged else None,
        brier=mean.get("brier"),
        log_loss=mean.get("log_loss"),
        cost=read_only(cost[at]),
        quantiles=shares,
        cost_quantiles=read_only(cost_quantiles[at]),
        n_samples=int(np.count_nonzero(data.times.any(axis=0))),
        original=Measures(
            float(means[0, original]),
            float(standard_error[original]),
            float(cost[original]),
            float(scores[original]),
            bool(is_constant[original]),
            bool(one_class[original]),
            None if confusion is None else read_only(confusion[original]),
        ),
        scoring=score.name,
        score=read_only(scores[at]),
        is_constant=read_only(is_constant[at]),
        one_class=read_only(one_class[at]),
        deviations=read_only(np.array(deviations[::-1])[place]),
        confusion=None if confusion is None else read_only(confusion[at]),
    )


def _nested(path: Prunings, visited: IntArray) -> Iterator[Nested]:
    """Yield some points as nested prunings, from the last: all at once, or each for itself."""
    is_split = path.forest.is_split
    if path.drop_step is not None:
        step = np.searchsorted(visited, path.drop_step + 1, side="right") - 1
        yield np.where(is_split, step, -1).astype(np.int32), len(visited)
        return
    for point in visited[::-1]:
        yield steps_of(path.kept_nodes(int(point) - 1) if point else is_split), 1


def _predicted_along(
    forest: Forest, routes: Routes, data: SampleData, prunings: Iterable[Nested]
) -> Iterator[Predicted]:
    """Yield what each point predicts, and what each sample loses there, from the last point.

    The arrays are the same ones every time: only what changed is written anew.
    """
    size = math.frexp(float(np.abs(forest.values).max(initial=0.0)))[1]
    value = np.rint(np.ldexp(forest.values, VALUE_BITS - size)).astype(np.int64)
    trees = kernels.Trees(
        tree_of=forest.tree_of(np.arange(forest.n_nodes)),
        left=forest.left,
        right=forest.right,
        value=value,
        winner=value.argmax(axis=1),
        order=routes.order,
        start=routes.start,
        stop=routes.stop,
        times=data.times,
    )
    unit = math.ldexp(1.0, size - VALUE_BITS)
    state = _at_roots(forest, trees)
    predicted = _nothing_predicted(forest, routes.n_samples)
    before = np.zeros(forest.n_nodes, dtype=np.bool_)
    for step, n_points in prunings:
        last = step >= n_points - 1
        kernels.put_in(trees, state, np.flatnonzero(before & ~last), -1)
        kernels.put_in(trees, state, np.flatnonzero(last & ~before), 1)
        splits, start = sorted_by_step(step, n_points)
        for point in range(n_points - 1, -1, -1):
            if point < n_points - 1:
                kernels.put_in(trees, state, splits[start[point] : start[point + 1]], 1)
            changed = np.flatnonzero(state.changed & (state.n_trees > 0))
            for first in range(0, len(changed), TOGETHER):
                some = changed[first : first + TOGETHER]
                outputs = _outputs(forest, state, some, unit)
                predicted.outputs[some] = outputs
                predicted.labels[some] = outputs.argmax(axis=1)
                predicted.losses[:, some] = _losses(forest, state, some, outputs, data.target[some])
            state.changed[changed] = False
            yield predicted
        before = step >= 0


def _nothing_predicted(forest: Forest, n_samples: int) -> Predicted:
    """Return arrays for what will be predicted."""
    n_outputs = 1 if forest.classes is None else len(forest.classes)
    return Predicted(
        losses=np.zeros((len(CLASS_LOSSES) if forest.is_classifier else 1, n_samples)),
        outputs=np.zeros((n_samples, n_outputs)),
        labels=np.zeros(n_samples, dtype=np.int64),
    )


def _all_alike(predicted: NDArray[Any], samples: IntArray) -> bool:
    """Return True where some samples all get the same; a few of them tell mostly."""
    first = predicted[samples[0]]
    return all((predicted[some] == first).all() for some in (samples[:A_FEW], samples[A_FEW:]))


def _room_for_confusion(forest: Forest, n_points: int) -> FloatArray | None:
    """Return confusion matrices of points, still empty, where there is room for them."""
    n_classes = 0 if forest.classes is None else len(forest.classes)
    if not 0 < n_points * n_classes**2 <= MOST_CONFUSION:
        return None
    return np.zeros((n_points, n_classes, n_classes))


def _confusion(
    y_true: IndexArray | FloatArray, predicted: IntArray, weights: FloatArray, n_classes: int
) -> FloatArray:
    """Return how much the samples of each class (rows) weigh that are predicted as each."""
    cell = y_true.astype(np.int64) * n_classes + predicted
    counted: FloatArray = np.bincount(cell, weights, n_classes**2).astype(np.float64)
    return counted.reshape(n_classes, n_classes)


def _at_roots(forest: Forest, trees: kernels.Trees) -> kernels.State:
    """Return the state of samples in trees that are single leaves."""
    n_samples = trees.times.shape[1]
    state = kernels.State(
        total=np.zeros((n_samples, forest.n_outputs), dtype=np.int64),
        votes=np.zeros((n_samples, forest.n_outputs), dtype=np.int32),
        n_trees=np.zeros(n_samples, dtype=np.int32),
        changed=np.ones(n_samples, dtype=np.bool_),
    )
    for root, times in zip(forest.tree_start[:-1], trees.times, strict=True):
        state.total[times > 0] += trees.value[root]
        state.votes[times > 0, trees.winner[root]] += 1
        state.n_trees[times > 0] += 1
    return state


def _outputs(forest: Forest, state: kernels.State, samples: IntArray, unit: float) -> FloatArray:
    """Return the probabilities of classes, or the numbers, that some samples get."""
    outputs: FloatArray = state.total[samples].astype(np.float64)
    if not (forest.is_classifier and forest.is_averaged):  # whose whole numbers have exact ties
        n_trees = state.n_trees[samples, None] if forest.combine == "mean" else 1
        outputs = predictions(forest.link, outputs * unit / n_trees + forest.bias)
    if not forest.is_classifier:
        return outputs[:, -1:]  # shares, too, are numbers here
    outputs /= outputs.sum(axis=1, keepdims=True)
    return outputs


def _losses(
    forest: Forest,
    state: kernels.State,
    samples: IntArray,
    outputs: FloatArray,
    y_true: IndexArray | FloatArray,
) -> FloatArray:
    """Return what some samples lose, shape (n_losses, n_samples)."""
    if not forest.is_classifier:
        with np.errstate(over="ignore"):
            squared: FloatArray = (outputs[None, :, -1] - y_true) ** 2
        return squared
    right = np.arange(len(samples)), y_true
    error = outputs.argmax(axis=1) != y_true
    vote_error = state.votes[samples].argmax(axis=1) != y_true
    log_loss = -np.log(np.clip(outputs[right], SMALLEST, 1.0 - SMALLEST))
    distance = outputs.copy()
    distance[right] -= 1.0
    brier = (distance**2).sum(axis=1) / (2 if outputs.shape[1] == 2 else 1)
    return np.array([error, vote_error, brier, log_loss])


def _standard_error(losses: FloatArray, weights: FloatArray) -> float:
    """Return the standard error of a weighted mean."""
    shares = weights / weights.sum()
    spread = shares @ (losses - shares @ losses) ** 2
    return math.sqrt(float(spread * (shares**2).sum()))


def _quantiles(bill: FloatArray, weights: FloatArray, shares: tuple[float, ...]) -> FloatArray:
    if not shares:
        return np.empty(0)
    if (weights == weights[0]).all():
        return np.quantile(bill, shares)
    return np.quantile(bill, shares, weights=weights, method="inverted_cdf")
