"""What the folder of a frontier holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import thriftwood as tw
from thriftwood.cli.inputs import Inputs
from thriftwood.cli.outputs import FolderKind
from thriftwood.cli.request import Request
from thriftwood.cli.suggestion import Frontier
from thriftwood.cli.voice import Voice
from thriftwood.cli.words import command_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

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
FOLDER = FolderKind(FILES, mark=REPORT)
UNWEIGHTED = "All rows count alike here, whatever their weights."


def write_files(
    folder: Path, found: Frontier, inputs: Inputs, request: Request, voice: Voice
) -> None:
    """Write tables, pictures and the report of a frontier.

    Parameters
    ----------
    folder : Path
    found : Frontier
    inputs : Inputs
        What it was computed on.
    request : Request
        Where that came from, for the commands in the report.
    voice : Voice
    """
    with voice.step("Writing tables"):
        frame = frame_of(found)
        frame.to_csv(folder / "path.csv", index=False)
        frame.to_parquet(folder / "path.parquet", index=False)
        found.path.save(folder / "path.npz")
    with voice.step("Drawing"):
        _draw(folder, found, inputs)
    _write_report(folder / REPORT, found, inputs, request, voice)


def frame_of(found: Frontier) -> pd.DataFrame:
    """Return one line per point, with what was measured on validation rows."""
    frame = found.path.to_frame()
    frame.insert(0, "point", range(len(frame)))
    if found.measured is None:
        return frame
    measured = found.measured.to_frame().drop(columns=["point", "tradeoff"])
    return frame.join(measured.add_prefix("validation_"))


def _draw(folder: Path, found: Frontier, inputs: Inputs) -> None:
    before, after = (
        tw.feature_bill(model, inputs.rows.X, inputs.costs, n_jobs=inputs.jobs)
        for model in (inputs.model, found.suggested.model)
    )
    point = found.suggested.index or 0
    _picture(folder / "frontier.png", (7, 4.5), lambda ax: _draw_frontier(found, point, ax))
    note = "" if inputs.rows.weight is None else UNWEIGHTED
    _picture(folder / "bill.png", (8, 6), lambda ax: tw.report.plot_bills(before, after, ax), note)
    _picture(folder / "tree.png", (12, 6), lambda ax: tw.report.plot_tree(found.path, point, ax=ax))


def _draw_frontier(found: Frontier, point: int, ax: Axes) -> None:
    found.path.plot(ax, measured=found.measured)
    if found.measured is None:
        x, y = found.path.costs[point], found.path.losses[point]
    else:
        x, y = found.measured.cost[point], found.measured.error[point]
    ax.plot(x, y, "D", color="#D55E00", markersize=8, label=f"suggested: point {point}")
    ax.legend()


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


def _write_report(
    file: Path, found: Frontier, inputs: Inputs, request: Request, voice: Voice
) -> None:
    def command(point: int, tradeoff: float) -> str:
        output = f"point-{point}{inputs.suffix}"
        return command_line(request.words("prune", "--tradeoff", repr(tradeoff), "-o", output))

    tw.report.write_page(
        found.path,
        file,
        inputs.rows.X,
        inputs.rows.y,
        validation=inputs.validation,
        commands=command,
        progress=voice.progress,
        **inputs.counting,
    )
