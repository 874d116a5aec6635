"""A model gets its own columns, in its own order, from every kind of file."""

import gzip
from dataclasses import replace

import boosters_lightgbm
import numpy as np
import pandas as pd
import pyarrow
import pytest
import xgboost
import xgboost_models
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from models import NAMES, fitted
from paths import HEART, PATH
from sklearn.ensemble import HistGradientBoostingRegressor

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.forest import predict
from thriftwood.forest.table import read_rows
from thriftwood.formats.models import read_model, write_model_file
from thriftwood.formats.tables import read_table, samples_for, samples_to_learn

WRITERS = {
    "rows.csv": lambda frame, file: frame.to_csv(file, index=False),
    "rows.csv.gz": lambda frame, file: frame.to_csv(file, index=False),
    "rows.tsv": lambda frame, file: frame.to_csv(file, index=False, sep="\t"),
    "rows.parquet": lambda frame, file: frame.to_parquet(file),
    "rows.feather": lambda frame, file: frame.to_feather(file),
    "rows.arrow": lambda frame, file: _write_stream(frame, file),
    "rows.npz": lambda frame, file: np.savez(
        file, X=frame.to_numpy(), feature_names=frame.columns.to_numpy(dtype=str)
    ),
}


def _write_stream(frame, file):
    table = pyarrow.Table.from_pandas(frame)
    with pyarrow.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


def in_file(frame, folder, name="rows.csv"):
    WRITERS[name](frame, folder / name)
    return read_table(folder / name)


def text(folder, content, name="rows.csv"):
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(folder / name)


@pytest.fixture(scope="module")
def named():
    return fitted("named_columns")  # age, pulse, sugar, scan


# --- columns


@pytest.mark.parametrize("name", WRITERS)
def test_a_model_gets_its_columns_in_its_order(named, name, tmp_path):
    model, X, y = named
    mixed = X[NAMES[::-1]].assign(label=y, id=range(100, 100 + len(X)), count=2.0)
    rows = samples_for(in_file(mixed, tmp_path, name), model, target="label", weight="count")
    pd.testing.assert_frame_equal(rows.X, X)
    np.testing.assert_array_equal(rows.y, y)
    np.testing.assert_array_equal(rows.weight, np.full(len(X), 2.0))
    assert rows.y.dtype == model.classes_.dtype
    np.testing.assert_array_equal(model.predict_proba(rows.X), model.predict_proba(X))


def test_what_is_not_asked_for_is_not_there(named, tmp_path):
    rows = samples_for(in_file(named.X.assign(y=0, weight=1), tmp_path), named.model)
    assert rows.y is None
    assert rows.weight is None


def test_a_model_without_names_gets_all_columns_but_two(tmp_path):
    model, X, y = fitted("tree_classifier")
    frame = pd.DataFrame(X, columns=NAMES)
    frame.insert(2, "y", y)
    frame.insert(0, "w", 3)
    rows = samples_for(in_file(frame, tmp_path), model, target="y", weight="w")
    assert list(rows.X.columns) == NAMES
    np.testing.assert_array_equal(rows.X, X)
    np.testing.assert_array_equal(rows.y, y)


@pytest.mark.parametrize("names", [["Column_0", "Column_1", "Column_2", "Column_3"], None])
def test_invented_names_are_none(names, tmp_path):
    """But where the file has them, they say the order."""
    model, X, _ = fitted("tree_classifier")
    write_model_file(boosters_lightgbm.grown("regression").model, tmp_path / "model.txt")
    model = read_model(tmp_path / "model.txt")
    X = boosters_lightgbm.rows()
    rows = samples_for(in_file(pd.DataFrame(X, columns=names or NAMES), tmp_path), model)
    np.testing.assert_array_equal(rows.X, X)
    booster = xgboost.train(
        {"max_depth": 2, "nthread": 1},
        xgboost.DMatrix(X, boosters_lightgbm.numbers(X), feature_names=["f0", "f1", "f2", "f3"]),
        2,
    )
    frame = pd.DataFrame(X, columns=NAMES)
    rows = samples_for(in_file(frame, tmp_path), booster)
    np.testing.assert_array_equal(rows.X, X)
    turned = frame.set_axis(["f3", "f0", "f1", "f2"], axis=1)
    rows = samples_for(in_file(turned, tmp_path), booster)
    np.testing.assert_array_equal(rows.X, turned[["f0", "f1", "f2", "f3"]])


def test_spaces_in_names(tmp_path):
    """Those around a name do not count; LightGBM makes underscores of those within."""
    X = boosters_lightgbm.rows()
    frame = pd.DataFrame(X, columns=["my age", "pulse", "sugar", "ward"])
    kind = boosters_lightgbm.lightgbm.LGBMRegressor
    model = boosters_lightgbm.fit(kind, boosters_lightgbm.numbers, frame).model
    table = in_file(frame.rename(columns={"pulse": " pulse "}), tmp_path)
    assert table.names == ("my age", "pulse", "sugar", "ward")
    rows = samples_for(table, model)
    np.testing.assert_array_equal(rows.X, X)
    read_rows(rows.X, read_forest(model))


def test_a_cascade_gets_its_columns(tmp_path):
    cascade = PATH.cascade(HEART.X, HEART.y, stages=2)
    rows = samples_for(in_file(HEART.frame().assign(y=HEART.y), tmp_path), cascade, target="y")
    np.testing.assert_array_equal(rows.X.astype(np.float32), HEART.X)
    np.testing.assert_array_equal(rows.y, HEART.y)


def test_arrays_stand_beside_each_other(named, tmp_path):
    model, X, y = named
    file = tmp_path / "rows.npz"
    np.savez(file, X=X, y=y, weight=np.ones(len(y)), other=y[:, None], about=np.array("heart"))
    rows = samples_for(read_table(file), model)
    np.testing.assert_array_equal(rows.X, X)
    np.testing.assert_array_equal(rows.y, y)
    assert rows.weight.sum() == len(y)
    np.testing.assert_array_equal(samples_for(read_table(file), model, target="other").y, y)


def test_columns_that_pandas_used_as_names_of_rows(named, tmp_path):
    named.X.set_index("pulse").to_parquet(tmp_path / "rows.parquet")
    rows = samples_for(read_table(tmp_path / "rows.parquet"), named.model)
    pd.testing.assert_frame_equal(rows.X, named.X)


def test_names_of_rows_that_are_columns_too(tmp_path):
    frame = pd.DataFrame({"id": [7, 8], "b": [1.0, 2.0]}).set_index("id", drop=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    assert read_table(tmp_path / "rows.parquet").names == ("id", "b")


@pytest.mark.parametrize("name", ["PK", "PKW", "PAR1", "ARROW1"])
def test_columns_may_be_called_as_files_begin(name, tmp_path):
    assert text(tmp_path, f"{name},b\n1,2\n").names == (name, "b")


def test_rows_to_learn_from(named, tmp_path):
    frame = named.X.assign(y=np.where(named.y, "ill", "well"), w=2)
    rows = samples_to_learn(in_file(frame, tmp_path), target="y", weight="w")
    pd.testing.assert_frame_equal(rows.X, named.X)
    assert rows.y.tolist() == frame["y"].tolist()
    assert rows.weight.tolist() == frame["w"].tolist()


# --- cells


CELLS = arrays(np.float64, st.tuples(st.integers(1, 6), st.just(4)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


@given(CELLS, st.sampled_from(sorted(WRITERS)))
def test_numbers_come_back_to_the_last_bit(folder, cells, name):
    """NaN, infinity and minus zero among them."""
    frame = pd.DataFrame(cells, columns=NAMES)
    found = samples_for(in_file(frame, folder, name), fitted("named_columns").model).X.to_numpy()
    np.testing.assert_array_equal(found, cells)
    np.testing.assert_array_equal(np.signbit(found[cells == 0]), np.signbit(cells[cells == 0]))


def test_cells_of_all_kinds(named, tmp_path):
    content = (
        "\ufeffage , pulse,sugar,scan,y\r\n"
        "1e3,,inf,True,0\r\n"
        "\r\n"
        '"2",NaN,-inf,False,1\r\n'
        " 3 ,NA,Infinity,True,0\r\n"
    )
    rows = samples_for(text(tmp_path, content), named.model, target="y")
    expected = [[1000, np.nan, np.inf, 1], [2, np.nan, -np.inf, 0], [3, np.nan, np.inf, 1]]
    np.testing.assert_array_equal(rows.X, expected)
    assert rows.y.tolist() == [0, 1, 0]


def test_empty_columns_of_spreadsheets_are_left_out(tmp_path):
    table = text(tmp_path, "age,pulse,sugar,scan,,\n1,2,3,4,,\n")
    assert table.names == tuple(NAMES)


def test_types_of_pandas_with_missing_values(named, tmp_path):
    frame = pd.DataFrame(
        {
            "age": pd.array([1, None, 3], dtype="Int64"),
            "pulse": pd.array([True, None, False], dtype="boolean"),
            "sugar": pd.array([0.5, None, 1.5], dtype="Float64"),
            "scan": pd.array(["1", None, "2.5"], dtype="string"),
        }
    )
    found = samples_for(in_file(frame, tmp_path, "rows.parquet"), named.model).X
    nothing = [np.nan] * 4
    np.testing.assert_array_equal(found, [[1, 1, 0.5, 1], nothing, [3, 0, 1.5, 2.5]])


# --- categories


def check_categories(model, frame, folder, says):
    forest = read_forest(model)
    for name in ("rows.csv", "rows.parquet"):
        rows = samples_for(in_file(frame, folder, name), model)
        np.testing.assert_allclose(says(model, rows.X), says(model, frame), rtol=1e-12)
        by_forest = predict(forest, read_rows(rows.X, forest).values)
        np.testing.assert_array_equal(by_forest, predict(forest, read_rows(frame, forest).values))


def test_categories_of_lightgbm(tmp_path):
    model, frame = boosters_lightgbm.grown("frame")
    write_model_file(model, tmp_path / "model.txt")
    check_categories(read_model(tmp_path / "model.txt"), frame, tmp_path, lambda m, X: m.predict(X))


def test_categories_of_xgboost(tmp_path):
    """Also numbers as labels, which are no numbers of categories."""
    model, frame, _ = xgboost_models.fitted("categories")
    write_model_file(model, tmp_path / "model.json")
    check_categories(read_model(tmp_path / "model.json"), frame, tmp_path, xgboost_models.score)


def test_categories_of_scikit_learn(tmp_path):
    frame = boosters_lightgbm.frame()
    model = HistGradientBoostingRegressor(
        max_iter=4, categorical_features="from_dtype", random_state=0
    ).fit(frame, boosters_lightgbm.numbers(boosters_lightgbm.rows()))
    check_categories(model, frame, tmp_path, lambda m, X: m.predict(X))


# --- labels


def labels_from(column, model, folder):
    frame = pd.DataFrame(np.zeros((len(column), 4)), columns=NAMES).assign(y=column)
    found = {}
    for name in ("rows.csv", "rows.parquet"):
        found[name] = samples_for(in_file(frame, folder, name), model, target="y").y
    np.testing.assert_array_equal(*found.values())
    return found["rows.csv"]


def with_classes(*classes):
    """A model of four columns that has these classes."""
    forest = read_forest(fitted("tree_classifier").model)
    return tw.ForestModel(replace(forest, classes=np.array(classes)))


@pytest.mark.parametrize(
    ("classes", "column", "expected"),
    [
        ((0, 1), [0, 1], [0, 1]),
        ((0, 1), ["0", "1"], [0, 1]),
        ((0, 1), [0.0, 1.0], [0, 1]),
        ((0, 1), [False, True], [0, 1]),
        (("0", "1"), [0, 1], ["0", "1"]),
        (("0", "1"), [1.0, 1.0], ["1", "1"]),
        ((False, True), [0, 1], [False, True]),
        ((False, True), [True, False], [True, False]),
        (("False", "True"), [True, False], ["True", "False"]),
        (("FALSE", "TRUE"), [True, False], ["TRUE", "FALSE"]),
        ((0.0, 1.0), [1, 0], [1.0, 0.0]),
        ((1, 2), ["2", "1"], [2, 1]),
        (("ill", "well"), ["well", "ill "], ["well", "ill"]),
        ((0.5, 1.5), ["1.5", "0.5"], [1.5, 0.5]),
    ],
)
def test_labels_are_those_of_the_model(classes, column, expected, tmp_path):
    found = labels_from(column, with_classes(*classes), tmp_path)
    assert found.tolist() == expected
    assert found.dtype == np.array(classes).dtype


def test_numbers_to_predict(tmp_path):
    model = fitted("tree_regressor").model
    assert labels_from([1.5, -2], model, tmp_path).tolist() == [1.5, -2.0]


def test_a_whole_table_is_read_with_the_lines_of_its_rows(tmp_path):
    table = text(tmp_path, 'a,b\n1,"two\nlines"\n\n3,4\n')
    assert [table.place(row).rpartition(" ")[2] for row in range(table.n_samples)] == ["2", "5"]
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"a\n1\n"))
    assert read_table(tmp_path / "rows.csv.gz").n_samples == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_semicolons_come_with_decimal_commas(encoding, tmp_path):
    """As spreadsheets write a table in much of Europe, to the last bit of its numbers."""
    frame = pd.DataFrame({"Größe": [0.1, 1 / 3, -2e-7], "Alter": [1, 2, 3], "Art": ["ä", "b", "c"]})
    file = tmp_path / "rows.csv"
    frame.to_csv(file, index=False, sep=";", decimal=",", encoding=encoding)
    pd.testing.assert_frame_equal(read_table(file).frame, frame)


def test_semicolons_may_come_with_decimal_points(tmp_path):
    (tmp_path / "rows.csv").write_text("a;b\n1.5;2\n0.25;3\n")
    rows = samples_to_learn(read_table(tmp_path / "rows.csv"))
    assert rows.X.to_numpy().tolist() == [[1.5, 2], [0.25, 3]]
