"""Price lists in files: a table (.csv), or the parameters of `Costs` (.json, .toml)."""

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from thriftwood.costs.checks import check
from thriftwood.costs.costs import SAMPLE_FIELDS, Costs
from thriftwood.costs.tables import Places, Values, csv_text, parse_csv
from thriftwood.errors import InputError
from thriftwood.support.files import place_of, read_text, write_whole
from thriftwood.support.validation import did_you_mean, some

NOT_IN_FILES = "belongs to certain samples, so it cannot be in a file"
# Text and comments of TOML, in which dots mean nothing; and keys, once text is one word.
TOML_TEXT = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)
TOML_KEY = re.compile(r"[\w-]+(?:[ \t]*\.[ \t]*[\w-]+)*")
DEEPEST_KEY = 100  # tomllib takes hours for keys of many thousand parts
NESTED = "{}: brackets are nested deeper than prices ever are."
KEYS = tuple(name for name in vars(Costs()) if name not in SAMPLE_FIELDS)


def read_costs_file(path: str | os.PathLike[str]) -> Costs:
    """Return the prices in a file; parameters as in `Costs.from_file`."""
    file = _file(path)
    values, places = PARSERS[file.suffix.lower()](str(file), read_text(file))
    if not isinstance(values, dict):
        raise InputError(f"{file}: {values!r} is not a mapping from names.")

    def place(*keys: str | int) -> str:
        steps = (f".{_key_text(key)}" if isinstance(key, str) else f"[{key}]" for key in keys)
        return places.get(keys) or f"{file}, {''.join(steps).removeprefix('.')}"

    for key in values:
        if key in SAMPLE_FIELDS:
            raise InputError(f"{place(key)}: this {NOT_IN_FILES}: pass it to `for_samples`.")
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or " Prices of features go below 'per_feature'."
            raise InputError(
                f"{place(key)}: there is no such key.{hint} Keys are {some(KEYS, len(KEYS))}."
            )
    check(values, place)
    try:
        return Costs(**values)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def write_costs_file(costs: Costs, path: str | os.PathLike[str]) -> None:
    """Write prices to a file, all of it or nothing; parameters as in `Costs.to_file`."""
    file = _file(path)
    for name in SAMPLE_FIELDS:
        if getattr(costs, name) is not None:
            raise InputError(f"`{name}` {NOT_IN_FILES}: write `costs.for_samples({name}=None)`.")
    values = {key: _plain(value, key) for key, value in costs.given.items()}
    write_whole(file, WRITERS[file.suffix.lower()](str(file), values))


def _file(path: str | os.PathLike[str]) -> Path:
    """Return where to read or write, if that can be a price file."""
    file = place_of(path)
    if file.suffix.lower() not in PARSERS:
        raise InputError(f"{file}: a price file must end in one of {', '.join(PARSERS)}.")
    return file


def _parse_json(file: str, text: str) -> tuple[Values, Places]:
    try:
        return json.loads(text, object_pairs_hook=_without_repeated), {}
    except json.JSONDecodeError as error:
        raise InputError(
            f"{file}, line {error.lineno}, column {error.colno}: broken JSON: {error.msg}."
        ) from None
    except ValueError as error:
        raise InputError(f"{file}: broken JSON: {error}.") from None
    except RecursionError:
        raise InputError(NESTED.format(file)) from None


def _without_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, times in Counter(key for key, _ in pairs).items():
        if times > 1:
            raise ValueError(f"{key!r} is there twice")
    return dict(pairs)


def _parse_toml(file: str, text: str) -> tuple[Values, Places]:
    keys = TOML_KEY.finditer(TOML_TEXT.sub("text", text))
    if any(key[0].count(".") > DEEPEST_KEY for key in keys):
        raise InputError(f"{file}: a key has more than {DEEPEST_KEY} parts; no price has.")
    try:
        # The message says the line and column, but in a last line that does not end.
        return tomllib.loads(text + "\n"), {}
    except ValueError as error:
        raise InputError(f"{file}: broken TOML: {error}.") from None
    except RecursionError:
        raise InputError(NESTED.format(file)) from None


PARSERS = {".csv": parse_csv, ".json": _parse_json, ".toml": _parse_toml}


def _plain(value: Any, key: str) -> Any:
    """Return a value in lists, mappings, text and numbers of Python."""
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise InputError(f"{key}: {name!r} is not a name: files go by names of features.")
        return {name: _plain(content, key) for name, content in value.items()}
    if hasattr(value, "tolist"):  # an array, or a number of one
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(content, key) for content in value]
    return value


def _toml_text(_: str, values: Values) -> str:
    tables = {key: value for key, value in values.items() if isinstance(value, dict)}
    lines = ["# Prices for thriftwood.Costs.from_file"]
    lines += [f"{key} = {_value_text(values[key])}" for key in values if key not in tables]
    for key, table in tables.items():
        lines += ["", f"[{key}]"]
        lines += [f"{_key_text(name)} = {_value_text(value)}" for name, value in table.items()]
    return "\n".join(lines) + "\n"


def _key_text(name: str) -> str:
    """Return a key as TOML writes it, in quotes where it must be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value_text(name)


def _value_text(value: object) -> str:
    """Return text, a number or a list, as both JSON and TOML write it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


WRITERS = {
    ".csv": csv_text,
    ".json": lambda _, values: json.dumps(values, indent=2, ensure_ascii=False) + "\n",
    ".toml": _toml_text,
}
