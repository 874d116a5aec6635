"""Models as files of skops, which hold no code to run, unlike a pickle."""

import io
import json
import re
import sys
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import is_dataclass
from inspect import isabstract
from itertools import takewhile
from typing import Any

import numpy as np

from thriftwood.adapters import read_stages
from thriftwood.cascade import CascadeClassifier, CascadeRanker
from thriftwood.errors import (
    InputError,
    MissingLibraryError,
    ThriftwoodError,
    UnsupportedModelError,
)
from thriftwood.formats.content import Content
from thriftwood.formats.trial import tried_first
from thriftwood.support.files import File, place_of, read_whole, write_whole
from thriftwood.support.libraries import alone, library
from thriftwood.support.text import said_by

# What skops does not trust by itself, by name and nothing else.
TRUSTED_NAMES = {
    "builtins": ("object",),  # types by which columns were chosen
    "collections": ("OrderedDict",),
    "functools": ("partial",),
    "numpy": ("dtype", "number", "integer", "floating", "object_", "str_", "bool"),
    "sklearn.compose._column_transformer": ("make_column_selector",),  # it chose when it was fitted
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
SCHEMA = "schema.json"
ADDRESS = re.compile(r'("__id__": |"file": ")([\w-]+)')  # of an object in memory, or drawn
NOT_PUBLIC = {"conftest", "estimator_checks", "experimental", "externals", "setup", "tests"}
BOOSTERS = ("lightgbm.", "xgboost.", "catboost.")
TRUSTED = {f"{module}.{name}" for module, names in TRUSTED_NAMES.items() for name in names}
# Rooms whose estimators, dataclasses and named tuples are trusted: they hold data and do nothing.
OUR_ROOMS = (
    *("adapters", "closure", "costs", "estimators", "evaluation"),
    *("forest", "problem", "pruning", "refitting"),
)


def recognise(content: Content) -> bool:
    return SCHEMA in content.zip_names


def read(content: Content) -> Any:
    """Return whatever is in a file, with its trees checked where it is a model of ours to read."""
    try:
        unusual = _skops().get_untrusted_types(data=content.data)
        _check_trees(content)
        strange = _untrusted(unusual)
        if strange:
            raise InputError(
                f"{content.place} holds {', '.join(strange)}, which is not trusted, so nothing was "
                "loaded. If you know who wrote it, use skops.io.load and name what you trust."
            )
        has_booster = any(name.startswith(BOOSTERS) for name in unusual)
        model = (_load_booster if has_booster else _load)(content)
        with suppress(UnsupportedModelError):  # what has a model inside, such as a pipeline
            read_stages(model)
    except ThriftwoodError:
        raise
    except Exception as error:  # whatever a damaged file leads to
        said = said_by(error)
        raise InputError(f"{content.place} is not a whole file of skops: {said}.") from None
    return model


def holds(model: object) -> bool:
    return not isinstance(model, (CascadeClassifier, CascadeRanker))


def to_skops(model: object, file: File) -> None:
    """Write a model as a file of skops.

    Parameters
    ----------
    model : a fitted model, or a `Forest`
        Of scikit-learn, LightGBM, XGBoost or CatBoost, or ours; or an estimator with such a model
        inside, as a pipeline. The file keeps all of it, not only its trees.
    file
        Where to write it; a file that is there is replaced.
    """
    skops = _skops()
    try:
        content: bytes = skops.dumps(model, compression=zipfile.ZIP_DEFLATED)
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
    write_whole(file, _numbered(content))


write = to_skops


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
    _skops()
    return read(Content(place_of(file), read_whole(file)))


def _skops() -> Any:
    """Return skops; in a process of our own without its list of all estimators of scikit-learn.

    It imports all of scikit-learn and its tests for the list, half of the time of a short command.
    """
    if not alone.is_set() or "skops.io" in sys.modules:
        return library("skops.io", "skops")
    utils = library("sklearn.utils")
    all_estimators = utils.all_estimators
    utils.all_estimators = list
    try:
        return library("skops.io", "skops")
    finally:
        utils.all_estimators = all_estimators


def _numbered(content: bytes) -> bytes:
    """Return a file of skops that is the same for the same model, whenever it is written.

    skops names objects and their files after addresses in memory; here they are counted.
    """
    numbers: dict[str, str] = {}
    counted = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as given,
        zipfile.ZipFile(counted, "w", zipfile.ZIP_DEFLATED) as written,
    ):
        schema = ADDRESS.sub(
            lambda found: found[1] + numbers.setdefault(found[2], str(len(numbers))),
            given.read(SCHEMA).decode(),
        )
        for name in given.namelist():
            address, dot, suffix = name.partition(".")
            place = zipfile.ZipInfo(numbers.get(address, address) + dot + suffix)
            data = schema if name == SCHEMA else given.read(name)
            written.writestr(place, data, zipfile.ZIP_DEFLATED)
    return counted.getvalue()


def _load(content: Content) -> Any:
    skops = _skops()
    trusted = skops.get_untrusted_types(data=content.data)  # `read` has looked at them
    return skops.loads(content.data, trusted=trusted)


_load_booster = tried_first("the library of its model")(_load)


def _check_trees(content: Content) -> None:
    """Refuse trees of scikit-learn whose nodes are no row: it crashes when it is given them."""
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        parts: list[Any] = [json.loads(archive.read(SCHEMA))]
        for part in parts:  # it grows while we walk
            if isinstance(part, list):
                parts += part
            elif isinstance(part, dict):
                parts += part.values()
                if part.get("__loader__") == "TreeNode":
                    nodes = archive.read(part["content"]["content"]["nodes"]["file"])
                    if np.load(io.BytesIO(nodes), allow_pickle=False).ndim != 1:
                        raise ValueError("the nodes of a tree are no row")


def _untrusted(names: Iterable[str]) -> list[str]:
    return [
        name
        for name in names
        if name not in TRUSTED and not _is_our_noun(name) and not _is_estimator(name)
    ]


def _is_estimator(name: str) -> bool:
    """Say whether a name is that of a public estimator of scikit-learn, which skops trusts."""
    module, _, noun = name.rpartition(".")
    parts = module.split(".")
    if parts[0] != "sklearn" or noun.startswith("_") or NOT_PUBLIC & set(parts):
        return False
    public = takewhile(lambda part: not part.startswith("_"), parts)
    try:
        found = getattr(library(".".join(public)), noun, None)
    except MissingLibraryError:
        return False
    base: type = library("sklearn.base").BaseEstimator
    if not isinstance(found, type) or not issubclass(found, base) or found is base:
        return False
    return not isabstract(found) and f"{found.__module__}.{found.__name__}" == name


def _is_our_noun(name: str) -> bool:
    """Say whether a name is that of data of ours; nothing is imported because a file names it."""
    import thriftwood.estimators  # noqa: F401  with all rooms below it

    module, _, noun = name.rpartition(".")
    if not module.startswith(tuple(f"thriftwood.{room}." for room in OUR_ROOMS)):
        return False
    found = getattr(sys.modules.get(module), noun, None)
    is_data = is_dataclass(found) or hasattr(found, "get_params") or hasattr(found, "_fields")
    return isinstance(found, type) and is_data
