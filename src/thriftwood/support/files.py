"""Files that are whole or not there, and that fit into memory, unpacked, too."""

import gzip
import os
import stat
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

from thriftwood.errors import InputError
from thriftwood.support.memory import available_memory, memory_in_words
from thriftwood.support.writing import new_file

File = str | os.PathLike[str]
CUT_OFF = "it seems cut off: copy it again"
# How many times what a file holds, unpacked, its reading takes in memory, about; and that of text.
TIMES = 3
TIMES_OF_TEXT = 8
CHUNK = 2**20
# What is unpacked to more bytes than these and to more times its size is no table and no model.
MUCH = 250e6
MOST_TIMES = 100


def place_of(file: object) -> Path:
    """Return the path of a file, or refuse what is no name of one."""
    if not isinstance(file, (str, os.PathLike)) or not os.fspath(file):
        raise InputError(f"{file!r} is not the name of a file.")
    place = Path(os.fsdecode(file))
    if os.path.isdir(place):
        raise InputError(f"{place} is a folder: pass the name of a file.")
    return place


def read_whole(file: File) -> bytes:
    """Return the bytes of a file; refuse one that, unpacked if it is a zip, does not fit."""
    place = place_of(file)
    try:
        about = os.stat(place)
        if not stat.S_ISREG(about.st_mode):  # a pipe or a device, which may have no end
            raise InputError(f"{place} is a pipe or a device: pass the name of a file.")
        check_fits(place, about.st_size)
        content = place.read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {place}.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{place} cannot be read: {error}.") from None
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:  # which hands out no more than it says
            unpacked = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):  # no zip, or refused
        return content
    check_unpacked(place, len(content), unpacked)
    return content


def check_unpacked(place: Path, packed: int, unpacked: float, times: int = TIMES) -> None:
    """Refuse, before it is unpacked, a file made to take memory and time, and what does not fit."""
    if unpacked > max(MUCH, MOST_TIMES * packed):
        raise InputError(
            f"{place} holds {memory_in_words(unpacked)} or more, unpacked, far more than tables "
            "and models do: it may be made to do harm. If you know who wrote it, let it be written "
            "again without packing it."
        )
    check_fits(place, unpacked, times)


def check_fits(place: Path, n_bytes: float, times: int = TIMES) -> None:
    """Refuse a file whose content, unpacked, takes more memory to read than is free."""
    free = available_memory()
    if n_bytes * times > free:
        raise InputError(
            f"{place} holds {memory_in_words(n_bytes)} or more, unpacked, and reading it takes "
            f"about {times} times as much memory, but {memory_in_words(free)} is free: pass a "
            "smaller file."
        )


def unpacked_gzip(place: Path, content: bytes) -> bytes:
    """Return text that gzip has packed, if it fits; it is counted before it is kept."""
    size = 0
    try:
        with gzip.open(BytesIO(content)) as stream:
            while chunk := stream.read(CHUNK):
                size += len(chunk)
                check_unpacked(place, len(content), size, TIMES_OF_TEXT)
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{place} is no whole gzip file: {error}.") from None


def read_text(file: File) -> str:
    """Return the text of a file in UTF-8 that is not empty."""
    return decoded(place_of(file), read_whole(file))


def decoded(place: Path, content: bytes) -> str:
    """Return UTF-8 as text, or say in which line it is none."""
    check_fits(place, len(content), TIMES_OF_TEXT)
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
