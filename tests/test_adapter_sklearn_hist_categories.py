"""Categories of scikit-learn's histogram boosting, however the table has them."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from adapter_laws import (
    awkward_rows,
    check_new_values,
    check_predictions,
    check_reading,
    check_writing,
    members,
)
from library_versions import polars_is_known
from models import random_kept
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import thriftwood as tw
from thriftwood.adapters import read_forest, write_model
from thriftwood.errors import ForestError, UnsupportedModelError
from thriftwood.forest import scores

N_ROWS = 250
SMALL = {"max_iter": 5, "min_samples_leaf": 3, "random_state": 0}

RNG = np.random.default_rng(0)
NUMBER = RNG.normal(size=N_ROWS)
CODE = RNG.integers(0, 5, N_ROWS)
IS_MISSING = RNG.random(N_ROWS) < 0.2
TARGET = NUMBER + 3 * np.isin(CODE, [1, 4]) + 2 * IS_MISSING
TEXT = np.array(["blue", "red", "green", "grey", "white"], dtype=object)[CODE]
TEXT_OR_NONE = np.where(IS_MISSING, None, TEXT)


def score(model: Any, X: Any) -> np.ndarray:
    return model._raw_predict(X)


def fit(X: Any, categorical: Any, **options: Any) -> Any:
    model = HistGradientBoostingRegressor(categorical_features=categorical, **SMALL | options)
    return model.fit(X, TARGET)


def numbered_rows() -> np.ndarray:
    """Columns 1 and 3 hold categories: 0 to 4, and whole numbers with gaps between them."""
    rng = np.random.default_rng(2)
    other = rng.normal(size=N_ROWS)
    with_gaps = np.array([3.0, 10.0, 11.0, 40.0, 200.0])[CODE]
    X = np.column_stack([NUMBER, CODE.astype(float), other, with_gaps])
    X[IS_MISSING, 1] = np.nan
    X[rng.random(N_ROWS) < 0.2, 3] = np.nan
    return X


def strange_categories(rows: np.ndarray) -> np.ndarray:
    """Put known, unknown, negative and missing categories into their columns."""
    rng = np.random.default_rng(1)
    known = [0.0, 1, 2, 3, 4, 10, 11, 40, 200]
    rows = rows.copy()
    strange = [*known, np.nan, -1.0, -7.0, 5, 9, 41, 201, 255, 256, 300, 1e9, -0.0]
    rows[:, [1, 3]] = rng.choice(strange, (len(rows), 2))
    return rows


def test_whole_numbers_are_categories_themselves() -> None:
    X = numbered_rows()
    model = fit(X, [1, 3])
    forest = read_forest(model)
    by_set = np.flatnonzero(forest.category_set >= 0)
    assert set(forest.feature[by_set]) == {1, 3}
    assert not forest.category_labels
    for node in by_set:
        known = [0, 1, 2, 3, 4] if forest.feature[node] == 1 else [3, 10, 11, 40, 200]
        assert set(members(forest, node)) <= set(known)
    rows = strange_categories(awkward_rows(forest, X))
    check_reading(model, rows, score)
    check_writing(model, rows, score)
    check_new_values(model, rows, score)


def test_what_the_model_does_not_know_goes_the_way_of_missing_values_on_either_side() -> None:
    model = fit(numbered_rows(), [1, 3])
    nodes = np.concatenate([tree.nodes for (tree,) in model._predictors])
    by_set = nodes[nodes["is_categorical"] == 1]
    assert set(by_set["missing_go_to_left"]) == {0, 1}, "both ways must occur"
    forest = read_forest(model)
    assert not forest.missing_left[forest.category_set >= 0].any()


def test_columns_are_those_of_the_user() -> None:
    # The model has its categorical columns first.
    X = numbered_rows()
    forest = read_forest(fit(X, [1, 3]))
    plain = forest.is_split & (forest.category_set < 0)
    assert set(forest.feature[plain]) <= {0, 2}
    bill = tw.feature_bill(fit(X, [1, 3]), X, [1.0, 10.0, 100.0, 1000.0])
    asked = np.bincount(forest.feature[forest.is_split], minlength=4) > 0
    np.testing.assert_array_equal(bill.bought > 0, asked)


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"number": NUMBER, **columns})


TABLES: dict[str, tuple[Callable[[], Any], Any]] = {
    "text_in_an_array": (lambda: np.column_stack([NUMBER.astype(object), TEXT]), [1]),
    "none_in_an_array": (lambda: np.column_stack([NUMBER.astype(object), TEXT_OR_NONE]), [1]),
    "pandas_text": (lambda: frame(colour=pd.Series(TEXT_OR_NONE, dtype="str")), ["colour"]),
    "pandas_objects": (lambda: frame(colour=pd.Series(TEXT, dtype=object)), ["colour"]),
    "pandas_categorical": (lambda: frame(colour=pd.Categorical(TEXT_OR_NONE)), "from_dtype"),
    "pandas_whole_numbers": (lambda: frame(code=pd.Categorical(CODE * 10)), "from_dtype"),
    "pandas_numbers_and_text": (
        lambda: frame(
            code=pd.Categorical(np.where(IS_MISSING, np.nan, CODE)), colour=pd.Categorical(TEXT)
        ),
        "from_dtype",
    ),
    "pandas_truth": (lambda: frame(is_one=CODE == 1), ["is_one"]),
    "pandas_categorical_truth": (lambda: frame(is_one=pd.Categorical(CODE == 1)), "from_dtype"),
    "pandas_intervals": (lambda: frame(part=pd.cut(CODE, 5)), "from_dtype"),
    "polars_text": (
        lambda: pl.DataFrame({"number": NUMBER, "colour": TEXT_OR_NONE.tolist()}),
        ["colour"],
    ),
    "polars_categorical": (
        lambda: pl.DataFrame({"number": NUMBER, "colour": TEXT.tolist()}).with_columns(
            pl.col("colour").cast(pl.Categorical)
        ),
        "from_dtype",
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=polars_is_known) if name.startswith("polars") else name
        for name in TABLES
    ],
)
def test_tables_of_every_kind_are_read_as_the_model_reads_them(name: str) -> None:
    make, categorical = TABLES[name]
    X = make()
    model = fit(X, categorical)
    forest = check_reading(model, X, score)
    assert (forest.category_set >= 0).any()
    if hasattr(X, "columns"):
        assert forest.feature_names == tuple(X.columns)
    check_writing(model, X, score)
    check_new_values(model, X, score)


def test_labels_are_known_by_their_text() -> None:
    X = frame(colour=pd.Categorical(TEXT_OR_NONE))
    model = fit(X, "from_dtype")
    forest = read_forest(model)
    assert forest.category_labels == {1: ("blue", "green", "grey", "red", "white")}
    unheard_of = X.assign(colour=pd.Categorical(["purple"] * N_ROWS))
    other_order = X.assign(colour=X["colour"].cat.reorder_categories(sorted(set(TEXT))[::-1]))
    for rows in (unheard_of, other_order, X.assign(colour=TEXT)):
        check_reading(model, rows, score)


def test_codes_stand_for_their_labels() -> None:
    X = frame(colour=pd.Categorical(TEXT))
    model = fit(X, "from_dtype")
    forest = read_forest(model)
    codes = np.column_stack([NUMBER, np.searchsorted(forest.category_labels[1], TEXT.astype(str))])
    np.testing.assert_allclose(scores(forest, codes), score(model, X), rtol=1e-9)


def test_a_classifier_of_several_classes_with_categories() -> None:
    X = frame(code=pd.Categorical(CODE), colour=pd.Categorical(TEXT_OR_NONE))
    y = np.digitize(TARGET, [0.0, 2.5])
    model = HistGradientBoostingClassifier(**SMALL).fit(X, y)
    check_predictions(model, X, lambda model, X: model.predict_proba(X))
    written = check_writing(model, X, score)
    check_predictions(written, X, lambda model, X: model.predict_proba(X))
    again = pickle.loads(pickle.dumps(written))
    np.testing.assert_array_equal(again.predict(X), written.predict(X))


def test_boosting_goes_on_from_a_written_model_with_categories() -> None:
    X = numbered_rows()
    model = fit(X, [1, 3], warm_start=True)
    written = write_model(model, random_kept(read_forest(model), 0, 0.8))
    # In training the model walks rows by their bins: these must say the same as the numbers.
    rows = written._preprocess_X(X, reset=False)
    bins = written._bin_mapper.transform(rows)
    known, columns = written._bin_mapper.make_known_categories_bitsets()
    missing = written._bin_mapper.missing_values_bin_idx_
    for (tree,) in written._predictors:
        by_bins = tree.predict_binned(bins, missing, 1)
        np.testing.assert_array_equal(tree.predict(rows, known, columns, 1), by_bins)
    before = np.mean((written.predict(X) - TARGET) ** 2)
    again = written.set_params(max_iter=6).fit(X, TARGET)
    assert np.mean((again.predict(X) - TARGET) ** 2) < before
    check_reading(again, X, score)


@pytest.mark.parametrize(
    "categories", [[-1.0, 0, 1, 2, 3], [0.5, 1, 2, 3, 4], [0, 1, 2, 3, 70_000], [0, 1, 2, 3, 1e18]]
)
def test_other_numbers_as_categories_are_refused(categories: list[float]) -> None:
    X = np.column_stack([NUMBER, np.array(categories)[CODE]])
    with pytest.raises(UnsupportedModelError, match=r"Categories of column 1 .*train again"):
        read_forest(fit(X, [1]))


def test_a_split_without_its_set_is_refused() -> None:
    model = fit(numbered_rows(), [1, 3])
    model._predictors[2][0].raw_left_cat_bitsets = np.zeros((0, 8), dtype=np.uint32)
    with pytest.raises(ForestError, match=r"of tree 2 splits by categories that its tree does not"):
        read_forest(model)
