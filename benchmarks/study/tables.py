"""How tables of the page look."""

import re
from collections.abc import Iterable, Sequence

import numpy as np


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def score(value: float) -> str:
    return without_zeros(f"{value:.3f}")


def without_zeros(text: str) -> str:
    """Leave out zeros before the point."""
    return re.sub(r"(?<!\d)0\.", ".", text)


def bill(value: float) -> str:
    return "-" if not np.isfinite(value) else f"{value:.3g}" if value < 100 else f"{value:.0f}"
