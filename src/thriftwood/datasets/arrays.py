"""From arrays by name, as files hold them, to a checked `Dataset`."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from thriftwood.datasets.dataset import Dataset
from thriftwood.errors import DatasetError
from thriftwood.support.files import read_whole

Arrays = Mapping[str, NDArray[Any]]

REQUIRED = ("X", "y", "feature_names", "target_names")
# What arrays of files are in a `Dataset`: words, or numbers of a type.
FIELDS: dict[str, tuple[str, DTypeLike | None]] = {
    "X": ("X", np.float32),
    "y": ("y", np.int64),
    "feature_names": ("feature_names", None),
    "target_names": ("target_names", None),
    "costs": ("costs", np.float64),
    "costs_discount": ("costs_in_group", np.float64),
    "cost_group": ("cost_groups", None),
    "cost_category": ("categories", None),
    "split": ("split", np.int64),
}


def read_npz(path: Path) -> Arrays:
    """Read the arrays that a data set is made of; nothing in the file is ever executed."""
    try:
        # numpy would also take a bare array or a pickle for an archive by another name.
        if not zipfile.is_zipfile(path):
            raise zipfile.BadZipFile("it is not an .npz archive")
        with np.load(BytesIO(read_whole(path)), allow_pickle=False) as archive:
            return {key: archive[key] for key in FIELDS if key in archive.files}
    # A damaged file makes zipfile, zlib, numpy and its header parser fail each in its own way.
    except Exception as problem:
        raise DatasetError(
            f"The file {path} cannot be read: {problem}. Replace it by an undamaged copy."
        ) from problem


def to_dataset(arrays: Arrays, *, name: str, **about: Any) -> Dataset:
    """Check that the arrays fit each other; `about` are other fields of the data set."""
    problem = next(_contradictions(arrays), None)
    if problem is not None:
        raise DatasetError(f"The data set {name!r} is damaged: {problem}.")
    found: dict[str, Any] = {"costs": np.ones(len(arrays["feature_names"]))}
    for key, (own, dtype) in FIELDS.items():
        if key in arrays:
            values = arrays[key]
            found[own] = np.array(values, dtype, order="C") if dtype else tuple(values.tolist())
    return Dataset(name=name, **found, **about)


def _contradictions(arrays: Arrays) -> Iterator[str]:
    """Say what is wrong, worst first; later checks may rely on earlier ones having been silent."""
    for key in REQUIRED:
        if key not in arrays:
            yield f"it has no array {key!r}"
    X, y = arrays["X"], arrays["y"]
    if X.ndim != 2 or X.dtype.kind not in "fiu" or X.size == 0:
        yield f"X should be a table of numbers, but is {X.dtype} of shape {X.shape}"
    n_samples, n_features = X.shape
    shapes = {"y": n_samples, "split": n_samples, "feature_names": n_features}
    shapes |= dict.fromkeys(("costs", "costs_discount", "cost_group", "cost_category"), n_features)
    for key, length in shapes.items():
        if key in arrays and arrays[key].shape != (length,):
            yield f"{key} has shape {arrays[key].shape}, but X has shape {X.shape}"
    for key in ("feature_names", "target_names", "cost_group", "cost_category"):
        if key in arrays and arrays[key].dtype.kind != "U":
            yield f"{key} should hold text, but is {arrays[key].dtype}"
    n_classes = arrays["target_names"].size
    if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= n_classes:
        yield f"y should hold whole numbers from 0 to {n_classes - 1}"
    if "split" in arrays and not np.isin(arrays["split"], (0, 1, 2)).all():
        yield "split should hold only 0 (train), 1 (validation) and 2 (test)"
    yield from _contradicting_prices(arrays)


def _contradicting_prices(arrays: Arrays) -> Iterator[str]:
    for key in ("costs", "costs_discount"):
        prices = arrays.get(key, np.zeros(0))
        if prices.dtype.kind not in "fiu" or not (np.isfinite(prices) & (prices >= 0)).all():
            yield f"{key} should hold prices of zero or more"
    if ("costs_discount" in arrays) != ("cost_group" in arrays):
        yield "costs_discount and cost_group only make sense together"
    if "costs_discount" not in arrays:
        return
    if "costs" not in arrays:
        yield "there is a costs_discount without costs"
    groups, fees = arrays["cost_group"], arrays["costs"] - arrays["costs_discount"]
    for group in np.unique(groups):
        in_group = fees[groups == group]
        expected = in_group[0] if group != "" else 0.0
        if expected < 0 or not np.allclose(in_group, expected, rtol=0, atol=1e-9):
            yield f"the features of cost_group {str(group)!r} do not share one fee"
