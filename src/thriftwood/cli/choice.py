"""Which pruning somebody wants."""

from __future__ import annotations

import math
from dataclasses import dataclass

from thriftwood.errors import InputError


@dataclass(frozen=True)
class Choice:
    """What was asked for; attributes are called like the options."""

    budget: float | None = None
    tradeoff: float | None = None
    max_error_increase: float | None = None
    refit: bool = False
    cascade: bool = False

    def check(self, has_validation: bool) -> None:
        """Refuse options that contradict each other."""
        ways = {
            "--budget": self.budget,
            "--tradeoff": self.tradeoff,
            "--max-error-increase": self.max_error_increase,
        }
        given = {name: value for name, value in ways.items() if value is not None}
        for name, value in given.items():
            if not 0 <= value < math.inf:
                raise InputError(f"{name} is {value:g}: pass a number of at least 0.")
        if self.cascade:
            if self.tradeoff is not None or self.max_error_increase is not None:
                raise InputError("A --cascade is chosen by --budget, or without any of the others.")
            if not has_validation:
                raise InputError(
                    "A --cascade is tuned on rows that the model was not trained on: pass them as "
                    "--validation."
                )
        elif not given:
            raise InputError("Say how far to prune: --budget, --tradeoff or --max-error-increase.")
        elif len(given) > 1:
            raise InputError(
                "Pass exactly one of --budget, --tradeoff and --max-error-increase, not "
                f"{' and '.join(given)}."
            )
