"""Options and arguments that several commands have, each described once."""

from pathlib import Path
from typing import Annotated, Any

import typer

from thriftwood.cli.parsing import number, whole


def column_option(words: str) -> Any:
    """Return an option for a column that may be left out; `words` are its help."""
    return typer.Option(metavar="COLUMN", help=words, show_default=False)


def number_option(words: str) -> Any:
    """Return an option for a number that may be left out; `words` are its help."""
    return typer.Option(parser=number, metavar="NUMBER", help=words, show_default=False)


Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="The trained model: a file of scikit-learn (.skops), LightGBM (.txt, .lgb, .model), "
        "XGBoost (.json, .ubj), CatBoost (.cbm, .json) or Thriftwood (.tw, .json); with "
        "--trust-pickle also .pkl, .pickle or .joblib. ONNX is only written, by export.",
    ),
]
Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Rows with named columns, usually those that the model was trained on: .csv, .tsv "
        "(also with .gz), .parquet, .feather, .arrow; or arrays of NumPy (.npz): X, y and, if you "
        "like, weight and feature_names. Columns without names go by their numbers, 0, 1, ...",
    ),
]

Target = Annotated[
    str | None,
    column_option(
        "The column that says what is right for each row; only an .npz file with an array y can do "
        "without."
    ),
]
Costs = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What features cost: a price list (.csv, .json, .toml). Without it each costs 1.",
        show_default=False,
    ),
]
Weight = Annotated[str | None, column_option("A column that says how much each row counts.")]
Validation = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Rows that the model was not trained on, with the same columns as DATA.",
        show_default=False,
    ),
]
Loss = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What to count: error, expected_error, brier, log_loss, squared_error, "
        "absolute_error or recorded_gain; by default what suits the model.",
        show_default=False,
    ),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL=NUMBER",
        help="How much errors on a class count: 'balanced', or LABEL=NUMBER, as often as needed.",
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        parser=whole, metavar="N", help="Threads; -1 for all. By default one.", show_default=False
    ),
]
TrustPickle = Annotated[
    bool,
    typer.Option(
        "--trust-pickle",
        help="Read a .pkl or .joblib file as well. It can run anything: only if you trust it.",
    ),
]
OutputFolder = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="A folder to make.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object in place of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not show progress.")]
Debug = Annotated[
    bool, typer.Option("--debug", help="When something goes wrong, show the traceback, too.")
]
