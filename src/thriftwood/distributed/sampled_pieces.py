"""A path from a sample of rows that come in pieces: no more than the sample leaves its place.

Rows are read twice. First every piece says what its nodes lose, and draws as many rows as the
sample could take from it; then it is known how many to take from each. When the sample has said in
which order splits drop, every piece adds up what its rows pay along that order.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from thriftwood.distributed.measuring import (
    Measured,
    Paid,
    RowsInBlocks,
    measured_from,
)
from thriftwood.distributed.pieces import Piece
from thriftwood.distributed.plan import PiecePlan, hired, read_plan
from thriftwood.distributed.sampling import (
    LEAST_ROWS,
    SEED,
    optima_of,
    path_on_all_rows,
)
from thriftwood.errors import InputError
from thriftwood.forest.table import Table
from thriftwood.problem.counting import once
from thriftwood.problem.given import GivenRows
from thriftwood.problem.node_losses import NodeLosses, recorded_node_losses
from thriftwood.pruning.path import PruningPath
from thriftwood.support.arrays import IndexArray, read_only
from thriftwood.support.validation import whole_number


def sampled_path_of_pieces(
    model: Any,
    X: Any,
    y: Any,
    sample: Any,
    n_jobs: int | None,
    progress: bool | None,
    options: dict[str, Any],
) -> PruningPath | None:
    """Return a path whose order of splits comes from a sample, or None where that is all rows.

    Parameters
    ----------
    model, X, y, sample, n_jobs, progress
        As in `prune_path`.
    options : dict
        Costs, loss, class weight, rows and sample weight, as in `prune_path`.
    """
    if hasattr(X, "__next__"):
        raise InputError(
            "A sample is drawn from all rows and measured on all rows, but an iterator can be read "
            "only once: draw rows while you read them, or leave `sample` out."
        )
    size = whole_number(sample, "sample", LEAST_ROWS)
    sample_weight = options["sample_weight"]
    given = {key: value for key, value in options.items() if key != "sample_weight"}
    plan = read_plan(model, X, **given)
    read = (X, y, sample_weight, n_jobs, progress)
    with hired(partial(_draw, size), plan, *read) as crew:
        counts = crew.ask(_count, [None] * crew.n_shards)
        n_samples = sum(count.n_samples for count in counts)
        if size >= n_samples:
            return None
        drawn = crew.ask(_send, _numbers_to_draw([count.n_samples for count in counts], size))
    rows = _joined([piece for piece in drawn if piece is not None])
    lost = [count.losses for count in counts if count.losses is not None]
    losses = reduce(add, lost) if lost else recorded_node_losses(rows)

    def measure(drop_step: IndexArray, n_points: int) -> Measured:
        build = partial(_add_up_bills, drop_step, n_points)
        with hired(build, plan, *read) as crew:
            paid = reduce(add, crew.ask(_paid, [None] * crew.n_shards))
        return measured_from(rows, losses, paid, drop_step)

    return path_on_all_rows(optima_of(model, rows, n_samples, losses, n_jobs, progress), measure)


class _Counted(NamedTuple):
    """How many rows a piece has, and what nodes lose on them, if that is a sum over rows."""

    n_samples: int
    losses: NodeLosses | None


class _Drawn(NamedTuple):
    """Rows of a piece in random order, as many as could be needed."""

    counted: _Counted
    rows: GivenRows


def _draw(size: int, plan: PiecePlan, piece: Piece) -> _Drawn:
    given = plan.read(piece)
    losses = RowsInBlocks(given, 1, False).losses if given.adds_up_losses else None
    order = np.random.default_rng([SEED, piece.number]).permutation(given.n_samples)
    return _Drawn(_Counted(given.n_samples, losses), given.take(order[:size]))


def _count(state: _Drawn, _: None) -> _Counted:
    return state.counted


def _send(state: _Drawn, n_samples: int) -> GivenRows | None:
    return state.rows.take(slice(n_samples)) if n_samples else None


def _add_up_bills(drop_step: IndexArray, n_points: int, plan: PiecePlan, piece: Piece) -> Paid:
    return RowsInBlocks(plan.read(piece), 1, False).paid(drop_step, n_points)


def _paid(state: Paid, _: None) -> Paid:
    return state


def _numbers_to_draw(n_samples: list[int], size: int) -> list[int]:
    """Return how many rows of each piece are among `size` drawn from all of them."""
    ends = np.cumsum(n_samples)
    drawn = np.random.default_rng(SEED).choice(ends[-1], size, replace=False, shuffle=False)
    piece_of = np.searchsorted(ends, drawn, side="right")
    numbers: list[int] = np.bincount(piece_of, minlength=len(n_samples)).tolist()
    return numbers


def _joined(pieces: list[GivenRows]) -> GivenRows:
    """Return the rows of all pieces as one."""
    first = pieces[0]
    table = Table(
        read_only(np.concatenate([piece.table.values for piece in pieces])), first.table.names
    )
    return replace(
        first,
        table=table,
        times=once(first.forest.n_trees, table.n_samples),
        target=read_only(np.concatenate([piece.target for piece in pieces])),
        weights=read_only(np.concatenate([piece.weights for piece in pieces])),
        loss_weights=read_only(np.concatenate([piece.loss_weights for piece in pieces])),
    )
