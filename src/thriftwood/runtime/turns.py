"""Turns: how many of us may be busy at a time."""

from __future__ import annotations

from asyncio import CancelledError, Future, get_running_loop
from collections import deque


class Turns:
    """A limit on how many calls are under way at a time, first come, first served.

    `asyncio.Semaphore` does the same; this one costs nothing while there are turns left, and so is
    worth its lines where calls are as many as they are here::

        if not turns.take():
            await turns.wait()
        try:
            ...
        finally:
            turns.give_back()
    """

    def __init__(self, n_turns: int) -> None:
        self._n_left = n_turns
        self._waiting: deque[Future[None]] = deque()

    def take(self) -> bool:
        """Take a turn, if one is left."""
        if not self._n_left:
            return False
        self._n_left -= 1
        return True

    async def wait(self) -> None:
        """Wait for a turn that somebody gives back."""
        turn: Future[None] = get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()  # it came, but too late
            raise

    def give_back(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._n_left += 1
