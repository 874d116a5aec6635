"""What a path counts: losses, rows in and out of bags, weights, real numbers."""

import numpy as np
import pytest
from paths import FOREST, HEART, PATH, heart_path
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import thriftwood as tw
from thriftwood.errors import InputError


@pytest.mark.parametrize("loss", ["error", "expected_error", "brier", "log_loss"])
def test_losses_are_what_the_trees_lose(loss):
    path = heart_path(loss=loss)
    assert path.loss_name == loss
    label = np.searchsorted(FOREST.classes_, HEART.y)
    for point in (path[0], path[len(path) // 2]):
        probabilities = [tree.predict_proba(HEART.X) for tree in point.model.estimators_]
        by_hand = {
            "error": lambda p: np.mean(p.argmax(axis=1) != label),
            "expected_error": lambda p: np.mean(1 - p[np.arange(len(label)), label]),
            "brier": lambda p: brier_score_loss(label, p[:, 1]),
            "log_loss": lambda p: log_loss(label, p),
        }[loss]
        assert point.loss == pytest.approx(np.mean([by_hand(p) for p in probabilities]), rel=1e-6)


@pytest.mark.parametrize("loss", ["expected_error", "brier", "log_loss"])
def test_paths_of_real_numbers_agree_with_single_cuts(loss):
    path = heart_path(loss=loss)
    assert path.proof.gap < 1e-9
    for index in (0, len(path) // 3, 2 * len(path) // 3):
        tradeoff = (path.tradeoffs[index] + path.tradeoffs[index + 1]) / 2
        pruned = tw.prune(FOREST, HEART.X, HEART.y, costs=HEART.costs, loss=loss, tradeoff=tradeoff)
        assert path.at(tradeoff=tradeoff).objective == pytest.approx(pruned.objective, rel=1e-8)


@pytest.mark.parametrize("rows", ["in_bag", "out_of_bag"])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(6, random_state=0),
        ExtraTreesClassifier(6, bootstrap=True, random_state=0),
        BaggingClassifier(n_estimators=6, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_losses_can_be_counted_on_the_rows_in_or_out_of_each_bag(model, rows):
    model.fit(HEART.X, HEART.y)
    path = heart_path(model, samples=rows)
    point = path[len(path) // 2]
    mistakes = counted = 0
    for tree, sample in zip(point.model.estimators_, model.estimators_samples_, strict=True):
        drawn = np.bincount(sample, minlength=len(HEART.y))
        times = drawn if rows == "in_bag" else drawn == 0
        wrong = tree.predict(HEART.X) != np.searchsorted(model.classes_, HEART.y)
        mistakes += (times * wrong).sum()
        counted += times.sum()
    assert point.loss == pytest.approx(mistakes / counted)
    assert point.cost == pytest.approx(tw.feature_bill(point.model, HEART.X, HEART.costs).mean)
    at = tw.prune(
        model,
        HEART.X,
        HEART.y,
        costs=HEART.costs,
        samples=rows,
        tradeoff=point.tradeoff * (1 + 1e-6),
    )
    assert at.n_splits == point.n_splits


def test_rows_that_nobody_knows_are_refused():
    tree = DecisionTreeClassifier(random_state=0).fit(HEART.X, HEART.y)
    with pytest.raises(InputError, match="does not know which samples"):
        heart_path(tree, samples="in_bag")
    with pytest.raises(InputError, match="choose 'all', 'in_bag' or 'out_of_bag'"):
        heart_path(samples="some")
    whole = ExtraTreesClassifier(3, random_state=0).fit(HEART.X, HEART.y)
    with pytest.raises(InputError, match="none is out of bag"):
        heart_path(whole, samples="out_of_bag")
    for n_samples in (50, 2 * len(HEART.y)):
        X, y = np.resize(HEART.X, (n_samples, 13)), np.resize(HEART.y, n_samples)
        with pytest.raises(InputError, match="trained on 303 samples, but X has"):
            tw.prune_path(FOREST, X, y, samples="in_bag")


def test_rows_without_weight_cannot_be_all_that_counts():
    model = RandomForestClassifier(2, random_state=0).fit(HEART.X, HEART.y)
    seen = np.unique(np.concatenate(model.estimators_samples_))
    out_everywhere = np.setdiff1d(np.arange(len(HEART.y)), seen)
    weights = np.zeros(len(HEART.y))
    weights[np.intersect1d(*model.estimators_samples_)] = 1
    with pytest.raises(InputError, match="no sample counts that has any weight"):
        heart_path(model, samples="out_of_bag", sample_weight=weights)
    path = heart_path(model, samples="in_bag")
    with pytest.raises(InputError, match="no sample counts that has any weight"):
        path.evaluate(HEART.X, HEART.y, samples="out_of_bag", sample_weight=weights)
    assert path.evaluate(HEART.X, HEART.y, samples="in_bag").n_samples == 303 - len(out_everywhere)


def test_what_was_pruned_on_a_row_is_not_measured_on_it_as_out_of_bag():
    with pytest.raises(InputError, match="samples='in_bag'"):
        PATH.evaluate(HEART.X, HEART.y, samples="out_of_bag")


def test_out_of_bag_errors_of_noise_are_those_of_noise():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.integers(0, 2, 400)
    model = RandomForestClassifier(40, max_features=None, random_state=0).fit(X, y)
    path = tw.prune_path(model, X, y, samples="in_bag")
    measured = path.evaluate(X, y, samples="out_of_bag", points=[0])
    assert measured.error[0] > 0.44


@pytest.mark.parametrize("loss", ["error", "brier"])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_gain_is_so_small_that_it_counts_as_nothing(seed, loss):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(300, 4)), np.exp(5 * rng.normal(size=300))
    model = RandomForestRegressor(5, max_features=2, bootstrap=False, random_state=0).fit(X, y)
    path = tw.prune_path(model, X, y)
    assert path.original.loss == 0
    assert path.losses[0] == path.at(max_loss_increase=0).loss == 0
    assert path.n_splits[0] == path.original.n_splits
    rich = path.at(budget=1e9)
    assert rich.loss - rich.proof.gap <= path.original.loss
    assert path.proof.gap < 1e-9 * path.losses[-1]
    other = heart_path(loss=loss)
    assert other.losses[0] - other.proof.gap <= min(other.losses[0], other.original.loss)


def test_a_tree_of_gains_far_apart_keeps_them_all_where_nothing_is_to_be_saved():
    X, y = np.arange(4.0)[:, None], np.array([0, 4, 1e8, 1e8 + 4])
    model = DecisionTreeRegressor(random_state=0).fit(X, y)
    problem = tw.pruning_problem(model, X, y)
    pruned = tw.prune(problem, tradeoff=0)
    assert pruned.loss == 0
    found = tw.verify_pruning(problem, pruned, tradeoff=0)
    assert found.is_optimal
    # Without a split that gains 8 of 1e16, it would be as far off as is said.
    poor = tw.prune_path(problem)[1]
    assert poor.loss > 0
    assert tw.verify_pruning(problem, poor, tradeoff=0).gap >= poor.loss


def test_losses_along_a_path_are_those_of_their_leaves_however_small():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), 10.0 ** rng.uniform(-8, 8, 60)
    model = DecisionTreeRegressor(max_leaf_nodes=40, random_state=0).fit(X, y)
    problem = tw.pruning_problem(model, X, y, costs=rng.uniform(0, 3, 4))
    path = tw.prune_path(problem)
    for point in range(len(path)):
        alone = problem.figures(path.kept_nodes(point)).loss
        assert path.losses[point] == pytest.approx(alone, rel=1e-9, abs=0)


def test_what_sums_of_doubles_cannot_tell_is_in_the_proof():
    X = np.repeat([0.0, 1.0], 8)[:, None]
    y = np.round(1e5 * np.array([-1.3, -0.7, -0.2, 0.1, 0.4, 0.9, 1.1, 1.6]), 3)
    y = np.concatenate([y, y + 0.03])
    model = DecisionTreeRegressor().fit(X, y)
    pruned = tw.prune(model, X, y, costs=[1.0], tradeoff=0)
    assert pruned.loss - pruned.proof.gap <= pruned.original.loss
    path = tw.prune_path(model, X, y, costs=[1.0])
    assert path.losses[0] - path.proof.gap <= path.original.loss
    assert "but for rounding" in path[0].proof.words
    counted = tw.prune_path(model, X, np.rint(y), costs=[1.0], loss="absolute_error")
    assert counted.proof.gap > 0  # leaves are no whole numbers
    assert PATH.proof.gap == 0
    assert PATH[0].proof.words == "optimal"


@pytest.mark.parametrize("price", [1.00000009, 1.000000000001, 1 / 3])
def test_prices_of_many_decimals_are_not_rounded_to_fewer(price):
    X, y = np.arange(4.0)[:, None], np.array([0, 0, 1, 1])
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    path = tw.prune_path(model, X, y, costs=[price])
    assert path.tradeoffs[1] == pytest.approx(0.5 / price, rel=1e-15)
    assert path.proof.cost_gap <= 1e-14


def test_what_prices_differ_by_in_the_16th_digit_is_part_of_the_gap():
    X, y, n_features = HEART.X, HEART.y, HEART.X.shape[1]
    prices = np.ones(n_features)
    assert tw.prune_path(FOREST, X, y, costs=prices).proof.cost_gap == 0
    prices[0] += 2.0**-52
    for options in ({}, {"decomposition": tw.DualDecomposition()}):
        path = tw.prune_path(tw.pruning_problem(FOREST, X, y, costs=prices, **options))
        assert 2.0**-52 <= path.proof.cost_gap < 1e-14
    weights = np.ones(len(y))
    weights[0] += 2.0**-52
    path = tw.prune_path(FOREST, X, y, sample_weight=weights)
    assert path.proof.gap > 0


def test_tiny_weights_still_cost_something():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    costs = tw.Costs(per_feature=[0, np.pi], weigh_bills=True)
    path = tw.prune_path(tree, X, y, costs=costs, sample_weight=[1e-7, 1, 1e-7, 1])
    assert path.costs[-1] == 0
    assert path.at(budget=0).cost == 0


def test_a_model_that_was_fitted_again_is_refused():
    model = RandomForestClassifier(3, random_state=0).fit(HEART.X, HEART.y)
    path = heart_path(model, samples="in_bag")
    model.fit(HEART.X[:, ::-1], HEART.y)
    with pytest.raises(InputError, match="fitted again"):
        path.at(index=0)
    with pytest.raises(InputError, match="fitted again"):
        path.evaluate(HEART.X, HEART.y, samples="out_of_bag")


def test_columns_are_known_by_the_names_that_the_path_was_given():
    frame = HEART.frame()
    path = heart_path(X=frame, costs=dict(zip(frame.columns, HEART.costs, strict=True)))
    assert path.forest.feature_names == tuple(frame.columns)
    assert path.evaluate(frame, HEART.y, points=[0]).error == pytest.approx(
        PATH.evaluate(HEART.X, HEART.y, points=[0]).error
    )
    with pytest.raises(InputError, match="Column 0 of X is named"):
        path.evaluate(frame[frame.columns[::-1]], HEART.y)


def test_regressors_have_a_path_too():
    y = HEART.X[:, 3]
    X = np.delete(HEART.X, 3, axis=1)
    model = RandomForestRegressor(8, max_features=None, random_state=0).fit(X, y)
    path = tw.prune_path(model, X, y)
    point = path[len(path) // 2]
    squared = [(tree.predict(X) - y) ** 2 for tree in point.model.estimators_]
    assert point.loss == pytest.approx(np.mean(squared))
    measured = path.evaluate(X, y, points=[0, point.index])
    assert measured.error[1] == pytest.approx(np.mean((point.model.predict(X) - y) ** 2))
    assert measured.vote_error is None
    assert "squared" in path.loss_name
