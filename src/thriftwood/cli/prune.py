"""`thriftwood prune`: one pruned model, with its figures and the proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thriftwood.cli import options
from thriftwood.cli.choice import Choice
from thriftwood.cli.choosing import choose
from thriftwood.cli.early import check_request
from thriftwood.cli.failures import ends_in_words
from thriftwood.cli.inputs import Inputs, read_inputs
from thriftwood.cli.measuring import measured_on
from thriftwood.cli.outputs import check_apart, check_new_cascade, check_new_model
from thriftwood.cli.request import Request
from thriftwood.cli.voice import Voice
from thriftwood.cli.words import wrapped

Budget = Annotated[
    float | None,
    options.number_option("What a row may cost on average."),
]
Tradeoff = Annotated[
    float | None,
    options.number_option(
        "How much loss one unit of cost is worth: the larger, the more is pruned."
    ),
]
MaxErrorIncrease = Annotated[
    float | None,
    options.number_option("How much the error may rise, such as 0.01; best on --validation rows."),
]
Refit = Annotated[
    bool, typer.Option("--refit", help="Fit the values of the leaves that are left again.")
]
Cascade = Annotated[
    bool,
    typer.Option(
        "--cascade",
        help="Write a classifier in stages that buys more only where it is not sure; needs "
        "--validation, and may have a --budget.",
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where the pruned model goes; its suffix says in which format.",
    ),
]


def prune(
    model: options.Model,
    data: options.Data,
    output: Output,
    target: options.Target = None,
    costs: options.Costs = None,
    budget: Budget = None,
    tradeoff: Tradeoff = None,
    max_error_increase: MaxErrorIncrease = None,
    validation: options.Validation = None,
    refit: Refit = False,
    cascade: Cascade = False,
    weight: options.Weight = None,
    loss: options.Loss = None,
    class_weight: options.ClassWeight = None,
    jobs: options.Jobs = None,
    trust_pickle: options.TrustPickle = False,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Prune to a budget, a tradeoff or a rise of the error.

    Pass exactly one of --budget, --tradeoff and --max-error-increase.

    \b
    Examples:
      thriftwood prune model.skops train.csv --target ill --costs prices.csv \\
          --budget 12 -o pruned.skops
      thriftwood prune model.skops train.csv --target ill --costs prices.csv \\
          --validation valid.csv --max-error-increase 0.01 -o pruned.skops
      thriftwood prune model.skops train.csv --target ill --costs prices.csv \\
          --validation valid.csv --cascade -o cascade.tw
    """
    voice = Voice(json, quiet)
    choice = Choice(budget, tradeoff, max_error_increase, refit, cascade)
    request = Request(
        model=model,
        data=data,
        target=target,
        costs=costs,
        weight=weight,
        validation=validation,
        loss=loss,
        class_weight=class_weight or (),
        jobs=jobs,
        trust_pickle=trust_pickle,
    )
    with ends_in_words(debug, voice):
        choice.check(validation is not None)
        check_request(request)
        check_apart(output, model, data, validation, costs)
        _check_output(choice, output, force)
        _prune(request, choice, output, force, voice)


def _check_output(choice: Choice, output: Path, force: bool) -> None:
    """Refuse a name that a pruned model or a cascade cannot have."""
    (check_new_cascade if choice.cascade else check_new_model)(output, force)


def _prune(request: Request, choice: Choice, output: Path, force: bool, voice: Voice) -> None:
    """Find the model, write it, and say what it is."""
    from thriftwood.formats.models import check_model_file

    inputs = read_inputs(request, voice)
    forest = inputs.forest
    becomes_ours = choice.refit and forest.is_averaged and forest.is_classifier
    if not (choice.cascade or becomes_ours):
        check_model_file(inputs.model, output)
    chosen = choose(inputs, choice, voice)
    # All that may fail comes before the file: it is there only if all went well.
    validation, measured = _on_validation(inputs, chosen.model)
    _check_output(choice, output, force)  # somebody may have used it meanwhile
    write_pruned(chosen.model, output, voice)
    title, *figures = chosen.lines
    for line in (title, *measured, *figures, f"Wrote {output}."):
        voice.say(line)
    voice.answer(chosen.facts | {"validation": validation, "output": str(output)})


def write_pruned(model: Any, output: Path, voice: Voice) -> None:
    """Write a model in the format that the suffix names."""
    from thriftwood.formats.models import write_model_file

    with voice.step(f"Writing {output}"):
        write_model_file(model, output)


def _on_validation(inputs: Inputs, pruned: Any) -> tuple[dict[str, Any] | None, list[str]]:
    """Return how the model did before and does now on rows that it was not trained on.

    For JSON, and as lines.
    """
    if inputs.validation is None or not inputs.is_judged_by_errors:
        return None, []
    rows, unit = inputs.validation, "" if inputs.costs is None else inputs.costs.unit
    now, before = measured_on(rows, inputs, pruned), measured_on(rows, inputs)
    kind = inputs.forest.is_classifier
    line = f"On the validation rows: {now.in_words(unit, kind)}, was {before.in_words(unit, kind)}."
    facts = {"n_samples": len(rows.X), **now._asdict(), "original": before._asdict()}
    return facts, [wrapped(line)]
