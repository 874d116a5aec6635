"""`thriftwood train`: for those who have samples and prices, and no model yet."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.frontier import (
    FILES,
    check_page,
    say_frontier,
    write_frontier,
)
from thriftwood.cli.inputs import check_limit, check_metric, check_request, read_inputs
from thriftwood.cli.options import EFFORTS, THRIFTY, OutputFolder, Request, command
from thriftwood.cli.outputs import check_apart, check_new_folder, new_folder
from thriftwood.cli.prune import point_of, write_model
from thriftwood.cli.thrifty import THRIFTY_FILES, samples_to_judge, write_thrifty
from thriftwood.cli.training import (
    MODEL,
    THRIFTY_MODEL,
    TRAIN,
    VALIDATION,
    baseline_note,
    train_model,
)
from thriftwood.errors import InputError

PRUNED = "pruned.skops"
LARGEST_SEED = 2**32 - 1
PARTS = (TRAIN, VALIDATION)
# Lines and facts, and the score of the model, which score that is, and on which samples.
Answer = tuple[list[str], dict[str, Any], tuple[float, Any, Any]]


@command(
    "data output target costs budget max_cost kind effort task validation title noun positive seed "
    "weight weigh_bills drop loss class_weight error_costs metric jobs force json quiet debug"
)
def train(
    request: Request,
    console: Console,
    output: OutputFolder = Path("trained"),
) -> None:
    """Train a model that buys features as long as a sample needs them.

    Takes all columns but the target as features, save those to --drop; they must be numbers. A
    quarter of the samples is held out to measure on, unless --validation is given. The folder gets
    model.tw, which holds every budget, report.html, frontier.csv and frontier.png; of another
    --model what frontier writes, and with a --budget pruned.skops.

    \b
    Examples:
      thriftwood train rows.csv --target ill --costs prices.csv
      thriftwood train rows.csv --target ill --costs prices.csv --budget 12 -o clinic
    """
    if not 0 <= request.seed <= LARGEST_SEED:
        raise InputError(f"--seed is {request.seed}: pass a whole number from 0 to {LARGEST_SEED}.")
    check_limit("--budget", request.budget)
    check_limit("--max-cost", request.max_cost)
    _check_kind(request)
    names = (*THRIFTY_FILES, THRIFTY_MODEL) if request.kind == THRIFTY else (*FILES, MODEL, PRUNED)
    check_apart(output, request.data, request.validation, request.costs)
    check_new_folder(output, (*names, *PARTS), request.force)
    check_request(request)
    check_metric(request, holds_out=True)
    with new_folder(output, (*names, *PARTS), request.force) as folder:
        model, files, samples, lines = train_model(request, folder, console)
        finish = _write_thrifty if request.kind == THRIFTY else partial(_prune, output)
        more, facts, judged = finish(folder, model, files, console)
    # Classes that weigh more are worth some errors on others: errors alone say little then.
    if not (request.class_weight or request.error_costs):
        note = baseline_note(*judged, samples, request.kind, hasattr(model, "classes_"))
        if note is not None:
            console.note(note)
    say_frontier([*lines, "", *more], output, console)
    console.answer(facts | {"type": type(model).__name__, "output": str(output)})


def _check_kind(request: Request) -> None:
    """Refuse options that are for models of another kind."""
    if request.kind == THRIFTY and request.loss is not None:
        raise InputError("--loss is for pruning: pass --model forest or --model boosting as well.")
    is_set = request.max_cost is not None or request.effort != EFFORTS[0]
    if request.kind != THRIFTY and is_set:
        raise InputError("--max-cost and --effort are for thrifty models: leave out --model.")


def _write_thrifty(folder: Path, model: Any, request: Request, console: Console) -> Answer:
    """Measure a thrifty model on samples that were held out, and write what every budget buys."""
    held_out, _ = samples_to_judge(model, request, console)
    lines, facts = write_thrifty(folder, model, held_out, request, console)
    score, scoring = facts["original"]["score"], model.scoring or facts["scoring"]
    return lines, facts, (score, scoring, held_out)


def _prune(output: Path, folder: Path, _model: Any, request: Request, console: Console) -> Answer:
    """Prune a model of scikit-learn, and write all optimal prunings."""
    inputs = read_inputs(request, console)
    check_page(request, inputs)
    path = tw.prune_path(inputs.problem)
    moved = _moved(request, folder, output)
    lines, facts = write_frontier(folder, path, inputs, moved, console)
    before = facts["original"]
    judged = before["validation_score"], inputs.scoring or before["scoring"], inputs.validation
    if request.budget is not None:
        model, more, pruned = point_of(path, inputs, (request.budget, None), False)
        write_model(model, folder / PRUNED, False, console)
        lines, facts = [*lines, "", *more], facts | {"pruned": pruned}
    return lines, facts, judged


def _moved(request: Request, old: Path, new: Path) -> Request:
    """Return a request whose files are in another folder, those that are in a certain one."""
    places = {
        name: new / place.name
        for name in ("model", "data", "validation")
        if (place := getattr(request, name)) is not None and place.parent == old
    }
    return replace(request, **places)
