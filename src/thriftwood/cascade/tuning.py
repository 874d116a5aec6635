"""Tune the margin that a sample needs to stop at each stage of a cascade, for every budget."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.cascade import kernels
from thriftwood.cascade.calibration import expected_errors
from thriftwood.cascade.rules import StoppingRules, not_beaten
from thriftwood.forest import SKIPPED
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray, read_only

# Parts of the dearest error that are worth the whole bill of the last stage; from dear to cheap.
TRADEOFFS = np.geomspace(4.0, 4e-4, 60)
MOST_SWEEPS = 6
# Between two rules there are others, about this part of the last stage's bill apart, and no farther
# than this part of their own.
BILL_STEP, OWN_STEP = 1 / 200, 1 / 20
# Sums and quotients that should be equal may differ by this.
ROUNDING = 1e-12


class StageResults(NamedTuple):
    """Predictions of every stage of a cascade for a validation set, and their bills.

    Arrays have the shape (n_samples, n_stages), where nothing else is said.
    """

    margins: FloatArray  # by the trees that may predict the sample
    margins_of_all: FloatArray  # by all trees: samples will stop, and pay, by these
    labels: IntArray  # answers of stages, as class numbers
    probability: FloatArray  # (n_samples, n_classes), calibrated, by the stage of least log loss
    target: IndexArray  # (n_samples,), class numbers
    bills: FloatArray  # of a sample that stops at a stage; never less than at the stage before
    weights: FloatArray  # (n_samples,), of bills; they add up to 1
    loss_weights: FloatArray  # (n_samples,), of errors; they add up to 1
    model_costs: FloatArray  # (n_stages,), paid once for a cascade that ends with a stage
    error_costs: FloatArray  # (n_classes, n_classes), of answers (columns) where rows are true
    # Expected losses to tune by in place of errors, and of numbers, which have no answers, losses
    # that were observed.
    expected: FloatArray | None = None
    observed: FloatArray | None = None

    @property
    def lost(self) -> FloatArray:
        """Costs of each stage's answer; 1 for every error where nothing else is said."""
        if self.observed is not None:
            return self.observed
        return self.error_costs[self.target[:, None], self.labels]


def tune_rules(results: StageResults) -> StoppingRules:
    """Return rules from cheap to dear, of which none is beaten by another that was tried.

    Tried are: to stop all samples at one stage; rules that minimise expected errors plus a price
    for the bill, for many such prices; and rules between any two neighbours of these.
    """
    losses = results.expected
    if losses is None:
        losses = expected_errors(
            results.probability,
            results.margins,
            results.labels,
            results.loss_weights,
            results.error_costs,
        )
    single_stages = np.where(np.eye(results.margins.shape[1], dtype=np.bool_), 0.0, SKIPPED)
    single_stages[:, -1] = 0.0
    rules = _measured(results, losses, [*single_stages, *_descents(results, losses)])
    return _measured(results, losses, [*rules.thresholds, *_between(results, rules)])


def _measured(results: StageResults, losses: FloatArray, tried: list[FloatArray]) -> StoppingRules:
    """Return the best of many rules with what they cost and lose."""
    thresholds = np.array(tried)
    margins, of_all = results.margins, results.margins_of_all
    bills = [_mean(results.weights, at_stop(of_all, results.bills, one)) for one in thresholds]
    means = [_mean(results.loss_weights, at_stop(margins, losses, one)) for one in thresholds]
    costs, mean_losses = np.array(bills), np.array(means)
    costs += results.model_costs[(thresholds == 0).argmax(axis=1)]
    best = not_beaten(costs, mean_losses)
    lost, weights = results.lost, results.loss_weights
    last = at_stop(results.margins, lost, thresholds[best][-1])
    errors, standard_errors = [], []
    for rule in thresholds[best]:
        own = at_stop(results.margins, lost, rule)
        errors.append(_mean(weights, own))
        standard_errors.append(_standard_error(weights, own - last))
    return StoppingRules(
        thresholds=thresholds[best],
        costs=costs[best],
        losses=mean_losses[best],
        errors=np.array(errors),
        standard_errors=np.array(standard_errors),
    )


def _mean(weights: FloatArray, amounts: FloatArray) -> float:
    """Return a mean, by weights that add up to 1, in one thread: those of BLAS wait for others."""
    return float(np.einsum("i,i", weights, amounts))


def _standard_error(weights: FloatArray, differences: FloatArray) -> float:
    """Return the standard error of a mean."""
    deviations = weights * (differences - _mean(weights, differences))
    return math.sqrt(np.einsum("i,i", deviations, deviations))


def at_stop(margins: FloatArray, amounts: NDArray[Any], rule: FloatArray) -> NDArray[Any]:
    """Return the amount of each sample at the stage where it stops."""
    stages = kernels.stops_at(margins, read_only(rule.view()))  # nothing is compiled twice
    return amounts[np.arange(len(amounts)), stages]


def rules_near_best(
    rules: StoppingRules, margins: FloatArray, losses: FloatArray, weights: FloatArray
) -> BoolArray:
    """Mark rules whose mean loss is above the least by at most a standard error of the difference.

    The difference is paired, sample by sample; weights add up to 1.
    """
    means = [_mean(weights, at_stop(margins, losses, rule)) for rule in rules.thresholds]
    best = at_stop(margins, losses, rules.thresholds[int(np.argmin(means))])
    found = []
    for rule in rules.thresholds:
        more = at_stop(margins, losses, rule) - best
        found.append(_mean(weights, more) <= _standard_error(weights, more) + ROUNDING)
    return np.array(found)


def cheapest(as_good: BoolArray) -> int:
    """Return the first rule that is marked, or the last where none is."""
    return int(as_good.argmax()) if as_good.any() else len(as_good) - 1


def _descents(results: StageResults, losses: FloatArray) -> Iterator[FloatArray]:
    """Yield a rule for each tradeoff, by setting thresholds in turn until nothing gets better."""
    full_bill = float(results.weights @ results.bills[:, -1])
    # Sweeps go down the columns, which therefore should lie in one piece.
    margins, losses, bills = map(np.asfortranarray, (results.margins, losses, results.bills))
    order = np.asfortranarray(np.argsort(-margins, axis=0, kind="stable"))
    losses = results.loss_weights[:, None] * losses
    bills = results.weights[:, None] * bills
    tradeoffs = results.error_costs.max() * TRADEOFFS / full_bill if full_bill > 0 else ()
    for tradeoff in tradeoffs:
        values = losses + tradeoff * bills
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

    `values` is what it costs, losses included, that a sample stops at a stage, and `order` has the
    samples of each stage by falling margin. The rule so far says who reaches a stage; without one
    all samples do.
    """
    n_stages = margins.shape[1]
    reaches = np.ones(margins.shape, dtype=np.bool_, order="F")
    new = np.zeros(n_stages) if rule is None else rule.copy()
    if rule is not None:
        reaches[:, 1:] = np.logical_and.accumulate(margins < rule, axis=1)[:, :-1]
    beyond = values[:, -1]
    for s in range(n_stages - 2, -1, -1):
        there = order[reaches[order[:, s], s], s]
        own = margins[there, s]
        # Entry k: the first k samples stop here, the others go on.
        change = np.concatenate([[0.0], np.cumsum(values[there, s] - beyond[there])])
        change[1:-1][own[1:] == own[:-1]] = np.inf  # those alike stop together
        best = int(change.argmin())
        now = int(np.searchsorted(-own, -new[s], side="right"))
        if rule is None or change[best] < change[now] - ROUNDING:
            new[s] = _threshold(own, best)
        beyond = np.where(margins[:, s] >= new[s], values[:, s], beyond)
    return new, float(beyond.sum())


def _threshold(own: FloatArray, n_stop: int) -> float:
    """Return the threshold at which the first so many stop, of margins in falling order."""
    if n_stop == 0:
        return float(SKIPPED)
    return 0.0 if n_stop == len(own) else float(own[n_stop - 1] + own[n_stop]) / 2


def _between(results: StageResults, rules: StoppingRules) -> Iterator[FloatArray]:
    """Yield rules between neighbours: as many samples as between theirs pass each threshold.

    Thresholds of the cheaper one that no sample gets to are those of the dearer one.
    """
    falling = -np.sort(-results.margins, axis=0)
    n_above = [(results.margins >= rule).sum(axis=0) for rule in rules.thresholds]
    step = BILL_STEP * float(results.weights @ results.bills[:, -1])
    for number, (cheap, dear) in enumerate(pairwise(n_above)):
        all_stopped = np.arange(len(cheap)) > (rules.thresholds[number] == 0).argmax()
        cheap = np.where(all_stopped, dear, cheap)
        cost = rules.costs[number + 1]
        apart = min(step, OWN_STEP * cost)
        gap = cost - rules.costs[number]
        n_steps = int(min(np.ceil(gap / apart - ROUNDING), 1 / BILL_STEP)) if apart > 0 else 0
        for share in np.arange(1, n_steps) / max(n_steps, 1):
            wanted = np.rint(cheap + share * (dear - cheap)).astype(np.int64)
            rule = [_threshold(falling[:, s], n_stop) for s, n_stop in enumerate(wanted)]
            yield np.array([*rule[:-1], 0.0])
