"""Load a data set that does not come with the package."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from thriftwood.datasets.arrays import Arrays, read_npz, to_dataset
from thriftwood.datasets.catalogue import CATALOGUE, Entry
from thriftwood.datasets.dataset import Dataset
from thriftwood.datasets.download import cache_folder, check, fetch
from thriftwood.errors import DatasetError


def load_dataset(
    name: str, folder: str | os.PathLike[str] | None = None, *, download: bool = True
) -> Dataset:
    """Load a data set of the benchmark from a folder, downloading it there when it is missing.

    Parameters
    ----------
    name
        One of `DATASET_NAMES`.
    folder
        Where the set is looked for and kept; by default a cache folder of the user. It is first
        looked for as ``<name>.npz``, then under the name of the published file.
    download
        Whether a missing file may be fetched from its publisher. This is possible for
        covertype, sonar, heart_statlog and thyroid_ann, whose checksums are known.

    Returns
    -------
    Dataset
        Sets without published prices have a price of 1 for every feature.

    Raises
    ------
    DatasetError
        The set is not there, cannot be fetched, or is not the published one.

    Notes
    -----
    An ``.npz`` file is made with `numpy.savez_compressed` and holds ``X``, ``y`` (0-based),
    ``feature_names`` and ``target_names``; where they exist, ``costs``, ``costs_discount`` and
    ``cost_group`` (both or neither), ``cost_category`` and ``split``. Its number of features and
    the size of each class must be the published ones.

    heart_statlog holds 270 of the 303 patients of `load_heart`: never use both as independent
    data. The value ``FTI`` of thyroid_ann is computed from ``TT4`` and ``T4U``; in `costs` it is
    priced as both together, in `prices` it requires them. The discounts of thyroid_ann assume the
    fee of 2.10 dollars for taking blood that is published for the other medical sets.
    """
    entry = _entry(name)
    place = cache_folder() if folder is None else Path(folder)
    dataset = to_dataset(
        _arrays(entry, place, may_download=download),
        name=name,
        unit=entry.unit,
        source=entry.source,
        licence=entry.licence,
        requires=entry.requires,
    )
    _check_size(entry, dataset)
    return dataset


def _entry(name: str) -> Entry:
    if name not in CATALOGUE:
        raise DatasetError(
            f"There is no data set {name!r}. Choose one of {', '.join(CATALOGUE)}; the two that "
            "come with the package are loaded by load_heart() and load_nhanes()."
        )
    return CATALOGUE[name]


def _arrays(entry: Entry, folder: Path, *, may_download: bool) -> Arrays:
    archive = folder / f"{entry.name}.npz"
    if archive.exists():
        return read_npz(archive)
    if entry.read is None:
        raise DatasetError(
            f"The data set {entry.name!r} is not in the folder {folder}, which has no file "
            f"{archive.name}. It cannot be downloaded, since no checksum of it is published. "
            f"Its source is: {entry.source}. Save it there as load_dataset describes."
        )
    paths = [folder / file.name for file in entry.files]
    for file, path in zip(entry.files, paths, strict=True):
        if path.exists():
            check(path, file.sha256)
        elif may_download:
            fetch(file.url, file.sha256, path)
        else:
            raise DatasetError(
                f"The data set {entry.name!r} is not in the folder {folder}, which has neither "
                f"{archive.name} nor {file.name}. Allow the download, or fetch {file.url} "
                "and save it there."
            )
    return entry.read(paths)


def _check_size(entry: Entry, dataset: Dataset) -> None:
    features = dataset.X.shape[1]
    counts = tuple(np.bincount(dataset.y, minlength=len(dataset.target_names)).tolist())
    if features != entry.n_features or counts != entry.class_counts:
        raise DatasetError(
            f"This is not the published data set {entry.name!r}: it has {features} features and "
            f"classes of {counts} examples instead of {entry.n_features} and "
            f"{entry.class_counts}. Replace the file by an undamaged copy."
        )
