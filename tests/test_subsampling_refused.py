"""What `subsample=` cannot do, and files of paths that came from a subsample."""

from typing import Any

import numpy as np
import pytest
from paths import FOREST, HEART, assert_same_path, heart_path, heart_problem
from sklearn.ensemble import HistGradientBoostingClassifier

import thriftwood as tw
from thriftwood.errors import InputError

BAD_SUBSAMPLES = [0, 1, -5, 10.0, True, "many", [10], np.nan]


@pytest.mark.parametrize("subsample", BAD_SUBSAMPLES, ids=repr)
def test_bad_subsamples_are_refused(subsample: Any) -> None:
    with pytest.raises(InputError, match=r"`subsample` is .*whole number of at least 2"):
        heart_problem(subsample=subsample)


def test_what_has_no_meaning_with_a_subsample_is_refused():
    with pytest.raises(InputError, match=r"samples='in_bag'.*leave `subsample` out"):
        heart_problem(subsample=50, samples="in_bag")
    known = np.zeros(HEART.X.shape, dtype=bool)
    with pytest.raises(InputError, match=r"belong to certain samples.*leave `subsample` out"):
        heart_problem(subsample=50, costs=HEART.prices.for_samples(known=known))
    for solver in ("linear_program", tw.DantzigWolfe()):
        with pytest.raises(InputError, match="on all samples in memory"):
            tw.prune(heart_problem(subsample=50), tradeoff=0.01, solver=solver)


def test_the_true_loss_of_a_boosted_model_cannot_be_subsampled():
    y = HEART.y > 0
    model = HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(HEART.X, y)
    with pytest.raises(InputError, match="leave `loss` or `subsample` out"):
        tw.pruning_problem(model, HEART.X, y, loss="log_loss", subsample=50)


def test_a_subsample_without_any_weight_is_refused():
    weights = np.zeros(len(HEART.y))
    weights[0] = 1
    with pytest.raises(InputError, match="None of the 3 samples that were drawn has any weight"):
        heart_problem(subsample=3, sample_weight=weights)


@pytest.mark.parametrize("seconds", [None, 0])
def test_a_subsampled_path_comes_back_from_its_file(tmp_path, seconds):
    path = tw.prune_path(heart_problem(subsample=100), time_limit=seconds)
    path.save(tmp_path / "path")
    loaded = tw.PruningPath.load(tmp_path / "path", FOREST)
    assert loaded.proof.is_finished == path.proof.is_finished == (seconds is None)
    assert_same_path(loaded, path)
    np.testing.assert_array_equal(loaded.proof.gaps, path.proof.gaps)
    assert (loaded.proof.n_drawn, loaded.proof.n_samples) == (100, 303)
    assert loaded.original == path.original
    assert repr(loaded.at(budget=60)) == repr(path.at(budget=60))


@pytest.mark.parametrize(
    "change",
    [
        {"gaps": np.zeros(3)},
        {"gaps": None},
    ],
)
def test_files_whose_subsample_does_not_fit_are_damaged(tmp_path, change):
    file = tmp_path / "path"
    heart_path(subsample=100).save(file)
    with np.load(file) as content:
        arrays = {**content, **change}
    with file.open("wb") as stream:
        np.savez(stream, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(InputError, match="damaged"):
        tw.PruningPath.load(file)
