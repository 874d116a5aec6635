"""BudgetRF as an estimator of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from models import NAMES, plain_rows, rows_with_missing, three_classes, two_classes
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError, RangeError
from thriftwood.training import Growth, grow_tree, rank_columns

X = plain_rows(200)
Y = two_classes(X)
THREE = three_classes(X)
PRICES = np.array([1.0, 1.2, 1.1, 1.3])


def forest(n_estimators=8, **options):
    return tw.BudgetForestClassifier(n_estimators, **{"random_state": 0} | options)


def assert_same_trees(one, other):
    assert read_forest(one).has_same_trees(read_forest(other))


# --- what scikit-learn asks of an estimator

WEIGHTS_ARE_DRAWS = {
    "check_sample_weight_equivalence_on_dense_data": (
        "Repeated rows are drawn otherwise than weighted ones, as in scikit-learn's forests."
    )
}


@parametrize_with_checks(
    [
        tw.BudgetForestClassifier(10),
        tw.BudgetForestClassifier(10, bootstrap=False),
        tw.BudgetForestClassifier(10, impurity="entropy", max_features="sqrt"),
    ],
    expected_failed_checks=lambda model: WEIGHTS_ARE_DRAWS if model.bootstrap else {},
)
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


def test_a_search_finds_its_parameters():
    search = GridSearchCV(forest(costs=PRICES), {"alpha": [0.0, 1e6]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"alpha": 0.0}


# --- the trees


def test_it_predicts_the_mean_of_its_trees():
    fitted = forest().fit(X, THREE)
    assert all(isinstance(tree, DecisionTreeClassifier) for tree in fitted.estimators_)
    mean = np.mean([tree.predict_proba(X) for tree in fitted.estimators_], axis=0)
    np.testing.assert_allclose(fitted.predict_proba(X), mean, rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[mean.argmax(axis=1)])
    assert fitted.score(X, THREE) > 0.9


@pytest.mark.parametrize("bootstrap", [True, False])
def test_each_tree_is_grown_on_its_sample(bootstrap):
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    fitted = forest(bootstrap=bootstrap, costs=PRICES).fit(X, THREE, sample_weight=weights)
    columns = rank_columns(X.astype(np.float32))
    for tree, sample in zip(fitted.estimators_, fitted.estimators_samples_, strict=True):
        drawn = np.bincount(sample, minlength=len(X)) * weights
        grown = grow_tree(columns, THREE, drawn, 3, Growth(prices=PRICES), 0)
        assert read_forest(tree).has_same_trees(grown.forest)


def test_node_counts_are_the_weights_in_each_sample():
    fitted = forest(class_weight={0: 1.0, 1: 3.0, 2: 0.1}).fit(X, THREE)
    weight = np.array([1.0, 3.0, 0.1])[THREE]
    samples = zip(fitted.estimators_, fitted.estimators_samples_, strict=True)
    for (tree, sample), counts in zip(samples, fitted.node_counts_, strict=True):
        passes = tree.decision_path(X[sample].astype(np.float32)).toarray()
        for label in range(3):
            own = weight[sample] * (THREE[sample] == label)
            np.testing.assert_allclose(counts[:, label], own @ passes, atol=1e-8)
    whole = forest().fit(X, THREE)
    assert all((counts == np.rint(counts)).all() for counts in whole.node_counts_)


def test_threads_do_not_matter_and_seeds_do():
    one = forest(max_features=2).fit(X, Y)
    two = forest(max_features=2, n_jobs=2).fit(X, Y)
    assert_same_trees(one, two)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    other = forest(max_features=2, random_state=1).fit(X, Y)
    assert not read_forest(one).has_same_trees(read_forest(other))


def test_fewer_features_tried_make_other_trees():
    everything, few = forest().fit(X, Y), forest(max_features=1).fit(X, Y)
    assert not read_forest(everything).has_same_trees(read_forest(few))
    for same in (2, 0.5, "sqrt", "log2"):
        assert_same_trees(forest(max_features=same).fit(X, Y), forest(max_features=2).fit(X, Y))
    for all_of_them in (4, 1.0, 99):
        assert_same_trees(forest(max_features=all_of_them).fit(X, Y), everything)


def test_leaves_have_rows_enough():
    fitted = forest(min_samples_leaf=7, max_depth=5).fit(X, Y)
    for tree in fitted.estimators_:
        leaves = tree.tree_.children_left < 0
        assert tree.tree_.n_node_samples[leaves].min() >= 7
        assert 1 < tree.get_depth() <= 5
    fitted = forest(min_weight_fraction_leaf=0.1, class_weight={0: 1.0, 1: 5.0}).fit(X, Y)
    for tree, counts in zip(fitted.estimators_, fitted.node_counts_, strict=True):
        leaves = tree.tree_.children_left < 0
        assert leaves.sum() > 1
        assert counts[leaves].sum(axis=1).min() >= 0.1 * counts[0].sum() - 1e-9


def test_importances_are_shares_or_nothing():
    assert forest().fit(X, Y).feature_importances_.sum() == pytest.approx(1)
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # one split of XOR tells nothing
    model = forest(1, max_depth=1, bootstrap=False).fit(corners, [0, 1, 1, 0])
    assert model.estimators_[0].get_n_leaves() == 2
    np.testing.assert_array_equal(model.feature_importances_, [0, 0])


# --- prices


def mean_bill(model, costs=None):
    return tw.feature_bill(model, X, costs).mean


def test_cheap_features_are_preferred():
    cheap_last = mean_bill(forest(costs=[10.0, 10.0, 10.0, 1.0]).fit(X, Y), [0, 0, 0, 1])
    dear_last = mean_bill(forest(costs=[1.0, 1.0, 1.0, 10.0]).fit(X, Y), [0, 0, 0, 1])
    assert cheap_last > dear_last


def test_a_larger_alpha_makes_smaller_and_cheaper_forests():
    fitted = [forest(alpha=alpha).fit(X, Y) for alpha in (0, 1, 4, 16)]
    sizes = [read_forest(model).n_splits for model in fitted]
    bills = [mean_bill(model) for model in fitted]
    assert sizes == sorted(sizes, reverse=True)
    assert bills == sorted(bills, reverse=True)
    assert sizes[-1] < sizes[0] / 4


@pytest.mark.parametrize("impurity", ["pairs", "entropy"])
def test_bills_fall_where_a_feature_is_free_once_bought(impurity):
    heart = tw.datasets.load_heart()
    prices = 1 + np.arange(13) % 3 / 2  # near enough that trees buy several
    bills = {free: [] for free in (True, False)}
    for free, found in bills.items():
        for seed in range(5):
            model = forest(
                10,
                costs=prices,
                impurity=impurity,
                free_once_bought=free,
                random_state=seed,
            ).fit(heart.X, heart.y)
            found += [tw.feature_bill(tree, heart.X, prices).mean for tree in model.estimators_]
    assert np.mean(bills[True]) < np.mean(bills[False])


def test_a_feature_without_a_price_is_taken_like_a_very_cheap_one():
    for impurity in ("pairs", "entropy"):
        free = forest(costs=[1.0, 1.0, 0.0, 1.0], impurity=impurity).fit(X, Y)
        cheap = forest(costs=[1.0, 1.0, 1e-12, 1.0], impurity=impurity).fit(X, Y)
        assert_same_trees(free, cheap)
    assert_same_trees(forest(costs=np.zeros(4)).fit(X, Y), forest().fit(X, Y))


def test_only_ratios_of_prices_matter():
    for scale in (1e-300, 1e300):
        assert_same_trees(forest(costs=PRICES * scale).fit(X, Y), forest(costs=PRICES).fit(X, Y))


def test_trees_are_added_while_the_bill_stays_within_the_budget():
    everything = forest(30, costs=PRICES, alpha=2).fit(X, Y)
    budget = mean_bill(forest(4, costs=PRICES, alpha=2).fit(X, Y), PRICES)
    for jobs in (1, 2):
        fitted = forest(30, costs=PRICES, alpha=2, budget=budget, n_jobs=jobs).fit(X, Y)
        n_trees = len(fitted.estimators_)
        assert 4 <= n_trees < 30
        assert len(fitted.estimators_samples_) == n_trees
        assert mean_bill(fitted, PRICES) <= budget + 1e-9
        one_more = forest(n_trees + 1, costs=PRICES, alpha=2).fit(X, Y)
        assert mean_bill(one_more, PRICES) > budget
        for own, all_trees in zip(fitted.estimators_, everything.estimators_, strict=False):
            assert read_forest(own).has_same_trees(read_forest(all_trees))


def test_the_budget_is_held_against_other_rows_where_they_are_given():
    valid = X[:50] + 0.5
    budget = tw.feature_bill(forest(3, alpha=2).fit(X, Y), valid).mean
    fitted = forest(30, alpha=2, budget=budget).fit(X, Y, X_valid=valid)
    n_trees = len(fitted.estimators_)
    assert tw.feature_bill(fitted, valid).mean <= budget
    assert 3 <= n_trees < 30
    one_more = forest(n_trees + 1, alpha=2).fit(X, Y)
    assert tw.feature_bill(one_more, valid).mean > budget


def test_class_weights_do_not_change_bills():
    options = {"alpha": 2, "class_weight": {0: 1.0, 1: 50.0}}
    budget = mean_bill(forest(4, **options).fit(X, Y)) + 1e-9
    fitted = forest(30, budget=budget, **options).fit(X, Y)
    assert 4 <= len(fitted.estimators_) < 30
    assert mean_bill(fitted) <= budget


def test_a_budget_that_is_never_reached_changes_nothing():
    for budget in (1e6, np.inf):
        assert_same_trees(forest(budget=budget).fit(X, Y), forest().fit(X, Y))


# --- rows as people have them


def test_missing_values_find_their_way():
    rows = rows_with_missing(300, share=0.5)
    y = (np.isnan(rows[:, 0]) ^ (np.nan_to_num(rows[:, 1]) > 0)).astype(int)
    fitted = forest(20, costs=PRICES).fit(rows[:200], y[:200])
    assert fitted.score(rows[200:], y[200:]) > 0.85
    assert np.isfinite(forest().fit(X, Y).predict_proba(rows)).all()


def test_weights_of_zero_leave_rows_out():
    counts = np.arange(len(X)) % 2 == 0
    for bootstrap in (True, False):
        weighted = forest(bootstrap=bootstrap).fit(X, Y, sample_weight=counts.astype(float))
        assert_same_trees(weighted, forest(bootstrap=bootstrap).fit(X[counts], Y[counts]))


def test_balanced_classes():
    rare = (X[:, 0] > 1.4).astype(int)
    by_hand = dict(enumerate(len(rare) / (2 * np.bincount(rare))))
    assert_same_trees(
        forest(class_weight="balanced", alpha=3).fit(X, rare),
        forest(class_weight=by_hand, alpha=3).fit(X, rare),
    )
    subsample = forest(class_weight="balanced_subsample", alpha=3).fit(X, rare)
    for counts in subsample.node_counts_:
        assert counts[0, 0] == pytest.approx(counts[0, 1])


def test_data_frames_bring_their_names():
    frame = pd.DataFrame(X, columns=NAMES)
    by_name = dict(zip(NAMES, PRICES, strict=True))
    named = forest(costs=by_name).fit(frame, Y)
    assert read_forest(named).feature_names == tuple(NAMES)
    np.testing.assert_array_equal(named.predict(frame), forest(costs=PRICES).fit(X, Y).predict(X))


def test_prices_can_be_routed():
    with config_context(enable_metadata_routing=True):
        model = forest().set_fit_request(costs=True)
        search = GridSearchCV(model, {"alpha": [1.0]}, cv=3, error_score="raise")
        search.fit(X, Y, costs=PRICES)
    assert_same_trees(search.best_estimator_, forest(alpha=1.0, costs=PRICES).fit(X, Y))


# --- together with pruning


@pytest.mark.parametrize("rows", ["all", "in_bag", "out_of_bag"])
def test_its_forests_can_be_pruned(rows):
    fitted = forest(costs=PRICES).fit(X, Y)
    path = tw.prune_path(fitted, X, Y, costs=PRICES, samples=rows)
    pruned = path.at(budget=path.costs[0] / 2)
    assert isinstance(pruned.model, tw.BudgetForestClassifier)
    assert mean_bill(pruned.model, PRICES) == pytest.approx(pruned.cost)
    assert len(pruned.model.node_counts_[0]) == pruned.model.estimators_[0].tree_.node_count


@pytest.mark.parametrize("cv", [3, "out_of_bag"])
def test_a_pruned_ensemble_can_be_made_of_it(cv):
    base = forest(30, costs=PRICES)
    model = tw.PrunedEnsembleClassifier(base, costs=PRICES, cv=cv).fit(X, Y)
    assert_same_trees(model.estimator_, base.fit(X, Y))
    assert model.pruned_.cost < model.pruned_.original.cost
    by_name = dict(zip(NAMES, PRICES, strict=True))
    named = tw.PrunedEnsembleClassifier(forest(30, costs=by_name), costs=by_name, cv=cv)
    named.fit(pd.DataFrame(X, columns=NAMES), Y)
    assert named.pruned_.index == model.pruned_.index


# --- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "`n_estimators` is 0: pass a whole number of at least 1"),
        ({"impurity": "gini"}, "`impurity` is 'gini': choose 'pairs', 'powers' or 'entropy'"),
        ({"alpha": -1}, "`alpha` is -1"),
        ({"alpha": 2, "impurity": "powers"}, "no use for impurity='powers'"),
        ({"power": 1.5}, "`power` is 1.5"),
        ({"power": 21}, "it can be 20 at most"),
        ({"class_weight": {0: 1e20, 1: 1.0}}, "add up to .* scale"),
        ({"max_features": 0}, "`max_features` is 0"),
        ({"max_features": "all"}, "`max_features` is 'all'"),
        ({"max_depth": 0}, "`max_depth` is 0"),
        ({"min_samples_leaf": 0.5}, "`min_samples_leaf` is 0.5"),
        ({"min_weight_fraction_leaf": 0.6}, "`min_weight_fraction_leaf` is 0.6"),
        ({"budget": -1.0}, "`budget` is -1.0"),
        ({"budget": 0.5}, "Even one tree costs .* more than the `budget` of 0.5"),
        ({"costs": [1.0, 2.0]}, "pass one price for each"),
        ({"costs": {"age": 1.0}}, "column names"),
        ({"n_jobs": 0}, "`n_jobs` is 0"),
        ({"class_weight": "heavy"}, "`class_weight` is 'heavy': pass weights by class"),
        ({"class_weight": {0: -1.0, 1: 3.0}}, "weight of class 0 in `class_weight` is -1.0"),
        ({"bootstrap": "False"}, "`bootstrap` is 'False': pass True or False"),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        forest(**options).fit(X, Y)


def test_bills_beyond_doubles_are_refused():
    with pytest.raises(RangeError, match="bills are infinite"):
        forest(costs=[1e308] * 4, budget=1e308).fit(X, Y)


def test_rows_without_a_use_are_refused():
    with pytest.raises(InputError, match="`X_valid` has no use without a `budget`"):
        forest().fit(X, Y, X_valid=X)
    with pytest.raises(ValueError, match="3 features"):
        forest(budget=3.0).fit(X, Y, X_valid=X[:, :3])
    frame = pd.DataFrame(X, columns=NAMES)
    with pytest.raises(ValueError, match="feature names"):
        forest(budget=3.0).fit(frame, Y, X_valid=frame[NAMES[::-1]])
    for weights, message in (
        (np.zeros(len(X)), "non-zero|0 everywhere"),
        (np.full(len(X), -1.0), "at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            forest().fit(X, Y, sample_weight=weights)
