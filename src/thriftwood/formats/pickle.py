"""Pickles, also those of joblib. To read one is to run what its writer put into it."""

import io
import pickle
import re
from pathlib import Path
from typing import Any

import joblib

from thriftwood.errors import InputError, MissingLibraryError
from thriftwood.formats.content import Content
from thriftwood.support.files import CUT_OFF, write_whole


def recognise(content: Content) -> bool:
    # Compressed ones begin as other files do.
    return re.match(
        rb"\x80[\x02-\x05]", content.data
    ) is not None or content.place.suffix.lower() in (".pkl", ".pickle", ".joblib")


def read(content: Content) -> Any:
    try:
        return joblib.load(io.BytesIO(content.data))
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            f"{content.place} holds something of {error.name}, which is not installed here: "
            "install it, in the version that the model was trained with."
        ) from None
    except AttributeError as error:
        raise InputError(
            f"{content.place} holds something that is defined nowhere here ({error}), such as a "
            "class of the program that wrote it: write the model alone, with "
            '`tw.export.to_skops(model, "model.skops")`.'
        ) from None
    except (pickle.UnpicklingError, KeyError, IndexError, EOFError):
        raise ValueError(CUT_OFF) from None


def holds(_model: object) -> bool:
    return True


def write(model: Any, place: Path) -> None:
    stream = io.BytesIO()
    if place.suffix.lower() == ".joblib":
        joblib.dump(model, stream)
    else:
        pickle.dump(model, stream)
    write_whole(place, stream.getvalue())
