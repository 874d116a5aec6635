"""Boosters of LightGBM as its own text."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from thriftwood.adapters import is_a, read_forest
from thriftwood.errors import UnsupportedModelError
from thriftwood.formats.models.format import Content, Format
from thriftwood.support.files import write_whole
from thriftwood.support.libraries import library

ENDS = {"version=": "end of trees", "\nparameters:": "end of parameters"}


def _is_in(content: Content) -> bool:
    return re.match(rb"\s*tree\r?\nversion=", content.data) is not None


def _read(content: Content) -> Any:
    lightgbm = library("lightgbm", "lightgbm")
    text = content.data.decode().replace("\r\n", "\n").lstrip()
    # Where a part has no end, or sizes are wrong after an edit by hand, LightGBM itself ends, and
    # the whole process with it.
    for begin, end in ENDS.items():
        if begin in text and end not in text:
            raise ValueError(f"it has no line {end!r}, so something is missing")
    _check_places(text)
    text = re.sub(r"(?m)^tree_sizes=.*\n", "", text, count=1)
    return lightgbm.Booster(model_str=text)


def _check_places(text: str) -> None:
    """Refuse nodes and features that are not there: LightGBM would write beyond its memory."""
    (n_features,) = (int(last) + 1 for last in re.findall(r"(?m)^max_feature_idx=(\d+)$", text))
    for tree in text.split("\nTree=")[1:]:
        (n_leaves,) = map(int, re.findall(r"(?m)^num_leaves=(\d+)$", tree))
        ends = {
            "left_child": n_leaves - 1,
            "right_child": n_leaves - 1,
            "split_feature": n_features,
        }
        for name, end in ends.items():
            first = 0 if name == "split_feature" else -n_leaves
            (cells,) = re.findall(rf"(?m)^{name}=(.*)$", tree)
            places = np.array(cells.split(), dtype=np.int64)
            if len(places) != n_leaves - 1 or ((places < first) | (places >= end)).any():
                raise ValueError(f"a line {name!r} names what is not there")


def _holds(model: object) -> bool:
    return is_a(model, "lightgbm", "Booster") or is_a(model, "lightgbm", "LGBMModel")


def _write(model: Any, place: Path) -> None:
    _check(model)
    booster = model if is_a(model, "lightgbm", "Booster") else model.booster_
    write_whole(place, booster.model_to_string())


def _check(model: Any) -> None:
    classes = read_forest(model).classes
    if classes is not None and not np.array_equal(classes, np.arange(len(classes))):
        known = ", ".join(repr(label) for label in classes.tolist()[:5])
        raise UnsupportedModelError(
            f"This {type(model).__name__} has the classes {known}, but LightGBM's text numbers "
            "classes from 0 and keeps no labels: write .skops, or the `booster_` of the model."
        )


FORMAT = Format(
    name="LightGBM text",
    suffixes=(".txt", ".lgb", ".model"),
    is_in=_is_in,
    read=_read,
    holds=_holds,
    write=_write,
    check=_check,
)
