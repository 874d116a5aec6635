"""`thriftwood verify`: a proof that a pruned model is the best one, or how far it may be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import thriftwood as tw
from thriftwood.cli.console import NOT_OPTIMAL, Console
from thriftwood.cli.inputs import (
    FileInputs,
    check_file,
    check_request,
    read_inputs,
    read_one_forest,
)
from thriftwood.cli.options import Request, command, flag
from thriftwood.cli.prune import figures, proof_facts
from thriftwood.cli.text import count, wrapped

CHANGED = (
    "The splits are an optimal pruning, but leaves have other values than the model's: refitted, "
    "or changed. If it was refitted, pass --refitted."
)


@command(
    "model pruned data target costs tradeoff refitted weight query_id weigh_bills drop loss "
    "class_weight jobs trust_pickle json quiet debug"
)
def verify(
    request: Request,
    console: Console,
    pruned: Annotated[
        Path, typer.Argument(metavar="PRUNED", help="The model that is said to be its pruning.")
    ],
    refitted: Annotated[
        bool, flag("--refitted", "Accept leaves with other values than the model's: a refit.")
    ] = False,
) -> None:
    """Check that a pruned model is an optimal pruning.

    Nothing that pruning said is trusted: the proof is made anew, at the --tradeoff, or else where
    the pruned model does best. Ends with 0 if it is optimal, with 1 if not or if leaves were
    changed, with 2 if it is no pruning of the model at all.

    \b
    Examples:
      thriftwood verify model.skops pruned.skops train.csv --target ill --costs prices.csv
      thriftwood verify model.skops pruned.skops train.csv --target ill --tradeoff 0.01
    """
    check_file(pruned)
    check_request(request, request.model)
    inputs = read_inputs(request, console)
    verification = tw.verify_pruning(
        inputs.problem,
        read_one_forest(pruned, request.trust_pickle, console),
        tradeoff=request.tradeoff,
    )
    is_changed = verification.is_optimal and not (verification.same_values or refitted)
    for line in _lines(verification, pruned, inputs, request):
        console.say(line)
    if is_changed:
        console.say(wrapped(CHANGED))
    console.answer(_facts(verification) | {"n_samples": len(inputs.samples.y)})
    if is_changed or not verification.is_optimal:
        raise typer.Exit(NOT_OPTIMAL)


def _lines(
    verification: tw.Verification, pruned: Path, inputs: FileInputs, request: Request
) -> list[str]:
    title, *lines = str(verification).replace("Verification", str(pruned), 1).splitlines()
    prices = "every feature at 1" if request.costs is None else f"the prices of {request.costs}"
    counted = f"judged on {count(len(inputs.samples.y), 'sample')} of {request.data}, with {prices}"
    return [wrapped(title), *lines, wrapped(counted, "  ")]


def _facts(verification: tw.Verification) -> dict[str, Any]:
    return {
        "is_optimal": verification.is_optimal,
        "same_values": verification.same_values,
        "tradeoff": verification.tradeoff,
        "tradeoffs": verification.tradeoffs,
        "gap": verification.gap,
        "certificate": proof_facts(verification.certificate),
        **figures(verification),
        "original": figures(verification.original),
        "unit": verification.unit,
    }
