"""`thriftwood export`: a model in a format of another program."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import thriftwood as tw
from thriftwood.cli import options
from thriftwood.cli.early import check_files
from thriftwood.cli.failures import ends_in_words
from thriftwood.cli.inputs import read_one_forest
from thriftwood.cli.outputs import MODELS, check_apart, check_new_file
from thriftwood.cli.parsing import word_of
from thriftwood.cli.voice import Voice
from thriftwood.errors import InputError
from thriftwood.support.files import write_whole


class Format(StrEnum):
    """What a model can be written as."""

    onnx = "onnx"
    treelite = "treelite"
    c = "c"
    json = "json"
    lightgbm = "lightgbm"


SUFFIXES = {
    Format.onnx: ".onnx",
    Format.treelite: ".treelite",
    Format.c: ".c",
    Format.json: ".json",
    Format.lightgbm: ".txt",
}


def export(
    model: options.Model,
    to: Annotated[
        Format,
        typer.Option(
            "--to",
            parser=word_of(Format),
            metavar="FORMAT",
            help="The format: onnx, treelite, c, json or lightgbm.",
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
    trust_pickle: options.TrustPickle = False,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
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
    voice = Voice(json, quiet)
    place = model.with_suffix(SUFFIXES[to]) if output is None else output
    with ends_in_words(debug, voice):
        check_files(model)
        check_apart(place, model)
        _check_suffix(place, to)
        check_new_file(place, force)
        trained = read_one_forest(model, trust_pickle, voice)
        check_new_file(place, force)  # somebody may have used it meanwhile
        with voice.step(f"Writing {place}"):
            _write(trained, to.value, place)
        voice.say(f"Wrote {place}: a {type(trained).__name__} as {to.value}.")
        voice.answer({"type": type(trained).__name__, "format": to.value, "output": str(place)})


def _check_suffix(place: Path, to: Format) -> None:
    """Refuse a name that says another format."""
    suffix, own = place.suffix.lower(), SUFFIXES[to]
    if suffix != own and suffix in (*MODELS, *SUFFIXES.values()):
        raise InputError(f"{place} is no name for {to.value}: let it end in {own}.")


def _write(model: Any, name: str, file: Path) -> None:
    if name == "treelite":
        write_whole(file, tw.export.to_treelite(model).serialize_bytes())
    else:
        getattr(tw.export, f"to_{name}")(model, file)
