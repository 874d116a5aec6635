"""`thriftwood prune --cascade`: a classifier in stages, and what is shown of its errors."""

from __future__ import annotations

import math
from typing import Any

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.inputs import FileInputs, read_samples
from thriftwood.cli.options import Request
from thriftwood.cli.text import wrapped
from thriftwood.errors import InputError

TUNED = (
    "The validation set also tuned it, which flatters it a little. For less money pass a smaller "
    "--budget; at small ones --refit helps."
)


USUAL_CONFIDENCE = 0.95


def check_cascade(request: Request, given: list[str]) -> None:
    """Refuse options that a cascade does not go with; `given` are those that decide on a point."""
    if request.confidence is not None and request.unseen is None:
        raise InputError("--confidence is that of what --unseen shows: pass both, or leave it out.")
    if (request.unseen is None) != (request.max_error_increase is None):
        raise InputError(
            "--max-error-increase of a --cascade is shown on samples that nothing has seen: pass "
            "them as --unseen, and both, or neither."
        )
    if not set(given) <= {"--budget" if request.unseen is None else "--max-error-increase"}:
        raise InputError(
            "A --cascade is chosen by --budget, by --max-error-increase with --unseen, or by none "
            "of these."
        )
    if request.validation is None:
        raise InputError(
            "A --cascade is tuned on samples that the model was not trained on: pass them as "
            "--validation."
        )
    if request.unseen is not None and request.max_cost is not None:
        raise InputError("--unseen shows nothing of a cascade with --max-cost: leave one out.")


def make_cascade(
    inputs: FileInputs, request: Request, console: Console
) -> tuple[tw.CascadeClassifier | tw.CascadeRanker, list[str], dict[str, Any]]:
    """Return a cascade of points of the path, tuned on the validation set."""
    assert inputs.validation is not None, "`_check_choice` has seen to that."
    path = tw.prune_path(inputs.problem, memory_limit=request.memory_limit)
    cascade = path.cascade(
        inputs.validation.X,
        inputs.validation.y,
        budget=request.budget,
        max_cost=math.inf if request.max_cost is None else request.max_cost,
        scoring=inputs.scoring,
        error_costs=inputs.error_costs,
        class_weight=inputs.class_weight,
        refit=inputs.samples if request.refit else None,
        sample_weight=inputs.validation.weight,
        qid=inputs.validation.query,
        n_jobs=inputs.problem.n_jobs,
        progress=console.progress,
    )
    if request.unseen is not None and isinstance(cascade, tw.CascadeClassifier):
        cascade = _guaranteed(cascade, inputs, request, console)
    facts = {
        "type": type(cascade).__name__,
        "n_stages": len(cascade.stages),
        "n_stages_used": len(cascade.stages.in_use),
        "budget": request.budget,
    }
    title, *_ = str(cascade).splitlines()
    shown = getattr(cascade, "guarantee", None)
    if shown is not None:
        return cascade, [title, wrapped(str(shown))], facts | {"guarantee": shown.facts()}
    choice = [] if cascade.choice is None else [wrapped(str(cascade.choice))]
    return cascade, [title, *choice, wrapped(TUNED)], facts


def _guaranteed(
    cascade: tw.CascadeClassifier,
    inputs: FileInputs,
    request: Request,
    console: Console,
) -> tw.CascadeClassifier:
    """Return the cheapest rule that fresh samples show to err hardly more than the model."""
    assert request.unseen is not None
    assert request.max_error_increase is not None
    names = list(inputs.samples.X.columns)
    X, y, weight, _ = read_samples(request.unseen, inputs.problem.model, request, console, names)
    return cascade.guaranteed(
        X,
        y,
        max_error_increase=request.max_error_increase,
        confidence=USUAL_CONFIDENCE if request.confidence is None else request.confidence,
        sample_weight=weight,
    )
