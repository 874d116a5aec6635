"""Memory that this process may still take, and amounts of it as people write them."""

import math
import os
import re
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from thriftwood.errors import InputError, OutOfMemoryError

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]
from thriftwood.support.text import said_by

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

UNITS = {"": 1, "B": 1}
UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)}
UNITS |= {f"{letter}IB": 1024**power for power, letter in enumerate("KMGT", 1)}
# Control groups of Linux, version 2 and 1: the folder of the root group, the files with the limit
# and with what is taken, and the part of that which is a cache of files and is given back.
GROUPS = {
    "": ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    "memory": (
        "sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
}


def tells_memory(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate what users call: where memory ends, wherever that is, it says what to do."""

    @wraps(function)
    def telling(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except MemoryError as error:
            if isinstance(error, OutOfMemoryError):
                raise
            raise OutOfMemoryError(
                f"This does not fit into memory: {said_by(error)}. Pass fewer samples at a time; "
                "in Python a model can be pruned on a subsample or on partitions, by `tw."
                "pruning_problem(..., subsample=...)` or `decomposition=tw.DualDecomposition()`."
            ) from error

    return telling


def available_memory(root: Path = Path("/")) -> float:
    """Return how many bytes this process may still take: in the machine and within its limits.

    Infinity where the system does not say. `root` is where `proc` and `sys` are.
    """
    return min([math.inf, *_in_machine(root), *_in_groups(root), *_in_addresses(root)])


def amount_of_memory(value: object, name: str) -> float:
    """Return the user's argument `name` in bytes: a number of them, or text such as "2GB"."""
    number, unit = value, ""
    if isinstance(value, str):
        written = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]*)\s*", value)
        number, unit = written.groups() if written else ("", "")
    try:
        n_bytes = float(number) * UNITS[unit.upper()]  # type: ignore[arg-type]
    except (TypeError, ValueError, KeyError, OverflowError):
        n_bytes = math.nan
    if isinstance(value, bool) or not n_bytes >= 0:
        raise InputError(
            f'`{name}` is {value!r}: pass a number of bytes, or text such as "2GB".', name
        )
    return n_bytes


def memory_in_words(n_bytes: float) -> str:
    """Return a number of bytes in two digits or three, in a unit of thousands."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"


def _in_machine(root: Path) -> Iterator[float]:
    found = re.search(r"MemAvailable:\s*(\d+) kB", _text(root / "proc/meminfo"))
    if found:
        yield 1024.0 * int(found[1])
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:  # macOS: all there is
        yield float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _in_groups(root: Path) -> Iterator[float]:
    """Yield the free memory of each control group of this process, and of those above it."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, line = line.partition(":")
        controllers, _, path = line.partition(":")
        for controller in set(controllers.split(",")) & set(GROUPS):
            place, limit, taken, cache = GROUPS[controller]
            group = root / place / path.lstrip("/")
            # In a container the path may be that outside of it: then only the root is there.
            for folder in (group, *group.parents):
                free = _number(_text(folder / limit)) - _number(_text(folder / taken))
                if not math.isnan(free):
                    found = re.search(rf"^{cache} (\d+)$", _text(folder / "memory.stat"), re.M)
                    yield max(free, 0.0) + (float(found[1]) if found else 0.0)
                if folder == root / place:
                    break


def _in_addresses(root: Path) -> Iterator[float]:
    """Yield the address space that is left (`ulimit -v`)."""
    taken = _text(root / "proc/self/statm").split()
    if resource is None or not taken:
        return
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        yield max(0.0, float(most) - int(taken[0]) * resource.getpagesize())


def _number(text: str) -> float:
    """Return the number in a file of a control group; NaN where there is none, or "max"."""
    return float(text) if text.strip().isdigit() else math.nan


def _text(file: Path) -> str:
    """Return the text of a file of the system; empty where there is none."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
