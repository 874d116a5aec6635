"""What lazy predictors say when sources fail, and to whom."""

import asyncio
import pickle

import numpy as np
import pandas as pd
import pytest
from lazy_twin import lazy_for
from test_lazy_failures import MODEL, BrokenShop, X

import thriftwood as tw
from thriftwood.errors import AcquisitionError, InputError


class SpeechlessError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class SpeechlessId:
    def __repr__(self):
        raise RuntimeError("no words")


def test_errors_and_ids_without_words_lose_no_row():
    ids = [SpeechlessId() for _ in range(3)]

    def acquire(row, feature):
        if row is ids[1]:
            raise SpeechlessError
        return X[ids.index(row), feature]

    with pytest.raises(AcquisitionError, match="SpeechlessError: it has no words") as caught:
        tw.LazyPredictor(MODEL, acquire=acquire).predict(ids)
    np.testing.assert_array_equal(caught.value.answer.proba, MODEL.predict_proba(X[:3:2]))
    assert "SpeechlessError" in repr(caught.value.failures)


def test_the_error_travels_to_other_processes_with_the_answer():
    shop = BrokenShop(X)
    with pytest.raises(AcquisitionError) as caught:
        lazy_for(MODEL, shop).predict(shop.ids)
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == str(caught.value)
    np.testing.assert_array_equal(error.answer.proba, caught.value.answer.proba)


def test_requests_cannot_be_put_in_another_order():
    def acquire_many(requests):
        requests.sort()
        return [X[row, feature] for row, feature in requests]

    with pytest.raises(AcquisitionError, match="AttributeError"):
        tw.LazyPredictor(MODEL, acquire_many=acquire_many).predict(range(12))


def test_receipts_name_rows_by_their_ids():
    names = [f"patient {row}" for row in range(12)]
    lazy = tw.LazyPredictor(MODEL, acquire=lambda name, k: X[int(name.split()[1]), k])
    answer = lazy.predict(names)
    assert [answer.receipt(i).sample for i in range(12)] == names
    assert repr(answer.receipt(3)).startswith("Receipt of sample 'patient 3'")


class StubbornNumber:
    def __float__(self):
        raise RuntimeError("not a number today")

    __array__ = __float__


def test_a_value_that_cannot_be_read_loses_only_its_row():
    def acquire(row, feature):
        return StubbornNumber() if row == 1 else X[row, feature]

    with pytest.raises(AcquisitionError) as caught:
        tw.LazyPredictor(MODEL, acquire=acquire).predict([0, 1, 2])
    assert caught.value.answer.samples == (0, 2)


@pytest.mark.parametrize(
    "answer", [{1.0, 2.0}, np.array(3.0), pd.DataFrame({"a": [1]}), "text", 5, None, iter([1.0])]
)
def test_answers_without_an_order_are_refused(answer):
    lazy = tw.LazyPredictor(MODEL, acquire_many=lambda _: answer)
    with pytest.raises(InputError, match="return one value for each request, in their order"):
        lazy.predict([0])


def test_ids_that_are_times_stay_times():
    ids = np.array(["2026-01-02", "2026-01-03"], dtype="datetime64[ns]")
    lazy = tw.LazyPredictor(MODEL, acquire=lambda day, k: X[int(day == ids[1]), k])
    assert lazy.predict(ids).samples == tuple(ids)
    with pytest.raises(InputError, match="data frame: pass the ids"):
        lazy.predict(pd.DataFrame(X))


def test_cancelling_waits_until_the_source_has_cleaned_up():
    cleaned, begun = [], []

    async def acquire(row, feature):
        begun.append(1)
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(1)
        return X[row, feature]

    async def give_up_soon():
        lazy = tw.LazyPredictor(MODEL, acquire=acquire)
        task = asyncio.create_task(lazy.predict_async(range(3)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(cleaned) == len(begun) > 3

    asyncio.run(give_up_soon())
