"""Price files as tables: a line for every feature, and for every group that has a fee.

Law: a table that was written reads back as the same prices, or writing raises. No cell goes over
several lines, so every line is read alone. Where decimals have commas, spreadsheets put semicolons
between cells: such tables are read too, but not written.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from thriftwood.costs.document import Document, checked, listed
from thriftwood.errors import InputError
from thriftwood.support.validation import did_you_mean

REQUIRED = ("name", "price")
COLUMNS = (*REQUIRED, "group", "requires", "per_model")
PRICES = ("price", "per_model")
# What to do about them, by what is between cells.
TOO_MANY_CELLS = {
    ",": "Put names with commas in quotes, and write 5.17 instead of 5,17.",
    ";": "Put cells with semicolons in quotes.",
}
NUMBER = "[0-9.,]+([eE][+-]?[0-9]+)?"
THOUSANDS = r"[1-9][0-9]{0,2}(\.[0-9]{3})+"
# A table has no column for these: they stand in comments above it, such as "# unit = CAD".
SETTINGS = ("unit", "predictions", "per_split", "per_node")


class Setting(NamedTuple):
    """A comment that sets something."""

    number: int
    value: str


class Line(NamedTuple):
    """A line of the table, about a feature or a group."""

    number: int
    cells: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.cells["name"]

    def names(self, column: str) -> list[str]:
        """Return the names that a cell lists."""
        cell = self.cells.get(column)
        return [name.strip() for name in cell.split(";")] if cell else []

    def place(self, column: str) -> str:
        return f"line {self.number}, column {column!r}"


def parse_csv(file: str, text: str) -> Document:
    """Return what a table says; whether names and prices make sense is not looked at."""
    rows: dict[int, str] = {}
    comments: dict[int, str] = {}
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        # Spreadsheets put quotes around a comment that has a separator in it.
        is_comment = line.lstrip(' "').startswith("#")
        (comments if is_comment else rows)[number] = line
    separator = _separator(rows)
    rows = {number: line for number, line in rows.items() if line.strip(f" \t{separator}")}
    settings = _read_settings(file, comments, separator)
    lines = _read_lines(file, rows, separator)
    decimal = "." if separator == "," else _decimal_sign(file, settings, lines)
    return _document(file, settings, lines, decimal)


def _separator(rows: Mapping[int, str]) -> str:
    """Return what is between cells: a semicolon, if the header has one and no comma."""
    header = next(filter(lambda line: line.strip(" \t,;"), rows.values()), "")
    return ";" if ";" in header and "," not in header else ","


def _read_settings(file: str, comments: Mapping[int, str], separator: str) -> dict[str, Setting]:
    """Return what comments set; comments that set nothing, nor seem to, are free text."""
    settings: dict[str, Setting] = {}
    for number, comment in comments.items():
        text = comment.lstrip(' \t"#').rstrip(f' \t"{separator}')
        parts = [part.strip() for part in re.split("([=:])", text, maxsplit=1)]
        if len(parts) == 1:
            continue
        word, sign, value = parts
        for key in get_close_matches(word.lower(), SETTINGS, n=1, cutoff=0.75):
            if (word, sign) != (key, "="):
                raise InputError(
                    f"{file}, line {number}: {comment.strip()!r} sets nothing. Did you mean "
                    f"'# {key} = {value}'? Settings are {listed(SETTINGS)}."
                )
            if key in settings:
                before = settings[key].number
                raise InputError(f"{file}, line {number}: {key!r} is already set in line {before}.")
            settings[key] = Setting(number, value)
    return settings


def _read_lines(file: str, rows: Mapping[int, str], separator: str) -> list[Line]:
    """Return the lines of the table below its header."""
    cells = {number: _cells(file, number, row, separator) for number, row in rows.items()}
    if len(cells) < 2:
        raise InputError(
            f"{file}: there must be a header, such as 'name,price,group', and a line per feature."
        )
    (top, header), *below = cells.items()
    _check_header(file, top, header)
    lines: dict[str, Line] = {}
    for number, row in below:
        if len(row) != len(header):
            advice = f"Empty cells need their {separator!r}, too."
            if len(row) > len(header):
                advice = TOO_MANY_CELLS[separator]
            raise InputError(
                f"{file}, line {number}: the number of cells is {len(row)}, but the header has "
                f"{len(header)}. {advice}"
            )
        line = Line(number, dict(zip(header, row, strict=True)))
        _check_line(file, line, lines)
        lines[line.name] = line
    return list(lines.values())


def _cells(file: str, number: int, row: str, separator: str) -> list[str]:
    try:
        (cells,) = csv.reader([row], delimiter=separator, strict=True, skipinitialspace=True)
    except csv.Error as error:
        raise InputError(
            f"{file}, line {number}: the quotes do not match ({error}). A cell in quotes ends "
            "with them, in the same line."
        ) from None
    return [cell.strip() for cell in cells]


def _check_header(file: str, number: int, header: list[str]) -> None:
    advice = f"Columns are {listed(COLUMNS)}."
    if len(header) == 1 and "\t" in header[0]:
        raise InputError(
            f"{file}, line {number}: the cells are separated by tabs, not by commas or semicolons. "
            f"{advice}"
        )
    for column in header:
        if column not in COLUMNS:
            raise InputError(
                f"{file}, line {number}: there is no column {column!r}."
                f"{did_you_mean(column, COLUMNS)} {advice}"
            )
        if header.count(column) > 1:
            raise InputError(f"{file}, line {number}: there are two columns {column!r}.")
    for column in REQUIRED:
        if column not in header:
            raise InputError(f"{file}, line {number}: the column {column!r} is missing. {advice}")


def _check_line(file: str, line: Line, earlier: Mapping[str, Line]) -> None:
    if not line.name:
        raise InputError(f"{file}, {line.place('name')}: the name is empty.")
    if line.name in earlier:
        before = earlier[line.name].number
        raise InputError(
            f"{file}, {line.place('name')}: {line.name!r} is already in line {before}."
        )
    for column in ("group", "requires"):
        names = line.names(column)
        if "" in names:
            raise InputError(f"{file}, {line.place(column)}: a name is empty.")
        if len(set(names)) < len(names):
            raise InputError(f"{file}, {line.place(column)}: a name is there twice.")


def _decimal_sign(file: str, settings: Mapping[str, Setting], lines: list[Line]) -> str:
    """Return what begins decimals where semicolons are between cells.

    Points may stand for thousands there, so they are refused where nothing shows what they mean.
    """
    cells = {f"line {one.number}": one.value for key, one in settings.items() if key != "unit"}
    cells |= {line.place(key): line.cells.get(key, "") for line in lines for key in PRICES}
    numbers = {place: cell for place, cell in cells.items() if re.fullmatch(NUMBER, cell)}
    commas = {place: cell for place, cell in numbers.items() if "," in cell}
    points = {place: cell for place, cell in numbers.items() if "." in cell}
    if commas and points:
        first, comma = next(iter(commas.items()))
        second, point = next(iter(points.items()))
        raise InputError(
            f"{file}: {comma!r} has a comma ({first}) and {point!r} a point ({second}). Write all "
            "decimals in the same way, and thousands without any sign."
        )
    if points and all(re.fullmatch(THOUSANDS, cell) for cell in points.values()):
        place, cell = next(iter(points.items()))
        raise InputError(
            f"{file}, {place}: {cell!r} may stand for {cell.replace('.', '')}. Write thousands "
            "without any sign, and decimals as in 5,17."
        )
    return "." if points else ","


def _document(
    file: str,
    settings: Mapping[str, Setting],
    lines: list[Line],
    decimal: str,
) -> Document:
    number_in = _number_with_comma if decimal == "," else _number_or_text
    values: dict[str, Any] = {}
    places: dict[tuple[str | int, ...], str] = {}
    for key, (number, value) in settings.items():
        # A comma in a count is for thousands.
        read = _number_or_text if key == "predictions" else number_in
        values[key] = value if key == "unit" else read(value)
        places[key,] = f"line {number}"

    def put(key: str, line: Line, column: str, value: object) -> None:
        values.setdefault(key, {})[line.name] = value
        places[key, line.name] = line.place(column)

    groups: dict[str, list[str]] = {}
    for line in lines:
        for group in line.names("group"):
            groups.setdefault(group, []).append(line.name)
        places["groups", line.name] = line.place("group")
    if groups:
        values["groups"] = groups
    for line in lines:
        price = number_in(line.cells["price"])
        if line.name not in groups:
            put("per_feature", line, "price", price)
        elif price != "":
            put("group_fee", line, "price", price)
        if requires := line.names("requires"):
            put("requires", line, "requires", requires)
        if per_model := line.cells.get("per_model"):
            put("per_model", line, "per_model", number_in(per_model))
    return Document(file, values, places, decimal)


def _number_or_text(cell: str) -> float | str:
    # Python would also read 1_000, and digits of other scripts.
    is_plain = re.fullmatch(r"[0-9A-Za-z.+-]+", cell)
    try:
        return float(cell) if is_plain else cell
    except ValueError:
        return cell


def _number_with_comma(cell: str) -> float | str:
    number = _number_or_text(cell.replace(",", ".", 1))
    return cell if isinstance(number, str) else number


def csv_text(document: Document) -> str:
    """Return a table that says what the document says, or raise."""
    text = _table(document.values)
    if not _says(text, document.values):
        raise InputError(
            f"{document.file}: a table cannot hold these prices. It needs a price for every "
            "feature by name, a member for every group, and names in one line that have no ';', do "
            "not begin with '#' and do not begin or end with a space. Write .json or .toml instead."
        )
    return text


def _table(values: Mapping[str, Any]) -> str:
    prices, upkeep = values.get("per_feature", {}), values.get("per_model", {})
    if isinstance(prices, list) or isinstance(upkeep, list):
        return ""
    groups_of: dict[str, list[str]] = {}
    for group, members in values.get("groups", {}).items():
        for member in members:
            groups_of.setdefault(member, []).append(group)
    prices = {**prices, **values.get("group_fee", {})}
    rows = [
        {
            "name": name,
            "price": prices.get(name, ""),
            "group": "; ".join(groups_of.get(name, ())),
            "requires": "; ".join(values.get("requires", {}).get(name, ())),
            "per_model": upkeep.get(name, ""),
        }
        for name in {**prices, **groups_of, **upkeep}
    ]
    used = [name for name in COLUMNS if name in REQUIRED or any(row[name] != "" for row in rows)]
    stream = io.StringIO()
    stream.writelines(f"# {key} = {values[key]}\n" for key in SETTINGS if key in values)
    table = csv.DictWriter(stream, used, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return stream.getvalue()


def _says(text: str, values: Mapping[str, Any]) -> bool:
    """Say whether a table reads back as these values."""
    try:
        back = checked(parse_csv("", text)).values
    except InputError:
        return False
    return _without_order(back) == _without_order(values)


def _without_order(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is left where members have no order and empty mappings say nothing."""
    lists = {
        key: {name: set(names) for name, names in values.get(key, {}).items()}
        for key in ("groups", "requires")
    }
    return {key: value for key, value in {**values, **lists}.items() if value != {}}
