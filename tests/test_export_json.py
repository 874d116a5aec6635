"""Forests go through JSON unchanged; damaged files are refused."""

import json
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from export_cases import CASES, any_forests, case
from hypothesis import given, settings
from hypothesis import strategies as st
from models import fitted

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.forest.forest import ARRAYS
from thriftwood.formats import export

jsonschema = pytest.importorskip("jsonschema")

SCHEMA = json.loads((files("thriftwood.formats") / "forest.schema.json").read_text())


def strict(text):
    """JSON as the standard has it, without NaN and Infinity."""

    def refuse(word):
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


def follows_the_schema(document):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(document)


def assert_same(found, expected):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes()  # -0.0 as well
    for name in ("n_features", "combine", "link", "feature_names", "input_dtype"):
        assert getattr(found, name) == getattr(expected, name)
    assert dict(found.category_labels) == dict(expected.category_labels)
    assert (found.gains is None) == (expected.gains is None)
    if expected.gains is not None:
        np.testing.assert_array_equal(found.gains, expected.gains)
    assert (found.classes is None) == (expected.classes is None)
    if expected.classes is not None:
        assert found.classes.tolist() == expected.classes.tolist()
        assert found.classes.dtype.kind == expected.classes.dtype.kind


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", CASES)
def test_forests_come_back_to_the_last_bit(name):
    text = export.to_json(case(name))
    assert follows_the_schema(strict(text))
    assert_same(export.from_json(text), case(name))


def test_zero_bytes_at_the_end_of_a_name_stay():
    names = ("a\0", "\0", "", "b")
    forest = replace(read_forest(fitted("stump").model), feature_names=names)
    assert export.from_json(export.to_json(forest)).feature_names == names


@given(any_forests(), st.data())
@settings(max_examples=60)
def test_any_forest_comes_back(forest, data):
    number = st.floats(allow_nan=False, allow_infinity=False)
    gains = [data.draw(number) for _ in range(forest.n_nodes)]
    values = [[data.draw(number)] for _ in range(forest.n_nodes)]
    names = tuple(data.draw(st.text()) for _ in range(forest.n_features))
    forest = replace(
        forest,
        values=values,
        gains=np.where(forest.is_split, gains, 0.0),
        feature_names=names,
        category_labels={0: ("a", 'b"\n', 3, True, None, 0.1)},
    ).check()
    text = export.to_json(forest)
    assert follows_the_schema(strict(text))
    assert_same(export.from_json(text), forest)


@pytest.mark.parametrize(
    "labels", [[3, 5], [0.5, 1.5], [False, True], ["\u00fc", "b"], np.array(["x", "yy"], object)]
)
def test_labels_keep_their_type(labels):
    forest = replace(read_forest(fitted("stump").model), classes=np.array(labels))
    found = export.from_json(export.to_json(forest)).classes
    assert found.tolist() == list(labels)
    assert type(found.tolist()[0]) is type(np.array(labels).tolist()[0])


@pytest.mark.parametrize("labels", [["a", 1], [None, "b"], [(1,), (2,)], [1, 0.5], [np.nan, 1.0]])
def test_labels_that_json_lacks_are_refused(labels):
    mixed = np.empty(2, dtype=object)
    mixed[:] = labels
    with pytest.raises(UnsupportedModelError, match=r"several types|neither a number nor text"):
        export.to_json(replace(read_forest(fitted("stump").model), classes=mixed))


def test_a_file_holds_what_is_returned(tmp_path):
    model, _, _ = fitted("named_columns")
    text = export.to_json(model, tmp_path / "forest.json")
    assert (tmp_path / "forest.json").read_text(encoding="utf-8") == text
    assert [file.name for file in tmp_path.iterdir()] == ["forest.json"]
    for name in (tmp_path / "forest.json", str(tmp_path / "forest.json")):
        assert_same(export.from_json(name), read_forest(model))


def test_splits_at_infinity_are_words():
    text = export.to_json(case("splits_at_infinity"))
    assert '"Infinity"' in text
    assert np.inf in export.from_json(text).threshold


# --- damage


def changed(path, value):
    """The document of a forest in which one thing is different."""
    document = strict(export.to_json(case("categories")))
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is DROPPED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


DROPPED = object()
DAMAGE = {
    "format": (["format"], "other", 'its "format" is not'),
    "version": (["version"], 2, "its version is 2, not 1"),
    "a lost entry": (["trees", 1, "left"], DROPPED, "left"),
    "no array": (["trees"], 3, ""),
    "no tree": (["trees"], [], ""),
    "short": (["trees", 0, "left"], [-1], 'more or fewer "left" than nodes'),
    "text": (["trees", 0, "threshold", 0], "1", "1"),
    "a fraction": (["trees", 0, "feature", 0], 0.5, "does not belong there"),
    "values": (["trees", 0, "values", 2], [1.0], ""),
    "cycle": (["trees", 0, "left", 0], 0, "Node 0 of tree 0 has a child that does not"),
    "a huge number": (["trees", 0, "feature", 0], 10**30, "does not belong there"),
    "a huge threshold": (["trees", 0, "threshold", 0], 10**400, "does not belong there"),
    "set": (["category_sets", 2, "members"], [7], "out of bounds"),
    "unknown set": (["category_sets"], [], "names a set of categories outside"),
    "choice": (["input_dtype"], "float16", "float16"),
    "unhashable": (["link"], [], "link"),
    "labels": (["classes", "labels", 0], None, "does not belong there"),
    "too few labels": (["classes", "labels"], ["a"], "has 1 classes but 3 values"),
    "columns": (["category_labels"], {"x": []}, "'x'"),
    "number of features": (["n_features"], "4", "'str' object"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_told_in_a_sentence(name):
    path, value, words = DAMAGE[name]
    text = json.dumps(changed(path, value))
    with pytest.raises(
        InputError, match=rf"^The text is not a forest that this version reads: .*{words}.*\.$"
    ):
        export.from_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"format": ' + "9" * 5000 + "}",
        '{"format": NaN}',
        '{"a":' * 5000,
        '{"format": "thriftwood forest", "version": 1}',
    ],
)
def test_what_is_no_forest_is_refused(text):
    with pytest.raises(InputError, match=r"^The text is not a forest that this version reads: "):
        export.from_json(text)


def test_files_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "it.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match=r"it\.json is not a forest that this version reads: "):
        export.from_json(tmp_path / "it.json")
    for nothing in ("", None, 3, tmp_path / "lost.json", tmp_path):
        with pytest.raises(
            InputError, match=r"not the name of a file|There is no file|is a folder"
        ):
            export.from_json(nothing)


@given(st.data())
@settings(max_examples=150)
def test_a_file_with_any_damage_is_read_or_refused(data):
    """Never another error, and never a forest that contradicts itself."""
    text = export.to_json(case("categories"))
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from([*'0123456789-.eE,[]{}":tn ', "", "true", "null"]))
    damaged = text[:at] + other + text[at + 1 :]
    with suppress(InputError):
        export.from_json(damaged).check()


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_what_json_says_of_stages_is_enough_to_predict(kind):
    random = np.random.default_rng(2)
    X = random.normal(size=(300, 5))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    X[random.random(X.shape) < 0.1] = np.nan
    if kind == "numbers":
        model = tw.ThriftyRegressor(effort="quick", random_state=0).fit(X, y)
    else:
        labels = np.array(["a", "b", "c"])[np.digitize(y, [-1, 1])]
        costs = {"a": 50, "b": 150, "c": 50}
        model = tw.ThriftyClassifier(error_costs=costs, random_state=0).fit(X, labels)
    model = model.at(budget=2.0)
    document = strict(export.to_json(model))
    said = model.decision_path(X[:60])
    assert len(np.unique(said.stage)) > 1
    for i, row in enumerate(X[:60]):
        stage, predicted = walked(document, row)
        assert stage == said.stage[i]
        assert predicted == pytest.approx(said.predictions[i], abs=1e-12)
    for stage in document["stages"]:
        assert all(follows_the_schema(forest) for forest in stage["forests"])
    with pytest.raises(InputError, match="thriftwood forest"):
        export.from_json(export.to_json(model))


def walked(document, row):
    """Return where a row stops and what is predicted there, by the words of docs/export.md."""
    for stage in document["stages"]:
        bought = np.full(document["n_features"], np.nan)
        bought[stage["features"]] = row[stage["features"]]
        predicted = np.mean([said_of(forest, bought) for forest in stage["forests"]], axis=0)
        if stage["gate"] is None:
            costs = np.array(document["error_costs"])
            least, second = np.sort(predicted @ costs)[:2]
            more = document["least_share"] * costs.max()
            margin = np.log((second + more) / (least + more))
        else:
            unit = document["gate_unit"]
            expected = max(said_of(stage["gate"], bought)[0], 0.0)
            margin = np.log(1 + unit / (expected + document["least_share"] * unit))
        if margin >= stage["threshold"]:
            return stage["number"], predicted
    raise AssertionError("no stage stops it")


def said_of(forest, row):
    row = row.astype(forest["input_dtype"]).astype(float)
    total = np.zeros(len(forest["bias"]))
    for tree in forest["trees"]:
        node = 0
        while tree["feature"][node] >= 0:
            value = row[tree["feature"][node]]
            left = (
                tree["missing_left"][node] if np.isnan(value) else value <= tree["threshold"][node]
            )
            node = tree["left" if left else "right"][node]
        total += tree["values"][node]
    score = total / (len(forest["trees"]) if forest["combine"] == "mean" else 1) + forest["bias"]
    if forest["link"] == "softmax":
        return np.exp(score) / np.exp(score).sum()
    if forest["link"] == "logistic":
        likely = 1 / (1 + np.exp(-score[0]))
        return np.array([1 - likely, likely])
    return score
