"""Cells that are names stay as they are written, and columns keep the names of other rows."""

from dataclasses import replace

import lightgbm
import numpy as np
import pandas as pd
import pytest
from models import NAMES, fitted

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError
from thriftwood.formats.tables import read_table, samples_for, samples_to_learn

ZIPS = ["01234", "1234", "NA", "true", "1.0"]


def trained_on(column):
    """A booster that splits on a column of categories."""
    codes = column.cat.codes.to_numpy()
    X = pd.DataFrame({"zip": column, "age": np.linspace(0, 1, len(column))})
    settings = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 2}
    settings |= {"min_data_per_group": 1, "cat_smooth": 1, "max_cat_to_onehot": 1}
    return lightgbm.train(settings, lightgbm.Dataset(X, codes % 2), 3), X


@pytest.fixture(scope="module")
def zips():
    return trained_on(pd.Series(pd.Categorical(np.tile(ZIPS, 20))))


def table(folder, content):
    (folder / "rows.csv").write_text(content)
    return read_table(folder / "rows.csv")


# --- categories


def test_categories_of_text_are_read_as_they_are_written(zips, tmp_path):
    """Pandas would make numbers, truth and gaps of these."""
    model, X = zips
    X.to_csv(tmp_path / "rows.csv", index=False)
    rows = samples_for(read_table(tmp_path / "rows.csv"), model)
    assert rows.X["zip"].tolist() == X["zip"].tolist()
    np.testing.assert_array_equal(model.predict(rows.X), model.predict(X))


def test_only_an_empty_cell_is_missing(zips, tmp_path):
    rows = samples_for(table(tmp_path, "zip,age\nNA,1\n,2\n01234,3\n"), zips[0])
    assert rows.X["zip"].isna().tolist() == [False, True, False]


def test_a_note_tells_which_categories_the_model_does_not_know(zips, tmp_path):
    notes = []
    given = table(tmp_path, "zip,age\nNA,1\n999,2\n01234,3\n998,4\n999,5\n")
    rows = samples_for(given, zips[0], tell=notes.append)
    assert rows.X["zip"].isna().tolist() == [False, True, False, True, True]
    (note,) = notes
    assert "the column 'zip'" in note
    assert "in 3 of 5 rows" in note
    assert note.endswith("count as missing: '999', '998'.")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_whole_numbers_stay_so_beside_a_gap(suffix, tmp_path):
    """The table holds 3.0 then; the category is 3, or "3"."""
    frame = pd.DataFrame({"zip": [3.0, np.nan, 1.0, 2.0], "age": 0.5})
    file = tmp_path / f"rows.{suffix}"
    frame.to_csv(file, index=False) if suffix == "csv" else frame.to_parquet(file)
    for labels in ([1, 2, 3], ["1", "2", "3"]):
        model, _ = trained_on(pd.Series(pd.Categorical(np.tile(labels, 20))))
        rows = samples_for(read_table(file), model)
        assert rows.X["zip"].dropna().tolist() == [labels[2], labels[0], labels[1]]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_labels_with_a_point_are_whole_numbers_too(suffix, tmp_path):
    """Where the training rows had the gap."""
    frame = pd.DataFrame({"zip": [3, 1, 2], "age": 0.5})
    file = tmp_path / f"rows.{suffix}"
    frame.to_csv(file, index=False) if suffix == "csv" else frame.to_parquet(file)
    model, _ = trained_on(pd.Series(pd.Categorical(np.tile([1.0, 2.0, 3.0], 20))))
    assert samples_for(read_table(file), model).X["zip"].tolist() == [3.0, 1.0, 2.0]


# --- labels


def with_classes(*classes):
    forest = read_forest(fitted("tree_classifier").model)
    return tw.ForestModel(replace(forest, classes=np.array(classes)))


@pytest.mark.parametrize("classes", [("NA", "None"), ("01", "1"), ("false", "true")])
def test_classes_of_text_are_read_as_they_are_written(classes, tmp_path):
    rows = "".join(f"0,0,0,0,{label}\n" for label in classes)
    found = samples_for(
        table(tmp_path, f"{','.join(NAMES)},y\n{rows}"), with_classes(*classes), target="y"
    )
    assert found.y.tolist() == list(classes)


def test_a_label_that_may_mean_two_classes_is_refused(tmp_path):
    rows = table(tmp_path, f"{','.join(NAMES)},y\n0,0,0,0,1\n")
    with pytest.raises(InputError, match=r"line 2: .* holds '1', but the classes .* '1.0', '1.00'"):
        samples_for(rows, with_classes("1.0", "1.00"), target="y")


def test_a_word_for_nothing_is_told_from_an_empty_cell(tmp_path):
    for cell, words in (("NA", r"says 'NA', which stands for a missing"), ("", "is empty there")):
        rows = table(tmp_path, f"a,y\n1,ill\n2,{cell}\n")
        with pytest.raises(InputError, match=rf"line 3: the column 'y' {words}"):
            samples_to_learn(rows, target="y")


# --- the columns of other rows


def test_a_model_without_names_gets_the_columns_of_the_other_rows(tmp_path):
    model, X, y = fitted("tree_classifier")
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y)
    frame[["y", *NAMES[::-1]]].to_csv(tmp_path / "rows.csv", index=False)
    rows = samples_for(read_table(tmp_path / "rows.csv"), model, target="y", like=NAMES)
    np.testing.assert_array_equal(rows.X, X)
    other = table(tmp_path, "age,pulse,sugar,mri\n1,2,3,4\n")
    with pytest.raises(InputError, match="'mri' is not among those of the other samples"):
        samples_for(other, model, like=NAMES)
