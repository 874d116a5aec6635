"""BudgetRF: a random forest whose trees look at prices while they grow."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from thriftwood.adapters import decision_tree, read_forest
from thriftwood.billing import bills_of, features_used
from thriftwood.costs import AnyCosts, PriceList
from thriftwood.errors import InputError, RangeError
from thriftwood.estimators.options import (
    BALANCED_SUBSAMPLE,
    class_weights,
    n_features_tried,
    prices_for,
    read_samples,
)
from thriftwood.evaluation import (
    Recalibration,
    choose_point,
    chosen_recalibration,
    evaluate,
    read_rule,
)
from thriftwood.forest import Forest
from thriftwood.forest.table import Table, readable
from thriftwood.problem import (
    AnyErrorCosts,
    ErrorCosts,
    answers_of,
    read_error_costs,
)
from thriftwood.pruning import prune_path, pruning_problem
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray, log_of
from thriftwood.support.parallel import Progress, for_each, n_threads
from thriftwood.support.progress import progress_bar
from thriftwood.support.text import DOCUMENTS
from thriftwood.support.validation import one_number_from_zero, truth, whole_number
from thriftwood.training import Bundles, Growth, RankedColumns, grow_tree, rank_columns

# Within these, products of class weights stay within doubles.
LEAST_WEIGHT, MOST_WEIGHT = 1e-12, 1e15
# What double arithmetic may take from or add to a whole number, as a part of the largest, and add
# to a bill that is exactly the budget.
ROUNDING = 1e-12
# Parameters that the trees carry.
TREE_PARAMETERS = ("max_depth", "min_samples_leaf", "min_weight_fraction_leaf", "max_features")
# How samples are read: single precision, as scikit-learn's trees see them; NaN is missing.
AS_READ: dict[str, Any] = {"dtype": np.float32, "ensure_all_finite": "allow-nan"}
MOST_SEED = np.iinfo(np.int32).max
# Whether a forest may have one more tree; called once for each, in order.
Limit = Callable[[Forest], bool]


@dataclass(eq=False, repr=False)
class BudgetForestClassifier(ClassifierMixin, BaseEstimator):
    """A random forest that prefers cheap features: BudgetRF of Nan, Wang and Saligrama (2015).

    Each tree is grown on a bootstrap sample until its leaves are pure. A feature's threshold is the
    one that leaves the least impurity in the worse of both sides, and the feature taken is the one
    that costs least per impurity removed. With `error_costs` every branch then ends where its tests
    cost more than they save. `prune_path` makes such a forest cheaper still.

    Parameters
    ----------
    n_estimators : int
        How many trees to grow, or with a `budget` at most.
    costs : array-like, mapping or Costs, optional
        What it costs one sample to look at each feature. None means 1 each; names need data frames.
    impurity : {"pairs", "powers", "entropy"}
        How mixed n_1, n_2, ... samples of each class are. "pairs" is the paper's threshold-Pairs,
        the sum over pairs of classes of [[n_i - alpha]+ [n_j - alpha]+ - alpha^2]+. "powers" is
        (sum n_i)^power - sum n_i^power. Both grow with the number of samples, so that a split is
        good if it leaves little on either side; where prices differ much, the cheapest features win
        nearly every split. "entropy" is the choice for such prices: there a split is judged by the
        mean over samples, not by the worse side.
    alpha : float
        The larger it is, the earlier trees stop: small, cheap trees. For "pairs" a sample weight;
        for "entropy" the entropy, in nats, below which samples count as pure; not for "powers".
    power : int
        Of "powers", from 2, where it is the same as "pairs" with `alpha` 0, to 20.
    max_features : int, float, {"sqrt", "log2"} or None
        How many features each node tries, drawn at random, as in scikit-learn's forests. None is
        all, as in the paper.
    free_once_bought : bool
        Whether a feature that was tested above a node costs nothing more there: it is taken in
        place of the one that prices suggest, where it gains at least as much. The authors' program
        has it off.
    error_costs : float, mapping from class to cost, or matrix, optional
        What wrong answers cost, in the unit of `costs`, as in `prune`. Growing looks only one split
        ahead, which stops too early; so trees are grown as far as ever, and then cut back, all
        together: of the prunings that are exactly optimal for single trees at some tradeoff, that
        is taken where bills and errors of the whole forest cost least. It may have no splits left.
        Errors count on the samples that a tree was not grown on, or where there are none on all.
        `predict` answers with the class of least expected cost.
    budget : float, optional
        Add trees as long as the mean bill of samples stays within it; see `X_valid` of `fit`.
    max_depth : int, optional
    min_samples_leaf : int
        How many samples of its bootstrap sample each leaf has at least, repeated ones counted once.
    min_weight_fraction_leaf : float
        Which share of the weight of its bootstrap sample each leaf has at least, up to 0.5.
    bootstrap : bool
        Whether each tree gets a sample of its own, drawn with replacement, or all.
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
        The samples that each tree was grown on, as often as drawn.
    node_counts_ : list of arrays, shape (n_nodes, n_classes)
        The weight of each class in each tree's sample, at every node.
    feature_importances_ : array, shape (n_features,)
    classes_ : array, shape (n_classes,)
    error_costs_ : array, shape (n_classes, n_classes), or None
        What answers (columns) cost where rows are true.
    recalibration_ : Recalibration or None
        As of a `PrunedEnsembleClassifier`.
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

    _doc_link_module = "thriftwood"
    _doc_link_template = f"{DOCUMENTS}growing.md"

    n_estimators: int = 100
    _: KW_ONLY
    costs: AnyCosts = None
    impurity: str = "pairs"
    alpha: float = 0.0
    power: int = 3
    max_features: int | float | str | None = None
    free_once_bought: bool = False
    error_costs: AnyErrorCosts = None
    budget: float | None = None
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    bootstrap: bool = True
    class_weight: Any = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: bool = False

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
            How much each sample counts, times how often it is drawn; at 0 it is left out.
        costs : array-like, mapping or Costs, optional
            In place of the parameter `costs`, as in `PrunedEnsembleClassifier.fit`.
        X_valid : array-like or data frame, optional
            Samples whose mean bill is held against the `budget`; None takes those of X.
        """
        read, label, weight, own_weight = self._read_samples(X, y, sample_weight)
        costs = self.costs if costs is None else costs
        prices = prices_for(self, costs, len(label))
        growth = self._growth(prices)
        limit = self._limit(read, own_weight, prices, X_valid)
        self._counted = np.flatnonzero(weight)
        self._draws = truth(self.bootstrap, "bootstrap")
        seeds = self._draw_seeds()
        grow = partial(self._grow_tree, rank_columns(read, self.n_jobs), label, weight, growth)
        with progress_bar("Growing", bool(self.verbose)) as bar:
            self.estimators_ = _grow_trees(grow, seeds, limit, self.n_jobs, bar)
        self._seeds = seeds[: len(self.estimators_)]
        self._n_samples = len(label)
        self.recalibration_: Recalibration | None = None
        if self.error_costs_ is not None:
            self._keep_what_is_worth_it(X, y, costs, own_weight)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample: the most probable, or that of least expected cost."""
        answers = answers_of(self.predict_proba(X), self.error_costs_, self.recalibration_)
        labels: NDArray[Any] = self.classes_[answers]
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class for each sample: the mean over the trees."""
        check_is_fitted(self, "estimators_")
        X = validate_data(self, readable(X), reset=False, **AS_READ)
        total = np.zeros((len(X), len(self.classes_)))

        def add_up(block: slice) -> None:
            for tree in self.estimators_:
                total[block] += tree.predict_proba(X[block], check_input=False)

        borders = np.linspace(0, len(X), min(n_threads(self.n_jobs), len(X)) + 1).astype(int)
        for_each(add_up, [slice(*block) for block in pairwise(borders)], self.n_jobs)
        return total / len(self.estimators_)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of the probability of each class for each sample."""
        return log_of(self.predict_proba(X))

    @property
    def estimators_samples_(self) -> list[IntArray]:
        """The samples that each tree was grown on, as often as drawn; drawn anew from seeds."""
        check_is_fitted(self, "estimators_")
        return [self._sample(seed) for seed in self._seeds]

    @property
    def node_counts_(self) -> list[FloatArray]:
        """The weight of each class in each tree's sample, at every node."""
        check_is_fitted(self, "estimators_")
        return [_counts(tree.tree_) for tree in self.estimators_]

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in lowering the Gini impurity, as in scikit-learn's forests."""
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

    def _draw_seeds(self) -> IntArray:
        """Draw a seed for each tree."""
        random = check_random_state(self.random_state)
        try:
            seeds: IntArray = random.randint(MOST_SEED, size=self.n_estimators)
            return seeds
        except (MemoryError, ValueError) as error:
            raise InputError(
                f"`n_estimators` is {self.n_estimators}: so many do not fit into memory ({error})."
            ) from None

    def _read_samples(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[NDArray[np.float32], IndexArray, FloatArray, FloatArray]:
        """Return X, class numbers, and the weights of samples with and without class weights."""
        X, y, own_weight = read_samples(self, X, y, sample_weight, AS_READ)
        self.classes_, label = np.unique(y, return_inverse=True)
        self.error_costs_ = None
        if self.error_costs is not None:
            self.error_costs_ = read_error_costs(ErrorCosts(self.error_costs), self.classes_)
        weight = own_weight
        if self.class_weight is not None and not self._balances_samples:
            weight = weight * class_weights(self.class_weight, y)
        if not LEAST_WEIGHT <= weight.sum() <= MOST_WEIGHT:
            raise InputError(
                f"The weights of all samples add up to {weight.sum():g}: scale `sample_weight` and "
                f"`class_weight` so that they are between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}."
            )
        return X, label.astype(np.int32), weight, own_weight

    def _sample(self, seed: int) -> IntArray:
        """Return what the tree with a seed is grown on, of the samples that count."""
        if not self._draws:
            return self._counted
        n_samples = len(self._counted)
        drawn = np.random.RandomState(seed).randint(n_samples, size=n_samples)
        return self._counted[drawn]

    def _grow_tree(
        self,
        columns: RankedColumns,
        label: IndexArray,
        weight: FloatArray,
        growth: Growth,
        seed: int,
    ) -> DecisionTreeClassifier:
        sample = self._sample(seed)
        weight = weight * np.bincount(sample, minlength=len(weight))
        if self._balances_samples:
            weight *= compute_sample_weight("balanced", label, indices=sample)
        least = self.min_weight_fraction_leaf * weight.sum()
        growth = replace(growth, min_weight_leaf=least)
        tree = grow_tree(columns, label, weight, len(self.classes_), growth, seed)
        return decision_tree(
            tree.forest,
            tree.counts,
            tree.n_samples,
            growth.max_features or self.n_features_in_,
            random_state=seed,
            **{name: getattr(self, name) for name in TREE_PARAMETERS},
        )

    def _keep_what_is_worth_it(self, X: Any, y: Any, costs: AnyCosts, weights: FloatArray) -> None:
        """Drop the tests that cost more than they save.

        Points of the path are where tests and errors of single trees cost least; that where those
        of all trees together do is taken, so that all may end as leaves.
        """
        left_out = [np.setdiff1d(self._counted, own).size for own in self.estimators_samples_]
        problem = pruning_problem(
            self,
            X,
            y,
            costs=costs,
            error_costs=self.error_costs_,
            sample_weight=weights,
            samples="out_of_bag" if any(left_out) else "all",
            n_jobs=self.n_jobs,
            progress=False,
        )
        path = prune_path(problem)
        money = ErrorCosts(self.error_costs_, recalibrates=True)
        measured = evaluate(path, problem.in_memory, problem.prices, scoring=money, progress=False)
        choice = choose_point(measured, read_rule(None, None, is_money=True))
        self.estimators_ = path.chosen(choice).model.estimators_
        self.recalibration_ = chosen_recalibration(measured, choice)

    @property
    def _balances_samples(self) -> bool:
        return isinstance(self.class_weight, str) and self.class_weight == BALANCED_SUBSAMPLE

    def _growth(self, prices: PriceList) -> Growth:
        whole_number(self.n_estimators, "n_estimators", 1)
        if self.error_costs is not None and self.budget is not None:
            raise InputError(
                "Pass either `budget` or `error_costs`, which say what is worth its price.",
                "budget",
            )
        advice = "It is the share of a tree's samples in each leaf, up to 0.5."
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
        self, X: NDArray[np.float32], weights: FloatArray, prices: PriceList, X_valid: Any
    ) -> Limit | None:
        """Return the limit on bills, where there is a budget."""
        if self.budget is None and X_valid is not None:
            raise InputError("`X_valid` has no use without a `budget`: set it, or leave both.")
        if self.budget is None or (isinstance(self.budget, float) and self.budget == np.inf):
            return None
        advice = "It is what a sample costs on average."
        budget = one_number_from_zero(self.budget, "budget", advice)
        if X_valid is None:
            return _budget_limit(budget, X, prices.bill_weights(weights), prices)
        if prices.is_tied_to_samples:
            raise InputError(
                "Some prices belong to the samples of X, so bills of `X_valid` are not known: "
                "leave it out, and the `budget` holds for the samples of X."
            )
        X_valid = validate_data(self, readable(X_valid), reset=False, **AS_READ)
        return _budget_limit(budget, X_valid, np.ones(len(X_valid)), prices)


def _budget_limit(
    budget: float, X: NDArray[np.float32], weights: FloatArray, prices: PriceList
) -> Limit:
    """Return a limit that holds the mean bill of samples against a budget as trees are added."""
    with np.errstate(over="ignore"):
        everything = prices.prices.sum()
    if not np.isfinite(everything):
        raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
    prices.batch_weights(weights)  # refuses weights that differ within a batch
    table, n_trees = Table(X, None), 0
    used, test_costs = np.zeros(X.shape, dtype=np.bool_), np.zeros(len(X))
    tested, n_splits = np.zeros(X.shape[1], dtype=np.bool_), 0

    def allows(tree: Forest) -> bool:
        nonlocal used, test_costs, n_splits, n_trees
        own_used, own_costs = features_used(tree, table, prices)
        used |= own_used
        test_costs += own_costs
        tested[tree.feature[tree.is_split]] = True
        n_splits += tree.n_splits
        bills = bills_of(prices, used).per_sample + test_costs
        bill = float(np.average(bills, weights=weights)) + prices.model_cost(tested, n_splits)
        is_within = bill <= budget * (1 + ROUNDING)
        if not is_within and n_trees == 0:
            raise InputError(
                f"Even one tree costs {bill:g} per sample, more than the `budget` of {budget:g}: "
                "raise it, or grow smaller trees with a larger `alpha` or a `max_depth`.",
                "budget",
            )
        n_trees += 1
        return is_within

    return allows


def _grow_trees(
    grow: Callable[[int], DecisionTreeClassifier],
    seeds: IntArray,
    limit: Limit | None,
    n_jobs: int | None,
    progress: Progress,
) -> list[DecisionTreeClassifier]:
    """Grow a tree for each seed, or a few at a time until the budget is used up."""
    n_trees = len(seeds)
    n_at_once = n_trees if limit is None else n_threads(n_jobs)
    trees: list[DecisionTreeClassifier] = [None] * n_trees

    def grow_one(number: int) -> None:
        trees[number] = grow(int(seeds[number]))
        progress((number + 1) / n_trees)

    for first in range(0, n_trees, n_at_once):
        batch = range(first, min(first + n_at_once, n_trees))
        for_each(grow_one, batch, n_jobs)
        for number in batch:
            if limit is not None and not limit(read_forest(trees[number])):
                return trees[:number]
    return trees


def _counts(tree: Any) -> FloatArray:
    """Return the class weights of a tree's nodes; whole numbers where they were whole."""
    counts: FloatArray = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None]
    whole = np.rint(counts)
    is_whole = np.abs(counts - whole) <= ROUNDING * tree.weighted_n_node_samples[0]
    return np.where(is_whole, whole, counts)
