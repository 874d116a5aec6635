"""Price lists as tables: a line for every feature, and for every group that has a fee.

Law: a table that was written reads back as the same prices, or writing raises. No cell goes over
several lines, so every line of a file is read alone. Where decimals have commas, spreadsheets put
semicolons between cells: such tables are read too, but not written.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Any

from thriftwood.costs.checks import check, check_price
from thriftwood.errors import InputError
from thriftwood.support.text import from_cell, shown, to_cell
from thriftwood.support.validation import did_you_mean, some

Values = dict[str, Any]  # of parameters of `Costs`
Places = dict[tuple[str | int, ...], str]  # of these values, by their keys

COLUMNS = ("name", "price", "group", "requires", "per_model", "per_query")
BESIDES = ("per_model", "per_query")
NUMBERS = ("price", *BESIDES)
SYNONYMS = {"feature": "name", "test": "name", "column": "name", "cost": "price"}
# A table has no column for these: they stand in comments above it, such as "# unit = CAD".
SETTINGS = ("unit", "predictions", "per_split", "per_node", "weigh_bills")
TRUTHS = {"true": True, "false": False}
# What to do about too many cells, by what is between cells.
TOO_MANY_CELLS = {
    ",": "Put names with commas in quotes, and write 5.17 instead of 5,17.",
    ";": "Put cells with semicolons in quotes.",
}
THOUSANDS = r"[1-9][0-9]{0,2}(\.[0-9]{3})+"
MOST_LINES = 20  # of a printed list


def parse_csv(file: str, text: str) -> tuple[Values, Places]:
    """Return what a file says, and where; whether names and prices make sense is not looked at."""
    rows: dict[int, str] = {}
    comments: dict[int, str] = {}
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        # Spreadsheets put quotes around a comment that has a separator in it.
        is_comment = line.lstrip(' "').startswith("#")
        (comments if is_comment else rows)[number] = line
    first = next((line for line in rows.values() if line.strip(" \t,;")), "")
    separator = ";" if ";" in first and "," not in first else ","
    settings = _settings(file, comments, separator)
    lines = _lines(file, rows, separator)

    def read(cell: str, where: str) -> float:
        number = _number(cell, separator)
        check_price(number, where)
        return float(number)

    values, places = _gathered(lines, read)
    for key, (where, cell) in settings.items():
        places[key,] = where
        if key in ("per_split", "per_node"):
            values[key] = read(cell, where)
        elif key == "weigh_bills":
            values[key] = TRUTHS.get(cell.lower(), cell)
        else:
            values[key] = cell if key == "unit" else _number(cell, separator)
    return values, places


def frame_values(frame: Any, argument: str) -> Values:
    """Return what a data frame says; where no column has the names, its index has."""
    where = f"`{argument}`"
    if not hasattr(frame, "columns") or not len(frame):
        raise InputError(
            f"{where} is no data frame with prices: pass one with a line for every feature, or "
            "read a file by `Costs.from_file`.",
            argument,
        )
    header = _header([str(name) for name in frame.columns], where, names_beside=True)
    columns = {own: list(frame[name]) for own, name in zip(header, frame.columns, strict=True)}
    if "name" not in columns:
        columns["name"] = index_names(frame, argument) or list(range(len(frame)))
    for name, column in columns.items():
        columns[name] = ["" if cell is None or cell != cell else cell for cell in column]
    rows = zip(*columns.values(), strict=True)
    lines = [
        (f"{where}, row {n}", dict(zip(columns, row, strict=True))) for n, row in enumerate(rows)
    ]
    _refuse_repeated(lines)
    values, places = _gathered(lines, lambda price, _: price)
    check(values, lambda *keys: places.get(keys, where))
    return values


def index_names(frame: Any, argument: str) -> list[str] | None:
    """Return the names in the index of a Series or a data frame; None where it only counts."""
    index = list(getattr(frame, "index", range(len(frame))))
    if all(isinstance(name, str) for name in index):
        if len(set(index)) < len(index):
            raise InputError(f"`{argument}` names a feature twice: give each feature one price.")
        return index
    if index != list(range(len(index))):
        raise InputError(
            f"`{argument}` is a {type(frame).__name__} whose index is neither the feature names "
            "nor 0, 1, 2, ... in order: it is not clear which price belongs to which feature."
        )
    return None


def csv_text(file: str, values: Values) -> str:
    """Return a table that reads back as these values, or raise."""
    rows = _rows(values)
    used = [*COLUMNS[:2], *(name for name in COLUMNS[2:] if any(row[name] != "" for row in rows))]
    stream = io.StringIO()
    for key in SETTINGS:
        if key in values:
            line = f"# {key} = {values[key]}"
            quoted = '"{}"'.format(line.replace('"', '""'))  # where it would be several cells
            stream.write(f"{quoted if re.search('[,;]', line) else line}\n")
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(used)
    for row in rows:
        cells = (row[name] for name in used)
        table.writerow([to_cell(cell) if isinstance(cell, str) else cell for cell in cells])
    try:
        back, _ = parse_csv("", stream.getvalue())
        check(back, lambda *_: "")
        is_same = _without_order(back) == _without_order(values)
    except InputError:
        is_same = False
    if not is_same:
        raise InputError(
            f"{file}: a table cannot hold these prices. It needs a price for every feature by "
            "name, a member for every group, and names in one line that have no ';', do not begin "
            "with '#' and do not begin or end with a space. Write .json or .toml instead."
        )
    return stream.getvalue()


def printed(values: Values) -> str:
    """Return prices as people read them."""
    rows = [{name: name for name in COLUMNS}]
    for row in _rows(values):
        prices = {key: f"{row[key]:.6g}" for key in NUMBERS if row[key] != ""}
        rows.append({key: shown(cell) for key, cell in row.items()} | prices)
    used = [name for name in COLUMNS if any(row[name] for row in rows[1:])]
    width = {name: max(len(row[name]) for row in rows[: MOST_LINES + 1]) for name in used}
    align = {name: ">" if name in NUMBERS else "<" for name in used}
    lines = [
        "  ".join(["", *(f"{row[name]:{align[name]}{width[name]}}" for name in used)]).rstrip()
        for row in rows[: MOST_LINES + 1]
        if used
    ]
    if len(rows) > MOST_LINES + 1:
        lines.append(f"  ... and {len(rows) - MOST_LINES - 1} more")
    return "\n".join(lines)


def _settings(file: str, comments: Mapping[int, str], separator: str) -> dict[str, tuple[str, str]]:
    """Return what comments set, and where; comments that set nothing, nor seem to, are free."""
    settings: dict[str, tuple[str, str]] = {}
    for number, comment in comments.items():
        where = f"{file}, line {number}"
        quoted = comment.lstrip().startswith('"')
        whole = next(csv.reader([comment.strip()], delimiter=separator))[0] if quoted else comment
        text = whole.lstrip(' \t"#').rstrip(f' \t"{separator}')
        word, sign, value = (part.strip() for part in re.split("([=:]|$)", text, maxsplit=1))
        if not sign:
            continue
        for key in get_close_matches(word.lower(), SETTINGS, n=1, cutoff=0.75):
            if (word, sign) != (key, "="):
                raise InputError(
                    f"{where}: {comment.strip()!r} sets nothing. Did you mean '# {key} = {value}'? "
                    f"Settings are {some(SETTINGS)}."
                )
            if key in settings:
                raise InputError(f"{where}: {key!r} is already set in {settings[key][0]}.")
            settings[key] = where, value
    return settings


def _lines(file: str, rows: Mapping[int, str], separator: str) -> list[tuple[str, Any]]:
    """Return the cells of each line below the header by column, with the place of the line."""
    table = [
        (f"{file}, line {number}", _cells(f"{file}, line {number}", row, separator))
        for number, row in rows.items()
        if row.strip(f" \t{separator}")
    ]
    if len(table) < 2:
        raise InputError(
            f"{file}: there must be a header, such as 'name,price,group', and a line per feature."
        )
    (top, first), *below = table
    header = _header(first, top)
    for where, cells in below:
        if len(cells) != len(header):
            few = f"Empty cells need their {separator!r}, too."
            raise InputError(
                f"{where}: the number of cells is {len(cells)}, but the header has {len(header)}. "
                f"{TOO_MANY_CELLS[separator] if len(cells) > len(header) else few}"
            )
    lines = [(where, dict(zip(header, cells, strict=True))) for where, cells in below]
    _refuse_repeated(lines)
    return lines


def _cells(where: str, row: str, separator: str) -> list[str]:
    try:
        (cells,) = csv.reader([row], delimiter=separator, strict=True, skipinitialspace=True)
    except csv.Error as error:
        raise InputError(
            f"{where}: the quotes do not match ({error}). They end in the line they begin in."
        ) from None
    return [from_cell(cell.strip()) for cell in cells]


def _header(names: Sequence[str], where: str, names_beside: bool = False) -> list[str]:
    """Return our own names of the columns; those of features may stand beside the table."""
    advice = f"Columns are {some(COLUMNS)}."
    header = [SYNONYMS.get(name.strip().lower(), name.strip().lower()) for name in names]
    for column, name in zip(header, names, strict=True):
        if column not in COLUMNS:
            hint = did_you_mean(column, (*COLUMNS, *SYNONYMS)) or " Leave it out."
            raise InputError(f"{where}: {name!r} is no column of a price list.{hint} {advice}")
        if header.count(column) > 1:
            raise InputError(f"{where}: there are two columns {column!r}.")
    for column in COLUMNS[names_beside:2]:
        if column not in header:
            raise InputError(f"{where}: the column {column!r} is missing. {advice}")
    return header


def _refuse_repeated(lines: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    places: dict[Any, str] = {}
    for where, cells in lines:
        name = cells["name"]
        if name == "":
            raise InputError(f"{where}, column 'name': the name is empty.")
        if name in places:
            raise InputError(f"{where}, column 'name': {name!r} is already in {places[name]}.")
        places[name] = where


def _gathered(
    lines: Sequence[tuple[str, Mapping[str, Any]]], read: Callable[[Any, str], Any]
) -> tuple[Values, Places]:
    """Return what lines say as parameters of `Costs`, and where each value stands."""
    keys = ("per_feature", "groups", "group_fee", "requires", *BESIDES)
    values: Values = {key: {} for key in keys}
    places: Places = {}

    for where, cells in lines:
        for group in _split(cells.get("group", "")):
            values["groups"].setdefault(group, []).append(cells["name"])
        places["groups", cells["name"]] = f"{where}, column 'group'"
    for where, cells in lines:
        name = cells["name"]
        if requires := _split(cells.get("requires", "")):
            values["requires"][name] = requires
            places["requires", name] = f"{where}, column 'requires'"
        own_price = "group_fee" if name in values["groups"] else "per_feature"
        for column, key in (("price", own_price), *zip(BESIDES, BESIDES, strict=True)):
            cell = cells.get(column, "")
            if cell != "" or key == "per_feature":
                places[key, name] = f"{where}, column {column!r}"
                values[key][name] = read(cell, places[key, name])
    return {key: value for key, value in values.items() if value}, places


def _split(cell: str) -> list[str]:
    """Return the names that a cell lists."""
    return [name.strip() for name in cell.split(";") if name.strip()]


def _number(cell: str, separator: str) -> float | str:
    """Return a cell as a number, or as it is.

    Between semicolons decimals may have a comma, and 1.200 may mean 1200: that is no number.
    """
    text = cell.replace(",", ".") if separator == ";" else cell
    # Python would also read 1_000, and digits of other scripts.
    if not re.fullmatch(r"[0-9A-Za-z.+-]+", text):
        return cell
    if separator == ";" and re.fullmatch(THOUSANDS, cell):
        return cell
    try:
        return float(text)
    except ValueError:
        return cell


def _rows(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of a table: features by name or number, then groups."""
    given = [values.get(key, {}) for key in ("per_feature", *BESIDES)]
    prices, *besides = (dict(one if isinstance(one, Mapping) else enumerate(one)) for one in given)
    groups_of: dict[Any, list[str]] = {}
    for group, members in (values.get("groups") or {}).items():
        for member in members:
            groups_of.setdefault(member, []).append(group)
    prices |= values.get("group_fee") or {}
    requires = values.get("requires") or {}
    return [
        {
            "name": name,
            "price": prices.get(name, ""),
            "group": "; ".join(groups_of.get(name, ())),
            "requires": "; ".join(map(str, requires.get(name, ()))),
            **{key: own.get(name, "") for key, own in zip(BESIDES, besides, strict=True)},
        }
        for name in dict.fromkeys(chain(prices, groups_of, *besides, requires))
    ]


def _without_order(values: Values) -> Values:
    """Return what is left where members have no order and empty mappings say nothing."""
    lists = {
        key: {name: set(names) for name, names in values.get(key, {}).items()}
        for key in ("groups", "requires")
    }
    return {key: value for key, value in {**values, **lists}.items() if value != {}}
