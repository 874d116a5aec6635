"""Forests as our own JSON, which every number keeps to the last bit."""

from pathlib import Path
from typing import Any

from thriftwood.adapters import ForestModel, forest_model
from thriftwood.forest import Forest
from thriftwood.formats.export import from_json, to_json
from thriftwood.formats.models.format import Content, Format


def _is_in(content: Content) -> bool:
    return {"format", "trees"} <= content.json_keys


def _read(content: Content) -> ForestModel:
    return forest_model(from_json(content.place))


def _holds(model: object) -> bool:
    return isinstance(model, (Forest, ForestModel))


def _write(model: Any, place: Path) -> None:
    to_json(model, place)


FORMAT = Format(
    name="Thriftwood JSON",
    suffixes=(".json",),
    is_in=_is_in,
    read=_read,
    holds=_holds,
    write=_write,
)
