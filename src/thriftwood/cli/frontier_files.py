"""Files of a frontier: tables, pictures and the report page."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.inputs import Inputs
from thriftwood.cli.options import Request
from thriftwood.support.axes import VERMILION

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from thriftwood.evaluation import Evaluation
    from thriftwood.pruning import PruningPath

REPORT = "report.html"
FILES = (
    REPORT,
    "path.csv",
    "path.parquet",
    "path.npz",
    "frontier.png",
    "bill.png",
    "tree.png",
)
UNWEIGHTED = "All samples count alike here, whatever their weights."


class Frontier(NamedTuple):
    """A path, its evaluation on the validation set if there is one, and the suggested point."""

    path: PruningPath
    evaluation: Evaluation | None
    point: int
    reason: str


def write_frontier(
    folder: Path, path: PruningPath, inputs: Inputs, request: Request, console: Console
) -> Frontier:
    """Evaluate a path, and write its tables, its pictures and its page into a folder."""
    from thriftwood.report.page import page_data, write_document

    evaluation = None
    if inputs.validation is not None and inputs.is_judged_by_errors:
        X, y, weight = inputs.validation
        evaluation = path.evaluate(
            X, y, sample_weight=weight, n_jobs=inputs.problem.n_jobs, progress=console.progress
        )

    def command(point: int, tradeoff: float) -> str:
        output = f"point-{point}{inputs.suffix}"
        return shlex.join(request.words("prune", "--tradeoff", repr(tradeoff), "-o", output))

    page = page_data(path, inputs.problem, evaluation, commands=command)
    write_document(page, folder / REPORT)
    found = Frontier(path, evaluation, page["start"]["point"], page["start"]["why"])
    with console.step("Writing tables"):
        frame = frame_of(path, evaluation)
        frame.to_csv(folder / "path.csv", index=False)
        frame.to_parquet(folder / "path.parquet", index=False)
        path.save(folder / "path.npz")
    with console.step("Drawing"):
        _draw(folder, found, inputs)
    return found


def frame_of(path: PruningPath, evaluation: Evaluation | None) -> pd.DataFrame:
    """Return one line per point, with the evaluation on the validation set."""
    frame = path.to_frame()
    frame.insert(0, "point", range(len(frame)))
    if evaluation is None:
        return frame
    measured = evaluation.to_frame().drop(columns=["point", "tradeoff"])
    return frame.join(measured.add_prefix("validation_"))


def _draw(folder: Path, found: Frontier, inputs: Inputs) -> None:
    """Draw the frontier, and for the suggested point the bills and a tree."""
    path, evaluation, point, _ = found
    before, after = (
        tw.feature_bill(model, inputs.samples.X, inputs.costs, n_jobs=inputs.problem.n_jobs)
        for model in (inputs.problem.model, path[point].model)
    )
    note = "" if inputs.samples.weight is None else UNWEIGHTED

    def frontier(ax: Axes) -> None:
        path.plot(ax, measured=evaluation)
        x, y = path.costs[point], path.losses[point]
        if evaluation is not None:
            x, y = evaluation.cost[point], evaluation.error[point]
        ax.plot(x, y, "D", color=VERMILION, markersize=8, label=f"suggested: point {point}")
        ax.legend()

    _picture(folder / "frontier.png", (7, 4.5), frontier)
    _picture(folder / "bill.png", (8, 6), lambda ax: tw.report.plot_bills(before, after, ax), note)
    _picture(folder / "tree.png", (12, 6), lambda ax: tw.report.plot_tree(path, point, ax=ax))


def _picture(
    file: Path, size: tuple[float, float], draw: Callable[[Axes], Any], note: str = ""
) -> None:
    """Draw on axes of their own: no window is opened, nothing is left over."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    if note:
        figure.suptitle(note, fontsize="medium")
    with warnings.catch_warnings():
        # Letters that the font lacks are boxes in the picture; the page has them.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        draw(figure.add_subplot())
        figure.savefig(file, dpi=120)
