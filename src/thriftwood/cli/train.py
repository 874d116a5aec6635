"""`thriftwood train`: for those who have samples and prices, and no model yet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.frontier import (
    FILES,
    check_metric,
    check_page,
    frontier_facts,
    frontier_lines,
    say_frontier,
    write_frontier,
)
from thriftwood.cli.inputs import check_limit, check_request, read_inputs
from thriftwood.cli.options import OutputFolder, Request, command, one_of
from thriftwood.cli.outputs import check_apart, check_new_folder, new_folder
from thriftwood.cli.prune import point_of, write_model
from thriftwood.cli.training import (
    KINDS,
    MODEL,
    TASKS,
    TRAIN,
    VALIDATION,
    baseline_note,
    write_model_and_samples,
)
from thriftwood.errors import InputError

PRUNED = "pruned.skops"
LARGEST_SEED = 2**32 - 1
TRAINED = (*FILES, MODEL, PRUNED, TRAIN, VALIDATION)


@command(
    "data output target costs budget kind task validation title noun positive seed weight "
    "weigh_bills drop loss class_weight error_costs metric jobs force json quiet debug"
)
def train(
    request: Request,
    console: Console,
    output: OutputFolder = Path("trained"),
    kind: Annotated[
        str | None,
        typer.Option(
            "--model",
            parser=one_of(KINDS),
            metavar="KIND",
            help="What to train: budget-forest (classes only), forest or boosting; by default all "
            "are tried, and the best in cross-validation is taken.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            parser=one_of(TASKS),
            metavar="TASK",
            help="Whether the target holds classes or numbers: classification or regression; by "
            "default its values decide.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is drawn at random.")] = 0,
) -> None:
    """Train a model where there is none yet, and prune it.

    Takes all columns but the target as features, save those to --drop; they must be numbers. Tries
    a forest, boosting and a forest grown with prices in mind, and takes the best. A quarter of the
    samples is held out to choose a point by, unless --validation is given. With a --budget the
    folder also gets pruned.skops.

    \b
    Examples:
      thriftwood train rows.csv --target ill --costs prices.csv
      thriftwood train rows.csv --target ill --costs prices.csv --budget 12 -o clinic
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"--seed is {seed}: pass a whole number from 0 to {LARGEST_SEED}.")
    check_limit("--budget", request.budget)
    check_apart(output, request.data, request.validation, request.costs)
    check_new_folder(output, TRAINED, request.force)
    check_request(request)
    check_metric(request, holds_out=True)
    with new_folder(output, TRAINED, request.force) as folder:
        trained, lines = write_model_and_samples(request, folder, kind, task, seed, console)
        inputs = read_inputs(trained, console)
        check_page(request, inputs)
        path = tw.prune_path(inputs.problem)
        found = write_frontier(folder, path, inputs, _moved(trained, folder, output), console)
        note = baseline_note(found.evaluation, inputs, kind)
        lines, facts = [*lines, "", *frontier_lines(found)], frontier_facts(found)
        if request.budget is not None:
            limits = (request.budget, None)
            model, more, pruned = point_of(path, inputs, limits, False)
            write_model(model, folder / PRUNED, False, console)
            lines, facts = [*lines, "", *more], facts | {"pruned": pruned}
    if note is not None:
        console.note(note)
    say_frontier(lines, output, console)
    console.answer(facts | {"type": type(inputs.problem.model).__name__, "output": str(output)})


def _moved(request: Request, old: Path, new: Path) -> Request:
    """Return a request whose files are in another folder, those that are in a certain one."""
    places = {
        name: new / place.name
        for name in ("model", "data", "validation")
        if (place := getattr(request, name)) is not None and place.parent == old
    }
    return replace(request, **places)
