"""Categories of scikit-learn's histogram boosting: how it numbers them, and sets of them.

The model puts categorical columns first and numbers the categories of each in sorted order. A
forest takes the table as the user has it: categories that are whole numbers from 0 stay what they
are, text is numbered by its place in the labels of the column. A whole number between two known
ones is unknown to both; a number with a fraction, which no training row had, is unknown to
scikit-learn, while a forest cuts the fraction off.
"""

from typing import Any, NamedTuple

import numpy as np

from thriftwood.errors import UnsupportedModelError
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

# A set of categories has one entry for every number up to its largest.
LARGEST = 65_535


class Categories(NamedTuple):
    """The categories of a column: how a table has each, by the model's number; and their text."""

    numbers: IntArray
    labels: tuple[Any, ...] | None


def user_columns(model: Any) -> IntArray:
    """Return the column of the user's table that each column inside the model is."""
    is_categorical = model.is_categorical_
    if is_categorical is None:
        return np.arange(model.n_features_in_)
    return np.concatenate([np.flatnonzero(is_categorical), np.flatnonzero(~is_categorical)])


def read_categories(model: Any) -> dict[int, Categories]:
    """Return the categories of every categorical column, by the user's column."""
    if model.is_categorical_ is None:
        return {}
    encoder = model._preprocessor.named_transformers_["encoder"]
    columns = np.flatnonzero(model.is_categorical_).tolist()
    return {
        column: _categories(known.tolist(), column, model)
        for column, known in zip(columns, encoder.categories_, strict=True)
    }


def left_sets(
    bitsets: Any, missing_left: BoolArray, categories: list[Categories]
) -> tuple[IntArray, BoolArray]:
    """Return `set_start` and `in_set` of a forest for categorical splits.

    What scikit-learn does not know goes the way of missing values, in a forest it goes right. So
    where missing values go left, the forest has the children swapped, and in its set are the known
    categories that the model sends right.

    Parameters
    ----------
    bitsets : unsigned 32 bit, shape (n_splits, 8)
        The model's numbers of the categories that go left, one bit for each.
    missing_left : shape (n_splits,)
    categories : one for each split
    """
    bits = np.ascontiguousarray(bitsets, dtype="<u4").view(np.uint8)
    is_left = np.unpackbits(bits, axis=1, bitorder="little").astype(bool)
    sets = [np.empty(0, np.bool_)]
    for left, swapped, known in zip(is_left, missing_left, categories, strict=True):
        chosen = known.numbers[left[: len(known.numbers)] != swapped]
        members = np.zeros(chosen.max(initial=-1) + 1, dtype=np.bool_)
        members[chosen] = True
        sets.append(members)
    start = np.cumsum([len(members) for members in sets])
    return start, np.concatenate(sets)


def _categories(known: list[Any], column: int, model: Any) -> Categories:
    if known and isinstance(known[-1], float) and np.isnan(known[-1]):
        known = known[:-1]  # missing is no category of its own
    if not all(isinstance(one, (bool, int, float)) for one in known):
        return Categories(np.arange(len(known)), tuple(known))
    numbers: FloatArray = np.array(known, dtype=np.float64)
    if not ((numbers >= 0) & (numbers <= LARGEST) & (numbers == np.floor(numbers))).all():
        raise UnsupportedModelError(
            f"Categories of column {column} of this {type(model).__name__} are other numbers than "
            f"0, 1, 2 and so on up to {LARGEST}: number them so, or make text of them, and train "
            "again."
        )
    return Categories(numbers.astype(np.int64), None)
