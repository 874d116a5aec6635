"""What all formats share: files that are whole or not there, and libraries that may be missing."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from thriftwood.errors import InputError, MissingLibraryError

File = str | os.PathLike[str]


def write_whole(file: File, content: bytes) -> None:
    """Write a file whole or not at all, in place of one that is there already."""
    target = _target(file)
    # Beside the file, so that the last step is a rename within one file system.
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            unfinished.write_bytes(content)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(f"{target} cannot be written: {error}.") from None


def read_whole(file: File) -> bytes:
    """Return what a file holds."""
    _check_name(file)
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{os.fspath(file)} cannot be read: {error}.") from None


def library(name: str, extra: str) -> Any:
    """Return a module of an optional library, or say how to install it."""
    try:
        return import_module(name)
    except ImportError:
        root = name.split(".")[0]
        raise MissingLibraryError(
            f'This format needs {root}: pip install "thriftwood[{extra}]"'
        ) from None


def _target(file: File) -> Path:
    _check_name(file)
    target = Path(file)
    if target.is_dir():
        raise InputError(f"{target} is a folder: pass the name of a file.")
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}: make it first.")
    return target


def _check_name(file: object) -> None:
    if not isinstance(file, (str, os.PathLike)) or not os.fspath(file):
        raise InputError(f"{file!r} is not the name of a file.")
