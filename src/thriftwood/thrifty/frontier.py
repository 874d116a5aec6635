"""The frontier of a thrifty model: what every budget buys, measured on samples it did not see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from thriftwood.cascade import StoppingRules, at_stop, cheapest, not_beaten
from thriftwood.support.arrays import FloatArray, read_only_copy
from thriftwood.support.axes import axes_or_new, draw_with_band, tidy, with_unit
from thriftwood.support.summary import Chart, Summarised, Summary
from thriftwood.support.text import unit_behind
from thriftwood.thrifty.tuning import TunedStages

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FRONTIER_ARRAYS = ("cost", "score", "standard_error")
# Points that are measured by a score of the user's, which may take long, and groups of samples
# that are left out in turn for its standard error.
MOST_SCORED = 60
N_GROUPS = 10
MOST_LINES = 12


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Summarised):
    """Mean bill and score at every budget, from cheap to dear.

    Attributes
    ----------
    cost : shape (n_points,)
        Mean bill of a sample.
    score : shape (n_points,)
        Of samples that models did not see; more is better.
    standard_error : shape (n_points,)
        Of the score.
    scoring : str
        Which score.
    unit : str
        What bills are counted in.
    """

    cost: FloatArray
    score: FloatArray
    standard_error: FloatArray
    scoring: str
    unit: str

    def __post_init__(self) -> None:
        for name in FRONTIER_ARRAYS:
            object.__setattr__(self, name, read_only_copy(getattr(self, name), np.float64))

    def __len__(self) -> int:
        return len(self.cost)

    def _summary(self) -> Summary:
        shown = np.unique(np.linspace(0, len(self) - 1, min(len(self), MOST_LINES)).astype(int))
        unit, spread = unit_behind(self.unit), self.standard_error
        return Summary(
            f"Frontier: {len(self)} budgets, {self.scoring} on samples not trained on",
            "  {:>10s}{}  {}",
            [
                (f"{self.cost[point]:.6g}", unit, f"{self.score[point]:.4f} +- {spread[point]:.4f}")
                for point in shown
            ],
            chart=Chart(
                self.cost, self.score, with_unit("mean bill", self.unit), self.scoring, spread
            ),
        )

    def to_frame(self) -> Any:
        """Return the frontier as a pandas data frame, a row for each budget."""
        import pandas

        return pandas.DataFrame({name: getattr(self, name) for name in FRONTIER_ARRAYS})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw mean bill against score, with a band of one standard error."""
        drawn = axes_or_new(ax)
        draw_with_band(drawn, self.cost, self.score, self.standard_error, line="thrifty")
        drawn.set_xlabel(with_unit("mean bill", self.unit), parse_math=False)
        drawn.set_ylabel(self.scoring)
        tidy(drawn)
        return drawn


def usual_frontier(
    tuned: TunedStages,
    scores: FloatArray,
    weights: FloatArray,
    about: tuple[str, str],
) -> Frontier:
    """Measure rules by the mean of what samples score, shape (n_samples, n_stages)."""
    rules, margins = tuned.rules, tuned.margins
    shares = weights / weights.sum()
    score, spread = np.empty(len(rules)), np.empty(len(rules))
    for number, rule in enumerate(rules.thresholds):
        gained = at_stop(margins, scores, rule)
        score[number] = shares @ gained
        spread[number] = np.sqrt((gained - score[number]) ** 2 @ shares**2)
    return Frontier(rules.costs, score, spread, *about)


def scored_frontier(
    tuned: TunedStages,
    outputs: FloatArray,
    score_of: Callable[[FloatArray, Any], float],
    seed: int,
    about: tuple[str, str],
) -> tuple[StoppingRules, Frontier]:
    """Measure rules by a score of predictions; leave out those that a cheaper one beats.

    The one to take without a budget is not clearly worse than the best by this score, as the
    jackknife tells, nor by the log loss.

    `score_of` is given predictions of some samples and their numbers.
    """
    rules, margins, _, as_likely = tuned
    some = np.unique(np.linspace(0, len(rules) - 1, min(len(rules), MOST_SCORED)).astype(int))
    group = np.random.default_rng(seed).permutation(len(margins)) % N_GROUPS
    everyone = np.arange(len(margins))
    n_groups = min(N_GROUPS, len(margins) - 1)
    score, without = np.empty(len(some)), np.zeros((len(some), max(n_groups, 1)))
    for place, number in enumerate(some):
        stopped = at_stop(margins, outputs, rules.thresholds[number])
        score[place] = score_of(stopped, everyone)
        for one in range(n_groups):
            without[place, one] = score_of(stopped[group != one], everyone[group != one])
    best = not_beaten(rules.costs[some], -score)
    kept, score, without = some[best], score[best], without[best]
    fewer = {name: getattr(rules, name)[kept] for name in ("thresholds", "costs", "errors")}
    shifted, paired = score[-1] - score, _jackknife(without - without[-1])
    chosen = replace(
        rules,
        **fewer,
        losses=shifted,
        standard_errors=paired,
        suggested=cheapest((shifted <= paired) & as_likely[kept]),
    )
    return chosen, Frontier(rules.costs[kept], score, _jackknife(without), *about)


def _jackknife(without: FloatArray) -> FloatArray:
    """Return standard errors: how much scores hang on single groups, which are left out in turn."""
    spread: FloatArray = np.sqrt((without.shape[1] - 1) * without.var(axis=1))
    return spread
