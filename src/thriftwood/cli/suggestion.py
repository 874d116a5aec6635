"""The frontier of a model, and the point that is suggested for a start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thriftwood.cli.choice import path_of
from thriftwood.cli.inputs import Inputs
from thriftwood.cli.voice import Voice

if TYPE_CHECKING:
    from thriftwood.pruning import Evaluation, Pruned, PruningPath

# Without other rows: how much of what the trees gain may be given up.
SHARE_GIVEN_UP = 0.05

BY_VALIDATION = "the cheapest within one standard error of the lowest validation error"
BY_LOSS = (
    f"the cheapest that gives up at most {SHARE_GIVEN_UP:.0%} of what the splits gain; with "
    "--validation rows it would be chosen by its errors there"
)


@dataclass(frozen=True)
class Frontier:
    """A path, what was measured on other rows, and where to begin.

    Attributes
    ----------
    path : PruningPath
    measured : Evaluation, optional
        On the validation rows.
    suggested : Pruned
        A point of the path.
    reason : str
        Why that one.
    """

    path: PruningPath
    measured: Evaluation | None
    suggested: Pruned
    reason: str


def find_frontier(inputs: Inputs, voice: Voice) -> Frontier:
    """Compute the path, measure its points on the validation rows, and suggest one."""
    path = path_of(inputs, voice)
    if inputs.validation is None:
        return Frontier(path, None, _by_loss(path), BY_LOSS)
    rows = inputs.validation
    options: dict[str, Any] = {
        "sample_weight": rows.weight,
        "n_jobs": inputs.jobs,
        "progress": voice.progress,
    }
    measured = path.evaluate(rows.X, rows.y, **options)
    if not path.forest.is_classifier and path.forest.aim == "other":
        # Squared errors say nothing about a quantile or a rank.
        return Frontier(path, measured, _by_loss(path), BY_LOSS)
    return Frontier(path, measured, path.choose(rows.X, rows.y, **options), BY_VALIDATION)


def _by_loss(path: PruningPath) -> Pruned:
    gained = path.losses[-1] - path.losses[0]
    risen = path.losses - path.losses[0] <= SHARE_GIVEN_UP * gained
    return path.at(index=int(risen.nonzero()[0][-1]))
