"""Write a model in the format that the name of the file asks for."""

from pathlib import Path
from typing import Any

from thriftwood.adapters import read_stages
from thriftwood.errors import InputError, ThriftwoodError, UnsupportedModelError
from thriftwood.files import File, place_of
from thriftwood.model_files.format import Format
from thriftwood.model_files.registry import FORMATS, suffixes_of


def write_model_file(model: Any, file: File) -> None:
    """Write a model to a file, whole or not at all; a file that is there is replaced.

    Parameters
    ----------
    model : a fitted model
        One that Thriftwood can read.
    file
        Its name; the suffix says in which format.
    """
    place = place_of(file)
    read_stages(model)
    own = _format_for(model, place)
    try:
        own.write(model, place)
    except ThriftwoodError:
        raise
    except Exception as error:  # whatever its library says
        said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise InputError(f"{place} cannot be written: {said}.") from None


def _format_for(model: Any, place: Path) -> Format:
    suffix = place.suffix.lower()
    can = tuple(own for own in FORMATS if own.holds(model))
    for own in can:
        if suffix in own.suffixes:
            return own
    others = [own.name for own in FORMATS if suffix in own.suffixes]
    reason = f"{' and '.join(others)} files cannot hold one" if others else "it says no format"
    raise UnsupportedModelError(
        f"{place} is no name for the file of a {type(model).__name__}, as {reason}: let it end in "
        f"{suffixes_of(can)}."
    )
