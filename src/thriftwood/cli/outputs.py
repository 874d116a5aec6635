"""Outputs of a command: checked before the work begins, written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from thriftwood.errors import InputError
from thriftwood.formats import READ, suffixes_of

MODELS = suffixes_of(READ)
CASCADES = suffixes_of(tuple(one for one in READ if one.module == "own"))
HIDDEN = ".thriftwood-"  # what names begin with while a folder is being filled


def check_apart(place: Path, *files: Path | None) -> None:
    """Refuse to replace what the command reads, or a folder that holds it, even with --force."""
    for file in files:
        if file is not None and place.resolve() in (file.resolve(), *file.resolve().parents):
            raise InputError(
                f"{place} cannot be the output: the command reads {file}. Choose another name."
            )


def check_new_file(place: Path, force: bool) -> None:
    """Refuse a file that cannot be written, or would replace another unasked."""
    if place.is_dir():
        raise InputError(f"{place} is a folder: name a file in it.")
    if place.exists() and not place.is_file():
        raise InputError(f"{place} is no ordinary file: choose another name.")
    _check_room(place)
    if (place.exists() or place.is_symlink()) and not force:
        raise InputError(f"{place} is there already: choose another name, or pass --force.")


def check_new_model(place: Path, force: bool, is_cascade: bool = False) -> None:
    """Refuse a file whose suffix says no format of models, or none of cascades."""
    check_new_file(place, force)
    suffixes, noun = (CASCADES, "cascade") if is_cascade else (MODELS, "model")
    if place.suffix.lower() not in suffixes:
        raise InputError(
            f"{place} is no name for a {noun}: its suffix says the format, so let it end in "
            f"{' or '.join(suffixes)}."
        )


def check_new_folder(place: Path, names: Sequence[str], force: bool) -> None:
    """Refuse a folder that cannot be made, or would replace something that is not ours.

    `names` are the files that the command writes, with `/` where they are in folders; the first
    marks a folder as the command's own, and no other is ever replaced.
    """
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise InputError(f"{place} is not a folder: name one, which will be made.")
    _check_room(place)
    if not place.exists() or not _seen_in(place):
        return
    strange = _first_strange(place, names)
    if strange is not None:
        raise InputError(
            f"The folder {place} holds {strange}, which does not come from this command: choose "
            "another folder."
        )
    if not (place / names[0]).is_file():
        raise InputError(
            f"The folder {place} holds files, but no {names[0]}, so it does not come from this "
            "command: choose another folder."
        )
    if not force:
        raise InputError(f"{place} is there already: choose another name, or pass --force.")


@contextmanager
def new_folder(place: Path, names: Sequence[str], force: bool) -> Iterator[Path]:
    """Yield a folder to fill; its files take their place when all went well, else they vanish."""
    check_new_folder(place, names, force)
    place = place.absolute()
    # Inside a folder that is there: it may be a mount, or where somebody's shell stands, and stays.
    # Else beside it, so that the last step is one rename.
    unfinished = _hidden_folder(place if place.exists() else place.parent, place)
    try:
        yield unfinished
        check_new_folder(place, names, force)  # somebody may have used it meanwhile
        if place.exists():
            _replace_files(unfinished, place)
        else:
            unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _hidden_folder(parent: Path, place: Path) -> Path:
    """Make a folder of a name that nobody uses."""
    folder = parent / f"{HIDDEN}{secrets.token_hex(4)}"
    try:
        folder.mkdir()
    except OSError as error:
        raise InputError(f"{place} cannot be written: {error.strerror}.") from None
    return folder


def _replace_files(new: Path, place: Path) -> None:
    """Move what a folder holds to its place; what is there goes only once all of it stands."""
    old = _hidden_folder(place, place)
    moves = [(one, old / one.name) for one in _seen_in(place)]
    moves += [(one, place / one.name) for one in new.iterdir()]
    done = []
    try:
        for source, target in moves:
            source.rename(target)
            done.append((source, target))
    except BaseException:
        for source, target in reversed(done):
            target.rename(source)
        old.rmdir()
        raise
    shutil.rmtree(old)


def _seen_in(place: Path) -> list[Path]:
    """Return what is in a folder, but for what a run is filling or was killed over."""
    return [one for one in place.iterdir() if not one.name.startswith(HIDDEN)]


def _first_strange(place: Path, names: Sequence[str]) -> str | None:
    """Return a file that is not among the names, if there is one."""
    for top in _seen_in(place):
        for found in (top, *top.rglob("*")):
            name = found.relative_to(place).as_posix()
            if name not in names and (found.is_symlink() or not found.is_dir()):
                return name
    return None


def _check_room(place: Path) -> None:
    folder = place if place.is_dir() else place.absolute().parent
    if not folder.is_dir():
        raise InputError(f"There is no folder {place.parent}: make it first.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{place} cannot be written: you may not write into {folder}.")
