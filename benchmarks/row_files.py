"""Rows in files, and Dask arrays whose partitions workers read from there."""

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import dask
import dask.array as da
import numpy as np


class RowFiles(NamedTuple):
    """Where rows and their labels lie."""

    X: Path
    y: Path


def write_rows(folder: Path, name: str, X: np.ndarray, y: np.ndarray) -> RowFiles:
    files = RowFiles(folder / f"{name}-X.npy", folder / f"{name}-y.npy")
    np.save(files.X, X)
    np.save(files.y, y)
    return files


def in_memory(files: RowFiles) -> tuple[np.ndarray, np.ndarray]:
    return np.load(files.X), np.load(files.y)


def in_partitions(files: RowFiles, n_partitions: int) -> tuple[da.Array, da.Array]:
    """Return rows and labels as Dask arrays: what travels is where they lie, no row."""
    return _dask_array(files.X, n_partitions), _dask_array(files.y, n_partitions)


def _dask_array(path: Path, n_partitions: int) -> da.Array:
    whole = np.load(path, mmap_mode="r")
    read = partial(dask.delayed(read_slice), path)
    cuts = np.linspace(0, len(whole), n_partitions + 1).astype(int).tolist()
    return da.concatenate(
        [
            da.from_delayed(read(start, stop), (stop - start, *whole.shape[1:]), whole.dtype)
            for start, stop in pairwise(cuts)
        ]
    )


def read_slice(path: Path, start: int, stop: int) -> np.ndarray:
    """Copy rows out of a file, so that the file is not mapped any longer."""
    return np.array(np.load(path, mmap_mode="r")[start:stop])
