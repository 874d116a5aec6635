"""What the user gave for a page, read and checked."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from thriftwood.baselines.size_path import SizePath
from thriftwood.costs import AnyCosts, PriceList, prices_of_samples
from thriftwood.distributed import is_partitioned
from thriftwood.errors import InputError
from thriftwood.forest.table import Table, read_rows
from thriftwood.problem.losses import Loss
from thriftwood.problem.targets import ClassWeight, read_weights
from thriftwood.pruning.path import PruningPath
from thriftwood.refitting import read_labelled
from thriftwood.support.arrays import FloatArray
from thriftwood.support.validation import whole_number

FEWEST_POINTS = 3  # the first, the last and the suggested one


@dataclass(frozen=True, eq=False)
class GivenPage:
    """A path, its rows, and how they are to be shown.

    Attributes
    ----------
    path : PruningPath
    X, y
        The rows that the path was computed on, as the user has them.
    table : Table
        The same rows, read.
    prices : PriceList
        Of these rows.
    weights : shape (n_samples,)
    validation : X, y and weights, optional
        The weights are None where all rows count alike.
    costs, loss, class_weight, sample_weight, commands, max_points, receipts
        As in `write_page`.
    title : str
    """

    path: PruningPath
    X: Any
    y: ArrayLike
    table: Table
    prices: PriceList
    weights: FloatArray
    validation: tuple[Any, ArrayLike, ArrayLike | None] | None
    costs: AnyCosts
    loss: Loss
    class_weight: ClassWeight
    sample_weight: ArrayLike | None
    title: str
    commands: Callable[[int, float], str] | None
    max_points: int
    receipts: bool


def read_given(
    path: Any,
    X: Any,
    y: ArrayLike,
    *,
    validation: Any,
    costs: AnyCosts,
    loss: Loss,
    class_weight: ClassWeight,
    sample_weight: ArrayLike | None,
    title: Any,
    commands: Any,
    max_points: Any,
    receipts: Any,
) -> GivenPage:
    """Read what the user gave; parameters as in `write_page`."""
    _check_path(path)
    if title is not None and (not isinstance(title, str) or not title.strip()):
        raise InputError(f"`title` is {reprlib.repr(title)}: pass some words, or nothing.")
    if commands is not None and not callable(commands):
        raise InputError(
            f"`commands` is {reprlib.repr(commands)}: pass a function of a point and a tradeoff "
            "that returns a command."
        )
    if not isinstance(receipts, bool):
        raise InputError(f"`receipts` is {reprlib.repr(receipts)}: pass True or False.")
    table = _read_table(X, path)
    _check_validation_prices(path, validation)
    names = path.forest.feature_names or table.names
    return GivenPage(
        path=path,
        X=X,
        y=y,
        table=table,
        prices=prices_of_samples(path.prices, "path", costs, names, table.n_samples),
        weights=read_weights(sample_weight, table.n_samples),
        validation=_read_validation(validation),
        costs=costs,
        loss=loss,
        class_weight=class_weight,
        sample_weight=sample_weight,
        title=title or f"What this {type(path.model).__name__} could cost",
        commands=commands,
        max_points=whole_number(max_points, "max_points", FEWEST_POINTS),
        receipts=receipts,
    )


def _check_path(path: Any) -> None:
    if isinstance(path, SizePath):
        raise InputError(
            "A SizePath has no tradeoffs, so there is no page for it: pass a path of prune_path."
        )
    if not isinstance(path, PruningPath):
        raise InputError(
            f"`path` is {reprlib.repr(path)}: pass what prune_path or PruningPath.load returned."
        )


def _read_table(X: Any, path: PruningPath) -> Table:
    if is_partitioned(X):
        raise InputError(
            "X comes in pieces, but the page needs its rows in memory: pass an array or a data "
            "frame, and a path that was computed on the same rows."
        )
    return read_rows(X, path.forest)


def _check_validation_prices(path: PruningPath, validation: Any) -> None:
    if path.prices.is_tied_to_samples and validation is not None:
        raise InputError(
            "The prices of the path belong to the rows that it was computed on, so that nobody "
            "knows what validation rows pay: leave `validation` out."
        )


def _read_validation(validation: Any) -> tuple[Any, ArrayLike, ArrayLike | None] | None:
    if validation is None:
        return None
    X, y, weights = read_labelled(validation, "validation")
    if is_partitioned(X):
        raise InputError("The validation rows come in pieces: pass rows that are in memory.")
    return X, y, weights
