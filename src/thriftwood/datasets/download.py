"""Fetch a published file whole, or not at all."""

from __future__ import annotations

import hashlib
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory

from thriftwood.errors import DatasetError

TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 16


def fetch(url: str, sha256: str, target: Path) -> None:
    """Download `url` to `target`, which appears only when its checksum is right.

    The folder of `target` is made when it is missing. Whatever goes wrong, an earlier file at
    `target` stays as it was and no partial file is left.

    Raises
    ------
    DatasetError
        The network, the checksum or the disk.
    """
    by_hand = f"Or fetch it by other means and save it as {target} (sha256 {sha256})."
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Beside the target, so that the last step is a rename within one file system.
        with TemporaryDirectory(
            dir=target.parent, prefix=".download-", ignore_cleanup_errors=True
        ) as scratch:
            part = Path(scratch) / target.name
            found = _save(_chunks(url, by_hand), part)
            if found != sha256:
                raise DatasetError(
                    f"What came from {url} is not the published file: {part.stat().st_size:,} "
                    f"bytes with sha256 {found}. Nothing was kept. Try again later. {by_hand}"
                )
            os.replace(part, target)
    except DatasetError:
        raise
    except OSError as problem:
        raise DatasetError(
            f"Could not save {target.name} in the folder {target.parent}: {problem}. "
            "Free some space there, or choose another folder."
        ) from problem


def check(path: Path, sha256: str) -> None:
    """Raise `DatasetError` unless the file at `path` has this checksum."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise DatasetError(f"The file {path} cannot be read: {problem}.") from problem
    if found != sha256:
        raise DatasetError(
            f"The file {path} is not the published one: its sha256 is {found} instead of "
            f"{sha256}. Delete it and load again, and it will be downloaded anew."
        )


def cache_folder() -> Path:
    """Return the folder of this user where downloads are kept; it need not exist yet."""
    if sys.platform == "win32":
        variable, otherwise = "LOCALAPPDATA", Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        variable, otherwise = "XDG_CACHE_HOME", Path.home() / "Library" / "Caches"
    else:
        variable, otherwise = "XDG_CACHE_HOME", Path.home() / ".cache"
    return Path(os.environ.get(variable) or otherwise) / "thriftwood"


def _save(chunks: Iterable[bytes], path: Path) -> str:
    """Write the chunks to `path` and return their checksum."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for chunk in chunks:
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _chunks(url: str, by_hand: str) -> Iterator[bytes]:
    """Yield the content of `url`. Only errors of the network pass here, never those of the disk."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
            while chunk := response.read(CHUNK_BYTES):
                yield chunk
    except (OSError, HTTPException) as problem:
        if isinstance(problem, urllib.error.HTTPError):
            problem.close()  # it holds the connection open
        raise DatasetError(
            f"Could not download {url}: {problem}. Check the connection to the network and try "
            f"again. {by_hand}"
        ) from problem
