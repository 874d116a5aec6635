"""Ask a source of values by coroutine functions, and buy for many rows at a time."""

from __future__ import annotations

import asyncio
from asyncio import sleep
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from thriftwood.runtime.buying import Buyer, next_round, rounds_of
from thriftwood.runtime.patience import Lost, Patience, Raised, Request, conversation


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
        self._turns = asyncio.Semaphore(max_in_flight)

    async def ask(self, row: Any, feature: Any) -> Any:
        """Return one value, or `Lost`."""
        answer = await self._call(row, feature)
        if type(answer) is not Raised:
            return answer
        attempts = 1
        for pause in self._patience.pauses():
            await sleep(pause)
            answer = await self._call(row, feature)
            if type(answer) is not Raised:
                return answer
            attempts += 1
        return Lost(answer.error, attempts)

    async def ask_many(self, requests: Sequence[Request]) -> list[Any]:
        """Return one value, or `Lost`, for each request."""
        talk = conversation(requests, self._patience)
        pause, asking = next(talk)
        while True:
            if pause:
                await sleep(pause)
            answer = await self._call(asking)
            try:
                pause, asking = talk.send(answer)
            except StopIteration as end:
                found: list[Any] = end.value
                return found

    async def _call(self, *arguments: Any) -> Any:
        """Return what the source says, or `Raised`."""
        async with self._turns:
            try:
                if self._patience.timeout is None:
                    return await self._function(*arguments)
                async with asyncio.timeout(self._patience.timeout):
                    return await self._function(*arguments)
            except TimeoutError as error:
                return Raised(self._in_words(error))
            except Exception as error:
                return Raised(error)
            except asyncio.CancelledError as error:
                if _is_being_cancelled():
                    raise
                return Raised(_cancelled_itself(error))

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
    walk, ids, names = buyer.walk, buyer.ids, buyer.names
    for row in waiting:
        walk.start(slot)
        n_rounds = 0
        while row not in buyer.dropped and (needs := walk.needs(row, slot)):
            n_rounds += 1
            buyer.n_requests += len(needs)
            asking = [source.ask(ids[row], names[feature]) for feature in needs]
            found = [await asking[0]] if len(asking) == 1 else await asyncio.gather(*asking)
            for feature, one in zip(needs, found, strict=True):
                buyer.take(row, feature, one)
        buyer.n_rounds = max(buyer.n_rounds, n_rounds)


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
