"""Receipts: what one sample buys, in the order of buying, and at what price."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.billing import kernels
from thriftwood.billing.payments import amount_of
from thriftwood.costs import MODEL, NO_MASK, PriceList
from thriftwood.forest import Forest
from thriftwood.support.summary import Summarised, Summary
from thriftwood.support.text import shown, unit_behind

# A number, the label of a category (usually text), or None where it is missing.
Value = Any
# A feature that a sample uses, the first tree that tests it, and the sample's value.
FeatureUse = tuple[int, int, Value]
# What something is called and what it costs.
CostItem = tuple[str, float]


@dataclass(frozen=True)
class Purchase:
    """A feature, bought when a tree first tests it.

    Attributes
    ----------
    feature : int
        Its column.
    name : str
    tree : int
        The number of the tree that tests it first.
    items : tuple of (str, float)
        What is due that was not due before: the price of the feature itself first, then those of
        features that it requires and the fees of groups; of what a batch pays together, the
        sample's equal part. Nothing, if the value was known or came with another feature.
    value : float, label or None
        What the sample turns out to have there, as the model compares it; the label of a category
        where the model knows labels; None where it is missing. Of a column that was encoded before,
        text: what was found in which encoding.
    """

    feature: int
    name: str
    tree: int
    items: tuple[CostItem, ...]
    value: Value

    @property
    def price(self) -> float:
        """The amount that this adds to the bill."""
        return _sum(self.items)


@dataclass(frozen=True, repr=False)
class Receipt(Summarised):
    """The bill of one sample, purchase by purchase. Print it to read it.

    Attributes
    ----------
    sample
        Its number, or its id in a `LazyAnswer`.
    purchases : tuple of Purchase
        In the order in which features are bought, each once.
    shared : tuple of (str, float)
        The sample's equal part of what only other samples of its batch need.
    test_cost : float
        What the sample pays for being put to tests, where each costs something.
    unit : str
        What all this is counted in.
    part : str
        What the number of a purchase counts: "tree", or "stage" of a thrifty model.
    """

    sample: Any
    purchases: tuple[Purchase, ...]
    shared: tuple[CostItem, ...]
    test_cost: float
    unit: str
    part: str = "tree"

    @property
    def total(self) -> float:
        """The bill of the sample; but for rounding its entry in `FeatureBill.per_sample`."""
        bought = sum(purchase.price for purchase in self.purchases)
        return bought + _sum(self.shared) + self.test_cost

    def _summary(self) -> Summary:
        number = len(self.purchases)
        title = (
            f"Receipt of sample {reprlib.repr(self.sample)}: {self.total:.6g}"
            f"{unit_behind(self.unit)} for {number} feature{'' if number == 1 else 's'}"
        )
        lines = [
            (
                f"{self.part} {one.tree}",
                f"{shown(one.name)} = {value_in_words(one.value)}",
                f"{one.price:.6g}",
                _details(one),
            )
            for one in self.purchases
        ]
        lines += [
            ("", shown(name), f"{part:.6g}", "needed by others of the batch")
            for name, part in self.shared
        ]
        if self.test_cost > 0:
            lines.append(("", "tests", f"{self.test_cost:.6g}", ""))
        left = max((len(tree) for tree, *_ in lines), default=0)
        middle = max((len(what) for _, what, *_ in lines), default=0)
        return Summary(title, f"  {{:{left}s}}  {{:{middle}s}} {{:>10s}}  {{}}", lines)


def make_receipt(
    prices: PriceList,
    sample: int,
    in_order: Iterable[FeatureUse],
    test_cost: float,
    shared: Iterable[int] = (),
    part: str = "tree",
) -> Receipt:
    """Write down what a sample pays, in the order of buying.

    Of the cost items `shared` by its batches the sample pays a part even if only others need them.
    """
    purchases: dict[int, Purchase] = {}
    paid: set[int] = set()
    for feature, tree, value in in_order:
        own = prices.columns_of(feature)
        if not isinstance(value, tuple):
            value = tuple(_in_column(prices, column, feature, value) for column in own)
        value_of = dict(zip(own, value, strict=True))
        new = [column for column in own if column not in purchases]
        due = [item for item in items_needed(prices, feature, sample) if item not in paid]
        for column in new:
            # Whatever is no other column's own price goes with the first.
            here = [item for item in due if item == column or item not in (*new, *paid)]
            paid.update(here)
            items = _written(prices, here, sample)
            name = prices.names[column]
            purchases[column] = Purchase(column, name, tree, items, value_of[column])
    return Receipt(
        sample=sample,
        purchases=tuple(purchases.values()),
        shared=_written(prices, (item for item in shared if item not in paid), sample),
        test_cost=test_cost,
        unit=prices.unit,
        part=part,
    )


def uses_in_order(forest: Forest, values: NDArray[Any]) -> list[FeatureUse]:
    """Return the features that one sample uses, each once, tree after tree from the root down."""
    with np.errstate(over="ignore"):
        as_compared = values.astype(forest.input_dtype, copy=False)
    features, trees = kernels.features_in_order(
        forest.layout.splits, forest.tree_start, as_compared
    )
    return [
        (feature, tree, shown_value(forest, feature, values[feature]))
        for feature, tree in zip(features.tolist(), trees.tolist(), strict=True)
    ]


def shown_value(forest: Forest, feature: int, value: Any) -> Value:
    """Return a value as people read it: a number, a label, or None if missing."""
    number = float(value)
    if np.isnan(number):
        return None
    labels = forest.category_labels.get(feature, ())
    return labels[int(number)] if number in range(len(labels)) else number


def items_needed(prices: PriceList, feature: int, sample: int) -> list[int]:
    """Return the cost items that a sample pays for a feature: the feature's own comes first."""
    items = [
        int(prices.cost_item[entry])
        for entry in range(prices.start[feature], prices.start[feature + 1])
        if prices.mask[entry] == NO_MASK or prices.masks[prices.mask[entry], sample]
    ]
    by_samples = (item for item in items if prices.payer[item] != MODEL)
    own = prices.columns_of(feature)
    return sorted(by_samples, key=lambda item: (item not in own, item))


def _written(prices: PriceList, items: Iterable[int], sample: int) -> tuple[CostItem, ...]:
    """Return the names of cost items, and what the sample pays for each."""
    amounts = ((item, amount_of(prices, item)) for item in items)
    return tuple(
        (prices.names[item], amount if isinstance(amount, float) else float(amount[sample]))
        for item, amount in amounts
    )


def _sum(items: tuple[CostItem, ...]) -> float:
    return float(sum(amount for _, amount in items))


def _in_column(prices: PriceList, column: int, feature: int, value: Value) -> Value:
    """Return the value of a feature as that of its column, of which it may be an encoding."""
    made = prices.made_of
    name = made.feature_names[feature] if made is not None and made.feature_names else None
    is_column = name is None or name == prices.names[column]
    return value if is_column else f"{value_in_words(value)} in {name}"


def value_in_words(value: Value) -> str:
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else shown(value)


def _details(purchase: Purchase) -> str:
    """Return the parts of a price, unless it is the feature's own alone."""
    if not purchase.items:
        return "already at hand"
    if [name for name, _ in purchase.items] == [purchase.name]:
        return ""
    return " + ".join(f"{shown(name)} {amount:.6g}" for name, amount in purchase.items)
