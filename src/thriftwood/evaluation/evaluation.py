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
from thriftwood.evaluation.confusion import counted_answers
from thriftwood.evaluation.scores import (
    CLASS_LOSSES,
    NEG_ERROR_COSTS,
    Predicted,
    Score,
    class_losses,
    read_score,
    sorted_from,
    standard_errors_to,
)
from thriftwood.forest import Forest, Routes, predictions, route_samples, weights_of_queries
from thriftwood.problem import (
    ErrorCosts,
    SampleData,
    read_points,
    read_ranking,
    with_own_class_weights,
)
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only
from thriftwood.support.libraries import frame_of
from thriftwood.support.progress import progress_bar
from thriftwood.support.summary import Chart, Summarised, Summary
from thriftwood.support.validation import shares_of_one

if TYPE_CHECKING:
    import pandas as pd

# Values of nodes are added in whole numbers of this many bits.
VALUE_BITS = 44
# More numbers than this are not kept as confusion matrices of all points.
MOST_CONFUSION = 2**24
BRIER = "neg_brier_score"
# Scores that say what errors, or what they cost, say.
OF_ERRORS = ("accuracy", "neg_mean_squared_error", NEG_ERROR_COSTS)
# Samples are put together by tenths of what is predicted for them.
N_TENTHS = 10
# So many samples are looked at before all the others.
A_FEW = 100
# How many samples are measured at a time.
TOGETHER = 2**14
# Nested prunings: the step with which each split drops, and the number of points.
Nested = tuple[IndexArray, int]


class Measures(NamedTuple):
    """Measures of one model on the samples of an evaluation, named as there."""

    error: float
    standard_error: float
    score: float
    deviations: FloatArray
    is_constant: bool
    one_class: bool
    cost: float = math.nan
    cost_quantiles: FloatArray = np.empty(0)
    vote_error: float | None = None
    log_loss: float | None = None
    brier: float | None = None
    brier_deviations: FloatArray | None = None
    own_brier: float | None = None
    own_brier_deviations: FloatArray | None = None
    confusion: FloatArray | None = None
    calibration: FloatArray | None = None
    expected_cost: float | None = None
    recalibration: FloatArray | None = None
    query_cost_quantiles: FloatArray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Summarised):
    """Errors and bills of the points of a path on some samples, one entry per point.

    Attributes
    ----------
    points : int array
        Which points of the path.
    tradeoffs : float array
        From which tradeoff on each is optimal on the samples it was computed on; NaN where points
        have none.
    error : float array
        Share of samples that the ensemble misclassifies; with `error_costs` by its answers of least
        expected cost; for regressors the mean squared error.
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
    brier_deviations : shape (1 + n_points, n_groups), optional
        The same of the Brier score.
    own_brier, own_brier_deviations : optional
        Brier score with the class weights that the model was trained with, where it has some: its
        probabilities are those of classes that are as common as the weights say.
    confusion : shape (n_points, n_classes, n_classes), optional
        How many samples of each class (rows, in the order of the model's classes) are predicted as
        each (columns), with `error_costs` by the answers of least expected cost; with
        `sample_weight` their weights, as whole numbers in the same ratios. Not
        of regressors, nor where there are very many points and classes.
    calibration : shape (n_points, 10, 3), optional
        Of two classes: samples by tenths of the probability of the second; what they weigh, the sum
        of these probabilities, and what those weigh that are of this class.
    error_costs : shape (n_classes, n_classes), optional
        What answers (columns) cost where rows are true, as it was given.
    recalibration : shape (n_points, 1 + n_classes), optional
        Where answers are those of recalibrated probabilities, as in our estimators: the slope, and
        the bias of each class.
    expected_cost : float array, optional
        Beside it what answers should cost by the recalibrated probabilities of the model before
        pruning, which is less noisy than what is counted.
    query_cost_quantiles : shape (n_points, n_quantiles), optional
        Of the bills of queries, each that of all its documents together, where samples have `qid`.
    n_queries : int, optional
    documents_per_query : float, optional
        On average, as they count in mean bills.
    classes : tuple, optional
        Labels, in the order of `confusion`.
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
    brier_deviations: FloatArray | None = None
    own_brier: FloatArray | None = None
    own_brier_deviations: FloatArray | None = None
    confusion: FloatArray | None = None
    calibration: FloatArray | None = None
    error_costs: FloatArray | None = None
    expected_cost: FloatArray | None = None
    recalibration: FloatArray | None = None
    query_cost_quantiles: FloatArray | None = None
    n_queries: int | None = None
    documents_per_query: float | None = None
    classes: tuple[Any, ...] | None = None

    @classmethod
    def of(cls, measured: Sequence[Measures], **about: Any) -> Evaluation:
        """Put together what was measured: of the model before pruning first, then of points."""
        original, *points = measured
        columns: dict[str, Any] = {}
        for name in Measures._fields:
            has_first = name.endswith("deviations")
            values = [getattr(one, name) for one in (measured if has_first else points)]
            columns[name] = None if values[0] is None else read_only(np.array(values))
        return cls(original=original, **columns, **about)

    def _summary(self) -> Summary:
        best, was = int(self.score.argmax()), self.original
        value, label, spread, before = self.error, "error", self.standard_error, was.error
        if self.judges_rankings:
            value, label, spread, before = self.score, self.scoring, self.score_error, was.score
        return Summary(
            f"Evaluation of {len(self.points)} points on {self.samples_in_words}: best "
            f"{self.scoring} {self.score[best]:.4g} at point {self.points[best]}, mean cost "
            f"{self.cost[best]:.6g}",
            chart=Chart(
                self.cost, value, "mean bill", label, spread, (was.cost, before, "before pruning")
            ),
        )

    @property
    def samples_in_words(self) -> str:
        return samples_in_words(self.n_samples, self.n_queries)

    @property
    def judges_rankings(self) -> bool:
        """True where the score is one of rankings, beside which errors of numbers mean nothing."""
        return read_ranking(self.scoring) is not None

    @property
    def cost_per_query(self) -> FloatArray | None:
        """Mean bill of a query, where samples have `qid`."""
        return None if self.documents_per_query is None else self.cost * self.documents_per_query

    @property
    def score_error(self) -> FloatArray:
        """The standard error of each point's score."""
        return standard_errors_to(self.deviations[1:], np.zeros(self.deviations.shape[1]))

    @property
    def score_beside_error(self) -> bool:
        """True where the score says something that errors, and what they cost, do not."""
        return self.scoring not in OF_ERRORS

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
        columns |= {"cost_per_query": self.cost_per_query, "total_cost": self.total_cost}
        for column, quantile in enumerate(self.quantiles):
            columns[f"cost_q{quantile:g}"] = self.cost_quantiles[:, column]
            if self.query_cost_quantiles is not None:
                columns[f"query_cost_q{quantile:g}"] = self.query_cost_quantiles[:, column]
        return frame_of({name: column for name, column in columns.items() if column is not None})


def evaluate(
    path: Any,
    data: SampleData,
    prices: PriceList,
    points: Sequence[int] | None = None,
    quantiles: Sequence[float] = (),
    n_jobs: int | None = None,
    progress: bool | None = None,
    scoring: Scoring | ErrorCosts = None,
    X: Any = None,
) -> Evaluation:
    """Measure points of a `PruningPath` on samples; parameters as in its `evaluate`.

    `X` is for scores of the user's own, which may look at it.
    """
    forest = path.forest
    wanted = np.arange(len(path)) if points is None else read_points(points, len(path))
    # Point 0 is the model before pruning from here on.
    visited, place = np.unique(np.append(0, wanted + 1), return_inverse=True)
    shares = shares_of_one(quantiles, "quantiles")
    routes = route_samples(forest, data.table, n_jobs)
    before = None
    if isinstance(scoring, ErrorCosts) and scoring.recalibrates:
        whole = _predicted_along(forest, routes, data, _nested(path, np.array([0])))
        before = next(whole).outputs.copy()
    score = read_score(scoring, forest, data, data.table.values if X is None else X, before)
    measure = Meter(path.model, forest, data, score, shares, len(visited))
    predicted_along = _predicted_along(forest, routes, data, _nested(path, visited))
    bills_along: Iterable[FloatArray] = repeat(data.weights)  # nobody looks
    if shares:
        bills_along = chain.from_iterable(
            nested_bills(forest, routes, prices, *nested) for nested in _nested(path, visited)
        )
    measured = []
    with progress_bar("Evaluating", progress) as bar:
        for predicted, bill in zip(predicted_along, bills_along, strict=False):
            measured.append(measure(predicted, bill))
            bar(len(measured) / len(visited))
    costs = [
        mean_costs(forest, routes, prices, data.weights, *one) for one in _nested(path, visited)
    ]
    cost = np.concatenate(costs[::-1])
    return Evaluation.of(
        [measured[-1 - number]._replace(cost=float(cost[number])) for number in place],
        points=read_only(wanted),
        tradeoffs=read_only(path.tradeoffs[wanted]),
        quantiles=shares,
        n_samples=int(np.count_nonzero(data.times.any(axis=0))),
        scoring=score.name,
        error_costs=score.error_costs,
        classes=labels_of(forest),
        **measure.about_queries,
    )


def labels_of(forest: Forest) -> tuple[Any, ...] | None:
    """Return the labels of the classes, of a classifier."""
    return None if forest.classes is None else tuple(np.asarray(forest.classes).tolist())


class Meter:
    """Measures predictions and bills of one point after the other."""

    def __init__(
        self,
        model: Any,
        forest: Forest,
        data: SampleData,
        score: Score,
        shares: tuple[float, ...],
        n_points: int,
    ) -> None:
        self._score, self._target = score, data.target
        self._weights = data.counted(data.loss_weights)
        self._total = self._weights.sum()
        self._per_sample = (self._weights**2).sum() / self._total**3
        self._judged = np.flatnonzero(self._weights > 0)
        self._quantiles = _Quantiles(data.weights, shares) if shares else None
        self._documents, self.about_queries = np.flatnonzero(data.weights > 0), {}
        if data.query is not None:  # a query pays what its documents do, and counts as they do
            self._query = np.unique(data.query[self._documents], return_inverse=True)[1]
            of_queries = weights_of_queries(self._query, data.weights[self._documents])
            self._of_queries = _Quantiles(of_queries, shares)
            self.about_queries = {
                "n_queries": len(of_queries),
                "documents_per_query": float(data.weights.sum() / of_queries.sum()),
            }
        self._briers: dict[str, Score] = {}
        self._n_classes = 0
        if forest.classes is None:
            return
        self._names = CLASS_LOSSES if forest.is_averaged else CLASS_LOSSES[:-1]
        self._briers["brier"] = read_score(BRIER, forest, data, None)
        own = with_own_class_weights(data, model, forest)
        if own is not None:
            self._briers["own_brier"] = read_score(BRIER, forest, own, None)
        if n_points * len(forest.classes) ** 2 <= MOST_CONFUSION:
            self._n_classes = len(forest.classes)
            self._counted = data.counted(data.sample_weights)

    def __call__(self, predicted: Predicted, bill: FloatArray) -> Measures:
        means = np.einsum("ki,i->k", predicted.losses, self._weights) / self._total
        wrong = predicted.losses[0]
        money: dict[str, Any] = {}
        if self._score.money is not None:
            labels, money = self._score.money.answer(predicted.outputs)
            predicted = predicted._replace(labels=labels)
            wrong = (labels != self._target).astype(np.float64)
            means[0] = wrong @ self._weights / self._total
        score, deviations = self._score.of(predicted)
        answers = predicted.labels
        spread = np.einsum("i,i", self._weights, (wrong - means[0]) ** 2)
        measures = Measures(
            error=float(means[0]),
            standard_error=math.sqrt(spread * self._per_sample),
            score=score,
            deviations=deviations,
            is_constant=all_alike(predicted.outputs, self._judged),
            one_class=bool(self._briers) and all_alike(answers, self._judged),
            **money,
        )
        if self._quantiles is not None:
            measures = measures._replace(cost_quantiles=self._quantiles.of(bill))
            if self.about_queries:
                bills = np.bincount(self._query, bill[self._documents]).astype(np.float64)
                measures = measures._replace(query_cost_quantiles=self._of_queries.of(bills))
        if not self._briers:
            return measures
        losses = dict(zip(self._names, means.tolist(), strict=False))
        for name, brier in self._briers.items():
            own, losses[f"{name}_deviations"] = brier.of(predicted)
            losses.setdefault(name, -own)
        confusion = None
        if self._n_classes:
            about = self._target, answers, self._counted, self._n_classes
            confusion = counted_answers(*about)
        return measures._replace(
            **losses, confusion=confusion, calibration=self._calibration(predicted)
        )

    def _calibration(self, predicted: Predicted) -> FloatArray | None:
        """Return weight, probability and true weight of the second of two classes, by tenths."""
        if self._n_classes != 2:
            return None
        probability = predicted.outputs[:, 1]
        tenth = np.minimum((probability * N_TENTHS).astype(np.int64), N_TENTHS - 1)
        parts = np.ones(len(tenth)), probability, self._target == 1
        sums = [np.bincount(tenth, self._counted * part, N_TENTHS) for part in parts]
        return np.column_stack(sums)


def samples_in_words(n_samples: int, n_queries: int | None) -> str:
    """Return the number of samples, and of queries, in words."""
    return f"{n_samples} samples{'' if n_queries is None else f' of {n_queries} queries'}"


def _nested(path: Any, visited: IntArray) -> Iterator[Nested]:
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
        for changes, sign in ((before & ~last, -1), (last & ~before, 1)):
            kernels.put_in(trees, state, np.flatnonzero(changes).astype(np.int32), sign)
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


def all_alike(predicted: NDArray[Any], samples: IntArray) -> bool:
    """Return True where some samples all get the same; a few of them tell mostly."""
    first = predicted[samples[0]]
    return all((predicted[some] == first).all() for some in (samples[:A_FEW], samples[A_FEW:]))


def _at_roots(forest: Forest, trees: kernels.Trees) -> kernels.State:
    """Return the state of samples in trees that are single leaves."""
    predicts, roots = (trees.times > 0).T.astype(np.int64), forest.tree_start[:-1]
    votes = np.eye(forest.n_outputs, dtype=np.int64)[trees.winner[roots]]
    return kernels.State(
        total=predicts @ trees.value[roots],
        votes=(predicts @ votes).astype(np.int32),
        n_trees=predicts.sum(axis=1, dtype=np.int32),
        changed=np.ones(len(predicts), dtype=np.bool_),
    )


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
    """Return losses of some samples, shape (n_losses, n_samples)."""
    if not forest.is_classifier:
        with np.errstate(over="ignore"):
            squared: FloatArray = (outputs[None, :, -1] - y_true) ** 2
        return squared
    vote_error = state.votes[samples].argmax(axis=1) != y_true
    return np.vstack([class_losses(outputs, y_true), vote_error])


class _Quantiles:
    """Quantiles of bills along a path, as `np.quantile` has them.

    Bills of neighbours hardly differ: sorting begins with the order of the point before.
    """

    def __init__(self, weights: FloatArray, shares: tuple[float, ...]) -> None:
        self._weights = None if (weights == weights[0]).all() else weights
        self._shares = np.array(shares)
        self._order = np.arange(len(weights))

    def of(self, bill: FloatArray) -> FloatArray:
        """Return those of the bills of one point."""
        self._order = sorted_from(self._order, bill)
        values = bill[self._order]
        if self._weights is not None:
            reached = np.cumsum(self._weights[self._order])
            return values[np.searchsorted(reached, self._shares * reached[-1])]
        place = self._shares * (len(values) - 1)
        low = place.astype(np.int64)
        high = np.minimum(low + 1, len(values) - 1)
        return values[low] + (place - low) * (values[high] - values[low])
