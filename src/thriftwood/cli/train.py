"""`thriftwood train`: for those who have rows and prices, and no model yet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thriftwood.cli import options
from thriftwood.cli.baseline import doubt_about
from thriftwood.cli.choice import Choice
from thriftwood.cli.choosing import choose_on
from thriftwood.cli.early import check_counting, check_files, check_target
from thriftwood.cli.failures import ends_in_words
from thriftwood.cli.fitting import Kind, Task
from thriftwood.cli.frontier_files import FILES, REPORT, write_files
from thriftwood.cli.frontier_words import MARK, frontier_facts, frontier_lines
from thriftwood.cli.inputs import read_inputs
from thriftwood.cli.outputs import (
    FolderKind,
    check_apart,
    check_new_folder,
    new_folder,
)
from thriftwood.cli.parsing import whole, word_of
from thriftwood.cli.prune import write_pruned
from thriftwood.cli.request import Request
from thriftwood.cli.suggestion import find_frontier
from thriftwood.cli.training import (
    MODEL,
    TRAIN,
    VALIDATION,
    Lesson,
    write_lesson,
)
from thriftwood.cli.voice import Voice
from thriftwood.errors import InputError

PRUNED = "pruned.skops"
LARGEST_SEED = 2**32 - 1
FOLDER = FolderKind((*FILES, MODEL, PRUNED, TRAIN, VALIDATION), mark=REPORT)

Budget = Annotated[
    float | None,
    options.number_option("What a row may cost on average: writes pruned.skops, too."),
]
ModelKind = Annotated[
    Kind | None,
    typer.Option(
        "--model",
        parser=word_of(Kind),
        metavar="KIND",
        help="What to train: budget-forest, forest or boosting; by default budget-forest for "
        "classes, boosting for numbers.",
        show_default=False,
    ),
]
TargetKind = Annotated[
    Task | None,
    typer.Option(
        "--task",
        parser=word_of(Task),
        metavar="TASK",
        help="Whether the target holds classes or numbers: classification or regression; by "
        "default its values decide.",
        show_default=False,
    ),
]
Seed = Annotated[
    int, typer.Option(parser=whole, metavar="N", help="Of all that is drawn at random.")
]


def train(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Rows with named columns to train on: .csv, .tsv (also with .gz), .parquet, "
            ".feather, .arrow; or arrays of NumPy (.npz): X, y and, if you like, weight and "
            "feature_names. Columns without names go by their numbers, 0, 1, ...",
        ),
    ],
    output: options.OutputFolder = Path("trained"),
    target: options.Target = None,
    costs: options.Costs = None,
    budget: Budget = None,
    model: ModelKind = None,
    task: TargetKind = None,
    validation: options.Validation = None,
    seed: Seed = 0,
    weight: options.Weight = None,
    loss: options.Loss = None,
    class_weight: options.ClassWeight = None,
    jobs: options.Jobs = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Train a model where there is none yet, and prune it.

    Takes all columns but the target as features; they must be numbers. A quarter of the rows is
    held out to choose a point by, unless --validation is given.

    \b
    Examples:
      thriftwood train rows.csv --target ill --costs prices.csv
      thriftwood train rows.csv --target ill --costs prices.csv --budget 12 -o clinic
    """
    voice = Voice(json, quiet)
    with ends_in_words(debug, voice):
        if not 0 <= seed <= LARGEST_SEED:
            raise InputError(f"--seed is {seed}: pass a whole number from 0 to {LARGEST_SEED}.")
        choice = None if budget is None else Choice(budget=budget)
        if choice is not None:
            choice.check(validation is not None)
        check_apart(output, data, validation, costs)
        check_new_folder(output, FOLDER, force)
        request = Request(
            model=output / MODEL,
            data=data,
            target=target,
            costs=costs,
            weight=weight,
            validation=validation,
            loss=loss,
            class_weight=class_weight or (),
            jobs=jobs,
        )
        check_files(data, validation, costs)
        check_counting(request)
        check_target(request)
        _train(Lesson(request, output, model, task, seed), choice, force, voice)


def _train(lesson: Lesson, choice: Choice | None, force: bool, voice: Voice) -> None:
    """Train, prune, write all of it, and say what came out."""
    output = lesson.output
    with new_folder(output, FOLDER, force) as unfinished:
        learnt, lines = write_lesson(lesson, unfinished, voice)
        inputs = read_inputs(learnt.moved(output, unfinished), voice)
        found = find_frontier(inputs, voice)
        write_files(unfinished, found, inputs, learnt, voice)
        doubt = doubt_about(found, inputs, lesson.kind)
        lines, facts = [*lines, "", *frontier_lines(found)], frontier_facts(found)
        if choice is not None:
            chosen = choose_on(found.path, inputs, choice, voice)
            write_pruned(chosen.model, unfinished / PRUNED, voice)
            lines, facts = [*lines, "", *chosen.lines], facts | {"pruned": chosen.facts}
    if doubt is not None:
        voice.note(doubt)
    for line in lines:
        voice.say(line, strong=line.endswith(MARK))
    voice.say()
    voice.say(f"Wrote {output}. To choose a point, open {output / REPORT}.")
    voice.answer(facts | {"type": type(inputs.model).__name__, "output": str(output)})
