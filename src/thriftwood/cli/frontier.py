"""`thriftwood frontier`: every optimal pruning of a model, in a folder to look at."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.inputs import FileInputs, check_metric, check_request, read_inputs
from thriftwood.cli.options import OutputFolder, Request, command
from thriftwood.cli.outputs import check_apart, check_new_folder, new_folder, write_picture
from thriftwood.cli.prune import figures
from thriftwood.cli.text import aligned, score_columns, table, total_column, wrapped
from thriftwood.cli.thrifty import (
    REPORT,
    SET,
    THRIFTY_FILES,
    read_thrifty,
    refuse_options,
    samples_to_judge,
    write_thrifty,
)
from thriftwood.errors import InputError
from thriftwood.support.axes import VERMILION

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from thriftwood.report.page import Page

FILES = (
    REPORT,
    "path.csv",
    "path.parquet",
    "path.npz",
    "frontier.png",
    "bill.png",
    "tree.png",
)
ANY_FILES = (*FILES, *THRIFTY_FILES)  # whatever the model, a folder may be replaced
UNWEIGHTED = "All samples count alike here, whatever their weights."
MOST_POINTS = 12  # in the table
MARK = "<- suggested"


@command(
    "model data output target costs validation title noun positive weight query_id weigh_bills "
    "drop loss class_weight error_costs metric time_limit memory_limit jobs trust_pickle force "
    "json quiet debug"
)
def frontier(request: Request, console: Console, output: OutputFolder) -> None:
    """Compute all optimal prunings, and write a report.

    Of a thrifty model, or a ranker in stages, DATA are samples that it was not trained on; the
    folder gets report.html, frontier.csv and frontier.png.

    \b
    The folder gets
      report.html                          a page to choose a point on, for any browser
      path.csv, path.parquet, path.npz     all points: as tables, and to load in Python
      frontier.png, bill.png, tree.png     pictures

    \b
    Examples:
      thriftwood frontier model.skops train.csv --target ill --costs prices.csv -o frontier
      thriftwood frontier model.skops train.csv --target ill --costs prices.csv \\
          --validation valid.csv --title "Which tests?" --noun patient -o frontier
    """
    check_apart(output, request.model, request.data, request.validation, request.costs)
    check_new_folder(output, ANY_FILES, request.force)
    check_request(request, request.model)
    thrifty = read_thrifty(request.model, console)
    if thrifty is not None:
        refuse_options(request, "costs", "loss", "class_weight", "error_costs", "metric")
        samples, _ = samples_to_judge(thrifty, request, console)
        with new_folder(output, ANY_FILES, request.force) as folder:
            lines, facts = write_thrifty(folder, thrifty, samples, request, console)
        say_frontier(lines, output, console)
        console.answer(facts | {"type": type(thrifty).__name__, "output": str(output)})
        return
    check_metric(request, holds_out=request.validation is not None)
    inputs = read_inputs(request, console)
    check_page(request, inputs)
    path = tw.prune_path(
        inputs.problem, time_limit=request.time_limit, memory_limit=request.memory_limit
    )
    with new_folder(output, ANY_FILES, request.force) as folder:
        lines, facts = write_frontier(folder, path, inputs, request, console)
    say_frontier(lines, output, console)
    console.answer(facts | {"output": str(output)})


def check_page(request: Request, inputs: FileInputs) -> None:
    """Refuse what cannot be written on the page, before the work begins."""
    from thriftwood.report.page import read_positive

    for option, words in (("--title", request.title), ("--noun", request.noun)):
        if words is not None and not words.strip():
            raise InputError(f"{option} is blank: pass some words, or leave it out.")
    read_positive(inputs.problem.forest.classes, inputs.problem.in_memory, request.positive)


def say_frontier(lines: list[str], output: Path, console: Console) -> None:
    """Print a frontier, the suggested point strong, and where it is written."""
    for line in lines:
        console.say(line, strong=line.endswith((MARK, SET)))
    console.say()
    console.say(f"Wrote {output}. To choose a point, open {output / REPORT}.")


def _lines(path: tw.PruningPath, evaluation: tw.Evaluation | None, page: Page) -> list[str]:
    """Return a table of some points, from the model as it is to single leaves."""
    from thriftwood.report.points import shown_points

    points = shown_points(path.costs, [page.point or 0], MOST_POINTS)
    heads, columns = zip(*_columns(path, evaluation, points), strict=True)
    title, *body = table(heads, list(zip(*columns, strict=True)))
    body[0 if page.point is None else 1 + points.index(page.point)] += f"  {MARK}"
    unit = f", costs in {path.prices.unit}" if path.prices.unit else ""
    shown = "" if len(points) == len(path) else f" ({len(points)} shown)"
    prunings = path.proof.points.format(s="" if len(path) == 1 else "s")
    top = f"{len(path)} {prunings}{shown} of a {type(path.model).__name__}{unit}:"
    loss = f"The loss is the {path.loss_in_words}, on the samples given."
    return [top, "", title, *body, "", wrapped(loss), wrapped(f"Suggested is {page.why}.")]


def _columns(
    path: tw.PruningPath, evaluation: tw.Evaluation | None, points: list[int]
) -> list[tuple[str, list[str]]]:
    """Return the columns of the table, the model before pruning in their first line."""
    before = path.original
    costs = [before.cost, *path.costs[points].tolist()]
    columns = [
        ("point", ["before", *map(str, points)]),
        ("cost", aligned(costs)),
        ("saved", [_saved(cost, before.cost) for cost in costs]),
        ("loss", aligned([before.loss, *path.losses[points].tolist()])),
    ]
    if evaluation is not None:
        columns += [*score_columns(evaluation, points), *total_column(evaluation, points)]
        if evaluation.total_cost is None and not evaluation.judges_rankings:
            errors = [evaluation.original.error, *evaluation.error[points].tolist()]
            columns.append(("validation error", aligned(errors)))
    return [
        *columns,
        ("splits", [str(before.n_splits), *map(str, path.n_splits[points])]),
        ("features", [str(before.n_features), *map(str, path.n_features[points])]),
    ]


def _saved(cost: float, before: float) -> str:
    """Return the share saved; a sum that is higher in its last bits is not less than nothing."""
    return f"{round(100 * (1 - cost / before), 1) + 0.0:.1f} %" if before else ""


def _facts(path: tw.PruningPath, evaluation: tw.Evaluation | None, page: Page) -> dict[str, Any]:
    """Return all points for JSON."""
    original = figures(path.original)
    suggested = path.original if page.point is None else path[page.point]
    if evaluation is not None:
        before = evaluation.original
        original |= {"validation_error": before.error, "validation_cost": before.cost}
        original |= {"validation_score": before.score, "scoring": evaluation.scoring}
        if evaluation.total_cost is not None:
            original["validation_total_cost"] = before.cost - before.score
    return {
        "n_points": len(path),
        "points": _frame(path, evaluation).to_dict("records"),
        "original": original,
        "suggested": {"point": page.point, **figures(suggested)},
        "reason": page.why,
        "loss_name": path.loss_name,
        "unit": path.prices.unit,
        "proof": {
            name: getattr(path.proof, name, None) for name in ("is_exact", "gap", "cost_gap")
        },
    }


def write_frontier(
    folder: Path, path: tw.PruningPath, inputs: FileInputs, request: Request, console: Console
) -> tuple[list[str], dict[str, Any]]:
    """Evaluate a path, and write its tables, its pictures and its page; return what to say."""
    from thriftwood.report.page import write_page

    evaluation = None
    if inputs.validation is not None and inputs.is_judged_by_errors:
        X, y, weight, query = inputs.validation
        evaluation = path.evaluate(
            X,
            y,
            scoring=inputs.scoring,
            error_costs=inputs.error_costs,
            sample_weight=weight,
            qid=query,
            n_jobs=inputs.problem.n_jobs,
            progress=console.progress,
        )

    def command(point: int, tradeoff: float) -> str:
        output = f"point-{point}{inputs.suffix}"
        return shlex.join(request.words("prune", "--tradeoff", repr(tradeoff), "-o", output))

    page = write_page(
        path,
        folder / REPORT,
        inputs.problem,
        evaluation,
        title=request.title,
        noun=request.noun,
        positive=request.positive,
        commands=command,
    )
    with console.step("Writing tables"):
        frame = _frame(path, evaluation)
        frame.to_csv(folder / "path.csv", index=False)
        frame.to_parquet(folder / "path.parquet", index=False)
        path.save(folder / "path.npz")
    with console.step("Drawing"):
        _draw(folder, path, evaluation, page.point, inputs)
    return _lines(path, evaluation, page), _facts(path, evaluation, page)


def _frame(path: tw.PruningPath, evaluation: tw.Evaluation | None) -> pd.DataFrame:
    """Return one line per point, with the evaluation on the validation set."""
    frame = path.to_frame()
    frame.insert(0, "point", range(len(frame)))
    if evaluation is None:
        return frame
    measured = evaluation.to_frame().drop(columns=["point", "tradeoff"])
    return frame.join(measured.add_prefix("validation_"))


def _draw(
    folder: Path,
    path: tw.PruningPath,
    evaluation: tw.Evaluation | None,
    suggested: int | None,
    inputs: FileInputs,
) -> None:
    """Draw the frontier, and for the suggested point, or the first, the bills and a tree."""
    point = suggested or 0
    before, after = (
        tw.feature_bill(
            model,
            inputs.samples.X,
            inputs.costs,
            qid=inputs.samples.query,
            n_jobs=inputs.problem.n_jobs,
        )
        for model in (inputs.problem.model, path[point].model)
    )
    note = UNWEIGHTED if inputs.problem.prices.weigh_bills else ""

    def frontier(ax: Axes) -> None:
        path.plot(ax, measured=evaluation)
        if suggested is not None:
            x, y = path.costs[point], path.losses[point]
            if evaluation is not None:
                judged = evaluation.score if evaluation.judges_rankings else evaluation.error
                x, y = evaluation.cost[point], judged[point]
            ax.plot(x, y, "D", color=VERMILION, markersize=8, label=f"suggested: point {point}")
        ax.legend()

    write_picture(folder / "frontier.png", (7, 4.5), frontier)
    write_picture(
        folder / "bill.png", (8, 6), lambda ax: tw.report.plot_bills(before, after, ax), note
    )
    write_picture(folder / "tree.png", (12, 6), lambda ax: tw.report.plot_tree(path, point, ax=ax))
