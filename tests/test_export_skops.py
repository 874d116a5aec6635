"""Files of skops hold the whole model, and load nothing that is not trusted by name."""

import io
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from export_cases import CASES, case, rows_for, said_by
from models import KINDS, fitted
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import all_estimators

import thriftwood as tw
from thriftwood.adapters import forest_model
from thriftwood.errors import ForestError, InputError, UnsupportedModelError
from thriftwood.formats import export
from thriftwood.formats.skops import _untrusted

skops = pytest.importorskip("skops.io")


def through_a_file(model, folder):
    export.to_skops(model, folder / "it.skops")
    assert [file.name for file in folder.iterdir()] == ["it.skops"]
    return export.from_skops(folder / "it.skops")


def says(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("kind", KINDS)
def test_models_come_back_whole(kind, tmp_path):
    model, X, _ = fitted(kind)
    again = through_a_file(model, tmp_path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(says(again, X), says(model, X))


def boosters():
    import catboost
    import lightgbm
    import xgboost

    return {
        "GradientBoosting": GradientBoostingClassifier(n_estimators=3),
        "HistGradientBoosting": HistGradientBoostingRegressor(max_iter=3, categorical_features=[0]),
        "LightGBM": lightgbm.LGBMClassifier(n_estimators=3, verbose=-1),
        "XGBoost": xgboost.XGBRegressor(n_estimators=3),
        "CatBoost": catboost.CatBoostClassifier(
            iterations=3, verbose=False, allow_writing_files=False
        ),
        "pruned": tw.PrunedEnsembleClassifier(
            RandomForestClassifier(4, random_state=0), budget=2.0
        ),
        "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "GradientBoosting",
        "HistGradientBoosting",
        "LightGBM",
        "XGBoost",
        "CatBoost",
        "pruned",
        "pipeline",
    ],
)
def test_boosters_and_what_has_a_model_inside_come_back_whole(kind, tmp_path):
    pytest.importorskip("lightgbm"), pytest.importorskip("xgboost"), pytest.importorskip("catboost")
    _, X, y = fitted("tree_classifier")
    X = np.abs(np.round(X))
    model = boosters()[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the other libraries
        model.fit(X, y)
        again = through_a_file(model, tmp_path)
        np.testing.assert_array_equal(says(again, X), says(model, X))


@pytest.mark.parametrize("name", CASES)
def test_forests_come_back_frozen(name, tmp_path):
    forest = case(name)
    forest.layout  # worked out once, and no part of the file
    again = through_a_file(forest, tmp_path)
    rows = rows_for(forest)
    assert again.has_same_trees(forest)
    assert again.feature_names == forest.feature_names
    assert not again.threshold.flags.writeable
    np.testing.assert_array_equal(said_by(again, rows), said_by(forest, rows))


@pytest.mark.parametrize("chosen", [{"dtype_include": object}, {"dtype_exclude": np.number}])
def test_pipelines_whose_columns_were_chosen_by_their_types(chosen, tmp_path):
    frame = pd.DataFrame({"age": np.arange(40.0), "pain": ["mild", "strong"] * 20}, dtype=object)
    frame["age"] = frame["age"].astype(float)
    words = make_column_selector(**chosen)
    encoder = make_column_transformer((OneHotEncoder(), words), remainder="passthrough")
    pipeline = make_pipeline(encoder, RandomForestClassifier(3, random_state=0))
    pipeline.fit(frame, np.arange(40) % 3 == 0)
    again = through_a_file(pipeline, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(frame), pipeline.predict_proba(frame))


class Holder(ClassifierMixin, BaseEstimator):
    """An estimator with a forest inside, of a module that nobody trusts."""

    def __init__(self, forest=None):
        self.forest = forest


@pytest.mark.parametrize("name", ["words", "logistic", "exp", "categories"])
def test_the_model_around_a_forest_comes_back(name, tmp_path):
    model = forest_model(case(name), n_jobs=1)
    again = through_a_file(model, tmp_path)
    assert type(again) is type(model)
    rows = rows_for(case(name))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


def test_what_would_not_be_trusted_is_not_written(tmp_path):
    with pytest.raises(UnsupportedModelError, match=r"Holder holds .*Holder, which"):
        export.to_skops(Holder(case("numbers")), tmp_path / "it.skops")
    strange = Pipeline([("it", fitted("stump").model)], memory=(i for i in ()))
    with pytest.raises(UnsupportedModelError, match="cannot be written by skops"):
        export.to_skops(strange, tmp_path / "it.skops")
    assert not list(tmp_path.iterdir())


def test_what_is_not_trusted_is_not_loaded(tmp_path):
    skops.dump(Holder(), tmp_path / "it.skops")
    with pytest.raises(InputError, match=r"it\.skops holds .*Holder, which is not trusted"):
        export.from_skops(tmp_path / "it.skops")


def test_public_estimators_are_known_without_the_list_of_skops():
    names = {f"{one.__module__}.{one.__name__}" for _, one in all_estimators()}
    own = {name for name in names if name.startswith("sklearn.")}
    assert len(own) > 100
    assert not _untrusted(own)
    others = ("base.BaseEstimator", "tree._classes.BaseDecisionTree", "utils._testing.raises")
    nowhere = ("nowhere.Estimator", "tests.test_base.MyEstimator", "ensemble._forest.Any")
    strange = [f"sklearn.{name}" for name in (*others, *nowhere)]
    assert _untrusted(strange) == strange


ALONE = """
import sys
from thriftwood.formats.export import from_skops
from thriftwood.support.libraries import alone
alone.set()
print(type(from_skops(sys.argv[1])[-1]).__name__, "sklearn.gaussian_process" in sys.modules)
import sklearn.utils
print(len(sklearn.utils.all_estimators()) > 100)
"""


def test_a_process_of_our_own_reads_without_importing_all_of_scikit_learn(tmp_path):
    model = make_pipeline(StandardScaler(), RandomForestClassifier(2)).fit([[1], [2]], [0, 1])
    export.to_skops(model, tmp_path / "it.skops")
    words = [sys.executable, "-c", ALONE, str(tmp_path / "it.skops")]
    said = subprocess.check_output(words, text=True)
    assert said.split() == ["RandomForestClassifier", "False", "True"]


def damaged_zip(schema: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("schema.json", schema)
    return content.getvalue()


@pytest.mark.parametrize(
    "content", [b"", b"hello", damaged_zip("{"), damaged_zip("[]"), damaged_zip("{}")]
)
def test_damaged_files_are_refused_with_a_sentence(content, tmp_path):
    (tmp_path / "it.skops").write_bytes(content)
    with pytest.raises(InputError, match=r"it\.skops is not a whole file of skops: .*\.$"):
        export.from_skops(tmp_path / "it.skops")


def test_trees_that_lead_nowhere_are_refused(tmp_path):
    """scikit-learn itself would load them, and run out of its arrays."""
    forest = case("numbers")
    right = forest.right.copy()
    right[0] = 10_000
    broken = object.__new__(type(forest))
    broken.__setstate__({**forest.__getstate__(), "right": right})
    skops.dump(broken, tmp_path / "it.skops")
    with pytest.raises(ForestError, match="has a child outside its tree"):
        export.from_skops(tmp_path / "it.skops")


def test_a_file_that_is_not_there():
    with pytest.raises(InputError, match="There is no file no_such_file"):
        export.from_skops("no_such_file")
