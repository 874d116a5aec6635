"""What a cheap, a middle and a dear row pay for, before pruning and at each point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thriftwood.costs import PriceList
from thriftwood.report.page.spending import Spending
from thriftwood.support.arrays import FloatArray

# Where these rows stand among all, ordered by what they pay before pruning.
TYPICAL = {"A cheap row": 0.1, "A row in the middle": 0.5, "A dear row": 0.9}


class Line(NamedTuple):
    """A line of a receipt: the cost item, its name, the value where it is a feature, the price."""

    cost_item: int
    name: str
    value: str | None
    price: float


@dataclass(frozen=True)
class TypicalRow:
    """A row whose receipts are shown.

    Points are nested, so that at every point the row pays for some of the lines that it pays for
    before pruning, at the same prices.

    Attributes
    ----------
    label : str
    row : int
    lines : tuple of Line
        What it pays for before pruning, the dearest first.
    tests : float
        What it pays for the splits that it passes, before pruning.
    """

    label: str
    row: int
    lines: tuple[Line, ...]
    tests: float


class StillPaid(NamedTuple):
    """What a row pays at a point: the places of the lines that are left, and for splits."""

    lines: list[int]
    tests: float


def typical_rows(before: Spending, weights: FloatArray) -> list[TypicalRow]:
    """Choose rows by what they pay before pruning; fewer where there are very few rows."""
    chosen: dict[int, str] = {}
    by_bill = np.argsort(before.per_row, kind="stable")
    counted = np.cumsum(weights[by_bill])
    for label, share in TYPICAL.items():
        row = int(by_bill[np.searchsorted(counted, share * counted[-1])])
        chosen.setdefault(row, label)
    return [
        TypicalRow(label, row, _receipt(before, row), before.tests_of(row))
        for row, label in chosen.items()
    ]


def still_paid(after: Spending, rows: list[TypicalRow]) -> list[StillPaid]:
    """Return what typical rows pay at a point."""
    found = []
    for one in rows:
        paid = after.cost_items_of(one.row)
        places = [place for place, line in enumerate(one.lines) if line.cost_item in paid]
        found.append(StillPaid(places, after.tests_of(one.row)))
    return found


def _receipt(before: Spending, row: int) -> tuple[Line, ...]:
    values = before.values_of(row)
    lines = [
        Line(cost_item, _name(before.prices, cost_item), _words(values, cost_item), price)
        for cost_item, price in before.cost_items_of(row).items()
    ]
    return tuple(sorted(lines, key=lambda line: -line.price))


def _name(prices: PriceList, cost_item: int) -> str:
    name = prices.names[cost_item]
    return name if cost_item < prices.n_features else f"fee: {name}"


def _words(values: dict[int, Any], feature: int) -> str | None:
    """Return a value of a row as people read it; None where nobody asked for it."""
    if feature not in values:
        return None
    value = values[feature]
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
