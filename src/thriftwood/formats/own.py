"""Cascades, forest models and thrifty models as they save themselves: arrays in a zip."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from thriftwood.adapters import ForestModel, nested_stages
from thriftwood.cascade import CascadeClassifier, CascadeRanker
from thriftwood.errors import InputError
from thriftwood.estimators import THRIFTY_FORMAT, load_thrifty
from thriftwood.formats.content import Content

LOADERS: dict[str, Callable[[Path], Any]] = {
    "thriftwood cascade": CascadeClassifier.load,
    "thriftwood ranker": CascadeRanker.load,
    "thriftwood forest": ForestModel.load,
    THRIFTY_FORMAT: load_thrifty,
}


def recognise(content: Content) -> bool:
    return "header.npy" in content.zip_names


def read(content: Content) -> Any:
    with np.load(io.BytesIO(content.data), allow_pickle=False) as arrays:
        kind = json.loads(str(arrays["header"]))["format"]
    if kind == "thriftwood pruning path":
        raise InputError(
            f"{content.place} holds a path of prunings, not a model: read it in Python with "
            "`tw.PruningPath.load(file, model)`, and write the model of one of its points."
        )
    return LOADERS[kind](content.place)


def holds(model: object) -> bool:
    is_ours = isinstance(model, (CascadeClassifier, CascadeRanker, ForestModel))
    return is_ours or nested_stages(model) is not None


def write(model: Any, place: Path) -> None:
    model.save(place)
