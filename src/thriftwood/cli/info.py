"""`thriftwood info`: what is in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thriftwood.cli import options
from thriftwood.cli.early import check_files
from thriftwood.cli.failures import ends_in_words
from thriftwood.cli.inputs import read_model
from thriftwood.cli.voice import Voice
from thriftwood.cli.words import listed

if TYPE_CHECKING:
    from thriftwood.forest import Forest


def info(
    model: options.Model,
    trust_pickle: options.TrustPickle = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Say what is in a model file.

    \b
    Examples:
      thriftwood info model.skops
      thriftwood info booster.txt --json
    """
    voice = Voice(json, quiet)
    with ends_in_words(debug, voice):
        check_files(model)
        from thriftwood.formats.models import model_format

        facts = facts_about(read_model(model, trust_pickle, voice))
        facts |= {"file": str(model), "format": model_format(model)}
        for label, words in _lines(facts).items():
            voice.say(f"{label:15s} {words}")
        voice.answer(facts)


def facts_about(model: Any) -> dict[str, Any]:
    """Return what there is to know about a model before any row is seen."""
    from thriftwood.adapters import read_stages

    stages = read_stages(model)
    forest = stages.richest
    used = np.unique(forest.feature[forest.is_split])
    names = forest.feature_names
    is_cascade = len(stages) > 1
    return {
        "type": type(model).__name__,
        "task": "classification" if forest.is_classifier else "regression",
        "classes": None if forest.classes is None else forest.classes.tolist(),
        "n_trees": forest.n_trees,
        "n_splits": forest.n_splits,
        "depth": depth_of(forest),
        "n_features": forest.n_features,
        "feature_names": None if names is None else list(names),
        "used_features": [int(one) if names is None else names[one] for one in used],
        "n_stages": len(stages),
        "can_be_pruned": not is_cascade and forest.n_splits > 0,
    }


def depth_of(forest: Forest) -> int:
    """Return how many splits a row meets in one tree at the most."""
    splits, depth = forest.tree_start[:-1], 0
    while True:
        splits = splits[forest.is_split[splits]]
        if not len(splits):
            return depth
        depth += 1
        splits = np.concatenate([forest.left[splits], forest.right[splits]])


def _lines(facts: dict[str, Any]) -> dict[str, str]:
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
    lines["can be pruned"] = _verdict(facts)
    return lines


def _verdict(facts: dict[str, Any]) -> str:
    if facts["can_be_pruned"]:
        return "yes"
    if facts["n_stages"] > 1:
        return "no, a cascade is made of prunings already"
    return "no, its trees are single leaves already"
