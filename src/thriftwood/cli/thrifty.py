"""Thrifty models on the command line: what every budget buys, in a folder to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import thriftwood as tw
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

    from thriftwood.formats.tables import Samples

REPORT = "report.html"
THRIFTY_FILES = (REPORT, "frontier.csv", "frontier.png")
MOST_POINTS = 10  # in the table
SET = "<- set"


def read_thrifty(file: Path, console: Console) -> Any:
    """Return the thrifty model or ranker in stages in a file, or None if it is something else."""
    from thriftwood.formats.models import model_format

    if model_format(file) != "Thriftwood":
        return None
    model = read_model(file, False, console)
    kinds = tw.ThriftyClassifier, tw.ThriftyRegressor, tw.CascadeRanker
    return model if isinstance(model, kinds) else None


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

    X, y, weight, query = samples
    is_ranker = isinstance(model, tw.CascadeRanker)
    with console.step("Measuring"):
        of_queries = {"qid": query} if is_ranker else {}
        evaluation = model.evaluate(X, y, sample_weight=weight, **of_queries)
        write_page(
            model,
            folder / REPORT,
            (X, y, weight, *of_queries.values()),
            title=request.title,
            noun=request.noun,
            positive=request.positive,
        )
    rules, rule = _rules(model)
    point = len(rules) - 1 - rule  # from dear to cheap
    squares = ["error", "standard_error"] if is_ranker else []  # of ranks, which mean nothing
    frame = evaluation.to_frame().drop(columns=["tradeoff", *squares])
    frame.insert(1, "budget", rules.costs[::-1])
    frame.to_csv(folder / "frontier.csv", index=False)
    with console.step("Drawing"):
        _draw(folder / "frontier.png", model, evaluation, point)
    facts = {
        "n_points": len(frame),
        "points": frame.to_dict("records"),
        "suggested": None if point < 0 else frame.iloc[point].to_dict(),
        "original": {
            name: getattr(evaluation.original, name)
            for name in ("cost", *([] if is_ranker else ["error"]), "score")
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
    limit = {"max_cost": model.max_cost} if isinstance(model, tw.CascadeRanker) else {}
    cheaper = model.at(budget=request.budget, **limit)
    samples, file = samples_to_judge(model, request, console)
    names = ("error", "cost", "n_samples")
    if isinstance(model, tw.CascadeRanker):
        names = ("score", "cost_per_query", "n_samples")
    before, now = (_on(one, samples) for one in (model, cheaper))
    with new_file(output, request.force) as unfinished:
        cheaper.save(unfinished)
    unit = model.prices.unit
    console.say(f"{type(model).__name__} within the budget {six_digits(request.budget)}")
    n_samples = len(samples.y)
    console.say(
        f"On {count(n_samples, 'sample')} of {file}: {_error(cheaper, now[0])} at "
        f"{amount(now[1], unit)}, was {_error(model, before[0])} at {amount(before[1], unit)}."
    )
    console.say(f"Wrote {output}.")
    console.answer(
        {
            "type": type(model).__name__,
            "budget": request.budget,
            "validation": dict(zip(names, (*now, n_samples), strict=True)),
            "original": dict(zip(names[:2], before, strict=True)),
            "output": str(output),
        }
    )


def _rules(model: Any) -> tuple[Any, int]:
    """Return the rules of a model, and the number of the one in use."""
    if isinstance(model, tw.CascadeRanker):
        assert model.rule is not None, "Only `at` changes thresholds."
        return model.rules, model.rule
    return model.rules_, model.rule_


def _on(model: Any, samples: Samples) -> tuple[float, float]:
    """Return error and mean bill on samples; of rankers the score, and what a query pays."""
    X, y, _, query = samples
    if isinstance(model, tw.CascadeRanker):
        of_queries: Any = model.bill(X, query).per_query
        return model.score(X, y, query), float(of_queries.mean())
    found = model.predict(X)
    is_class = hasattr(model, "classes_")
    error = (found != y).mean() if is_class else ((found - y) ** 2).mean()
    return float(error), model.bill(X).mean


def _error(model: Any, error: float) -> str:
    if isinstance(model, tw.CascadeRanker):
        return f"{model.scoring} {error:.4g}"
    is_class = hasattr(model, "classes_")
    return f"{share(error)} wrong" if is_class else f"a squared error of {six_digits(error)}"


def _lines(model: Any, evaluation: tw.Evaluation, point: int, request: Request) -> list[str]:
    """Return a table of some budgets, the full model first."""
    from thriftwood.report.points import shown_points

    points = shown_points(evaluation.cost, [max(point, 0)], MOST_POINTS)
    before, unit, is_ranker = evaluation.original, model.prices.unit, evaluation.judges_rankings
    size = evaluation.documents_per_query or 1.0
    pays = aligned([size * before.cost, *(size * evaluation.cost[points]).tolist()])
    columns = [
        ("budget", ["full model", *map(six_digits, _rules(model)[0].costs[::-1][points])]),
        (f"a {'query' if is_ranker else request.noun} pays", pays),
        *score_columns(evaluation, points),
    ]
    if not is_ranker:
        columns += [
            ("error", aligned([before.error, *evaluation.error[points].tolist()])),
            ("+-", aligned([before.standard_error, *evaluation.standard_error[points].tolist()])),
        ]
    columns += total_column(evaluation, points)
    heads, cells = zip(*columns, strict=True)
    head, *body = table(heads, list(zip(*cells, strict=True)))
    body[0 if point < 0 else 1 + points.index(point)] += f"  {SET}"
    shown = "" if len(points) == len(evaluation.points) else f" ({len(points)} shown)"
    title = (
        f"{count(len(evaluation.points), 'budget')}{shown}{f', in {unit}' if unit else ''}, on "
        f"{count(evaluation.n_samples, 'sample')}"
        f"{f' of {evaluation.n_queries:,} queries' if is_ranker else ''} that the model was not "
        "trained on:"
    )
    words = f"{_set_to(model)} {_which_errors(model, evaluation, point, request)}".rstrip()
    return [title, "", head, *body, "", wrapped(words)]


def _which_errors(model: Any, evaluation: tw.Evaluation, point: int, request: Request) -> str:
    """Return which errors the model makes as it is set, of two classes."""
    from thriftwood.evaluation import errors_in_words

    before, now = evaluation.original.confusion, evaluation.confusion
    if before is None or now is None:
        return ""
    classes = model.classes_.tolist()
    return errors_in_words(before, now[point], classes, read_positive(request, classes))


def _set_to(model: Any) -> str:
    unit = model.prices.unit
    if isinstance(model, tw.CascadeRanker):
        rules, rule = _rules(model)
        if rule == len(rules):
            return "The model is set to its last stage, for all documents."
        return (
            f"The model is set to a rule that cost {amount(rules.costs[rule], unit)} a query where "
            "it was tuned; --budget sets it to another."
        )
    if model.budget is not None:
        return f"The model is set to a budget of {amount(model.budget, unit)}."
    if model.adds_up:
        return "The model is set to where bill and errors cost least in sum, in cross-fitting."
    return (
        "The model is set to the cheapest rule that was not clearly worse than the best in "
        f"cross-fitting, where it cost {amount(model.cost_, unit)}; --budget sets it to another."
    )


def _draw(file: Path, model: Any, evaluation: tw.Evaluation, point: int) -> None:
    """Draw scores against bills, or errors where scores say nothing else."""
    full, is_class = evaluation.original, hasattr(model, "classes_")

    def frontier(ax: Axes) -> None:
        values, spread, before = evaluation.error, evaluation.standard_error, full.error
        label = "share of wrong predictions" if is_class else "mean squared error"
        if evaluation.score_beside_error:
            label, sign = in_words(evaluation.scoring)
            values, spread = sign * evaluation.score, evaluation.score_error
            before = sign * full.score
        size = evaluation.documents_per_query or 1.0
        draw_with_band(ax, size * evaluation.cost, values, spread, line="thrifty")
        ax.plot(size * full.cost, before, "ks", label="full model")
        if point >= 0:
            cost = size * evaluation.cost[point]
            ax.plot(cost, values[point], "D", color=VERMILION, label="as it is set")
        bill = "mean bill of a query" if evaluation.judges_rankings else "mean bill"
        ax.set_xlabel(with_unit(bill, model.prices.unit), parse_math=False)
        ax.set_ylabel(label)
        tidy(ax)
        ax.legend(frameon=False)

    write_picture(file, (7, 4.5), frontier)
