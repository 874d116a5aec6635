"""Models go into files of every format and come back as they were."""

import boosters_lightgbm
import catboost
import joblib
import numpy as np
import pytest
import xgboost
import xgboost_models
from adapter_laws import check_same, pruned_pair
from models import KINDS, NAMES, fitted
from paths import HEART, PATH

import thriftwood as tw
from thriftwood.adapters import ForestModel, forest_model, read_forest
from thriftwood.formats.models import model_format, read_model, write_model_file


def again(model, file):
    """Return what a model is after it was written and read."""
    write_model_file(model, file)
    assert [there.name for there in file.parent.iterdir()] == [file.name]
    return read_model(file, trust_pickle=file.suffix in (".pkl", ".pickle", ".joblib"))


def says(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


# --- boosters, each in the format of its library


@pytest.mark.parametrize(
    "kind",
    ["regression", "l1", "stopped_early", "one_against_rest", "rf_binary", "frame", "classifier"],
)
def test_lightgbm(kind, tmp_path):
    model, X = boosters_lightgbm.grown(kind)
    for number, own in enumerate((model, pruned_pair(model)[0])):
        found = again(own, _folder(tmp_path, number) / "model.txt")
        assert type(found).__name__ == "Booster"
        assert read_forest(found).has_same_trees(read_forest(own))
        np.testing.assert_array_equal(
            boosters_lightgbm.raw_scores(found, X), boosters_lightgbm.raw_scores(own, X)
        )


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        ("classifier_of_three", ".json"),
        ("stopped_early", ".ubj"),
        ("named", ".json"),
        ("categories", ".ubj"),
        ("dart_regressor", ".json"),
        ("penalties", ".ubj"),
        ("booster_softmax", ".json"),
        ("booster_absolute", ".ubj"),
    ],
)
def test_xgboost(kind, suffix, tmp_path):
    model, X, _ = xgboost_models.fitted(kind)
    pruned, _ = pruned_pair(model)
    for number, own in enumerate((model, pruned)):
        found = again(own, _folder(tmp_path, number) / f"model{suffix}")
        assert isinstance(found, xgboost.Booster)
        # The weights of dart's trees lose their last bit.
        np.testing.assert_allclose(
            xgboost_models.score(found, X), xgboost_models.score(own, X), rtol=1e-6
        )
    check_same(read_forest(found), read_forest(pruned))


def test_an_estimator_of_xgboost_loads_its_file(tmp_path):
    model, X, _ = xgboost_models.fitted("classifier_of_three")
    pruned = pruned_pair(model)[0]
    write_model_file(pruned, tmp_path / "model.json")
    found = xgboost.XGBClassifier()
    found.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(found.predict_proba(X), pruned.predict_proba(X))


FEW = {"iterations": 4, "depth": 3, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
CATBOOSTS = {
    "words": (catboost.CatBoostClassifier(**FEW), boosters_lightgbm.words),
    "two": (catboost.CatBoostClassifier(grow_policy="Depthwise", **FEW), xgboost_models.two),
    "numbers": (catboost.CatBoostRegressor(**FEW), xgboost_models.latent),
    "counts": (
        catboost.CatBoostRegressor(loss_function="Poisson", **FEW),
        xgboost_models.positive,
    ),
}


@pytest.fixture(scope="module", params=CATBOOSTS)
def of_catboost(request):
    model, target = CATBOOSTS[request.param]
    X = xgboost_models.rows()
    return model.fit(X, target(X)), X


@pytest.mark.parametrize("suffix", [".cbm", ".json"])
def test_catboost(of_catboost, suffix, tmp_path):
    model, X = of_catboost
    for number, own in enumerate((model, pruned_pair(model)[0])):
        found = again(own, _folder(tmp_path, number) / f"model{suffix}")
        assert type(found) is type(own)
        check_same(read_forest(found), read_forest(own), rtol=1e-15)
        np.testing.assert_allclose(says(found, X), says(own, X), rtol=1e-14)
        np.testing.assert_array_equal(read_forest(found).classes, read_forest(own).classes)


# --- all others


@pytest.mark.parametrize("kind", KINDS[::8])
@pytest.mark.parametrize("suffix", [".skops", ".pkl", ".joblib"])
def test_models_of_scikit_learn(kind, suffix, tmp_path):
    model, X, _ = fitted(kind)
    found = again(model, tmp_path / f"model{suffix}")
    assert type(found) is type(model)
    np.testing.assert_array_equal(says(found, X), says(model, X))


@pytest.mark.parametrize("suffix", [".json", ".tw", ".skops", ".pickle"])
def test_forest_models(suffix, tmp_path):
    model = forest_model(read_forest(fitted("words_as_labels").model))
    found = again(model, tmp_path / f"model{suffix}")
    assert isinstance(found, ForestModel)
    assert found.forest.has_same_trees(model.forest)


@pytest.mark.parametrize("suffix", [".json", ".skops"])
def test_a_bare_forest_comes_back_as_a_model(suffix, tmp_path):
    forest = read_forest(fitted("named_columns").model)
    found = again(forest, tmp_path / f"model{suffix}")
    assert found.forest.has_same_trees(forest)
    assert list(found.feature_names_in_) == NAMES


def test_cascades(tmp_path):
    cascade = PATH.cascade(HEART.X, HEART.y, stages=3)
    found = again(cascade, tmp_path / "cascade.tw")
    assert isinstance(found, tw.CascadeClassifier)
    np.testing.assert_array_equal(found.predict_proba(HEART.X), cascade.predict_proba(HEART.X))


# --- what a file holds says what it is


def test_content_beats_the_suffix(tmp_path):
    """Every format is found under the name of another one, without trust."""
    cascade = PATH.cascade(HEART.X, HEART.y, stages=2)
    booster = boosters_lightgbm.grown("binary").model
    of_xgboost = xgboost_models.fitted("booster_logistic").model
    tree = fitted("stump").model
    given = [
        (tree, ".skops", "skops"),
        (booster, ".txt", "LightGBM text"),
        (of_xgboost, ".json", "XGBoost"),
        (of_xgboost, ".ubj", "XGBoost"),
        (forest_model(read_forest(tree)), ".json", "Thriftwood JSON"),
        (cascade, ".tw", "Thriftwood"),
    ]
    for model, suffix, name in given:
        write_model_file(model, tmp_path / f"right{suffix}")
        for wrong in (".json", ".pkl", ".dat", ""):
            file = tmp_path / f"wrong{wrong}"
            file.write_bytes((tmp_path / f"right{suffix}").read_bytes())
            assert model_format(file) == name
            assert type(read_model(file)) is type(model)


def test_suffixes_in_capitals(tmp_path):
    booster = xgboost_models.fitted("booster_logistic").model
    assert isinstance(again(booster, tmp_path / "MODEL.JSON"), xgboost.Booster)


def test_a_text_of_windows_and_one_edited_by_hand(tmp_path):
    model, X = boosters_lightgbm.grown("regression")
    text = model.model_to_string()
    sizes = next(line for line in text.split("\n") if line.startswith("tree_sizes="))
    for number, changed in enumerate(
        (text.replace("\n", "\r\n"), text.replace(sizes, "tree_sizes=1"))
    ):
        file = tmp_path / f"{number}.txt"
        file.write_bytes(changed.encode())
        np.testing.assert_array_equal(read_model(file).predict(X), model.predict(X))


@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3)])
def test_compressed_pickles_of_joblib(compress, tmp_path):
    model, X, _ = fitted("stump")
    joblib.dump(model, tmp_path / "model.joblib", compress=compress)
    found = read_model(tmp_path / "model.joblib", trust_pickle=True)
    np.testing.assert_array_equal(found.predict(X), model.predict(X))


def test_a_file_is_replaced(tmp_path):
    write_model_file(fitted("stump").model, tmp_path / "model.skops")
    write_model_file(fitted("tree_regressor").model, tmp_path / "model.skops")
    assert type(read_model(tmp_path / "model.skops")).__name__ == "DecisionTreeRegressor"


def _folder(tmp_path, number):
    folder = tmp_path / str(number)
    folder.mkdir()
    return folder
