"""Samples for a model from a table: its own columns, in its own order."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import buying_stages
from thriftwood.errors import InputError
from thriftwood.forest import Forest, Inputs
from thriftwood.formats.tables.cells import (
    Tell,
    categories_of,
    dates_of,
    numbers_of,
    target_for,
    target_to_learn,
    weights_of,
)
from thriftwood.formats.tables.table import FileTable
from thriftwood.support.arrays import FloatArray
from thriftwood.support.columns import in_own_words
from thriftwood.support.text import check_names
from thriftwood.support.validation import did_you_mean, some

UNNAMED = (
    " One column has no name, as when pandas writes the numbers of rows: leave it out "
    "(index=False), or name it."
)
# Names that libraries give to columns which had none.
INVENTED = ("Column_{}", "f{}", "x{}", "{}", "feature_{}")


class Samples(NamedTuple):
    """Samples as a model is given them: features, target, weights and queries."""

    X: Any
    y: Any
    weight: FloatArray | None
    query: NDArray[Any] | None = None


def samples_for(
    table: FileTable,
    model: object,
    *,
    target: str | None = None,
    weight: str | None = None,
    query: str | None = None,
    like: Sequence[str] | None = None,
    labelled: bool = True,
    tell: Tell = warnings.warn,
) -> Samples:
    """Return the columns that a model asks for, in its order.

    Parameters
    ----------
    table : FileTable
    model : a fitted model
        Where it knows the names of its columns, these are taken and others ignored; otherwise
        all columns are, but for `target`, `weight` and `query`.
    target : str, optional
        The column of the target. None means the array "y" of an .npz file, and nothing in other
        files.
    weight : str, optional
        The column that says how much each sample counts; None likewise, with "weight".
    query : str, optional
        The column of the query that found a document; None likewise, with "qid".
    like : sequence of str, optional
        The columns of samples that the model got before. Where it knows no names, these are
        taken, in this order.
    labelled : bool
        Whether to return target and weights. Else these columns are only left out.
    tell : callable
        Gets a sentence on what the model cannot use.

    Returns
    -------
    samples : Samples
        `X` has the names that the model knows, or else those of the file, or numbers from 0: prices
        go by them. `y` has the labels of the model's own classes, or numbers.
    """
    import pandas as pd

    forest = buying_stages(model).richest
    y, counts = _target_and_weight(table, target, weight)
    queries = _queries(table, query, (target, weight))
    columns, names = _columns_for(table, forest, (target, weight, query), like)
    check_names(names, "A table")
    X = pd.DataFrame(
        {
            place: None if column is None else _cells(table, column, forest, place, tell)
            for place, column in enumerate(columns)
        },
        index=table.frame.index,
    )
    return Samples(
        X.set_axis(names, axis=1),
        target_for(table, y, forest.classes) if labelled and y is not None else None,
        weights_of(table, counts) if labelled and counts is not None else None,
        queries,
    )


def _queries(table: FileTable, query: str | None, others: tuple[str | None, ...]) -> Any:
    """Return the query of each sample, if a column says so."""
    if query is not None and query in others:
        raise table.refusal(query, "cannot be the queries and the target or the weight, too")
    found = _column(table, query, "qid")
    if found is not None and found.isna().any():
        row = int(np.flatnonzero(found.isna())[0])
        raise table.refusal(found.name, f"is empty in sample {row}: every document has a query")
    return None if found is None else found.to_numpy()


def _cells(table: FileTable, name: Any, forest: Forest, place: int, tell: Tell) -> Any:
    """Return a column as the model takes it: numbers, categories, or text for a pipeline."""
    column = table.frame[name]
    if forest.inputs is not None:
        return _cells_for(forest.inputs, table, column, place, tell)
    if place in forest.category_labels:
        return categories_of(table, column, forest.category_labels[place], tell)
    return numbers_of(table, column)


def _cells_for(inputs: Inputs, table: FileTable, column: Any, place: int, tell: Tell) -> Any:
    """Return a column as the first transformer of a pipeline takes it."""
    blank = inputs.blanks[place]
    if isinstance(blank, tuple):
        return categories_of(table, column, blank, tell)
    is_needed = any(place in own for own in inputs.columns.of_features or ())
    if is_needed and isinstance(blank, np.datetime64):
        return dates_of(table, column)
    if is_needed and not isinstance(blank, str):
        return numbers_of(table, column, "the pipeline was trained on numbers there")
    missing = None if place in inputs.nones else np.nan
    return table.as_written(column).astype(object).where(column.notna(), missing)


def samples_to_learn(
    table: FileTable,
    *,
    target: str | None = None,
    weight: str | None = None,
    query: str | None = None,
) -> Samples:
    """Return all columns of numbers but these, where there is no model yet.

    Columns without names are called "0", "1", ..., so that prices can go by these. Parameters are
    those of `samples_for`; the labels of `y` are those of the file.
    """
    y, counts = _target_and_weight(table, target, weight)
    queries = _queries(table, query, (target, weight))
    columns = [column for column in table.frame.columns if column not in (target, weight, query)]
    if not columns:
        raise InputError(f"{table.file} has no column to learn from. {_has(table)}")
    if "" in columns:
        raise InputError(f"{table.file} cannot be learnt from.{UNNAMED}")
    X = table.frame[columns].copy()
    for column in columns:
        X[column] = numbers_of(table, X[column], "features to learn from are numbers")
    return Samples(
        X.set_axis(X.columns.map(str), axis=1) if table.names is None else X,
        None if y is None else target_to_learn(table, y),
        None if counts is None else weights_of(table, counts),
        query=queries,
    )


def without_columns(table: FileTable, columns: Sequence[str], needed: bool = True) -> FileTable:
    """Return a table without some columns, which are no features; where `needed` it has them."""
    for name in columns:
        if needed and name not in table.frame.columns:
            hint = did_you_mean(name, _all_names(table))
            raise InputError(f"{table.file} has no column {name!r} to drop.{hint} {_has(table)}")
    dropped = [name for name in columns if name in table.frame.columns]
    return replace(table, frame=table.frame.drop(columns=dropped)) if dropped else table


def _target_and_weight(table: FileTable, target: str | None, weight: str | None) -> tuple[Any, Any]:
    """Return two columns as pandas Series, or None where they are not there."""
    found = _column(table, target, "y"), _column(table, weight, "weight")
    if target is not None and target == weight:
        raise table.refusal(target, "cannot be both the target and the weight")
    return found


def _column(table: FileTable, name: str | None, usual: str) -> Any:
    import pandas as pd

    key = usual if name is None else name
    if key in table.beside:
        values = table.beside[key]
        if values.shape not in ((table.n_samples,), (table.n_samples, 1)):
            raise InputError(
                f"{table.file}: the array {key!r} has shape {values.shape}, but X has "
                f"{table.n_samples} rows: it must have one entry for each."
            )
        return pd.Series(values.ravel(), name=key)
    if name is None:
        return None
    if name not in table.frame.columns:
        hint = did_you_mean(name, _all_names(table))
        raise InputError(f"{table.file} has no column {name!r}.{hint} {_has(table)}")
    return table.frame[name]


def _columns_for(
    table: FileTable, forest: Forest, taken: Sequence[str | None], like: Sequence[str] | None
) -> tuple[list[Any], Sequence[str]]:
    """Return the columns of a model, in its order, and what they are called.

    One that a pipeline drops is None where the table lacks it, or has the target there.
    """
    wanted = forest.columns.names
    if wanted is not None and table.names is not None:
        own = in_own_words(tuple(name.strip() for name in wanted), table.names)
        found = [name if name in table.names else None for name in own]
        invented = ([name.format(k) for k in range(len(wanted))] for name in INVENTED)
        if None not in found or list(wanted) not in invented:
            dropped = forest.inputs.dropped if forest.inputs is not None else frozenset()
            _check_found(
                table,
                [name for k, name in enumerate(wanted) if k not in dropped],
                [name for k, name in enumerate(found) if k not in dropped],
                taken,
            )
            return [None if name in taken else name for name in found], wanted
    columns = [column for column in table.frame.columns if column not in taken]
    if len(columns) != forest.columns.n_columns:
        named = " and ".join(repr(name) for name in taken if name is not None)
        besides = f" besides {named}" if named else ""
        raise InputError(
            f"{table.file} has {len(columns)} columns{besides}, but the model was trained on "
            f"{forest.columns.n_columns} features and does not know their names: keep those "
            "columns, in the order of the training; --drop leaves out one that is no feature. "
            f"{_has(table)}{UNNAMED if '' in columns else ''}"
        )
    if table.names is None:
        return columns, wanted or like or [str(place) for place in range(len(columns))]
    if like is not None:
        return _in_order(table, columns, like), like
    return columns, columns


def _check_found(
    table: FileTable, wanted: Sequence[str], found: list[str | None], taken: Sequence[str | None]
) -> None:
    missing = [name for name, own in zip(wanted, found, strict=True) if own is None]
    if missing:
        raise InputError(
            f"{table.file} has no column {some(missing)}, which the model asks for."
            f"{did_you_mean(missing[0], _all_names(table))} {_has(table)}"
        )
    for own in found:
        if own in taken:
            raise table.refusal(own, "is a feature of the model: no target and no weight")


def _in_order(table: FileTable, columns: list[Any], like: Sequence[str]) -> list[Any]:
    strange = [name for name in columns if name not in like]
    if strange and list(like) == [str(place) for place in range(len(like))]:
        return columns  # the other samples had no names
    if strange:
        says = f"is not among those of the other samples, {some(like)}"
        raise table.refusal(
            strange[0], f"{says}: as the model knows no names, both files must have the same"
        )
    return list(like)


def _all_names(table: FileTable) -> list[str]:
    return [*map(str, table.frame.columns), *table.beside]


def _has(table: FileTable) -> str:
    names = _all_names(table) if table.names is not None else list(table.beside)
    return f"It has {some(names)}." if names else "It names no columns."
