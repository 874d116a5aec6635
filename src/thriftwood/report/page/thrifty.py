"""A thrifty model as the subject of a page: its rules from dear to cheap, beside its last stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from thriftwood.cascade import StoppingRules
from thriftwood.errors import InputError
from thriftwood.problem import tradeoff_inside
from thriftwood.report.page.subject import NO_NUMBERS, Subject, Version
from thriftwood.support.columns import Columns
from thriftwood.support.text import shown, unit_behind
from thriftwood.support.validation import six_digits
from thriftwood.thrifty import MeasuredStages

CLAIM = (
    "Nothing is proven here. Sets of features, models and when to stop were chosen by what models "
    "predicted that had not seen the samples; a budget is met on average, not for sure."
)
BUDGETS = (
    "Any budget from this up to that of the next point gives this point: it is what samples paid "
    "where the rule was tuned."
)
LEAST_SUM = "With costs of errors the model takes the least sum of bill and errors within a budget."
MOST_NAMES = 6  # of features that a stage buys


def thrifty_subject(model: Any, samples: Any, nouns: str) -> Subject:
    """Return a thrifty model, measured on samples: (X, y) or (X, y, sample_weight)."""
    if not isinstance(samples, tuple) or len(samples) not in (2, 3):
        raise InputError(
            "`problem` is no pair of samples: pass (X, y) that the model was not trained on, or "
            "(X, y, sample_weight).",
            "problem",
        )
    measured = MeasuredStages.of(model, *samples)

    def version(point: int | None) -> Version:
        bill = measured.bill_at(point)
        stage, weights = measured.stage_at(point), measured.data.weights
        last = model.stages_.sets[measured.in_use(point)[-1]]
        return Version(
            bill,
            measured.prices.n_columns_of(np.array(sorted(last), dtype=np.int64)),
            np.bincount(stage, weights, len(model.stages_)) / weights.sum(),
            _purchases_in_words(measured, point),
        )

    unit = unit_behind(model.prices.unit)
    why = (
        "the cheapest that was not clearly worse than the best in cross-fitting, where it cost "
        f"{six_digits(model.cost_)}{unit}"
    )
    if model.budget is not None:
        why = f"the model as it is set, to a budget of {six_digits(model.budget)}{unit}"
    return subject_of_rules(
        model,
        model.rules_,
        len(model.stages_),
        LEAST_SUM if model.adds_up else BUDGETS,
        nouns,
        data=measured.data,
        prices=measured.prices,
        costs=measured.costs,
        own=measured.evaluate(),
        start=len(model.rules_) - 1 - model.rule_,
        why=why,
        version=version,
    )


def subject_of_rules(
    model: Any,
    rules: StoppingRules,
    n_stages: int,
    hint: str,
    nouns: str,
    limit: str = "",
    **about: Any,
) -> Subject:
    """Return a model in stages as a subject; `about` are fields that others cannot tell."""

    def recipes(points: list[int]) -> Iterator[dict[str, Any]]:
        for point in points:
            budget = tradeoff_inside(rules.costs, len(rules) - 1 - point)
            yield {
                "command": None,
                "python": f"model = model.at(budget={budget!r}{limit})",
                "hint": hint,
                "proof": NO_NUMBERS | {"claim": CLAIM},
            }

    return Subject(
        name=type(model).__name__,
        forest=model.purchase_plan.richest,
        losses=None,
        validation=None,
        is_suggested=True,
        recipes=recipes,
        words=_words(n_stages, len(rules), nouns),
        **about,
    )


def _words(n_stages: int, n_rules: int, nouns: str) -> dict[str, str]:
    """Return what differs in the sentences of a page on rules."""
    return {
        "made_of": f"{n_stages} stage{'' if n_stages == 1 else 's'}",
        "method": f"{n_rules:,} budgets to choose from",
        "weighting": "",
        "before": "the full model",
        "was": "full",
        "is": "here",
        "own": f"the {nouns} it was not trained on",
        "own_head": f"{nouns} not trained on, ± one standard error",
        "caution": "",
        "judged": f"The {nouns} on this page did not train the model. The full model buys all "
        "features for each of them.",
        "loss": "",
        "by": "at the point shown first",
        "bars": f"Where {nouns} stop",
        "bars_x": "each bar is a stage, the cheapest first",
        "bars_y": f"share of {nouns}",
        "proof": "What is proven?",
    }


def _purchases_in_words(measured: MeasuredStages, point: int | None) -> str:
    """Say what the stages buy that samples may reach."""
    columns = measured.model.purchase_plan.richest.columns
    return purchases_in_words(measured.model.stages_.sets, measured.in_use(point), columns)


def purchases_in_words(
    sets: Sequence[frozenset[int]], in_use: Sequence[int], columns: Columns
) -> str:
    """Say what each stage buys that those before it did not."""
    bought: frozenset[int] = frozenset()
    parts = []
    for number in in_use:
        new = [shown(columns.label(k)) for k in sorted(sets[number] - bought)]
        bought |= sets[number]
        more = len(new) - MOST_NAMES
        some = ", ".join(new[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        parts.append(f"stage {number} buys {some or 'nothing'}")
    return f"{'; '.join(parts)}.".capitalize() if parts else ""
