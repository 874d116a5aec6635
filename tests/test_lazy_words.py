"""What lazy predictors say when sources fail, and to whom."""

import pickle

import numpy as np
import pytest
from lazy_twin import lazy_for
from test_lazy_failures import MODEL, BrokenShop, X

import thriftwood as tw
from thriftwood.errors import AcquisitionError


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
    receipts = lazy.predict(names).receipts
    assert [one.row for one in receipts] == names
    assert repr(receipts[3]).startswith("Receipt of row 'patient 3'")
    assert [one.row for one in receipts[2:4]] == names[2:4]
