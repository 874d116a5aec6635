"""Predict rows whose features are bought one by one, when a tree asks for them."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from thriftwood.acquisition import asynchronous, buying
from thriftwood.acquisition.answer import LazyAnswer, LazyUse
from thriftwood.acquisition.arguments import (
    is_coroutine_function,
    read_ids,
    read_names,
    read_source,
    read_stop,
    read_timeout,
)
from thriftwood.acquisition.asynchronous import AsyncSource
from thriftwood.acquisition.buying import Buyer
from thriftwood.acquisition.course import lay_out
from thriftwood.acquisition.failures import CHOICES, OnFailure, in_words
from thriftwood.acquisition.patience import Patience, Request
from thriftwood.acquisition.source import Source
from thriftwood.acquisition.tolls import Tolls, tolls_of
from thriftwood.acquisition.walk import Walk
from thriftwood.adapters import own_prices, read_stages
from thriftwood.costs import (
    AnyCosts,
    Costs,
    PriceList,
    read_prices,
    with_known,
)
from thriftwood.errors import AcquisitionError, InputError
from thriftwood.support.arrays import BoolArray, read_only
from thriftwood.support.validation import one_number_from_zero, whole_number

# What rows know beforehand: for each a mapping from feature to value, or None.
Known = Sequence[Mapping[Any, Any] | None]


class LazyPredictor:
    """Predicts rows whose features are bought when a tree asks for them, and only then.

    Predictions and bills are those of the model and of `feature_bill`, had all values been there
    from the start. A value is kept while rows are predicted, and no row is asked for it twice.

    Parameters
    ----------
    model : fitted model, pruned or not
        Any model that `prune` accepts, or one that consists of stages, with an attribute `stages`.
    acquire : callable
        ``acquire(row, feature)`` returns one value: a number; None or NaN where it is missing; the
        label of a category where the model knows labels. `row` is an id as passed to `predict`,
        `feature` the name of a column, or its number where the model knows no names. May be a
        coroutine function: then await `predict_async`.
    acquire_many : callable, in place of `acquire`
        ``acquire_many(requests)`` gets a tuple of (row, feature), the next needs of all rows
        together, and returns one value for each in the same order, or a mapping from request to
        value. A value that is an exception says that this request failed. If the call itself
        fails, it is made again for each half of the requests, down to single ones. May be a
        coroutine function.
    costs : array-like, mapping from feature name to price, Costs, or None
        As in `prune`; None means 1 each, so that bills count features, or the prices of a cascade.
    stop : {None, "decided"}
        "decided" stops as soon as no value that was not read can change the predicted label, and
        asks for the most telling value for its price first. Labels stay the same and no bill is
        higher; probabilities become estimates. For classifiers.
    retries : int
        How often to ask again where the source fails, that is raises or takes too long.
    wait : float
        Seconds before the first retry; twice as long before each further one.
    timeout : float, optional
        Seconds that a call may take. A plain function then runs in a thread of its own. It cannot
        be stopped from outside: a call that took too long may go on there, unheeded.
    on_failure : {"raise", "missing", "node"}
        What becomes of a row for which the source failed for good. "raise": all other rows are
        finished, then `AcquisitionError` is raised, which has their answers. "missing": the value
        counts as missing, and splits send the row where they send such values. "node": trees that
        need the value answer with the node that they have reached, the others go on.
    max_in_flight : int
        How many calls of a coroutine `acquire` may wait for their answers at a time, for all rows
        together. No more rows than that are on their way at a time.

    Notes
    -----
    Order. Without `stop` every value that is asked for is needed whatever the others are, so the
    order changes no bill. `acquire` is called row after row, for tree after tree, from the root
    down. `acquire_many` is asked in rounds for what all trees of all rows need next, which
    takes the fewest rounds; a coroutine `acquire` for what all trees of a row need next, at once if
    `max_in_flight` leaves calls to spare. With ``stop="decided"`` each row asks for one value at
    a time: the one with the largest ratio of (how far the leaves that are still possible lie apart,
    for the two leading classes, added up over the trees that wait for the value) to (what it would
    add to the bill of the row); what is free comes first, and the lower column where two tie.

    Up to 10,000 rows are in a round together.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = tw.datasets.load_heart()
    >>> X = heart.frame()
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, heart.y)
    >>> lazy = tw.LazyPredictor(
    ...     tree, acquire=lambda row, feature: X.at[row, feature], costs=heart.prices
    ... )
    >>> answer = lazy.predict([0, 17])
    >>> answer
    LazyAnswer for 2 rows: 4 requests in 2 rounds, none failed; mean bill 153.85 CAD
    >>> bool((answer.labels == tree.predict(X.loc[[0, 17]])).all())
    True
    >>> answer.receipts[0]
    Receipt of row 0: 103.9 CAD for 2 features
      tree 0  thal = 6      102.9  thal 1 + B 101.9
      tree 0  cp = 1            1
    """

    def __init__(
        self,
        model: Any,
        *,
        acquire: Callable[[Any, Any], Any] | None = None,
        acquire_many: Callable[[tuple[Request, ...]], Any] | None = None,
        costs: AnyCosts = None,
        stop: Literal["decided"] | None = None,
        retries: int = 0,
        wait: float = 0.1,
        timeout: float | None = None,
        on_failure: OnFailure = "raise",
        max_in_flight: int = 100,
    ) -> None:
        self._function = read_source(acquire, acquire_many)
        self._in_rounds = acquire is None
        self._is_async = is_coroutine_function(self._function)
        self._patience = Patience(
            whole_number(retries, "retries", 0),
            one_number_from_zero(wait, "wait", "It is the seconds before the first retry."),
            read_timeout(timeout),
        )
        if on_failure not in CHOICES:
            raise InputError(
                f"`on_failure` is {reprlib.repr(on_failure)}: choose 'raise', 'missing' or 'node'."
            )
        self._on_failure = on_failure
        self._max_in_flight = whole_number(max_in_flight, "max_in_flight", 1)
        self._course = lay_out(read_stages(model).check())
        self._reader = read_names(self._course)
        self._stops_early = read_stop(stop, self._course)
        own = own_prices(model)
        self._costs = own.as_costs() if costs is None and own is not None else costs
        self._prices = self._read_prices(_without_samples(self._costs), 1)
        self._tolls = tolls_of(self._prices) if self._stops_early else None

    def predict(
        self, rows: Iterable[Any], *, known: Known | None = None, costs: AnyCosts = None
    ) -> LazyAnswer:
        """Predict rows, buying what they need.

        Parameters
        ----------
        rows : sequence
            Their ids, whatever the source knows them by.
        known : sequence of mappings from feature to value, optional
            What is known beforehand, one mapping for each row, or None for rows that know nothing.
            It is not asked for and costs nothing.
        costs : as in `LazyPredictor`, optional
            For these rows, in place of the predictor's: needed where prices are tied to rows.

        Raises
        ------
        AcquisitionError
            The source failed for some rows, and `on_failure` is "raise".
        """
        if self._is_async:
            raise InputError(
                "The source is a coroutine function: use `await lazy.predict_async(rows)`."
            )
        trip = self._set_out(rows, known, costs)
        with closing(Source(self._function, self._patience)) as source:
            buy = buying.buy_in_rounds if self._in_rounds else buying.buy_one_by_one
            buy(trip.buyer, source)
        return self._arrive(trip)

    async def predict_async(
        self, rows: Iterable[Any], *, known: Known | None = None, costs: AnyCosts = None
    ) -> LazyAnswer:
        """Predict rows by a source that is a coroutine function; otherwise as `predict`.

        With `acquire` many rows are on their way at a time, and each goes on as soon as its own
        values are there.
        """
        if not self._is_async:
            raise InputError(
                "The source is a plain function: use `lazy.predict(rows)`, or pass a function made "
                "by `async def`."
            )
        trip = self._set_out(rows, known, costs)
        source = AsyncSource(self._function, self._patience)
        if self._in_rounds:
            await asynchronous.buy_in_rounds(trip.buyer, source)
        else:
            await asynchronous.buy_concurrently(
                trip.buyer, source, trip.n_slots, self._max_in_flight
            )
        return self._arrive(trip)

    def __repr__(self) -> str:
        stop = ", stop='decided'" if self._stops_early else ""
        return f"LazyPredictor({self._course.forest!r}{stop})"

    def _set_out(self, rows: Iterable[Any], known: Known | None, costs: AnyCosts) -> _Trip:
        ids = read_ids(rows)
        mask = None
        if known is not None:
            mask, values = self._reader.known(known, len(ids))
        costs, prices, tolls = self._prices_for(costs, mask, len(ids))
        n_slots = self._n_slots(len(ids))
        walk = Walk(self._course, len(ids), n_slots, tolls)
        if mask is not None:
            walk.know_beforehand(mask, values)
        buyer = Buyer(walk, ids, self._reader, self._on_failure)
        return _Trip(buyer, n_slots, mask, costs, prices, tolls)

    def _n_slots(self, n_samples: int) -> int:
        """Return how many rows are on their way at a time."""
        if self._in_rounds:
            return min(n_samples, buying.ROWS_AT_ONCE)
        return min(n_samples, self._max_in_flight) if self._is_async else 1

    def _prices_for(
        self, costs: AnyCosts, known: BoolArray | None, n_samples: int
    ) -> tuple[AnyCosts, PriceList, Tolls | None]:
        """Return the prices of these rows, as a list and, where needed, for the kernel."""
        given = self._costs if costs is None else costs
        if known is not None and known.any():
            given = with_known(given, known, self._course.forest.feature_names)
        tied = isinstance(given, Costs) and given.is_tied_to_samples
        if given is self._costs and not tied:
            return given, self._prices, self._tolls
        prices = self._read_prices(given, n_samples)
        return given, prices, tolls_of(prices) if self._stops_early else None

    def _read_prices(self, costs: AnyCosts, n_samples: int) -> PriceList:
        forest = self._course.forest
        return read_prices(costs, forest.n_features, forest.feature_names, n_samples)

    def _arrive(self, trip: _Trip) -> LazyAnswer:
        """Return the answer, or raise where rows had to be given up."""
        buyer, walk = trip.buyer, trip.buyer.walk
        use = LazyUse(
            self._course,
            trip.tolls,
            not (self._in_rounds or self._is_async),
            read_only(walk.values),
            read_only(walk.know),
            trip.known,
            read_only(walk.n_tests),
        )
        if not buyer.dropped:
            return self._answer(trip, use, trip.prices)
        good = np.array([row for row in range(len(buyer.ids)) if row not in buyer.dropped], int)
        prices = trip.prices
        if isinstance(trip.costs, Costs) and trip.costs.is_tied_to_samples and len(good):
            prices = self._read_prices(trip.costs.take(good), len(good))
        answer = self._answer(trip, use.take(good), prices, good)
        error = AcquisitionError(_sentence(buyer, len(good)), answer.failures, answer)
        raise error from answer.failures[0].error

    def _answer(
        self, trip: _Trip, use: LazyUse, prices: PriceList, rows: Any = slice(None)
    ) -> LazyAnswer:
        buyer, walk = trip.buyer, trip.buyer.walk
        forest, stage = self._course.forest, walk.stage[rows]
        predicted = self._course.predictions(walk.scores[rows], stage)
        is_classifier = forest.classes is not None
        ids = buyer.ids if isinstance(rows, slice) else [buyer.ids[row] for row in rows]
        return LazyAnswer(
            rows=tuple(ids),
            labels=forest.classes[predicted.argmax(axis=1)] if forest.classes is not None else None,
            proba=predicted if is_classifier else None,
            values=None if is_classifier else predicted[:, -1],
            stages=np.array(self._course.stages.in_use)[stage],
            n_requests=buyer.n_requests,
            n_rounds=buyer.n_rounds,
            failures=tuple(buyer.failures),
            _use=use,
            _prices=prices,
        )


class _Trip(NamedTuple):
    """Rows on their way, and what they pay."""

    buyer: Buyer
    n_slots: int
    known: BoolArray | None
    costs: AnyCosts
    prices: PriceList
    tolls: Tolls | None


def _sentence(buyer: Buyer, n_answered: int) -> str:
    """Say for whom the source failed, and what to do about it."""
    n_samples, first = len(buyer.ids), buyer.failures[0]
    which = f"{len(buyer.dropped)} of {n_samples} rows" if n_answered else "every row"
    others = f"The others ({n_answered}) are in `answer` of this error. " if n_answered else ""
    why = in_words(first.error).rstrip(".")
    return (
        f"The source failed for {which}, first for row {reprlib.repr(first.row)}: {why}. {others}"
        "To get an answer for all rows, pass on_failure='missing' or 'node'."
    )


def _without_samples(costs: AnyCosts) -> AnyCosts:
    """Return prices without those of certain rows, which come with the rows."""
    if not isinstance(costs, Costs):
        return costs
    return replace(costs, per_sample=None, known=None, shared_by=None)
