"""Buy what samples request, value by value, in batched requests or concurrently.

The calls that a plain source gets are led by generators: these yield the arguments of a call, and
are sent its value, or the `Exception` that it raised. So the same lines serve plain functions and
coroutine functions.
"""

from __future__ import annotations

import asyncio
import reprlib
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from thriftwood.acquisition.answer import Failure
from thriftwood.acquisition.kernels import LOST, MISSED, NOTHING, USED
from thriftwood.acquisition.traversal import Traversal
from thriftwood.acquisition.values import ValueReader
from thriftwood.errors import InputError
from thriftwood.forest import ListPredictions
from thriftwood.forest.table import Table
from thriftwood.support.arrays import BoolArray, IntArray

# Samples that are in progress together, so that a million of them need not be.
BATCH_SIZE = 10_000

# The id of a sample and a feature.
Request = tuple[Any, Any]
Coroutine = Callable[..., Awaitable[Any]]
Calls = Generator[tuple[Any, ...], Any, None]


class Buyer:
    """Hands the requests of samples to a source, and to samples what comes back, good or bad."""

    def __init__(
        self, traversal: Traversal, ids: Sequence[Any], reader: ValueReader, on_failure: str
    ) -> None:
        self.traversal = traversal
        self.ids = ids
        self.failures: list[Failure] = []
        self.dropped: set[int] = set()  # samples that were given up
        self.bought: list[dict[int, Any]] | None = None  # by column, where features are made
        self.n_requests = 0
        self.n_rounds = 0  # of requests that depended on each other
        self.ranking: ListPredictions | None = None  # of the documents of a query
        self.query_columns: frozenset[int] = frozenset()  # whose values all documents share
        self._of_query: dict[int, Any] = {}  # such values, or errors, by column
        self._names = reader.names
        self._number = reader.number
        self._forest = reader.forest
        self._on_failure = on_failure
        self._spare_calls = 0

    def one_by_one(self) -> Calls:
        """Request one value at a time, sample after sample."""
        names = self._names
        for i, one in enumerate(self.ids):
            advance = self.traversal.start(i, 0)
            n_rounds = 0
            while i not in self.dropped and (feature := advance()) != NOTHING:
                for column in self._to_buy(i, [feature]):
                    self._take(i, column, (yield one, names[column]))
                    n_rounds += 1
                self._settle([i])
            self.traversal.finish(i, 0)
            self.n_rounds = max(self.n_rounds, n_rounds)

    def in_batches(self) -> Calls:
        """Request the next needs of all samples together, round after round."""
        for batch in self._batches():
            yield from self.until_scored(batch, batch)

    def until_scored(self, in_progress: IntArray, batch: IntArray) -> Calls:
        """Request what samples of a batch need until they have their scores."""
        while True:
            samples, features = self.advance(in_progress, batch)
            if not len(samples):
                break
            yield from self.buy(samples, features)
            in_progress = np.setdiff1d(samples, list(self.dropped))

    def buy(self, samples: IntArray, features: IntArray) -> Calls:
        """Request features of samples, in one round."""
        wanted = self._columns_to_buy(samples, features)
        asked = self._to_ask(wanted)
        requests = tuple((self.ids[i], self._names[column]) for i, column in asked)
        if requests:
            found = yield from _values_or_errors(requests)
            self.n_requests += len(requests)
            self.n_rounds += 1
            self._of_query |= {
                column: value
                for (_, column), value in zip(asked, found, strict=True)
                if column in self.query_columns
            }
            asked_for = dict(zip(asked, found, strict=True))
        for i, column in wanted:
            is_shared = column in self.query_columns
            self._hand(i, column, self._of_query[column] if is_shared else asked_for[i, column])
        self._settle(np.unique(samples).tolist())

    def _to_ask(self, wanted: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the distinct requests: features of the query are asked for with one document."""
        first: dict[tuple[int, int], tuple[int, int]] = {}
        for i, column in wanted:
            if column not in self.query_columns:
                first[i, column] = i, column
            elif column not in self._of_query:
                first.setdefault((-1, column), (i, column))
        return list(first.values())

    def from_table(self, table: Table) -> None:
        """Read what samples request in a table that has everything, or else never will."""
        state, values = self.traversal.state, table.values
        lost = self._never_there(table) if self._on_failure == "node" else None
        for batch in self._batches():
            samples, features = self.advance(batch, batch)
            while len(samples):
                state.values[samples, features] = values[samples, features]
                state.status[samples, features] = USED
                if lost is not None:
                    state.status[samples, features] = np.where(lost[samples, features], LOST, USED)
                self.n_requests += len(samples)
                self.n_rounds += 1
                samples, features = self.advance(np.unique(samples), batch)

    def _never_there(self, table: Table) -> BoolArray:
        """Return a mask of the features of samples that are missing in a table."""
        return table.missing

    def _batches(self) -> Iterator[IntArray]:
        """Yield samples that are in progress together, put at the roots; finish them afterwards."""
        for first in range(0, len(self.ids), BATCH_SIZE):
            batch = np.arange(first, min(first + BATCH_SIZE, len(self.ids)))
            self.traversal.clear(slice(len(batch)))
            yield batch
            for slot, i in enumerate(batch.tolist()):
                self.traversal.finish(i, slot)

    def advance(self, samples: IntArray, batch: IntArray) -> tuple[IntArray, IntArray]:
        """Advance samples of a batch; return the samples and features of all their requests."""
        return self.traversal.advance_batch(samples, samples - batch[0])

    async def concurrently(self, acquire: Coroutine, max_in_flight: int) -> None:
        """Request for many samples at a time; each goes on as soon as its own values are there.

        Every slot has one call in flight. A sample requests at once all that it surely needs next
        while there are calls to spare, and otherwise one value after the other: the source is as
        busy as it may be anyway.
        """
        waiting = iter(range(len(self.ids)))
        n_slots = len(self.traversal.state.node)
        self._spare_calls = max_in_flight - n_slots
        async with asyncio.TaskGroup() as tasks:
            for slot in range(n_slots):
                tasks.create_task(self._serve(acquire, waiting, slot))

    async def _serve(self, acquire: Coroutine, waiting: Iterator[int], slot: int) -> None:
        """Request for one sample after the other, in the same slot."""
        for i in waiting:
            advance = self.traversal.start(i, slot)
            n_rounds = 0
            while i not in self.dropped and advance() != NOTHING:
                needs = self._to_buy(i, self.traversal.requested(i))
                if needs:
                    await self._request(acquire, i, needs)
                    n_rounds += 1
                self._settle([i])
            self.traversal.finish(i, slot)
            self.n_rounds = max(self.n_rounds, n_rounds)
        self._spare_calls += 1  # for samples that are still in progress in other slots

    async def _request(self, acquire: Coroutine, i: int, needs: list[int]) -> None:
        """Request values of a sample: as many as can be spared in tasks, the others here."""
        one, names = self.ids[i], self._names
        n_tasks = min(len(needs) - 1, self._spare_calls)
        self._spare_calls -= n_tasks
        in_tasks, here = needs[:n_tasks], needs[n_tasks:]
        tasks = [asyncio.create_task(value_or_error(acquire, one, names[k])) for k in in_tasks]
        try:
            for feature in here:
                if i in self.dropped:
                    break
                self._take(i, feature, await value_or_error(acquire, one, names[feature]))
            for feature, task in zip(in_tasks, tasks, strict=True):
                self._take(i, feature, await task)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # let the source clean up
            raise
        self._spare_calls += n_tasks

    def _columns_to_buy(self, samples: IntArray, features: IntArray) -> list[tuple[int, int]]:
        """Return pairs of sample and column to request, so that features become known."""
        return list(zip(samples.tolist(), features.tolist(), strict=True))

    def _to_buy(self, _i: int, features: list[int]) -> list[int]:
        """Return the columns to ask for, so that features of a sample become known."""
        return features

    def _take(self, i: int, column: int, found: Any) -> None:
        """Hand a sample what one request brought."""
        self.n_requests += 1
        self._hand(i, column, found)

    def _hand(self, i: int, column: int, found: Any) -> None:
        """Hand a sample the value, or the error, that the source had for it."""
        if not isinstance(found, Exception):
            try:
                self._keep(i, column, found)
                return
            except Exception as error:  # whatever the value of somebody else does when it is read
                found = error
        self.failures.append(Failure(self.ids[i], self._names[column], found, i))
        if self._on_failure == "raise":
            self.dropped.add(i)
        else:
            self._lose(i, column, MISSED if self._on_failure == "missing" else LOST)

    def _keep(self, i: int, column: int, value: Any) -> None:
        state = self.traversal.state
        state.values[i, column] = self._number(column, value)
        state.status[i, column] = USED

    def _lose(self, i: int, column: int, status: int) -> None:
        self.traversal.state.status[i, column] = status

    def _settle(self, _samples: list[int]) -> None:
        """Make features known whose columns are there: nothing, where a feature is a column."""


def make_calls(calls: Calls, source: Callable[..., Any]) -> None:
    """Call a plain function as often as the generator of its calls wants."""
    arguments = next(calls, None)
    while arguments is not None:
        try:
            answer = source(*arguments)
        except Exception as error:
            answer = error
        arguments = _next_call(calls, answer)


async def make_calls_async(calls: Calls, source: Coroutine) -> None:
    """Await a coroutine function as often as the generator of its calls wants."""
    arguments = next(calls, None)
    while arguments is not None:
        arguments = _next_call(calls, await value_or_error(source, *arguments))


def _next_call(calls: Calls, answer: Any) -> tuple[Any, ...] | None:
    try:
        return calls.send(answer)
    except StopIteration:
        return None


async def value_or_error(source: Coroutine, *arguments: Any) -> Any:
    """Return what the source returns or the `Exception` that it raises; let cancelling through."""
    try:
        return await source(*arguments)
    except Exception as error:
        return error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        failure = RuntimeError("The source cancelled its own work.")
        failure.__cause__ = error
        return failure


def _values_or_errors(
    requests: tuple[Request, ...],
) -> Generator[tuple[tuple[Request, ...]], Any, list[Any]]:
    """Return one value, or `Exception`, for each of many requests.

    A call that fails is made again for each half of its requests, and so on down to single ones, so
    that those which the source cannot answer do not lose the others. Requests come in a tuple: in a
    list that somebody sorts, values would no longer be in their order.
    """
    answer = yield (requests,)
    if not isinstance(answer, Exception):
        return _in_order(answer, requests)
    if len(requests) == 1:
        return [answer]
    middle = len(requests) // 2
    first = yield from _values_or_errors(requests[:middle])
    second = yield from _values_or_errors(requests[middle:])
    return first + second


def _in_order(answer: Any, requests: tuple[Request, ...]) -> list[Any]:
    """Return the values of an answer in the order of the requests, or refuse it."""
    if isinstance(answer, Mapping):
        return [_look_up(answer, request) for request in requests]
    # One value after the other: no text, no set, no table, no single value.
    is_sequence = isinstance(answer, Sequence) and not isinstance(answer, str | bytes)
    if is_sequence or (hasattr(answer, "__len__") and getattr(answer, "ndim", 0) == 1):
        if len(answer) == len(requests):
            return answer.tolist() if hasattr(answer, "tolist") else list(answer)
        what = f"{len(answer)} values"
    else:
        what = reprlib.repr(answer)
    raise InputError(
        f"`acquire_many` was asked for {len(requests)} values and returned {what}: return one "
        "value for each request, in their order, or a mapping from (sample, feature) to value."
    )


def _look_up(answer: Mapping[Any, Any], request: Request) -> Any:
    try:
        return answer[request]
    except (KeyError, TypeError):
        return InputError(
            f"`acquire_many` returned a mapping without {reprlib.repr(request)}: return all "
            "requests, or a list in their order, which ids without a hash need."
        )
