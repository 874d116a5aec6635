"""Write a model in the format that the name of the file asks for."""

import os
from typing import Any

from thriftwood.adapters import read_stages
from thriftwood.errors import InputError, ThriftwoodError, UnsupportedModelError
from thriftwood.formats.models.format import Format
from thriftwood.formats.models.refused import LEAVES_ONLY
from thriftwood.formats.models.registry import FORMATS, suffixes_of
from thriftwood.support.files import File, place_of


def write_model_file(model: Any, file: File) -> None:
    """Write a model to a file, whole or not at all; a file that is there is replaced.

    Parameters
    ----------
    model : a fitted model
        One that Thriftwood can read.
    file
        Its name; the suffix says in which format.
    """
    own, place = _format_for(model, file), place_of(file)
    try:
        own.write(model, place)
    except ThriftwoodError:
        raise
    except Exception as error:  # whatever its library says
        said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise InputError(f"{place} cannot be written: {said}.") from None


def check_model_file(model: Any, file: File) -> None:
    """Say now what `write_model_file` would say later, before work begins that takes long.

    Parameters
    ----------
    model : a fitted model
        One of the kind that is to be written.
    file
        Its name.
    """
    own, place = _format_for(model, file), place_of(file)
    if not os.path.isdir(place.parent):
        raise InputError(f"There is no folder {place.parent}: make it first.")
    own.check(model)


def _format_for(model: Any, file: File) -> Format:
    read_stages(model)  # what cannot be read again is not written
    place = place_of(file)
    suffix = place.suffix.lower()
    can = tuple(own for own in FORMATS if own.holds(model))
    for own in can:
        if suffix in own.suffixes:
            return own
    raise UnsupportedModelError(
        f"{place} is no name for the file of a {type(model).__name__}"
        f"{_reason(suffix)}: let it end in {suffixes_of(can)}."
    )


def _reason(suffix: str) -> str:
    if suffix in LEAVES_ONLY:
        return (
            f", as {LEAVES_ONLY[suffix]} keeps leaves only. Write the model first, and export it "
            "from there (`thriftwood export`)"
        )
    others = [own.name for own in FORMATS if suffix in own.suffixes]
    return f", as {' and '.join(others)} files cannot hold one" if others else ""
