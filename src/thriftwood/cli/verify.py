"""`thriftwood verify`: a proof that a pruned model is the best one, or how far it may be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import thriftwood as tw
from thriftwood.cli import options
from thriftwood.cli.choosing import figures
from thriftwood.cli.early import check_files, check_request
from thriftwood.cli.failures import NOT_OPTIMAL, ends_in_words
from thriftwood.cli.inputs import Inputs, read_inputs, read_one_forest
from thriftwood.cli.proofs import proof_facts
from thriftwood.cli.request import Request
from thriftwood.cli.voice import Voice
from thriftwood.cli.words import count, wrapped

if TYPE_CHECKING:
    from thriftwood.pruning.verifying import Verification

CHANGED = (
    "The splits are an optimal pruning, but leaves say something else than the model: refitted, or "
    "changed. If it was refitted, pass --refitted."
)


def verify(
    model: options.Model,
    pruned: Annotated[
        Path, typer.Argument(metavar="PRUNED", help="The model that is said to be its pruning.")
    ],
    data: options.Data,
    target: options.Target = None,
    costs: options.Costs = None,
    tradeoff: Annotated[
        float | None,
        options.number_option("At which tradeoff to judge it; by default where it does best."),
    ] = None,
    refitted: Annotated[
        bool,
        typer.Option(
            "--refitted", help="Accept leaves that say something else than the model: a refit."
        ),
    ] = False,
    weight: options.Weight = None,
    loss: options.Loss = None,
    class_weight: options.ClassWeight = None,
    jobs: options.Jobs = None,
    trust_pickle: options.TrustPickle = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Check that a pruned model is an optimal pruning.

    Nothing that pruning said is trusted: the proof is made anew. Ends with 0 if it is optimal, with
    1 if not or if leaves were changed, with 2 if it is no pruning of the model at all.

    \b
    Examples:
      thriftwood verify model.skops pruned.skops train.csv --target ill --costs prices.csv
      thriftwood verify model.skops pruned.skops train.csv --target ill --tradeoff 0.01
    """
    voice = Voice(json, quiet)
    with ends_in_words(debug, voice):
        request = Request(
            model=model,
            data=data,
            target=target,
            costs=costs,
            weight=weight,
            loss=loss,
            class_weight=class_weight or (),
            jobs=jobs,
            trust_pickle=trust_pickle,
        )
        check_files(pruned)
        check_request(request)
        inputs = read_inputs(request, voice)
        verdict = tw.verify_pruning(
            inputs.model,
            read_one_forest(pruned, trust_pickle, voice),
            inputs.rows.X,
            inputs.rows.y,
            tradeoff=tradeoff,
            costs=inputs.costs,
            **inputs.counting,
        )
        is_changed = verdict.is_optimal and not (verdict.same_values or refitted)
        for line in _lines(verdict, pruned, inputs, request):
            voice.say(line)
        if is_changed:
            voice.say(wrapped(CHANGED))
        voice.answer(_facts(verdict) | {"n_samples": len(inputs.rows.y)})
        if is_changed or not verdict.is_optimal:
            raise typer.Exit(NOT_OPTIMAL)


def _lines(verdict: Verification, pruned: Path, inputs: Inputs, request: Request) -> list[str]:
    title, *figures = str(verdict).replace("Verification", str(pruned), 1).splitlines()
    prices = "every feature at 1" if request.costs is None else f"the prices of {request.costs}"
    judged = f"judged on {count(len(inputs.rows.y), 'row')} of {request.data}, with {prices}"
    return [wrapped(title), *figures, wrapped(judged, "  ")]


def _facts(verdict: Verification) -> dict[str, Any]:
    return {
        "is_optimal": verdict.is_optimal,
        "same_values": verdict.same_values,
        "tradeoff": verdict.tradeoff,
        "tradeoffs": verdict.tradeoffs,
        "excess": verdict.excess,
        "certificate": proof_facts(verdict.certificate),
        **figures(verdict),
        "original": figures(verdict.original),
        "unit": verdict.unit,
    }
