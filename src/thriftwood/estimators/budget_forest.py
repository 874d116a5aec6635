"""BudgetRF: a random forest whose trees look at prices while they grow."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from thriftwood.adapters import TreeAverage
from thriftwood.costs import AnyCosts, PriceList
from thriftwood.errors import InputError
from thriftwood.estimators.budget_limit import BudgetLimit
from thriftwood.estimators.growing import Draws, Grower, Rows
from thriftwood.estimators.options import BALANCED_SUBSAMPLE, class_weights, n_features_tried
from thriftwood.estimators.prices import prices_of
from thriftwood.problem.targets import read_weights
from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.parallel import for_each, n_threads
from thriftwood.support.progress import progress_bar
from thriftwood.support.validation import one_number_from_zero, truth, whole_number
from thriftwood.training import Bundles, Growth

# Within these, products of class weights stay within doubles.
LEAST_WEIGHT, MOST_WEIGHT = 1e-12, 1e15
# What double arithmetic may take from or add to a whole number, as a part of the largest.
ROUNDING = 1e-12
# What the trees know about how they were grown.
TREE_PARAMETERS = (
    "max_depth",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
)
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
    costs : array-like, mapping or Costs, optional
        What it costs to look at each feature of one row. None means 1 each; names need data frames.
    impurity : {"pairs", "powers", "entropy"}
        How mixed n_1, n_2, ... rows of each class are. "pairs" is the paper's threshold-Pairs, the
        sum over pairs of classes of [[n_i - alpha]+ [n_j - alpha]+ - alpha^2]+. "powers" is
        (sum n_i)^power - sum n_i^power. Both grow with the number of rows, so that a split is good
        if it leaves little on either side; where prices differ much, the cheapest features win
        nearly every split. "entropy" is the choice for such prices: there a split is judged by the
        mean over rows, not by the worse side.
    alpha : float
        The larger it is, the earlier trees stop: small, cheap trees. For "pairs" a weight of rows;
        for "entropy" the entropy, in nats, below which rows count as pure; not for "powers".
    power : int
        Of "powers", from 2, where it is the same as "pairs" with `alpha` 0, to 20.
    max_features : int, float, {"sqrt", "log2"} or None
        How many features each node tries, drawn at random, as in scikit-learn's forests. None is
        all, as in the paper.
    free_once_bought : bool
        Whether a feature that was tested above a node costs nothing more there: it is taken in
        place of the one that prices suggest, where it gains at least as much. The authors' program
        has it off.
    budget : float, optional
        Add trees as long as the mean bill of a row, weighted by `sample_weight`, stays within it;
        see `X_valid` of `fit`.
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
        The trees, as scikit-learn's own objects; their classes are numbers into `classes_`.
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
    >>> plain = tw.BudgetForestClassifier(20, impurity="entropy", random_state=0)
    >>> plain = plain.fit(heart.X, heart.y)
    >>> forest = tw.BudgetForestClassifier(20, impurity="entropy", random_state=0)
    >>> forest = forest.fit(heart.X, heart.y, costs=heart.costs)
    >>> bills = [tw.feature_bill(model, heart.X, heart.costs).mean for model in (forest, plain)]
    >>> bills[0] < bills[1]
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        costs: AnyCosts = None,
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
        costs: AnyCosts = None,
        X_valid: Any = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or data frame, shape (n_samples, n_features)
            Missing values are NaN.
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            How much each row counts, times how often it is drawn. Rows of weight 0 are left out.
        costs : array-like, mapping or Costs, optional
            In place of the parameter `costs`, as in `PrunedEnsembleClassifier.fit`.
        X_valid : array-like or data frame, optional
            Rows whose mean bill is held against the `budget`; None takes those of X.
        """
        rows, sample_weights = self._read_rows(X, y, sample_weight)
        prices = prices_of(self, costs, len(rows.label))
        growth = self._growth(prices)
        limit = self._limit(rows, sample_weights, prices, X_valid)
        random = check_random_state(self.random_state)
        draws = Draws(
            seeds=random.randint(MOST_SEED, size=self.n_estimators),
            counted=np.flatnonzero(rows.weight),
            bootstrap=truth(self.bootstrap, "bootstrap"),
        )
        grower = Grower(
            rows=rows,
            n_classes=len(self.classes_),
            growth=growth,
            draws=draws,
            min_leaf_share=self.min_weight_fraction_leaf,
            balanced=self._balances_samples,
            parameters={name: getattr(self, name) for name in TREE_PARAMETERS},
        )
        with progress_bar("Growing", bool(self.verbose)) as bar:
            self.estimators_ = grower.grow_all(limit, self.n_jobs, bar)
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

        n_parts = min(n_threads(self.n_jobs), len(X))
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
        """The weight of each class in each tree's sample, at every node."""
        check_is_fitted(self, "estimators_")
        return [_counts(tree.tree_) for tree in self.estimators_]

    @property
    def feature_importances_(self) -> FloatArray:
        """How much each feature lowers the Gini impurity, as in scikit-learn's forests."""
        check_is_fitted(self, "estimators_")
        splitting = [tree for tree in self.estimators_ if tree.tree_.node_count > 1]
        if not splitting:
            return np.zeros(self.n_features_in_)
        mean: FloatArray = np.mean([tree.feature_importances_ for tree in splitting], axis=0)
        shares: FloatArray = mean / max(mean.sum(), np.finfo(np.float64).tiny)
        return shares

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, FloatArray]:
        """Return what to grow on, and the user's weights, without those of classes."""
        X, y = validate_data(self, X, y, dtype=np.float32, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        sample_weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        read_weights(sample_weights, len(y))  # refuses what cannot be a weight
        weight = sample_weights
        if self.class_weight is not None and not self._balances_samples:
            weight = weight * class_weights(self.class_weight, y)
        if not LEAST_WEIGHT <= weight.sum() <= MOST_WEIGHT:
            raise InputError(
                f"The weights of all rows add up to {weight.sum():g}: scale `sample_weight` and "
                f"`class_weight` so that they are between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}."
            )
        return Rows(X, label.astype(np.int32), weight), sample_weights

    @property
    def _balances_samples(self) -> bool:
        return isinstance(self.class_weight, str) and self.class_weight == BALANCED_SUBSAMPLE

    def _growth(self, prices: PriceList) -> Growth:
        whole_number(self.n_estimators, "n_estimators", 1)
        advice = "It is the share of a tree's rows in each leaf, up to 0.5."
        share = one_number_from_zero(
            self.min_weight_fraction_leaf, "min_weight_fraction_leaf", advice
        )
        if share > 0.5:
            raise InputError(f"`min_weight_fraction_leaf` is {share}. {advice}")
        return Growth(
            prices=prices.bundle_prices(),
            bundles=Bundles(prices.start, prices.cost_item, prices.amounts()),
            impurity=self.impurity,
            alpha=self.alpha,
            power=self.power,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_features=n_features_tried(self.max_features, self.n_features_in_),
            free_once_bought=self.free_once_bought,
        ).check()

    def _limit(
        self, rows: Rows, sample_weights: FloatArray, prices: PriceList, X_valid: Any
    ) -> BudgetLimit | None:
        """Return what holds bills against the budget, where there is one."""
        if self.budget is None:
            if X_valid is not None:
                raise InputError("`X_valid` has no use without a `budget`: set it, or leave both.")
            return None
        if isinstance(self.budget, float) and self.budget == np.inf:
            return None
        budget = one_number_from_zero(self.budget, "budget", "It is what a row costs on average.")
        if X_valid is None:
            return BudgetLimit(budget, rows.X, sample_weights, prices)
        if prices.is_tied_to_samples:
            raise InputError(
                "Some prices belong to the rows of X, so bills of `X_valid` are not known: leave "
                "it out, and the `budget` holds for the rows of X."
            )
        X_valid = validate_data(
            self, X_valid, reset=False, dtype=np.float32, ensure_all_finite="allow-nan"
        )
        return BudgetLimit(budget, X_valid, np.ones(len(X_valid)), prices)


def _counts(tree: Any) -> FloatArray:
    """Return the class weights of a tree's nodes; whole numbers where they were whole."""
    counts: FloatArray = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None]
    whole = np.rint(counts)
    is_whole = np.abs(counts - whole) <= ROUNDING * tree.weighted_n_node_samples[0]
    return np.where(is_whole, whole, counts)
