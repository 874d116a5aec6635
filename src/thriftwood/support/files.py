"""Files that are whole or not there."""

import os
from pathlib import Path

from thriftwood.errors import InputError
from thriftwood.support.writing import new_file

File = str | os.PathLike[str]
CUT_OFF = "it seems cut off: copy it again"


def place_of(file: object) -> Path:
    """Return where a file is or is to be, if that is a name for one."""
    if not isinstance(file, (str, os.PathLike)) or not os.fspath(file):
        raise InputError(f"{file!r} is not the name of a file.")
    place = Path(os.fsdecode(file))
    if os.path.isdir(place):
        raise InputError(f"{place} is a folder: pass the name of a file.")
    return place


def read_whole(file: File) -> bytes:
    """Return what a file holds."""
    place = place_of(file)
    try:
        return place.read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {place}.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{place} cannot be read: {error}.") from None


def read_text(file: File) -> str:
    """Return the text of a file in UTF-8 that is not empty."""
    return decoded(place_of(file), read_whole(file))


def decoded(place: Path, content: bytes) -> str:
    """Return UTF-8 as text, or say in which line it is none."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{place}, line {line}: this is not UTF-8. Save it as UTF-8.") from None
    if not text.strip():
        raise InputError(f"{place} is empty.")
    return text


def write_whole(file: File, content: bytes | str) -> None:
    """Write a file whole or not at all, in place of one that is there already; text as UTF-8."""
    place = place_of(file)
    if not os.path.isdir(place.parent):
        raise InputError(f"There is no folder {place.parent}: make it first.")
    data = _encoded(place, content) if isinstance(content, str) else content
    with new_file(place) as unfinished:
        unfinished.write_bytes(data)


def _encoded(place: Path, text: str) -> bytes:
    """Return text as UTF-8, or say which character is none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{place} cannot be written: {text[error.start]!r} is half of a character, which no "
            "file of text can hold. Is it in the name of a feature, of a group or of a class?"
        ) from None
