"""Models as files of skops, which hold no code to run, unlike a pickle."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED

from thriftwood.adapters import read_stages
from thriftwood.cascade import CascadeClassifier
from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.formats.content import Content
from thriftwood.support.files import File, read_whole, write_whole
from thriftwood.support.libraries import library

# What skops does not trust by itself, by name and nothing else.
TRUSTED_NAMES = {
    "collections": ("OrderedDict",),
    "functools": ("partial",),
    "numpy": ("dtype",),
    "sklearn.ensemble._hist_gradient_boosting.predictor": ("TreePredictor",),
    "sklearn.tree._tree": ("Tree",),
    "sklearn.utils.validation": ("check_array",),  # in the partial of a booster with categories
    "lightgbm.basic": ("Booster",),
    "lightgbm.sklearn": ("LGBMClassifier", "LGBMRanker", "LGBMRegressor"),
    "xgboost.core": ("Booster",),
    "xgboost.sklearn": (
        *("XGBClassifier", "XGBRanker", "XGBRegressor"),
        *("XGBRFClassifier", "XGBRFRegressor"),
    ),
    "catboost.core": ("CatBoost", "CatBoostClassifier", "CatBoostRanker", "CatBoostRegressor"),
}
TRUSTED = {f"{module}.{name}" for module, names in TRUSTED_NAMES.items() for name in names}
# Rooms whose estimators, dataclasses and named tuples are trusted: they hold data and do nothing.
OUR_ROOMS = (
    *("adapters", "closure", "costs", "estimators", "evaluation"),
    *("forest", "problem", "pruning", "refitting"),
)


def recognise(content: Content) -> bool:
    return "schema.json" in content.zip_names


def read(content: Content) -> Any:
    return from_skops(content.place)


def holds(model: object) -> bool:
    return not isinstance(model, CascadeClassifier)


def write(model: Any, place: Path) -> None:
    to_skops(model, place)


def to_skops(model: object, file: File) -> None:
    """Write a model as a file of skops.

    Parameters
    ----------
    model : a fitted model, or a `Forest`
        Of scikit-learn, LightGBM, XGBoost or CatBoost, or ours. The file keeps all of it, not only
        its trees.
    file
        Where to write it; a file that is there is replaced.
    """
    skops = library("skops.io", "skops")
    try:
        content: bytes = skops.dumps(model, compression=ZIP_DEFLATED)
    except (TypeError, ValueError, AttributeError) as error:
        raise UnsupportedModelError(
            f"This {type(model).__name__} cannot be written by skops: {error}."
        ) from None
    strange = _untrusted(skops.get_untrusted_types(data=content))
    if strange:
        raise UnsupportedModelError(
            f"This {type(model).__name__} holds {', '.join(strange)}, which `from_skops` would not "
            "trust: write it with skops itself, and name there what you trust."
        )
    write_whole(file, content)


def from_skops(file: File) -> Any:
    """Read the model that `to_skops` wrote, or skops itself.

    A file may hold what skops trusts, the trees of the libraries that this package reads, and its
    own nouns. Anything else is refused before it is loaded. The trees of a model are checked, so
    that no prediction can run out of them; but not those of a model inside a pipeline or another
    model, and what a booster keeps in bytes of its own, its library reads.

    Parameters
    ----------
    file
        Its name.
    """
    skops = library("skops.io", "skops")
    content = read_whole(file)
    try:
        unusual = skops.get_untrusted_types(data=content)
    except Exception as error:  # whatever a damaged file leads to
        raise _damaged(file, error) from None
    strange = _untrusted(unusual)
    if strange:
        raise InputError(
            f"{os.fspath(file)} holds {', '.join(strange)}, which is not trusted, so nothing was "
            "loaded. If you know who wrote it, use skops.io.load and name what you trust."
        )
    try:
        model = skops.loads(content, trusted=unusual)
    except Exception as error:
        raise _damaged(file, error) from None
    with suppress(UnsupportedModelError):  # what has a model inside, such as a pipeline
        read_stages(model)
    return model


def _untrusted(names: Iterable[str]) -> list[str]:
    return [name for name in names if name not in TRUSTED and not _is_our_noun(name)]


def _is_our_noun(name: str) -> bool:
    """Say whether a name is that of data of ours; nothing is imported because a file names it."""
    import thriftwood.estimators  # noqa: F401  with all rooms below it

    module, _, noun = name.rpartition(".")
    if not module.startswith(tuple(f"thriftwood.{room}." for room in OUR_ROOMS)):
        return False
    found = getattr(sys.modules.get(module), noun, None)
    is_data = is_dataclass(found) or hasattr(found, "get_params") or hasattr(found, "_fields")
    return isinstance(found, type) and is_data


def _damaged(file: File, error: Exception) -> InputError:
    said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return InputError(f"{os.fspath(file)} is not a whole file of skops: {said}.")
