"""Boosters of XGBoost as its own JSON or binary JSON."""

from pathlib import Path
from typing import Any

from thriftwood.adapters import is_a
from thriftwood.formats.models.format import Content, Format
from thriftwood.formats.models.saved import saved_bytes
from thriftwood.formats.models.ubjson import is_whole
from thriftwood.support.files import write_whole
from thriftwood.support.libraries import library

FROM_ESTIMATOR = "scikit_learn"  # what an estimator notes among the attributes of its booster


def _is_in(content: Content) -> bool:
    return "learner" in content.json_keys or (
        content.data[:1] == b"{" and b"learner" in content.data[:40] and not content.looks_like_json
    )


def _read(content: Content) -> Any:
    if not content.json_keys and not is_whole(content.data):
        raise ValueError("it is cut off, or was changed")
    xgboost = library("xgboost", "xgboost")
    booster = xgboost.Booster()
    booster.load_model(bytearray(content.data))
    best = booster.attr("best_iteration")
    if booster.attr(FROM_ESTIMATOR) is not None and best is not None:
        # An estimator that stopped early predicts with its best rounds, a booster with all.
        return booster[: int(best) + 1]
    return booster


def _holds(model: object) -> bool:
    return is_a(model, "xgboost", "Booster") or is_a(model, "xgboost", "XGBModel")


def _write(model: Any, place: Path) -> None:
    write_whole(place, saved_bytes(model.save_model, place.suffix.lower()))


FORMAT = Format(
    name="XGBoost",
    suffixes=(".json", ".ubj"),
    is_in=_is_in,
    read=_read,
    holds=_holds,
    write=_write,
)
