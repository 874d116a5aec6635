"""What all benchmarks share: alternating timings, peak memory, and where the data is."""

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from thriftwood import datasets
from thriftwood.errors import DatasetError

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


def arguments(description: str, draws: bool = False) -> argparse.Namespace:
    """Read the options that every benchmark has, and --picture of one that draws."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, help="folder for Covertype")
    parser.add_argument("--repeats", type=int, default=5, help="timings of which the median counts")
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer repeats")
    if draws:
        parser.add_argument("--picture", type=Path, help="draw what is found into this file")
    return parser.parse_args()


def covertype(n_samples: int, folder: Path | None) -> tuple[np.ndarray, np.ndarray, str]:
    """Return samples of Covertype drawn at random, or of NHANES where Covertype is not at hand.

    It is downloaded only into a folder that the user names.
    """
    place = folder or (SHARED_DATA if SHARED_DATA.is_dir() else None)
    try:
        data = datasets.load_dataset("covertype", place, download=folder is not None)
        name = "covertype"
    except DatasetError as error:
        print(f"Taking the bundled NHANES instead of Covertype. {error}")
        data = datasets.load_nhanes()
        name = "nhanes"
    rows = np.random.default_rng(0).permutation(len(data.y))[:n_samples]
    return data.X[rows], data.y[rows], f"{name}, {len(rows)} samples"


def local_dataset(name: str, folder: Path | None) -> datasets.Dataset | None:
    """Return a data set that is at hand, or say that it is not."""
    try:
        return datasets.load_dataset(name, folder or SHARED_DATA, download=False)
    except DatasetError as error:
        print(f"Leaving out {name}. {error}")
        return None


def alternate(repeats: int, *work: Callable[[], float]) -> list[float]:
    """Return the median seconds of each piece of work, run in turns so that noise hits all alike.

    Each piece returns the seconds that count, so that it can leave out its own preparations.
    """
    seconds: list[list[float]] = [[] for _ in work]
    for _ in range(repeats):
        for own, run in zip(seconds, work, strict=True):
            own.append(run())
    return [statistics.median(own) for own in seconds]


def seconds_of(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def peak_bytes(work: Callable[[], object]) -> int:
    """Return how far the memory of this process rises above its level at the start (Linux)."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    start = memory_kilobytes("VmRSS")
    work()
    return 1024 * (memory_kilobytes("VmHWM") - start)


def memory_kilobytes(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0])
