"""Boosted ensembles: recorded gains, the bound on the true loss, and the descent on it."""

from dataclasses import replace

import numpy as np
import pytest
from boosted import boosted_cases, true_losses
from builders import routes_of
from hypothesis import given, settings
from hypothesis import strategies as st
from models import masks_of
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError
from thriftwood.forest import collapse, predict, scores
from thriftwood.problem import read_problem, recorded_losses
from thriftwood.problem.majoriser import ensemble_losses, majorised_losses
from thriftwood.pruning import Descended
from thriftwood.pruning.descent import descend
from thriftwood.solvers import min_cut

HEART = tw.datasets.load_heart()


def boosted_heart(link="logistic", n_trees=8):
    """A forest on the heart data that adds up what its trees say, with made-up gains."""
    rng = np.random.default_rng(3)
    if link == "identity":
        y = HEART.X[:, 0] / 10
        grown = RandomForestRegressor(n_trees, max_depth=4, random_state=0).fit(HEART.X, y)
        forest = read_forest(grown)
        values, classes = forest.values / n_trees, None
    else:
        y = HEART.y if link == "logistic" else np.digitize(HEART.X[:, 0], [50, 60])
        grown = RandomForestClassifier(n_trees, max_depth=4, random_state=0).fit(HEART.X, y)
        forest = read_forest(grown)
        values = (forest.values - forest.values.mean()) * 3 / n_trees
        values = values[:, 1:] if link == "logistic" else values
        classes = grown.classes_
    gains = np.where(forest.is_split, rng.random(forest.n_nodes) + 0.1, 0.0)
    boosted = replace(
        forest, combine="sum", link=link, values=values, classes=classes, bias=[], gains=gains
    )
    return boosted.check(), y


def all_masks(forest):
    """Every pruning of a small forest."""
    splits = np.flatnonzero(forest.is_split)
    for number in range(2 ** len(splits)):
        kept = np.zeros(forest.n_nodes, dtype=bool)
        kept[splits] = [number >> place & 1 for place in range(len(splits))]
        parent = forest.parent[splits]
        if not (kept[splits] & (parent >= 0) & ~kept[parent]).any():
            yield kept


# --- recorded gains


@given(boosted_cases())
def test_a_node_loses_the_gains_of_all_splits_at_and_below_it(case):
    forest, *_ = case
    recorded = recorded_losses(forest)
    losses, total = recorded.total, recorded.weight
    splits = np.flatnonzero(forest.is_split)
    gains = losses[splits] - losses[forest.left[splits]] - losses[forest.right[splits]]
    np.testing.assert_allclose(gains, forest.gains[splits])
    np.testing.assert_allclose(losses[~forest.is_split], 0)
    assert total == pytest.approx(forest.gains.sum() if len(splits) else 1.0)


@settings(max_examples=25)
@given(boosted_cases(), st.sampled_from([0.01, 0.05, 0.2, 1.0]))
def test_pruning_by_recorded_gains_is_optimal_among_all_prunings(case, tradeoff):
    forest, rows, target, _ = case
    pruned = tw.prune(forest, rows, target, tradeoff=tradeoff)
    best = min(
        _share_lost(forest, kept) + tradeoff * tw.feature_bill(collapse(forest, kept)[0], rows).mean
        for kept in all_masks(forest)
    )
    assert pruned.objective == pytest.approx(best, abs=1e-9)
    assert pruned.loss_name == "recorded_gain"


def _share_lost(forest, kept):
    total = forest.gains.sum()
    return 0.0 if total == 0 else 1.0 - forest.gains[kept].sum() / total


def test_a_boosted_path_is_nested_and_its_losses_are_shares_of_the_gain():
    forest, y = boosted_heart()
    path = tw.prune_path(forest, HEART.X, y, costs=HEART.costs)
    assert path.loss_name == "recorded_gain"
    assert path.losses[0] == pytest.approx(0.0, abs=1e-12)
    assert path.losses[-1] == pytest.approx(1.0)
    for index in (0, len(path) // 2, len(path) - 1):
        kept = path.kept_nodes(index)
        assert path.losses[index] == pytest.approx(_share_lost(forest, kept), abs=1e-9)
        bill = tw.feature_bill(collapse(forest, kept)[0], HEART.X, HEART.costs)
        assert path.costs[index] == pytest.approx(bill.mean)


@pytest.mark.parametrize("link", ["logistic", "softmax", "identity"])
def test_evaluation_of_a_boosted_path_is_that_of_its_predictions(link, tmp_path):
    forest, y = boosted_heart(link)
    path = tw.prune_path(forest, HEART.X, y)
    path.save(tmp_path / "path.tw")
    path = tw.PruningPath.load(tmp_path / "path.tw")
    measured = path.evaluate(HEART.X, y)
    assert measured.vote_error is None
    rows = HEART.X.astype(np.float32)
    for index in (0, len(path) // 2, len(path) - 1):
        trees = path[index].model.forest
        said = predict(trees, rows)
        if link == "identity":
            assert measured.error[index] == pytest.approx(((said[:, 0] - y) ** 2).mean())
            continue
        assert measured.error[index] == (said.argmax(axis=1) != y).mean()
        assert measured.log_loss[index] == pytest.approx(true_losses(trees, rows, y).mean())


# --- the bound


@given(boosted_cases())
def test_the_loss_of_the_ensemble_is_the_textbooks(case):
    forest, rows, target, _ = case
    found = ensemble_losses(forest, scores(forest, rows), target)
    np.testing.assert_allclose(found, true_losses(forest, rows, target), rtol=1e-9, atol=1e-9)


@settings(max_examples=150)
@given(boosted_cases(), st.data())
def test_the_bound_touches_the_loss_and_is_never_below_it(case, data):
    forest, rows, target, weights = case
    routes = routes_of(forest, rows)
    toward = data.draw(st.none() | masks_of(forest))
    bound = majorised_losses(forest, routes, scores(forest, rows), target, weights, toward)
    np.testing.assert_array_equal(bound[~forest.is_split], 0.0)  # nothing changes: it touches
    before = true_losses(forest, rows, target) @ weights
    kept = data.draw(masks_of(forest))
    pruned, origin = collapse(forest, kept)
    after = true_losses(pruned, rows, target) @ weights
    assert after <= before + bound[origin[~pruned.is_split]].sum() + 1e-4 * (1 + abs(before))


@settings(max_examples=100)
@given(boosted_cases(most_trees=1), st.data())
def test_the_bound_of_one_tree_is_its_loss(case, data):
    forest, rows, target, weights = case
    routes = routes_of(forest, rows)
    toward = data.draw(st.none() | masks_of(forest))
    bound = majorised_losses(forest, routes, scores(forest, rows), target, weights, toward)
    pruned, origin = collapse(forest, data.draw(masks_of(forest)))
    rise = true_losses(pruned, rows, target) - true_losses(forest, rows, target)
    assert bound[origin[~pruned.is_split]].sum() == pytest.approx(rise @ weights, abs=1e-4)


@settings(max_examples=60)
@given(boosted_cases())
def test_the_bound_is_jensens(case):
    forest, rows, target, weights = case
    bound = majorised_losses(forest, routes_of(forest, rows), scores(forest, rows), target, weights)
    np.testing.assert_allclose(bound, plain_bound(*case), rtol=1e-4, atol=1e-4)


def plain_bound(forest, rows, target, weights):
    """The bound, written as it is defined: one row and one node at a time."""
    total = np.zeros(forest.n_nodes)
    for row, right, weight in zip(rows, target, weights, strict=True):
        ways = [_way(forest, root, row) for root in forest.tree_start[:-1]]
        now = forest.bias + sum(forest.values[way[-1]] for way in ways)
        spans = [max(np.abs(forest.values[way] - forest.values[way[-1]]).max(), 0) for way in ways]
        for way, span in zip(ways, spans, strict=True):
            for h in way[:-1]:
                if span == 0:
                    continue
                share = span / sum(spans)
                moved = now + (forest.values[h] - forest.values[way[-1]]) / share
                rise = _loss(forest, moved, right) - _loss(forest, now, right)
                total[h] += weight * share * rise
    return total


def _way(forest, h, row):
    way = [h]
    while forest.is_split[h]:
        left = row[forest.feature[h]] <= forest.threshold[h]
        h = forest.left[h] if left else forest.right[h]
        way.append(h)
    return way


def _loss(forest, said, right):
    return float(ensemble_losses(forest, said[None], np.array([right]))[0])


# --- the descent


@pytest.mark.parametrize("link", ["logistic", "softmax", "identity"])
@pytest.mark.parametrize("tradeoff", [0.0, 1e-4, 1e-3, 1e-2, 1.0])
def test_the_true_objective_never_rises(link, tradeoff):
    forest, y = boosted_heart(link)
    loss = "squared_error" if link == "identity" else "log_loss"
    pruned = tw.prune(forest, HEART.X, y, costs=HEART.costs, loss=loss, tradeoff=tradeoff)
    rows = HEART.X.astype(np.float32)
    assert pruned.loss == pytest.approx(true_losses(pruned.model, rows, y).mean())
    assert pruned.original.loss == pytest.approx(true_losses(forest, rows, y).mean())
    assert pruned.cost == pytest.approx(tw.feature_bill(pruned.model, HEART.X, HEART.costs).mean)
    assert all(np.diff(pruned.proof.objectives) < 0)
    assert pruned.objective == pytest.approx(pruned.proof.objectives[-1])
    assert pruned.objective <= pruned.original.loss + tradeoff * pruned.original.cost + 1e-12
    by_gains = tw.prune_path(forest, HEART.X, y, costs=HEART.costs)
    assert isinstance(pruned.proof, Descended)
    assert "by descent on the true loss" in repr(pruned)
    last = by_gains[-1].model
    assert pruned.objective <= true_losses(last, rows, y).mean() + 1e-12


@pytest.mark.parametrize("tradeoff", [0.01, 0.02, 0.04])
def test_the_descent_works_without_recorded_gains(tradeoff):
    forest, y = boosted_heart()
    forest = replace(forest, gains=None)  # from the whole ensemble, by steps alone
    pruned = tw.prune(forest, HEART.X, y, loss="log_loss", tradeoff=tradeoff)
    assert len(pruned.proof.objectives) > 1
    assert pruned.cost < pruned.original.cost


@pytest.mark.parametrize("tradeoff", [3e-4, 1e-3])
def test_prunings_in_mind_help_where_the_plain_bound_takes_no_step(tradeoff):
    forest, y = boosted_heart("softmax")
    problem = read_problem(forest, HEART.X, y, loss="log_loss")
    *_, found = descend(problem, tradeoff, min_cut)
    *_, plain = descend(replace(problem, forest=replace(forest, gains=None)), tradeoff, min_cut)
    assert len(found) > 1
    assert found[-1] < plain[-1]


def test_sample_and_class_weights_count_in_the_descent():
    forest, y = boosted_heart()
    weights = np.arange(len(y)) % 3
    pruned = tw.prune(
        forest,
        HEART.X,
        y,
        loss="log_loss",
        tradeoff=0.01,
        sample_weight=weights,
        class_weight={1: 2},
    )
    counted = weights * np.where(y == 1, 2, 1)
    lost = true_losses(pruned.model, HEART.X.astype(np.float32), y)
    assert pruned.loss == pytest.approx(np.average(lost, weights=counted))


# --- what is refused


def test_boosted_models_refuse_what_has_no_meaning_for_them():
    forest, y = boosted_heart()
    with pytest.raises(InputError, match="no loss 'error' for a boosted classifier"):
        tw.prune_path(forest, HEART.X, y, loss="error")
    with pytest.raises(InputError, match="predict only together"):
        tw.prune_path(forest, HEART.X, y, loss=lambda values: values)
    with pytest.raises(InputError, match="no exact path"):
        tw.prune_path(forest, HEART.X, y, loss="log_loss")
    with pytest.raises(InputError, match="no exact path"):
        tw.prune(forest, HEART.X, y, loss="log_loss", budget=3)
    with pytest.raises(InputError, match="no exact path"):
        tw.cost_complexity_path(tw.pruning_problem(forest, HEART.X, y, loss="log_loss"))
    with pytest.raises(InputError, match="`class_weight` changes nothing"):
        tw.prune_path(forest, HEART.X, y, class_weight="balanced")
    with pytest.raises(InputError, match="does not record"):
        tw.prune_path(replace(forest, gains=None), HEART.X, y)


def test_an_exponential_link_has_recorded_gains_only():
    forest, y = boosted_heart("identity")
    forest = replace(forest, link="exp")
    assert len(tw.prune_path(forest, HEART.X, y)) > 2
    with pytest.raises(InputError, match="choose 'recorded_gain'"):
        tw.prune(forest, HEART.X, y, loss="squared_error", tradeoff=0.1)
