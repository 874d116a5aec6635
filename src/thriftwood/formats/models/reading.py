"""Read a model, whatever library wrote its file."""

from typing import Any

from thriftwood.adapters import forest_model, read_forest, read_stages
from thriftwood.errors import (
    ForestError,
    InputError,
    ThriftwoodError,
    UnfittedModelError,
    UnsupportedModelError,
)
from thriftwood.forest import Forest
from thriftwood.formats.models.format import Content, Format, damaged
from thriftwood.formats.models.refused import refusal
from thriftwood.formats.models.registry import FORMATS
from thriftwood.support.files import File, place_of, read_whole


def read_model(file: File, *, trust_pickle: bool = False) -> Any:
    """Return the model in a file; what the file holds says which library wrote it, not its name.

    No code in it is run. But files of boosters are read by their own libraries, some of which
    believe every number in them: one that was changed on purpose may end the process.

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
        CatBoost, whatever a file of skops or a pickle holds, a `ForestModel` or a
        `CascadeClassifier`. Thriftwood can read its trees.
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
    return _checked(_read(own, content), own, content)


def model_format(file: File) -> str:
    """Return the name of the format that a file is in, such as "skops"; nothing of it is run.

    Parameters
    ----------
    file
        Its name.
    """
    return _format_of(_content(file)).name


def suffix_for(file: File) -> str:
    """Return what names of files end in that are in the format of this one: its own suffix, if so.

    Parameters
    ----------
    file
        The name of a model's file.
    """
    own, suffix = _format_of(_content(file)), place_of(file).suffix.lower()
    return suffix if suffix in own.suffixes else own.suffixes[0]


def _content(file: File) -> Content:
    content = Content(place_of(file), read_whole(file))
    if not content.data:
        raise InputError(f"{content.place} is empty.")
    return content


def _format_of(content: Content) -> Format:
    for own in FORMATS:
        if own.is_in(content):
            return own
    raise refusal(content)


def _read(own: Format, content: Content) -> Any:
    try:
        return own.read(content)
    except (ForestError, UnfittedModelError) as error:  # these do not know of the file
        raise type(error)(f"{content.place}: {error}") from None
    except ThriftwoodError:
        raise
    except Exception as error:  # whatever a damaged file leads its library to
        raise damaged(content, own.name, error) from None


def _checked(model: Any, own: Format, content: Content) -> Any:
    """Return the model if its trees can be read."""
    if isinstance(model, Forest):
        return forest_model(model)
    try:
        read_stages(model)
    except (UnsupportedModelError, UnfittedModelError, ForestError, InputError) as error:
        raise _inside_pipeline(model, content) or type(error)(f"{content.place}: {error}") from None
    except ThriftwoodError:
        raise
    except Exception as error:  # numbers that contradict each other
        raise damaged(content, own.name, error) from None
    return model


def _inside_pipeline(model: Any, content: Content) -> UnsupportedModelError | None:
    """Return the error for a pipeline whose last step could be read."""
    try:
        last = model.steps[-1][1]
        read_forest(last)
    except (AttributeError, IndexError, TypeError, ThriftwoodError):
        return None
    return UnsupportedModelError(
        f"{content.place} holds a {type(last).__name__} inside a {type(model).__name__}, which "
        "changes the rows before the model sees them. Take the model out, `pipeline[-1]`, write "
        "it with `tw.export.to_skops`, and use it with the rows as `pipeline[:-1].transform` makes "
        "them."
    )
