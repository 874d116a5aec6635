"""Load a data set: one of the two that come with the package, or one of the benchmark."""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from thriftwood.datasets.catalogue import CATALOGUE, HEART_FILE, NHANES_FILE, Entry
from thriftwood.datasets.dataset import Arrays, Dataset, read_npz, to_dataset
from thriftwood.errors import DatasetError
from thriftwood.support.libraries import library


def load_heart() -> Dataset:
    """Load the heart disease patients of Cleveland, with the real price of every test.

    303 patients, 13 tests, 2 classes: ``disease`` (139 patients) where a coronary vessel is
    narrowed, else ``no_disease`` (164). Four values of ``ca`` and two of ``thal`` are missing.

    Prices are in Canadian dollars. Tests of a group share a fee: taking blood (A, for ``chol``
    and ``fbs``), and two examinations under stress (B, ``thalach`` and ``thal``; C, ``exang``,
    ``oldpeak`` and ``slope``). A sum of `costs` over several tests of a group overstates the
    bill; the first one costs `costs`, each further one `costs_in_group`. `prices` has it right.

    Returns
    -------
    Dataset
        With `cost_groups` and `costs_in_group`.

    Notes
    -----
    Source: UCI Machine Learning Repository, Heart Disease (Janosi, Steinbrunn, Pfisterer and
    Detrano 1988), CC BY 4.0. Prices: Ontario fee schedule, published by P. Turney, "Cost-sensitive
    classification", Journal of Artificial Intelligence Research 2 (1995).
    """
    return to_dataset(
        read_npz(HEART_FILE),
        name="heart",
        unit="CAD",
        source=(
            "UCI Machine Learning Repository, Heart Disease, Cleveland data (Janosi, Steinbrunn, "
            "Pfisterer and Detrano 1988), https://archive.ics.uci.edu/dataset/45/heart+disease; "
            "prices: Ontario fee schedule, published by P. Turney, JAIR 2 (1995)"
        ),
        licence="CC BY 4.0",
    )


def load_nhanes() -> Dataset:
    """Load adults of the US health survey 2017-2018, with a price by kind of question.

    5,018 people of 20 years and over, 123 questions and measurements, 3 classes: the clinical
    band of their glycohaemoglobin (2,722 below 5.7 %, 1,551 up to 6.4 %, 745 from 6.5 %, which
    means diabetes). The questions about diabetes themselves are left out. 7.6 % of the values
    are missing.

    Prices are relative points by category: Demographics 2, Questionnaire 4, Dietary 4,
    Examination 5, Laboratory 9. No fee is shared.

    Returns
    -------
    Dataset
        With `categories`.

    Notes
    -----
    Source: National Center for Health Statistics, National Health and Nutrition Examination
    Survey 2017-2018; a work of the US government, in the public domain. The task was built for
    this package, it is not a published benchmark. Prices: the values of Kachuee et al.,
    "Cost-sensitive diagnosis and learning leveraging public health data" (2019).
    """
    return to_dataset(
        read_npz(NHANES_FILE),
        name="nhanes",
        unit="points",
        source=(
            "National Center for Health Statistics, National Health and Nutrition Examination "
            "Survey 2017-2018, https://wwwn.cdc.gov/nchs/nhanes; "
            "prices: Kachuee et al., Cost-sensitive diagnosis and learning (2019)"
        ),
        licence="Public domain (work of the US government)",
    )


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

    miniboone, all 130,064 rows, is made of the published text: after a first line with the numbers
    of signal and background rows come 50 values a row, all of signal (class 1) first.

    heart_statlog holds 270 of the 303 patients of `load_heart`: never use both as independent
    data. The value ``FTI`` of thyroid_ann is computed from ``TT4`` and ``T4U``; in `costs` it is
    priced as both together, in `prices` it requires them. The discounts of thyroid_ann assume the
    fee of 2.10 dollars for taking blood that is published for the other medical sets.
    """
    if name not in CATALOGUE:
        raise DatasetError(
            f"There is no data set {name!r}. Choose one of {', '.join(CATALOGUE)}; the two that "
            "come with the package are loaded by load_heart() and load_nhanes()."
        )
    entry = CATALOGUE[name]
    place = cache_folder() if folder is None else Path(folder)
    about = {key: getattr(entry, key) for key in ("unit", "source", "licence", "requires")}
    dataset = to_dataset(_arrays(entry, place, may_download=download), name=name, **about)
    n_features = dataset.X.shape[1]
    counts = tuple(np.bincount(dataset.y, minlength=len(dataset.target_names)).tolist())
    if n_features != entry.n_features or counts != entry.class_counts:
        raise DatasetError(
            f"This is not the published data set {name!r}: it has {n_features} features and "
            f"classes of {counts} samples instead of {entry.n_features} and "
            f"{entry.class_counts}. Replace the file by an undamaged copy."
        )
    return dataset


def cache_folder() -> Path:
    """Return the folder of this user where downloads are kept; it need not exist yet."""
    return Path(_pooch().os_cache("thriftwood"))


def _pooch() -> Any:
    return library("pooch", "datasets", "Downloading a data set")


def _arrays(entry: Entry, folder: Path, *, may_download: bool) -> Arrays:
    archive = folder / f"{entry.name}.npz"
    if archive.exists():
        return read_npz(archive)
    if not entry.files:
        raise DatasetError(
            f"The folder {folder} has no file {archive.name}, and that cannot be downloaded, since "
            f"no checksum of it is published. Its source is: {entry.source}. Save it there as "
            "load_dataset describes."
        )
    paths = []
    for url, sha256 in entry.files.items():
        path = folder / url.rpartition("/")[2]
        if path.exists():
            check(path, sha256)
        elif may_download:
            fetch(url, sha256, path)
        else:
            raise DatasetError(
                f"The folder {folder} has neither {archive.name} nor {path.name}. Allow the "
                f"download, or fetch {url} and save it there."
            )
        paths.append(path)
    return entry.read(paths)


def check(path: Path, sha256: str) -> None:
    """Refuse a file that has another checksum."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise DatasetError(
            f"The file {path} is not the published one: its sha256 is {found} instead of "
            f"{sha256}. Delete it and load again, and it will be downloaded anew."
        )


def fetch(url: str, sha256: str, path: Path) -> None:
    """Download a file, which is there only when it is whole and its checksum is right."""
    try:
        _pooch().retrieve(url, sha256, path.name, path.parent)
    except (OSError, ValueError) as problem:  # the network or the disk, the checksum
        raise DatasetError(
            f"Could not download {url} to {path.parent}: {problem}. Check the network and the "
            f"folder. Or fetch it by other means and save it as {path} (sha256 {sha256})."
        ) from problem
