"""Arguments and options that several commands have, each written once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from thriftwood.cli.console import Console
from thriftwood.support.progress import quietly

REQUIRED: Any = ...
THRIFTY, BUDGET_FOREST, FOREST, BOOSTING = KINDS = (
    "thrifty",
    "budget-forest",
    "forest",
    "boosting",
)
CLASSIFICATION, REGRESSION = TASKS = ("classification", "regression")
RANKING = "ranking"  # where queries are named
EFFORTS = ("full", "quick")


def optional(metavar: str, words: str, *names: str) -> Any:
    """Return an option that may be left out; `words` are its help."""
    return typer.Option(*names, metavar=metavar, help=words, show_default=False)


def flag(name: str, words: str) -> Any:
    """Return an option without a value; `words` are its help."""
    return typer.Option(name, help=words)


def one_of(names: Sequence[str]) -> Callable[[str], str]:
    """Return the parser of an option that takes one of these names."""

    def parse(text: str) -> str:
        if text not in names:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(names)}.")
        return text

    return parse


OutputFolder = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="A folder to make.")
]


@dataclass(frozen=True)
class Request:
    """Arguments and options of a command; it has those that its `command` names."""

    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="The trained model: a file of scikit-learn (.skops), LightGBM (.txt, .lgb, "
            ".model), XGBoost (.json, .ubj), CatBoost (.cbm, .json) or Thriftwood (.tw, .json); "
            "with --trust-pickle also .pkl, .pickle or .joblib. ONNX is only written, by export.",
        ),
    ] = REQUIRED
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Samples, a row each, with named columns, usually those to train on: .csv, .tsv "
            "(also with .gz), .parquet, .feather, .arrow; or arrays of NumPy (.npz): X, y and, if "
            "you like, weight and feature_names. Columns without names go by their numbers, 0, 1, "
            "...",
        ),
    ] = REQUIRED
    target: Annotated[
        str | None,
        optional("COLUMN", "The column to predict; an .npz file may have it as its array y."),
    ] = None
    costs: Annotated[
        Path | None,
        optional(
            "FILE",
            "What features cost: a price list (.csv, .json, .toml). Without it each costs 1; only "
            "a cascade brings its own prices along.",
        ),
    ] = None
    budget: Annotated[
        float | None,
        optional("NUMBER", "What a sample may cost on average; of a ranker in stages a query."),
    ] = None
    tradeoff: Annotated[
        float | None,
        optional(
            "NUMBER", "How much loss one unit of cost is worth: the larger, the more is pruned."
        ),
    ] = None
    max_error_increase: Annotated[
        float | None,
        optional("NUMBER", "How much the error may rise, such as 0.01; best with --validation."),
    ] = None
    max_cost: Annotated[
        float | None,
        optional("NUMBER", "What no sample may exceed; to prune, with --cascade."),
    ] = None
    unseen: Annotated[
        Path | None,
        optional(
            "FILE",
            "Samples that nothing has seen: on these a --cascade is shown to err, with a "
            "--confidence, at most --max-error-increase more than the model.",
        ),
    ] = None
    confidence: Annotated[
        float | None, optional("NUMBER", "How sure --unseen is to be; by default 0.95.")
    ] = None
    refit: Annotated[bool, flag("--refit", "Fit the values of the leaves again.")] = False
    cascade: Annotated[
        bool,
        flag(
            "--cascade",
            "Write a classifier in stages that buys more only where it is not sure; needs "
            "--validation, and may have a --budget, or --unseen.",
        ),
    ] = False
    kind: Annotated[
        str,
        typer.Option(
            "--model",
            parser=one_of(KINDS),
            metavar="KIND",
            help="What to train: thrifty, or a model of scikit-learn that is pruned then: forest, "
            "boosting or budget-forest (classes only).",
        ),
    ] = THRIFTY
    effort: Annotated[
        str,
        typer.Option(
            parser=one_of(EFFORTS), metavar="EFFORT", help="full, or quick for a first look."
        ),
    ] = EFFORTS[0]
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
    ] = None
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is drawn at random.")] = 0
    validation: Annotated[
        Path | None,
        optional("FILE", "Samples that the model was not trained on, with the columns of DATA."),
    ] = None
    weight: Annotated[
        str | None, optional("COLUMN", "A column of sample weights: how much errors count.")
    ] = None
    query_id: Annotated[
        str | None,
        optional(
            "COLUMN",
            "The column of the query that found a document, where samples are documents to rank; "
            "an .npz file may have it as its array qid.",
        ),
    ] = None
    weigh_bills: Annotated[
        bool,
        flag("--weigh-bills", "Count by the weights in mean bills, too, as in a survey."),
    ] = False
    drop: Annotated[
        list[str] | None,
        optional(
            "COLUMN", "A column that is no feature, such as a number of rows; as often as needed."
        ),
    ] = None
    loss: Annotated[
        str | None,
        optional(
            "NAME",
            "The loss to count: error, expected_error, brier, log_loss, squared_error, "
            "absolute_error or recorded_gain; by default what suits the model.",
        ),
    ] = None
    class_weight: Annotated[
        list[str] | None,
        optional(
            "LABEL=NUMBER",
            "How much errors on a class count: 'balanced', or LABEL=NUMBER, as often as needed.",
        ),
    ] = None
    error_costs: Annotated[
        list[str] | None,
        optional(
            "LABEL=NUMBER",
            "What a wrong answer costs where LABEL is true, in the unit of the prices, for every "
            "class; or one NUMBER for all errors. Tests and errors are to cost least in sum.",
        ),
    ] = None
    metric: Annotated[
        str | None,
        optional(
            "NAME",
            "The score of scikit-learn to suggest a point by, such as average_precision or "
            "accuracy; by default roc_auc, or squared errors. Of rankers ndcg@10, map@5 and so on.",
        ),
    ] = None
    title: Annotated[str | None, optional("TEXT", "Your own words at the top of the page.")] = None
    noun: Annotated[
        str, optional("WORD", "What a sample is called on the page, such as patient.")
    ] = "sample"
    positive: Annotated[
        str | None,
        optional("LABEL", "Of two classes the one to be found; by default the rarer one."),
    ] = None
    time_limit: Annotated[
        float | None,
        optional("SECONDS", "Stop then, with the points found so far and the gap proven so far."),
    ] = None
    memory_limit: Annotated[
        str | None, optional("SIZE", "Memory to take, such as 2GB; by default what is free.")
    ] = None
    jobs: Annotated[int | None, optional("N", "Threads; -1 for all. By default one.")] = None
    trust_pickle: Annotated[
        bool,
        flag(
            "--trust-pickle",
            "Read a .pkl or .joblib file as well. It can run anything: only if you trust it.",
        ),
    ] = False
    force: Annotated[bool, flag("--force", "Replace what is there already.")] = False
    json: Annotated[bool, flag("--json", "Print one JSON object in place of text.")] = False
    quiet: Annotated[bool, flag("--quiet", "Do not show progress.")] = False
    debug: Annotated[
        bool, flag("--debug", "When something goes wrong, show the traceback, too.")
    ] = False

    def words(self, command: str, *more: str) -> list[str]:
        """Return the words of a command on the same model and samples, with more options."""
        words = ["thriftwood", command, str(self.model), str(self.data)]
        for name in ("target", "costs", "weight", "validation", "loss"):
            value = getattr(self, name)
            if value is not None:
                words += [f"--{name}", str(value)]
        for part in self.class_weight or ():
            words += ["--class-weight", part]
        for part in self.error_costs or ():
            words += ["--error-costs", part]
        for column in self.drop or ():
            words += ["--drop", column]
        if self.query_id is not None:
            words += ["--query-id", self.query_id]
        for name in ("weigh_bills", "trust_pickle"):
            if getattr(self, name):
                words.append(f"--{name.replace('_', '-')}")
        return [*words, *more]


def command(names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function whose first two parameters are a request and a console.

    `names` are the arguments and options of the command, in the order of its help: further
    parameters of the function, or else fields of `Request`.
    """
    shared = inspect.signature(Request, eval_str=True).parameters

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True).parameters

        @functools.wraps(function)
        def run(**values: Any) -> None:
            mine = {name: value for name, value in values.items() if name in own}
            request = Request(**{name: values[name] for name in values if name not in own})
            console = Console(request.json, request.quiet)
            with console.failures_in_words(request.debug), quietly(request.quiet):
                function(request, console, **mine)

        parameters = [_keyword(own.get(name) or shared[name]) for name in names.split()]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return decorate


def _keyword(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter that goes by its name, without a default where it is required."""
    default = inspect.Parameter.empty if parameter.default is REQUIRED else parameter.default
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=default)
