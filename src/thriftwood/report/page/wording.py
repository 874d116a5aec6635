"""What is on the page, in words."""

from thriftwood.forest import Forest
from thriftwood.formulation import RECORDED_GAIN
from thriftwood.pruning import PruningPath
from thriftwood.pruning.methods import points_in_words


def error_kind(forest: Forest) -> str:
    """Return how the ensemble is judged: by a share of wrong rows, by squares, or not at all."""
    if forest.is_classifier:
        return "share"
    return "none" if forest.aim == "other" else "squared"


def loss_in_words(path: PruningPath) -> str:
    """Return what pruning minimised."""
    if path.loss_name == RECORDED_GAIN:
        return "share of the recorded gain given up"
    return f"{path.loss_name.replace('_', ' ')} of a tree, on average"


def points_of(path: PruningPath) -> str:
    """Return how many points there are, and what they are."""
    return f"{len(path):,} {points_in_words(path.method, len(path))}"


def amount(number: float, unit: str = "") -> str:
    """Return an amount as the page writes it; the scripts of the page follow the same rule.

    Two decimals from 1 on, three significant digits below; the unit after the number.
    """
    if number == 0:
        words = "0"
    elif abs(number) >= 0.995:
        words = f"{number:,.2f}"
    else:
        words = f"{number:.3g}"
    return f"{words} {unit}".rstrip()


def percent(share: float) -> str:
    """Return a share as the page writes it."""
    return f"{100 * share:.1f} %"
