"""BudgetRF: a random forest whose trees look at prices while they grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from thriftwood.adapters import TreeAverage, decision_tree, read_forest
from thriftwood.arguments import is_whole, one_number_from_zero, whole_number
from thriftwood.arrays import FloatArray, IndexArray, IntArray
from thriftwood.errors import InputError
from thriftwood.estimators.budget_limit import BudgetLimit
from thriftwood.estimators.prices import prices_of
from thriftwood.formulation import read_weights
from thriftwood.parallel import Progress, for_each
from thriftwood.progress import progress_bar
from thriftwood.table import read_table
from thriftwood.training import Growth, RankedColumns, grow_tree, rank_columns

# Within these, products of class weights stay within doubles.
LEAST_WEIGHT, MOST_WEIGHT = 1e-12, 1e15
MOST_SEED = np.iinfo(np.int32).max


class BudgetForestClassifier(TreeAverage, ClassifierMixin, BaseEstimator):
    """A random forest that prefers cheap features: BudgetRF of Nan, Wang and Saligrama (2015).

    Each tree is grown on a bootstrap sample until its leaves are pure. A feature's threshold is the
    one that leaves the least impurity in the worse of both sides, and the feature taken is the one
    that costs least per impurity removed. `prune_path` makes such a forest cheaper still.

    Parameters
    ----------
    n_estimators : int
        How many trees to grow, or with a `budget` at most.
    costs : array-like or mapping, optional
        What it costs to look at each feature of one row. None means 1 each; names need data frames.
    impurity : {"pairs", "powers", "entropy"}
        How mixed n_1, n_2, ... rows of each class are. "pairs" is the paper's threshold-Pairs, the
        sum over pairs of classes of [[n_i - alpha]+ [n_j - alpha]+ - alpha^2]+. "powers" is
        (sum n_i)^power - sum n_i^power. Both grow with the number of rows, so that a split is good
        if it leaves little on either side. "entropy" does not, so there a split is judged by the
        mean over rows, not by the worse side; entropies below `alpha` count as 0.
    alpha : float
        The larger it is, the earlier trees stop: small, cheap trees. Counted in weight of rows.
    power : int
        Of "powers", at least 2, where it is the same as "pairs" with `alpha` 0.
    max_features : int, float, {"sqrt", "log2"} or None
        How many features each node tries, drawn at random, as in scikit-learn's forests. None is
        all, as in the paper.
    free_once_bought : bool
        Whether a feature that was tested above a node costs nothing more there. A feature that
        costs nothing, for this reason or by its price, is taken where it gains at least as much as
        the best one to buy. The authors' program has it off.
    budget : float, optional
        Add trees as long as the mean bill of a row stays within it; see `X_valid` of `fit`.
    max_depth : int, optional
    min_samples_leaf : int
        How many rows of its sample each leaf of a tree has at least, repeated ones counted once.
    min_weight_fraction_leaf : float
        Which share of the weight of its sample each leaf of a tree has at least, up to 0.5.
    bootstrap : bool
        Whether each tree gets a sample of its own, drawn with replacement, or all rows.
    class_weight : dict, "balanced", "balanced_subsample" or None
        As in scikit-learn's forests.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads to grow and to predict with. The forest does not depend on it.
    verbose : bool
        Whether to show a progress bar.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees, as scikit-learn would have grown them; their classes are numbers into `classes_`.
    estimators_samples_ : list of arrays
        The rows that each tree was grown on, as often as drawn.
    node_counts_ : list of arrays, shape (n_nodes, n_classes)
        The weight of each class in each tree's sample, at every node.
    feature_importances_ : array, shape (n_features,)
    classes_ : array, shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array, shape (n_features,)
        Where X has column names that are text.

    Examples
    --------
    >>> import thriftwood as tw
    >>> heart = tw.datasets.load_heart()
    >>> forest = tw.BudgetForestClassifier(20, costs=heart.costs, alpha=2, random_state=0)
    >>> forest = forest.fit(heart.X, heart.y)
    >>> bool(tw.feature_bill(forest, heart.X, heart.costs).mean < heart.costs.sum())
    True
    >>> len(tw.prune_path(forest, heart.X, heart.y, costs=heart.costs)) > 5
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        costs: ArrayLike | Mapping[str, float] | None = None,
        impurity: str = "pairs",
        alpha: float = 0.0,
        power: int = 3,
        max_features: int | float | str | None = None,
        free_once_bought: bool = False,
        budget: float | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        bootstrap: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.costs = costs
        self.impurity = impurity
        self.alpha = alpha
        self.power = power
        self.max_features = max_features
        self.free_once_bought = free_once_bought
        self.budget = budget
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.bootstrap = bootstrap
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        costs: ArrayLike | Mapping[str, float] | None = None,
        X_valid: Any = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or data frame, shape (n_rows, n_features)
            Missing values are NaN.
        y : array-like, shape (n_rows,)
        sample_weight : array-like, shape (n_rows,), optional
            How much each row counts, times how often it is drawn. Rows of weight 0 are left out.
        costs : array-like or mapping, optional
            In place of the parameter `costs`, as in `PrunedEnsembleClassifier.fit`.
        X_valid : array-like or data frame, optional
            Rows whose mean bill is held against the `budget`; None takes those of X.
        """
        rows = self._read_rows(X, y, sample_weight)
        prices = prices_of(self, costs)
        growth = self._growth(prices)
        limit = self._limit(rows, prices, X_valid)
        draws = _Draws(
            seeds=check_random_state(self.random_state).randint(MOST_SEED, size=self.n_estimators),
            counted=np.flatnonzero(rows.weight),
            bootstrap=self.bootstrap,
        )
        with progress_bar("Growing", bool(self.verbose)) as bar:
            self.estimators_ = self._grow_all(rows, growth, draws, limit, bar)
        self._draws = draws._replace(seeds=draws.seeds[: len(self.estimators_)])
        self._n_samples = len(rows.label)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row: the one with the highest probability."""
        best = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class for each row: the mean over the trees."""
        check_is_fitted(self, "estimators_")
        X = validate_data(self, X, reset=False, dtype=np.float32, ensure_all_finite="allow-nan")
        total = np.zeros((len(X), len(self.classes_)))

        def add_up(rows: slice) -> None:
            for tree in self.estimators_:
                total[rows] += tree.predict_proba(X[rows], check_input=False)

        n_parts = min(effective_n_jobs(self.n_jobs), len(X))
        borders = np.linspace(0, len(X), n_parts + 1).astype(int)
        parts = [slice(first, last) for first, last in pairwise(borders)]
        for_each(add_up, parts, self.n_jobs)
        return total / len(self.estimators_)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of the probability of each class for each row."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def estimators_samples_(self) -> list[IntArray]:
        """The rows that each tree was grown on, as often as drawn; drawn anew from their seeds."""
        check_is_fitted(self, "estimators_")
        return [self._draws.sample(seed) for seed in self._draws.seeds]

    @property
    def node_counts_(self) -> list[FloatArray]:
        """The weight of each class in each tree's sample, at every node, to nine decimals."""
        check_is_fitted(self, "estimators_")
        trees = [tree.tree_ for tree in self.estimators_]
        return [
            np.round(tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None], 9)
            for tree in trees
        ]

    @property
    def feature_importances_(self) -> FloatArray:
        """How much each feature lowers the Gini impurity, as in scikit-learn's forests."""
        check_is_fitted(self, "estimators_")
        splitting = [tree for tree in self.estimators_ if tree.tree_.node_count > 1]
        if not splitting:
            return np.zeros(self.n_features_in_)
        mean: FloatArray = np.mean([tree.feature_importances_ for tree in splitting], axis=0)
        shares: FloatArray = mean / mean.sum()
        return shares

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> _Rows:
        X, y = validate_data(self, X, y, dtype=np.float32, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        read_weights(weight, len(y))  # refuses what cannot be a weight
        if self.class_weight is not None and self.class_weight != "balanced_subsample":
            weight = weight * compute_sample_weight(self.class_weight, y)
        if not LEAST_WEIGHT <= weight.sum() <= MOST_WEIGHT:
            raise InputError(
                f"The weights of all rows add up to {weight.sum():g}: scale `sample_weight` and "
                f"`class_weight` so that they are between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}."
            )
        return _Rows(X, label.astype(np.int32), weight)

    def _growth(self, prices: FloatArray) -> Growth:
        whole_number(self.n_estimators, "n_estimators", 1)
        advice = "It is the share of a tree's rows in each leaf, up to 0.5."
        share = one_number_from_zero(
            self.min_weight_fraction_leaf, "min_weight_fraction_leaf", advice
        )
        if share > 0.5:
            raise InputError(f"`min_weight_fraction_leaf` is {share}. {advice}")
        return Growth(
            prices=prices,
            impurity=self.impurity,
            alpha=self.alpha,
            power=self.power,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_features=_n_features_tried(self.max_features, self.n_features_in_),
            free_once_bought=self.free_once_bought,
        ).check()

    def _limit(self, rows: _Rows, prices: FloatArray, X_valid: Any) -> BudgetLimit | None:
        """Return what holds bills against the budget, where there is one."""
        if self.budget is None:
            if X_valid is not None:
                raise InputError("`X_valid` has no use without a `budget`: set it, or leave both.")
            return None
        budget = one_number_from_zero(self.budget, "budget", "It is what a row costs on average.")
        table = read_table(rows.X if X_valid is None else X_valid, np.dtype(np.float32))
        weights = rows.weight if X_valid is None else np.ones(table.n_rows)
        return BudgetLimit(budget, table, weights, prices)

    def _grow_all(
        self,
        rows: _Rows,
        growth: Growth,
        draws: _Draws,
        limit: BudgetLimit | None,
        progress: Progress,
    ) -> list[DecisionTreeClassifier]:
        """Grow all trees, or a few at a time until the budget is used up."""
        columns = rank_columns(rows.X, self.n_jobs)
        n_trees = len(draws.seeds)
        n_at_once = n_trees if limit is None else effective_n_jobs(self.n_jobs)
        trees: list[DecisionTreeClassifier] = [None] * n_trees

        def grow(number: int) -> None:
            seed = int(draws.seeds[number])
            trees[number] = self._grow_one(columns, rows, growth, draws.sample(seed), seed)
            progress((number + 1) / n_trees)

        for first in range(0, n_trees, n_at_once):
            batch = range(first, min(first + n_at_once, n_trees))
            for_each(grow, batch, self.n_jobs)
            if limit is None:
                continue
            for number in batch:
                if not limit.allows(read_forest(trees[number])):
                    return trees[:number]
        return trees

    def _grow_one(
        self, columns: RankedColumns, rows: _Rows, growth: Growth, sample: IntArray, seed: int
    ) -> DecisionTreeClassifier:
        weight = rows.weight * np.bincount(sample, minlength=len(rows.weight))
        if self.class_weight == "balanced_subsample":
            weight *= compute_sample_weight("balanced", rows.label, indices=sample)
        growth = replace(growth, min_weight_leaf=self.min_weight_fraction_leaf * weight.sum())
        tree = grow_tree(columns, rows.label, weight, len(self.classes_), growth, seed)
        return decision_tree(
            tree.forest,
            tree.counts,
            tree.n_rows,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_features=self.max_features,
            random_state=seed,
        )


class _Rows(NamedTuple):
    """What to grow on: the table, class numbers, and how much each row counts."""

    X: NDArray[np.float32]
    label: IndexArray
    weight: FloatArray


class _Draws(NamedTuple):
    """How the sample of each tree is drawn: a seed for each, and the rows that count at all."""

    seeds: IntArray
    counted: IntArray
    bootstrap: bool

    def sample(self, seed: int) -> IntArray:
        """Return the rows of the tree with a seed, in the order in which they are drawn."""
        if not self.bootstrap:
            return self.counted
        n_rows = len(self.counted)
        return self.counted[np.random.RandomState(seed).randint(n_rows, size=n_rows)]


def _n_features_tried(max_features: Any, n_features: int) -> int | None:
    """Return how many features a node tries, read as scikit-learn reads it; None is all."""
    if isinstance(max_features, str) and max_features in ("sqrt", "log2"):
        return max(1, int(getattr(np, max_features)(n_features)))
    if isinstance(max_features, (float, np.floating)) and 0 < max_features <= 1:
        return max(1, int(max_features * n_features))
    if max_features is None or (is_whole(max_features) and max_features >= 1):
        number: int | None = max_features
        return number
    raise InputError(
        f"`max_features` is {max_features!r}: pass a whole number of at least 1, a share of the "
        "features between 0 and 1, 'sqrt', 'log2', or None for all."
    )
