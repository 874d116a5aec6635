"""The decomposition by trees: rounds, gaps and time, against the minimum cut and HiGHS.

Ratios within one run, alternating, medians, on the same closure problem. All times include merging
twins; that of HiGHS is all of `linear_program`, which gets the problem as it is, and in a second
column what merging leaves of it. The second part spreads the trees over two processes
and shows how little of the time is theirs. The last part runs the textbook's master, which mixes
whole closed sets instead of pieces, to show what pieces are good for.
"""

from fractions import Fraction
from importlib.util import find_spec

from measure import alternate, arguments, seconds_of
from one_tradeoff import closure_of, grown_forest

from thriftwood.closure import (
    ClosureProblem,
    ClosureSolution,
    check_certificate,
    merge_twin_items,
)
from thriftwood.solvers import DantzigWolfe, linear_program, min_cut
from thriftwood.solvers.subproblems import batches_of, subproblem_workers

# From light to heavy pruning: how many samples' errors one unit of cost on one sample is worth.
ROWS_PER_COST = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.8, 3.0)
WORKERS_ROWS_PER_COST = (0.1, 0.3, 0.8)
TEXTBOOK_SECONDS = 120.0


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    n_samples, n_trees = (500 if options.quick else 2_000), 20
    repeats = 1 if options.quick else min(options.repeats, 3)
    forest, X, y, title = grown_forest(n_samples, n_trees, options.data)
    problem = closure_of(forest, X, y)
    print(f"{title}, {n_trees} trees: {problem}")
    print(
        "tradeoff  splits kept  rounds  pieces  columns   min_cut  decomposed     HiGHS  "
        "HiGHS merged"
    )
    solutions = {rows: compare(problem, rows, n_trees, repeats) for rows in ROWS_PER_COST}
    print("\nGap after each round, as a fraction of the bound")
    for rows, solution in solutions.items():
        gaps = [one.gap / max(one.bound, 1) for one in solution.rounds]
        print(f"{rows / n_trees:8.5f}  " + " ".join(f"{gap:.0e}" if gap else "0" for gap in gaps))
    print("\nWorkers: this process, and two others that are up and running")
    print("tradeoff  one worker  two workers  of one worker: merging, passes of the trees")
    for rows in WORKERS_ROWS_PER_COST:
        compare_workers(problem, rows, n_trees, repeats)
    compare_with_textbook(problem, n_trees, 2.0 if options.quick else TEXTBOOK_SECONDS)


def compare(problem: ClosureProblem, rows: float, n_trees: int, repeats: int) -> ClosureSolution:
    priced, _ = problem.at(Fraction(rows))
    solution = DantzigWolfe()(priced)
    assert check_certificate(priced, solution).gap == 0
    assert (solution.kept == min_cut(priced).kept).all()
    cut, decomposed, program, program_merged = alternate(
        repeats,
        lambda: seconds_of(lambda: min_cut(priced)),
        lambda: seconds_of(lambda: DantzigWolfe()(priced)),
        lambda: seconds_of(lambda: linear_program(priced)),
        lambda: seconds_of(lambda: linear_program(merge_twin_items(priced)[0])),
    )
    print(
        f"{rows / n_trees:8.5f} {solution.kept.sum():12d} {len(solution.rounds):7d} "
        f"{solution.rounds[-1].n_pieces:7d} {sum(one.n_columns for one in solution.rounds):8d} "
        f"{cut:7.3f} s {decomposed:9.3f} s {program:7.2f} s {program_merged:12.2f} s",
        flush=True,
    )
    return solution


def compare_workers(problem: ClosureProblem, rows: float, n_trees: int, repeats: int) -> None:
    """Print the time of one and of two workers, and how much of it is work that they can share."""
    priced, _ = problem.at(Fraction(rows))
    n_rounds = len(DantzigWolfe(n_jobs=2)(priced).rounds)  # two processes start here
    smaller, _ = merge_twin_items(priced)
    prices = smaller.costs[smaller.arc_item] // 2
    with subproblem_workers(smaller, batches_of(smaller), 1) as solve:
        one, two, merging, one_pass = alternate(
            repeats,
            lambda: seconds_of(lambda: DantzigWolfe(n_jobs=1)(priced)),
            lambda: seconds_of(lambda: DantzigWolfe(n_jobs=2)(priced)),
            lambda: seconds_of(lambda: merge_twin_items(priced)),
            lambda: seconds_of(lambda: solve(prices)),
        )
    passes = one_pass * (n_rounds + 2)  # two start it all
    print(
        f"{rows / n_trees:8.5f} {one:9.3f} s {two:10.3f} s {merging / one:20.0%} "
        f"{passes / one:10.1%}",
        flush=True,
    )


def compare_with_textbook(problem: ClosureProblem, n_trees: int, seconds: float) -> None:
    """Run the master that mixes whole closed sets, where HiGHS can be had for it."""
    if find_spec("highspy") is None:
        print("\nLeaving out the textbook's master: it needs highspy, of the extra `bench`.")
        return
    from textbook_master import solve_by_columns

    print(f"\nThe textbook's master, for at most {seconds:.0f} s")
    print("tradeoff  rounds  seconds  columns  rows of the last master  gap")
    for rows in (0.1, 0.3, 0.8):
        priced, _ = problem.at(Fraction(rows))
        run = solve_by_columns(priced, seconds)
        gap = 0.0 if run.finished else (run.bound - run.profit) / max(run.bound, 1)
        print(
            f"{rows / n_trees:8.5f} {run.n_rounds:7d} {run.seconds:8.1f} {run.n_columns:8d} "
            f"{run.n_samples:24d}  {gap:.0e}",
            flush=True,
        )
        smaller, _ = merge_twin_items(priced)
        best = smaller.profit(min_cut(smaller).kept)
        assert not run.finished or round(run.profit) == best, "The textbook and we disagree"


if __name__ == "__main__":
    main()
