"""`thriftwood export`: a model in a format of another program."""

from pathlib import Path
from typing import Annotated

import typer

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.inputs import check_file, read_one_forest
from thriftwood.cli.options import Request, command, one_of
from thriftwood.cli.outputs import MODELS, check_apart, check_new_file, new_file
from thriftwood.errors import InputError
from thriftwood.formats import EXPORTED
from thriftwood.support.files import write_whole

SUFFIXES = {own.module: own.suffixes[0] for own in EXPORTED}


@command("model to output trust_pickle force json quiet debug")
def export(
    request: Request,
    console: Console,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            parser=one_of(list(SUFFIXES)),
            metavar="FORMAT",
            help=f"The format: {', '.join(SUFFIXES)}.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="What to write; by default a file beside MODEL, such as pruned.onnx for "
            "pruned.skops.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a model as ONNX, treelite, C, JSON or LightGBM.

    The file predicts what the model predicts, up to the rounding of the format's numbers. ONNX,
    treelite, C and the LightGBM text of a forest are for predicting alone: Thriftwood does not
    read them again.

    \b
    Examples:
      thriftwood export pruned.skops --to onnx
      thriftwood export pruned.skops --to c -o forest.c
    """
    place = output or request.model.with_suffix(SUFFIXES[to])
    check_file(request.model)
    check_apart(place, request.model)
    suffix, own = place.suffix.lower(), SUFFIXES[to]
    if suffix != own and suffix in (*MODELS, *SUFFIXES.values()):
        raise InputError(f"{place} is no name for {to}: let it end in {own}.")
    check_new_file(place, request.force)
    model = read_one_forest(request.model, request.trust_pickle, console)
    with console.step(f"Writing {place}"), new_file(place, request.force) as unfinished:
        if to == "treelite":
            write_whole(unfinished, tw.export.to_treelite(model).serialize_bytes())
        else:
            getattr(tw.export, f"to_{to}")(model, unfinished)
    console.say(f"Wrote {place}: a {type(model).__name__} as {to}.")
    console.answer({"type": type(model).__name__, "format": to, "output": str(place)})
