"""Bad input: every mistake has its own sentence. Good input: every usual form is accepted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from models import NAMES, fitted, numbers, plain_rows, two_classes
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import thriftwood as tw
from thriftwood.errors import InputError, RangeError, ThriftwoodError, UnsupportedModelError

PRICES = [1.0, 2.5, 4.0, 8.0]
BY_NAME = dict(zip(NAMES, PRICES, strict=True))


def prune(kind: str = "random_forest_classifier", **changes: Any) -> tw.Pruned:
    """Prune a good model with good arguments, but for the changes."""
    model, X, y = fitted(kind)
    arguments = {"model": model, "X": X, "y": y, "tradeoff": 0.01, "costs": PRICES, **changes}
    return tw.prune(**arguments)


def bill(kind: str = "random_forest_classifier", **changes: Any) -> tw.FeatureBill:
    """Measure a good model with good arguments, but for the changes."""
    model, X, _ = fitted(kind)
    return tw.feature_bill(**{"model": model, "X": X, "costs": PRICES, **changes})


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

ROWS = plain_rows()

BAD_ROWS = {
    "too_few_columns": (ROWS[:, :3], ["X has 3 columns", "4 features"]),
    "too_many_columns": (np.c_[ROWS, ROWS], ["X has 8 columns", "4 features"]),
    "no_columns": (ROWS[:, :0], ["X has 0 columns", "4 features"]),
    "no_rows": (ROWS[:0], ["X has no rows"]),
    "one_dimension": (ROWS[0], ["X has 1 dimension", "reshape(1, -1)"]),
    "three_dimensions": (ROWS[None], ["X has 3 dimension", "(n_rows, n_features)"]),
    "empty_list": ([], ["X has", "rows"]),
    "nothing": (None, ["X is None"]),
    "text": ([["a", "b", "c", "d"]], ["X holds something that is not a number", "'a'"]),
    "text_in_a_frame": (
        pd.DataFrame(ROWS).astype(object).replace(ROWS[3, 1], "high"),
        ["X holds something that is not a number", "'high'"],
    ),
    "complex_numbers": (ROWS + 1j, ["X", "complex"]),
    "ragged_rows": ([[1, 2, 3, 4], [1, 2]], ["X"]),
    "sparse_matrix": (sparse.csr_matrix(ROWS), ["X is a sparse matrix", "toarray()"]),
    "sparse_array": (sparse.coo_array(ROWS), ["X is a sparse matrix", "toarray()"]),
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

LABELS = two_classes(ROWS)

BAD_LABELS = {
    "unknown_label": (np.where(LABELS, 1, 7), ["label 7", "classes are 0, 1"]),
    "text_for_numbers": (LABELS.astype(str), ["label '0'", "classes are 0, 1"]),
    "missing_label": (np.where(LABELS, 1.0, np.nan), ["`y` is missing in row"]),
    "too_short": (LABELS[:-1], ["`y` has shape (89,)", "90 rows"]),
    "too_long": (np.r_[LABELS, 0], ["`y` has shape (91,)", "90 rows"]),
    "two_columns": (np.c_[LABELS, LABELS], ["`y` has shape (90, 2)", "90 rows"]),
    "one_number": (1, ["`y` has shape ()", "90 rows"]),
    "nothing": (None, ["`y` is None"]),
    "ragged": ([[0]] * 89 + [[0, 1]], ["y"]),
    "mixed_types": (
        np.array([*LABELS[:-2], "a", None], dtype=object),
        ["`y` mixes labels", "types"],
    ),
}


@pytest.mark.parametrize("name", BAD_LABELS)
def test_bad_labels_are_refused(name: str) -> None:
    y, words = BAD_LABELS[name]
    assert_refused(lambda: prune(y=y), *words)


TARGETS = numbers(ROWS)

BAD_TARGETS = {
    "missing": (np.where(TARGETS > 0, TARGETS, np.nan), ["`y` holds NaN"]),
    "infinite": (np.where(TARGETS > 0, TARGETS, -np.inf), ["`y` holds NaN or infinity"]),
    "text": (["high"] * 90, ["`y` holds something that is not a number"]),
    "mixed_types": (np.array([*TARGETS[:-1], "high"], dtype=object), ["y", "not a number"]),
    "complex": (TARGETS + 1j, ["y", "number"]),
    "too_short": (TARGETS[1:], ["`y` has shape (89,)", "90 rows"]),
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
    "too_few": ([1, 2, 3], ["`costs` has shape (3,)", "4 features"]),
    "too_many": (np.ones(5), ["`costs` has shape (5,)", "4 features"]),
    "one_number": (1.0, ["`costs` is a single value", "one price for each"]),
    "a_table": (np.ones((4, 1)), ["`costs` has shape (4, 1)"]),
    "negative": ([1, -2, 3, 4], ["price of feature number 1 is -2.0", "at least 0"]),
    "missing": ([1, 2, np.nan, 4], ["price of feature number 2 is nan"]),
    "infinite": ([1, 2, 3, np.inf], ["price of feature number 3 is inf", "finite"]),
    "text": (["cheap", "dear", "dear", "dear"], ["`costs` holds something", "not a number"]),
    "word": ("cheap", ["`costs` holds something", "not a number"]),
    "complex": (np.ones(4) + 1j, ["`costs`", "number"]),
    "names_nobody_has": (BY_NAME, ["goes by feature names", "neither the model nor X"]),
}


@both_entries
@pytest.mark.parametrize("name", BAD_COSTS)
def test_bad_costs_are_refused(entry: Callable[..., object], name: str) -> None:
    costs, words = BAD_COSTS[name]
    assert_refused(lambda: entry(costs=costs), *words)


BAD_COSTS_BY_NAME = {
    "unknown_name": (
        {**BY_NAME, "ecg": 3},
        ["`costs` prices 'ecg'", "features are 'age', 'pulse'"],
    ),
    "wrong_number": ({0: 1, 1: 2, 2: 3, 9: 4}, ["`costs` prices 9", "features are 0, 1, 2, 3"]),
    "missing_name": ({"age": 1, "scan": 2}, ["no price for 'pulse', 'sugar'", "0 to what is free"]),
    "empty": ({}, ["no price for 'age', 'pulse', 'sugar', 'scan'"]),
    "negative": ({**BY_NAME, "sugar": -1}, ["price of feature 'sugar' is -1.0"]),
    "missing_price": ({**BY_NAME, "scan": None}, ["price of feature 'scan' is nan"]),
    "text": ({**BY_NAME, "age": "cheap"}, ["price of feature 'age' is 'cheap'"]),
}


@both_entries
@pytest.mark.parametrize("name", BAD_COSTS_BY_NAME)
def test_bad_costs_by_name_are_refused(entry: Callable[..., object], name: str) -> None:
    costs, words = BAD_COSTS_BY_NAME[name]
    assert_refused(lambda: entry("named_columns", costs=costs), *words)


def test_prices_that_span_too_many_orders_of_magnitude_are_refused() -> None:
    words = ("prices reach from 1e-15 to 1e+09", "Give the smallest prices as 0")
    assert_refused(lambda: prune(costs=[1, 1e-15, 1e9, 0]), *words, error=RangeError)
    assert prune(costs=[1, 0, 1e9, 0]).certificate.gap == 0
    assert_refused(lambda: prune(costs=[1e-320] * 4), "too small", error=RangeError)


# --- tradeoff, sample_weight, solver, loss


@pytest.mark.parametrize(
    "tradeoff",
    [-1, -1e-9, np.float64(-0.5), np.nan, np.inf, -np.inf, "small", [0.1], 1j, 10**400],
    ids=lambda tradeoff: repr(tradeoff)[:20],
)
def test_bad_tradeoffs_are_refused(tradeoff: Any) -> None:
    assert_refused(lambda: prune(tradeoff=tradeoff), "`tradeoff` is", "at least 0")


@pytest.mark.parametrize("tradeoff", [np.complex128(1), np.array([0.1, 0.2])], ids=repr)
def test_tradeoffs_of_numpy_that_are_not_one_number_are_refused(tradeoff: Any) -> None:
    assert_refused(lambda: prune(tradeoff=tradeoff), "`tradeoff`")


ONES = np.ones(90)

BAD_WEIGHTS = {
    "too_short": (ONES[1:], ["`sample_weight` has shape (89,)", "90 rows"]),
    "a_column": (ONES[:, None], ["`sample_weight` has shape (90, 1)", "90 rows"]),
    "one_number": (2.0, ["`sample_weight` has shape ()", "90 rows"]),
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


# --- good input in many forms


def assert_same(one: tw.Pruned, other: tw.Pruned) -> None:
    assert (one.cost, one.loss, one.n_splits) == (other.cost, other.loss, other.n_splits)
    assert one.original == other.original


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


FORMS_OF_ROWS: dict[str, Callable[[np.ndarray], Any]] = {
    "lists": np.ndarray.tolist,
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "list_of_arrays": list,
    "float32": lambda rows: rows.astype(np.float32),
    "objects": lambda rows: rows.astype(object),
    "fortran": np.asfortranarray,
    "strided": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "read_only": read_only,
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
    np.testing.assert_array_equal(bill(X=X).per_example, bill().per_example)


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


@pytest.mark.parametrize("tradeoff", [np.int64(1), np.uint8(1), True])
def test_a_tradeoff_may_be_a_whole_number(tradeoff: Any) -> None:
    assert_same(prune(tradeoff=tradeoff), prune(tradeoff=1))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # the wrong answer is the failure
@pytest.mark.parametrize("whole", [1, 10**15])
def test_whole_numbers_of_numpy_do_not_wrap_in_exact_fractions(whole: int) -> None:
    arguments = {"kind": "random_forest_regressor", "costs": [1e-12 / 3, 2e-12 / 7, 3e-12, 1e-12]}
    assert_same(prune(tradeoff=np.int64(whole), **arguments), prune(tradeoff=whole, **arguments))


@pytest.mark.parametrize("tradeoff", [0, 5e-324, 1e-300, 1e300])
def test_extreme_tradeoffs_are_accepted(tradeoff: float) -> None:
    assert prune(tradeoff=tradeoff).certificate.gap == 0


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


def test_what_holds_a_model_is_not_the_model() -> None:
    pruned = prune()
    words = "pass its `model`"
    assert_refused(lambda: tw.feature_bill(pruned, ROWS), words, error=UnsupportedModelError)


def test_numbers_beyond_reason_are_refused_not_wrapped() -> None:
    assert_refused(lambda: prune(costs=[1e307] * 4), "prices are so large", error=RangeError)
    assert_refused(lambda: prune(costs=[10**400] * 4), "`costs` holds something")
