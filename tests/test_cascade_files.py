"""Cascades in files: what was changed by hand is refused, not predicted with."""

import json

import numpy as np
import pytest
from paths import HEART, PATH

import thriftwood as tw
from thriftwood.errors import InputError
from thriftwood.forest.files import save_arrays


@pytest.fixture
def file(tmp_path):
    PATH.cascade(HEART.X, HEART.y, stages=4).save(tmp_path / "cascade.tw")
    return tmp_path / "cascade.tw"


def rewrite(file, change):
    """Change the arrays of a file, or what its header says, so that no checksum notices."""
    with np.load(file) as content:
        arrays = dict(content)
    header = json.loads(str(arrays.pop("header")))
    change(arrays, header)
    save_arrays(file, header, arrays)


def entry(name, place, value):
    def change(arrays, _header):
        arrays[name][place] = value

    return change


def whole(name, value):
    def change(arrays, _header):
        arrays[name] = value(arrays[name])

    return change


def fact(stage, name, value):
    def change(_arrays, header):
        header["stages"][stage][name] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        entry("rule_thresholds", (0, 1), np.nan),
        entry("rule_thresholds", (0, 1), -1.0),
        entry("rule_thresholds", (0, -1), np.inf),
        entry("rule_costs", 0, np.nan),
        entry("rule_errors", 0, np.inf),
        entry("rule_losses", 0, -np.inf),
        entry("rule_costs", 0, -1.0),
        entry("rule_errors", 0, 5.0),
        entry("rule_standard_errors", 0, -1.0),
        whole("stage_0_values", lambda values: 5 * values),
        entry("thresholds", -1, 0.5),
        whole("rule_costs", lambda costs: costs[:, None]),
        whole("rule_costs", lambda costs: costs[::-1]),
        whole("rule_thresholds", lambda thresholds: thresholds[:, 1:]),
        whole("prices_prices", lambda prices: prices[:-1]),
        fact(0, "input_dtype", "float16"),
        fact(0, "input_dtype", "object"),
        fact(0, "n_features", 13.0),
        fact(0, "n_features", 0),
        fact(0, "classes", [0, 2]),
        fact(0, "feature_names", ["a"] * 13),
        lambda _, header: header["stages"].pop(),
        lambda _, header: header.pop("prices"),
    ],
)
def test_what_does_not_fit_is_refused(file, change):
    rewrite(file, change)
    with pytest.raises(InputError, match="damaged"):
        tw.CascadeClassifier.load(file)


def test_a_file_that_was_only_written_again_is_read(file):
    expected = tw.CascadeClassifier.load(file).predict_proba(HEART.X)
    rewrite(file, lambda _arrays, _header: None)
    np.testing.assert_array_equal(tw.CascadeClassifier.load(file).predict_proba(HEART.X), expected)
