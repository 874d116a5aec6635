"""Binary JSON that is cut off or changed never reaches XGBoost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xgboost import XGBClassifier, XGBRegressor

from thriftwood.errors import InputError
from thriftwood.formats.models import read_model
from thriftwood.formats.ubjson import is_whole

X = np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return what XGBoost writes for several models."""
    place = tmp_path_factory.mktemp("models") / "model.ubj"
    written = []
    for model, y in (
        (XGBRegressor(n_estimators=3), X[:, 0]),
        (XGBClassifier(n_estimators=2, booster="dart"), X[:, 0] > 0),
    ):
        model.fit(X, y).save_model(place)
        written.append(place.read_bytes())
    return written


def test_what_xgboost_writes_is_whole(models):
    assert all(is_whole(data) for data in models)


def test_nothing_that_is_cut_off_is_whole(models):
    for data in models:
        assert not any(is_whole(data[:length]) for length in range(len(data)))
        assert not is_whole(data + b"Z")


def test_a_file_that_is_cut_off_is_told_and_does_not_end_the_process(models, tmp_path):
    place = tmp_path / "cut.ubj"
    for length in (900, 3000):
        place.write_bytes(models[0][:length])
        with pytest.raises(InputError, match=r"cut\.ubj .*cut off"):
            read_model(place)


def as_bytes(value) -> bytes:
    """Write a value as binary JSON, in the plainest way."""
    if isinstance(value, bool):
        return b"T" if value else b"F"
    if isinstance(value, int):
        return b"l" + value.to_bytes(4, "big", signed=True)
    if isinstance(value, str):
        return b"S" + as_text(value)
    if isinstance(value, list):
        return b"[" + b"".join(map(as_bytes, value)) + b"]"
    return b"{" + b"".join(as_text(key) + as_bytes(own) for key, own in value.items()) + b"}"


def as_text(text: str) -> bytes:
    data = text.encode()
    return b"I" + len(data).to_bytes(2, "big") + data


VALUES = st.recursive(
    st.booleans() | st.integers(-(2**31), 2**31 - 1) | st.text(max_size=5),
    lambda inside: (
        st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=3), inside, max_size=4)
    ),
)


@given(VALUES)
def test_values_of_all_kinds_are_whole_until_they_are_cut(value):
    data = as_bytes(value)
    assert is_whole(data)
    assert not any(is_whole(data[:length]) for length in range(len(data)))


@given(st.binary(max_size=60))
def test_any_bytes_get_an_answer(data):
    assert is_whole(data) in (True, False)


def test_depth_without_end_is_no_file():
    assert not is_whole(b"[" * 100_000)
