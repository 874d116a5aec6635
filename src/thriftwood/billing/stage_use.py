"""What rows are tested for on their way through the stages of a cascade."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.billing.receipt import Value
from thriftwood.billing.use import first_asks, use_of, values_shown
from thriftwood.forest import Stages, pass_stages
from thriftwood.forest.table import Table
from thriftwood.support.arrays import BoolArray, IntArray, read_only


def use_of_stages(stages: Stages, table: Table, n_jobs: int | None = None) -> StageUse:
    """Send rows through stages and note what they are tested for until they stop.

    Stages are nested, so that this is what the stage tests where a row stops.
    """
    stage = pass_stages(stages, table.values, n_jobs).stage
    used = np.zeros((table.n_samples, table.n_columns), dtype=np.bool_)
    n_tests = np.zeros(table.n_samples, dtype=np.int64)
    for number in np.unique(stage).tolist():
        here = np.flatnonzero(stage == number)
        use = use_of(stages.forests[number], Table(table.values[here], table.names), n_jobs)
        used[here], n_tests[here] = use.used, use.n_tests
    return StageUse(stages, table.values, stage, read_only(used), read_only(n_tests))


@dataclass(frozen=True, eq=False)
class StageUse:
    """What rows are tested for by stages; attributes as in `Use`, and where each row stops."""

    stages: Stages
    rows: NDArray[Any]
    stage: IntArray
    used: BoolArray
    n_tests: IntArray

    def asked(self, row: int) -> list[tuple[int, int]]:
        """Return what the stages ask for, one after the other; the same more than once."""
        looked_at = [number for number in self.stages.in_use if number <= self.stage[row]]
        return [
            ask
            for number in looked_at
            for ask in first_asks(self.stages.forests[number], self.rows[row])
        ]

    def values(self, row: int, features: Iterable[int]) -> dict[int, Value]:
        return values_shown(self.stages.richest, self.rows[row], features)
