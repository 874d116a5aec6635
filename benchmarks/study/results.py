"""CSV files that work is added to, unit by unit; what is there is not done again."""

import csv
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic
from typing import Any

from joblib import Parallel, delayed

Row = dict[str, Any]
Unit = tuple[Any, ...]
RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    *("thriftwood", "numpy", "scipy", "scikit-learn", "numba", "lightgbm", "catboost"),
    *("ortools", "highspy", "imodels", "pystreed", "torch"),
)
# Columns that differ from run to run.
TIMED = ("run", "cpu_seconds")


class Results:
    """Rows of a file; `key` names the columns that say which unit of work a row belongs to."""

    def __init__(self, file: Path, key: tuple[str, ...]) -> None:
        self._file, self._key = file, key
        self.rows = read_rows(file)

    def unit_of(self, row: Row) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in self._key)

    def pending(self, units: Iterable[Unit]) -> list[Unit]:
        done = {self.unit_of(row) for row in self.rows}
        return [unit for unit in units if tuple(map(str, unit)) not in done]

    def drop(self, units: Iterable[Unit]) -> None:
        """Forget units, so that they are done again."""
        gone = {tuple(map(str, unit)) for unit in units}
        self.rows = [row for row in self.rows if self.unit_of(row) not in gone]

    def add(self, rows: list[Row]) -> None:
        """Write a unit's rows: all of them or none."""
        self.rows += [{name: shown(value) for name, value in row.items()} for row in rows]
        self.rows.sort(key=lambda row: [by_number(part) for part in self.unit_of(row)])
        write_rows(self._file, self.rows)

    def run(
        self,
        units: Iterable[Unit],
        work: Callable[..., list[Row]],
        deadline: float = float("inf"),
        n_jobs: int = 2,
        again: bool = False,
    ) -> bool:
        """Do what is pending, each unit in one thread of its own; begin nothing after a deadline.

        Return True when all is done.
        """
        units = list(units)
        if again:
            self.drop(units)
        pending = self.pending(units)
        run = run_number(self._file.parent)
        parallel = Parallel(n_jobs, return_as="generator_unordered", pre_dispatch=n_jobs)
        for rows in parallel(delayed(work)(*unit) for unit in until(deadline, pending)):
            self.add([row | {"run": run} for row in rows])
            print(f"  {self._file.stem}: {' '.join(self.unit_of(rows[0]))}", flush=True)
        return not self.pending(units)


def until(deadline: float, units: Iterable[Unit]) -> Iterator[Unit]:
    for unit in units:
        if monotonic() >= deadline:
            return
        yield unit


def read_rows(file: Path) -> list[Row]:
    if not file.exists():
        return []
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def write_rows(file: Path, rows: list[Row]) -> None:
    """Write a file in place of the old one, in one step."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    new = file.with_suffix(".new")
    with new.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(new, file)


def by_number(text: str) -> tuple[float, str]:
    return (float(text), "") if text.isdigit() else (0.0, text)


def shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def run_number(folder: Path) -> str:
    """Return the number by which rows name the day, the machine and the versions of a run."""
    file = folder / "runs.csv"
    rows = read_rows(file)
    own = {"date": str(date.today()), **machine(), **versions()}
    for row in rows:
        if all(row.get(name) == value for name, value in own.items()):
            return str(row["run"])
    number = str(len(rows) + 1)
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(file, [*rows, {"run": number, **own}])
    return number


def machine() -> Row:
    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in (info.read_text().splitlines() if info.exists() else [])
        if line.startswith("model name")
    ]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def versions() -> Row:
    return {name: version_of(name) for name in PACKAGES}


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
