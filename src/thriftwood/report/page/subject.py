"""Subject of a page: a model that can be had at several prices, from dear to cheap.

Prunings of one model are such, and rules of a thrifty model.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thriftwood.billing import FeatureBill
from thriftwood.costs import PriceList
from thriftwood.evaluation import Evaluation
from thriftwood.forest import Forest
from thriftwood.problem import SampleData
from thriftwood.support.arrays import FloatArray

# Where nothing is certified. Numbers are text: scripts know no whole numbers of their size.
NO_NUMBERS: dict[str, str | None] = dict.fromkeys(("tradeoff", "reached", "bound", "gap"))


@dataclass(frozen=True)
class Version:
    """One model on the page: the one that others are compared with, or that of a point."""

    bill: FeatureBill  # of the samples that the page shows
    n_features: int
    bars: FloatArray  # heights, as many in every version: splits of trees, or shares of samples
    bars_hint: str
    n_splits: int | None = None


@dataclass(frozen=True)
class Subject:
    """Subject of a page, apart from the words of its user."""

    name: str  # the kind of the model
    forest: Forest  # says what classes and features there are
    data: SampleData  # the samples whose bills and receipts are shown
    prices: PriceList
    costs: FloatArray  # by which points are told apart, from dear to cheap
    losses: tuple[float, FloatArray] | None  # before, and of points; None where none was weighed
    own: Evaluation | None  # errors on the samples shown
    validation: Evaluation | None  # and on others
    start: int | None  # the point shown first; None is the model before pruning, beside the first
    why: str
    is_suggested: bool
    # Of a point, or for None that which all are compared with.
    version: Callable[[int | None], Version]
    # Returns for points how each is made again, and what is proven of it.
    recipes: Callable[[list[int]], Iterable[dict[str, Any]]]
    words: dict[str, str]  # what differs in the sentences of the page

    @property
    def error(self) -> str:
        """The kind of errors: a share of samples, squared, or nothing that says something."""
        if self.own is None or self.own.judges_rankings:
            return "none"
        return "share" if self.forest.is_classifier else "squared"

    @property
    def judge(self) -> Evaluation | None:
        """Measures on samples that the model was not trained on, if there are any."""
        return self.own if self.losses is None else self.validation

    @property
    def bills_for_receipts(self) -> FloatArray:
        """The bills before pruning; where all pay the same, at the point shown first."""
        before = self.version(None).bill.per_sample
        return before if np.ptp(before) else self.version(self.start or 0).bill.per_sample
