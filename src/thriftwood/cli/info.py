"""`thriftwood info`: what is in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thriftwood.cli.console import Console
from thriftwood.cli.inputs import check_file, read_model
from thriftwood.cli.options import Request, command
from thriftwood.cli.text import listed

if TYPE_CHECKING:
    from thriftwood.forest import Forest


@command("model trust_pickle json quiet debug")
def info(request: Request, console: Console) -> None:
    """Say what is in a model file.

    \b
    Examples:
      thriftwood info model.skops
      thriftwood info booster.txt --json
    """
    check_file(request.model)
    from thriftwood.formats.models import model_format

    facts = _facts(read_model(request.model, request.trust_pickle, console))
    facts |= {"file": str(request.model), "format": model_format(request.model)}
    for label, words in _lines(facts).items():
        console.say(f"{label:15s} {words}")
    console.answer(facts)


def _facts(model: Any) -> dict[str, Any]:
    """Return what there is to know about a model before any sample is seen."""
    from thriftwood.adapters import read_stages

    stages = read_stages(model)
    forest = stages.richest
    used = np.unique(forest.feature[forest.is_split])
    names = forest.feature_names
    return {
        "type": type(model).__name__,
        "task": "classification" if forest.is_classifier else "regression",
        "classes": None if forest.classes is None else forest.classes.tolist(),
        "n_trees": forest.n_trees,
        "n_splits": forest.n_splits,
        "depth": _depth(forest),
        "n_features": forest.n_features,
        "feature_names": None if names is None else list(names),
        "used_features": [int(one) if names is None else names[one] for one in used],
        "n_stages": len(stages),
        "can_be_pruned": len(stages) == 1 and forest.n_splits > 0,
    }


def _depth(forest: Forest) -> int:
    """Return how many splits a sample meets in one tree at the most."""
    return sum(1 for _ in forest.levels()) - 1


def _lines(facts: dict[str, Any]) -> dict[str, str]:
    """Return what people read, by labels."""
    used = [str(one) for one in facts["used_features"]]
    lines = {"model": facts["type"], "file": facts["format"], "task": facts["task"]}
    if facts["classes"] is not None:
        lines["classes"] = listed([str(label) for label in facts["classes"]])
    if facts["n_stages"] > 1:
        lines["stages"] = str(facts["n_stages"])
    lines["trees"] = f"{facts['n_trees']:,}"
    lines["splits"] = f"{facts['n_splits']:,}, at most {facts['depth']} deep"
    lines["features"] = f"{facts['n_features']:,}, of which {len(used):,} are used"
    if facts["feature_names"] is None:
        lines["names"] = "none: features go by their columns, 0, 1, ..., also in price lists"
    lines["used"] = listed(used, 20) if used else "none"
    if facts["can_be_pruned"]:
        lines["can be pruned"] = "yes"
    elif facts["n_stages"] > 1:
        lines["can be pruned"] = "no, a cascade is made of prunings already"
    else:
        lines["can be pruned"] = "no, its trees are single leaves already"
    return lines
