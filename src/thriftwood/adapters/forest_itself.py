"""A `Forest` is a model that has been read already."""

from dataclasses import replace
from typing import Any

from thriftwood.adapters.samples import BootstrapSamples
from thriftwood.forest import Forest, collapse
from thriftwood.support.arrays import BoolArray, FloatArray

SUPPORTED = "Forest"


def reads(model: object) -> bool:
    return isinstance(model, Forest)


def read(model: Any) -> Forest:
    forest: Forest = model
    return forest


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    forest = model if values is None else replace(model, values=values)
    return collapse(forest, kept)[0]


def samples(_model: Any) -> BootstrapSamples | None:
    return None
