"""Read and write models in files, whatever library wrote them."""

import os
from typing import Any

from thriftwood.adapters import buying_stages, forest_model, unwrapped
from thriftwood.errors import (
    ForestError,
    InputError,
    RangeError,
    ThriftwoodError,
    UnfittedModelError,
    UnsupportedModelError,
)
from thriftwood.forest import Forest
from thriftwood.formats.content import Content
from thriftwood.formats.registry import FORMATS, READ, Format, suffixes_of
from thriftwood.support.files import File, place_of, read_whole
from thriftwood.support.text import said_by
from thriftwood.support.validation import listed

# Files made for prediction alone; some of them we can write.
FOR_PREDICTION = {
    **{suffix: own.name for own in FORMATS if not own.is_read for suffix in own.suffixes},
    ".so": "compiled code",
    ".dll": "compiled code",
    ".pmml": "PMML",
}


def read_model(file: File, *, trust_pickle: bool = False) -> Any:
    """Return the model in a file; what the file holds says which library wrote it, not its name.

    No code in it is run. Files of boosters are read by their own libraries, which crash on some
    that are damaged: a process of its own reads such a file first, which takes two seconds.

    Parameters
    ----------
    file
        Its name.
    trust_pickle : bool
        Whether a pickle may be read, which runs whatever its writer put into it.

    Returns
    -------
    model
        Of the library that wrote the file: a `Booster` of LightGBM or XGBoost, an estimator of
        CatBoost, whatever a file of skops or a pickle holds, a `ForestModel`, a
        `CascadeClassifier` or a `Thrifty*`. Thriftwood can read its trees.
    """
    content = _content(file)
    own = _format_of(content)
    if own.runs_code and not trust_pickle:
        raise InputError(
            f"{content.place} is a pickle: reading it would run whatever its writer put into it, "
            "so it was not read. If you made it yourself, or trust who did, pass trust_pickle=True "
            "(--trust-pickle on the command line). Better, write the model once as "
            '`tw.export.to_skops(model, "model.skops")`, which holds no code.'
        )
    try:
        model = own.code.read(content)
        if isinstance(model, Forest):
            return forest_model(model)
        buying_stages(model)
    except (ForestError, RangeError, UnfittedModelError, UnsupportedModelError) as error:
        raise type(error)(f"{content.place}: {error}") from None  # these do not know of the file
    except ThriftwoodError:
        raise
    except Exception as error:  # whatever a damaged file leads its library to
        raise InputError(
            f"{content.place} is no whole {own.name} file: {said_by(error)}."
        ) from None
    return model


def model_format(file: File) -> str:
    """Return the name of the format that a file is in, such as "skops"; nothing of it is run."""
    return _format_of(_content(file)).name


def suffix_for(file: File) -> str:
    """Return the suffix for files in the format of this one: its own, if it is one of them."""
    own, suffix = _format_of(_content(file)), place_of(file).suffix.lower()
    return suffix if suffix in own.suffixes else own.suffixes[0]


def write_model_file(model: Any, file: File) -> None:
    """Write a model to a file, whole or not at all; a file that is there is replaced.

    Parameters
    ----------
    model : a fitted model
        One that Thriftwood can read. Of a `Pruned` or a fitted estimator of ours its model is
        written.
    file
        Its name; the suffix says in which format.
    """
    own, place = _format_for(model, file), place_of(file)
    try:
        own.code.write(unwrapped(model), place)
    except ThriftwoodError:
        raise
    except Exception as error:  # whatever its library says
        raise InputError(f"{place} cannot be written: {said_by(error)}.") from None


def check_model_file(model: Any, file: File) -> None:
    """Say now what `write_model_file` would say later, before work begins that takes long."""
    own, place = _format_for(model, file), place_of(file)
    if not os.path.isdir(place.parent):
        raise InputError(f"There is no folder {place.parent}: make it first.")
    if hasattr(own.code, "check"):
        own.code.check(unwrapped(model))


def _content(file: File) -> Content:
    content = Content(place_of(file), read_whole(file))
    if not content.data:
        raise InputError(f"{content.place} is empty.")
    return content


def _format_of(content: Content) -> Format:
    for own in READ:
        if own.code.recognise(content):
            return own
    raise InputError(f"{content.place} {_reason_against(content)}")


def _format_for(model: Any, file: File) -> Format:
    buying_stages(model)  # what cannot be read again is not written
    place = place_of(file)
    suffix = place.suffix.lower()
    can = tuple(own for own in READ if own.code.holds(unwrapped(model)))
    for own in can:
        if suffix in own.suffixes:
            return own
    others = [own.name for own in READ if suffix in own.suffixes]
    reason = f", as {' and '.join(others)} files cannot hold one" if others else ""
    if suffix in FOR_PREDICTION:
        reason = (
            f", as {FOR_PREDICTION[suffix]} keeps leaves only. Write the model first, and export "
            "it from there (`thriftwood export`)"
        )
    raise UnsupportedModelError(
        f"{place} is no name for the file of a {type(model).__name__}{reason}: let it end in "
        f"{listed(suffixes_of(can))}."
    )


def _reason_against(content: Content) -> str:
    """Say why a file is in no format that is known, and what to pass instead."""
    suffix = content.place.suffix.lower()
    if suffix in FOR_PREDICTION:
        return (
            f"is for prediction alone: {FOR_PREDICTION[suffix]} keeps only what the leaves of a "
            "tree say; pruning needs what its inner nodes say, too. Pass the original model, and "
            "export the pruned one (`thriftwood export`)."
        )
    return (
        "holds no model that Thriftwood reads, or is damaged, perhaps cut off: is it the right "
        "file? Models are what their library saves to be loaded again, and end in "
        f"{listed(suffixes_of(READ))}."
    )
