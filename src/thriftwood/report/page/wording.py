"""What is on the page, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thriftwood.forest import Forest
from thriftwood.pruning.methods import points_in_words
from thriftwood.pruning.path import PruningPath

if TYPE_CHECKING:
    from thriftwood.report.page.given import GivenPage


def error_kind(forest: Forest) -> str:
    """Return how the ensemble is judged: by a share of wrong rows, by squares, or not at all."""
    if forest.is_classifier:
        return "share"
    return "none" if forest.aim == "other" else "squared"


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


def percent(share: float) -> str:
    """Return a share as the page writes it."""
    return f"{100 * share:.1f} %"
