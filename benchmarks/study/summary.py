"""From rows of CSV files to what tables and pictures show."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from .published import LINES, Figure
from .results import Row, read_rows

CONFIDENCE = 0.95
SLACK = 1.05  # a mean bill on test samples may be this part of the budget
SCORES = {"accuracy": "bill", "auc": "auc_bill"}  # with the bill of the model that was chosen by it
N_GRID = 200


class Compared(NamedTuple):
    """A mean difference of paired repeats, and its confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> int:
        """1 where the difference is above 0 for sure, -1 where it is below, else 0."""
        return int(self.low > 0) - int(self.high < 0)


def paired(differences: np.ndarray) -> Compared:
    """Return the mean of differences with its interval, by Student's t."""
    n, mean = len(differences), float(differences.mean())
    if n < 2:
        return Compared(mean, -np.inf, np.inf)
    error = differences.std(ddof=1) / np.sqrt(n) * t.ppf((1 + CONFIDENCE) / 2, n - 1)
    return Compared(mean, mean - float(error), mean + float(error))


class Frontier:
    """One task: bills and scores of every method, in each repeat, at each budget.

    Only repeats that every method has done are looked at.
    """

    def __init__(self, rows: Iterable[Row], task: str, score: str = "accuracy") -> None:
        own = [row for row in rows if row["task"] == task]
        self.task, self.score = task, score
        self.budgets = sorted({float(row["budget"]) for row in own})
        self.methods = list(dict.fromkeys(row["method"] for row in own))
        repeats = [{int(r["repeat"]) for r in own if r["method"] == m} for m in self.methods]
        self.repeats = sorted(set.intersection(*repeats)) if repeats else []
        shape = len(self.repeats), len(self.budgets)
        self.bill = {method: np.full(shape, np.nan) for method in self.methods}
        self.value = {method: np.full(shape, np.nan) for method in self.methods}
        for row in own:
            if int(row["repeat"]) in self.repeats:
                place = (
                    self.repeats.index(int(row["repeat"])),
                    self.budgets.index(float(row["budget"])),
                )
                self.bill[row["method"]][place] = float(row[SCORES[score]])
                self.value[row["method"]][place] = float(row[score])

    def curve(self, method: str, repeat: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return bills and the best score so far, of the means or of one repeat."""
        bill, value = self.bill[method], self.value[method]
        bills, values = (
            one.mean(axis=0) if repeat is None else one[repeat] for one in (bill, value)
        )
        order = np.argsort(bills, kind="stable")
        return bills[order], np.maximum.accumulate(values[order])

    def chosen(self, method: str, budget: float) -> int:
        """Return the number of the best point whose mean bill is within a budget."""
        bills, values = self.bill[method].mean(axis=0), self.value[method].mean(axis=0)
        within = np.flatnonzero(bills <= SLACK * budget)
        if not len(within):
            return int(bills.argmin())
        return int(within[values[within].argmax()])

    def at_budget(self, method: str, budget: float) -> np.ndarray:
        """Return the scores of all repeats within a budget."""
        return self.value[method][:, self.chosen(method, budget)]

    def compared(self, one: str, other: str, budget: float) -> Compared:
        return paired(self.at_budget(one, budget) - self.at_budget(other, budget))

    def best_of(self, methods: Iterable[str], budget: float) -> str:
        return max(methods, key=lambda method: float(self.at_budget(method, budget).mean()))

    def bill_needed(self, method: str, score: float) -> float:
        """Return the mean bill from which on the mean score is reached; infinity for never."""
        bills, values = self.curve(method)
        reached = np.flatnonzero(values >= score)
        if not len(reached):
            return float("inf")
        first = int(reached[0])
        if first == 0:
            return float(bills[0])
        share = (score - values[first - 1]) / (values[first] - values[first - 1])
        return float(bills[first - 1] + share * (bills[first] - bills[first - 1]))

    def areas(self, method: str) -> np.ndarray:
        """Return for each repeat the mean score over budgets, in their logarithm."""
        grid = np.geomspace(self.budgets[0], self.budgets[-1], N_GRID)
        found = []
        for repeat in range(len(self.repeats)):
            bills, values = self.curve(method, repeat)
            place = np.searchsorted(bills, SLACK * grid, side="right") - 1
            found.append(np.where(place >= 0, values[np.maximum(place, 0)], values[0]).mean())
        return np.array(found)

    @cached_property
    def area(self) -> dict[str, float]:
        return {method: float(self.areas(method).mean()) for method in self.methods}

    def best_peer(self, ours: Iterable[str]) -> str:
        """Return the peer with the largest area."""
        ours = set(ours)
        return max((name for name in self.methods if name not in ours), key=self.area.__getitem__)


class CurveOfLine(NamedTuple):
    """A method in a line of Table 1: means and deviations over all test parts, by dial."""

    cost: np.ndarray
    cost_sd: np.ndarray
    error: np.ndarray
    error_sd: np.ndarray
    n_parts: int

    def at_error(self, level: float) -> Figure | None:
        """Return the cheapest figures whose error is no more than a level, between two dials."""
        order = np.argsort(self.cost, kind="stable")
        cost, error = self.cost[order], np.minimum.accumulate(self.error[order])
        reached = np.flatnonzero(error <= level)
        if not len(reached):
            return None
        first = int(reached[0])
        share = 1.0
        if first and error[first - 1] > error[first]:
            share = (error[first - 1] - level) / (error[first - 1] - error[first])
        before = max(first - 1, 0)
        place = int(order[first])
        return Figure(
            float(cost[before] + share * (cost[first] - cost[before])),
            float(self.cost_sd[place]),
            float(error[before] + share * (error[first] - error[before])),
            float(self.error_sd[place]),
        )


def curve_of(rows: Iterable[Row], line: str, method: str, error: str = "error") -> CurveOfLine:
    """Pool the blocks of a method in a line."""
    own = [row for row in rows if row["line"] == line and row["method"] == method]
    return pooled(own, error)


def pooled(own: list[Row], error: str = "error") -> CurveOfLine:
    """Pool blocks of rows; deviations are those over all test parts of all blocks."""
    dials = sorted({float(row["dial"]) for row in own})
    blocks = sorted({int(row["block"]) for row in own})
    names = ("n_parts", "cost", "cost_sd", error, f"{error}_sd")
    table = np.zeros((len(names), len(blocks), len(dials)))
    for row in own:
        place = blocks.index(int(row["block"])), dials.index(float(row["dial"]))
        table[(slice(None), *place)] = [float(row.get(name) or 0) for name in names]
    n_parts, cost, cost_sd, wrong, wrong_sd = table
    mean_cost, own_cost_sd = mean_and_deviation(n_parts, cost, cost_sd)
    mean_error, own_error_sd = mean_and_deviation(n_parts, wrong, wrong_sd)
    return CurveOfLine(mean_cost, own_cost_sd, mean_error, own_error_sd, int(n_parts[:, 0].sum()))


def mean_and_deviation(
    n_parts: np.ndarray, mean: np.ndarray, spread: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and deviation of all parts from those of blocks (rows)."""
    total = n_parts.sum(axis=0)
    of_all = (n_parts * mean).sum(axis=0) / total
    squares = (n_parts * (spread**2 + mean**2)).sum(axis=0) / total
    return of_all, np.sqrt(np.maximum(squares - of_all**2, 0))


def error_level(line: str, level: str, whole: CurveOfLine) -> float:
    """Return the error at which ways to prune are compared.

    As far above our whole forest's as the paper's is above its own, but at least by one standard
    error.
    """
    published = LINES[line]
    rise = published.ensemble[level].error - published.whole.error
    standard_error = float(whole.error_sd[0]) / np.sqrt(whole.n_parts)
    return float(whole.error[0]) + max(rise, standard_error)


class Files:
    """The rows of all CSV files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> list[Row]:
        return read_rows(self._folder / f"{name}.csv")

    def frontier(self, task: str, score: str = "accuracy") -> Frontier:
        return Frontier(self["frontiers"], task, score)
