"""Boosters of XGBoost as its own JSON or binary JSON."""

from pathlib import Path
from typing import Any

from thriftwood.adapters import library_of
from thriftwood.formats.content import Content, write_saved
from thriftwood.formats.trial import tried_first
from thriftwood.support.libraries import library

FROM_ESTIMATOR = "scikit_learn"  # what an estimator notes among the attributes of its booster


def recognise(content: Content) -> bool:
    return "learner" in content.json_keys or (
        content.data[:1] == b"{" and b"learner" in content.data[:40] and not content.looks_like_json
    )


@tried_first("XGBoost")
def read(content: Content) -> Any:
    xgboost = library("xgboost", "xgboost")
    booster = xgboost.Booster()
    booster.load_model(bytearray(content.data))
    best = booster.attr("best_iteration")
    if booster.attr(FROM_ESTIMATOR) is not None and best is not None:
        # An estimator that stopped early predicts with its best rounds, a booster with all.
        return booster[: int(best) + 1]
    return booster


def holds(model: object) -> bool:
    return library_of(model) == "xgboost"


def write(model: Any, place: Path) -> None:
    write_saved(place, model.save_model)  # an estimator notes there what it is
