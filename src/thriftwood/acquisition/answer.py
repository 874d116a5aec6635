"""What a lazy predictor answers: predictions, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from thriftwood.acquisition.course import Course
from thriftwood.acquisition.failures import Failure
from thriftwood.acquisition.kernels import KNOWN, USED
from thriftwood.acquisition.tolls import Tolls
from thriftwood.acquisition.walk import Walk
from thriftwood.billing import (
    FeatureBill,
    Receipt,
    bill_of,
    model_cost_of,
    values_shown,
)
from thriftwood.costs import PriceList
from thriftwood.errors import InputError
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    read_only,
)


@dataclass(frozen=True, eq=False, repr=False)
class LazyAnswer:
    """What a `LazyPredictor` says about rows, and what it bought for them.

    Attributes
    ----------
    rows : tuple
        Their ids, as they were passed.
    labels : shape (n_samples,), optional
        Predicted classes; None for a regressor.
    proba : shape (n_samples, n_classes), optional
        Predicted probabilities; None for a regressor. Of rows that stopped early, because their
        label was decided, an estimate: each tree says what the node says that it has reached, held
        within what its leaves may still say. The label is the most probable class here, too.
    values : shape (n_samples,), optional
        Predicted numbers; None for a classifier.
    stages : shape (n_samples,)
        At which stage of a cascade each row stopped; 0 for other models.
    n_requests : int
        How many values the source was asked for, attempts after failures not counted.
    n_rounds : int
        How many rounds of requests depend on each other: with `acquire_many` the rounds in which
        the source was asked, otherwise the most that any row went through.
    failures : tuple of Failure
        What could not be got.
    """

    rows: tuple[Any, ...]
    labels: NDArray[Any] | None
    proba: FloatArray | None
    values: FloatArray | None
    stages: IntArray
    n_requests: int
    n_rounds: int
    failures: tuple[Failure, ...]
    _use: LazyUse
    _prices: PriceList

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def bill(self) -> FeatureBill:
        """What these rows pay, for what was bought and for nothing else.

        It is worked out when it is first looked at, as receipts are.
        """
        if not self.rows:
            raise InputError("There is no bill: no row was answered.")
        stages = self._use.course.stages
        model_cost = model_cost_of(stages.last_in_use, self._prices)
        return bill_of(self._use, self._prices, model_cost, stages.richest.feature_names)

    @property
    def receipts(self) -> Receipts:
        """One `Receipt` per row, made on demand; what it bought, in the order of buying."""
        return Receipts(self)

    def __repr__(self) -> str:
        rows = "1 row" if len(self) == 1 else f"{len(self)} rows"
        rounds = "1 round" if self.n_rounds == 1 else f"{self.n_rounds} rounds"
        asked = f"{self.n_requests} requests in {rounds}"
        failed = f"{len(self.failures)} failed" if self.failures else "none failed"
        if not self.rows:
            return f"LazyAnswer for {rows}: {asked}, {failed}"
        unit = f" {self._prices.unit}" if self._prices.unit else ""
        bill = f"mean bill {self.bill.mean:.6g}{unit}"
        return f"LazyAnswer for {rows}: {asked}, {failed}; {bill}"


class Receipts(Sequence[Receipt]):
    """The receipts of an answer, each made when it is looked at."""

    def __init__(self, answer: LazyAnswer) -> None:
        self._answer = answer

    def __len__(self) -> int:
        return len(self._answer)

    @overload
    def __getitem__(self, place: int) -> Receipt: ...

    @overload
    def __getitem__(self, place: slice) -> list[Receipt]: ...

    def __getitem__(self, place: int | slice) -> Receipt | list[Receipt]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        if not -len(self) <= place < len(self):
            raise IndexError(f"There are {len(self)} receipts: there is none at {place}.")
        return replace(self._answer.bill.receipt(place), row=self._answer.rows[place])

    def __iter__(self) -> Iterator[Receipt]:
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        return f"Receipts of {len(self)} rows"


@dataclass(frozen=True, eq=False)
class LazyUse:
    """What rows were tested for on their way, as a bill wants to know it.

    Attributes
    ----------
    course : Course
    tolls : Tolls, optional
        Where rows stopped as soon as they were decided.
    one_by_one : bool
        Whether values were asked for one at a time.
    rows : shape (n_samples, n_features)
        Values that were known or found.
    know : shape (n_samples, n_features)
        What became of each, as in `Walk`.
    known : bool array, shape (n_samples, n_features), optional
        Where values were known beforehand.
    n_tests : shape (n_samples,)
    """

    course: Course
    tolls: Tolls | None
    one_by_one: bool
    rows: NDArray[Any]
    know: NDArray[np.uint8]
    known: BoolArray | None
    n_tests: IntArray

    @cached_property
    def used(self) -> BoolArray:
        return read_only(self.know == USED)

    def asked(self, row: int) -> list[tuple[int, int]]:
        """Walk the row again, with what is known now in place of the source: same way, same order.

        What the source could not give is left out, since nothing was bought.
        """
        know = self.know[row]
        tolls = None if self.tolls is None else self.tolls.take(np.array([row]))
        again = Walk(self.course, 1, tolls=tolls)
        again.values[0] = self.rows[row]
        if self.known is not None:
            again.know[0, self.known[row]] = KNOWN
        again.start(0)
        while True:
            needs = [again.next_need(0)] if self.one_by_one else again.needs(0, 0)
            needs = [feature for feature in needs if feature >= 0]
            if not needs:
                break
            again.know[0, needs] = know[needs]
        return [(feature, tree) for feature, tree in again.asked() if know[feature] == USED]

    def values(self, row: int, features: Iterable[int]) -> dict[int, Any]:
        return values_shown(self.course.forest, self.rows[row], features)

    def take(self, rows: IntArray) -> LazyUse:
        """Return the same for some of the rows."""
        return LazyUse(
            self.course,
            None if self.tolls is None else self.tolls.take(rows),
            self.one_by_one,
            read_only(self.rows[rows]),
            read_only(self.know[rows]),
            None if self.known is None else read_only(self.known[rows]),
            read_only(self.n_tests[rows]),
        )
