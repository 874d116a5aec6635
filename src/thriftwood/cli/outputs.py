"""Outputs of a command: checked before the work begins, written whole or not at all."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thriftwood.errors import InputError
from thriftwood.formats import READ, suffixes_of
from thriftwood.support import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MODELS = suffixes_of(READ)
CASCADES = suffixes_of(tuple(one for one in READ if one.module == "own"))
THERE = "{} is there already: choose another name, or pass --force."


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
    writing.check_ordinary(place)
    _check_room(place)
    if (place.exists() or place.is_symlink()) and not force:
        raise InputError(THERE.format(place))


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
    writing.clear_leftovers(place)
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
        raise InputError(THERE.format(place))


@contextmanager
def new_file(place: Path, force: bool) -> Iterator[Path]:
    """Yield the name of a file to write; it takes its place when all went well."""
    check_new_file(place, force)  # somebody may have used it meanwhile
    try:
        with writing.new_file(place, force) as unfinished:
            try:
                yield unfinished
            except InputError as error:
                raise InputError(str(error).replace(str(unfinished), str(place))) from None
    except FileExistsError:
        raise InputError(THERE.format(place)) from None


@contextmanager
def new_folder(place: Path, names: Sequence[str], force: bool) -> Iterator[Path]:
    """Yield a folder to fill; it takes its place when all went well, else it vanishes."""
    check_new_folder(place, names, force)
    try:
        with writing.new_folder(place, force) as unfinished:
            yield unfinished
            check_new_folder(place, names, force)  # somebody may have used it meanwhile
    except FileExistsError:
        raise InputError(THERE.format(place)) from None


def _seen_in(place: Path) -> list[Path]:
    """Return what is in a folder, but for what a run is filling or was killed over."""
    return [one for one in place.iterdir() if not one.name.startswith(writing.HIDDEN)]


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


def write_picture(
    file: Path, size: tuple[float, float], draw: Callable[[Axes], Any], note: str = ""
) -> None:
    """Draw on axes of their own: no window is opened, nothing is left over."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    if note:
        figure.suptitle(note, fontsize="medium")
    with warnings.catch_warnings():
        # Letters that the font lacks are boxes in the picture; the page has them.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        draw(figure.add_subplot())
        figure.savefig(file, dpi=120)
