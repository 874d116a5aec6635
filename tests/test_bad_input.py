"""Bad input: every mistake has its own sentence."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from good_calls import BY_NAME, LABELS, ONES, PRICES, ROWS, TARGETS, bill, prune
from models import NAMES
from scipy import sparse
from xgboost import DMatrix

import thriftwood as tw
from thriftwood.errors import (
    InputError,
    RangeError,
    ThriftwoodError,
)

both_entries = pytest.mark.parametrize("entry", [prune, bill])


def assert_refused(
    attempt: Callable[[], object], *words: str, error: type[ThriftwoodError] = InputError
) -> None:
    """The attempt raises one of our errors, whose sentence has all these words."""
    with pytest.raises(error) as caught:
        attempt()
    assert isinstance(caught.value, ThriftwoodError)
    message = str(caught.value)
    assert message.endswith((".", "?")), message
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"


def test_good_arguments_are_accepted() -> None:
    assert prune().cost <= prune().original.cost
    assert bill().mean > 0


# --- X


class Interchange:
    """A table that has nothing but the old interchange protocol."""

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object:
        raise NotImplementedError


BAD_ROWS = {
    "too_few_columns": (ROWS[:, :3], ["X has 3 columns", "4 features"]),
    "too_many_columns": (np.c_[ROWS, ROWS], ["X has 8 columns", "4 features"]),
    "no_columns": (ROWS[:, :0], ["X has 0 columns", "4 features"]),
    "no_rows": (ROWS[:0], ["X has no rows"]),
    "one_dimension": (ROWS[0], ["X has 1 dimension", "reshape(1, -1)"]),
    "three_dimensions": (ROWS[None], ["X has 3 dimension", "(n_samples, n_features)"]),
    "empty_list": ([], ["X has", "rows"]),
    "nothing": (None, ["samples"]),
    "text": ([["a", "b", "c", "d"]], ["X holds something that is not a number", "'a'"]),
    "text_in_a_frame": (
        pd.DataFrame(ROWS).astype(object).replace(ROWS[3, 1], "high"),
        ["X holds something that is not a number", "'high'"],
    ),
    "interchange_alone": (Interchange(), ["X is a Interchange", "`__arrow_c_stream__`"]),
    "complex_numbers": (ROWS + 1j, ["X", "complex"]),
    "ragged_rows": ([[1, 2, 3, 4], [1, 2]], ["X"]),
    "sparse_matrix": (sparse.csr_matrix(ROWS[:, :3]), ["X has 3 columns"]),
    "sparse_complex": (sparse.coo_array(ROWS + 1j), ["X", "complex"]),
}


@both_entries
@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_are_refused(entry: Callable[..., object], name: str) -> None:
    X, words = BAD_ROWS[name]
    assert_refused(lambda: entry(X=X), *words)


@both_entries
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_other_names_are_refused(entry: Callable[..., object], frame: Any) -> None:
    renamed = [*NAMES[:3], "price"]
    X = frame(dict(zip(renamed, ROWS.T, strict=True)))
    assert_refused(lambda: entry("named_columns", X=X), "Column 3", "'price'", "'scan'")


@both_entries
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_another_order_of_names_is_refused(entry: Callable[..., object], frame: Any) -> None:
    X = frame(dict(zip(NAMES, ROWS.T, strict=True)))[NAMES[::-1]]
    words = ("Column 0", "'scan'", "'age'", "same order")
    assert_refused(lambda: entry("named_columns", X=X), *words)


# --- y


BAD_LABELS = {
    "unknown_label": (np.where(LABELS, 1, 7), ["label 7", "classes are 0, 1"]),
    "text_for_numbers": (LABELS.astype(str), ["label '0'", "classes are 0, 1"]),
    "missing_label": (np.where(LABELS, 1.0, np.nan), ["`y` is missing in row"]),
    "missing_text": (np.array([*LABELS[:-2], "a", None], dtype=object), ["missing in row 89"]),
    "too_short": (LABELS[:-1], ["`y` has shape (89,)", "90 samples"]),
    "too_long": (np.r_[LABELS, 0], ["`y` has shape (91,)", "90 samples"]),
    "two_columns": (np.c_[LABELS, LABELS], ["`y` has shape (90, 2)", "90 samples"]),
    "one_number": (1, ["`y` has shape ()", "90 samples"]),
    "nothing": (None, ["`y` is None"]),
    "container": (DMatrix(ROWS, LABELS), ["`y` is a xgboost.DMatrix", "the array of targets"]),
    "ragged": ([[0]] * 89 + [[0, 1]], ["y"]),
    "mixed_types": (
        np.array([*LABELS[:-2], "a", "b"], dtype=object),
        ["`y` mixes labels", "types"],
    ),
}


@pytest.mark.parametrize("name", BAD_LABELS)
def test_bad_labels_are_refused(name: str) -> None:
    y, words = BAD_LABELS[name]
    assert_refused(lambda: prune(y=y), *words)


BAD_TARGETS = {
    "missing": (np.where(TARGETS > 0, TARGETS, np.nan), ["`y` holds NaN"]),
    "infinite": (np.where(TARGETS > 0, TARGETS, -np.inf), ["`y` holds NaN or infinity"]),
    "text": (["high"] * 90, ["`y` holds something that is not a number"]),
    "mixed_types": (np.array([*TARGETS[:-1], "high"], dtype=object), ["y", "not a number"]),
    "complex": (TARGETS + 1j, ["y", "number"]),
    "too_short": (TARGETS[1:], ["`y` has shape (89,)", "90 samples"]),
}


@pytest.mark.parametrize("name", BAD_TARGETS)
def test_bad_targets_of_a_regressor_are_refused(name: str) -> None:
    y, words = BAD_TARGETS[name]
    assert_refused(lambda: prune("random_forest_regressor", y=y), *words)


def test_targets_whose_squares_are_beyond_all_numbers_are_refused() -> None:
    huge = TARGETS * 1e200
    assert_refused(lambda: prune("random_forest_regressor", y=huge), "squared error", "scale `y`")


# --- costs

BAD_COSTS = {
    "too_few": ([1, 2, 3], ["prices have shape (3,)", "4 features"]),
    "too_many": (np.ones(5), ["prices have shape (5,)", "4 features"]),
    "one_number": (1.0, ["`costs`: 1 is not a mapping", "one price for each"]),
    "a_table": (np.ones((4, 1)), ["prices have shape (4, 1)"]),
    "negative": ([1, -2, 3, 4], ["`costs[1]`: -2 is not a price", "at least 0"]),
    "missing": ([1, 2, np.nan, 4], ["`costs[2]`: nan is not"]),
    "infinite": ([1, 2, 3, np.inf], ["`costs[3]`: inf is not", "finite"]),
    "text": (["cheap", "dear", "dear", "dear"], ["`costs[0]`: 'cheap' is not a price"]),
    "word": ("cheap", ["`costs`: 'cheap' is not a mapping"]),
    "complex": (np.ones(4) + 1j, ["`costs[0]`", "is not a price"]),
    "names_nobody_has": (BY_NAME, ["go by feature names", "neither the model nor X"]),
}


@both_entries
@pytest.mark.parametrize("name", BAD_COSTS)
def test_bad_costs_are_refused(entry: Callable[..., object], name: str) -> None:
    costs, words = BAD_COSTS[name]
    assert_refused(lambda: entry(costs=costs), *words)


BAD_COSTS_BY_NAME = {
    "wrong_number": ({0: 1, 1: 2, 2: 3, 9: 4}, ["no price for 3", "has 9, unknown to the model"]),
    "missing_name": ({"age": 1, "scan": 2}, ["no price for 'pulse', 'sugar'", "0 to what is free"]),
    "empty": ({}, ["no price for 'age', 'pulse', 'sugar', 'scan'"]),
    "negative": ({**BY_NAME, "sugar": -1}, ["`costs['sugar']`: -1 is not"]),
    "missing_price": ({**BY_NAME, "scan": None}, ["`costs['scan']`: None is not"]),
    "text": ({**BY_NAME, "age": "cheap"}, ["`costs['age']`: 'cheap' is not"]),
}


@both_entries
@pytest.mark.parametrize("name", BAD_COSTS_BY_NAME)
def test_bad_costs_by_name_are_refused(entry: Callable[..., object], name: str) -> None:
    costs, words = BAD_COSTS_BY_NAME[name]
    assert_refused(lambda: entry("named_columns", costs=costs), *words)


def test_prices_that_span_too_many_orders_of_magnitude_are_refused() -> None:
    words = ("prices reach from 1e-15 to 1e+09", "Give the smallest prices as 0")
    assert_refused(lambda: prune(costs=[1, 1e-15, 1e9, 0]), *words, error=RangeError)
    assert prune(costs=[1, 0, 1e9, 0]).proof.certificate.gap == 0
    assert_refused(lambda: prune(costs=[1e-320] * 4), "too small", error=RangeError)
    tiny = {"tradeoff": None, "budget": 1e-309}
    for price in (1e-310, 3e-309):  # where a tradeoff is beyond doubles, or next to that
        costs = [price] * 4
        assert_refused(lambda costs=costs: prune(costs=costs, **tiny), "so small", error=RangeError)


# --- masked arrays


def masked(array: Any, *where: Any) -> Any:
    """Return an array with one entry, or what `where` says, masked."""
    found = np.ma.array(array)
    found[where or 0] = np.ma.masked
    return found


@both_entries
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, object])
def test_what_is_masked_in_samples_is_missing(entry: Callable[..., Any], dtype: Any) -> None:
    rows = ROWS.round().astype(dtype)
    missing = rows.astype(np.float64)
    missing[:, 0] = np.nan
    found = entry(X=masked(rows, slice(None), 0))
    assert repr(found) == repr(entry(X=missing))
    assert repr(found) != repr(entry(X=rows.astype(np.float64)))


def test_estimators_take_what_is_masked_for_missing() -> None:
    X, gaps = masked(ROWS, slice(0, 40), 3), ROWS.copy()
    gaps[:40, 3] = np.nan
    for model in (
        tw.BudgetForestClassifier(3, random_state=0),
        tw.PrunedEnsembleClassifier(budget=2.0, random_state=0),
    ):
        found = model.fit(X, LABELS).predict_proba(X)
        np.testing.assert_array_equal(found, model.fit(gaps, LABELS).predict_proba(gaps))
        assert_refused(lambda model=model: model.fit(X, masked(LABELS)), "`y` is masked at [0]")
        assert_refused(
            lambda model=model: model.fit(X, LABELS, sample_weight=masked(ONES)), "`sample_weight`"
        )


BAD_TO_FIT = {
    "missing": (np.where(LABELS, 1.0, np.nan), "`y` is missing in row"),
    "missing_text": (np.array([*LABELS[:-1], None], dtype=object), "`y` is missing in row 89"),
    "infinite": (np.array([np.inf, *LABELS[1:]]), "`y` is infinite in row 0"),
    "too_short": (LABELS[:-1], "`y` has shape (89,), but X has 90 samples"),
    "ragged": ([[0]] * 89 + [[0, 1]], "`y` is a list of lists of different lengths"),
}


@pytest.mark.parametrize("name", BAD_TO_FIT)
def test_estimators_refuse_bad_targets_in_our_words(name: str) -> None:
    y, words = BAD_TO_FIT[name]
    for model in (
        tw.ThriftyClassifier(effort="quick"),
        tw.ThriftyRegressor(effort="quick"),
        tw.BudgetForestClassifier(3),
        tw.PrunedEnsembleClassifier(budget=2.0),
        tw.PrunedEnsembleRegressor(budget=2.0),
    ):
        assert_refused(lambda model=model: model.fit(ROWS, y), words)


MASKED = {
    "y": ({"y": masked(LABELS)}, "`y` is masked at [0]: pass a value for every entry"),
    "weights": ({"sample_weight": masked(ONES)}, "`sample_weight` is masked at [0]"),
    "costs": ({"costs": masked(PRICES)}, "`costs` is masked at [0]"),
    "known": ({"costs": tw.Costs(known=masked(ROWS > 0, 7, 2))}, "`known` is masked at [7, 2]"),
    "per_sample": (
        {"costs": tw.Costs(per_sample=masked(np.ones(ROWS.shape), 7, 2))},
        "`per_sample` is masked at [7, 2]",
    ),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_entries_that_count_are_refused(name: str) -> None:
    changes, words = MASKED[name]
    assert_refused(lambda: prune(**changes), words)


def test_a_masked_array_without_a_mask_is_an_array() -> None:
    plain = {"X": ROWS, "y": LABELS, "sample_weight": ONES, "costs": np.array(PRICES)}
    unmasked = {name: np.ma.array(array) for name, array in plain.items()}
    assert repr(prune(**unmasked)) == repr(prune(**plain))


# --- tradeoff, sample_weight, solver, loss


@pytest.mark.parametrize(
    "tradeoff",
    [-1, -1e-9, np.float64(-0.5), np.nan, np.inf, "small", [0.1], 1j, 10**400, True, np.True_],
    ids=lambda tradeoff: repr(tradeoff)[:20],
)
def test_bad_tradeoffs_are_refused(tradeoff: Any) -> None:
    assert_refused(lambda: prune(tradeoff=tradeoff), "`tradeoff` is", "at least 0")


@pytest.mark.parametrize("tradeoff", [np.complex128(1), np.array([0.1, 0.2])], ids=repr)
def test_tradeoffs_of_numpy_that_are_not_one_number_are_refused(tradeoff: Any) -> None:
    assert_refused(lambda: prune(tradeoff=tradeoff), "`tradeoff`")


BAD_WEIGHTS = {
    "too_short": (ONES[1:], ["`sample_weight` has shape (89,)", "90 samples"]),
    "a_column": (ONES[:, None], ["`sample_weight` has shape (90, 1)", "90 samples"]),
    "one_number": (2.0, ["`sample_weight` has shape ()", "90 samples"]),
    "negative": (np.r_[-1, ONES[1:]], ["`sample_weight` is -1.0 in row 0", "at least 0"]),
    "missing": (np.r_[np.nan, ONES[1:]], ["`sample_weight` is nan in row 0"]),
    "infinite": (np.r_[np.inf, ONES[1:]], ["`sample_weight` is inf in row 0", "finite"]),
    "all_zero": (0 * ONES, ["`sample_weight` is 0 everywhere"]),
    "text": (["much"] * 90, ["`sample_weight` holds something that is not a number"]),
    "complex": (ONES + 1j, ["`sample_weight`", "number"]),
}


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_bad_weights_are_refused(name: str) -> None:
    weights, words = BAD_WEIGHTS[name]
    assert_refused(lambda: prune(sample_weight=weights), *words)


@pytest.mark.parametrize("solver", ["simplex", "brute_force", "", None])
def test_unknown_solvers_are_refused(solver: Any) -> None:
    words = (f"no solver {solver!r}", "'min_cut'", "'linear_program'")
    assert_refused(lambda: prune(solver=solver), *words)


@pytest.mark.parametrize(
    ("kind", "loss", "words"),
    [
        ("random_forest_classifier", "hinge", ["no loss 'hinge' for a classifier", "'error'"]),
        ("random_forest_classifier", "squared_error", ["'squared_error' for a classifier"]),
        (
            "random_forest_regressor",
            "hinge",
            ["no loss 'hinge' for a regressor", "'squared_error'"],
        ),
        ("random_forest_regressor", "error", ["'error' for a regressor", "'squared_error'"]),
        ("random_forest_classifier", 3, ["no loss 3"]),
    ],
)
def test_unknown_losses_and_those_of_the_other_kind_are_refused(
    kind: str, loss: Any, words: list[str]
) -> None:
    assert_refused(lambda: prune(kind, loss=loss), *words)


# --- what a new user stumbles over


FRAME = pd.DataFrame(ROWS, columns=list(NAMES))


def test_a_misspelt_feature_gets_a_suggestion() -> None:
    misspelt = {f"{NAMES[0]}s" if name == NAMES[0] else name: 1.0 for name in NAMES}
    assert_refused(lambda: prune(X=FRAME, costs=misspelt), f"Did you mean {NAMES[0]!r}")


def test_a_series_without_names_must_be_in_order() -> None:
    shuffled = pd.Series(PRICES, index=[3, 2, 1, 0])
    assert_refused(lambda: prune(costs=shuffled), "`costs` is a Series", "which price belongs")
    twice = pd.Series(PRICES, index=[NAMES[0], NAMES[0], NAMES[1], NAMES[2]])
    assert_refused(lambda: prune(X=FRAME, costs=twice), "names a feature twice")


def test_dates_are_not_numbers() -> None:
    dated = FRAME.assign(**{NAMES[0]: pd.Timestamp("2020-01-01")})
    assert_refused(lambda: prune(X=dated), "X holds something that is not a number", "datetime")


def test_lazy_frames_are_to_be_collected() -> None:
    assert_refused(lambda: prune(X=pl.DataFrame(ROWS).lazy()), "X is a lazy frame", ".collect()")


def test_numbers_beyond_reason_are_refused_not_wrapped() -> None:
    assert_refused(lambda: prune(costs=[1e307] * 4), "prices are so large", error=RangeError)
    assert_refused(lambda: prune(costs=[10**400] * 4), "`costs[0]`", "is not a price")


def test_an_error_knows_the_argument_that_its_sentence_begins_with() -> None:
    assert InputError("`y` is None: pass the labels.").argument == "y"
    assert InputError("`class_weight['a']` is -1.").argument == "class_weight"
    assert InputError("`mine(...)` holds NaN.").argument is None
    assert InputError("There is no solver 'x'.", "solver").argument == "solver"
