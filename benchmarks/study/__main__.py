"""Run a part of the study: `python -m benchmarks.study PART`; see `--help`."""

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from . import ablation, frontiers, money, readings, speed, table1
from .data import RECIPES, Task, tasks_at_hand
from .published import LINES
from .results import RESULTS, Results, Row, Unit


class Part(NamedTuple):
    """A part of the study: its key, what `--methods` can name, its units, and the work."""

    key: tuple[str, ...]
    methods: list[str]
    units: Callable[[argparse.Namespace, list[str]], list[Unit]]
    work: Callable[..., list[Row]]


def lines_of(options: argparse.Namespace) -> list[str]:
    at_hand = table1.lines_at_hand(options.data, options.quick)
    return [name for name in at_hand if not options.tasks or name in options.tasks]


def tasks_of(options: argparse.Namespace) -> list[Task]:
    names = options.tasks and [name for name in options.tasks if name in RECIPES]
    return tasks_at_hand(options.data, options.quick, names)


def of_frontiers(options: argparse.Namespace, methods: list[str]) -> list[Unit]:
    repeats = {name: recipe.n_repeats for name, recipe in RECIPES.items()}
    return frontiers.units(tasks_of(options), methods, repeats)


PARTS = {
    "table1": Part(
        table1.KEY,
        list(table1.GROUPS),
        lambda options, groups: table1.units(lines_of(options), groups),
        table1.work,
    ),
    "readings": Part(
        readings.KEY, [], lambda options, _: readings.units(lines_of(options)), readings.work
    ),
    "frontiers": Part(frontiers.KEY, list(frontiers.METHODS), of_frontiers, frontiers.work),
    "money": Part(
        money.KEY,
        list(money.METHODS),
        lambda options, methods: money.units(tasks_of(options), methods),
        money.work,
    ),
    "ablation": Part(
        ablation.KEY,
        list(ablation.METHODS),
        lambda options, methods: frontiers.units(tasks_of(options), methods, ablation.TASKS),
        ablation.work,
    ),
    "speed": Part(speed.KEY, list(speed.TOPICS), lambda _, topics: speed.units(topics), speed.work),
}


def main(arguments: list[str] | None = None) -> None:
    options = read_options(arguments)
    deadline = monotonic() + 60 * options.minutes
    names = list(PARTS) if options.part == "all" else [options.part]
    if options.part == "page":
        from .page import write_page

        write_page(options.results)
        return
    for name in names:
        part = PARTS[name]
        methods = [one for one in part.methods if not options.methods or one in options.methods]
        results = Results(options.results / f"{name}.csv", part.key)
        work = partial(quietly, part.work, options.data, options.quick)
        units = first_repeats(part, part.units(options, methods), options.repeats)
        n_jobs = 1 if part is PARTS["speed"] else options.jobs  # one after the other to be timed
        done = results.run(units, work, deadline, n_jobs, options.again)
        print(f"{name}: {'all done' if done else 'not all done: run it again to go on'}")


def first_repeats(part: Part, units: list[Unit], n_repeats: float) -> list[Unit]:
    """Return the units of the first repeats, or blocks of repeats."""
    places = [place for place, name in enumerate(part.key) if name in ("repeat", "block")]
    return [unit for unit in units if all(unit[place] < n_repeats for place in places)]


def quietly(work: Callable[..., list[Row]], folder: Path | None, quick: bool, *unit) -> list[Row]:
    """Do a unit without warnings: models that buy nothing are among what is compared."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore")
        return work(*unit, folder=folder, quick=quick)


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study", description=__doc__)
    parser.add_argument("part", choices=[*PARTS, "page", "all"])
    named = sorted({name for part in PARTS.values() for name in part.methods})
    parser.add_argument("--tasks", nargs="+", choices=sorted({*RECIPES, *LINES}), metavar="TASK")
    parser.add_argument("--methods", nargs="+", choices=named, metavar="METHOD")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after")
    parser.add_argument("--repeats", type=int, help="at most so many, or so many blocks of them")
    parser.add_argument("--jobs", type=int, default=2, help="processes beside each other")
    parser.add_argument("--again", action="store_true", help="do again what is there")
    parser.add_argument("--quick", action="store_true", help="tiny sizes of bundled data")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV files")
    parser.add_argument("--data", type=Path, help="folder of data sets that are not bundled")
    options = parser.parse_args(arguments)
    if options.repeats is None:
        options.repeats = 1 if options.quick else float("inf")
    return options


if __name__ == "__main__":
    main()
