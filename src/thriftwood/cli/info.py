"""`thriftwood info`: what is in a model file."""

from __future__ import annotations

import math
from typing import Any

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.inputs import check_file, read_model
from thriftwood.cli.options import Request, command
from thriftwood.cli.text import amount, listed
from thriftwood.support.validation import six_digits


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
    from thriftwood.adapters import buying_stages, required_columns
    from thriftwood.forest import Forest, NestedStages

    stages = buying_stages(model)
    forest = stages.richest
    names = forest.columns.names
    trees, more = [forest], {}
    task = "classification" if forest.is_classifier else "regression"
    nested = getattr(model, "stages_", None)
    if isinstance(model, tw.CascadeRanker):
        task, nested = "ranking", model.stages
    if isinstance(nested, NestedStages):
        members = [member for members in nested.members for member in members]
        trees = [member for member in members if isinstance(member, Forest)]
        more = _ranker_facts(model) if task == "ranking" else _thrifty_facts(model)
    return {
        "type": type(model).__name__,
        "task": task,
        "classes": None if forest.classes is None else forest.classes.tolist(),
        "n_trees": sum(one.n_trees for one in trees),
        "n_splits": sum(one.n_splits for one in trees),
        # Splits that a sample meets in one tree at the most.
        "depth": max((len(list(one.levels())) - 1 for one in trees), default=0),
        "n_features": forest.columns.n_columns,
        "feature_names": None if names is None else list(names),
        "used_features": [
            int(one) if names is None else names[one] for one in required_columns(forest)
        ],
        "n_stages": len(stages),
        "can_be_pruned": len(stages) == 1 and forest.n_splits > 0 and not more,
        **more,
    }


def _thrifty_facts(model: Any) -> dict[str, Any]:
    """Return what a thrifty model was fitted for, and what it came to on samples not seen."""
    return {
        "budget": model.budget,
        "max_cost": model.max_cost,
        "cost": model.cost_,
        "unit": model.prices.unit,
        "scoring": model.frontier_.scoring,
        "score": model.score_,
        **_set_facts(model, model.stages_),
    }


def _ranker_facts(model: Any) -> dict[str, Any]:
    """Return the same of a ranker; its costs are those of queries."""
    rule = min(model.rule, len(model.rules) - 1)
    return {
        "max_cost": None if model.max_cost == math.inf else model.max_cost,
        "cost_per_query": float(model.rules.costs[rule]),
        "unit": model.prices.unit,
        "scoring": model.scoring,
        "score": 1.0 - float(model.rules.errors[rule]),
        **_set_facts(model, model.stages),
    }


def _set_facts(model: Any, stages: Any) -> dict[str, Any]:
    names = model.purchase_plan.richest.feature_names
    sets = [[k if names is None else names[k] for k in sorted(own)] for own in stages.sets]
    return {"stages_in_use": stages.in_use, "sets": sets}


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
    if "sets" in facts:
        lines |= _stage_lines(facts)
    elif facts["can_be_pruned"]:
        lines["can be pruned"] = "yes"
    elif facts["n_stages"] > 1:
        lines["can be pruned"] = "no, a cascade is made of prunings already"
    else:
        lines["can be pruned"] = "no, its trees are single leaves already"
    return lines


def _stage_lines(facts: dict[str, Any]) -> dict[str, str]:
    """Return what each stage buys, and what samples pay."""
    lines, bought = {}, []
    for number in facts["stages_in_use"]:
        new = [str(one) for one in facts["sets"][number] if one not in bought]
        bought = facts["sets"][number]
        lines[f"stage {number} buys"] = listed(new, 8) if new else "nothing"
    limits = {"a budget of": facts.get("budget"), "no bill above": facts["max_cost"]}
    asked = [f"{words} {six_digits(limit)}" for words, limit in limits.items() if limit is not None]
    if "budget" in facts or asked:
        lines["set to"] = " and ".join(asked) or "its own choice of a budget"
    return lines | {
        "mean bill": f"{_paid(facts)}, {facts['scoring']} {facts['score']:.4g}, on samples not "
        "trained on",
        "can be pruned": "no: ask it for another budget, model.at(budget=...)",
    }


def _paid(facts: dict[str, Any]) -> str:
    if "cost_per_query" in facts:
        return f"{amount(facts['cost_per_query'], facts['unit'])} a query"
    return amount(facts["cost"], facts["unit"])
