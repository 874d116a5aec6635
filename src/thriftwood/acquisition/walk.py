"""Rows on their way through a model, each as far as its values lead."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.acquisition import decided_kernels, kernels
from thriftwood.acquisition.course import Course
from thriftwood.acquisition.kernels import (
    ASKED,
    KNOWN,
    LOST,
    MISSED,
    NOTHING,
    USED,
)
from thriftwood.acquisition.tolls import Tolls
from thriftwood.support.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
)


class Walk:
    """Rows that walk down the trees of a model, and the values that they have got so far.

    A row that is on its way has a slot; the memory that walking takes goes by slots, not by rows.

    Parameters
    ----------
    course : Course
    n_samples : int
    n_slots : int
        How many rows can be on their way at a time.
    tolls : Tolls, optional
        Given, a row asks for one value at a time, the most telling for its price, and only until
        its label is decided.

    Attributes
    ----------
    values : shape (n_samples, n_features)
        What was known or found; NaN elsewhere, and where a value is missing.
    know : shape (n_samples, n_features)
        What is known about each value: `UNKNOWN`, `USED` and so on, in `kernels`.
    stage : shape (n_samples,)
        Of the stages in use, the one that a row has come to.
    scores : shape (n_samples, n_outputs)
        Of rows that have arrived.
    n_tests : shape (n_samples,)
        How many splits have tested each row, at its stage.
    """

    values: NDArray[Any]
    know: NDArray[np.uint8]
    stage: IndexArray
    scores: FloatArray
    n_tests: IntArray

    def __init__(
        self, course: Course, n_samples: int, n_slots: int = 1, tolls: Tolls | None = None
    ) -> None:
        forest, track = course.forest, course.track
        n_features, n_trees = forest.n_features, forest.n_trees
        self.values = np.full((n_samples, n_features), np.nan, forest.input_dtype)
        self.know = np.zeros((n_samples, n_features), np.uint8)
        self.stage = np.zeros(n_samples, np.int32)
        self.scores = np.empty((n_samples, forest.n_outputs))
        self.n_tests = np.zeros(n_samples, np.int64)
        self._roots = track.roots[0]
        self._at = np.empty((n_slots, n_trees), np.int32)
        self._asked = np.empty((n_slots, n_features, 2), np.int32)
        self._n_asked = np.zeros(n_slots, np.int32)
        self._paid: BoolArray | None = None
        self._numbers = np.arange(max(n_samples, n_slots))
        state = (
            self.values,
            self.know,
            self._at,
            self.stage,
            self.scores,
            self.n_tests,
            self._asked,
            self._n_asked,
        )
        if tolls is None:
            self._go_on = partial(kernels.go_on, *track, *state)
            self._one_by_one: tuple[bool, ...] = (True,)
            self._all_at_once: tuple[bool, ...] = (False,)
        else:
            self._paid = np.zeros((n_slots, len(tolls.amount)), np.bool_)
            until_decided = decided_kernels.go_on_until_decided
            self._go_on = partial(until_decided, *track, *course.bounds, *tolls, self._paid, *state)
            self._one_by_one = self._all_at_once = ()

    def know_beforehand(self, known: BoolArray, values: NDArray[Any]) -> None:
        """Take in what rows know before they start."""
        self.know[known] = KNOWN
        self.values[known] = values[known]

    def start(self, first_slot: int, n_samples: int = 1) -> None:
        """Put rows that are about to start at the roots, in slots from this one on."""
        slots = slice(first_slot, first_slot + n_samples)
        self._at[slots] = self._roots
        self._n_asked[slots] = 0
        if self._paid is not None:
            self._paid[slots] = False

    def next_need(self, row: int, slot: int = 0) -> int:
        """Walk one row on; return the feature that it asks for first, or `NOTHING` at the end."""
        numbers = self._numbers
        need: int = self._go_on(numbers[row : row + 1], numbers[slot : slot + 1], *self._one_by_one)
        return need

    def needs(self, row: int, slot: int) -> list[int]:
        """Walk one row on; return all features that it surely needs next, none at the end."""
        numbers = self._numbers
        last = self._go_on(numbers[row : row + 1], numbers[slot : slot + 1], *self._all_at_once)
        return [] if last == NOTHING else np.flatnonzero(self.know[row] == ASKED).tolist()

    def needs_of(self, rows: IntArray, slots: IntArray) -> tuple[IntArray, IntArray]:
        """Walk several rows on; return the rows and features of all that they surely need next."""
        self._go_on(rows, slots, *self._all_at_once)
        place, feature = np.nonzero(self.know[rows] == ASKED)
        return rows[place], feature

    def give(self, row: int, feature: int, value: Any) -> None:
        """Take in a value that a row has asked for."""
        self.values[row, feature] = value
        self.know[row, feature] = USED

    def miss(self, row: int, feature: int) -> None:
        """Let splits take a value for missing that could not be got."""
        self.know[row, feature] = MISSED

    def lose(self, row: int, feature: int) -> None:
        """Let trees answer from the node that they have reached where they need this value."""
        self.know[row, feature] = LOST

    def asked(self, slot: int = 0) -> list[tuple[int, int]]:
        """Return the features that the row in a slot was tested for, with the tree that asked."""
        pairs = self._asked[slot, : self._n_asked[slot]].tolist()
        return [(feature, tree) for feature, tree in pairs]
