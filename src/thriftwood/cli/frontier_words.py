"""The frontier on the screen, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from thriftwood.cli.choice import figures
from thriftwood.cli.suggestion import Frontier
from thriftwood.cli.words import count, number, plain, share, table

if TYPE_CHECKING:
    from thriftwood.pruning import PruningPath

MOST_POINTS = 12  # in the table
MARK = "<- suggested"


def frontier_lines(found: Frontier) -> list[str]:
    """Return a table of some points, from the model as it is to single leaves."""
    from thriftwood.report.points import shown_points

    path, suggested = found.path, found.suggested.index or 0
    points = shown_points(path.costs, [suggested], MOST_POINTS)
    header = ["point", "cost", "saved", "loss", "splits", "features"]
    lines = [_line("before", vars(path.original), path.original.cost)]
    lines += [_line(str(point), one, path.original.cost) for point, one in _figures(path, points)]
    if found.measured is not None:
        header.insert(4, "validation error")
        lines[0].insert(4, "")
        for line, point in zip(lines[1:], points, strict=True):
            line.insert(4, number(float(found.measured.error[point])))
    title, *body = table(header, lines)
    at = 1 + points.index(suggested)
    body[at] = f"{body[at]}  {MARK}"
    unit = f", costs in {path.prices.unit}" if path.prices.unit else ""
    shown = "" if len(points) == len(path) else f" ({len(points)} shown)"
    top = f"{count(len(path), 'optimal pruning')}{shown} of a {type(path.model).__name__}{unit}:"
    return [top, "", title, *body, "", f"Suggested is {found.reason}."]


def frontier_facts(found: Frontier) -> dict[str, Any]:
    """Return all points for JSON."""
    from thriftwood.cli.frontier_files import frame_of

    path = found.path
    return {
        "n_points": len(path),
        "points": [plain(line) for line in frame_of(found).to_dict("records")],
        "original": figures(path.original),
        "suggested": {"point": found.suggested.index, **figures(found.suggested)},
        "reason": found.reason,
        "loss_name": path.loss_name,
        "unit": path.prices.unit,
    }


def _figures(path: PruningPath, points: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield points and their figures; the path itself would make their models, too."""
    for point in points:
        yield (
            point,
            {
                "cost": float(path.costs[point]),
                "loss": float(path.losses[point]),
                "n_splits": int(path.n_splits[point]),
                "n_features": int(path.n_features[point]),
            },
        )


def _line(name: str, one: dict[str, Any], before: float) -> list[str]:
    saved = share(1 - one["cost"] / before) if before else ""
    sizes = [str(one["n_splits"]), str(one["n_features"])]
    return [name, number(one["cost"]), saved, number(one["loss"]), *sizes]
