"""How much errors on each class count, as it is typed."""

import math
from collections.abc import Sequence
from typing import Any

from thriftwood.errors import InputError

BALANCED = "balanced"


def check_class_weight(parts: Sequence[str]) -> None:
    """Refuse what is neither 'balanced' alone nor LABEL=NUMBER; which labels there are comes later.

    Parameters
    ----------
    parts : sequence of str
        As typed.
    """
    if list(parts) == [BALANCED]:
        return
    if BALANCED in parts:
        raise InputError("--class-weight: balanced goes alone, without LABEL=NUMBER.")
    for part in parts:
        name, _, number = part.rpartition("=")
        if not name:
            raise InputError(
                f"--class-weight is {part!r}: pass 'balanced', or LABEL=NUMBER, such as ill=5."
            )
        _weight(part, number)


def read_class_weight(parts: Sequence[str], classes: Sequence[Any] | None) -> Any:
    """Return what LABEL=NUMBER say as a mapping from classes to weights.

    Parameters
    ----------
    parts : sequence of str
        As typed, and checked.
    classes : sequence, optional
        The labels that there are; None where numbers are predicted.
    """
    if not parts:
        return None
    if classes is None:
        raise InputError("--class-weight is for classifiers: this model predicts numbers.")
    if list(parts) == [BALANCED]:
        return BALANCED
    labels = {name: label for label in classes for name in _names(label)}
    weights = {}
    for part in parts:
        name, _, number = part.rpartition("=")
        if name not in labels:
            known = ", ".join(map(str, classes))
            raise InputError(f"--class-weight is {part!r}: name one of the classes {known}.")
        if labels[name] in weights:
            raise InputError(f"--class-weight names the class {name} twice: weigh it once.")
        weights[labels[name]] = _weight(part, number)
    return weights


def _names(label: Any) -> list[str]:
    """Return how a class may be written: 1.0 also as 1."""
    is_whole = isinstance(label, float) and label.is_integer()
    return [str(label), str(int(label))] if is_whole else [str(label)]


def _weight(part: str, number: str) -> float:
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise InputError(
            f"--class-weight is {part!r}: {number!r} is no number of at least 0. Pass "
            "LABEL=NUMBER, such as ill=5."
        )
    return weight
