"""Thrifty models on the command line: what every budget buys, in a folder to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from thriftwood.cli.console import Console
from thriftwood.cli.inputs import read_model, read_positive, read_samples
from thriftwood.cli.options import Request
from thriftwood.cli.outputs import new_file, write_picture
from thriftwood.cli.text import (
    aligned,
    amount,
    count,
    in_words,
    score_columns,
    share,
    table,
    total_column,
    wrapped,
)
from thriftwood.errors import InputError
from thriftwood.support.axes import VERMILION, draw_with_band, tidy, with_unit
from thriftwood.support.validation import six_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from thriftwood.evaluation import Evaluation
    from thriftwood.formats.tables import Samples

REPORT = "report.html"
THRIFTY_FILES = (REPORT, "frontier.csv", "frontier.png")
MOST_POINTS = 10  # in the table
SET = "<- set"


def read_thrifty(file: Path, console: Console) -> Any:
    """Return the thrifty model in a file, or None if it is something else."""
    from thriftwood.formats.models import model_format

    if model_format(file) != "Thriftwood":
        return None
    from thriftwood.estimators import ThriftyClassifier, ThriftyRegressor

    model = read_model(file, False, console)
    return model if isinstance(model, (ThriftyClassifier, ThriftyRegressor)) else None


def refuse_options(request: Request, *names: str) -> None:
    """Refuse options that are for prunings alone."""
    for name in names:
        if getattr(request, name):
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option} is for pruning: a thrifty model was fitted with its prices, costs of "
                "errors and score. Leave it out, or train again (thriftwood train)."
            )


def samples_to_judge(model: Any, request: Request, console: Console) -> tuple[Samples, Path]:
    """Return the samples to measure a thrifty model on, and their file."""
    file = request.validation or request.data
    return read_samples(file, model, request, console), file


def write_thrifty(
    folder: Path, model: Any, samples: Samples, request: Request, console: Console
) -> tuple[list[str], dict[str, Any]]:
    """Write the page, the table and the picture of a thrifty model; return what there is to say."""
    from thriftwood.report.page import write_page

    X, y, weight, _ = samples
    with console.step("Measuring"):
        evaluation = model.evaluate(X, y, sample_weight=weight)
        write_page(
            model,
            folder / REPORT,
            (X, y, weight),
            title=request.title,
            noun=request.noun,
            positive=request.positive,
        )
    point = len(model.rules_) - 1 - model.rule_  # from dear to cheap
    budgets = model.rules_.costs[::-1]
    frame = evaluation.to_frame().drop(columns="tradeoff")
    frame.insert(1, "budget", budgets)
    frame.to_csv(folder / "frontier.csv", index=False)
    with console.step("Drawing"):
        _draw(folder / "frontier.png", model, evaluation, point)
    facts = {
        "n_points": len(frame),
        "points": frame.to_dict("records"),
        "suggested": frame.iloc[point].to_dict(),
        "original": {
            name: getattr(evaluation.original, name) for name in ("cost", "error", "score")
        },
        "unit": model.prices.unit,
        "scoring": evaluation.scoring,
        "n_samples": evaluation.n_samples,
    }
    return _lines(model, evaluation, point, request), facts


def write_within(model: Any, output: Path, request: Request, console: Console) -> None:
    """Write a thrifty model for another budget, and say what it comes to on samples."""
    if request.budget is None:
        raise InputError(
            "A thrifty model holds every budget that it was fitted for: name one, --budget 12."
        )
    if output.suffix.lower() != ".tw":
        raise InputError(f"{output} is no name for a thrifty model: let it end in .tw.")
    cheaper = model.at(budget=request.budget)
    (X, y, *_), file = samples_to_judge(model, request, console)
    names = ("error", "cost", "n_samples")
    before, now = (_on(one, X, y) for one in (model, cheaper))
    with new_file(output, request.force) as unfinished:
        cheaper.save(unfinished)
    unit = model.prices.unit
    console.say(f"{type(model).__name__} within the budget {six_digits(request.budget)}")
    console.say(
        f"On {count(len(y), 'sample')} of {file}: {_error(cheaper, now[0])} at "
        f"{amount(now[1], unit)}, was {_error(model, before[0])} at {amount(before[1], unit)}."
    )
    console.say(f"Wrote {output}.")
    console.answer(
        {
            "type": type(model).__name__,
            "budget": request.budget,
            "validation": dict(zip(names, (*now, len(y)), strict=True)),
            "original": dict(zip(names[:2], before, strict=True)),
            "output": str(output),
        }
    )


def _on(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Return error and mean bill on samples."""
    found = model.predict(X)
    is_class = hasattr(model, "classes_")
    error = (found != y).mean() if is_class else ((found - y) ** 2).mean()
    return float(error), model.bill(X).mean


def _error(model: Any, error: float) -> str:
    is_class = hasattr(model, "classes_")
    return f"{share(error)} wrong" if is_class else f"a squared error of {six_digits(error)}"


def _lines(model: Any, evaluation: Evaluation, point: int, request: Request) -> list[str]:
    """Return a table of some budgets, the full model first."""
    from thriftwood.report.points import shown_points

    points = shown_points(evaluation.cost, [point], MOST_POINTS)
    before, unit = evaluation.original, model.prices.unit
    columns = [
        ("budget", ["full model", *map(six_digits, model.rules_.costs[::-1][points])]),
        (f"a {request.noun} pays", aligned([before.cost, *evaluation.cost[points].tolist()])),
        *score_columns(evaluation, points),
        ("error", aligned([before.error, *evaluation.error[points].tolist()])),
        ("+-", aligned([before.standard_error, *evaluation.standard_error[points].tolist()])),
        *total_column(evaluation, points),
    ]
    heads, cells = zip(*columns, strict=True)
    head, *body = table(heads, list(zip(*cells, strict=True)))
    body[1 + points.index(point)] += f"  {SET}"
    shown = "" if len(points) == len(evaluation.points) else f" ({len(points)} shown)"
    title = (
        f"{count(len(evaluation.points), 'budget')}{shown}{f', in {unit}' if unit else ''}, on "
        f"{count(evaluation.n_samples, 'sample')} that the model was not trained on:"
    )
    words = f"{_set_to(model)} {_which_errors(model, evaluation, point, request)}".rstrip()
    return [title, "", head, *body, "", wrapped(words)]


def _which_errors(model: Any, evaluation: Evaluation, point: int, request: Request) -> str:
    """Return which errors the model makes as it is set, of two classes."""
    from thriftwood.evaluation import errors_in_words

    before, now = evaluation.original.confusion, evaluation.confusion
    if before is None or now is None:
        return ""
    classes = model.classes_.tolist()
    return errors_in_words(before, now[point], classes, read_positive(request, classes))


def _set_to(model: Any) -> str:
    unit = model.prices.unit
    if model.budget is not None:
        return f"The model is set to a budget of {amount(model.budget, unit)}."
    if model.adds_up:
        return "The model is set to where bill and errors cost least in sum, in cross-fitting."
    return (
        "The model is set to the cheapest rule that was not clearly worse than the best in "
        f"cross-fitting, where it cost {amount(model.cost_, unit)}; --budget sets it to another."
    )


def _draw(file: Path, model: Any, evaluation: Evaluation, point: int) -> None:
    """Draw scores against bills, or errors where scores say nothing else."""
    full, is_class = evaluation.original, hasattr(model, "classes_")

    def frontier(ax: Axes) -> None:
        values, spread, before = evaluation.error, evaluation.standard_error, full.error
        label = "share of wrong predictions" if is_class else "mean squared error"
        if evaluation.score_beside_error:
            label, sign = in_words(evaluation.scoring)
            values, spread = sign * evaluation.score, evaluation.score_error
            before = sign * full.score
        draw_with_band(ax, evaluation.cost, values, spread, line="thrifty")
        ax.plot(full.cost, before, "ks", label="full model")
        ax.plot(evaluation.cost[point], values[point], "D", color=VERMILION, label="as it is set")
        ax.set_xlabel(with_unit("mean bill", model.prices.unit), parse_math=False)
        ax.set_ylabel(label)
        tidy(ax)
        ax.legend(frameon=False)

    write_picture(file, (7, 4.5), frontier)
