"""Options of the dual decomposition, and the log of its rounds."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from thriftwood.distributed.partitions import Partitions
from thriftwood.errors import InputError
from thriftwood.support.validation import one_number_from_zero, truth, whole_number


@dataclass(frozen=True)
class DualDecomposition:
    """Solver for samples in partitions: how many rounds, and how much may be gathered.

    To pass as `decomposition`: to `pruning_problem`, where samples in memory are then cut into
    partitions, too, which saves memory; or to `prune_path` and `prune`, where that is done only if
    the path would not fit otherwise.

    Parameters
    ----------
    max_rounds : int
        Rounds of dual ascent; stop after so many, with what was found and proven. Rounds in which
        something is gathered are not counted.
    tolerance : float
        Stop as soon as at most this share of the profit can be missed: 0.01 means that the pruning
        found is proven to gain 99 % of what the best one gains over single leaves.
    most_gathered : int
        What partitions disagree on is gathered in this process and solved exactly, if it has at
        most so many arcs: pairs of a split and something that samples buy there, where all that the
        same splits ask for is one thing. At 0 nothing is gathered.
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


@dataclass(frozen=True)
class DualRound:
    """One round of the dual decomposition.

    Profits are those of pruning over single leaves, on all samples, in the units of the gains.

    Attributes
    ----------
    profit : float
        Of the best pruning found so far. Of a whole path: the bound less the largest gap, at any
        tradeoff, of the best path found so far.
    bound : float
        The dual bound: no pruning has a larger profit; the least of all rounds so far. Of a whole
        path: where nothing costs anything, in the round of the best path.
    n_open : int
        Splits on which the partitions disagree.
    n_gathered : int
        Arcs of the disagreement that was gathered in this round; 0 in rounds of dual ascent.
    n_bytes : int
        What travelled in this round between the partitions and this process, both ways.
    seconds : float
        Since the rounds began.
    """

    profit: float
    bound: float
    n_open: int
    n_gathered: int
    n_bytes: int
    seconds: float

    @property
    def gap(self) -> float:
        return self.bound - self.profit

    @property
    def relative_gap(self) -> float:
        """The share of the bound that may be missed."""
        return self.gap / self.bound if self.bound > 0 else 0.0


class RoundLog:
    """The rounds so far."""

    def __init__(self, partitions: Partitions, line: Callable[[str], None]) -> None:
        self.rounds: tuple[DualRound, ...] = ()
        self._partitions = partitions
        self._line = line
        self._begin = perf_counter()
        self._bytes_before = partitions.bytes_moved

    def add(self, profit: float, bound: float, n_open: int, n_gathered: int = 0) -> None:
        """Write down a round with the best profit and bound of all so far."""
        n_bytes = self._partitions.bytes_moved - self._bytes_before
        self._bytes_before += n_bytes
        profit = min(profit, bound)  # sums of doubles may pass each other by their last digit
        seconds = perf_counter() - self._begin
        new = DualRound(profit, bound, n_open, n_gathered, n_bytes, seconds)
        self.rounds = (*self.rounds, new)
        gap = f"gap {new.relative_gap:.2g}"
        self._line(f"round {len(self.rounds)}, {gap}, {n_open} splits open")

    def is_within(self, tolerance: float) -> bool:
        """Return True if a tolerance above 0 is met."""
        return bool(self.rounds) and self.rounds[-1].relative_gap <= tolerance > 0
