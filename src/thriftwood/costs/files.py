"""Price lists in files: a table (.csv), or the parameters of `Costs` (.json, .toml)."""

from __future__ import annotations

import json
import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from thriftwood.costs.costs import SAMPLE_FIELDS, Costs
from thriftwood.costs.csv_files import csv_text, parse_csv
from thriftwood.costs.document import (
    CHECKS,
    REPEATED,
    Document,
    checked,
    key_text,
    listed,
    value_text,
)
from thriftwood.errors import InputError
from thriftwood.support.files import place_of, read_whole, write_whole


def read_costs_file(path: str | os.PathLike[str]) -> Costs:
    """Return the prices in a file; parameters as in `Costs.from_file`."""
    file = _file(path)
    document = checked(PARSERS[file.suffix.lower()](str(file), _read_text(file)))
    try:
        return Costs(**document.values)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def write_costs_file(costs: Costs, path: str | os.PathLike[str]) -> None:
    """Write prices to a file, all of it or nothing; parameters as in `Costs.to_file`."""
    file = _file(path)
    document = checked(Document(str(file), _values(costs), places={}))
    write_whole(file, WRITERS[file.suffix.lower()](document))


def _file(path: str | os.PathLike[str]) -> Path:
    """Return where to read or write, if that can be a price file."""
    file = place_of(path)
    if file.suffix.lower() not in PARSERS:
        raise InputError(f"{file}: a price file must end in one of {listed(PARSERS)}.")
    return file


def _read_text(file: Path) -> str:
    content = read_whole(file)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{file}, line {line}: this is not UTF-8. Save it as UTF-8.") from None
    if not text.strip():
        raise InputError(f"{file} is empty.")
    return text


def _parse_json(file: str, text: str) -> Document:
    try:
        values = json.loads(text, object_pairs_hook=_mark_repeated)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{file}, line {error.lineno}, column {error.colno}: broken JSON: {error.msg}."
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: broken JSON: {error}.") from None
    return Document(file, values, places={})


def _mark_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    times = Counter(key for key, _ in pairs)
    return {key: value if times[key] == 1 else REPEATED for key, value in pairs}


def _parse_toml(file: str, text: str) -> Document:
    try:
        # The message says the line and column, but in a last line that does not end.
        return Document(file, tomllib.loads(text + "\n"), places={})
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: broken TOML: {error}.") from None


PARSERS = {".csv": parse_csv, ".json": _parse_json, ".toml": _parse_toml}


def _values(costs: Costs) -> dict[str, Any]:
    """Return what was given, in lists, mappings, text and numbers of Python."""
    for name in SAMPLE_FIELDS:
        if getattr(costs, name) is not None:
            raise InputError(
                f"`{name}` belongs to certain rows, so it cannot be in a file: write "
                "`costs.for_samples()`, which leaves it out."
            )
    unset = vars(Costs())
    values = {key: _plain(getattr(costs, key)) for key in CHECKS}
    return {key: value for key, value in values.items() if value != unset[key]}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(content) for name, content in value.items()}
    index = getattr(value, "index", None)
    if index is not None and not callable(index) and all(isinstance(name, str) for name in index):
        return _mark_repeated(list(zip(index, value.tolist(), strict=True)))  # a pandas Series
    if hasattr(value, "tolist"):  # an array, or a number of one
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(content) for content in value]
    return value


def _json_text(document: Document) -> str:
    return json.dumps(document.values, indent=2, ensure_ascii=False) + "\n"


def _toml_text(document: Document) -> str:
    tables = {key: value for key, value in document.values.items() if isinstance(value, dict)}
    lines = ["# Prices for thriftwood.Costs.from_file"]
    lines += [
        f"{key} = {value_text(value)}"
        for key, value in document.values.items()
        if key not in tables
    ]
    for key, table in tables.items():
        lines += ["", f"[{key}]"]
        lines += [f"{key_text(name)} = {value_text(value)}" for name, value in table.items()]
    return "\n".join(lines) + "\n"


WRITERS = {".csv": csv_text, ".json": _json_text, ".toml": _toml_text}
