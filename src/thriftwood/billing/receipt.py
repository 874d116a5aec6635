"""What one row buys, in the order in which it is asked for it, and at what price."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from thriftwood.costs import PriceList, cost_items_of, part_of_sample

# A number, the label of a category (usually text), or None where it is missing.
Value = Any
# What something is called and what it costs.
CostItem = tuple[str, float]


@dataclass(frozen=True)
class Purchase:
    """A feature, bought when a tree first asks for it.

    Attributes
    ----------
    feature : int
        Its column.
    name : str
    tree : int
        The number of the tree that asks first.
    items : tuple of (str, float)
        What is due that was not due before: the price of the feature itself first, then those of
        features that it requires and the fees of groups; of what a batch pays together, the row's
        equal part. Nothing, if the value was known or came with another feature.
    value : float, label or None
        What the row turns out to have there, as the model compares it; the label of a category
        where the model knows labels; None where it is missing.
    """

    feature: int
    name: str
    tree: int
    items: tuple[CostItem, ...]
    value: Value

    @property
    def price(self) -> float:
        """What this adds to the bill."""
        return _sum(self.items)


@dataclass(frozen=True, repr=False)
class Receipt:
    """The bill of one row, purchase by purchase. Print it to read it.

    Attributes
    ----------
    row
        Its number, or its id in a `LazyAnswer`.
    purchases : tuple of Purchase
        In the order in which features are bought, each once.
    shared : tuple of (str, float)
        The row's equal part of what only other rows of its batch need.
    test_cost : float
        What the row pays for being put to tests, where each costs something.
    unit : str
        What all this is counted in.
    """

    row: Any
    purchases: tuple[Purchase, ...]
    shared: tuple[CostItem, ...]
    test_cost: float
    unit: str

    @property
    def total(self) -> float:
        """What the row pays; but for rounding its entry in `FeatureBill.per_sample`."""
        bought = sum(purchase.price for purchase in self.purchases)
        return bought + _sum(self.shared) + self.test_cost

    def __repr__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        number = len(self.purchases)
        title = (
            f"Receipt of row {reprlib.repr(self.row)}: {self.total:.6g}{unit} for {number} "
            f"feature{'' if number == 1 else 's'}"
        )
        lines = [
            _Line(f"tree {one.tree}", f"{one.name} = {_words(one.value)}", one.price, _details(one))
            for one in self.purchases
        ]
        for name, part in self.shared:
            lines.append(_Line("", name, part, "needed by others of the batch"))
        if self.test_cost > 0:
            lines.append(_Line("", "tests", self.test_cost, ""))
        left = max((len(line.tree) for line in lines), default=0)
        middle = max((len(line.what) for line in lines), default=0)
        printed = [
            f"  {line.tree:{left}s}  {line.what:{middle}s} {line.price:10.6g}  {line.more}".rstrip()
            for line in lines
        ]
        return "\n".join([title, *printed])


class _Line(NamedTuple):
    """A line of a printed receipt."""

    tree: str
    what: str
    price: float
    more: str


def make_receipt(
    prices: PriceList,
    row: int,
    asked: Iterable[tuple[int, int]],
    values: Mapping[int, Value],
    n_tests: int,
    shared: Iterable[int] = (),
) -> Receipt:
    """Write down what a row pays, in the order of buying.

    Parameters
    ----------
    prices : PriceList
    row : int
        Which of the rows that the prices are for.
    asked : (feature, tree) pairs
        Features in the order of buying, and who asks; what was bought before is left out.
    values : mapping from feature to value
        What each of them was found to be.
    n_tests : int
        How many splits test the row.
    shared : cost items, optional
        What the batches of the row pay together, as `shared_by_batches` returns it. The row has its
        part in it even where only others need it.
    """
    purchases: dict[int, Purchase] = {}
    paid: set[int] = set()
    for feature, tree in asked:
        if feature in purchases:
            continue
        due = [
            cost_item for cost_item in cost_items_of(prices, feature, row) if cost_item not in paid
        ]
        paid.update(due)
        purchases[feature] = Purchase(
            feature=feature,
            name=prices.names[feature],
            tree=tree,
            items=_written(prices, due, row),
            value=values[feature],
        )
    return Receipt(
        row=row,
        purchases=tuple(purchases.values()),
        shared=_written(prices, (cost_item for cost_item in shared if cost_item not in paid), row),
        test_cost=prices.per_split * n_tests,
        unit=prices.unit,
    )


def _written(prices: PriceList, items: Iterable[int], row: int) -> tuple[CostItem, ...]:
    return tuple(
        (prices.names[cost_item], part_of_sample(prices, cost_item, row)) for cost_item in items
    )


def _sum(items: tuple[CostItem, ...]) -> float:
    return float(sum(amount for _, amount in items))


def _words(value: Value) -> str:
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _details(purchase: Purchase) -> str:
    """Return what makes up the price, unless that is the feature's own price alone."""
    if not purchase.items:
        return "already at hand"
    if [name for name, _ in purchase.items] == [purchase.name]:
        return ""
    return " + ".join(f"{name} {amount:.6g}" for name, amount in purchase.items)
