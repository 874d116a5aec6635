"""Calls of plain functions that are given up when they take too long."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any


class WatchedCalls:
    """Calls a function in a thread, and raises `TimeoutError` where that takes too long.

    A call cannot be stopped from outside: one that took too long may go on in its thread. The
    thread ends when the call does, and never keeps the process from ending.

    Parameters
    ----------
    function : callable
    seconds : float
        How long a call may take.
    """

    def __init__(self, function: Callable[..., Any], seconds: float) -> None:
        self._function = function
        self._seconds = seconds
        self._servant: Servant | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._servant is None:
            self._servant = Servant(self._function)
        try:
            return self._servant.call(arguments, self._seconds)
        except TimeUpError:
            self.close()  # busy for who knows how long: the next call gets another thread
            raise TimeoutError(
                f"The source gave no answer within {self._seconds:g} seconds."
            ) from None

    def close(self) -> None:
        if self._servant is not None:
            self._servant.dismiss()
            self._servant = None


class TimeUpError(Exception):
    """A call has not ended in time; no source raises this."""


class Servant:
    """A thread that makes one call after the other for somebody who waits."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._orders: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        self._results: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        Thread(target=self._serve, name="thriftwood-source", daemon=True).start()

    def call(self, arguments: tuple[Any, ...], seconds: float) -> Any:
        """Return what the call returns, raise what it raises, or `TimeUpError`."""
        self._orders.put(arguments)
        try:
            value, error = self._results.get(timeout=seconds)
        except Empty:
            raise TimeUpError from None
        if error is not None:
            raise error
        return value

    def dismiss(self) -> None:
        """Let the thread end, after the call that it may be busy with."""
        self._orders.put(None)

    def _serve(self) -> None:
        while (arguments := self._orders.get()) is not None:
            try:
                self._results.put((self._function(*arguments), None))
            except BaseException as error:
                self._results.put((None, error))
