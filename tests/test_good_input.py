"""Good input in many forms gives the same answers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from good_calls import BY_NAME, LABELS, ONES, PRICES, ROWS, TARGETS, bill, prune
from models import NAMES, fitted
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import thriftwood as tw
from thriftwood.adapters import forest_model, read_forest
from thriftwood.forest.table import read_rows


def assert_same(one: tw.Pruned, other: tw.Pruned) -> None:
    assert (one.cost, one.loss, one.n_splits) == (other.cost, other.loss, other.n_splits)
    assert one.original == other.original


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def unaligned(array: np.ndarray) -> np.ndarray:
    singles = array.astype(np.float32)
    behind = np.frombuffer(b"-" + singles.tobytes(), np.uint8)[1:]
    return behind.view(np.float32).reshape(singles.shape)


class Capsule:
    """A table of a library that nobody here knows, which hands out Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


FORMS_OF_ROWS: dict[str, Callable[[np.ndarray], Any]] = {
    "lists": np.ndarray.tolist,
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "list_of_arrays": list,
    "float32": lambda rows: rows.astype(np.float32),
    "objects": lambda rows: rows.astype(object),
    "fortran": np.asfortranarray,
    "strided": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "float32_strided": lambda rows: np.repeat(rows.astype(np.float32), 2, axis=0)[::2],
    "float32_unaligned": unaligned,
    "foreign_bytes": lambda rows: rows.astype(rows.dtype.newbyteorder()),
    "read_only": read_only,
    "arrow_capsule": lambda rows: Capsule(pa.table(pd.DataFrame(rows, columns=NAMES))),
    "pandas": pd.DataFrame,
    "pandas_names": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "pandas_index": lambda rows: pd.DataFrame(rows, index=np.arange(len(rows))[::-1]),
    "pandas_nullable": lambda rows: pd.DataFrame(rows, columns=NAMES).astype("Float64"),
    "polars": lambda rows: pl.DataFrame(dict(zip(NAMES, rows.T, strict=True))),
}


@pytest.mark.parametrize("form", FORMS_OF_ROWS)
def test_rows_are_accepted_in_every_usual_form(form: str) -> None:
    X = FORMS_OF_ROWS[form](ROWS)
    assert_same(prune(X=X), prune())
    np.testing.assert_array_equal(bill(X=X).per_sample, bill().per_sample)


@pytest.mark.parametrize("form", ["pandas_nullable", "polars", "lists", "objects"])
def test_missing_values_are_accepted_in_every_usual_form(form: str) -> None:
    X = fitted("missing_random_forest").X
    given_rows = FORMS_OF_ROWS[form](X)
    if form == "pandas_nullable":
        given_rows = given_rows.mask(np.isnan(X))  # its own mark, not NaN
        assert given_rows.isna().to_numpy().sum() == np.isnan(X).sum()
    if form == "polars":
        given_rows = given_rows.fill_nan(None)
    if form in ("lists", "objects"):
        given_rows = [[None if value != value else value for value in row] for row in X.tolist()]
    assert_same(prune("missing_random_forest", X=given_rows), prune("missing_random_forest"))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool])
def test_rows_of_whole_numbers_are_accepted(dtype: type) -> None:
    X = (ROWS > 0).astype(dtype) if dtype is bool else np.abs(ROWS * 9).astype(dtype)
    model = DecisionTreeClassifier(random_state=0).fit(X, LABELS)
    whole = tw.prune(model, X, LABELS, tradeoff=0.001)
    assert_same(whole, tw.prune(model, X.astype(float), LABELS, tradeoff=0.001))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_model_trained_on_a_frame_takes_prices_by_name(frame: Any) -> None:
    X = frame(dict(zip(NAMES, ROWS.T, strict=True)))
    model = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, LABELS)
    shuffled = dict(reversed(BY_NAME.items()))
    by_name = tw.prune(model, X, LABELS, tradeoff=0.001, costs=shuffled)
    assert_same(by_name, tw.prune(model, X, LABELS, tradeoff=0.001, costs=PRICES))
    assert tw.feature_bill(model, X, shuffled).feature_names == tuple(NAMES)


def test_names_of_the_rows_are_enough_for_prices_by_name() -> None:
    X = pd.DataFrame(ROWS, columns=NAMES)
    assert_same(prune(X=X, costs=BY_NAME), prune())
    assert bill(X=X, costs=BY_NAME).mean == bill().mean


FORMS_OF_LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "column": lambda y: y[:, None],
    "floats": lambda y: y.astype(float),
    "booleans": lambda y: y.astype(bool),
    "read_only": read_only,
    "objects": lambda y: y.astype(object),
    "pandas": pd.Series,
    "pandas_index": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "pandas_frame": pd.DataFrame,
    "categories": lambda y: pd.Series(y, dtype="category"),
    "polars": pl.Series,
}


@pytest.mark.parametrize("form", FORMS_OF_LABELS)
def test_labels_are_accepted_in_every_usual_form(form: str) -> None:
    assert_same(prune(y=FORMS_OF_LABELS[form](LABELS)), prune())


@pytest.mark.parametrize(
    "form", [list, np.array, pd.Series, pl.Series, lambda y: np.array(y, dtype=object)]
)
def test_words_are_accepted_in_every_usual_form(form: Callable[[list[str]], Any]) -> None:
    y = fitted("words_as_labels").y
    assert_same(prune("words_as_labels", y=form(y.tolist())), prune("words_as_labels"))


@pytest.mark.parametrize("form", [list, pd.Series, pl.Series, lambda y: np.array(y)[:, None]])
def test_targets_are_accepted_in_every_usual_form(form: Callable[[list[float]], Any]) -> None:
    kind = "random_forest_regressor"
    assert_same(prune(kind, y=form(TARGETS.tolist())), prune(kind))


def test_truth_labels_are_accepted() -> None:
    kind = "booleans_as_labels"
    y = fitted(kind).y
    assert y.dtype == bool
    assert_same(prune(kind, y=y.tolist()), prune(kind))


@pytest.mark.parametrize(
    "tradeoff",
    [np.float64(0.5), np.float32(0.5), np.float16(0.5), 0.5, np.array(0.5)],
    ids=lambda tradeoff: type(tradeoff).__name__,
)
def test_a_tradeoff_may_be_any_real_number(tradeoff: Any) -> None:
    pruned = prune(tradeoff=tradeoff)
    assert_same(pruned, prune(tradeoff=0.5))
    assert type(pruned.tradeoff) is float


@pytest.mark.parametrize("tradeoff", [np.int64(1), np.uint8(1)])
def test_a_tradeoff_may_be_a_whole_number(tradeoff: Any) -> None:
    assert_same(prune(tradeoff=tradeoff), prune(tradeoff=1))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # the wrong answer is the failure
@pytest.mark.parametrize("whole", [1, 10**15])
def test_whole_numbers_of_numpy_do_not_wrap_in_exact_fractions(whole: int) -> None:
    arguments = {"kind": "random_forest_regressor", "costs": [1e-12 / 3, 2e-12 / 7, 3e-12, 1e-12]}
    assert_same(prune(tradeoff=np.int64(whole), **arguments), prune(tradeoff=whole, **arguments))


@pytest.mark.parametrize("tradeoff", [0, 5e-324, 1e-300, 1e300])
def test_extreme_tradeoffs_are_accepted(tradeoff: float) -> None:
    assert prune(tradeoff=tradeoff).proof.certificate.gap == 0


FORMS_OF_COSTS: dict[str, Callable[[list[float]], Any]] = {
    "tuple": tuple,
    "array": np.array,
    "float32": lambda prices: np.array(prices, dtype=np.float32),
    "read_only": lambda prices: read_only(np.array(prices)),
    "pandas": pd.Series,
    "pandas_names": lambda prices: pd.Series(prices, index=NAMES),
    "polars": pl.Series,
}


@pytest.mark.parametrize("form", FORMS_OF_COSTS)
def test_costs_are_accepted_in_every_usual_form(form: str) -> None:
    costs = FORMS_OF_COSTS[form](PRICES)
    assert_same(prune("named_columns", costs=costs), prune("named_columns"))
    assert bill("named_columns", costs=costs).mean == bill("named_columns").mean


def test_a_series_of_prices_goes_by_its_names_not_by_its_order() -> None:
    costs = pd.Series(BY_NAME)[NAMES[::-1]]
    assert bill("named_columns", costs=costs).mean == bill("named_columns").mean
    assert_same(prune("named_columns", costs=costs), prune("named_columns"))


def test_without_costs_every_feature_costs_one() -> None:
    assert_same(prune(costs=None), prune(costs=[1, 1, 1, 1]))
    assert bill(costs=None).mean == bill(costs=np.ones(4)).mean


@pytest.mark.parametrize(
    "weights",
    [
        [1] * 90,
        3 * ONES,
        pd.Series(0.25 * ONES),
        pl.Series([True] * 90),
        ONES * 1e-9,
        ONES * 1e-320,
        ONES * 1e307,
    ],
    ids=["list", "threes", "pandas", "polars", "small", "tiny", "huge"],
)
def test_only_the_ratios_of_weights_matter(weights: Any) -> None:
    pruned = prune(sample_weight=weights)
    assert pruned.n_splits == prune().n_splits
    assert pruned.cost == pytest.approx(prune().cost)
    assert pruned.loss == pytest.approx(prune().loss)


def test_a_model_without_splits_has_nothing_to_prune() -> None:
    X, y = ROWS, np.zeros(90)
    for model in (DecisionTreeClassifier(), DecisionTreeRegressor()):
        pruned = tw.prune(model.fit(X, y), X, y, tradeoff=0.1)
        assert (pruned.cost, pruned.n_splits, pruned.n_features) == (0, 0, 0)
        assert tw.feature_bill(model, X).mean == 0


def test_nothing_that_the_user_passes_is_changed() -> None:
    X, y, costs, weights = ROWS.copy(), LABELS.copy(), np.array(PRICES), ONES.copy()
    prune(X=X, y=y, costs=costs, sample_weight=weights)
    bill(X=X, costs=costs)
    for before, after in ((ROWS, X), (LABELS, y), (PRICES, costs), (ONES, weights)):
        np.testing.assert_array_equal(before, after)
        assert after.flags.writeable


@pytest.mark.parametrize("kind", ["random_forest_classifier", "missing_tree_regressor"])
def test_rows_that_need_no_copy_are_only_read(kind: str) -> None:
    model, given_rows, y = fitted(kind)
    X = given_rows.astype(np.float32)
    before = X.copy()
    ours = forest_model(read_forest(model))
    assert np.shares_memory(read_rows(X, ours.forest).values, X)
    assert not read_rows(X, ours.forest).values.flags.writeable
    said = ours.predict(X)
    path = tw.prune_path(model, X, y, progress=False)
    held_out = path.evaluate(X, y)
    np.testing.assert_array_equal(X, before)
    X[:] = X[::-1].copy()  # what was worked out does not follow
    np.testing.assert_array_equal(said, ours.predict(before))
    np.testing.assert_array_equal(path.evaluate(before, y).error, held_out.error)
    np.testing.assert_array_equal(path.costs, tw.prune_path(model, before, y, progress=False).costs)
