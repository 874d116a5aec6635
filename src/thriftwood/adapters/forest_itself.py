"""A `Forest` is a model that has been read already."""

from typing import Any

from thriftwood.adapters.samples import Samples
from thriftwood.arrays import BoolArray
from thriftwood.forest import Forest, collapse

SUPPORTED = "thriftwood's own Forest"


def reads(model: object) -> bool:
    return isinstance(model, Forest)


def read(model: Any) -> Forest:
    forest: Forest = model
    return forest


def write(model: Any, kept: BoolArray) -> Any:
    return collapse(model, kept)[0]


def samples(_model: Any) -> Samples | None:
    return None
