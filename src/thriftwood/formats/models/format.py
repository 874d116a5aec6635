"""What a format is, and what a file holds before it is known which format that is."""

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from thriftwood.errors import InputError


@dataclass(frozen=True, eq=False)
class Content:
    """A file and its bytes."""

    place: Path
    data: bytes

    @cached_property
    def json_keys(self) -> frozenset[str]:
        """The keys of a JSON object; nothing where the file is something else."""
        if not self.looks_like_json:
            return frozenset()
        try:
            found = json.loads(self.data)
        except (ValueError, RecursionError):
            return frozenset()
        return frozenset(found) if isinstance(found, dict) else frozenset()

    @cached_property
    def zip_names(self) -> frozenset[str]:
        """The names of the files in a zip; nothing where the file is something else."""
        try:
            with zipfile.ZipFile(io.BytesIO(self.data)) as found:
                return frozenset(found.namelist())
        except (zipfile.BadZipFile, ValueError, OSError):
            return frozenset()

    @property
    def looks_like_json(self) -> bool:
        """Whether it begins like a JSON object, and not like one of binary JSON."""
        begins = self.data[:100].lstrip(b"\xef\xbb\xbf \t\r\n")
        return begins[:1] == b"{" and begins[1:].lstrip()[:1] in (b'"', b"}", b"")


@dataclass(frozen=True)
class Format:
    """A kind of file that holds models.

    Attributes
    ----------
    name : str
        As in "it is no whole ...".
    suffixes : tuple of str
        Which names such files have; the first is the usual one.
    is_in : callable
        Whether a file is of this format, by its content.
    read : callable
        Returns the model of a file of this format; anything that it raises means damage.
    holds : callable
        Whether the format can hold a model.
    write : callable
        Writes a model, whole or not at all.
    check : callable
        Refuses a model of a kind that the format holds, but not all of what it says.
    runs_code : bool
        Whether reading runs code that the file brings along.
    """

    name: str
    suffixes: tuple[str, ...]
    is_in: Callable[[Content], bool]
    read: Callable[[Content], Any]
    holds: Callable[[object], bool]
    write: Callable[[Any, Path], None]
    check: Callable[[Any], None] = lambda _model: None
    runs_code: bool = False


def damaged(content: Content, name: str, error: Exception) -> InputError:
    """Return the error for a file that its own library cannot read."""
    said = str(error).partition("Stack trace")[0]  # XGBoost adds that of its C++
    said = " ".join(said.split()).rstrip(".") or type(error).__name__
    return InputError(f"{content.place} is no whole {name} file: {said}.")
