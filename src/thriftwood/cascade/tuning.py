"""Tune how sure a row must be to stop at each stage of a cascade."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.cascade.expected import expected_losses
from thriftwood.cascade.rules import StoppingRules, not_beaten
from thriftwood.forest import SKIPPED
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
)

# What a row may cost in errors to save the whole bill of the last stage; from dear to cheap rules.
TRADEOFFS = np.geomspace(4.0, 4e-4, 60)
MOST_SWEEPS = 6
# Between two rules there are others, about this part of the last stage's bill apart.
BILL_STEP = 1 / 200
# Sums of values that should be equal may differ by this.
ROUNDING = 1e-12


class StageTrial(NamedTuple):
    """What every stage of a cascade says about rows that training did not see.

    Attributes
    ----------
    margins : shape (n_samples, n_stages)
        How sure each stage is of each row, by the trees that judge it.
    margins_of_all : shape (n_samples, n_stages)
        The same by all trees: rows will stop, and pay, by these.
    labels : int array, shape (n_samples, n_stages)
        What each stage says, as the number of a class.
    probability : shape (n_samples, n_classes)
        What the surest stage says, calibrated.
    target : shape (n_samples,)
        What is right.
    bills : shape (n_samples, n_stages)
        What a row pays that stops at a stage; never less than at the stage before.
    weights : shape (n_samples,)
        How much each row counts; they add up to 1.
    model_costs : shape (n_stages,)
        What is paid once, per prediction, for a cascade that ends with a stage.
    """

    margins: FloatArray
    margins_of_all: FloatArray
    labels: IntArray
    probability: FloatArray
    target: IndexArray
    bills: FloatArray
    weights: FloatArray
    model_costs: FloatArray

    @property
    def wrong(self) -> BoolArray:
        """Which rows each stage gets wrong."""
        wrong: BoolArray = self.labels != self.target[:, None]
        return wrong


def tune_rules(trial: StageTrial) -> StoppingRules:
    """Return rules from cheap to dear, of which none is beaten by another that was tried.

    Tried are: to stop all rows at one stage; rules that minimise expected errors plus a price for
    the bill, for many such prices; and rules between any two neighbours of these.
    """
    losses = expected_losses(trial.probability, trial.margins, trial.labels, trial.weights)
    rules = _judged(trial, losses, [*_single_stages(trial), *_descents(trial, losses)])
    return _judged(trial, losses, [*rules.thresholds, *_between(trial, rules)])


def _judged(trial: StageTrial, losses: FloatArray, tried: list[FloatArray]) -> StoppingRules:
    """Return the best of many rules with what they cost and lose."""
    thresholds = np.array(tried)
    costs = _means(trial, trial.margins_of_all, trial.bills, thresholds)
    costs += trial.model_costs[(thresholds == 0).argmax(axis=1)]
    mean_losses = _means(trial, trial.margins, losses, thresholds)
    best = not_beaten(costs, mean_losses)
    return StoppingRules(
        thresholds=thresholds[best],
        costs=costs[best],
        losses=mean_losses[best],
        errors=_means(trial, trial.margins, trial.wrong, thresholds[best]),
        standard_errors=_standard_errors(trial, thresholds[best]),
    )


def _means(
    trial: StageTrial, margins: FloatArray, amounts: NDArray[Any], thresholds: FloatArray
) -> FloatArray:
    """Return the mean of what rows have at the stage where they stop, for each rule."""
    return np.array([trial.weights @ _at_stop(margins, amounts, rule) for rule in thresholds])


def _standard_errors(trial: StageTrial, thresholds: FloatArray) -> FloatArray:
    """Return those of the difference in error between each rule and the last."""
    last = _at_stop(trial.margins, trial.wrong, thresholds[-1]).astype(np.float64)
    found = np.empty(len(thresholds))
    for number, rule in enumerate(thresholds):
        more = _at_stop(trial.margins, trial.wrong, rule) - last
        found[number] = np.sqrt((more - trial.weights @ more) ** 2 @ trial.weights**2)
    return found


def _at_stop(margins: FloatArray, amounts: NDArray[Any], rule: FloatArray) -> NDArray[Any]:
    """Return what each row has at the stage where it stops."""
    stage = (margins >= rule).argmax(axis=1)
    stopped: NDArray[Any] = amounts[np.arange(len(amounts)), stage]
    return stopped


def _single_stages(trial: StageTrial) -> Iterator[FloatArray]:
    for stage in range(trial.margins.shape[1]):
        rule = np.full(trial.margins.shape[1], SKIPPED)
        rule[[stage, -1]] = 0.0
        yield rule


def _descents(trial: StageTrial, losses: FloatArray) -> Iterator[FloatArray]:
    """Yield a rule for each tradeoff, by setting thresholds in turn until nothing gets better."""
    full_bill = float(trial.weights @ trial.bills[:, -1])
    # Sweeps go down the columns, which therefore should lie in one piece.
    margins, losses, bills = map(np.asfortranarray, (trial.margins, losses, trial.bills))
    order = np.asfortranarray(np.argsort(-margins, axis=0, kind="stable"))
    for tradeoff in TRADEOFFS / full_bill if full_bill > 0 else ():
        values = trial.weights[:, None] * (losses + tradeoff * bills)
        rule, now = _sweep(margins, values, order, None)
        for _ in range(MOST_SWEEPS):
            before = now
            rule, now = _sweep(margins, values, order, rule)
            if now >= before - ROUNDING:
                break
        yield rule


def _sweep(
    margins: FloatArray, values: FloatArray, order: IntArray, rule: FloatArray | None
) -> tuple[FloatArray, float]:
    """Set each threshold to the best for all others, from the last stage back; return the sum.

    Parameters
    ----------
    margins : shape (n_samples, n_stages)
    values : shape (n_samples, n_stages)
        What it costs, losses included, that a row stops at a stage.
    order : shape (n_samples, n_stages)
        Rows from the surest to the least sure, for each stage.
    rule : shape (n_stages,), optional
        The thresholds so far, which say who reaches a stage. None means that all rows do.
    """
    n_stages = margins.shape[1]
    reaches = np.ones(margins.shape, dtype=np.bool_, order="F")
    new = np.zeros(n_stages) if rule is None else rule.copy()
    if rule is not None:
        reaches[:, 1:] = np.logical_and.accumulate(margins < rule, axis=1)[:, :-1]
    beyond = values[:, -1]
    for s in range(n_stages - 2, -1, -1):
        rows = order[reaches[order[:, s], s], s]
        own = margins[rows, s]
        # Entry k: the first k rows stop here, the others go on.
        change = np.concatenate([[0.0], np.cumsum(values[rows, s] - beyond[rows])])
        change[1:-1][own[1:] == own[:-1]] = np.inf  # rows alike stop together
        best = int(change.argmin())
        now = int(np.searchsorted(-own, -new[s], side="right"))
        if rule is None or change[best] < change[now] - ROUNDING:
            new[s] = _threshold(own, best)
        beyond = np.where(margins[:, s] >= new[s], values[:, s], beyond)
    return new, float(beyond.sum())


def _threshold(own: FloatArray, n_stop: int) -> float:
    """Return what lets the first so many margins stop, in falling order."""
    if n_stop == 0:
        return float(SKIPPED)
    return 0.0 if n_stop == len(own) else float(own[n_stop - 1] + own[n_stop]) / 2


def _between(trial: StageTrial, rules: StoppingRules) -> Iterator[FloatArray]:
    """Yield rules between neighbours: at each stage, a number of rows between theirs is sure."""
    falling = -np.sort(-trial.margins, axis=0)
    n_sure = [(trial.margins >= rule).sum(axis=0) for rule in rules.thresholds]
    step = BILL_STEP * float(trial.weights @ trial.bills[:, -1])
    for number, (cheap, dear) in enumerate(pairwise(n_sure)):
        gap = rules.costs[number + 1] - rules.costs[number]
        n_steps = int(min(np.ceil(gap / step), 1 / BILL_STEP)) if step > 0 else 0
        for share in np.arange(1, n_steps) / max(n_steps, 1):
            wanted = np.rint(cheap + share * (dear - cheap)).astype(np.int64)
            rule = [_threshold(falling[:, s], n_stop) for s, n_stop in enumerate(wanted)]
            yield np.array([*rule[:-1], 0.0])
