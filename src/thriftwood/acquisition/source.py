"""Ask a source of values by plain functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import sleep
from typing import Any

from thriftwood.acquisition.patience import (
    Lost,
    Patience,
    Raised,
    Request,
    conversation,
)
from thriftwood.acquisition.watched_calls import WatchedCalls


class Source:
    """A source of values that is asked by a plain function.

    Parameters
    ----------
    function : callable
        The user's `acquire` or `acquire_many`.
    patience : Patience
    """

    def __init__(self, function: Callable[..., Any], patience: Patience) -> None:
        seconds = patience.timeout
        self._watched = None if seconds is None else WatchedCalls(function, seconds)
        self._call = self._watched or function
        self._patience = patience

    def close(self) -> None:
        if self._watched is not None:
            self._watched.close()

    def ask(self, row: Any, feature: Any) -> Any:
        """Return one value, or `Lost`."""
        try:
            return self._call(row, feature)
        except Exception as error:
            lost = Lost(error, 1)
        for pause in self._patience.pauses():
            sleep(pause)
            try:
                return self._call(row, feature)
            except Exception as error:
                lost = Lost(error, lost.attempts + 1)
        return lost

    def ask_many(self, requests: Sequence[Request]) -> list[Any]:
        """Return one value, or `Lost`, for each request."""
        talk = conversation(requests, self._patience)
        pause, asking = next(talk)
        while True:
            if pause:
                sleep(pause)
            try:
                answer = self._call(asking)
            except Exception as error:
                answer = Raised(error)
            try:
                pause, asking = talk.send(answer)
            except StopIteration as end:
                found: list[Any] = end.value
                return found
