"""Files and folders that take their place whole, by one rename, whoever else writes there.

What is unfinished is in a hidden folder beside its place: of a name that nobody can guess, closed
to other users, and locked. A lock ends with its process, so the next who writes there knows what
a killed run has left, and clears it.
"""

import ctypes
import errno
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from thriftwood.errors import InputError, ThriftwoodError

HIDDEN = ".thriftwood-"  # what names of unfinished things begin with
NEW, OLD, WHOLE = "new", "old", "whole"  # folders in a hidden one; a whole one is moving in
NAMES = "names"  # of all that a whole one held at first
TAKEN = (errno.EEXIST, errno.ENOTEMPTY)


@contextmanager
def new_file(place: Path, replace: bool = True) -> Iterator[Path]:
    """Yield a name to write to; the file takes its place at the end, or raises FileExistsError.

    The file keeps the permissions of the one that it replaces, and a link stays a link.
    """
    with in_words(place):
        target = Path(os.path.realpath(place)) if replace else place.absolute()
        check_ordinary(place)
        with _hidden_folder(target, target.parent) as hidden:
            fresh = hidden / place.name
            yield fresh
            _sync(fresh)
            _finish_file(fresh, target, replace)


@contextmanager
def new_folder(place: Path, replace: bool = False) -> Iterator[Path]:
    """Yield a folder to fill, which takes its place at the end, or raises FileExistsError.

    One that is there is swapped for it; but a mount, or where the process stands, is refilled.
    """
    place = Path(os.path.realpath(place))
    stays = place.is_dir() and _must_stay(place)
    with _hidden_folder(place, place if stays else place.parent) as hidden:
        new = hidden / NEW
        new.mkdir()
        yield new
        with in_words(place):
            _sync(new)
            (_refill if stays else _swap)(place, new, replace)
            _sync_folder(place.parent)


def clear_leftovers(place: Path) -> None:
    """Clear what killed runs left of a file or folder; one that they had swapped out comes back."""
    place = Path(os.path.realpath(place))
    for folder in (place.parent, place):
        # There may be no folder, or one that others own.
        with suppress(OSError), os.scandir(folder) as entries:
            for found in entries:
                if found.name.startswith(_prefix(place)) and _is_ours(found):
                    lock = _lock(found.path, wait=False)
                    if lock is not None:
                        _settle(Path(found.path), place)
                        os.close(lock)


def _is_ours(found: os.DirEntry[str]) -> bool:
    """Return True if a hidden folder is ours, and closed to others: strangers may know its name."""
    try:
        about = found.stat(follow_symlinks=False)
    except OSError:  # it has just been finished
        return False
    is_closed = stat.S_ISDIR(about.st_mode) and not about.st_mode & 0o077
    return is_closed and about.st_uid == os.geteuid()


def check_ordinary(place: Path) -> None:
    """Refuse to replace what is no file: a device, a pipe."""
    if place.exists() and not place.is_file():
        raise InputError(f"{place} is no ordinary file: choose another name.")


@contextmanager
def in_words(place: Path) -> Iterator[None]:
    """Say in a sentence why a place cannot be written, not what its unfinished file is called.

    That it is there already is for the caller to say.
    """
    try:
        yield
    except (FileExistsError, ThriftwoodError):
        raise
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise InputError(f"{place} cannot be written: {said}.") from None


@contextmanager
def _hidden_folder(place: Path, parent: Path) -> Iterator[Path]:
    """Yield a locked folder for what is to take a place, and remove it in the end."""
    clear_leftovers(place)
    with in_words(place):
        while True:
            hidden = parent / f"{_prefix(place)}{secrets.token_hex(8)}"
            hidden.mkdir(0o700)
            lock = _lock(hidden, wait=True)
            if hidden.is_dir():  # else somebody took it for a leftover before it was locked
                break
    try:
        yield hidden
    finally:
        _settle(hidden, place)
        if lock is not None:
            os.close(lock)


def _prefix(place: Path) -> str:
    """Return the prefix of hidden names of a place; short, however long its own is."""
    return f"{HIDDEN}{blake2b(os.fsencode(place.name), digest_size=8).hexdigest()}-"


def _lock(folder: str | Path, wait: bool) -> int | None:
    """Lock a folder until this process ends; None where another has it, or there are no locks."""
    try:
        import fcntl

        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (ImportError, OSError):  # Windows; gone meanwhile, or a link
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(opened)
        return None
    return opened


def _settle(hidden: Path, place: Path) -> None:
    """Remove a hidden folder; finish or undo first the last step, if a run was stopped there."""
    with suppress(OSError):
        if (hidden / WHOLE).is_dir():
            _move_in(place, hidden / WHOLE)
        elif (hidden / OLD).exists() and not place.exists():
            os.rename(hidden / OLD, place)
        shutil.rmtree(hidden)


def _finish_file(fresh: Path, target: Path, replace: bool) -> None:
    """Move a file to its place; of two who may not replace each other's, one fails."""
    if replace:
        with suppress(FileNotFoundError):
            fresh.chmod(target.stat().st_mode & 0o7777)
        os.replace(fresh, target)
    else:
        try:
            os.link(fresh, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            os.close(os.open(target, os.O_CREAT | os.O_EXCL))
            os.replace(fresh, target)
    _sync_folder(target.parent)


def _swap(place: Path, new: Path, replace: bool) -> None:
    """Move a folder to its place, and out of it the one that is there."""
    old = new.with_name(OLD)
    while True:
        with suppress(OSError):
            new.chmod(place.stat().st_mode & 0o7777)
            os.rmdir(place)  # if it is empty
        try:
            os.rename(new, place)
            return
        except OSError as error:
            if error.errno not in TAKEN:
                raise
            if not replace:
                raise FileExistsError from None
        if _exchange(new, place):
            return
        shutil.rmtree(old, ignore_errors=True)
        with suppress(FileNotFoundError):  # another who replaces it was quicker
            os.rename(place, old)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step, where the system can do that: Linux."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    failed: int = rename(here, os.fsencode(one), here, os.fsencode(other), exchange)
    return not failed


def _must_stay(place: Path) -> bool:
    """Return True if a folder cannot be swapped, or somebody would stand in one that is gone."""
    here = Path(os.path.realpath("."))
    return (
        os.path.ismount(place)
        or place in (here, *here.parents)
        or not os.access(place.parent, os.W_OK)
    )


def _refill(place: Path, new: Path, replace: bool) -> None:
    """Put what a folder holds in the place of what another does, which stays the same folder."""
    seen = [one for one in place.iterdir() if not one.name.startswith(HIDDEN)]
    if seen and not replace:
        raise FileExistsError
    whole, names = new.with_name(WHOLE), new.with_name(NAMES)
    names.write_text(json.dumps([one.name for one in new.iterdir()]))
    _sync(names)
    os.rename(new, whole)  # from here on the next run would finish it
    _move_in(place, whole)


def _move_in(place: Path, whole: Path) -> None:
    """Move what a folder holds into another, in place of all that is there."""
    names = json.loads(whole.with_name(NAMES).read_text())
    for one in place.iterdir():
        if one.name not in names and not one.name.startswith(HIDDEN):
            _remove(one)
    for one in whole.iterdir():
        if one.is_dir():
            _remove(place / one.name)
        os.replace(one, place / one.name)
    whole.rmdir()


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _sync(place: Path) -> None:
    """Have the disk keep a file, or all that is in a folder, before it has its name."""
    if not place.is_dir():
        with place.open("rb+") as file:
            os.fsync(file.fileno())
        return
    for one in place.iterdir():
        _sync(one)
    _sync_folder(place)


def _sync_folder(place: Path) -> None:
    """Have the disk keep the names in a folder, where the system can do that."""
    with suppress(OSError):
        opened = os.open(place, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
