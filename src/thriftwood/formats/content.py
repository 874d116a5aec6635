"""Content of a file, and files of libraries that write by name only."""

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from thriftwood.support.files import write_whole


def write_saved(place: Path, save: Callable[[str], Any]) -> None:
    """Write what a library saves, elsewhere first: the file is never there in part."""
    with TemporaryDirectory() as folder:
        unfinished = Path(folder) / f"model{place.suffix.lower()}"
        save(str(unfinished))
        write_whole(place, unfinished.read_bytes())


@dataclass(frozen=True, eq=False)
class Content:
    """A file and its bytes, before it is known which format that is."""

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
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
            return frozenset()

    @property
    def looks_like_json(self) -> bool:
        """True if it begins like a JSON object, and not like one of binary JSON."""
        begins = self.data[:100].lstrip(b"\xef\xbb\xbf \t\r\n")
        return begins[:1] == b"{" and begins[1:].lstrip()[:1] in (b'"', b"}", b"")
