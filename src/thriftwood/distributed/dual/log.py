"""How rounds went: what was found and proven, what it took."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from thriftwood.distributed.dual.rounds import Crew
from thriftwood.support.arrays import BoolArray


@dataclass(frozen=True)
class ShardRound:
    """What one round came to.

    Profits are those of pruning over single leaves, on all rows, in the units of the gains.

    Attributes
    ----------
    profit : float
        Of the best pruning found so far. Of a whole path: the bound less the largest gap, at any
        price, of the best path found so far.
    bound : float
        No pruning has a larger profit; the least of all rounds so far. Of a whole path: where
        nothing costs anything, in the round of the best path.
    n_open : int
        Splits on which the shards disagree.
    n_gathered : int
        Arcs of the rest that was gathered in this round; 0 in rounds of prices.
    n_bytes : int
        What travelled in this round between the shards and the coordinator, both ways.
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

    def __init__(self, crew: Crew, line: Callable[[str], None]) -> None:
        self._crew = crew
        self._line = line
        self._begin = perf_counter()
        self._bytes_before = crew.bytes_moved
        self._rounds: list[ShardRound] = []

    def __len__(self) -> int:
        return len(self._rounds)

    @property
    def rounds(self) -> tuple[ShardRound, ...]:
        return tuple(self._rounds)

    def add(self, profit: float, bound: float, is_open: BoolArray, n_gathered: int = 0) -> None:
        """Write down a round.

        Parameters
        ----------
        profit, bound : float
            The best of all rounds so far.
        is_open : shape (n_projects,)
            On which projects the shards disagree.
        n_gathered : int
        """
        n_bytes = self._crew.bytes_moved - self._bytes_before
        self._bytes_before += n_bytes
        n_open = int(is_open.sum())
        self._rounds.append(
            ShardRound(
                min(profit, bound),  # sums of doubles may pass each other by their last digit
                bound,
                n_open,
                n_gathered,
                n_bytes,
                perf_counter() - self._begin,
            )
        )
        gap = self._rounds[-1].relative_gap
        self._line(f"round {len(self)}, gap {gap:.2g}, {n_open} splits open")

    def is_within(self, tolerance: float) -> bool:
        """Say whether a tolerance above 0 is met."""
        return bool(self._rounds) and self._rounds[-1].relative_gap <= tolerance > 0
