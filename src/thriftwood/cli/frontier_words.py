"""The frontier on the screen, and as JSON."""

from __future__ import annotations

from typing import Any

from thriftwood.cli.choosing import figures
from thriftwood.cli.suggestion import Frontier
from thriftwood.cli.words import (
    aligned,
    count,
    table,
    wrapped,
)

MOST_POINTS = 12  # in the table
MARK = "<- suggested"


def frontier_lines(found: Frontier) -> list[str]:
    """Return a table of some points, from the model as it is to single leaves."""
    from thriftwood.pruning.loss_words import loss_in_words
    from thriftwood.report.points import shown_points

    path, suggested = found.path, found.suggested.index or 0
    points = shown_points(path.costs, [suggested], MOST_POINTS)
    columns = _columns(found, points)
    title, *body = table(list(columns), list(zip(*columns.values(), strict=True)))
    at = 1 + points.index(suggested)
    body[at] = f"{body[at]}  {MARK}"
    unit = f", costs in {path.prices.unit}" if path.prices.unit else ""
    shown = "" if len(points) == len(path) else f" ({len(points)} shown)"
    top = f"{count(len(path), 'optimal pruning')}{shown} of a {type(path.model).__name__}{unit}:"
    loss = f"The loss is the {loss_in_words(path)}, on the rows given."
    return [top, "", title, *body, "", wrapped(loss), wrapped(f"Suggested is {found.reason}.")]


def frontier_facts(found: Frontier) -> dict[str, Any]:
    """Return all points for JSON."""
    from thriftwood.cli.frontier_files import frame_of

    path = found.path
    return {
        "n_points": len(path),
        "points": frame_of(found).to_dict("records"),
        "original": figures(path.original) | _measured_before(found),
        "suggested": {"point": found.suggested.index, **figures(found.suggested)},
        "reason": found.reason,
        "loss_name": path.loss_name,
        "unit": path.prices.unit,
    }


def _measured_before(found: Frontier) -> dict[str, float]:
    if found.measured is None:
        return {}
    before = found.measured.original
    return {"validation_error": before.error, "validation_cost": before.cost}


def _saved(cost: float, before: float) -> str:
    """Return what is saved; a sum that is higher in its last bits is not less than nothing."""
    if not before:
        return ""
    return f"{round(100 * (1 - cost / before), 1) + 0.0:.1f} %"


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
    if found.measured is not None:
        errors = [found.measured.original.error, *found.measured.error[points].tolist()]
        columns["validation error"] = aligned(errors)
    columns["splits"] = [str(before.n_splits), *map(str, path.n_splits[points])]
    columns["features"] = [str(before.n_features), *map(str, path.n_features[points])]
    return columns
