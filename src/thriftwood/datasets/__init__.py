"""Real data sets with the price of every feature.

Law of this folder: a `Dataset` holds exactly what its source published, checked on the way in,
or `DatasetError` says what is missing or damaged and what to do.

Two sets come with the package (`load_heart`, `load_nhanes`); the others of the benchmark are read
from a folder, or fetched from their publisher where a checksum is known (`load_dataset`).
"""

from thriftwood.datasets.catalogue import DATASET_NAMES
from thriftwood.datasets.dataset import Dataset
from thriftwood.datasets.load import load_dataset, load_heart, load_nhanes

__all__ = ["DATASET_NAMES", "Dataset", "load_dataset", "load_heart", "load_nhanes"]


def __dir__() -> list[str]:
    return __all__
