"""`tw.prune` on real scikit-learn models: laws that hold at every tradeoff."""

from itertools import pairwise

import numpy as np
import pytest
from builders import TRADEOFFS as TRADEOFF_STRATEGY
from builders import pruning_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest

HEART = tw.datasets.load_heart()
FOREST = RandomForestClassifier(15, max_features=None, random_state=0).fit(HEART.X, HEART.y)
TRADEOFFS = [0.0, 1e-5, 1e-4, 5e-4, 2e-3, 0.1]


def prune_heart(model=FOREST, tradeoff=5e-4, **more):
    return tw.prune(model, HEART.X, HEART.y, **{"costs": HEART.costs, "tradeoff": tradeoff} | more)


def is_sub_forest(smaller, larger):
    """Whether each tree of `smaller` is a tree of `larger` with subtrees made leaves."""
    pairs = list(zip(smaller.tree_start[:-1], larger.tree_start[:-1], strict=True))
    while pairs:
        small, large = pairs.pop()
        if not np.array_equal(smaller.values[small], larger.values[large]):
            return False
        if smaller.left[small] < 0:
            continue
        for name in ("feature", "threshold", "missing_left"):
            if getattr(smaller, name)[small] != getattr(larger, name)[large]:
                return False
        pairs.append((smaller.left[small], larger.left[large]))
        pairs.append((smaller.right[small], larger.right[large]))
    return True


@pytest.mark.parametrize("tradeoff", TRADEOFFS)
def test_the_pruned_model_is_a_sub_forest_with_the_stated_figures(tradeoff):
    pruned = prune_heart(tradeoff=tradeoff)
    forest = read_forest(pruned.model)
    assert type(pruned.model) is RandomForestClassifier
    assert is_sub_forest(forest, read_forest(FOREST))
    assert pruned.n_splits == forest.n_splits
    assert pruned.n_features == len(set(forest.feature[forest.is_split].tolist()))
    mistakes = [
        tree.predict(HEART.X) != np.searchsorted(FOREST.classes_, HEART.y)
        for tree in pruned.model.estimators_
    ]
    assert pruned.loss == pytest.approx(np.mean(mistakes))
    assert pruned.proof.certificate.gap == 0
    assert pruned.objective == pytest.approx(pruned.loss + tradeoff * pruned.cost)


@pytest.mark.parametrize("tradeoff", TRADEOFFS)
def test_cost_and_bill_agree(tradeoff):
    pruned = prune_heart(tradeoff=tradeoff)
    assert tw.feature_bill(pruned.model, HEART.X, HEART.costs).mean == pytest.approx(pruned.cost)
    bill = tw.feature_bill(FOREST, HEART.X, HEART.costs)
    assert bill.mean == pytest.approx(pruned.original.cost)


@pytest.mark.parametrize("solver", ["linear_program", "dantzig_wolfe"])
def test_all_solvers_give_the_same_model(solver):
    for tradeoff in TRADEOFFS:
        by_cut = prune_heart(tradeoff=tradeoff)
        by_other = prune_heart(tradeoff=tradeoff, solver=solver)
        assert by_cut.proof.certificate == by_other.proof.certificate
        np.testing.assert_array_equal(
            read_forest(by_cut.model).feature, read_forest(by_other.model).feature
        )


def test_the_decomposition_tells_its_rounds():
    pruned = prune_heart(tradeoff=0.001, solver="dantzig_wolfe")
    last = pruned.proof.rounds[-1]
    assert (last.profit, last.bound) == (
        pruned.proof.certificate.profit,
        pruned.proof.certificate.bound,
    )
    assert last.seconds > 0
    assert f"{len(pruned.proof.rounds)} rounds of the decomposition" in repr(pruned)
    assert "proven optimal" in repr(pruned)
    assert "gap closed" in repr(pruned)
    assert prune_heart(tradeoff=0.001).proof.rounds == ()


@pytest.mark.parametrize("options", [{"max_rounds": 1}, {"tolerance": 0.5}])
def test_a_decomposition_that_stops_early_says_how_far_it_got(options):
    stopped = prune_heart(tradeoff=0.001, solver=tw.DantzigWolfe(**options))
    best = prune_heart(tradeoff=0.001)
    assert len(stopped.proof.rounds) == 1
    assert 0 < stopped.proof.certificate.gap == stopped.proof.rounds[-1].gap
    assert best.objective <= stopped.objective + 1e-12
    assert stopped.objective - stopped.proof.gap <= best.objective + 1e-12
    # The certificates count the same objective in whole numbers.
    profit_missed = best.proof.certificate.profit - stopped.proof.certificate.profit
    unit = stopped.proof.gap / stopped.proof.certificate.gap
    assert stopped.objective - best.objective == pytest.approx(profit_missed * unit)
    assert f"proven within {stopped.proof.gap:.3g} of the least objective" in repr(stopped)
    assert "stopped at a gap of" in repr(stopped)
    assert "optimal" not in repr(stopped)


def test_a_larger_tradeoff_keeps_fewer_splits_of_the_same():
    kept = [read_forest(prune_heart(tradeoff=tradeoff).model) for tradeoff in TRADEOFFS]
    for larger, smaller in pairwise(kept):
        assert is_sub_forest(smaller, larger)


def test_at_tradeoff_zero_only_splits_go_that_gain_nothing_here():
    pruned = prune_heart(tradeoff=0.0)
    assert pruned.n_splits < pruned.original.n_splits
    assert pruned.loss < pruned.original.loss  # on rows left out by the bootstrap, some splits harm
    grown_here = DecisionTreeClassifier(random_state=0).fit(HEART.X, HEART.y)
    assert prune_heart(grown_here, tradeoff=0.0).loss == prune_heart(grown_here).original.loss


def test_a_huge_tradeoff_leaves_a_leaf_per_tree_that_still_predicts():
    pruned = prune_heart(tradeoff=1e6)
    assert (pruned.cost, pruned.n_splits, pruned.n_features) == (0.0, 0, 0)
    assert pruned.model.predict(HEART.X).shape == HEART.y.shape


@settings(max_examples=15)
@given(
    st.sampled_from([1e-5, 1e-4, 3e-4, 1e-3]),
    st.sampled_from([0.125, 0.5, 4.0, 1024.0]),
)
def test_dearer_features_and_a_smaller_tradeoff_cancel(tradeoff, factor):
    before = prune_heart(tradeoff=tradeoff)
    after = prune_heart(tradeoff=tradeoff / factor, costs=HEART.costs * factor)
    np.testing.assert_array_equal(
        read_forest(before.model).feature, read_forest(after.model).feature
    )
    assert after.cost == pytest.approx(before.cost * factor)


def test_a_weight_of_two_is_a_row_twice():
    weights = np.random.default_rng(0).integers(0, 4, len(HEART.y))
    costs = tw.Costs(per_feature=HEART.costs, weigh_bills=True)
    weighted = prune_heart(sample_weight=weights, costs=costs)
    repeated = tw.prune(
        FOREST,
        np.repeat(HEART.X, weights, axis=0),
        np.repeat(HEART.y, weights),
        costs=HEART.costs,
        tradeoff=5e-4,
    )
    assert weighted.cost == pytest.approx(repeated.cost)
    assert weighted.loss == pytest.approx(repeated.loss)
    np.testing.assert_array_equal(
        read_forest(weighted.model).feature, read_forest(repeated.model).feature
    )
    bills = tw.feature_bill(weighted.model, HEART.X, HEART.costs).per_sample
    assert np.average(bills, weights=weights) == pytest.approx(weighted.cost)


def test_the_order_of_rows_and_the_number_of_threads_do_not_matter():
    shuffled = np.random.default_rng(1).permutation(len(HEART.y))
    one = prune_heart()
    other = tw.prune(
        FOREST,
        HEART.X[shuffled],
        HEART.y[shuffled],
        costs=HEART.costs,
        tradeoff=5e-4,
        n_jobs=2,
    )
    np.testing.assert_array_equal(read_forest(one.model).feature, read_forest(other.model).feature)


def test_prices_by_name_are_prices_by_position():
    frame = HEART.frame()
    model = RandomForestClassifier(5, random_state=0).fit(frame, HEART.y)
    by_name = dict(zip(HEART.feature_names, HEART.costs, strict=True))
    named = tw.prune(model, frame, HEART.y, costs=by_name, tradeoff=5e-4)
    plain = tw.prune(model, frame, HEART.y, costs=HEART.costs, tradeoff=5e-4)
    assert named.cost == plain.cost > 0


def test_without_prices_the_cost_counts_features():
    pruned = prune_heart(costs=None, tradeoff=0.01)
    bills = tw.feature_bill(pruned.model, HEART.X).per_sample
    assert np.array_equal(bills, np.rint(bills))
    assert pruned.cost == pytest.approx(bills.mean())


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(8, max_features=None, random_state=0),
        ExtraTreesRegressor(5, max_depth=6, random_state=0),
    ],
)
def test_regressors_are_pruned_on_their_squared_error(model):
    age, rest = HEART.X[:, 0], HEART.X[:, 1:]
    model.fit(rest, age)
    previous = None
    for tradeoff in (0.0, 0.01, 0.1, 1.0):
        pruned = tw.prune(model, rest, age, costs=HEART.costs[1:], tradeoff=tradeoff)
        squares = [(tree.predict(rest) - age) ** 2 for tree in pruned.model.estimators_]
        assert pruned.loss == pytest.approx(np.mean(squares))
        assert pruned.proof.certificate.gap == 0
        if previous is not None:
            assert pruned.cost <= previous.cost
            assert pruned.loss >= previous.loss - 1e-9
        previous = pruned


def test_bagging_and_single_trees_are_pruned_too():
    for model in (
        BaggingClassifier(DecisionTreeClassifier(), 6, max_features=0.5, random_state=0),
        DecisionTreeClassifier(random_state=0),
    ):
        pruned = prune_heart(model.fit(HEART.X, HEART.y), tradeoff=1e-3)
        assert type(pruned.model) is type(model)
        assert pruned.cost < pruned.original.cost
        bill = tw.feature_bill(pruned.model, HEART.X, HEART.costs)
        assert bill.mean == pytest.approx(pruned.cost)


def test_many_classes_and_missing_values():
    nhanes = tw.datasets.load_nhanes()
    X, y = nhanes.X[:600], nhanes.y[:600]
    model = RandomForestClassifier(6, random_state=0).fit(X, y)
    pruned = tw.prune(model, X, y, costs=nhanes.costs, tradeoff=2e-3)
    assert 0 < pruned.cost < pruned.original.cost
    assert tw.feature_bill(pruned.model, X, nhanes.costs).mean == pytest.approx(pruned.cost)


@pytest.mark.parametrize("price", [0.123456789, 1 / 3, 1e-7, 3e8])
@pytest.mark.parametrize("tradeoff", [1e-20, 1e-9, 1e-6, 1e-5, 0.1])
def test_odd_prices_and_tiny_tradeoffs_are_proven_too(price, tradeoff):
    X = np.tile([[0.0], [1.0]], (32, 1))
    y = X[:, 0].astype(int)
    stump = DecisionTreeClassifier().fit(X, y)
    pruned = tw.prune(stump, X, y, costs=[price], tradeoff=tradeoff)
    assert pruned.proof.certificate.gap == 0
    assert pruned.n_splits == (tradeoff * price < 0.5)
    assert pruned.cost == pytest.approx(price if pruned.n_splits else 0.0)


@settings(max_examples=300)
@given(pruning_cases(most_trees=4, most_splits=6, most_rows=8), TRADEOFF_STRATEGY)
def test_laws_on_odd_forests(case, tradeoff):
    forest, X, y, prices, weights = case
    pruned = tw.prune(forest, X, y, costs=prices, tradeoff=tradeoff, sample_weight=weights)
    assert pruned.proof.certificate.gap == 0
    assert is_sub_forest(pruned.model, forest)
    bills = tw.feature_bill(pruned.model, X, prices).per_sample
    assert bills[weights > 0].mean() == pytest.approx(pruned.cost)
    assert pruned.objective <= pruned.original.loss + tradeoff * pruned.original.cost + 1e-9
    doubled = tw.prune(forest, X, y, costs=2 * prices, tradeoff=tradeoff / 2, sample_weight=weights)
    np.testing.assert_array_equal(doubled.model.feature, pruned.model.feature)


@settings(max_examples=200)
@given(pruning_cases(), TRADEOFF_STRATEGY, st.sampled_from([0.1, 0.001, 10.0]))
def test_only_the_ratios_of_weights_matter(case, tradeoff, factor):
    forest, X, y, prices, weights = case
    counts = np.rint(weights * 2) + 1
    one = tw.prune(forest, X, y, costs=prices, tradeoff=tradeoff, sample_weight=counts)
    other = tw.prune(forest, X, y, costs=prices, tradeoff=tradeoff, sample_weight=counts * factor)
    np.testing.assert_array_equal(one.model.feature, other.model.feature)


def test_repr_says_what_was_saved():
    text = repr(prune_heart())
    assert text.startswith("Pruned RandomForestClassifier at tradeoff 0.0005, proven optimal")
    assert "was 482" in text  # splits
    assert "single leaf" not in text
    assert "try a smaller tradeoff" in repr(prune_heart(tradeoff=1e6))
