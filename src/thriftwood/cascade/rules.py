"""Rules to stop at the stages of a cascade, from free to dear, as measured on a validation set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from thriftwood.errors import InputError
from thriftwood.forest import SKIPPED
from thriftwood.support.arrays import FloatArray, IntArray, read_only_copy
from thriftwood.support.validation import one_number_from_zero

# Means of bills may differ in their last digits where they should be equal.
DIGITS = 12
ROUNDING = 10.0**-DIGITS
# Losses closer than this part of their standard error are as good as equal.
CLOSE = 0.25
RULE_ARRAYS = ("thresholds", "costs", "losses", "errors", "standard_errors")


@dataclass(frozen=True, eq=False, repr=False)
class StoppingRules:
    """The rules that a cascade can follow, each dearer and better than the one before.

    Attributes
    ----------
    thresholds : shape (n_rules, n_stages)
        The margin that a sample needs to stop at each stage; see `Stages`.
    costs : shape (n_rules,)
        Mean bill of a sample of the validation set.
    losses : shape (n_rules,)
        Expected share of misclassified samples, by which rules were tuned; see `expected_errors`.
        Where nearly all samples are of one class, the expected Brier score. With `error_costs` the
        expected cost of errors.
    errors : shape (n_rules,)
        Share of misclassified samples, weighed as classes were in tuning, or what errors cost.
    standard_errors : shape (n_rules,)
        Of the difference in error to the last rule.
    suggested : int, optional
        The rule to take without a budget, by a score or by the least sum of bills and errors; one
        beyond the last is the whole model, the last stage for all samples. None means the cheapest
        whose loss is above the last rule's by no more than a part, `CLOSE`, of the standard error.
    class_weights : shape (n_classes,), optional
        How much errors on each class counted, at most 1; None where all counted alike.
    """

    thresholds: FloatArray
    costs: FloatArray
    losses: FloatArray
    errors: FloatArray
    standard_errors: FloatArray
    suggested: int | None = None
    class_weights: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in RULE_ARRAYS:
            object.__setattr__(self, name, read_only_copy(getattr(self, name), np.float64))
        if self.class_weights is not None:
            weights = read_only_copy(self.class_weights, np.float64)
            object.__setattr__(self, "class_weights", weights)

    def __len__(self) -> int:
        return len(self.costs)

    def __repr__(self) -> str:
        return (
            f"StoppingRules: {len(self)} rules, from cost {self.costs[0]:.6g} and error "
            f"{self.errors[0]:.4g} to cost {self.costs[-1]:.6g} and error {self.errors[-1]:.4g}"
        )

    def fits(self, n_stages: int, n_classes: int | None = None) -> bool:
        """Return True if the arrays fit together, and to so many stages and classes."""
        n_rules, of_class = self.costs.size, self.class_weights
        if of_class is not None and not (
            of_class.shape == (n_classes,) and bool((of_class >= 0).all()) and of_class.max() == 1
        ):
            return False
        per_rule = (self.costs, self.losses, self.errors, self.standard_errors)
        return (
            n_rules > 0
            and self.thresholds.shape == (n_rules, n_stages)
            and bool((self.thresholds >= 0).all() and (self.thresholds[:, -1] == 0).all())
            and all(one.shape == (n_rules,) and np.isfinite(one).all() for one in per_rule)
            and all(bool((one >= 0).all()) for one in per_rule)
            and (self.suggested is None or 0 <= self.suggested <= n_rules)
            and bool((np.diff(self.costs) > 0).all() and (np.diff(self.losses) < 0).all())
        )

    def within(self, budget: float | None) -> int:
        """Return the best rule within a budget, or without one that which is suggested."""
        if budget is None and self.suggested is not None:
            return self.suggested
        if budget is None:
            return int(np.argmax(self.losses <= self.losses[-1] + CLOSE * self.standard_errors))
        if budget == np.inf:
            return len(self) - 1
        most = one_number_from_zero(budget, "budget", "It is what a sample may cost on average.")
        affordable = np.flatnonzero(self.costs <= most * (1 + ROUNDING))
        if not len(affordable):
            raise InputError(
                f"No stage costs {most:g} or less on these samples; the cheapest costs "
                f"{self.costs[0]:g}.",
                "budget",
            )
        return int(affordable[-1])

    def number_of(self, thresholds: FloatArray) -> int | None:
        """Return the rule of these thresholds, one beyond the last for the last stage alone."""
        of_rules = self.thresholds.reshape(-1, len(thresholds))  # there may be none
        tried = np.vstack([of_rules, whole_model(len(thresholds))])
        is_own = (tried == thresholds).all(axis=1)
        return int(is_own.argmax()) if is_own.any() else None


def rule_parts(rules: StoppingRules) -> dict[str, FloatArray]:
    """Return the arrays of rules in a file; `suggested` is in its header."""
    arrays = {f"rule_{name}": getattr(rules, name) for name in RULE_ARRAYS}
    return (
        arrays if rules.class_weights is None else arrays | {"class_weights": rules.class_weights}
    )


def rules_from(suggested: int | None, arrays: Mapping[str, FloatArray]) -> StoppingRules:
    """Return the rules of a file."""
    own = {name: arrays[f"rule_{name}"] for name in RULE_ARRAYS}
    return StoppingRules(**own, suggested=suggested, class_weights=arrays.get("class_weights"))


NO_RULES = StoppingRules(np.empty((0, 0)), *(np.empty(0),) * 4)


def whole_model(n_stages: int) -> FloatArray:
    """Return the thresholds with which all samples stop at the last stage."""
    return np.append(np.full(n_stages - 1, SKIPPED), 0.0)


def not_beaten(costs: FloatArray, losses: FloatArray) -> IntArray:
    """Return the rules, from cheap to dear, that no other one beats in both cost and loss."""
    # In another unit, the last digits of costs that are equal may differ.
    unit = costs.max(initial=0.0) or 1.0
    order = np.lexsort((losses, np.round(costs / unit, DIGITS)))
    lowest_before = np.minimum.accumulate(np.concatenate([[np.inf], losses[order][:-1]]))
    return order[losses[order] < lowest_before]
