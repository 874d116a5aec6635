"""Subject of a page: a model that can be had at several prices, from dear to cheap.

Prunings of one model are such, and rules of a thrifty model.
"""

from __future__ import annotations

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


@dataclass(frozen=True)
class Version:
    """One model on the page: the one that others are compared with, or that of a point.

    Attributes
    ----------
    bill : FeatureBill
        Of the samples that the page shows.
    n_features : int
    bars : float array
        Heights, as many in every version: splits of trees, or shares of samples.
    bars_hint : str
    n_splits : int, optional
    """

    bill: FeatureBill
    n_features: int
    bars: FloatArray
    bars_hint: str
    n_splits: int | None = None


@dataclass(frozen=True)
class Subject:
    """Subject of a page, apart from the words of its user.

    Attributes
    ----------
    name : str
        The kind of the model.
    forest : Forest
        Says what classes and features there are.
    data : SampleData
        The samples whose bills and receipts are shown.
    prices : PriceList
    costs : float array
        By which points are told apart, from dear to cheap.
    losses : (float, float array), optional
        Before, and of the points; None where no loss was weighed.
    own, validation : Evaluation, optional
        Errors on the samples shown, and on others.
    start : int, optional
        The point that the page begins with; None is the model before pruning, beside the first.
    why : str
    is_suggested : bool
    version : callable
        Returns the version of a point, or for None that which all are compared with.
    recipes : callable
        Returns for points how each is made again, and what is proven of it.
    words : dict of str
        What differs in the sentences of the page.
    """

    name: str
    forest: Forest
    data: SampleData
    prices: PriceList
    costs: FloatArray
    losses: tuple[float, FloatArray] | None
    own: Evaluation | None
    validation: Evaluation | None
    start: int | None
    why: str
    is_suggested: bool
    version: Callable[[int | None], Version]
    recipes: Callable[[list[int]], Iterable[dict[str, Any]]]
    words: dict[str, str]

    @property
    def error(self) -> str:
        """The kind of errors: a share of samples, squared, or nothing that says something."""
        if self.own is None:
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
