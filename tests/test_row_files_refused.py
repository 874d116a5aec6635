"""What is wrong with a table is said with its file, its line and its column."""

import gzip
import sys
import zipfile

import boosters_lightgbm
import numpy as np
import pandas as pd
import pytest
from models import NAMES, fitted

from thriftwood.errors import InputError, MissingLibraryError
from thriftwood.formats.tables import read_table, samples_for, samples_to_learn

HEADER = "age,pulse,sugar,scan,y,w\n"
GOOD = "1,2,3,4,0,1\n"


def text(folder, content, name="rows.csv"):
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(folder / name)


def parquet_bytes(folder):
    pd.DataFrame({"a": [1.0]}).to_parquet(folder / "x.parquet")
    return (folder / "x.parquet").read_bytes()


# --- files


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("rows.csv", "", r"rows\.csv is empty\.$"),
        ("rows.csv", " \n\n", r"rows\.csv is empty\.$"),
        ("rows.csv", HEADER, r"rows\.csv has no rows\."),
        ("rows.csv", "a,b,a\n1,2,3\n", "has two columns that are named 'a'"),
        ("rows.csv", "a,b\n1,2\n3\n", r"rows\.csv, line 3: the number of cells is 1, but .* 2 col"),
        (
            "rows.csv",
            "a,b\n1,2\n1,2,3\n",
            "line 3: the number of cells is 3, .*5.17 instead of 5,17",
        ),
        ("rows.csv", "a,b\n1,2,3\n1,2,3\n", "line 2: the number of cells is 3"),
        ("rows.csv", 'a,b\n1,"2\n', "line 2: the cells cannot be told apart: unexpected end"),
        ("rows.csv", "a;b\n1,5;2;3\n", "line 2: the number of cells is 3"),
        ("rows.csv", b"a;b\n1,5;\x81\n", "line 2: this is not UTF-8"),
        ("rows.csv", b"a,b\n1,\xff\n", r"rows\.csv, line 2: this is not UTF-8"),
        ("rows.csv.gz", "a,b\n1,2\n", r"rows\.csv\.gz is no whole gzip file"),
        ("rows.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "is no whole gzip file"),
        ("rows.parquet", "a,b\n1,2\n", "is no whole Parquet file"),
        (
            "rows.parquet",
            b"PAR1\x00\x00",
            "is no whole Parquet file: it seems cut off: copy it again",
        ),
        ("rows.feather", "a,b\n1,2\n", "is no whole Feather file"),
        ("rows.arrow", "a,b\n1,2\n", "is no whole Arrow file"),
        ("rows.npz", "a,b\n1,2\n", "is no .npz file"),
        ("rows.npz", b"PK\x03\x04 and no more", "is no whole .npz file: it seems cut off"),
        ("rows.xlsx", b"PK\x03\x04", r"is no table .* end in \.csv, \.csv\.gz, .* as CSV"),
    ],
)
def test_files_that_are_no_tables(name, content, words, tmp_path):
    with pytest.raises(InputError, match=words):
        text(tmp_path, content, name)


def test_places_that_are_none(tmp_path):
    with pytest.raises(InputError, match=r"There is no file .*lost\.csv\."):
        read_table(tmp_path / "lost.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path)


def test_a_table_with_the_suffix_of_another(tmp_path):
    with pytest.raises(InputError, match=r"rows\.csv, line 1: this is not UTF-8"):
        text(tmp_path, parquet_bytes(tmp_path), "rows.csv")
    with pytest.raises(InputError, match="no whole Parquet file"):
        text(tmp_path, parquet_bytes(tmp_path)[:-20], "rows.parquet")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"data": np.ones((2, 2))}, "must hold an array X .*; it has data"),
        ({"X": np.ones(3)}, r"must hold an array X .*; X has shape \(3,\)"),
        ({"X": np.ones((2, 2)), "feature_names": ["a"]}, "feature_names has 1 names, but X has 2"),
        ({"X": np.ones((2, 2)), "y": np.array([None, 1])}, "the array 'y' holds objects of Python"),
        ({"X": np.ones((0, 2))}, "has no rows"),
        ({"header": np.array("{}")}, "holds a model or a path of Thriftwood"),
    ],
)
def test_arrays_that_are_no_rows(arrays, words, tmp_path):
    np.savez(tmp_path / "rows.npz", **arrays)
    with pytest.raises(InputError, match=words):
        read_table(tmp_path / "rows.npz")


@pytest.mark.parametrize("shape", [b"(2, 4(", b"(2,4e9"])
def test_a_header_that_is_no_header(shape, tmp_path):
    """NumPy reads it as Python, and fails as Python does."""
    np.savez(tmp_path / "whole.npz", X=np.ones((2, 4)))
    with (
        zipfile.ZipFile(tmp_path / "whole.npz") as whole,
        zipfile.ZipFile(tmp_path / "rows.npz", "w") as damaged,
    ):
        damaged.writestr("X.npy", whole.read("X.npy").replace(b"(2, 4)", shape))
    with pytest.raises(InputError, match=r"rows\.npz is no whole \.npz file"):
        read_table(tmp_path / "rows.npz")


@pytest.mark.parametrize("length", [2**31 - 1, -1])
def test_lengths_that_lead_out_of_the_file(length, tmp_path):
    frame = pd.DataFrame({"a": ["bb", "cccc"]}, dtype=object)
    frame.to_feather(tmp_path / "whole.feather", compression="uncompressed")
    ends = np.array([0, 2, 6], dtype=np.int32)  # of the cells
    content = (tmp_path / "whole.feather").read_bytes()
    assert content.count(ends.tobytes()) == 1
    wrong = np.array([0, 2, length], dtype=np.int32).tobytes()
    with pytest.raises(InputError, match=r"rows\.feather is no whole Feather file"):
        text(tmp_path, content.replace(ends.tobytes(), wrong), "rows.feather")


@pytest.mark.parametrize("code", [0xD800, 0x110000, 2**31])
@pytest.mark.parametrize("name", ["feature_names", "y"])
def test_characters_that_are_none(code, name, tmp_path):
    text = np.array([code, 97, 98, 99], dtype=np.uint32).view("U2")
    np.savez(tmp_path / "rows.npz", X=np.ones((2, 2)), **{name: text})
    with pytest.raises(InputError, match=f"the array '{name}' holds characters that are none"):
        read_table(tmp_path / "rows.npz")


def test_an_array_of_other_rows(tmp_path):
    np.savez(tmp_path / "rows.npz", X=np.ones((2, 4)), y=np.ones(3))
    with pytest.raises(InputError, match=r"the array 'y' has shape \(3,\), but X has 2 rows"):
        samples_for(read_table(tmp_path / "rows.npz"), fitted("named_columns").model)


@pytest.mark.parametrize(("library", "suffix"), [("pandas", "csv"), ("pyarrow", "parquet")])
def test_missing_libraries_are_named(library, suffix, tmp_path, monkeypatch):
    (tmp_path / f"rows.{suffix}").write_bytes(parquet_bytes(tmp_path) if suffix != "csv" else b"a")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingLibraryError, match=rf"needs {library}: pip .*thriftwood\[cli\]"):
        read_table(tmp_path / f"rows.{suffix}")


# --- columns


@pytest.mark.parametrize(
    ("header", "target", "words"),
    [
        (
            HEADER,
            "Y",
            r"rows\.csv has no column 'Y'\. Did you mean 'y'\? It has 'age', .*and 1 more",
        ),
        (HEADER, "nothing", r"has no column 'nothing'\. It has"),
        ("Age,pulse,sugar,scan,y,w\n", "y", "no column 'age', which the model asks for.*'Age'"),
        ("a,b,c,d,y,w\n", "y", "no column 'age', 'pulse', 'sugar', 'scan', which"),
        (HEADER, "age", "the column 'age' is a feature of the model"),
        (HEADER, "w", "cannot be both the target and the weight"),
    ],
)
def test_columns_that_are_not_there(header, target, words, tmp_path):
    table = text(tmp_path, header + GOOD)
    with pytest.raises(InputError, match=words):
        samples_for(table, fitted("named_columns").model, target=target, weight="w")


def test_another_number_of_columns(tmp_path):
    model = fitted("tree_classifier").model
    table = text(tmp_path, ",a,b,c,d,y\n0,1,2,3,4,0\n")
    words = "has 5 columns besides .* 4 features .* It has '', 'a', .* no name, .*index=False"
    with pytest.raises(InputError, match=words):
        samples_for(table, model, target="y")
    np.savez(tmp_path / "rows.npz", X=np.ones((2, 3)))
    with pytest.raises(InputError, match=r"has 3 columns, .* It names no columns"):
        samples_for(read_table(tmp_path / "rows.npz"), model)


def test_tables_to_learn_from(tmp_path):
    with pytest.raises(InputError, match=r"cannot be learnt from. One column has no name"):
        samples_to_learn(text(tmp_path, ",a,y\n0,1,2\n"), target="y")
    with pytest.raises(InputError, match="has no column to learn from"):
        samples_to_learn(text(tmp_path, "y\n0\n"), target="y")
    with pytest.raises(InputError, match="line 2: the column 'a' holds 'x', but features to learn"):
        samples_to_learn(text(tmp_path, "a,y\nx,1\n"), target="y")


# --- cells


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("old,2,3,4,0,1", "line 4: the column 'age' holds 'old', but the model compares numbers"),
        ('"1,5",2,3,4,0,1', "holds '1,5', but .* 5.17 instead of 5,17"),
        ("1_000,2,3,4,0,1", "the column 'age' holds '1_000'"),
        ("?,2,3,4,0,1", "holds '\\?', but .* leave missing cells empty"),
        ("1,2,3,4,,1", "line 4: the column 'y' is empty there: leave out rows"),
        ("1,2,3,4,2,1", "line 4: the column 'y' holds 2, but the classes of the model are 0, 1.$"),
        ("1,2,3,4,ill,1", "holds 'ill', but the classes .* are 0, 1. Put these numbers .* from 0"),
        ("1,2,3,4,0,-1", "line 4: the column 'w' holds -1, but weights are finite numbers"),
        ("1,2,3,4,0,inf", "line 4: the column 'w' holds inf, but weights"),
        ("1,2,3,4,0,", "line 4: the column 'w' is empty there"),
        ("1,2,3,4,0,many", "line 4: the column 'w' holds 'many', but weights"),
    ],
)
def test_cells_are_told_with_their_line(line, words, tmp_path):
    table = text(tmp_path, f"{HEADER}{GOOD}\n{line}\n{GOOD}")
    with pytest.raises(InputError, match=words):
        samples_for(table, fitted("named_columns").model, target="y", weight="w")


def test_of_decimal_commas_only_what_is_no_number_is_told(tmp_path):
    model = fitted("tree_classifier").model
    table = text(tmp_path, "a;b;c;d\n0,5;1;2;3\nn.v.;1;2;3\n")
    with pytest.raises(InputError, match=r"line 3: the column 'a' holds 'n.v.', .*encode text"):
        samples_for(table, model)


def test_points_beside_decimal_commas_are_refused(tmp_path):
    table = text(tmp_path, "a;b;c;d\n0,5;1;2;3\n;1;2;3\n1.200;1;2;3\n")
    words = r"line 4: the column 'a' holds '1\.200', and in another line '0,5'\. Write all decimals"
    with pytest.raises(InputError, match=words):
        samples_for(table, fitted("tree_classifier").model)


def test_weights_of_nothing_are_refused(tmp_path):
    model = fitted("tree_classifier").model
    table = text(tmp_path, "a,b,c,d,y,w\n1,2,3,4,0,0\n1,2,3,4,1,0\n")
    with pytest.raises(InputError, match="'w' holds zeros only"):
        samples_for(table, model, target="y", weight="w")


def test_targets_of_a_regressor_are_finite_numbers(tmp_path):
    model = fitted("tree_regressor").model
    for cell, words in (("high", "holds 'high', but the model predicts"), ("inf", "holds inf")):
        with pytest.raises(InputError, match=f"line 2: the column 'y' {words}"):
            samples_for(text(tmp_path, f"a,b,c,d,y\n1,2,3,4,{cell}\n"), model, target="y")


def test_labels_that_may_mean_two_things(tmp_path):
    """True is no label where the classes are not just 0 and 1."""
    model = fitted("extra_trees_classifier").model
    table = text(tmp_path, "a,b,c,d,y\n1,2,3,4,True\n")
    with pytest.raises(InputError, match="holds True, but the classes of the model are 0, 1, 2"):
        samples_for(table, model, target="y")


def test_rows_of_files_without_lines_are_numbered(tmp_path):
    pd.DataFrame([[1, 2, 3, "x"]], columns=NAMES).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match=r"rows\.parquet, row 0: the column 'scan' holds 'x'"):
        samples_for(read_table(tmp_path / "rows.parquet"), fitted("named_columns").model)


def test_dates_are_no_numbers(tmp_path):
    frame = pd.DataFrame({name: pd.to_datetime(["2020-01-01"]) for name in NAMES})
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="the column 'age' is of the type datetime64"):
        samples_for(read_table(tmp_path / "rows.parquet"), fitted("named_columns").model)


def test_categories_that_the_model_has_never_seen(tmp_path):
    model, frame = boosters_lightgbm.grown("frame")
    frame.assign(ward="x").to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(
        InputError, match=r"the column 'ward' holds 'x' and the like, none .*'f', 'b'"
    ):
        samples_for(read_table(tmp_path / "rows.csv"), model)
