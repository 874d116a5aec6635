"""The frontier of a model, and the point that is suggested for a start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thriftwood.cli.choosing import evaluated, path_of
from thriftwood.cli.inputs import Inputs
from thriftwood.cli.voice import Voice

if TYPE_CHECKING:
    from thriftwood.evaluation import Evaluation
    from thriftwood.pruning.path import PruningPath
    from thriftwood.pruning.pruned import Pruned


@dataclass(frozen=True)
class Frontier:
    """A path, what was measured on other rows, and where to begin.

    Attributes
    ----------
    path : PruningPath
    measured : Evaluation, optional
        The points on the validation rows.
    suggested : Pruned
        A point of the path; the page begins with the same.
    reason : str
        Why that one.
    """

    path: PruningPath
    measured: Evaluation | None
    suggested: Pruned
    reason: str


def find_frontier(inputs: Inputs, voice: Voice) -> Frontier:
    """Compute the path, measure its points on the validation rows, and suggest one."""
    from thriftwood.report.starting import start_of

    path, rows = path_of(inputs, voice), inputs.validation
    if not inputs.is_judged_by_errors:
        start = start_of(path, None, on_validation=False)
        return Frontier(path, None, path[start.point], start.why)
    measured = evaluated(path, rows or inputs.rows, inputs, voice)
    start = start_of(path, measured, on_validation=rows is not None)
    return Frontier(path, measured if rows else None, path[start.point], start.why)
