"""Models of treelite predict what their forests predict."""

from dataclasses import replace

import numpy as np
import pytest
from export_cases import CASES, any_forests, case, drawn_rows, rows_for, said_by
from hypothesis import assume, given, settings

from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import Forest, scores
from thriftwood.forest.kernels import NEXT_TO_ZERO
from thriftwood.formats import export

treelite = pytest.importorskip("treelite")


def run(model, rows):
    return treelite.gtil.predict(model, rows, nthread=1).reshape(len(rows), -1)


def whole_categories(forest: Forest, rows):
    """Rows with whole numbers where a split has a set of categories."""
    columns = np.unique(forest.feature[forest.category_set >= 0])
    rows = rows.copy()
    rows[:, columns] = np.trunc(rows[:, columns])
    return rows


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("zero")])
def test_doubles_predict_the_same(name):
    forest = case(name)
    rows = whole_categories(forest, rows_for(forest))
    found = run(export.to_treelite(forest), rows)
    expected = said_by(forest, rows)[:, -found.shape[1] :]  # of two classes only the second
    assert found.shape[1] == forest.n_outputs
    near = 1e-6 if forest.link == "softmax" else 1e-12  # treelite's softmax works in float32
    np.testing.assert_allclose(found, expected, rtol=near, atol=near)


@pytest.mark.parametrize("name", ["softmax", "one_against_rest", "logistic", "exp"])
def test_scores_before_the_link_are_the_same(name):
    forest = case(name)
    rows = rows_for(forest)
    found = treelite.gtil.predict(export.to_treelite(forest), rows, pred_margin=True)
    with np.errstate(over="ignore"):
        expected = scores(forest, rows.astype(forest.input_dtype))
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-12, atol=1e-12)


def says_it_with_one_threshold(forest: Forest):
    """Which splits send zeros to the side where their neighbours go."""
    left, at = forest.missing_left, forest.threshold
    return np.where(left, at >= -NEXT_TO_ZERO, at <= NEXT_TO_ZERO)


@given(any_forests())
@settings(max_examples=60)
def test_any_forest_predicts_the_same(forest):
    rows = whole_categories(forest, drawn_rows(forest))
    zero = forest.zero_is_missing & says_it_with_one_threshold(forest)
    forest = replace(forest, zero_is_missing=zero)
    found = run(export.to_treelite(forest), rows)
    np.testing.assert_allclose(found, said_by(forest, rows), rtol=1e-12, atol=1e-12)


@given(any_forests())
@settings(max_examples=30)
def test_zeros_that_one_comparison_cannot_find_are_refused(forest):
    assume((forest.zero_is_missing & ~says_it_with_one_threshold(forest)).any())
    with pytest.raises(UnsupportedModelError, match="take 0 for a missing value"):
        export.to_treelite(forest)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("left", [True, False])
def test_zeros_end_where_the_forest_says(dtype, left):
    """The doubles on either side of the last one that counts as 0."""
    threshold = -1.0 if not left else 1e-36
    forest = Forest(
        tree_start=[0, 3],
        feature=[0, -1, -1],
        threshold=[threshold if left else 0.0, 0, 0],
        left=[1, -1, -1],
        right=[2, -1, -1],
        missing_left=[left, False, False],
        values=[[0.0], [1.0], [2.0]],
        n_features=1,
        zero_is_missing=[True, False, False],
        input_dtype=np.dtype(dtype),
    ).check()
    edge = np.array([NEXT_TO_ZERO, np.nextafter(np.float32(NEXT_TO_ZERO), np.float32(1))])
    near = np.concatenate([edge, [edge.mean()]])
    near = np.concatenate([near, np.nextafter(near, 1), np.nextafter(near, 0)])
    rows = np.concatenate([near, -near, [0.0, -0.0, np.nan, 1.0, -1.0]])[:, None]
    np.testing.assert_array_equal(run(export.to_treelite(forest), rows), said_by(forest, rows))


def test_gains_come_along():
    forest = case("numbers")
    gains = np.where(forest.is_split, np.arange(forest.n_nodes) + 0.5, 0.0)
    model = export.to_treelite(replace(forest, gains=gains))
    trees = model.dump_as_json()
    assert f'"gain": {gains[0]}' in trees


def test_a_treelite_file(tmp_path):
    forest = case("words")
    rows = rows_for(forest)
    export.to_treelite(forest).serialize(tmp_path / "forest.treelite")
    again = treelite.Model.deserialize(tmp_path / "forest.treelite")
    np.testing.assert_allclose(run(again, rows), said_by(forest, rows), rtol=1e-12, atol=1e-12)


def test_links_that_treelite_lacks_are_refused():
    forest = replace(case("words"), link="exp", combine="sum")
    with pytest.raises(UnsupportedModelError, match="no 'exp' link for several outputs"):
        export.to_treelite(forest)
