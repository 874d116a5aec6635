"""Bytes of models whose library writes files by name only."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


def saved_bytes(save: Callable[[str], Any], suffix: str) -> bytes:
    """Return what a library writes into a file with this suffix.

    It writes elsewhere first, so that the file is never there in part.
    """
    with TemporaryDirectory() as folder:
        place = Path(folder) / f"model{suffix}"
        save(str(place))
        return place.read_bytes()
