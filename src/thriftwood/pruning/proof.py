"""Proofs: how good prunings are known to be, of a whole path and of one point of it.

A *gap* is how much better another pruning could be, at the most: in loss + tradeoff * cost, or in
loss among all within a budget. What rounding may hide is part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from thriftwood.closure import Certificate
from thriftwood.support.arrays import FloatArray

UNFINISHED = " whose path was stopped early"


@dataclass(frozen=True)
class Certified:
    """A flow was checked: no pruning has an objective below this one's by more than the gap.

    Attributes
    ----------
    certificate : Certificate
        What was reached and what none can pass, in whole numbers.
    gap : float
        How far loss + tradeoff * cost may be above the least: 0 unless the solver stopped early, or
        numbers were rounded.
    rounds : tuple
        How a decomposition got there, round by round; empty for other solvers.
    """

    certificate: Certificate
    gap: float
    rounds: tuple[Any, ...] = ()

    @property
    def words(self) -> str:
        if self.certificate.gap > 0:
            return f"proven within {self.gap:.3g} of the least objective"
        return "proven optimal" + (f" but for rounding, {self.gap:.1g}" if self.gap else "")


@dataclass(frozen=True)
class Bounded:
    """A point of an exact path.

    Attributes
    ----------
    gap : float
        No pruning that costs at most the budget has a loss lower than `loss - gap`; without a
        budget, none that costs at most `cost`, and it is 0 but for rounding.
    rounds : tuple
        How samples in partitions came to it; empty for samples in memory.
    is_exact : bool
        Whether the path is exact, or proven within a gap.
    missed : float
        The part of the gap by which loss + tradeoff * cost may be above the least: 0 but for
        rounding, or where the path had to stop early.
    """

    gap: float
    rounds: tuple[Any, ...] = ()
    is_exact: bool = True
    missed: float = 0.0

    @property
    def words(self) -> str:
        if not self.is_exact:
            return f"proven within {self.missed:.3g} of the least objective"
        return "optimal" + (f" but for rounding, {self.missed:.1g}" if self.missed else "")

    def from_zero(self, loss: float, objective: float) -> Bounded:
        """Tighten the gap where no loss is below 0."""
        return replace(self, gap=min(self.gap, loss), missed=min(self.missed, objective))


@dataclass(frozen=True)
class Estimated:
    """A point of a path from a subsample: nearly optimal, by an estimate that is no proof.

    Attributes
    ----------
    gap : float
        By how much loss + tradeoff * cost of the best pruning may be less than here; with a budget,
        how much less the best pruning within it may lose. Too low about once in forty draws.
    n_drawn, n_samples : int
    is_finished : bool
        False where time was up before the path of the subsample was complete.
    """

    gap: float
    n_drawn: int
    n_samples: int
    is_finished: bool = True

    @property
    def words(self) -> str:
        return "from a subsample" + ("" if self.is_finished else UNFINISHED)


@dataclass(frozen=True)
class Descended:
    """A descent on the true loss of a boosted model, which is no sum over trees: nothing is proven.

    Attributes
    ----------
    objectives : tuple of float
        loss + tradeoff * cost at the start and after every step; it never rises.
    """

    objectives: tuple[float, ...]

    words = "by descent on the true loss"


# What baselines optimise in place of the ensemble, and how their points are spoken of.
CRITERIA = {
    "each_tree": ("pruning{s} of each tree alone", "each tree alone"),
    "cost_complexity": ("cost-complexity pruning{s}", "by cost-complexity"),
    "dynamic_programming": ("pruning{s} by size", "each tree the best of its size"),
}


@dataclass(frozen=True)
class Baseline:
    """A baseline: optimal by a criterion of its own, which is not that of the ensemble.

    Attributes
    ----------
    criterion : {"each_tree", "cost_complexity", "dynamic_programming"}
    """

    criterion: str

    @property
    def words(self) -> str:
        return CRITERIA[self.criterion][1]

    @property
    def points(self) -> str:
        return CRITERIA[self.criterion][0]

    def of_point(self, _index: int, _tradeoff: float, _slack: float) -> Baseline:
        return self


@dataclass(frozen=True)
class Optimal:
    """Every point of the path is optimal for the ensemble, but for what was rounded.

    At any tradeoff the objective may miss the least by at most `gap + tradeoff * cost_gap`. Both
    are 0 for counted errors and decimal prices, within a wide range.

    Attributes
    ----------
    gap, cost_gap : float
    rounds : tuple
        How samples in partitions came to it; empty in memory, and in a path from a file.
    is_exact : bool
        False where time was up, or partitions could not be gathered and did not agree.
    """

    gap: float
    cost_gap: float
    rounds: tuple[Any, ...] = ()
    is_exact: bool = True

    @property
    def points(self) -> str:
        within = f"pruning{{s}} proven within {self._hidden} of the least objective"
        return "optimal pruning{s}" if self.is_exact else within

    @property
    def notes(self) -> list[str]:
        """The rounding error in a sentence, where there is any."""
        if not self.is_exact or self.gap == self.cost_gap == 0:
            return []
        return [f"Rounding hides at most {self._hidden} of loss + tradeoff * cost."]

    @property
    def _hidden(self) -> str:
        times_tradeoff = f"{self.cost_gap:.3g} * tradeoff" if self.cost_gap else ""
        own = f"{self.gap:.3g}" if self.gap or not self.cost_gap else ""
        return " + ".join(filter(None, [own, times_tradeoff]))

    def gap_at(self, tradeoff: float) -> float:
        """Upper bound on the optimality gap of a point at a tradeoff."""
        return self.gap + tradeoff * self.cost_gap

    def of_point(self, _index: int, tradeoff: float, slack: float) -> Bounded:
        """Return what is proven of a point, where the rest of a budget could buy `slack`."""
        missed = self.gap_at(tradeoff)
        return Bounded(missed + slack, self.rounds, self.is_exact, missed)


@dataclass(frozen=True, eq=False)
class Sampled:
    """The best on all samples among the optimal prunings of a subsample.

    Attributes
    ----------
    gaps : shape (n_points,)
        By how much loss + tradeoff * cost of the best pruning may be less than that of each point,
        at the tradeoffs where the point is the best on the path. Estimated, not proven: too low
        about once in forty draws.
    n_drawn, n_samples : int
    is_finished : bool
        False where time was up before the path of the subsample was complete.
    """

    gaps: FloatArray
    n_drawn: int
    n_samples: int
    is_finished: bool = True

    @property
    def points(self) -> str:
        return "pruning{s} from a subsample" + ("" if self.is_finished else UNFINISHED)

    def of_point(self, index: int, _tradeoff: float, slack: float) -> Estimated:
        gap = float(self.gaps[index]) + slack
        return Estimated(gap, self.n_drawn, self.n_samples, self.is_finished)


Proof = Certified | Bounded | Estimated | Descended | Baseline
PathProof = Optimal | Sampled | Baseline
