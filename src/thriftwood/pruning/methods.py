"""The ways to prune, in words: only one of them may be called optimal."""

from typing import NamedTuple


class Words(NamedTuple):
    """How a method is spoken of."""

    points: str  # what its path consists of, with {s} for the plural
    point: str  # what is said of one of them


DESCENT = "descent"
SAMPLE = "sample"
ROUNDS = "rounds"
METHODS = {
    "ensemble": Words("optimal pruning{s}", "optimal"),
    "each_tree": Words("pruning{s} of each tree alone", "each tree alone"),
    "cost_complexity": Words("cost-complexity pruning{s}", "by cost-complexity"),
    "dynamic_programming": Words("pruning{s} by size", "each tree the best of its size"),
    SAMPLE: Words("pruning{s} from a sample of the rows", "from a sample of the rows"),
    ROUNDS: Words("pruning{s} that shards of rows agreed on", "proven within its bound"),
    DESCENT: Words("pruning{s} by descent", "by descent on the true loss"),
}


def points_in_words(method: str, n_points: int) -> str:
    """Return what a path of a method consists of, in the singular or the plural."""
    return METHODS[method].points.format(s="s" * (n_points != 1))
