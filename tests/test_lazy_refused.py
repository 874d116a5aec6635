"""Lazy predictors: every mistake has its own sentence, what looks like one works."""

import asyncio
import decimal
import functools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from boosters_lightgbm import grown
from lazy_twin import Shop, lazy_for
from models import fitted
from paths import HEART, PATH
from test_bad_input import assert_refused

import thriftwood as tw
from thriftwood.acquisition.values import ValueReader
from thriftwood.adapters import read_forest
from thriftwood.errors import AcquisitionError, InputError, UnsupportedModelError
from thriftwood.support.columns import Columns

MODEL = PATH.at(budget=400).model


def nothing(_row, _feature):
    return 0.0


async def nothing_soon(_row, _feature):
    return 0.0


BAD_ARGUMENTS = {
    "two_sources": ({"acquire_many": list}, ["either `acquire`", "or `acquire_many`"]),
    "no_function": ({"acquire": {"age": 3}}, ["`acquire` is", "pass a function"]),
    "stop": ({"stop": "early"}, ["`stop` is 'early'", "'decided'"]),
    "stop_true": ({"stop": True}, ["`stop` is True"]),
    "on_failure": ({"on_failure": "skip"}, ["`on_failure` is 'skip'", "'missing' or 'node'"]),
    "max_in_flight": ({"max_in_flight": 0}, ["`max_in_flight` is 0", "at least 1"]),
    "costs": ({"costs": [1.0]}, ["shape (1,)", "13 features"]),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments_are_refused(name):
    changes, words = BAD_ARGUMENTS[name]
    assert_refused(lambda: tw.LazyPredictor(MODEL, **{"acquire": nothing, **changes}), *words)


def test_models_that_cannot_be_read_or_stopped_are_refused():
    assert_refused(
        lambda: tw.LazyPredictor("forest", acquire=nothing),
        "pass a fitted tree",
        error=UnsupportedModelError,
    )
    regressor = fitted("random_forest_regressor").model
    lazy = tw.LazyPredictor(regressor, acquire=nothing, stop="decided")
    assert_refused(lambda: lazy.predict([1]), "predicts numbers", "lazy.rank")


def test_two_columns_of_one_name_are_refused():
    model, _ = grown("classifier")
    forest = replace(read_forest(model), feature_names=("age", "age", "b", "c"))
    assert_refused(lambda: tw.LazyPredictor(forest, acquire=nothing), "two columns named 'age'")


BAD_ROWS = {
    "nothing": (None, ["`samples` is None"]),
    "one_id": (7, ["`samples` is 7", "list of ids"]),
    "text": ("abc", ["`samples` is 'abc'", "list of ids"]),
    "empty": ([], ["`samples` is empty"]),
    "empty_array": (np.empty(0), ["`samples` is empty"]),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_are_refused(name):
    rows, words = BAD_ROWS[name]
    lazy = tw.LazyPredictor(MODEL, acquire=nothing)
    assert_refused(lambda: lazy.predict(rows), *words)
    soon = tw.LazyPredictor(MODEL, acquire=nothing_soon)
    assert_refused(lambda: asyncio.run(soon.predict_async(rows)), *words)


BAD_KNOWN = {
    "a_mapping": ({0: 1.0}, ["`known` is no list", "one mapping"]),
    "a_number": (3, ["`known` is no list"]),
    "too_few": ([None], ["`known` has 1 entries", "2 samples"]),
    "no_mapping": ([None, [1.0]], ["`known` has [1.0] for sample number 1"]),
    "unknown_name": ([{"age": 1.0}, None], ["`known` of sample number 0 names 'age'"]),
    "unknown_column": ([None, {13: 1.0}], ["`known` of sample number 1 names 13"]),
    "no_hash": ([{(1, 2): 1.0}, None], ["names (1, 2)"]),
    "no_number": ([{2: "high"}, None], ["value of 2 is 'high'", "no number"]),
}


@pytest.mark.parametrize("name", BAD_KNOWN)
def test_bad_known_values_are_refused(name):
    known, words = BAD_KNOWN[name]
    lazy = tw.LazyPredictor(MODEL, acquire=nothing)
    assert_refused(lambda: lazy.predict([1, 2], known=known), *words)


def test_names_are_suggested():
    lazy = lazy_for(fitted("named_columns").model, Shop(np.ones((1, 4))))
    assert_refused(lambda: lazy.predict([0], known=[{"puls": 1}]), "Did you mean 'pulse'?")
    assert_refused(lambda: lazy.predict([0], known=[{1: 1}]), "names 1")


def test_prices_for_other_rows_are_refused():
    lazy = tw.LazyPredictor(MODEL, acquire=nothing)
    costs = tw.Costs(per_sample=np.ones((5, 13)))
    assert_refused(lambda: lazy.predict([1, 2], costs=costs), "(5, 13)", "(2, 13)")


def test_plain_functions_and_coroutine_functions_are_told_apart():
    class Source:
        async def __call__(self, _row, _feature):
            return 0.0

    for source in (nothing_soon, Source(), functools.partial(nothing_soon)):
        soon = tw.LazyPredictor(MODEL, acquire=source)
        assert_refused(lambda lazy=soon: lazy.predict([1]), "await lazy.predict_async")
        assert len(asyncio.run(soon.predict_async([1]))) == 1
    lazy = tw.LazyPredictor(MODEL, acquire=nothing)
    assert_refused(lambda: asyncio.run(lazy.predict_async([1])), "plain function", "async def")


def test_a_function_that_returns_a_coroutine_is_explained():
    lazy = tw.LazyPredictor(MODEL, acquire=lambda row, feature: nothing_soon(row, feature))
    with pytest.raises(AcquisitionError, match="is a coroutine, not a number"):
        lazy.predict([1])


BAD_ANSWERS = {
    "too_few": (lambda _: [1.0], ["was asked for", "returned 1 values"]),
    "one_number": (lambda _: 3.5, ["returned 3.5"]),
    "nothing": (lambda _: None, ["returned None", "one value for each request"]),
    "text": (lambda _: "many", ["returned 'many'"]),
    "generator": (lambda requests: (0.0 for _ in requests), ["returned <generator"]),
}


@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_bad_answers_of_acquire_many_are_refused(name):
    source, words = BAD_ANSWERS[name]
    lazy = tw.LazyPredictor(MODEL, acquire_many=source, on_failure="missing")
    assert_refused(lambda: lazy.predict(range(4)), "`acquire_many`", *words)


def test_mappings_that_leave_out_a_request():
    lazy = tw.LazyPredictor(MODEL, acquire_many=lambda requests: {requests[0]: 0.0})
    with pytest.raises(AcquisitionError, match="returned a mapping without") as caught:
        lazy.predict([1, 2])
    assert caught.value.failures
    unhashable = tw.LazyPredictor(MODEL, acquire_many=lambda _: {})
    with pytest.raises(AcquisitionError, match="which ids without a hash need"):
        unhashable.predict([[1], [2]])


# --- values that sources have


class SomeForest:
    """What a reader asks of a forest."""

    columns = Columns(3, ("size", "colour", "shop"))
    inputs = None

    def __init__(self, dtype):
        self.input_dtype = np.dtype(dtype)
        self.category_labels = {1: ("red", "blue"), 2: (3, 5, 9)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1.1, 1.1),
        (7, 7),
        (True, 1),
        (None, np.nan),
        (np.nan, np.nan),
        (pd.NA, np.nan),
        (pd.NaT, np.nan),
        (np.float32(2.5), 2.5),
        (np.int64(2**60 + 1), 2**60 + 1),
        (2**60 + 1, 2**60 + 1),
        (np.array(3.0), 3),
        (decimal.Decimal("1.25"), 1.25),
        (np.inf, np.inf),
        (1e300, 1e300),
        (-1e300, -1e300),
        ("4.5", 4.5),
    ],
    ids=repr,
)
def test_numbers_are_cast_as_those_of_tables(dtype, value, number):
    with np.errstate(over="ignore"):
        expected = np.array(number).astype(dtype)
    read = ValueReader(SomeForest(dtype)).number(0, value)
    with np.errstate(over="raise"):
        np.testing.assert_array_equal(np.array(read, dtype), expected)


@pytest.mark.parametrize(
    ("column", "value", "number"),
    [
        (1, "red", 0),
        (1, "blue", 1),
        (1, "green", np.nan),
        (1, None, np.nan),
        (1, 1, 1),  # labels are text: a number is that of a category
        (1, np.float64(0), 0),
        (2, 5, 1),
        (2, np.int64(9), 2),
        (2, 5.0, 1),
        (2, 1, np.nan),  # labels are numbers: 1 is none of them
        (2, np.nan, np.nan),
    ],
)
def test_labels_of_categories(column, value, number):
    read = ValueReader(SomeForest(np.float64)).number(column, value)
    np.testing.assert_array_equal(read, number)


@pytest.mark.parametrize(
    "value",
    ["high", [1.0], 1j, np.datetime64("2020-01-01"), object(), 10**400, b"x", {}],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_number_is_refused(value):
    reader = ValueReader(SomeForest(np.float32))
    assert_refused(lambda: reader.number(0, value), "value of 'size' is", "no number")


def test_categories_come_as_text_or_from_the_frame():
    model, X = grown("classifier_of_a_frame")
    answer = lazy_for(model, Shop(X, names=tuple(X.columns))).predict(range(30))
    np.testing.assert_array_equal(answer.labels, model.predict(X[:30]))
    codes = X.assign(ward=X["ward"].cat.codes.where(X["ward"].notna()))
    coded = lazy_for(model, Shop(codes, names=tuple(X.columns))).predict(range(30))
    np.testing.assert_array_equal(coded.labels, answer.labels)


def test_readable():
    lazy = lazy_for(MODEL, Shop(HEART.X), costs=HEART.prices, stop="decided")
    assert "12 trees" in repr(lazy)
    assert "stop='decided'" in repr(lazy)
    answer = lazy.predict([0])
    assert repr(answer).startswith("LazyAnswer for 1 sample: ")
    assert "none failed; mean bill" in repr(answer)
    assert answer.receipt(-1) == answer.receipt(0)
    with pytest.raises(InputError, match="there is no sample 1"):
        answer.receipt(1)
