"""Predictions of a lazy predictor, and what they cost."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.acquisition.kernels import USED
from thriftwood.billing import (
    FeatureBill,
    FeatureUse,
    Receipt,
    make_bill,
    model_cost_of,
    shown_value,
)
from thriftwood.costs import PriceList
from thriftwood.errors import InputError
from thriftwood.forest import Stages
from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.text import unit_behind


class Failure(NamedTuple):
    """A value that the source could not give.

    Attributes
    ----------
    sample : object
        The id of the sample.
    feature : str or int
        Its name, or its column where the model knows no names.
    error : Exception
    place : int
        Of the sample among those that were passed.
    """

    sample: Any
    feature: Any
    error: Exception
    place: int

    def __repr__(self) -> str:
        name = reprlib.repr(self.sample)
        return f"Failure(sample {name}, feature {self.feature!r}: {self.reason})"

    @property
    def reason(self) -> str:
        """The error in words, if it has any."""
        try:
            said = str(self.error)
        except Exception:  # it is the source's own class, and may fail to print itself
            said = "it has no words"
        return f"{type(self.error).__name__}: {said}"


@dataclass(frozen=True, eq=False, repr=False)
class LazyAnswer:
    """Predictions of a `LazyPredictor`, and what it bought for them.

    Attributes
    ----------
    samples : tuple
        Their ids, as they were passed.
    labels : shape (n_samples,), optional
        Predicted classes; None for a regressor.
    proba : shape (n_samples, n_classes), optional
        Predicted probabilities; None for a regressor. Where `max_cost` stopped trees, they say what
        the node says that they have reached. Of samples that stopped early, because their label was
        decided, an estimate: each tree says that, too, held within what it may still say. The label
        is the most probable class in any case, but where the model answers by what errors cost.
    values : shape (n_samples,), optional
        Predicted numbers; None for a classifier.
    stages : shape (n_samples,)
        At which stage of a cascade each sample stopped; 0 for other models.
    n_requests : int
        How many values were requested.
    n_rounds : int
        How many rounds of requests depend on each other: with `acquire_many` the rounds in which
        the source was asked, otherwise the most that any sample went through.
    failures : tuple of Failure
        What could not be got.
    """

    samples: tuple[Any, ...]
    labels: NDArray[Any] | None
    proba: FloatArray | None
    values: FloatArray | None
    stages: IntArray
    n_requests: int
    n_rounds: int
    failures: tuple[Failure, ...]
    _stages: Stages
    _prices: PriceList
    # Of samples and features: the values found and their status; of samples: splits passed, pairs
    # of (feature, tree) in the order of first use, as `Traversal` records them, and the values of
    # columns where a pipeline makes the features.
    _found: NDArray[Any]
    _status: NDArray[np.uint8]
    _n_tests: IntArray
    _first_uses: list[bytes]
    _bought: list[dict[int, Any]] | None

    def __len__(self) -> int:
        return len(self.samples)

    @cached_property
    def bill(self) -> FeatureBill:
        """The bill of these samples, for what was bought and for nothing else.

        It is worked out when it is first looked at, as receipts are.
        """
        if not self.samples:
            raise InputError("There is no bill: no sample was answered.")
        return make_bill(
            self._prices,
            self._status == USED,
            self._prices.per_split * self._n_tests.astype(np.float64),
            self._in_order,
            model_cost_of(self._stages.last_in_use, self._prices),
            (self._prices.made_of or self._stages.richest.columns).names,
        )

    def receipt(self, i: int) -> Receipt:
        """Return the purchases of one sample in their order, as `FeatureBill.receipt` does."""
        return replace(self.bill.receipt(i), sample=self.samples[i])

    def _in_order(self, i: int) -> list[FeatureUse]:
        """Return the uses of a sample, in the order of buying; what failed was not bought."""
        first_uses = np.frombuffer(self._first_uses[i], np.int32).reshape(-1, 2).tolist()
        return [
            (k, tree, self._value(i, k)) for k, tree in first_uses if self._status[i, k] == USED
        ]

    def _value(self, i: int, feature: int) -> Any:
        """Return the value found for a feature: of a pipeline, for each of its columns."""
        if self._bought is None:
            return shown_value(self._stages.richest, feature, self._found[i, feature])
        columns = self._prices.columns_of(feature)
        return tuple(self._bought[i].get(column) for column in columns)

    def __repr__(self) -> str:
        samples = "1 sample" if len(self) == 1 else f"{len(self)} samples"
        rounds = "1 round" if self.n_rounds == 1 else f"{self.n_rounds} rounds"
        failed = f"{len(self.failures)} failed" if self.failures else "none failed"
        told = f"LazyAnswer for {samples}: {self.n_requests} requests in {rounds}, {failed}"
        if not self.samples:
            return told
        return f"{told}; mean bill {self.bill.mean:.6g}{unit_behind(self._prices.unit)}"
