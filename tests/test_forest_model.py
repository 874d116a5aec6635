"""ForestModel: a forest as a model of scikit-learn, in tools and in files."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from adapter_laws import check_same
from models import (
    NAMES,
    Fitted,
    assert_equal_forests,
    fitted,
    hard_rows,
    numbers,
    plain_rows,
    random_kept,
    rows_with_missing,
    three_classes,
    two_classes,
)
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import thriftwood as tw
from thriftwood.adapters import forest_model, read_forest, write_model
from thriftwood.errors import ForestError, InputError, UnsupportedModelError
from thriftwood.forest import (
    Forest,
    collapse,
    files,
    scores,
)

AVERAGES = (
    "tree_classifier",
    "tree_regressor",
    "missing_random_forest",
    "missing_extra_trees",
    "bagging_missed_class",
    "booleans_as_labels",
    "named_columns",
    "budget_forest",
    "single_leaf",
)


def boosted(kind: str) -> Fitted:
    X = rows_with_missing(120)
    small = {"max_iter": 4, "min_samples_leaf": 4}
    if kind == "poisson":
        model, y = HistGradientBoostingRegressor(loss="poisson", **small), np.exp(numbers(X) / 4)
    elif kind == "exponential":
        X = plain_rows(120)
        model, y = GradientBoostingClassifier(loss="exponential", n_estimators=4), two_classes(X)
    else:
        y = three_classes(X) if kind == "three_classes" else two_classes(X)
        model = HistGradientBoostingClassifier(**small)
    return Fitted(model.fit(X, y), X, y)


BOOSTED = ("two_classes", "three_classes", "poisson", "exponential")
CASES = [
    *(pytest.param(fitted, kind, id=kind) for kind in AVERAGES),
    *(pytest.param(boosted, kind, id=kind) for kind in BOOSTED),
]


@pytest.mark.parametrize(("make", "kind"), CASES)
def test_it_predicts_what_the_model_predicts(make: Any, kind: str) -> None:
    model, X, y = make(kind)
    ours = forest_model(read_forest(model))
    assert isinstance(ours, tw.ForestModel)
    assert is_classifier(ours) == is_classifier(model)
    assert is_regressor(ours) == is_regressor(model)
    assert ours.n_features_in_ == model.n_features_in_
    if is_classifier(model):
        np.testing.assert_array_equal(ours.classes_, model.classes_)
        np.testing.assert_allclose(ours.predict_proba(X), model.predict_proba(X), atol=1e-12)
        with np.errstate(divide="ignore"):
            expected = np.log(ours.predict_proba(X))
        np.testing.assert_array_equal(ours.predict_log_proba(X), expected)
        assert ours.score(X, y) == accuracy_score(y, ours.predict(X))
        assert np.mean(ours.predict(X) == model.predict(X)) > 0.97  # but for ties
    else:
        np.testing.assert_allclose(ours.predict(X), model.predict(X), rtol=1e-12)
        assert ours.score(X, y) == r2_score(y, ours.predict(X))


def test_columns_have_names_where_the_forest_knows_them() -> None:
    named = forest_model(read_forest(fitted("named_columns").model))
    assert named.feature_names_in_.tolist() == NAMES
    assert not hasattr(forest_model(read_forest(fitted("stump").model)), "feature_names_in_")


def test_rows_end_in_the_leaves_of_the_model() -> None:
    model = fitted("random_forest_classifier").model
    rows = plain_rows(50, seed=3)
    found = forest_model(read_forest(model)).apply(rows)
    np.testing.assert_array_equal(found, model.apply(rows))


def test_the_decision_function_is_one_number_for_two_classes() -> None:
    model, X, y = boosted("two_classes")
    ours = forest_model(read_forest(model))
    np.testing.assert_allclose(ours.decision_function(X), model.decision_function(X))
    model, X, y = fitted("random_forest_classifier")
    ours = forest_model(read_forest(model))
    share = ours.predict_proba(X)
    np.testing.assert_allclose(ours.decision_function(X), share[:, 1] - share[:, 0])
    assert roc_auc_score(y, ours.decision_function(X)) == roc_auc_score(y, share[:, 1])
    model, X, _ = boosted("three_classes")
    ours = forest_model(read_forest(model))
    np.testing.assert_allclose(ours.decision_function(X), model.decision_function(X))


def leaf_forest(values: list[float], **options: Any) -> Forest:
    """A forest of one leaf."""
    nothing = {"feature": [-1], "threshold": [0.0], "left": [-1], "right": [-1]}
    return Forest(
        **nothing, tree_start=[0, 1], missing_left=[False], values=[values], n_features=1, **options
    )


def test_of_classes_that_tie_the_first_is_predicted() -> None:
    even = forest_model(leaf_forest([0.0], combine="sum", link="logistic", classes=["b", "a"]))
    assert even.predict([[1.0]]).tolist() == ["b"]
    three = forest_model(leaf_forest([0.2, 0.4, 0.4], classes=[7, 5, 3]))
    assert three.predict([[1.0]]).tolist() == [5]


def test_classes_against_the_rest_need_not_add_up() -> None:
    options = {"combine": "sum", "link": "logistic", "classes": [0, 1, 2]}
    model = forest_model(leaf_forest([2.0, 3.0, -1.0], **options))
    assert model.predict_proba([[1.0]]).sum() > 1.5
    assert model.predict([[1.0]]).tolist() == [1]


# --- as scikit-learn wants it


def test_it_is_a_fitted_estimator() -> None:
    model, X, y = boosted("two_classes")
    ours = forest_model(read_forest(model), n_jobs=2)
    check_is_fitted(ours)
    assert get_tags(ours).input_tags.allow_nan
    assert ours.get_params() == {"forest": ours.forest, "n_jobs": 2}
    copy = clone(ours)
    assert type(copy) is type(ours)
    np.testing.assert_array_equal(copy.predict_proba(X), ours.predict_proba(X))
    assert "Forest(4 trees" in repr(ours)
    for attempt in (ours.fit, make_pipeline(StandardScaler(), ours).fit):
        with pytest.raises(UnsupportedModelError, match=r"fitted already.*FrozenEstimator"):
            attempt(X, y)


def test_it_works_in_tools_that_take_a_fitted_model() -> None:
    model, X, y = boosted("two_classes")
    ours = forest_model(read_forest(model))
    frozen = FrozenEstimator(ours)
    check_is_fitted(frozen)
    np.testing.assert_array_equal(frozen.fit(X, y).predict(X), ours.predict(X))
    calibrated = CalibratedClassifierCV(frozen, cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)
    importance = permutation_importance(ours, X, y, n_repeats=2, random_state=0).importances_mean
    tested = np.unique(ours.forest.feature[ours.forest.is_split])
    assert (np.delete(importance, tested) == 0).all()
    assert importance.max() > 0


def test_it_is_the_last_step_of_a_fitted_pipeline() -> None:
    X = plain_rows()
    whole = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=3))
    whole.fit(X, two_classes(X))
    ours = make_pipeline(whole[0], forest_model(read_forest(whole[-1])))
    np.testing.assert_allclose(ours.predict_proba(X), whole.predict_proba(X))


def test_it_can_be_pickled() -> None:
    model, X, _ = boosted("three_classes")
    ours = forest_model(read_forest(model))
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.predict_proba(X), ours.predict_proba(X))


def test_threads_change_nothing() -> None:
    model, _, _ = boosted("three_classes")
    forest = read_forest(model)
    rows = np.tile(hard_rows(forest), (5, 1))
    alone = forest_model(forest).predict_proba(rows)
    np.testing.assert_array_equal(forest_model(forest, n_jobs=2).predict_proba(rows), alone)
    with pytest.raises(InputError, match="`n_jobs` is 0"):
        forest_model(forest, n_jobs=0).predict(rows)


def test_tables_that_do_not_fit_are_refused() -> None:
    case = fitted("named_columns")
    ours = forest_model(read_forest(case.model))
    for X, sentence in (
        (case.X.iloc[:, ::-1], "Column 0 of X is named 'scan'"),
        (case.X.iloc[:, :2], "X has 2 columns, but the model was trained on 4"),
        (sparse.csr_array(case.X.to_numpy()[:, :3]), "X has 3 columns"),
        (case.X.to_numpy()[0], "1 dimension"),
        ([["a"] * 4], "not a number"),
        (None, "X is None"),
    ):
        for method in (ours.predict, ours.predict_proba, ours.decision_function, ours.apply):
            with pytest.raises(InputError, match=sentence):
                method(X)


def test_text_is_read_by_its_labels() -> None:
    colour = pd.Categorical(np.array(["red", "blue", "green"])[three_classes(plain_rows())])
    X = pd.DataFrame({"x": plain_rows()[:, 0], "colour": colour})
    y = (colour == "red").astype(int)
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype").fit(X, y)
    ours = forest_model(read_forest(model))
    np.testing.assert_allclose(ours.predict_proba(X), model.predict_proba(X))


def test_contradicting_forests_are_refused() -> None:
    with pytest.raises(ForestError, match="2 classes but 1 values"):
        forest_model(leaf_forest([0.5], classes=[0, 1]))


# --- as an adapter


def test_it_is_read_and_written() -> None:
    model, X, _ = boosted("three_classes")
    forest = read_forest(model)
    ours = forest_model(forest, n_jobs=2)
    assert read_forest(ours) is forest
    kept = random_kept(forest, 0, 0.5)
    written = write_model(ours, kept)
    assert type(written) is type(ours)
    assert written.n_jobs == 2
    check_same(read_forest(written), collapse(forest, kept)[0])
    np.testing.assert_allclose(written.predict_proba(X), write_model(model, kept).predict_proba(X))
    other = write_model(ours, kept, np.full(forest.values.shape, 2.0))
    assert (read_forest(other).values == 2).all()


def test_it_is_pruned_as_the_model_is() -> None:
    model, X, y = fitted("random_forest_classifier")
    path = tw.prune_path(model, X, y, progress=False)
    ours = tw.prune_path(forest_model(read_forest(model)), X, y, progress=False)
    np.testing.assert_array_equal(ours.costs, path.costs)
    point = ours.at(index=1).model
    assert isinstance(point, tw.ForestModel)
    assert_equal_forests(read_forest(point), read_forest(path.at(index=1).model))
    assert tw.feature_bill(point, X).mean == tw.feature_bill(path.at(index=1).model, X).mean


# --- in files


@pytest.mark.parametrize(("make", "kind"), CASES)
def test_a_saved_model_comes_back(tmp_path: Any, make: Any, kind: str) -> None:
    model, X, _ = make(kind)
    ours = forest_model(read_forest(model))
    ours.save(tmp_path / "model")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
    loaded = tw.ForestModel.load(tmp_path / "model", n_jobs=2)
    assert type(loaded) is type(ours)
    assert loaded.n_jobs == 2
    assert loaded.forest.has_same_trees(ours.forest)
    np.testing.assert_array_equal(loaded.predict(X), ours.predict(X))
    if ours.forest.gains is not None:
        np.testing.assert_array_equal(loaded.forest.gains, ours.forest.gains)


def test_categories_and_their_labels_come_back(tmp_path: Any) -> None:
    colour = pd.Categorical(np.array(["red", "blue", "green"])[three_classes(plain_rows())])
    X = pd.DataFrame({"x": plain_rows()[:, 0], "colour": colour})
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype")
    ours = forest_model(read_forest(model.fit(X, colour == "red")))
    assert (ours.forest.category_set >= 0).any()
    ours.save(tmp_path / "model")
    loaded = tw.ForestModel.load(tmp_path / "model")
    assert loaded.forest.category_labels == {1: ("blue", "green", "red")}
    np.testing.assert_array_equal(loaded.predict_proba(X), ours.predict_proba(X))


@pytest.fixture
def saved(tmp_path: Any) -> Any:
    file = tmp_path / "model"
    forest_model(read_forest(boosted("two_classes").model)).save(file)
    return file


def test_damaged_files_are_refused_or_harmless(saved: Any) -> None:
    expected = read_forest(boosted("two_classes").model)
    whole = saved.read_bytes()
    for content in (b"", b"hello", whole[: len(whole) // 2]):
        saved.write_bytes(content)
        with pytest.raises(InputError, match=r"no forest that `ForestModel\.save` wrote"):
            tw.ForestModel.load(saved)
    for place in np.random.default_rng(0).choice(len(whole), 60, replace=False):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            loaded = tw.ForestModel.load(saved)
        except InputError:
            continue
        assert loaded.forest.has_same_trees(expected)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("forest_left", lambda left: left + 1),
        ("forest_left", lambda left: left.astype(np.int64) + 2**40),
        ("forest_values", lambda values: values[1:]),
        ("forest_values", lambda values: values * np.nan),
        ("forest_tree_start", lambda start: start[::-1]),
        ("forest_bias", lambda bias: np.append(bias, 0.0)),
        ("header", lambda header: np.array(str(header).replace("logistic", "probit"))),
        ("header", lambda header: np.array(str(header).replace('"n_features": 4', '"n": 4'))),
        (
            "header",
            lambda header: np.array(str(header).replace('"n_features": 4', '"n_features": 1')),
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(saved: Any, name: str, change: Any) -> None:
    with np.load(saved) as content:
        arrays = dict(content)
    missing = {key: arrays[key] for key in arrays if key != name}
    for wrong in ({**arrays, name: change(arrays[name])}, missing):
        with saved.open("wb") as stream:
            np.savez(stream, **wrong)
        with pytest.raises(InputError, match="damaged"):
            tw.ForestModel.load(saved)


def test_other_files_are_refused(saved: Any, tmp_path: Any, monkeypatch: Any) -> None:
    with pytest.raises(InputError, match="There is no file"):
        tw.ForestModel.load(tmp_path / "missing")
    with pytest.raises(InputError, match="3 is not the name of a file"):
        tw.ForestModel.load(3)
    model, X, y = fitted("tree_classifier")
    tw.prune_path(model, X, y, progress=False).save(tmp_path / "path")
    with pytest.raises(InputError, match="no forest"):
        tw.ForestModel.load(tmp_path / "path")
    with pytest.raises(InputError, match="no path"):
        tw.PruningPath.load(saved)
    monkeypatch.setattr(files, "VERSION", 9)
    with pytest.raises(InputError, match="version 2 of the format; this release reads 9"):
        tw.ForestModel.load(saved)


def test_nothing_is_left_where_saving_fails(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    model = forest_model(leaf_forest([0.5]))
    for file in ("missing/model", ".", "", None, 3):
        with pytest.raises(InputError):
            model.save(file)
    part = pd.cut(plain_rows()[:, 0], 3)
    labelled = forest_model(leaf_forest([0.5], category_labels={0: tuple(part.categories)}))
    with pytest.raises(InputError, match="neither numbers nor text"):
        labelled.save("model")
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_finished_leaves_the_old_one(saved: Any, monkeypatch: Any) -> None:
    before = saved.read_bytes()

    def full_disk(stream: Any, **_arrays: Any) -> None:
        stream.write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(OSError, match="no space"):
        forest_model(leaf_forest([0.5])).save(saved)
    assert saved.read_bytes() == before
    assert [entry.name for entry in saved.parent.iterdir()] == ["model"]


def test_scores_do_not_depend_on_the_block_of_rows() -> None:
    forest = read_forest(boosted("two_classes").model)
    rows = np.tile(rows_with_missing(90), (13, 1))
    expected = np.concatenate([scores(forest, rows[i : i + 1]) for i in range(90)])
    np.testing.assert_array_equal(scores(forest, rows), np.tile(expected, (13, 1)))
