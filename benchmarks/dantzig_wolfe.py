"""The decomposition by trees: rounds, gaps and time, against the minimum cut and HiGHS.

Ratios within one run, alternating, medians, on the same closure problem. All times include the
reductions; that of HiGHS is all of `linear_program`, which gets the problem as it is, and in a
second column what the reductions leave of it. The last part runs the textbook's master, which mixes
whole closed sets instead of pieces, to show what pieces are good for.
"""

from dataclasses import replace
from fractions import Fraction
from time import perf_counter

import numpy as np
from measure import alternate, arguments, seconds_of
from one_tradeoff import closure_of, grown_forest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from thriftwood.closure import ClosureProblem, check_certificate, reduce_until_stable
from thriftwood.solvers import DecomposedSolution, dantzig_wolfe, linear_program, min_cut
from thriftwood.solvers.dantzig_wolfe import components_of, respond

# From light to heavy pruning: how many rows' errors one unit of cost on one row is worth.
ROWS_PER_COST = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.8, 3.0)
TEXTBOOK_SECONDS = 60.0


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    n_rows, n_trees = (500 if options.quick else 2_000), 20
    repeats = 1 if options.quick else min(options.repeats, 3)
    forest, X, y, title = grown_forest(n_rows, n_trees, options.data)
    problem = closure_of(forest, X, y)
    print(f"{title}, {n_trees} trees: {problem}")
    print("tradeoff  splits kept  rounds  pieces   min_cut  decomposed     HiGHS  HiGHS reduced")
    solutions = {rows: compare(problem, rows, n_trees, repeats) for rows in ROWS_PER_COST}
    print("\nGap after each round, as a fraction of the profit that is not sure")
    for rows, solution in solutions.items():
        gaps = [one.gap / max(solution.rounds[-1].profit, 1) for one in solution.rounds]
        print(f"{rows / n_trees:8.5f}  " + " ".join(f"{gap:.0e}" if gap else "0" for gap in gaps))
    print(f"\nThe textbook's master, for at most {TEXTBOOK_SECONDS:.0f} s")
    print("tradeoff  rounds  seconds  columns  rows of the last master  gap")
    for rows in (0.1, 0.3, 0.8):
        textbook(problem.at(Fraction(rows))[0], rows / n_trees)


def compare(problem: ClosureProblem, rows: float, n_trees: int, repeats: int) -> DecomposedSolution:
    priced, _ = problem.at(Fraction(rows))
    solution = dantzig_wolfe(priced)
    assert check_certificate(priced, solution).gap == 0
    assert (solution.kept == min_cut(priced).kept).all()
    cut, decomposed, program, program_reduced = alternate(
        repeats,
        lambda: seconds_of(lambda: min_cut(priced)),
        lambda: seconds_of(lambda: dantzig_wolfe(priced)),
        lambda: seconds_of(lambda: linear_program(priced)),
        lambda: seconds_of(lambda: linear_program(reduce_until_stable(priced)[0])),
    )
    print(
        f"{rows / n_trees:8.5f} {solution.kept.sum():12d} {len(solution.rounds):7d} "
        f"{solution.rounds[-1].n_pieces:7d} {cut:7.3f} s {decomposed:9.3f} s {program:7.2f} s "
        f"{program_reduced:12.2f} s",
        flush=True,
    )
    return solution


def textbook(problem: ClosureProblem, tradeoff: float) -> None:
    """Generate columns until none is new or the time is up, and print what it came to."""
    smaller, _ = reduce_until_stable(problem)
    fine = 2**10  # prices in parts of a unit, so that components can answer in whole numbers
    smaller = replace(smaller, gains=smaller.gains * fine, costs=smaller.costs * fine)
    components = components_of(smaller)
    costs = smaller.costs[smaller.arc_item]
    n_askers = np.bincount(smaller.arc_item, minlength=smaller.n_items)[smaller.arc_item]
    columns: dict[tuple[int, bytes], np.ndarray] = {}
    ask(components, costs, columns)  # each pays all alone: columns, but no bound
    bounds = [ask(components, prices, columns) for prices in (0 * costs, costs // n_askers)]
    begin = perf_counter()
    gap, n_rounds, n_rows, n_known = 1.0, 0, 0, 0
    while n_known < len(columns) and gap > 0 and perf_counter() - begin < TEXTBOOK_SECONDS:
        n_known = len(columns)
        profit, prices, n_rows = mix_columns(smaller, components, columns)
        unpaid = smaller.costs - np.bincount(smaller.arc_item, prices, smaller.n_items)
        prices += np.maximum(unpaid, 0)[smaller.arc_item] / n_askers
        bounds.append(ask(components, np.floor(prices).astype(np.int64), columns))
        gap = (min(bounds) - profit) / max(profit, 1)
        gap = 0.0 if min(bounds) - profit < fine / 2 else gap
        n_rounds += 1
    print(
        f"{tradeoff:8.5f} {n_rounds:7d} {perf_counter() - begin:8.1f} {len(columns):8d} "
        f"{n_rows:24d}  {gap:.0e}",
        flush=True,
    )


def ask(components, prices: np.ndarray, columns: dict[tuple[int, bytes], np.ndarray]) -> int:
    """Let all components answer prices; add their columns and return the bound."""
    answers = [respond(component, prices[component.arcs]) for component in components]
    for t, (component, answer) in enumerate(zip(components, answers, strict=True)):
        columns[t, answer.chosen.tobytes()] = component.projects[answer.chosen]
    return sum(answer.profit for answer in answers)


def mix_columns(problem: ClosureProblem, components, columns) -> tuple[float, np.ndarray, int]:
    """Return profit and prices of the best mixture of columns, one mixture per component."""
    tail, item = problem.arc_project(), problem.arc_item
    component_of = np.empty(problem.n_projects, dtype=np.int64)
    for t, component in enumerate(components):
        component_of[component.projects] = t
    n_columns = len(columns)
    keeps = np.zeros((n_columns, problem.n_projects), dtype=bool)
    for keep, projects in zip(keeps, columns.values(), strict=True):
        keep[projects] = True

    # Items whose arcs are in the same columns have the same rows, one for each component.
    names = np.random.default_rng(0).random((n_columns, 2))
    kept_by = keeps.T.astype(float) @ names
    seen = [np.bincount(item, kept_by[tail, k], problem.n_items) for k in range(2)]
    seen.append(np.bincount(item, component_of[tail] ** 2 + 1.0, problem.n_items))
    _, group = np.unique(np.round(seen, 6), axis=1, return_inverse=True)
    group_cost = np.bincount(group, problem.costs)
    key, first, row_of_arc = np.unique(
        component_of[tail] * len(group_cost) + group[item], return_index=True, return_inverse=True
    )
    n_rows, n_variables = len(key), n_columns + len(group_cost)
    column_at, row_at = np.nonzero(keeps[:, tail[first]])
    at_most = csr_array(
        (
            np.repeat([1.0, -1.0], [len(row_at), n_rows]),
            (
                np.append(row_at, np.arange(n_rows)),
                np.append(column_at, n_columns + key % len(group_cost)),
            ),
        ),
        shape=(n_rows, n_variables),
    )
    of_component = [t for t, _ in columns]
    convex = csr_array(
        (np.ones(n_columns), (of_component, np.arange(n_columns))),
        shape=(len(components), n_variables),
    )
    scale = 2.0**10
    result = linprog(
        np.append(-(keeps @ problem.gains), group_cost) / scale,
        A_ub=at_most,
        b_ub=np.zeros(n_rows),
        A_eq=convex,
        b_eq=np.ones(len(components)),
        method="highs-ds",
    )
    paid = np.maximum(-result.ineqlin.marginals, 0)[row_of_arc] * scale
    prices = paid * problem.costs[item] / np.maximum(group_cost[group[item]], 1)
    return -result.fun * scale, prices, n_rows


if __name__ == "__main__":
    main()
