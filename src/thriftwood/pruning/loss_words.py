"""What pruning minimised, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thriftwood.problem.recorded_gain import RECORDED_GAIN

if TYPE_CHECKING:
    from thriftwood.pruning.sequence import PruningSequence

COUNTED_ON = {"in_bag": ", on rows it was grown on", "out_of_bag": ", on rows it was not grown on"}


def loss_in_words(path: PruningSequence) -> str:
    """Return what the loss of a path is, and on which rows each tree is judged if not on all."""
    if path.loss_name == RECORDED_GAIN:
        return "share of the recorded gain given up"
    return f"{path.loss_name.replace('_', ' ')} per tree{COUNTED_ON.get(path.rows, '')}"
