"""Models of CatBoost as its own binary file or JSON."""

import json
from pathlib import Path
from typing import Any

from thriftwood.adapters import library_of
from thriftwood.formats.content import Content, write_saved
from thriftwood.support.files import CUT_OFF
from thriftwood.support.libraries import library

BEGINS = b"CBM1"


def recognise(content: Content) -> bool:
    return content.data.startswith(BEGINS) or {"model_info", "scale_and_bias"} <= content.json_keys


def read(content: Content) -> Any:
    catboost = library("catboost", "catboost")
    file_format = "cbm" if content.data.startswith(BEGINS) else "json"
    if file_format == "json":
        _check_document(json.loads(content.data))
    try:
        plain = catboost.CatBoost().load_model(str(content.place), format=file_format)
    except catboost.CatBoostError:
        if file_format == "json":
            raise
        raise ValueError(CUT_OFF) from None  # it talks about its own C++
    kind = catboost.CatBoostClassifier if len(plain.classes_) else catboost.CatBoostRegressor
    return kind().load_model(str(content.place), format=file_format)


def holds(model: object) -> bool:
    return library_of(model) == "catboost"


def write(model: Any, place: Path) -> None:
    suffix = place.suffix.lower()
    write_saved(place, lambda file: model.save_model(file, format=suffix[1:]))


def _check_document(document: dict[str, Any]) -> None:
    """Refuse what CatBoost would read without a look, and end the whole process."""
    scale = document["scale_and_bias"]
    if not (isinstance(scale, list) and len(scale) == 2):
        raise ValueError("its scale_and_bias is no pair")
    for number, tree in enumerate(document.get("trees", [])):
        nodes = [tree]
        while nodes:
            node = nodes.pop()
            if not isinstance(node, dict) or not (
                {"left", "right"} <= set(node) or "value" in node
            ):
                raise ValueError(f"tree {number} has a node that is neither a split nor a leaf")
            nodes += [node[side] for side in ("left", "right") if side in node]
