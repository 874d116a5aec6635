"""What is on the page, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thriftwood.forest import Forest
from thriftwood.formulation import RECORDED_GAIN
from thriftwood.pruning import PruningPath
from thriftwood.pruning.methods import points_in_words

if TYPE_CHECKING:
    from thriftwood.report.page.given import GivenPage

MILLIONS = {1e9: "bn", 1e6: "M"}  # larger numbers than these can say have an exponent
TOO_LARGE = 1e12


def error_kind(forest: Forest) -> str:
    """Return how the ensemble is judged: by a share of wrong rows, by squares, or not at all."""
    if forest.is_classifier:
        return "share"
    return "none" if forest.aim == "other" else "squared"


def loss_in_words(path: PruningPath) -> str:
    """Return what pruning minimised."""
    if path.loss_name == RECORDED_GAIN:
        return "share of the recorded gain given up"
    counted = {"in_bag": ", on rows it was grown on", "out_of_bag": ", on rows it was not grown on"}
    name = path.loss_name.replace("_", " ")
    return f"{name} of a tree{counted.get(path.rows, '')}, on average"


def points_of(path: PruningPath) -> str:
    """Return how many points there are, and what they are."""
    return f"{len(path):,} {points_in_words(path.method, len(path))}"


def weighting(given: GivenPage) -> str:
    """Return how rows count, where they do not all count alike; otherwise nothing."""
    words = []
    validation_weighted = given.validation is not None and given.validation[2] is not None
    if given.sample_weight is not None:
        words.append("Rows count as much as their weights say, in every share, mean and error.")
    if validation_weighted:
        words.append("So do validation rows." if words else "Validation rows count by weights.")
    elif given.validation is not None and words:
        words.append("Validation rows count alike.")
    if given.class_weight is not None:
        words.append("The loss that pruning weighs counts classes by their weights; errors do not.")
    return " ".join(words)


def amount(number: float, unit: str = "") -> str:
    """Return an amount as the page writes it; the scripts of the page follow the same rule.

    Two decimals from 1 on, three significant digits below; millions and billions as such; the unit
    after the number.
    """
    sign = "\N{MINUS SIGN}" if number < 0 else ""
    return f"{sign}{_digits(abs(number))} {unit}".rstrip()


def _digits(number: float) -> str:
    if number == 0:
        return "0"
    if number >= TOO_LARGE:
        return f"{number:.2e}".replace("e+", "e")
    for size, name in MILLIONS.items():
        if number >= size:
            return f"{number / size:,.2f} {name}"
    return f"{number:,.2f}" if number >= 0.995 else f"{number:.3g}"


def percent(share: float) -> str:
    """Return a share as the page writes it."""
    return f"{100 * share:.1f} %"
