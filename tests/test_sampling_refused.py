"""What `sample=` cannot do, and files of paths that came from a sample."""

from typing import Any

import numpy as np
import pytest
from good_calls import prune
from paths import FOREST, HEART, assert_same_path, heart_path
from sklearn.ensemble import HistGradientBoostingClassifier

import thriftwood as tw
from thriftwood.errors import InputError

BAD_SAMPLES = [0, 1, -5, 10.0, 0.5, True, False, "many", [10], np.nan]


@pytest.mark.parametrize("sample", BAD_SAMPLES, ids=repr)
def test_bad_samples_are_refused(sample: Any) -> None:
    with pytest.raises(InputError, match=r"`sample` is .*whole number of at least 2"):
        prune(sample=sample)
    with pytest.raises(InputError, match=r"`sample` is .*whole number of at least 2"):
        heart_path(sample=sample)


def test_what_has_no_meaning_with_a_sample_is_refused():
    with pytest.raises(InputError, match=r"samples='in_bag'.*leave `sample` out"):
        heart_path(sample=50, samples="in_bag")
    with pytest.raises(InputError, match=r"scope='each_tree'.*leave `sample` out"):
        heart_path(sample=50, make=tw.each_tree_path)
    known = np.zeros(HEART.X.shape, dtype=bool)
    with pytest.raises(InputError, match=r"prices belong to certain rows.*leave `sample` out"):
        heart_path(sample=50, costs=HEART.prices.for_samples(known=known))
    for solver in ("linear_program", tw.DantzigWolfe()):
        with pytest.raises(InputError, match="not within a budget or with a sample"):
            prune(sample=50, solver=solver)


def test_the_true_loss_of_a_boosted_model_has_no_sampled_path():
    y = HEART.y > 0
    model = HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(HEART.X, y)
    for how in ({"tradeoff": 0.01}, {"budget": 3}):
        with pytest.raises(InputError, match="leave `loss` or `sample` out"):
            tw.prune(model, HEART.X, y, loss="log_loss", sample=50, **how)


def test_a_sample_without_any_weight_is_refused():
    weights = np.zeros(len(HEART.y))
    weights[0] = 1
    with pytest.raises(InputError, match="None of the 3 rows that were drawn has any weight"):
        heart_path(sample=3, sample_weight=weights)


def test_a_sampled_path_comes_back_from_its_file(tmp_path):
    path = heart_path(sample=100)
    path.save(tmp_path / "path")
    loaded = tw.PruningPath.load(tmp_path / "path", FOREST)
    assert_same_path(loaded, path)
    np.testing.assert_array_equal(loaded.proof.errors, path.proof.errors)
    assert loaded.sampled == path.sampled == (100, 303)
    assert loaded.original == path.original
    assert repr(loaded.at(budget=60)) == repr(path.at(budget=60))


@pytest.mark.parametrize(
    "change",
    [
        {"sampling_errors": np.zeros(3)},
        {"sampling_errors": None},
        {"sampled": None},
        {"sampled": np.array([100])},
        {"sampled": np.array([0.5, 1.5])},
    ],
)
def test_files_whose_sample_does_not_fit_are_damaged(tmp_path, change):
    file = tmp_path / "path"
    heart_path(sample=100).save(file)
    with np.load(file) as content:
        arrays = {**content, **change}
    with file.open("wb") as stream:
        np.savez(stream, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(InputError, match="damaged"):
        tw.PruningPath.load(file)
