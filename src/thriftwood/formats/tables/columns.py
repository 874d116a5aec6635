"""Which columns of a table a model asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.forest import Forest

if TYPE_CHECKING:
    from thriftwood.formats.tables.row_table import RowTable

# Names that libraries give to columns which had none.
INVENTED = ("Column_{}", "f{}", "x{}", "{}", "feature_{}")
FEW = 5


class Columns(NamedTuple):
    """Columns of a table, and what the model calls them, if it knows names."""

    own: list[Any]
    names: tuple[str, ...] | None


def column_named(table: RowTable, name: str | None, usual: str) -> Any:
    """Return a column as a pandas Series, or None where it is neither named nor usually there."""
    import pandas as pd

    key = usual if name is None else name
    if key in table.beside:
        return pd.Series(_one_for_each(table, key), name=key)
    if name is None:
        return None
    if name not in table.frame.columns:
        raise InputError(
            f"{table.file} has no column {name!r}.{_nearest(name, _all_names(table))} "
            f"{_listed(table)}"
        )
    return table.frame[name]


def check_different(table: RowTable, target: str | None, weight: str | None) -> None:
    """Refuse a column that is to be the target and the weight at once."""
    if target is not None and target == weight:
        raise InputError(
            f"{table.file}: the column {target!r} cannot be both the target and the weight."
        )


def columns_for(
    table: RowTable,
    forest: Forest,
    taken: Sequence[str | None],
    like: Sequence[str] | None = None,
) -> Columns:
    """Return the model's columns, in its order.

    Parameters
    ----------
    table : RowTable
    forest : Forest
        The trees of the model.
    taken : names of columns
        Those that are the target and the weight.
    like : names of columns, optional
        As in `RowTable.rows_for`.
    """
    wanted = forest.feature_names
    if wanted is not None and table.names is not None:
        found = [_called(name, table.names) for name in wanted]
        if None not in found or not _are_invented(wanted):
            return Columns(_checked(table, wanted, found, taken), wanted)
    columns = other_columns(table, taken)
    if len(columns) != forest.n_features:
        raise InputError(
            f"{table.file} has {len(columns)} columns{_besides(taken)}, but the model was trained "
            f"on {forest.n_features} features and does not know their names: keep those columns, "
            f"in the order of the training; one that is no feature may be the --target. "
            f"{_listed(table)}"
            f"{_about_unnamed(columns)}"
        )
    if table.names is None:
        return Columns(columns, wanted)
    if like is not None:
        columns = _in_order(table, columns, like)
    return Columns(columns, None)


def numbers_as_names(n_columns: int) -> list[str]:
    """Return what columns without names go by: their numbers, from 0."""
    return [str(column) for column in range(n_columns)]


def other_columns(table: RowTable, taken: Sequence[str | None]) -> list[Any]:
    """Return all columns that are not taken."""
    return [column for column in table.frame.columns if column not in taken]


def columns_to_learn(table: RowTable, taken: Sequence[str | None]) -> list[Any]:
    """Return all columns that are not taken, if each can be a feature."""
    columns = other_columns(table, taken)
    if not columns:
        raise InputError(f"{table.file} has no column to learn from. {_listed(table)}")
    if "" in columns:
        raise InputError(f"{table.file} cannot be learnt from.{_about_unnamed(columns)}")
    return columns


def _one_for_each(table: RowTable, name: str) -> NDArray[Any]:
    values = table.beside[name]
    if values.shape not in ((table.n_samples,), (table.n_samples, 1)):
        raise InputError(
            f"{table.file}: the array {name!r} has shape {values.shape}, X has {table.n_samples} "
            "rows: it must have one entry for each."
        )
    return values.ravel()


def _called(name: str, names: Sequence[str]) -> str | None:
    """Return the column of this name; LightGBM writes the spaces of a name as underscores."""
    if name.strip() in names:
        return name.strip()
    return next((own for own in names if own.replace(" ", "_") == name), None)


def _are_invented(names: Sequence[str]) -> bool:
    return any(
        all(name == pattern.format(place) for place, name in enumerate(names))
        for pattern in INVENTED
    )


def _checked(
    table: RowTable, wanted: Sequence[str], found: list[str | None], taken: Sequence[str | None]
) -> list[str]:
    missing = [name for name, own in zip(wanted, found, strict=True) if own is None]
    if missing:
        named = ", ".join(map(repr, missing[:FEW])) + (" and others" if missing[FEW:] else "")
        raise InputError(
            f"{table.file} has no column {named}, which the model asks for."
            f"{_nearest(missing[0], _all_names(table))} {_listed(table)}"
        )
    for own in found:
        if own in taken:
            raise InputError(
                f"{table.file}: the column {own!r} is a feature of the model, so it can be neither "
                "the target nor the weight."
            )
    return [own for own in found if own is not None]


def _in_order(table: RowTable, columns: list[Any], like: Sequence[str]) -> list[Any]:
    strange = [name for name in columns if name not in like]
    if strange and list(like) == numbers_as_names(len(like)):
        return columns  # the other rows had no names
    if strange:
        raise InputError(
            f"{table.file}: the column {strange[0]!r} is not among those of the other rows, "
            f"{', '.join(map(repr, like[:FEW]))}{' and others' if like[FEW:] else ''}: as the "
            "model does not know the names of its features, both files must have the same."
        )
    return list(like)


def _besides(taken: Sequence[str | None]) -> str:
    named = " and ".join(repr(name) for name in taken if name is not None)
    return f" besides {named}" if named else ""


def _all_names(table: RowTable) -> list[str]:
    return [*map(str, table.frame.columns), *table.beside]


def _nearest(name: str, names: Iterable[str]) -> str:
    by_case = {own.lower(): own for own in names}
    near = get_close_matches(name.lower(), by_case, n=1)
    return f" Did you mean {by_case[near[0]]!r}?" if near else ""


def _listed(table: RowTable) -> str:
    names = _all_names(table) if table.names is not None else list(table.beside)
    if not names:
        return "It names no columns."
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return f"It has {', '.join(map(repr, names[:FEW]))}{more}."


def _about_unnamed(columns: list[Any]) -> str:
    if "" not in columns:
        return ""
    return (
        " One column has no name, as when pandas writes the numbers of rows: leave it out "
        "(index=False), or name it."
    )
