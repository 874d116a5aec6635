"""`thriftwood train`: for those who have rows and prices, and no model yet."""

from __future__ import annotations

from typing import Annotated

import typer

from thriftwood.cli import options
from thriftwood.cli.choice import Choice, choose
from thriftwood.cli.failures import ends_in_words
from thriftwood.cli.fitting import Kind, Task
from thriftwood.cli.frontier_files import FILES, write_files
from thriftwood.cli.frontier_words import MARK, frontier_facts, frontier_lines
from thriftwood.cli.inputs import read_inputs
from thriftwood.cli.outputs import check_apart, check_new_folder, new_folder
from thriftwood.cli.prune import write_pruned
from thriftwood.cli.request import Request
from thriftwood.cli.suggestion import find_frontier
from thriftwood.cli.training import MODEL, TRAIN, VALIDATION, Lesson, write_lesson
from thriftwood.cli.voice import Voice

PRUNED = "pruned.skops"
ALL_FILES = (*FILES, MODEL, PRUNED, TRAIN, VALIDATION)


Budget = Annotated[
    float | None,
    typer.Option(
        help="What a row may cost on average: writes pruned.skops, too.", show_default=False
    ),
]
ModelKind = Annotated[
    Kind | None,
    typer.Option(
        "--model",
        help="What to train; by default budget-forest for classes, boosting for numbers.",
        show_default=False,
    ),
]
TargetKind = Annotated[
    Task | None,
    typer.Option(
        "--task",
        help="Whether the target holds classes or numbers; by default its values decide.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(help="Of all that is drawn at random.")]


def train(
    data: options.Data,
    target: options.Target,
    output: options.OutputFolder,
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
      thriftwood train rows.csv --target ill --costs prices.csv -o trained
      thriftwood train rows.csv --target ill --costs prices.csv --budget 12 -o trained
    """
    voice = Voice(json, quiet)
    with ends_in_words(debug):
        check_apart(output, data, validation, costs)
        check_new_folder(output, ALL_FILES, force)
        request = Request(
            output / MODEL, data, target, costs, weight, validation, loss, class_weight or (), jobs
        )
        with new_folder(output, ALL_FILES, force) as unfinished:
            lesson = Lesson(request, output, model, task, seed)
            learnt, lines = write_lesson(lesson, unfinished, voice)
            inputs = read_inputs(learnt.moved(output, unfinished), voice)
            found = find_frontier(inputs, voice)
            write_files(unfinished, found, inputs, learnt, voice)
            lines, facts = [*lines, "", *frontier_lines(found)], frontier_facts(found)
            if budget is not None:
                chosen = choose(inputs, Choice(budget=budget), voice)
                write_pruned(chosen.model, unfinished / PRUNED, voice)
                lines, facts = [*lines, "", *chosen.lines], facts | {"pruned": chosen.facts}
        for line in lines:
            voice.say(line, strong=line.endswith(MARK))
        voice.say()
        voice.say(f"Wrote {output}. To choose a point, open {output / 'report.html'}.")
        voice.answer(facts | {"type": type(inputs.model).__name__, "output": str(output)})
