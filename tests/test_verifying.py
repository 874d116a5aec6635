"""Who gets a pruned model can check it without trusting who made it."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from builders import closure, closures, forest_of, leaf, pruning_cases, split
from hypothesis import given, settings
from hypothesis import strategies as st
from models import forests_and_masks, random_kept
from paths import FOREST, HEART, NHANES, PATH, heart_path, heart_problem
from prunings import all_masks, cost_and_loss
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest, write_model
from thriftwood.errors import InputError
from thriftwood.evaluation import certifying
from thriftwood.forest import Forest, collapse, kept_by
from thriftwood.problem import interval_in_words, tradeoff_inside, tradeoffs_of

NUMBER = r"\d[\d.e+-]*"


def verify(pruned, model=FOREST, **options):
    tradeoff = options.pop("tradeoff", None)
    return tw.verify_pruning(heart_problem(model, **options), pruned, tradeoff=tradeoff)


@given(forests_and_masks())
def test_what_collapsing_kept_is_found_again(forest_and_mask):
    forest, kept = forest_and_mask
    np.testing.assert_array_equal(kept_by(forest, collapse(forest, kept)[0]), kept)


@settings(max_examples=40)
@given(pruning_cases(most_splits=3), st.sampled_from([0.0, 0.01, 0.1, 1.0]), st.data())
def test_excess_is_what_the_best_of_all_prunings_has_less(case, tradeoff, data):
    forest, X, y, prices, weights = case
    masks = list(all_masks(forest))
    objectives = []
    for kept in masks:
        cost, loss = cost_and_loss(forest, X, y, weights, prices, kept)
        objectives.append(loss + tradeoff * cost)
    choice = data.draw(st.integers(0, len(masks) - 1))
    problem = tw.pruning_problem(forest, X, y, costs=prices, sample_weight=weights)
    pruned = collapse(forest, masks[choice])[0]
    found = tw.verify_pruning(problem, pruned, tradeoff=tradeoff)
    too_much = objectives[choice] - min(objectives)
    assert found.gap == pytest.approx(too_much, abs=1e-8)
    largest = max(1.0, tradeoff * prices.sum())
    assert found.is_optimal == (found.gap <= 1e-12 * largest)
    assert found.certificate.gap >= 0
    assert found.loss + tradeoff * found.cost == pytest.approx(objectives[choice])


@pytest.mark.parametrize("point", [0, len(PATH) // 2, len(PATH) - 1])
def test_points_of_a_path_are_optimal_between_their_tradeoffs(point):
    found = verify(PATH[point].model)
    assert found.is_optimal
    assert found.gap == 0
    beyond = [*PATH.tradeoffs[1:], math.inf]
    assert found.tradeoffs == (PATH.tradeoffs[point], beyond[point])
    assert found.tradeoffs[0] < found.tradeoff < found.tradeoffs[1]
    assert (found.cost, found.loss) == pytest.approx((PATH.costs[point], PATH.losses[point]))
    assert "an optimal pruning, proven at tradeoff" in str(found)
    assert "the path has it from" in str(found)
    assert "gap 0" in str(found)
    assert found.same_values


def test_the_model_itself_is_no_optimum_but_a_pruning():
    found = verify(FOREST)
    assert not found.is_optimal
    assert found.n_splits == PATH.original.n_splits
    assert found.tradeoff == 0  # it costs more than any point, so only its loss is compared
    assert found.gap == pytest.approx(PATH.original.loss - PATH.losses[0])
    assert "not proven optimal" in str(found)


def test_a_careless_pruning_is_found_out():
    careless = write_model(FOREST, random_kept(read_forest(FOREST), seed=1, share=0.6))
    found = verify(careless)
    assert not found.is_optimal
    assert found.tradeoffs is None
    best = PATH.at(tradeoff=found.tradeoff)
    mine = found.loss + found.tradeoff * found.cost
    assert found.gap == pytest.approx(mine - best.loss - found.tradeoff * best.cost)


def test_at_a_tradeoff_where_another_point_is_better():
    found = verify(PATH[3].model, tradeoff=tradeoff_inside(PATH.tradeoffs, 3))
    assert found.is_optimal
    assert "at tradeoff" in str(found)
    assert not verify(PATH[3].model, tradeoff=PATH.tradeoffs[-1] * 2).is_optimal


def test_a_refitted_model_is_judged_by_its_splits_and_said_to_be_one():
    refitted = PATH.at(budget=100).refit(HEART.X, HEART.y)
    found = verify(refitted.model)
    assert found.is_optimal
    assert not found.same_values
    assert "refitted, or changed" in str(found)


def test_leaves_that_say_something_else_are_noticed():
    forest = collapse(read_forest(FOREST), PATH.kept_nodes(3))[0]
    assert verify(forest).same_values
    values = forest.values.copy()
    values[np.flatnonzero(~forest.is_split)[-1]] = [0.25, 0.75]
    assert not verify(replace(forest, values=values)).same_values
    assert not verify(replace(forest, bias=np.array([0.1, 0.0]))).same_values


def test_other_classes_are_refused():
    forest = collapse(read_forest(FOREST), PATH.kept_nodes(3))[0]
    with pytest.raises(InputError, match="it predicts other classes"):
        verify(replace(forest, classes=np.array([1, 0])))


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 0.5},
        {"missing_left": True},
        {"zero_is_missing": True},
        {"feature": 1},
        {"category_set": 1},
        {"category_set": -1},
    ],
)
def test_a_split_that_sends_any_row_elsewhere_is_another_split(change):
    tree = {
        "tree_start": [0, 3],
        "feature": [0, -1, -1],
        "threshold": [0.0, 0.0, 0.0],
        "left": [1, -1, -1],
        "right": [2, -1, -1],
        "missing_left": [False, False, False],
        "zero_is_missing": [False, False, False],
        "values": [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]],
        "category_set": [0 if "category_set" in change else -1, -1, -1],
        "set_start": [0, 2, 4],
        "in_set": [True, False, False, True],
        "n_features": 2,
        "classes": np.array([0, 1]),
    }
    forest = Forest(**tree).check()
    np.testing.assert_array_equal(kept_by(forest, forest), [True, False, False])
    other = {name: [value, *tree[name][1:]] for name, value in change.items()}
    with pytest.raises(InputError, match="its tree 0 tests"):
        kept_by(forest, Forest(**tree | other))


def test_a_tie_with_a_point_is_as_optimal_as_that():
    rows, y = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0, 1])
    useless = split(1, 0.5, leaf((1.0, 0.0)), leaf((1.0, 0.0)), (1.0, 0.0))
    forest = forest_of(split(0, 0.5, useless, leaf((0.0, 1.0)), (0.5, 0.5)), n_features=2)
    costs = [1.0, 0.0]  # so that the useless split costs nothing
    problem = tw.pruning_problem(forest, rows, y, costs=costs)
    path = tw.prune_path(problem)
    found = tw.verify_pruning(problem, forest)
    assert found.n_splits > path.n_splits[0]
    assert found.is_optimal
    assert found.tradeoffs == tuple(path.tradeoffs[:2])


def test_a_boosted_model_by_its_recorded_gains():
    X, y = NHANES.X[:600], NHANES.y[:600] > 0
    model = HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=6, random_state=0).fit(X, y)
    problem = tw.pruning_problem(model, X, y, costs=NHANES.costs)
    assert tw.verify_pruning(problem, tw.prune(problem, budget=20)).is_optimal


@pytest.mark.parametrize("options", [{}, {"loss": "brier"}, {"class_weight": "balanced"}])
def test_every_point_of_a_path_can_be_certified(options):
    problem = heart_problem(**options)
    path = tw.prune_path(problem)
    proofs = path.certify(problem)
    assert len(proofs) == len(path)
    assert {proof.certificate.gap for proof in proofs} == {0}
    assert max(proof.gap for proof in proofs) < 1e-12  # but for rounding, which is told
    if not options:
        assert {proof.gap for proof in proofs} == {0}


def test_some_points_in_the_order_asked_for():
    everything = PATH.certify(heart_problem())
    assert PATH.certify(heart_problem(), points=[4, 1, -1]) == (
        everything[4],
        everything[1],
        everything[-1],
    )


def own_loss(values):
    return 1 - values


def test_a_loss_of_ones_own_is_certified():
    problem = heart_problem(loss=own_loss)
    proofs = tw.prune_path(problem).certify(problem, points=[0, 1])
    assert [proof.certificate.gap for proof in proofs] == [0, 0]


def test_other_rows_are_not_taken_for_those_of_the_path():
    with pytest.raises(InputError, match="the same samples, weights, prices and loss"):
        PATH.certify(tw.pruning_problem(FOREST, HEART.X[:200], HEART.y[:200], costs=HEART.costs))
    with pytest.raises(InputError, match="the same samples"):
        PATH.certify(heart_problem(costs=np.ones(13)))
    with pytest.raises(InputError, match=r"pass a problem, made by `tw.pruning_problem"):
        PATH.certify(HEART.X)
    with pytest.raises(InputError, match="nothing to prove"):
        heart_path(make=tw.each_tree_path).certify(heart_problem())


def test_a_path_by_rounds_is_as_near_as_it_says():
    by_rounds = tw.DualDecomposition(most_gathered=0, max_rounds=2)
    path = heart_path(decomposition=by_rounds)
    proofs = path.certify(heart_problem())
    assert min(proof.gap for proof in proofs) >= 0


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (RandomForestClassifier(3, random_state=0), "it has 3 trees, the model has 12"),
        (RandomForestClassifier(12, random_state=7), r"its tree \d+ tests feature \d+ <= "),
    ],
)
def test_another_model_is_no_pruning(other, words):
    with pytest.raises(InputError, match=words):
        verify(other.fit(HEART.X, HEART.y))


def test_a_model_with_more_splits_is_no_pruning():
    with pytest.raises(InputError, match="where the model's ends"):
        verify(FOREST, model=PATH[5].model)


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=6, unique=True).map(sorted), st.data())
def test_a_tradeoff_inside_is_inside(breakpoints, data):
    tradeoffs = np.array([0.0, *breakpoints])
    point = data.draw(st.integers(0, len(tradeoffs) - 1))
    chosen = tradeoff_inside(tradeoffs, point)
    assert tradeoffs[point] <= chosen
    if point + 1 < len(tradeoffs):
        assert chosen <= tradeoffs[point + 1]


def test_a_tradeoff_inside_is_short():
    assert tradeoff_inside(np.array([0.0, 0.001234567, 0.00345678]), 1) == 0.002
    assert tradeoff_inside(np.array([0.0, 0.25]), 1) == 0.5
    assert tradeoff_inside(np.array([0.0]), 0) == 1.0


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=6, unique=True).map(sorted), st.data())
def test_the_ends_of_an_interval_in_words_are_inside(breakpoints, data):
    tradeoffs = np.array([0.0, *breakpoints])
    point = data.draw(st.integers(0, len(tradeoffs) - 1))
    low, high = tradeoffs_of(tradeoffs, point)
    ends = [float(end) for end in re.findall(NUMBER, interval_in_words(low, high))]
    assert all(low <= end < high for end in ends)
    assert ends == sorted(ends)


def test_intervals_are_in_as_few_digits_as_tell_their_ends_apart():
    assert interval_in_words(0.000408963, 0.000963886) == "from 0.000409 to 0.0009638"
    assert interval_in_words(0.0, 0.5) == "from 0 to 0.4999"
    assert interval_in_words(0.1234567, 0.1234569) == "from 0.1234567 to 0.1234568"
    assert interval_in_words(0.25, np.inf) == "from 0.25 on"
    assert interval_in_words(0.1, math.nextafter(0.1, 1)) == "at 0.1"


@pytest.mark.parametrize("costs", [HEART.costs, HEART.prices], ids=["prices", "fees"])
def test_certificates_of_a_path_are_those_without_merged_twins(costs, monkeypatch):
    problem = heart_problem(costs=costs)
    path = tw.prune_path(problem)
    merged = path.certify(problem)
    monkeypatch.setattr(certifying, "merge_twin_items", lambda problem, _: (problem, None))
    assert path.certify(problem) == merged
    assert {proof.certificate.gap for proof in merged} == {0}


def test_whoever_types_an_end_gets_the_point():
    for point in range(len(PATH)):
        words = interval_in_words(*tradeoffs_of(PATH.tradeoffs, point))
        for end in re.findall(NUMBER, words):
            assert PATH.at(tradeoff=float(end)).index == point, words


@given(closures(), st.data())
def test_profits_are_those_of_the_priced_problem_where_nothing_is_too_dear(problem, data):
    drawn = [data.draw(st.booleans()) for _ in range(problem.n_projects)]
    kept = np.array(drawn, dtype=bool)
    price = data.draw(st.sampled_from([Fraction(1, 3), Fraction(0.1), Fraction(7)]))
    priced, scale = problem.at(price)
    exact = int(problem.gains[kept].sum()) * scale
    exact -= price * scale * int(problem.costs[problem.needed_items(kept)].sum())
    assert abs(problem.profit_at(price, kept) - exact) <= problem.n_items + abs(exact) * 1e-9
    assert problem.profit_at(price, kept) <= priced.profit(kept)


def test_prices_without_a_simple_fraction_are_rounded_one_by_one():
    problem = closure([2**59], [-1], [[0, 1]], [3, 5])
    price = Fraction(math.pi * 1e15)
    assert problem.profit_at(price, np.array([True])) == problem.at(price)[0].profit(
        np.array([True])
    )
