"""The best ranker within a budget per query, in one call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from thriftwood.adapters import Scoring
from thriftwood.billing import FeatureBill
from thriftwood.cascade import CascadeRanker, ranking_name, tuned, whole_model
from thriftwood.costs import AnyCosts, PriceList
from thriftwood.errors import InputError
from thriftwood.estimators.options import prices_for
from thriftwood.estimators.thrifty import EFFORTS, MOST_SEED, Thrifty
from thriftwood.evaluation import Evaluation
from thriftwood.forest import ListPredictions, NestedStages, Stages
from thriftwood.forest.table import Table
from thriftwood.problem import (
    SampleData,
    check_grades,
    in_whole_numbers,
    read_queries,
    times_counted,
)
from thriftwood.support.arrays import FloatArray, read_only
from thriftwood.support.files import File
from thriftwood.support.progress import progress_bar
from thriftwood.support.validation import numbers
from thriftwood.thrifty import (
    FittedStages,
    Frontier,
    LabelledData,
    PricedUnits,
    auto_learners,
    fit_stages,
    own_learner,
)

FEWEST_QUERIES = 4


class ThriftyRanker(Thrifty):
    """The best ranker within a budget per query: features are bought in stages, for the best.

    Features are ordered by what they bring per price. On nested sets of them, from free to all,
    rankers are trained: averages of LambdaMART and of a forest of grades, and of those on the sets
    before, where that ranks better. All documents of a query start with the cheapest set; the best
    of each stage buy the next, and stand above the others.
    How many go on is tuned for every budget, by models that did not see the queries that they are
    measured on (cross-fitting by query).

    Parameters
    ----------
    costs : array-like, mapping from feature name to price, Costs, or None
        What it costs one document to look at each feature, and with `Costs(per_query=...)` a query.
        None means 1 each; names need data frames.
    budget : float, optional
        What a query may cost on average. None takes the cheapest rule that is not clearly worse
        than the best, by more than one standard error of the paired difference over queries.
    max_cost : float, optional
        What no query may exceed, apart from what is paid once for the model: only as many documents
        go on as fit, and rules are measured so.
    scoring : str, optional
        A score of rankings to choose rules by, such as "ndcg@10", the usual one.
    estimator : "auto" or a model of scikit-learn's kind
        What to train on each set: a ranker of LightGBM, XGBoost or CatBoost, or a regressor of
        grades. "auto" is LightGBM's, or scikit-learn's histogram boosting of grades where it is not
        installed, and extremely randomised trees.
    effort : {"full", "quick"}
        "quick" has fewer stages of boosters alone, for a first look.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads. The model does not depend on it.
    verbose : bool
        Whether to show a progress bar.

    Attributes
    ----------
    cascade_ : CascadeRanker
        What ranks; deploy it alone.
    frontier_ : Frontier
        Mean bill of a query and score at every budget, on queries that models did not see.
    rules_ : StoppingRules
        All rules to choose from.
    cost_, score_ : float
        Of the rule that was taken, on queries that models did not see.
    n_features_in_ : int
    feature_names_in_ : array, shape (n_features,)
        Where X has column names that are text.

    Examples
    --------
    >>> import numpy as np
    >>> import thriftwood as tw
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 5)), np.repeat(np.arange(40), 10)
    >>> y = (X[:, 0] + X[:, 1] + rng.normal(size=400) > 1.5).astype(int)
    >>> model = tw.ThriftyRanker(budget=15, effort="quick", random_state=0).fit(X, y, qid=qid)
    >>> bool(model.cost_ <= 15)
    True
    >>> model.predict(X, qid).shape
    (400,)
    """

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        costs: AnyCosts = None,
    ) -> Self:
        """Order features, fit the stages, and tune how many documents go on.

        Parameters
        ----------
        X : array-like or data frame of numbers, shape (n_samples, n_features)
            Missing values are NaN.
        y : array-like, shape (n_samples,)
            Grades of relevance: 0 for what is not relevant.
        qid : array-like, shape (n_samples,)
            The query of each sample; its documents need not be neighbours.
        sample_weight : array-like, shape (n_samples,), optional
            How much each sample counts; at 0 it is left out.
        costs : array-like, mapping or Costs, optional
            In place of the parameter `costs`.
        """
        self._check_parameters()
        if y is None:
            raise InputError("`y` is None: pass the grade of every document.", "y")
        samples, weights, counted = self._read_samples(X, numbers(y, "y"), sample_weight)
        self._check_weights(samples)
        query = read_queries(qid, len(counted))
        if query is None or len(np.unique(query[counted])) < FEWEST_QUERIES:
            raise InputError(
                "A ThriftyRanker is tuned on queries that its models did not see: pass `qid`, the "
                f"query of each sample, of at least {FEWEST_QUERIES} queries.",
                "qid",
            )
        place = np.flatnonzero(counted)
        order = np.argsort(query[place], kind="stable")
        data = samples.take(order)._replace(query=query[place][order])
        given = self.costs if costs is None else costs
        prices = prices_for(self, given, len(counted), query).take(place[order])
        seed = int(check_random_state(self.random_state).randint(MOST_SEED))
        effort = EFFORTS[self.effort]
        with progress_bar("Fitting", bool(self.verbose)) as bar:
            bar("orders features")
            sets = self._sets(data, PricedUnits(prices), effort, math.inf, seed)
            auto = isinstance(self.estimator, str)
            learners = auto_learners(effort, data) if auto else [own_learner(self.estimator)]
            fitted = fit_stages(data, sets, learners, seed, self.n_jobs, bar)
            bar("tunes how many documents go on")
            held_out = fitted.held_out
            own = data.take(held_out), weights[order][held_out], prices.take(held_out)
            begins, outputs = _best_means(fitted, own[0])
            stages = NestedStages(
                tuple(sets),
                fitted.members,
                (),
                whole_model(len(sets)),
                np.empty((0, 0)),
                begins=begins,
            ).check()
            self.cascade_ = self._tuned(stages, outputs, *own)
        self.rules_, self.prices_ = self.cascade_.rules, self.cascade_.prices
        measured: Any = self.cascade_.evaluation
        about = measured.score[::-1], measured.score_error[::-1], measured.scoring, prices.unit
        self.frontier_ = Frontier(self.rules_.costs, *about)
        self._set_rule(self.budget)
        return self

    def predict(self, X: Any, qid: ArrayLike | None = None) -> FloatArray:
        """Rank documents: return minus the number of documents of its query above each."""
        return self._fitted.predict(X, qid)

    def decision_path(self, X: Any, qid: ArrayLike | None = None) -> ListPredictions:  # type: ignore[override]
        """Return at which stage documents stop, what it says of them, and their ranks."""
        return self._fitted.decision_path(X, qid)

    def score(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Return the score of rankings, such as NDCG."""
        return self._fitted.score(X, y, qid)

    def bill(  # type: ignore[override]
        self, X: Any, qid: ArrayLike | None = None, costs: AnyCosts = None
    ) -> FeatureBill:
        """Return what documents and their queries pay; parameters as in `CascadeRanker.bill`."""
        return self._fitted.bill(X, qid, costs)

    def evaluate(  # type: ignore[override]
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: ArrayLike,
        scoring: Scoring = None,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        sample_weight: ArrayLike | None = None,
        costs: AnyCosts = None,
    ) -> Evaluation:
        """Measure every budget on other queries; parameters as in `CascadeRanker.evaluate`."""
        return self._fitted.evaluate(
            X,
            y,
            qid=qid,
            scoring=scoring,
            quantiles=quantiles,
            sample_weight=sample_weight,
            costs=costs,
        )

    def save(self, file: File) -> None:
        """Write `cascade_` to a file, all of it or nothing; `CascadeRanker.load` reads it."""
        check_is_fitted(self, "cascade_")
        self.cascade_.save(file)

    @property
    def purchase_plan(self) -> Stages:
        """Purchases of each stage, as trees that bills and lazy predictors can follow."""
        return self.cascade_.purchase_plan

    def _tuned(
        self,
        stages: NestedStages,
        outputs: FloatArray,
        data: LabelledData,
        weights: FloatArray,
        prices: PriceList,
    ) -> CascadeRanker:
        """Return a cascade with rules for documents that models did not see."""
        scoring = ranking_name(self.scoring)
        names = self._names
        cascade = CascadeRanker(stages, prices.without_samples(), scoring=scoring)
        cascade.feature_names, cascade.n_jobs = names, self.n_jobs
        cascade.max_cost = self._limit
        assert data.query is not None
        query = np.unique(data.query, return_inverse=True)[1].astype(np.int32)
        own_weights = in_whole_numbers(weights)
        documents = SampleData(
            table=Table(read_only(data.X), names),
            target=read_only(data.y),
            sample_weights=own_weights,
            weights=prices.bill_weights(own_weights),
            loss_weights=own_weights,
            times=times_counted(1, len(query)),
            query=read_only(query),
        )
        return tuned(cascade, documents, prices, outputs)

    @property
    def _fitted(self) -> CascadeRanker:
        check_is_fitted(self, "cascade_")
        return self.cascade_

    @property
    def _limit(self) -> float:
        return math.inf if self.max_cost is None else float(self.max_cost)

    def _read_target(self, y: NDArray[Any], weights: FloatArray) -> tuple[Any, FloatArray, int]:
        grades = y.astype(np.float64)
        check_grades(grades, "a ThriftyRanker", 30)
        broken = np.flatnonzero(grades != np.rint(grades))
        if len(broken):
            raise InputError(
                f"`y` is {grades[broken[0]]:g} in row {broken[0]}, and rankers are trained on "
                "grades of relevance in whole numbers, 0 for what is not relevant: round them, or "
                "give each its number.",
                "y",
            )
        return grades, weights, 0

    def _check_scoring(self) -> None:
        ranking_name(self.scoring)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.estimator, str) and is_classifier(self.estimator):
            raise InputError(
                f"`estimator` is a {type(self.estimator).__name__}, and documents are ranked by "
                "numbers: pass a ranker, or a regressor of grades.",
                "estimator",
            )

    def _set_rule(self, budget: float | None) -> None:
        self.cascade_ = self.cascade_.at(budget=budget, max_cost=self._limit)
        number = self.rules_.within(budget)
        if number < len(self.rules_):
            self.cost_ = float(self.rules_.costs[number])
            self.score_ = float(1.0 - self.rules_.errors[number])
        else:  # the last stage for all documents
            measured: Any = self.cascade_.evaluation
            self.cost_ = float(measured.original.cost * measured.documents_per_query)
            self.score_ = float(measured.original.score)


def _best_means(fitted: FittedStages, data: LabelledData) -> tuple[tuple[int, ...], FloatArray]:
    """Return with which stage the mean that each predicts begins, and these means.

    Few queries are ranked better by many models, and features of their own only by those that have
    them. Judged on documents that models did not see.
    """
    sizes = np.array([len(own) for own in fitted.members])
    sums = np.cumsum(fitted.outputs[:, :, 0] * sizes, axis=1)
    begins, means = [], []
    for number in range(len(sizes)):
        tried = {}
        for first in range(number, -1, -1):
            before = sums[:, first - 1] if first else 0.0
            tried[first] = (sums[:, number] - before) / sizes[first : number + 1].sum()
        begins.append(min(tried, key=lambda first: data.mean_loss(tried[first][:, None])))
        means.append(tried[begins[-1]])
    return tuple(begins), np.column_stack(means)
