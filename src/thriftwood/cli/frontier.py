"""`thriftwood frontier`: every optimal pruning of a model, in a folder to look at."""

from __future__ import annotations

from typing import Any

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.frontier_files import FILES, REPORT, Frontier, frame_of, write_frontier
from thriftwood.cli.inputs import check_request, read_inputs
from thriftwood.cli.options import OutputFolder, Request, command
from thriftwood.cli.outputs import check_apart, check_new_folder, new_folder
from thriftwood.cli.prune import figures
from thriftwood.cli.text import aligned, count, table, wrapped

MOST_POINTS = 12  # in the table
MARK = "<- suggested"


@command(
    "model data output target costs validation weight loss class_weight jobs trust_pickle force "
    "json quiet debug"
)
def frontier(request: Request, console: Console, output: OutputFolder) -> None:
    """Compute all optimal prunings, and write a report.

    \b
    The folder gets
      report.html                          a page to choose a point on, for any browser
      path.csv, path.parquet, path.npz     all points: as tables, and to load in Python
      frontier.png, bill.png, tree.png     pictures

    \b
    Examples:
      thriftwood frontier model.skops train.csv --target ill --costs prices.csv -o frontier
      thriftwood frontier model.skops train.csv --target ill --costs prices.csv \\
          --validation valid.csv -o frontier
    """
    check_apart(output, request.model, request.data, request.validation, request.costs)
    check_new_folder(output, FILES, request.force)
    check_request(request, request.model)
    inputs = read_inputs(request, console)
    path = tw.prune_path(inputs.problem)
    with new_folder(output, FILES, request.force) as folder:
        found = write_frontier(folder, path, inputs, request, console)
    say_frontier(frontier_lines(found), output, console)
    console.answer(frontier_facts(found) | {"output": str(output)})


def say_frontier(lines: list[str], output: Any, console: Console) -> None:
    """Print a frontier, the suggested point strong, and where it is written."""
    for line in lines:
        console.say(line, strong=line.endswith(MARK))
    console.say()
    console.say(f"Wrote {output}. To choose a point, open {output / REPORT}.")


def frontier_lines(found: Frontier) -> list[str]:
    """Return a table of some points, from the model as it is to single leaves."""
    from thriftwood.report.points import shown_points

    path = found.path
    points = shown_points(path.costs, [found.point], MOST_POINTS)
    columns = _columns(found, points)
    title, *body = table(list(columns), list(zip(*columns.values(), strict=True)))
    body[1 + points.index(found.point)] += f"  {MARK}"
    unit = f", costs in {path.prices.unit}" if path.prices.unit else ""
    shown = "" if len(points) == len(path) else f" ({len(points)} shown)"
    top = f"{count(len(path), 'optimal pruning')}{shown} of a {type(path.model).__name__}{unit}:"
    loss = f"The loss is the {path.loss_in_words}, on the samples given."
    return [top, "", title, *body, "", wrapped(loss), wrapped(f"Suggested is {found.reason}.")]


def _columns(found: Frontier, points: list[int]) -> dict[str, list[str]]:
    """Return the columns of the table, the model before pruning in their first line."""
    path, before = found.path, found.path.original
    costs = [before.cost, *path.costs[points].tolist()]
    columns = {
        "point": ["before", *map(str, points)],
        "cost": aligned(costs),
        "saved": [_saved(cost, before.cost) for cost in costs],
        "loss": aligned([before.loss, *path.losses[points].tolist()]),
    }
    if found.evaluation is not None:
        errors = [found.evaluation.original.error, *found.evaluation.error[points].tolist()]
        columns["validation error"] = aligned(errors)
    columns["splits"] = [str(before.n_splits), *map(str, path.n_splits[points])]
    columns["features"] = [str(before.n_features), *map(str, path.n_features[points])]
    return columns


def _saved(cost: float, before: float) -> str:
    """Return the share saved; a sum that is higher in its last bits is not less than nothing."""
    return f"{round(100 * (1 - cost / before), 1) + 0.0:.1f} %" if before else ""


def frontier_facts(found: Frontier) -> dict[str, Any]:
    """Return all points for JSON."""
    path, original = found.path, figures(found.path.original)
    if found.evaluation is not None:
        before = found.evaluation.original
        original |= {"validation_error": before.error, "validation_cost": before.cost}
    return {
        "n_points": len(path),
        "points": frame_of(path, found.evaluation).to_dict("records"),
        "original": original,
        "suggested": {"point": found.point, **figures(path[found.point])},
        "reason": found.reason,
        "loss_name": path.loss_name,
        "unit": path.prices.unit,
    }
