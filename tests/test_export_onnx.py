"""ONNX models predict what their forests predict."""

import json
from dataclasses import replace

import numpy as np
import pytest
from export_cases import CASES, any_forests, case, drawn_rows, rows_for, said_by, single
from hypothesis import given, settings
from models import NAMES, fitted

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.formats import export

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def run(model, rows):
    """What onnxruntime makes of rows, by the names of the outputs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows}), strict=True))


def numbers_of(outputs):
    return outputs["probabilities"] if "probabilities" in outputs else outputs["prediction"]


@pytest.mark.parametrize("name", CASES)
def test_doubles_predict_the_same(name):
    forest = case(name)
    rows = rows_for(forest)
    model = export.to_onnx(forest, dtype="float64")
    onnx.checker.check_model(model, full_check=True)
    found = numbers_of(run(model, rows))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, said_by(forest, rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_float32_rows_go_the_same_way(name):
    forest = case(name)
    rows = single(rows_for(forest))
    model = export.to_onnx(forest)
    onnx.checker.check_model(model, full_check=True)
    found = numbers_of(run(model, rows))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, said_by(forest, rows), rtol=1e-5, atol=1e-5)


@given(any_forests())
@settings(max_examples=60)
def test_any_forest_predicts_the_same(forest):
    rows = drawn_rows(forest)
    found = run(export.to_onnx(forest, dtype="float64"), rows)["prediction"]
    np.testing.assert_allclose(found, said_by(forest, rows), rtol=1e-12, atol=1e-12)
    found = run(export.to_onnx(forest), single(rows))["prediction"]
    np.testing.assert_allclose(found, said_by(forest, single(rows)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "kind",
    ["random_forest_classifier", "words_as_labels", "booleans_as_labels", "bagging_classifier"],
)
def test_labels_are_those_of_the_model(kind):
    model, X, _ = fitted(kind)
    outputs = run(export.to_onnx(model, dtype="float64"), X)
    assert outputs["label"].shape == (len(X),)
    assert outputs["label"].tolist() == model.predict(X).tolist()
    assert outputs["probabilities"].shape == (len(X), len(model.classes_))


def test_numbers_come_in_one_column():
    model, X, _ = fitted("random_forest_regressor")
    found = run(export.to_onnx(model, dtype="float64"), X)["prediction"]
    assert found.shape == (len(X), 1)
    np.testing.assert_allclose(found[:, 0], model.predict(X), rtol=1e-12)


def test_a_logistic_regressor_predicts_one_number():
    forest = replace(case("logistic"), classes=None)
    rows = rows_for(forest)
    found = run(export.to_onnx(forest, dtype="float64"), rows)["prediction"]
    np.testing.assert_allclose(found, said_by(case("logistic"), rows)[:, 1:], atol=1e-12)


@pytest.mark.parametrize("name", ["words", "softmax", "categories", "zero_is_missing"])
def test_the_reference_of_onnx_agrees(name):
    """Another program reads the file the same way."""
    from onnx.reference import ReferenceEvaluator

    forest = case(name)
    rows = rows_for(forest)[::5]
    evaluator = ReferenceEvaluator(export.to_onnx(forest, dtype="float64"))
    with np.errstate(over="ignore"):
        found = evaluator.run(None, {"X": rows})[-1]
    np.testing.assert_allclose(found, said_by(forest, rows), rtol=1e-9, atol=1e-9)


def test_every_leaf_that_speaks_for_one_class_needs_no_table():
    boosted = case("exp")
    assert "Gather" not in {node.op_type for node in export.to_onnx(boosted).graph.node}


@pytest.mark.parametrize("opset", [13, 18, 21])
def test_versions(opset):
    forest = case("impure")
    rows = rows_for(forest)
    model = export.to_onnx(forest, dtype="float64", opset=opset)
    assert {entry.domain: entry.version for entry in model.opset_import} == {
        "": opset,
        "ai.onnx.ml": 5,
    }
    found = run(model, rows)["probabilities"]
    np.testing.assert_allclose(found, said_by(forest, rows), rtol=1e-12, atol=1e-12)


def test_a_file_holds_what_is_returned(tmp_path):
    model, _, _ = fitted("named_columns")
    made = export.to_onnx(model, tmp_path / "forest.onnx")
    assert onnx.load(tmp_path / "forest.onnx") == made
    assert [file.name for file in tmp_path.iterdir()] == ["forest.onnx"]
    stored = {entry.key: entry.value for entry in made.metadata_props}
    assert json.loads(stored["feature_names"]) == NAMES


def test_refusals():
    forest = case("words")
    with pytest.raises(InputError, match="`dtype` is 'float16': choose 'float32' or 'float64'"):
        export.to_onnx(forest, dtype="float16")
    for opset in (12, 99, True, "18"):
        with pytest.raises(InputError, match="a forest needs 13 or more"):
            export.to_onnx(forest, opset=opset)
    with pytest.raises(UnsupportedModelError, match="dict has no trees"):
        export.to_onnx({})
    dates = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]")
    with pytest.raises(UnsupportedModelError, match="neither numbers nor text"):
        export.to_onnx(replace(read_forest(forest), classes=dates))


@pytest.mark.parametrize("kind", ["two classes", "three classes", "numbers"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_thrifty_models_stop_at_the_same_stage(kind, dtype):
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 5))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    X[random.random(X.shape) < 0.1] = np.nan
    X = X.astype(np.float32).astype(np.float64)
    if kind == "numbers":
        model = tw.ThriftyRegressor(effort="quick", random_state=0).fit(X, y)
    else:
        labels = np.array(["a", "b", "c"])[np.digitize(y, [0.0] if kind[1] == "w" else [-1, 1])]
        costs = {"a": 50, "b": 150, "c": 50}
        costs = {label: costs[label] for label in np.unique(labels)}
        model = tw.ThriftyClassifier(error_costs=costs, effort="full", random_state=0)
        model.fit(X, labels)
    model = model.at(budget=2.0)
    said = model.decision_path(X)
    assert len(np.unique(said.stage)) > 2
    exported = export.to_onnx(model, dtype=dtype)
    onnx.checker.check_model(exported, full_check=True)
    found = run(exported, X.astype(dtype))
    assert np.array_equal(found["stage"], said.stage)
    exact = 1e-12 if dtype == "float64" else 1e-5
    np.testing.assert_allclose(numbers_of(found), said.predictions, rtol=exact, atol=exact)
    if kind != "numbers":
        assert found["label"].tolist() == model.predict(X).tolist()
