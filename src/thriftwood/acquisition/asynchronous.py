"""Ask a source of values by coroutine functions, and buy for many rows at a time."""

from __future__ import annotations

import asyncio
from asyncio import sleep
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from thriftwood.acquisition.buying import Buyer, next_round, rounds_of
from thriftwood.acquisition.patience import (
    Lost,
    Patience,
    Raised,
    Request,
    conversation,
)


class AsyncSource:
    """A source of values that is asked by a coroutine function.

    Parameters
    ----------
    function : coroutine function
        The user's `acquire` or `acquire_many`.
    patience : Patience
    """

    def __init__(self, function: Callable[..., Awaitable[Any]], patience: Patience) -> None:
        self._function = function
        self._patience = patience
        self._pauses = tuple(patience.pauses())

    async def ask(self, *request: Any, retry: bool = True) -> Any:
        """Return what the source says, or `Lost`."""
        attempts = 0
        while True:
            attempts += 1
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


async def buy_concurrently(
    buyer: Buyer, source: AsyncSource, n_slots: int, max_in_flight: int
) -> None:
    """Buy for many rows at a time; each goes on as soon as its own values are there.

    Parameters
    ----------
    buyer, source
    n_slots : int
        How many rows are on their way at a time.
    max_in_flight : int
        How many calls may wait for their answer at a time. Every slot has one of them for its own.
        A row asks at once for all that it surely needs next while there are calls to spare, and
        otherwise for one value after the other: the source is as busy as it may be anyway.
    """
    waiting = iter(range(len(buyer.ids)))
    spare = Spare(max_in_flight - n_slots)
    async with asyncio.TaskGroup() as tasks:
        for slot in range(n_slots):
            tasks.create_task(_buy_for_one_after_the_other(buyer, source, waiting, slot, spare))


class Spare:
    """Calls that may be made besides the one of every slot."""

    def __init__(self, number: int) -> None:
        self.number = number

    def take(self, wanted: int) -> int:
        """Take up to as many as are wanted."""
        taken = min(wanted, self.number)
        self.number -= taken
        return taken

    def give_back(self, taken: int) -> None:
        self.number += taken


async def _buy_for_one_after_the_other(
    buyer: Buyer, source: AsyncSource, waiting: Iterator[int], slot: int, spare: Spare
) -> None:
    walk = buyer.walk
    for row in waiting:
        walk.start(slot)
        n_rounds = 0
        while row not in buyer.dropped and (needs := walk.needs(row, slot)):
            await _buy(buyer, source, row, needs, spare)
            n_rounds += 1
        buyer.n_rounds = max(buyer.n_rounds, n_rounds)
    spare.give_back(1)  # for rows that are still on their way in other slots


async def _buy(buyer: Buyer, source: AsyncSource, row: int, needs: list[int], spare: Spare) -> None:
    """Buy several values of a row: as many as can be spared in tasks, the others here."""
    taken = spare.take(len(needs) - 1)
    in_tasks, here = needs[:taken], needs[taken:]
    tasks = [
        asyncio.create_task(source.ask(buyer.ids[row], buyer.names[feature]))
        for feature in in_tasks
    ]
    try:
        for feature in here:
            if row in buyer.dropped:
                break
            buyer.take(row, feature, await source.ask(buyer.ids[row], buyer.names[feature]))
        for feature, task in zip(in_tasks, tasks, strict=True):
            buyer.take(row, feature, await task)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)  # let the source clean up
        raise
    spare.give_back(taken)


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
