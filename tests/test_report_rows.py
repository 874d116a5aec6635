"""Which rows a report page counts, how much, and which it shows."""

import numpy as np
import pytest
from report_pages import COSTS, VALIDATION, X, data_of, heart_path

import thriftwood as tw

SHORT = {"rtol": 1e-6, "atol": 1e-9}  # pages hold seven digits


@pytest.fixture(scope="module")
def path():
    return heart_path()


def test_weighted_validation_rows_choose_as_the_path_does(path):
    weights = np.where(VALIDATION[1] == 1, 9.0, 0.5)
    data = data_of(path, validation=(*VALIDATION, weights))
    measured = path.evaluate(*VALIDATION, sample_weight=weights)
    np.testing.assert_allclose(data["curve"]["validation"]["error"][1:], measured.error, **SHORT)
    assert data["start"]["point"] == path.choose(*VALIDATION, sample_weight=weights).index
    assert data["weighting"] == "Validation rows count by weights."
    assert data_of(path, validation=(*VALIDATION, None))["weighting"] == ""


def test_typical_rows_are_those_of_repeated_rows():
    weights = np.arange(len(X)) % 4
    data = data_of(heart_path(sample_weight=weights), sample_weight=weights)
    repeated = X.iloc[np.repeat(np.arange(len(X)), weights)]
    bills = np.sort(tw.feature_bill(heart_path().model, repeated, COSTS).per_sample)
    for row, share in zip(data["rows"], (0.1, 0.5, 0.9), strict=True):
        paid = sum(line["price"] for line in row["lines"])
        place = int(np.ceil(share * len(bills))) - 1
        assert paid == pytest.approx(bills[place], rel=1e-6)


def test_without_receipts_the_page_shows_no_values(path):
    data = data_of(path, receipts=False)
    assert data["rows"] == []
    assert all(point["receipts"] == [] for point in data["points"])
