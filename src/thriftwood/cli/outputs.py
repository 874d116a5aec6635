"""Where answers go: checked before the work begins, and written whole or not at all."""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from thriftwood.errors import InputError

# Those of `model_files`, which takes seconds to load.
MODELS = (
    ".skops",
    ".txt",
    ".lgb",
    ".model",
    ".json",
    ".ubj",
    ".cbm",
    ".tw",
    ".pkl",
    ".pickle",
    ".joblib",
)
CASCADES = (".tw",)


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
    _check_parent(place)
    if place.exists() and not force:
        raise InputError(f"{place} is there already: choose another name, or pass --force.")


def check_new_model(place: Path, force: bool) -> None:
    """Refuse a file whose suffix says no format of models."""
    check_new_file(place, force)
    if place.suffix.lower() not in MODELS:
        raise InputError(
            f"{place} is no name for a model: its suffix says the format, so let it end in "
            f"{', '.join(MODELS[:-1])} or {MODELS[-1]}."
        )


def check_new_cascade(place: Path, force: bool) -> None:
    """Refuse a file that cannot be that of a cascade."""
    check_new_file(place, force)
    if place.suffix.lower() not in CASCADES:
        raise InputError(
            f"{place} is no name for a cascade: let it end in {' or '.join(CASCADES)}."
        )


@dataclass(frozen=True)
class FolderKind:
    """What a command's folder holds.

    Attributes
    ----------
    names : collection of str
        Which files it may have, with `/` where they are in folders of it.
    mark : str
        The file that each such folder has, and hardly any other.
    """

    names: Collection[str]
    mark: str


def check_new_folder(place: Path, kind: FolderKind, force: bool) -> None:
    """Refuse a folder that cannot be made, or would replace something that is not ours.

    Parameters
    ----------
    place : Path
    kind : FolderKind
        What the command makes; a folder that is not of this kind is never replaced.
    force : bool
        Whether one that is may be replaced.
    """
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise InputError(f"{place} is not a folder: name one, which will be made.")
    _check_parent(place)
    if not place.exists():
        return
    if not any(place.iterdir()):
        return
    strange = _first_strange(place, kind.names)
    if strange is not None:
        raise InputError(
            f"The folder {place} holds {strange}, which does not come from this command: choose "
            "another folder."
        )
    if not (place / kind.mark).is_file():
        raise InputError(
            f"The folder {place} holds files, but no {kind.mark}, so it does not come from this "
            "command: choose another folder."
        )
    if not force:
        raise InputError(f"{place} is there already: choose another name, or pass --force.")


@contextmanager
def new_folder(place: Path, kind: FolderKind, force: bool) -> Iterator[Path]:
    """Yield a folder to fill, which takes its place when all went well, and vanishes otherwise."""
    check_new_folder(place, kind, force)
    place = place.absolute()
    # Beside it, so that the last step is a rename within one file system.
    unfinished = place.with_name(f".{place.name}.{os.getpid()}")
    unfinished.mkdir()
    try:
        yield unfinished
        check_new_folder(place, kind, force)  # somebody may have used it meanwhile
        _put(unfinished, place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _put(new: Path, place: Path) -> None:
    """Rename a folder to its place; what is there goes only once the new one stands."""
    if not place.exists():
        new.rename(place)
        return
    old = place.with_name(f".{place.name}.{os.getpid()}.old")
    place.rename(old)
    try:
        new.rename(place)
    except BaseException:
        old.rename(place)
        raise
    shutil.rmtree(old)


def _first_strange(place: Path, names: Collection[str]) -> str | None:
    """Return a file that is not among the names, if there is one."""
    for found in place.rglob("*"):
        name = found.relative_to(place).as_posix()
        if name not in names and (found.is_symlink() or not found.is_dir()):
            return name
    return None


def _check_parent(place: Path) -> None:
    if not place.absolute().parent.is_dir():
        raise InputError(f"There is no folder {place.parent}: make it first.")
