"""A `Forest` is a model that has been read already."""

from dataclasses import replace
from typing import Any

from thriftwood.adapters.samples import Samples
from thriftwood.arrays import BoolArray, FloatArray
from thriftwood.forest import Forest, collapse

SUPPORTED = "Forest"


def reads(model: object) -> bool:
    return isinstance(model, Forest)


def read(model: Any) -> Forest:
    forest: Forest = model
    return forest


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    forest = model if values is None else replace(model, values=values)
    return collapse(forest, kept)[0]


def samples(_model: Any) -> Samples | None:
    return None
