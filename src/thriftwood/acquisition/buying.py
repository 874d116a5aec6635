"""Buy for rows what they ask for on their way, from whatever source."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

import numpy as np

from thriftwood.acquisition.failures import Failure, OnFailure
from thriftwood.acquisition.kernels import NOTHING
from thriftwood.acquisition.patience import Lost, Request
from thriftwood.acquisition.source import Source
from thriftwood.acquisition.values import ValueReader
from thriftwood.acquisition.walk import Walk

# Rows that are on their way together, so that a million of them need not be.
ROWS_AT_ONCE = 10_000


class Buyer:
    """Hands the needs of rows to a source, and to rows what comes back, good or bad.

    Parameters
    ----------
    walk : Walk
    ids : sequence
        What the source knows each row by.
    reader : ValueReader
    on_failure : {"raise", "missing", "node"}
        What becomes of a row for which the source failed for good.

    Attributes
    ----------
    failures : list of Failure
    dropped : set of int
        Rows that were given up.
    n_requests : int
        How many values were asked for.
    n_rounds : int
        How many rounds of requests depended on each other.
    """

    failures: list[Failure]
    dropped: set[int]
    n_requests: int
    n_rounds: int

    def __init__(
        self, walk: Walk, ids: Sequence[Any], reader: ValueReader, on_failure: OnFailure
    ) -> None:
        self.walk = walk
        self.ids = ids
        self.names = reader.names
        self.failures = []
        self.dropped = set()
        self.n_requests = 0
        self.n_rounds = 0
        self._number = reader.number
        self._on_failure = on_failure

    def take(self, row: int, feature: int, found: Any) -> None:
        """Hand a row what the source had for it."""
        self.n_requests += 1
        if type(found) is not Lost:
            try:
                self.walk.give(row, feature, self._number(feature, found))
                return
            except Exception as error:  # whatever the value of somebody else does when it is read
                found = Lost(error, 1)
        failure = Failure(self.ids[row], self.names[feature], found.error, found.attempts, row)
        self.failures.append(failure)
        if self._on_failure == "raise":
            self.dropped.add(row)
        elif self._on_failure == "missing":
            self.walk.miss(row, feature)
        else:
            self.walk.lose(row, feature)


def buy_one_by_one(buyer: Buyer, source: Source) -> None:
    """Ask for one value at a time, row after row; a row's trees ask one after the other."""
    walk, ids, names = buyer.walk, buyer.ids, buyer.names
    for row in range(len(ids)):
        walk.start(0)
        n_rounds = 0
        while row not in buyer.dropped and (feature := walk.next_need(row)) != NOTHING:
            buyer.take(row, feature, source.ask(ids[row], names[feature]))
            n_rounds += 1
        buyer.n_rounds = max(buyer.n_rounds, n_rounds)


def buy_in_rounds(buyer: Buyer, source: Source) -> None:
    """Ask for the next needs of all rows together, round after round."""
    rounds = rounds_of(buyer)
    requests = next(rounds, None)
    while requests is not None:
        requests = next_round(rounds, source.ask_many(requests))


Rounds = Generator[list[Request], Sequence[Any], None]


def rounds_of(buyer: Buyer) -> Rounds:
    """Yield what all rows need next, be sent what the source has for them, until all arrived."""
    n_samples = len(buyer.ids)
    for first in range(0, n_samples, ROWS_AT_ONCE):
        rows = np.arange(first, min(first + ROWS_AT_ONCE, n_samples))
        buyer.walk.start(0, len(rows))
        while True:
            asking, features = buyer.walk.needs_of(rows, rows - first)
            if not len(asking):
                break
            wanted = list(zip(asking.tolist(), features.tolist(), strict=True))
            found = yield [(buyer.ids[row], buyer.names[feature]) for row, feature in wanted]
            for (row, feature), one in zip(wanted, found, strict=True):
                buyer.take(row, feature, one)
            buyer.n_rounds += 1
            rows = _on_their_way(asking, buyer.dropped)


def next_round(rounds: Rounds, found: Sequence[Any]) -> list[Request] | None:
    """Hand over what the source had; return the requests of the next round, None after the last."""
    try:
        return rounds.send(found)
    except StopIteration:
        return None


def _on_their_way(asking: Any, dropped: Iterable[int]) -> Any:
    rows = np.unique(asking)
    return rows[~np.isin(rows, list(dropped))] if dropped else rows
