"""One tradeoff: our min cut against OR-tools' max flow and HiGHS, on the same closure problem.

Ratios within one run, alternating, medians. Our time includes everything from the closure problem
to the set of projects and its flow. Of OR-tools only `solve` is counted; of HiGHS all of
`linear_program`, nearly all of which is HiGHS. A second column gives both the problem after twins
are merged, which takes longer than it saves.
"""

from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from multiprocessing import get_context

import numpy as np
from measure import alternate, arguments, covertype, peak_bytes, seconds_of
from ortools.graph.python import max_flow
from sklearn.ensemble import RandomForestClassifier

from thriftwood.adapters import read_forest
from thriftwood.billing import list_purchases
from thriftwood.closure import ClosureProblem, check_certificate, merge_twin_items
from thriftwood.costs import read_prices
from thriftwood.forest import Forest, route_samples
from thriftwood.forest.table import read_rows
from thriftwood.problem.closure import build_closure
from thriftwood.problem.losses import node_losses, read_loss
from thriftwood.problem.targets import read_target, read_weights, times_counted
from thriftwood.solvers import linear_program, min_cut

# From light to heavy pruning: how many samples' errors one unit of cost on one sample is worth.
ROWS_PER_COST = (0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.8, 1.5, 3.0)


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    repeats = 1 if options.quick else options.repeats
    against_or_tools(1_000 if options.quick else 10_000, 40, repeats, options.data)
    against_highs(300 if options.quick else 2_000, 20, min(repeats, 3), options.data)


def against_or_tools(n_samples: int, n_trees: int, repeats: int, folder) -> None:
    forest, X, y, title = grown_forest(n_samples, n_trees, folder)
    problem = closure_of(forest, X, y)
    print(f"\n{title}, {n_trees} trees: {problem}")
    print(
        "tradeoff   kept splits   min_cut     OR-tools   ratio | merged:  flow   OR-tools   ratio"
    )
    for rows in ROWS_PER_COST:
        priced, _ = problem.at(Fraction(rows))
        merged, _ = merge_twin_items(priced)
        solution = min_cut(priced)
        check_certificate(priced, solution)
        ours, theirs, our_flow, theirs_merged = alternate(
            repeats,
            lambda priced=priced: seconds_of(lambda: min_cut(priced)),
            partial(or_tools_seconds, priced),
            lambda merged=merged: seconds_of(lambda: min_cut(merged)),
            partial(or_tools_seconds, merged),
        )
        print(
            f"{rows / n_trees:8.5f} {solution.kept.sum():12d} {ours:8.3f} s {theirs:10.3f} s "
            f"{theirs / ours:6.1f}x |     {our_flow:8.3f} s {theirs_merged:8.3f} s "
            f"{theirs_merged / our_flow:6.1f}x"
        )
    # In a process of its own, whose memory has not been used and freed before.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        peak = other.submit(peak_of_build_and_solve, n_samples, n_trees, folder).result()
    print(
        f"Peak memory from routes to certificate: {peak / 2**20:.0f} MiB, "
        f"{peak / problem.n_arcs:.1f} bytes per requires-arc"
    )


def against_highs(n_samples: int, n_trees: int, repeats: int, folder) -> None:
    forest, X, y, title = grown_forest(n_samples, n_trees, folder)
    problem = closure_of(forest, X, y)
    print(f"\n{title}, {n_trees} trees: {problem}")
    print("tradeoff   kept splits   min_cut      HiGHS   ratio")
    for rows in ROWS_PER_COST:
        priced, _ = problem.at(Fraction(rows))
        solution = min_cut(priced)
        ours, theirs = alternate(
            repeats,
            lambda priced=priced: seconds_of(lambda: min_cut(priced)),
            lambda priced=priced: seconds_of(lambda: linear_program(priced)),
        )
        kept = int(solution.kept.sum())
        print(
            f"{rows / n_trees:8.5f} {kept:12d} {ours:8.3f} s {theirs:8.2f} s {theirs / ours:6.0f}x"
        )


def grown_forest(
    n_samples: int, n_trees: int, folder
) -> tuple[Forest, np.ndarray, np.ndarray, str]:
    X, y, title = covertype(n_samples, folder)
    model = RandomForestClassifier(n_trees, max_features=None, n_jobs=2, random_state=0).fit(X, y)
    return read_forest(model), X, y, title


def closure_of(forest: Forest, X: np.ndarray, y: np.ndarray) -> ClosureProblem:
    routes = route_samples(forest, read_rows(X, forest), n_jobs=2)
    weights = read_weights(None, len(y))
    target, times = read_target(y, forest, len(y)), times_counted(forest.n_trees, len(y))
    losses = node_losses(forest, routes, target, weights, read_loss(None, forest), times)
    prices = read_prices(None, forest.columns, len(y))
    purchases = list_purchases(forest, routes, prices, weights)
    return build_closure(forest, purchases, losses, Fraction(forest.n_trees))[0]


def peak_of_build_and_solve(n_samples: int, n_trees: int, folder) -> int:
    def build_and_solve(forest: Forest, X: np.ndarray, y: np.ndarray) -> None:
        priced, _ = closure_of(forest, X, y).at(Fraction(3, 10))
        check_certificate(priced, min_cut(priced))

    small_forest, X, y, _ = grown_forest(100, 2, folder)
    build_and_solve(small_forest, X, y)  # loads the compiled code
    forest, X, y, _ = grown_forest(n_samples, n_trees, folder)
    return peak_bytes(lambda: build_and_solve(forest, X, y))


def or_tools_seconds(problem: ClosureProblem) -> float:
    """Build the classic s-t network of the closure for OR-tools, and time its solve."""
    n_projects, n_items = problem.n_projects, problem.n_items
    source, sink = n_projects + n_items, n_projects + n_items + 1
    gaining = np.flatnonzero(problem.gains > 0)
    losing = np.flatnonzero(problem.gains < 0)
    below = np.flatnonzero(problem.requires >= 0)
    items = n_projects + np.arange(n_items)
    no_limit = int(problem.gains[gaining].sum()) + 1
    flow = max_flow.SimpleMaxFlow()
    for tails, heads, capacities in (
        (np.full(len(gaining), source), gaining, problem.gains[gaining]),
        (losing, np.full(len(losing), sink), -problem.gains[losing]),
        (below, problem.requires[below], np.full(len(below), no_limit)),
        (
            problem.arc_project(),
            n_projects + problem.arc_item,
            np.full(problem.n_arcs, no_limit),
        ),
        (items, np.full(n_items, sink), problem.costs),
    ):
        flow.add_arcs_with_capacity(tails, heads, capacities)
    seconds = seconds_of(lambda: flow.solve(source, sink))
    profit = problem.profit(min_cut(problem).kept)
    assert no_limit - 1 - flow.optimal_flow() == profit, "OR-tools and we disagree"
    return seconds


if __name__ == "__main__":
    main()
