"""Samples, labels and what each feature costs."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from thriftwood.costs import Costs
from thriftwood.errors import DatasetError
from thriftwood.support.files import read_whole
from thriftwood.support.libraries import frame_of

if TYPE_CHECKING:
    import pandas as pd

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


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples with labels and priced features.

    The arrays are the caller's own and can be written to (scikit-learn asks for that where values
    are missing); every load reads them afresh.

    Attributes
    ----------
    name
        Short name of the set.
    X
        Feature values, shape (n_samples, n_features); a missing value is NaN.
    y
        Class of each sample, an index into `target_names`.
    feature_names, target_names
        Names of the columns of `X` and of the classes.
    costs
        Price of each feature bought on its own, in `unit`. `prices` knows what is shared, too.
    unit
        What prices are counted in, for example ``"CAD"``; ``"features"`` where each one costs 1.
    source, licence
        Who published the data and the prices, and on which terms.
    cost_groups
        The group that each feature shares a fee with, ``""`` for none. None when no fee is shared.
    costs_in_group
        Price of each feature once another one of its group has been paid: `costs` less the fee
        that the group shares. None when no fee is shared.
    categories
        What kind of feature each one is (laboratory, questionnaire, ...). For display only:
        a category shares no fee.
    split
        The published split, for each sample 0 train, 1 validation or 2 test. None without one.
    requires
        Features that are computed from others: the names of those for each of them.
    """

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    costs: NDArray[np.float64]
    unit: str
    source: str
    licence: str
    cost_groups: tuple[str, ...] | None = None
    costs_in_group: NDArray[np.float64] | None = None
    categories: tuple[str, ...] | None = None
    split: NDArray[np.int64] | None = None
    requires: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def prices(self) -> Costs:
        """The whole price list. Fees are paid once, and what is computed costs what it takes.

        Features go by their columns, since `X` has no names.
        """
        number = {name: column for column, name in enumerate(self.feature_names)}
        shared = self.cost_groups or ("",) * len(self.feature_names)
        groups: dict[str, list[str | int]] = {}
        for name, group in zip(self.feature_names, shared, strict=True):
            if group in self.group_fees and name not in self.requires:
                groups.setdefault(group, []).append(number[name])
        return Costs(
            per_feature=self.costs if self.costs_in_group is None else self.costs_in_group,
            groups=groups,
            group_fee={group: self.group_fees[group] for group in groups},
            requires={
                number[name]: [number[other] for other in others]
                for name, others in self.requires.items()
            },
            unit=self.unit,
        )

    @property
    def group_fees(self) -> dict[str, float]:
        """The fee that each group shares, paid once by the first feature bought of it."""
        if self.cost_groups is None or self.costs_in_group is None:
            return {}
        # Prices have cents; the difference of two floats should not show more digits than they do.
        fees = np.round(self.costs - self.costs_in_group, 9)
        return {
            group: float(fee)
            for group, fee in zip(self.cost_groups, fees, strict=True)
            if group != ""
        }

    def frame(self) -> pd.DataFrame:
        """Copy `X` into a pandas DataFrame with the feature names as columns, in doubles.

        pandas lends single columns to scikit-learn read-only, and with missing values in them its
        trees refuse that. Of doubles they make their own copy.
        """
        return frame_of(self.X.astype(np.float64), list(self.feature_names))

    def __repr__(self) -> str:
        n_samples, n_features = self.X.shape
        low, high = self.costs.min(), self.costs.max()
        prices = f"{low:g} each" if low == high else f"{low:g} to {high:g} {self.unit}"
        return (
            f"<Dataset {self.name}: {n_samples:,} samples, {n_features} features at {prices}, "
            f"{len(self.target_names)} classes>"
        )


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
