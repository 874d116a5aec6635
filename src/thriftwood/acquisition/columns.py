"""Buy the columns that a pipeline makes features of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.acquisition.buying import Buyer
from thriftwood.acquisition.kernels import LOST, MISSED, REQUESTED, USED
from thriftwood.forest import Inputs
from thriftwood.forest.table import Table, read_table
from thriftwood.support.arrays import BoolArray, IntArray


class ColumnBuyer(Buyer):
    """Asks the source for columns of samples, and makes the features that trees request of them.

    `bought` has for each sample the values of columns that it has, None where one is missing.
    """

    bought: list[dict[int, Any]]

    def __init__(self, inputs: Inputs, *args: Any) -> None:
        super().__init__(*args)
        self.inputs = inputs
        self.bought = [{} for _ in self.ids]
        self._lost: dict[tuple[int, int], int] = {}
        # Features of each sample, and of how many columns they were made.
        self._made: dict[int, tuple[int, NDArray[Any]]] = {}
        assert inputs.columns.of_features is not None
        self._columns_of = inputs.columns.of_features

    def set_known(self, known: BoolArray, values: NDArray[Any]) -> None:
        """Take in which columns samples know before they start, and their values."""
        for i, column in np.argwhere(known).tolist():
            self.bought[i][column] = values[i, column]
        of_features = [known[:, list(own)].all(axis=1) for own in self._columns_of]
        self.traversal.set_known(np.column_stack(of_features), self._features(self.bought))

    def from_table(self, table: Table) -> None:
        """Read what samples request in a table that has everything."""
        super().from_table(table)
        used = self.traversal.state.status == USED
        n_bought = 0
        for i in range(table.n_samples):
            own = {k for f in np.flatnonzero(used[i]).tolist() for k in self._columns_of[f]}
            n_bought += len(own - self.bought[i].keys())
            self.bought[i] = {k: table.cell(i, k) for k in own} | self.bought[i]
        self.n_requests = n_bought

    def _features(self, bought: list[dict[int, Any]]) -> NDArray[Any]:
        """Transform samples that have bought some columns by the pipeline."""
        forest, made = self._forest, self.inputs.features(bought)
        how = forest.input_dtype, forest.category_labels, forest.absent
        return read_table(made, *how).values

    def _never_there(self, table: Table) -> BoolArray:
        """Return a mask of the features that need a column which is missing in a table."""
        missing = table.missing
        return np.column_stack([missing[:, list(own)].any(axis=1) for own in self._columns_of])

    def _columns_to_buy(self, samples: IntArray, features: IntArray) -> list[tuple[int, int]]:
        wanted = {
            (i, column): None
            for i, feature in zip(samples.tolist(), features.tolist(), strict=True)
            for column in self._to_buy(i, [feature])
        }
        return list(wanted)

    def _to_buy(self, _i: int, features: list[int]) -> list[int]:
        needed = {column: None for feature in features for column in self._columns_of[feature]}
        return [
            column
            for column in needed
            if column not in self.bought[_i] and (_i, column) not in self._lost
        ]

    def _keep(self, i: int, column: int, value: Any) -> None:
        self.bought[i][column] = value

    def _lose(self, i: int, column: int, status: int) -> None:
        self._lost[i, column] = status
        if status == MISSED:  # as in a table, for imputers and encoders
            self.bought[i][column] = np.nan

    def _settle(self, _samples: list[int]) -> None:
        """Make the features that samples have requested, of the columns that they have bought."""
        state = self.traversal.state
        samples = [i for i in _samples if i not in self.dropped]
        if not samples:
            return
        self._make(samples)
        for i in samples:
            for feature in np.flatnonzero(state.status[i] == REQUESTED).tolist():
                lost = {self._lost.get((i, column), USED) for column in self._columns_of[feature]}
                status = LOST if LOST in lost else MISSED if MISSED in lost else USED
                state.values[i, feature] = self._made[i][1][feature]
                state.status[i, feature] = status

    def _make(self, samples: list[int]) -> None:
        """Make the features of samples that have bought columns since they were made."""
        new = [i for i in samples if self._made.get(i, (-1,))[0] != len(self.bought[i])]
        if new:
            made = self._features([self.bought[i] for i in new])
            for i, row in zip(new, made, strict=True):
                self._made[i] = len(self.bought[i]), row
