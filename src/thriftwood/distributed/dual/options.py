"""How rows that come in shards are pruned."""

from dataclasses import dataclass

from thriftwood.errors import InputError
from thriftwood.support.validation import one_number_from_zero, truth, whole_number


@dataclass(frozen=True)
class RowShards:
    """How far to go where rows lie in shards: how many rounds, and how much may be gathered.

    To pass to `prune` and `prune_path` as `shards`.

    Parameters
    ----------
    max_rounds : int
        Shards agree on prices in rounds; stop after so many, with what was found and proven. Rounds
        in which something is gathered are not counted.
    tolerance : float
        Stop as soon as at most this share of the profit can be missed: 0.01 means that the pruning
        found is proven to gain 99 % of what the best one gains over single leaves.
    most_gathered : int
        What shards disagree on is gathered in this process and solved exactly, if it has at most so
        many arcs: pairs of a split and something that rows buy there, where all that the same
        splits ask for is one thing. At 0 nothing is gathered.
    progress : bool, optional
        Whether to show rounds and gap on a line; None does on a terminal, for work of over a
        second.
    """

    max_rounds: int = 40
    tolerance: float = 0.0
    most_gathered: int = 10_000_000
    progress: bool | None = None

    def __post_init__(self) -> None:
        meaning = "It is the share of the profit that may be missed; at 0 none is."
        if one_number_from_zero(self.tolerance, "tolerance", meaning) >= 1:
            raise InputError(f"`tolerance` is {self.tolerance}: it must be below 1. {meaning}")
        whole_number(self.max_rounds, "max_rounds", 1)
        whole_number(self.most_gathered, "most_gathered", 0)
        if self.progress is not None:
            truth(self.progress, "progress")
