"""Prune where rows come in pieces: to one point, or the whole path."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from thriftwood.adapters import write_model
from thriftwood.closure import ParametricCut, from_the_end
from thriftwood.distributed.dual.at_tradeoff import sharded_cut
from thriftwood.distributed.dual.options import RowShards
from thriftwood.distributed.dual.whole_path import sharded_path
from thriftwood.distributed.sharded_task import ShardedTask
from thriftwood.errors import InputError
from thriftwood.pruning.methods import ROUNDS
from thriftwood.pruning.nested import as_forests
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.pruned import Pruned
from thriftwood.support.arrays import FloatArray


def prune_shards(model: Any, task: ShardedTask, tradeoff: float, options: RowShards) -> Pruned:
    """Return the optimum at a tradeoff, or the best that was found with a proven gap."""
    index = task.index
    solution = sharded_cut(task.crew, task.projects, index.closure_tradeoff(tradeoff), options)
    kept = index.kept_nodes(solution.kept)
    missed = Fraction(solution.certificate.gap) * index.gain_unit / solution.scale
    return Pruned(
        **vars(task.figures(kept)),
        certificate=solution.certificate,
        bound=float(missed / Fraction(task.weight_counted)),
        rounds=solution.rounds,
        model=write_model(model, kept),
        tradeoff=tradeoff,
        original=task.original(),
        loss_name=task.loss_name,
    )


def path_of_shards(
    model: Any, task: ShardedTask, options: RowShards, n_jobs: int | None
) -> PruningPath:
    """Return all optimal prunings, or those that were found with a proven gap."""
    found = sharded_path(task.crew, task.projects, task.n_arcs, options, n_jobs)
    method = "ensemble" if found.rounds[-1].gap == 0 else ROUNDS
    costs = _mean_costs(task, found.path)
    path = as_forests(model, task, task.index, found.path, costs, method)
    return replace(path, rounds=found.rounds)


def read_shards(shards: Any) -> RowShards:
    """Return how shards are to be worked on; None means as usual."""
    if shards is None:
        return RowShards()
    if not isinstance(shards, RowShards):
        raise InputError(f"`shards` is {shards!r}: pass None or an object RowShards(...).")
    return shards


def _mean_costs(task: ShardedTask, steps: ParametricCut) -> FloatArray:
    """Return the mean bill of a row before each step, and after the last."""
    costs = from_the_end(np.append(steps.cost, 0))
    return np.array([task.mean_cost(int(cost)) for cost in costs])
