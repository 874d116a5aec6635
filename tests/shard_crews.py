"""Shards of drawn closure problems, and workers that hold them in a list."""

from collections.abc import Sequence

import numpy as np
from builders import closures
from hypothesis import strategies as st

from thriftwood.closure import ClosureProblem
from thriftwood.distributed.dual.rounds import Projects
from thriftwood.distributed.dual.shard import Shard


class ListCrew:
    """The simplest crew: all shards in a list, and nothing travels."""

    bytes_moved = 0

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = list(shards)

    def ask(self, work, news):
        return [work(shard, one) for shard, one in zip(self.shards, news, strict=True)]


def shards_of(problem: ClosureProblem, shard_of_item: np.ndarray, n_shards: int) -> list[Shard]:
    """Cut a problem by its items; a project is present where it needs an item, or everywhere."""
    project = problem.arc_project()
    shards = []
    for number in range(n_shards):
        there = shard_of_item[problem.arc_item] == number
        presence = np.zeros(problem.n_projects)
        np.add.at(presence, project[there], 1.0)
        for h in range(problem.n_projects - 1, -1, -1):  # who is here needs what it requires
            if problem.requires[h] >= 0:
                presence[problem.requires[h]] += presence[h]
        whole = Shard(
            problem.requires, problem.arc_start, problem.arc_item, problem.costs, presence
        )
        shards.append(whole.with_arcs(there))
    return shards


def projects_of(problem: ClosureProblem, shards: Sequence[Shard]) -> Projects:
    presence = np.array([shard.presence for shard in shards])
    return Projects(problem.gains, problem.requires, presence)


@st.composite
def sharded_closures(draw, most_shards=4, **sizes):
    """Draw a problem and a way to cut it into shards, some of them empty."""
    problem = draw(closures(**sizes))
    n_shards = draw(st.integers(1, most_shards))
    number = st.integers(0, n_shards - 1)
    shard_of_item = np.array([draw(number) for _ in range(problem.n_items)], dtype=np.int64)
    return problem, shards_of(problem, shard_of_item, n_shards)


def large_problem(seed: int, n_trees: int = 6, depth: int = 5, n_items: int = 400):
    """A problem with complete trees whose projects need random items: shards disagree here."""
    rng = np.random.default_rng(seed)
    requires, gains, needs = [], [], []
    for _ in range(n_trees):
        first = len(requires)
        for place in range(2**depth - 1):
            requires.append(-1 if place == 0 else first + (place - 1) // 2)
            gains.append(int(rng.integers(-3, 40)))
            n_needed = 40 if place == 0 else int(rng.integers(0, 9))  # no root is free in a shard
            needs.append(rng.choice(n_items, size=n_needed, replace=False))
    arc_start = np.cumsum([0, *map(len, needs)])
    return ClosureProblem(
        np.array(gains),
        np.array(requires),
        arc_start,
        np.concatenate(needs),
        rng.integers(1, 5, size=n_items),
    ).check()
