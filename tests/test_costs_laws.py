"""`tw.Costs` against receipts written line by line: bills, prunings and paths of every price."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from builders import TRADEOFFS, forest_of, leaf, split
from cost_cases import priced_cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from prunings import LOSSES, trees_alone
from receipts import (
    counted_in_bills,
    every_pruning,
    least_objective,
    loss_of,
    names_of,
    receipts,
)

import thriftwood as tw
from thriftwood.errors import CertificateError

SOLVERS = ["min_cut", "linear_program", "dantzig_wolfe"]
POSITIVE_TRADEOFFS = st.sampled_from([0.5, 0.25, 1.0, 0.1, 1 / 3, 0.03, 0.01])


def close(number):
    return pytest.approx(number, rel=1e-6, abs=1e-9)


def receipts_of(case, forest=None, kept=None):
    forest = case.forest if forest is None else forest
    return receipts(forest, case.X, case.costs, case.names, case.weights, kept)


def prunings_of(case, loss="error"):
    return every_pruning(case.forest, case.X, case.y, case.costs, case.names, case.weights, loss)


# --- the bill


@settings(max_examples=120)
@given(priced_cases(most_trees=3, most_splits=5, most_rows=6))
def test_the_bill_is_the_receipts(case):
    bill = tw.feature_bill(case.forest, case.X, case.costs)
    expected = receipts(case.forest, case.X, case.costs, case.names)
    np.testing.assert_allclose(bill.per_sample, expected.per_row, atol=1e-9)
    np.testing.assert_allclose(bill.by_feature, expected.by_feature, atol=1e-9)
    np.testing.assert_allclose(bill.bought, expected.bought, atol=1e-9)
    assert bill.model_cost == close(expected.model_cost)
    assert bill.mean == close(expected.mean)
    assert bill.test_cost == close(expected.test_cost)
    assert set(bill.fees) == set(case.costs.group_fee or {})
    for name in {*bill.fees, *expected.fees}:
        assert bill.fees.get(name, 0) == close(expected.fees.get(name, 0)), name


@settings(max_examples=100)
@given(priced_cases())
def test_a_bill_adds_up(case):
    bill = tw.feature_bill(case.forest, case.X, case.costs)
    lines = bill.by_feature.sum() + sum(bill.fees.values()) + bill.test_cost + bill.model_cost
    assert lines == close(bill.mean)
    assert bill.per_sample.mean() + bill.model_cost == close(bill.mean)


@settings(max_examples=50)
@given(priced_cases(), st.lists(st.sampled_from([0.0, 1.0, 2.1]), min_size=5, max_size=5))
def test_prices_alone_are_the_plain_prices(case, prices):
    plain = np.array(prices[: case.forest.n_features])
    rows = case.forest, case.X, case.y
    one = tw.prune_path(*rows, costs=plain, sample_weight=case.weights)
    other = tw.prune_path(*rows, costs=tw.Costs(per_feature=plain), sample_weight=case.weights)
    np.testing.assert_array_equal(one.drop_step, other.drop_step)
    np.testing.assert_array_equal(one.costs, other.costs)
    np.testing.assert_array_equal(one.tradeoffs, other.tradeoffs)
    nothing = tw.feature_bill(case.forest, case.X, tw.Costs())
    np.testing.assert_array_equal(
        nothing.per_sample, tw.feature_bill(case.forest, case.X).per_sample
    )


@pytest.mark.parametrize("group", ["tests", "per split", "per_split"])
def test_a_bill_adds_up_whatever_groups_are_called(group):
    forest = forest_of(split(0, 0.5, leaf((1, 0)), leaf((0, 1)), (1, 0)), n_features=1)
    costs = tw.Costs(groups={group: [0]}, group_fee={group: 2.0}, per_split=0.5)
    bill = tw.feature_bill(forest, [[0.0], [1.0]], costs)
    assert bill.mean == 2.5
    assert (bill.fees, bill.test_cost) == ({group: 2.0}, 0.5)


def test_tables_of_rows_go_by_the_names_of_their_columns():
    forest = forest_of(split(0, 0.5, leaf((1, 0)), leaf((0, 1)), (1, 0)), n_features=2)
    rows = pd.DataFrame({"age": [0.0, 1.0], "scan": [0.0, 0.0]})
    prices = pd.DataFrame({"scan": [100.0, 200.0], "age": [1.0, 2.0]})
    bill = tw.feature_bill(forest, rows, tw.Costs(per_sample=prices))
    assert bill.per_sample.tolist() == [1.0, 2.0]
    known = pd.DataFrame({"scan": [True, True], "age": [False, True]})
    bill = tw.feature_bill(forest, rows, tw.Costs(known=known))
    assert bill.per_sample.tolist() == [1.0, 0.0]


# --- one point


def proven(case, tradeoff, solver, **options):
    """Prune by a solver; doubles of HiGHS may be too coarse, and then it says so."""
    try:
        return tw.prune(
            case.forest, case.X, case.y, tradeoff=tradeoff, solver=solver, **options, **case.options
        )
    except CertificateError:
        assume(solver != "linear_program")
        raise


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=60)
@given(case=priced_cases(), tradeoff=TRADEOFFS, loss=st.sampled_from(list(LOSSES)))
def test_no_pruning_is_better_and_the_figures_are_those_of_the_receipts(
    solver, case, tradeoff, loss
):
    pruned = proven(case, tradeoff, solver, loss=loss)
    assert pruned.proof.certificate.gap == 0
    assert pruned.cost == close(receipts_of(case, pruned.model).mean)
    assert pruned.loss == close(loss_of(pruned.model, case.X, case.y, case.weights, loss=loss))
    assert pruned.original.cost == close(receipts_of(case).mean)
    assert pruned.objective == close(least_objective(prunings_of(case, loss), tradeoff))


@settings(max_examples=60)
@given(priced_cases(most_trees=4, most_splits=6, most_rows=8), TRADEOFFS)
def test_solvers_agree_and_take_the_smallest_optimum(case, tradeoff):
    found = [proven(case, tradeoff, solver) for solver in SOLVERS]
    for other in found[1:]:
        assert other.proof.certificate == found[0].proof.certificate
        np.testing.assert_array_equal(other.model.feature, found[0].model.feature)


@settings(max_examples=60)
@given(priced_cases(), POSITIVE_TRADEOFFS)
def test_the_bill_of_a_pruned_forest_is_what_pruning_said(case, tradeoff):
    pruned = tw.prune(case.forest, case.X, case.y, tradeoff=tradeoff, **case.options)
    bill = tw.feature_bill(pruned.model, case.X, case.costs)
    weights = counted_in_bills(case.costs, case.weights, len(case.X))
    assert np.average(bill.per_sample, weights=weights) + bill.model_cost == close(pruned.cost)


# --- the path


@settings(max_examples=100)
@given(priced_cases(), st.lists(TRADEOFFS, max_size=3), st.sampled_from(list(LOSSES)))
def test_the_path_is_optimal_at_every_tradeoff(case, drawn, loss):
    path = tw.prune_path(case.forest, case.X, case.y, loss=loss, **case.options)
    prunings = prunings_of(case, loss)
    for tradeoff in [*path.tradeoffs, 2 * path.tradeoffs[-1] + 1, *drawn]:
        point = path.at(tradeoff=float(tradeoff))
        assert point.objective == close(least_objective(prunings, tradeoff))
    assert path.losses[0] == close(min(loss for _, _, loss in prunings))


@settings(max_examples=100)
@given(priced_cases(most_trees=4, most_splits=5, most_rows=6))
def test_every_point_costs_and_loses_what_the_receipts_say(case):
    path = tw.prune_path(case.forest, case.X, case.y, **case.options)
    for index in range(len(path)):
        kept = path.kept_nodes(index)
        assert path.costs[index] == close(receipts_of(case, kept=kept).mean)
        assert path.losses[index] == close(loss_of(case.forest, case.X, case.y, case.weights, kept))
        assert path[index].cost == close(receipts_of(case, path[index].model).mean)
    assert path.original.cost == close(receipts_of(case).mean)


@settings(max_examples=100)
@given(priced_cases(most_trees=4, most_splits=6, most_rows=6))
def test_points_are_nested_and_trade_cost_for_loss(case):
    path = tw.prune_path(case.forest, case.X, case.y, **case.options)
    for numbers, sign in ((path.tradeoffs, 1), (path.costs, -1), (path.losses, 1)):
        assert (sign * np.diff(numbers) > 0).all()
    for before, after in pairwise(range(len(path))):
        assert (path.kept_nodes(before) >= path.kept_nodes(after)).all()


@settings(max_examples=60)
@given(priced_cases(), st.floats(0, 1.2))
def test_no_pruning_within_a_budget_beats_the_bound(case, share):
    prunings = prunings_of(case)
    path = tw.prune_path(case.forest, case.X, case.y, **case.options)
    budget = max(share * max(cost for _, cost, _ in prunings), float(path.costs[-1]))
    point = path.at(budget=budget)
    assert point.cost <= budget
    within = [loss for _, cost, loss in prunings if cost <= budget * (1 + 1e-9)]
    assert point.loss - point.proof.gap <= min(within) + 1e-9


@settings(max_examples=60)
@given(priced_cases())
def test_other_methods_are_billed_by_the_receipts_too(case):
    paths = (
        tw.cost_complexity_path(tw.pruning_problem(case.forest, case.X, case.y, **case.options)),
        tw.dynamic_programming_path(
            tw.pruning_problem(case.forest, case.X, case.y, **case.options)
        ),
        tw.each_tree_path(tw.pruning_problem(case.forest, case.X, case.y, **case.options)),
    )
    for path in paths:
        for index in range(len(path)):
            assert path.costs[index] == close(receipts_of(case, path[index].model).mean)


@settings(max_examples=60)
@given(priced_cases(), st.data())
def test_evaluation_bills_rows_by_the_receipts(case, data):
    path = tw.prune_path(case.forest, case.X, case.y, **case.options)
    again = path.evaluate(case.X, case.y, costs=case.costs, sample_weight=case.weights)
    np.testing.assert_allclose(again.cost, path.costs, rtol=1e-9, atol=1e-9)
    # Some of the rows, in any order, and their prices.
    some = np.array(data.draw(st.lists(st.integers(0, len(case.y) - 1), min_size=1)))
    rows = case.X[some] if isinstance(case.X, np.ndarray) else case.X.iloc[some]
    costs = case.costs.take(some)
    found = path.evaluate(rows, case.y[some], costs=costs, quantiles=(0, 1))
    for index in range(len(path)):
        expected = receipts(case.forest, rows, costs, case.names, kept=path.kept_nodes(index))
        bills = expected.per_row
        assert found.cost[index] == close(expected.mean)
        assert found.cost_quantiles[index].tolist() == close([bills.min(), bills.max()])


# --- each tree alone


@settings(max_examples=100)
@given(priced_cases(most_rows=8), st.lists(TRADEOFFS, max_size=2), st.sampled_from(list(LOSSES)))
def test_no_pruning_of_a_tree_alone_is_better(case, drawn, loss):
    path = tw.each_tree_path(
        tw.pruning_problem(case.forest, case.X, case.y, loss=loss, **case.options)
    )
    alone = list(trees_alone(case.forest))
    names = names_of(case.forest, case.names)
    table = (case.X, case.y, case.costs, names, case.weights, loss)
    prunings = [every_pruning(tree, *table) for tree in alone]
    for tradeoff in [*path.tradeoffs, 2 * path.tradeoffs[-1] + 1, *drawn]:
        kept = path.kept_nodes(path.at(tradeoff=float(tradeoff)).index)
        for tree, of_tree, own in zip(
            alone, prunings, np.split(kept, case.forest.tree_start[1:-1]), strict=True
        ):
            cost = receipts(tree, case.X, case.costs, names, case.weights, own).mean
            lost = loss_of(tree, case.X, case.y, case.weights, own, loss)
            assert lost + tradeoff * cost == close(least_objective(of_tree, tradeoff))


# --- dearer is never used more


@settings(max_examples=120)
@given(priced_cases(most_trees=3, most_splits=5), POSITIVE_TRADEOFFS, st.data())
def test_what_gets_dearer_is_not_used_more(case, tradeoff, data):
    item = data.draw(st.sampled_from(_items(case)))
    dearer = _raise(case.costs, item, names_of(case.forest, case.names), data.draw(_RAISES))
    assume(dearer is not None)
    uses = []
    for costs in (case.costs, dearer):
        pruned = tw.prune(
            case.forest,
            case.X,
            case.y,
            tradeoff=tradeoff,
            costs=costs,
            sample_weight=case.weights,
        )
        uses.append(receipts_of(case, pruned.model).use[item])
    assert uses[1] <= uses[0]


_RAISES = st.sampled_from([0.01, 0.5, 3.0, 100.0])


def _items(case):
    """The prices of a case that can go up on their own."""
    features = names_of(case.forest, case.names)
    groups = list(case.costs.groups or {})
    return [
        "per_split",
        "per_node",
        *[("price", feature) for feature in features],
        *[("fee", group) for group in groups],
        *[("model", name) for name in features + groups],
    ]


def _raise(costs, item, names, by):
    """Return the same costs with one price raised; None where that would change others."""
    what, name = item if isinstance(item, tuple) else (item, None)
    if what == "price":
        if costs.per_feature is None or costs.per_sample is not None:
            return None
        return replace(costs, per_feature=_plus(costs.per_feature, name, names, by))
    if not _is_priced(costs):
        return None  # features cost 1 each, but 0 once anything has a price
    if what == "fee":
        return replace(costs, group_fee=_plus(costs.group_fee or {}, name, names, by))
    if what == "per_split":
        return replace(costs, per_split=costs.per_split + by)
    predictions = costs.predictions or 1
    if what == "per_node":
        return replace(costs, per_node=costs.per_node + by, predictions=predictions)
    per_model = {} if costs.per_model is None else costs.per_model
    if not isinstance(per_model, dict) and name not in names:
        return None  # an array has no place for a group
    per_model = _plus(per_model, name, names, by)
    return replace(costs, per_model=per_model, predictions=predictions)


def _is_priced(costs):
    tables = costs.per_feature, costs.group_fee, costs.per_model, costs.per_sample
    return any(table is not None for table in tables) or costs.per_split or costs.per_node


def _plus(prices, name, names, by):
    if isinstance(prices, dict):
        return prices | {name: prices.get(name, 0) + by}
    raised = np.array(prices)
    raised[names.index(name)] += by
    return raised
