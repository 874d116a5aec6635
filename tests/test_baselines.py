"""What holds for every baseline: real figures, no claims, files, the sentences of the path."""

import numpy as np
import pytest
from paths import FOREST, HEART, NHANES, PATH, TRAIN
from sklearn.metrics import log_loss

import thriftwood as tw
from thriftwood.errors import InputError, RangeError, UnsupportedModelError
from thriftwood.pruning import Baseline


def of_samples(make):
    return lambda model, X, y, **options: make(tw.pruning_problem(model, X, y, **options))


BASELINES = {
    "each_tree": of_samples(tw.each_tree_path),
    "cost_complexity": of_samples(tw.cost_complexity_path),
    "dynamic_programming": of_samples(tw.dynamic_programming_path),
}
NAMES = pytest.mark.parametrize("name", BASELINES)
PATHS = {
    name: find(FOREST, HEART.X, HEART.y, costs=HEART.costs) for name, find in BASELINES.items()
}
BY_SIZE = PATHS["dynamic_programming"]


# --- figures


@NAMES
def test_figures_are_those_of_the_written_model(name):
    path = PATHS[name]
    for index in (0, 1, len(path) // 3, -2, -1):
        point = path[index]
        bill = tw.feature_bill(point.model, HEART.X, HEART.costs).mean
        assert point.cost == pytest.approx(bill, rel=1e-12)
        mistakes = [tree.predict(HEART.X) != HEART.y for tree in point.model.estimators_]
        assert point.loss == pytest.approx(np.mean(mistakes))
        assert point.n_splits == sum(tree.get_n_leaves() - 1 for tree in point.model.estimators_)
        tested = np.concatenate([tree.tree_.feature for tree in point.model.estimators_])
        assert point.n_features == len(np.unique(tested[tested >= 0]))
    assert vars(path.original) == pytest.approx(vars(PATH.original))


@NAMES
def test_evaluation_equals_predicting_with_each_written_model(name, nhanes):
    forest, _, X, y = nhanes
    path = BASELINES[name](forest, NHANES.X[TRAIN], NHANES.y[TRAIN], costs=NHANES.costs)
    points = [0, 1, len(path) // 2, len(path) - 3]
    measured = path.evaluate(X, y, quantiles=[0.5, 1])
    for index in points:
        model = path[index].model
        probabilities = model.predict_proba(X)
        assert measured.log_loss[index] == pytest.approx(
            log_loss(y, probabilities, labels=forest.classes_)
        )
        bill = tw.feature_bill(model, X, NHANES.costs).per_sample
        assert measured.cost[index] == pytest.approx(bill.mean())
        np.testing.assert_allclose(
            measured.cost_quantiles[index], np.quantile(bill, [0.5, 1]), atol=1e-9
        )
    some = path.evaluate(X, y, points=points, quantiles=[0.5, 1])
    np.testing.assert_array_equal(some.error, measured.error[points])
    on_training_rows = path.evaluate(NHANES.X[TRAIN], NHANES.y[TRAIN])
    np.testing.assert_allclose(on_training_rows.cost, path.costs, rtol=1e-12, atol=1e-12)


@NAMES
def test_threads_do_not_matter(name):
    again = BASELINES[name](FOREST, HEART.X, HEART.y, costs=HEART.costs, n_jobs=2)
    np.testing.assert_array_equal(again.costs, PATHS[name].costs)
    np.testing.assert_array_equal(again.losses, PATHS[name].losses)


# --- nothing is claimed that is not proven


@NAMES
def test_no_baseline_is_called_optimal(name):
    path = PATHS[name]
    points = [path[0], path.at(budget=100), path.at(max_loss_increase=0.1), path.at(budget=0)]
    for point in points:
        assert point.objective is None
        assert point.proof == path.proof == Baseline(name)
        assert "optimal" not in repr(point)
        assert "No pruning" not in repr(point)
    assert "optimal" not in repr(path)
    assert "larger budget" in repr(points[-1])


def test_each_baseline_says_what_it_is():
    said = {name: repr(path).split("\n")[0] for name, path in PATHS.items()}
    assert said["each_tree"].endswith("prunings of each tree alone")
    assert said["cost_complexity"].endswith("cost-complexity prunings")
    assert said["dynamic_programming"].endswith("prunings by size")
    assert "at tradeoff 0, each tree alone" in repr(PATHS["each_tree"][0])
    assert "by cost-complexity" in repr(PATHS["cost_complexity"].at(budget=100))
    assert "optimal" in repr(PATH[0])


@pytest.mark.parametrize("name", ["each_tree", "cost_complexity"])
def test_only_optimal_points_are_mixed(name):
    with pytest.raises(InputError, match="of which no mixture is optimal"):
        PATHS[name].mix(budget=100)


@NAMES
def test_a_baseline_can_be_drawn_and_is_a_table(name):
    plt = pytest.importorskip("matplotlib.pyplot")
    path = PATHS[name]
    label = path.plot().lines[0].get_label()
    assert "pruning" in label
    assert "optimal" not in label
    measured = path.evaluate(HEART.X, HEART.y, points=[0, 2])
    path.plot(measured=measured)
    plt.close("all")
    columns = ["tradeoff", "cost", "loss", "n_splits", "n_features"]
    assert path.to_frame().columns.tolist() == columns
    assert "tradeoff" in measured.to_frame().columns


# --- files


@NAMES
@pytest.mark.parametrize("model", [FOREST, None])
def test_a_saved_baseline_comes_back(tmp_path, name, model):
    path = PATHS[name]
    path.save(tmp_path / "path")
    loaded = type(path).load(tmp_path / "path", model)
    assert repr(loaded).split("\n")[1:] == repr(path).split("\n")[1:]
    assert (loaded.proof, loaded.original) == (Baseline(name), path.original)
    for index in (0, 7, len(path) - 2):
        np.testing.assert_array_equal(loaded.kept_nodes(index), path.kept_nodes(index))
    np.testing.assert_array_equal(
        loaded.evaluate(HEART.X, HEART.y).error, path.evaluate(HEART.X, HEART.y).error
    )


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("masks", lambda masks: masks[:-1]),
        ("masks", lambda masks: masks[:, 1:]),
        ("masks", lambda masks: ~masks),
        ("masks", lambda masks: masks.astype(np.int64)),
        ("masks", lambda masks: masks >> 1),
        ("costs", lambda costs: costs[1:]),
        ("prices_prices", lambda prices: prices[1:]),
    ],
)
def test_masks_that_do_not_fit_are_refused(tmp_path, name, change):
    file = tmp_path / "path"
    BY_SIZE.save(file)
    with np.load(file) as content:
        arrays = dict(content)
    with file.open("wb") as stream:
        np.savez(stream, **{**arrays, name: change(arrays[name])})
    with pytest.raises(InputError, match="damaged"):
        tw.PruningPath.load(file)


# --- bad input


@pytest.mark.parametrize(
    "wrong",
    [
        {"y": HEART.y[:-1]},
        {"X": HEART.X[:, :-1]},
        {"costs": -HEART.costs},
        {"loss": "hinge"},
        {"samples": "some"},
        {"sample_weight": np.zeros(len(HEART.y))},
        {"n_jobs": 0},
        {"costs": np.full(HEART.X.shape[1], 1e308)},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
@NAMES
def test_bad_input_is_refused_in_the_words_of_the_path(name, wrong):
    arguments = {"X": HEART.X, "y": HEART.y, "costs": HEART.costs} | wrong
    said = []
    for find in (tw.prune_path, BASELINES[name]):
        with pytest.raises((InputError, RangeError)) as refused:
            find(FOREST, **arguments)
        said.append(str(refused.value))
    assert said[0] == said[1]


@NAMES
def test_a_model_that_is_none_is_refused(name):
    with pytest.raises(UnsupportedModelError):
        BASELINES[name]("forest", HEART.X, HEART.y)


@pytest.mark.parametrize(
    "make", [tw.each_tree_path, tw.cost_complexity_path, tw.dynamic_programming_path]
)
def test_only_a_problem_is_taken(make):
    for other in (FOREST, PATH, None):
        with pytest.raises(InputError, match="pass a problem, made by"):
            make(other)
