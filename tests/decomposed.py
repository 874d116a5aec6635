"""Drawn closure problems in partitions that are a list."""

from collections.abc import Sequence

import numpy as np
from builders import closures
from hypothesis import strategies as st

from thriftwood.closure import ClosureProblem
from thriftwood.distributed.dual import DecomposedClosure, Subproblem


class ListPartitions:
    """The simplest partitions: all subproblems in a list, and nothing travels."""

    bytes_moved = 0

    def __init__(self, subproblems: Sequence[Subproblem]) -> None:
        self.subproblems = list(subproblems)

    @property
    def n_partitions(self):
        return len(self.subproblems)

    def map(self, work, messages):
        return [
            work(subproblem, one)
            for subproblem, one in zip(self.subproblems, messages, strict=True)
        ]


def cut_by_items(
    problem: ClosureProblem, part_of_item: np.ndarray, n_parts: int
) -> list[Subproblem]:
    """Cut a problem by its items; a project is present where it needs an item, or everywhere."""
    project = problem.arc_project()
    parts = []
    for number in range(n_parts):
        there = part_of_item[problem.arc_item] == number
        weight = np.zeros(problem.n_projects)
        np.add.at(weight, project[there], 1.0)
        for h in range(problem.n_projects - 1, -1, -1):  # who is here needs what it requires
            if problem.requires[h] >= 0:
                weight[problem.requires[h]] += weight[h]
        whole = Subproblem(
            problem.requires, problem.arc_start, problem.arc_item, problem.costs, weight
        )
        parts.append(whole.with_arcs(there))
    return parts


def decomposed(problem: ClosureProblem, parts: Sequence[Subproblem]) -> DecomposedClosure:
    weight = np.array([part.weight for part in parts])
    n_arcs = sum(part.n_arcs for part in parts)
    return DecomposedClosure(ListPartitions(parts), problem.gains, problem.requires, weight, n_arcs)


@st.composite
def decomposed_closures(draw, most_parts=4, **sizes):
    """Draw a problem and a way to cut it into partitions, some of them empty."""
    problem = draw(closures(**sizes))
    n_parts = draw(st.integers(1, most_parts))
    number = st.integers(0, n_parts - 1)
    part_of_item = np.array([draw(number) for _ in range(problem.n_items)], dtype=np.int64)
    return problem, cut_by_items(problem, part_of_item, n_parts)


def large_problem(seed: int, n_trees: int = 6, depth: int = 5, n_items: int = 400):
    """A problem with complete trees whose projects need random items: partitions disagree here."""
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
