"""What every adapter must keep, whatever library grew the trees."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from models import random_kept
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from thriftwood import feature_bill
from thriftwood.adapters import compact_model, read_forest, required_columns, write_model
from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import (
    Forest,
    collapse,
    leaves,
    predict,
    scores,
)
from thriftwood.forest.table import read_table

# What a library says about a table of rows.
Says = Callable[[Any, Any], NDArray[Any]]


def rows_of(forest: Forest, X: Any) -> NDArray[Any]:
    return read_table(X, forest.input_dtype, forest.category_labels).values


def awkward_rows(forest: Forest, X: NDArray[Any], n_samples: int = 400, seed: int = 0) -> Any:
    """Rows drawn from the columns of X, mixed with every value that is easy to get wrong.

    NaN, both infinities, zeros of both signs and next to zero, and every column's thresholds with
    the doubles and the float32 numbers on either side of them.
    """
    rng = np.random.default_rng(seed)
    X = np.asarray(X, dtype=np.float64)
    rows = np.empty((n_samples, X.shape[1]))
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-36, -1e-36, 1e-34, 3.5e38, -1.0, 1e30]
    for column in range(X.shape[1]):
        at = forest.threshold[forest.is_split & (forest.feature == column)]
        single = at.astype(np.float32)
        near = [at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)]
        with np.errstate(over="ignore"):  # CatBoost splits at the largest float32
            near += [np.nextafter(single, np.float32(s)).astype(float) for s in (np.inf, -np.inf)]
        choice = np.concatenate([*near, special, rng.choice(X[:, column], 30)])
        rows[:, column] = rng.choice(choice, n_samples)
    keep = rng.random(rows.shape) < 0.5  # half of it stays plain
    return np.where(keep, X[rng.integers(len(X), size=n_samples)], rows)


def check_reading(model: Any, X: Any, score: Says, leaf: Says | None = None) -> Forest:
    """A forest gives every row the score of its model, from the same leaves."""
    forest = read_forest(model)
    rows = rows_of(forest, X)
    expected = np.asarray(score(model, X), dtype=np.float64).reshape(len(rows), -1)
    np.testing.assert_allclose(scores(forest, rows), expected, rtol=2e-6, atol=2e-6)
    if leaf is not None:
        found, own = leaves(forest, rows), leaf(model, X)
        for tree in range(forest.n_trees):
            # The library may number leaves its own way: one name for each of ours.
            pairs = np.unique(np.stack([found[:, tree], own[:, tree]]), axis=1)
            assert pairs.shape[1] == len(np.unique(pairs[0])) == len(np.unique(pairs[1]))
    return forest


def check_predictions(model: Any, X: Any, says: Says) -> None:
    """A forest predicts the probabilities, or numbers, of its model."""
    forest = read_forest(model)
    expected = np.asarray(says(model, X), dtype=np.float64)
    found = predict(forest, rows_of(forest, X))
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-5, atol=1e-6)


def check_writing(model: Any, X: Any, score: Says, seed: int = 0, share: float = 0.6) -> Any:
    """A written model is the collapsed forest; reading it gives that forest again."""
    forest = read_forest(model)
    before = np.asarray(score(model, X))
    kept = random_kept(forest, seed, share)
    written = write_model(model, kept)
    assert type(written) is type(model)
    check_same(read_forest(written), collapse(forest, kept)[0])
    check_reading(written, X, score)
    check_compact(written, X, score)
    np.testing.assert_array_equal(np.asarray(score(model, X)), before)  # it is not changed
    return written


def check_compact(model: Any, X: Any, score: Says) -> None:
    """A model that takes fewer columns, and is no pipeline, has the same trees over these."""
    forest, compact = read_forest(model), compact_model(model)
    if isinstance(compact, Pipeline):
        return
    columns = required_columns(forest)
    assert type(compact) is type(model)
    found, place = read_forest(compact), np.searchsorted(columns, forest.feature)
    check_same(found, replace(forest, feature=np.where(forest.is_split, place, -1)), rtol=1e-12)
    names = forest.feature_names
    assert found.n_features == len(columns)
    assert found.feature_names == (names and tuple(names[column] for column in columns))
    only = X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]
    np.testing.assert_array_equal(score(compact, only), score(model, X))


def check_new_values(model: Any, X: Any, score: Says, seed: int = 0, rtol: float = 1e-6) -> Any:
    """A model written with new values says these; `rtol` is how well it keeps inner ones."""
    forest = read_forest(model)
    rng = np.random.default_rng(seed)
    kept = random_kept(forest, seed, 0.6)
    # A booster's tree speaks for one class: where it says nothing it cannot learn to.
    values = np.where(forest.values == 0.0, 0.0, rng.normal(size=forest.values.shape))
    written = write_model(model, kept, values)
    check_same(read_forest(written), collapse(replace(forest, values=values), kept)[0], rtol)
    check_reading(written, X, score)
    return written


def check_same(found: Forest, expected: Forest, rtol: float = 1e-6) -> None:
    """Both forests decide and say the same, but for rounding to the library's own numbers."""
    for name in ("tree_start", "feature", "left", "right", "missing_left", "zero_is_missing"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    np.testing.assert_array_equal(found.threshold, expected.threshold)
    np.testing.assert_allclose(found.values, expected.values, rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(found.bias, expected.bias, rtol=1e-6, atol=1e-9)
    assert (found.link, found.combine) == (expected.link, expected.combine)
    for h in np.flatnonzero(expected.category_set >= 0):
        np.testing.assert_array_equal(members(found, h), members(expected, h))


def members(forest: Forest, h: int) -> NDArray[Any]:
    """The categories that a split sends left."""
    number = forest.category_set[h]
    return np.flatnonzero(forest.in_set[forest.set_start[number] : forest.set_start[number + 1]])


def pruned_pair(model: Any, share: float = 0.6) -> tuple[Any, Forest]:
    """A model written with this share of its splits, and the forest that it should be."""
    forest = read_forest(model)
    kept = random_kept(forest, 3, share)
    return write_model(model, kept), collapse(forest, kept)[0]


def check_writing_again(model: Any, X: Any, score: Says) -> None:
    """A written model, and its pickle, can be written like any other."""
    forest = read_forest(model)
    values = np.where(forest.values == 0, 0, 0.5)
    once = write_model(model, random_kept(forest, 0, 0.8), values)
    again = pickle.loads(pickle.dumps(once))
    check_same(read_forest(again), read_forest(once))
    twice = check_writing(again, X, score, seed=3)
    assert set(np.unique(np.abs(read_forest(twice).values).round(9))) <= {0.0, 0.5}


def check_smaller_bill(model: Any, X: Any) -> None:
    """A model with fewer splits buys less."""
    prices = np.arange(1.0, X.shape[1] + 1)
    pruned = write_model(model, random_kept(read_forest(model), 1, 0.3))
    full = feature_bill(model, X, prices).mean
    assert 0 < feature_bill(pruned, X, prices).mean < full <= prices.sum()


def check_unknown_loss_refused(model: Any) -> None:
    """A model of scikit-learn whose loss is the user's own is not guessed at."""

    class MyLoss(type(model._loss)):
        pass

    model._loss = MyLoss()
    with pytest.raises(UnsupportedModelError, match="the loss MyLoss"):
        read_forest(model)
