"""Ask a source of values by coroutine functions, and buy for many rows at a time."""

from __future__ import annotations

import asyncio
from asyncio import sleep
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from thriftwood.runtime.buying import Buyer, next_round, rounds_of
from thriftwood.runtime.patience import Lost, Patience, Raised, Request, conversation
from thriftwood.runtime.turns import Turns


class AsyncSource:
    """A source of values that is asked by a coroutine function.

    Parameters
    ----------
    function : coroutine function
        The user's `acquire` or `acquire_many`.
    patience : Patience
    max_in_flight : int
        How many calls may wait for their answer at a time.
    """

    def __init__(
        self, function: Callable[..., Awaitable[Any]], patience: Patience, max_in_flight: int
    ) -> None:
        self._function = function
        self._patience = patience
        self._pauses = tuple(patience.pauses())
        self._turns = Turns(max_in_flight)

    async def ask(self, *request: Any, retry: bool = True) -> Any:
        """Return what the source says, or `Lost`."""
        attempts = 0
        while True:
            attempts += 1
            if not self._turns.take():
                await self._turns.wait()
            try:
                if self._patience.timeout is None:
                    return await self._function(*request)
                async with asyncio.timeout(self._patience.timeout):
                    return await self._function(*request)
            except TimeoutError as failure:
                error: Exception = self._in_words(failure)
            except Exception as failure:
                error = failure
            except asyncio.CancelledError as failure:
                if _is_being_cancelled():
                    raise
                error = _cancelled_itself(failure)
            finally:
                self._turns.give_back()
            if not retry or attempts > len(self._pauses):
                return Lost(error, attempts)
            await sleep(self._pauses[attempts - 1])

    async def ask_many(self, requests: Sequence[Request]) -> list[Any]:
        """Return one value, or `Lost`, for each request."""
        talk = conversation(requests, self._patience)
        pause, asking = next(talk)
        while True:
            if pause:
                await sleep(pause)
            answer = await self.ask(asking, retry=False)
            if type(answer) is Lost:
                answer = Raised(answer.error)
            try:
                pause, asking = talk.send(answer)
            except StopIteration as end:
                found: list[Any] = end.value
                return found

    def _in_words(self, error: TimeoutError) -> TimeoutError:
        """Return an error that says what happened: that of `asyncio.timeout` has no words."""
        if str(error) or self._patience.timeout is None:
            return error
        words = f"The source gave no answer within {self._patience.timeout:g} seconds."
        in_words = TimeoutError(words)
        in_words.__cause__ = error
        return in_words


async def buy_concurrently(buyer: Buyer, source: AsyncSource, n_slots: int) -> None:
    """Buy for many rows at a time; each goes on as soon as its own values are there.

    A row asks at once for all values that it surely needs next.
    """
    waiting = iter(range(len(buyer.ids)))
    async with asyncio.TaskGroup() as tasks:
        for slot in range(n_slots):
            tasks.create_task(_buy_for_one_after_the_other(buyer, source, waiting, slot))


async def _buy_for_one_after_the_other(
    buyer: Buyer, source: AsyncSource, waiting: Iterator[int], slot: int
) -> None:
    walk = buyer.walk
    for row in waiting:
        walk.start(slot)
        n_rounds = 0
        while row not in buyer.dropped and (needs := walk.needs(row, slot)):
            await _buy(buyer, source, row, needs)
            buyer.n_requests += len(needs)
            n_rounds += 1
        buyer.n_rounds = max(buyer.n_rounds, n_rounds)


async def _buy(buyer: Buyer, source: AsyncSource, row: int, needs: list[int]) -> None:
    """Buy several values of a row at a time: the first here, the others in tasks."""
    first, *others = needs
    tasks = [
        asyncio.create_task(source.ask(buyer.ids[row], buyer.names[feature])) for feature in others
    ]
    try:
        buyer.take(row, first, await source.ask(buyer.ids[row], buyer.names[first]))
        for feature, task in zip(others, tasks, strict=True):
            buyer.take(row, feature, await task)
    except BaseException:
        for task in tasks:
            task.cancel()
        raise


async def buy_in_rounds(buyer: Buyer, source: AsyncSource) -> None:
    """Ask for the next needs of all rows together, round after round."""
    rounds = rounds_of(buyer)
    requests = next(rounds, None)
    while requests is not None:
        requests = next_round(rounds, await source.ask_many(requests))


def _is_being_cancelled() -> bool:
    """Say whether somebody cancels us, or the source something of its own."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _cancelled_itself(error: asyncio.CancelledError) -> RuntimeError:
    in_words = RuntimeError("The source cancelled its own work.")
    in_words.__cause__ = error
    return in_words
