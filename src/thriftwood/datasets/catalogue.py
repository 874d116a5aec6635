"""Catalogue of the data sets that do not come with the package.

The checksums are those of the files at their publisher, each recorded by at least two independent
projects; those of sonar and heart_statlog were also computed anew from the values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from thriftwood.datasets.dataset import Arrays, read_npz

# The data sets that come with the package; data/README.md says where they are from.
HEART_FILE = Path(__file__).parent / "data" / "heart_cleveland.npz"
NHANES_FILE = HEART_FILE.with_name("nhanes2017_diabetes.npz")

_UCI = "https://archive.ics.uci.edu"
_UCI_FILES = f"{_UCI}/ml/machine-learning-databases"
_TURNEY = "prices: Ontario fee schedule, published by P. Turney, JAIR 2 (1995)"


@dataclass(frozen=True)
class Entry:
    """One data set: what it must look like and where it comes from.

    `files` are checksums (sha256) by address, empty where none is known or where the set is not a
    published file: it can then only be read from a folder. `loadtxt` says how NumPy reads them,
    `arrays` has what they leave out, besides names and prices of the set in the file `like`.
    """

    name: str
    n_features: int
    class_counts: tuple[int, ...]
    source: str
    licence: str
    unit: str = "features"
    files: Mapping[str, str] = field(default_factory=dict)
    loadtxt: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    like: Path | None = None
    requires: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def read(self, paths: Sequence[Path]) -> Arrays:
        """Read published files: numbers, then the class from 1 on; a second file is to test."""
        tables = [np.loadtxt(path, np.float32, ndmin=2, **self.loadtxt) for path in paths]
        table = np.concatenate(tables)
        arrays = {} if self.like is None else dict(read_npz(self.like))
        arrays |= {key: np.array(values) for key, values in self.arrays.items()}
        if len(tables) > 1:
            arrays["split"] = np.repeat([0, 2], [len(part) for part in tables])
        return {**arrays, "X": table[:, :-1], "y": table[:, -1].astype(np.int64) - 1}


_COVERTYPE_FEATURES = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
    *(f"Wilderness_Area{i}" for i in range(1, 5)),
    *(f"Soil_Type{i}" for i in range(1, 41)),
)
_COVERTYPE_CLASSES = (
    "Spruce/Fir",
    "Lodgepole Pine",
    "Ponderosa Pine",
    "Cottonwood/Willow",
    "Aspen",
    "Douglas-fir",
    "Krummholz",
)
_THYROID_QUESTIONS = (
    "age sex on_thyroxine query_on_thyroxine on_antithyroid_medication sick pregnant "
    "thyroid_surgery I131_treatment query_hypothyroid query_hyperthyroid lithium goitre tumor "
    "hypopituitary psych"
)
# Name, price on its own, price in the group, group (see `load_dataset` on FTI).
_THYROID_TESTS = (
    *((question, 1.0, 1.0, "") for question in _THYROID_QUESTIONS.split()),
    ("TSH", 22.78, 20.68, "A"),
    ("T3", 11.41, 9.31, "A"),
    ("TT4", 14.51, 12.41, "A"),
    ("T4U", 11.41, 9.31, "A"),
    ("FTI", 25.92, 0.0, "derived"),
)
_THYROID_ARRAYS = ("feature_names", "costs", "costs_discount", "cost_group")


CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry(
            name="covertype",
            n_features=54,
            class_counts=(211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510),
            source=f"UCI Machine Learning Repository, Covertype, {_UCI}/dataset/31/covertype",
            licence="CC BY 4.0 (Jock A. Blackard and Colorado State University)",
            files={
                f"{_UCI_FILES}/covtype/covtype.data.gz": (
                    "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771"
                ),
            },
            loadtxt={"delimiter": ","},
            arrays={"feature_names": _COVERTYPE_FEATURES, "target_names": _COVERTYPE_CLASSES},
        ),
        Entry(
            name="miniboone_tiny",
            n_features=50,
            class_counts=(2_500, 2_500),
            source=(
                "5,000 rows of MiniBooNE particle identification, UCI Machine Learning "
                f"Repository, {_UCI}/dataset/199/miniboone+particle+identification; the sample "
                "files mbne_tiny_* of https://github.com/fnan/FeatureBudgetedRandomForest"
            ),
            licence="CC BY 4.0",
        ),
        Entry(
            name="miniboone",
            n_features=50,
            class_counts=(93_565, 36_499),
            source=(
                "MiniBooNE particle identification, UCI Machine Learning Repository, "
                f"{_UCI}/dataset/199/miniboone+particle+identification; the published text begins "
                "with the numbers of signal and background rows, which follow without labels: "
                "signal is class 1"
            ),
            licence="CC BY 4.0",
        ),
        Entry(
            name="cifar10_coates400",
            n_features=400,
            class_counts=(6_000,) * 10,
            source=(
                "CIFAR-10 (Krizhevsky 2009), https://www.cs.toronto.edu/~kriz/cifar.html, as 400 "
                "features computed in the style of Coates and Ng 2011"
            ),
            licence="CIFAR-10 states no licence; cite Krizhevsky 2009",
        ),
        Entry(
            name="sonar",
            n_features=60,
            class_counts=(97, 111),
            source=(
                "UCI Machine Learning Repository, Connectionist Bench (Sonar, Mines vs. Rocks), "
                f"{_UCI}/dataset/151/connectionist+bench+sonar+mines+vs+rocks"
            ),
            licence="CC BY 4.0",
            files={
                f"{_UCI_FILES}/undocumented/connectionist-bench/sonar/sonar.all-data": (
                    "e90434cdbf00fcf93ffa911fe447ae25606979658e60f1d32e155c3b5240234d"
                ),
            },
            loadtxt={
                "delimiter": ",",
                "encoding": "ascii",
                "converters": {60: lambda letter: "RM".index(letter) + 1},
            },
            arrays={
                "feature_names": [f"band_{i:02}" for i in range(1, 61)],
                "target_names": ["R_rock", "M_mine"],
            },
        ),
        Entry(
            name="heart_statlog",
            n_features=13,
            class_counts=(150, 120),
            source=(
                "UCI Machine Learning Repository, Statlog (Heart), "
                f"{_UCI}/dataset/145/statlog+heart; {_TURNEY}"
            ),
            licence="CC BY 4.0",
            unit="CAD",
            files={
                f"{_UCI_FILES}/statlog/heart/heart.dat": (
                    "f5f3b4204c285bafadd85cb735f38b47689f2be7047feb172dcbeab648110bf9"
                ),
            },
            arrays={"target_names": ["absence", "presence"]},
            like=HEART_FILE,
        ),
        Entry(
            name="pima_diabetes",
            n_features=8,
            class_counts=(500, 268),
            source=(
                "Pima Indians Diabetes, National Institute of Diabetes and Digestive and Kidney "
                "Diseases; withdrawn from UCI, the same values are PimaIndiansDiabetes of the "
                f"R package mlbench; {_TURNEY}"
            ),
            licence="Usually redistributed as CC0",
            unit="CAD",
        ),
        Entry(
            name="thyroid_ann",
            n_features=21,
            class_counts=(166, 368, 6_666),
            source=(
                "UCI Machine Learning Repository, Thyroid Disease, ann-thyroid, "
                f"{_UCI}/dataset/102/thyroid+disease; {_TURNEY}"
            ),
            licence="CC BY 4.0",
            unit="CAD",
            files={
                f"{_UCI_FILES}/thyroid-disease/ann-train.data": (
                    "3da53a156bda36cb0c97e9f4b6b111c9226c54c4aa00230de5604b787c47e3a6"
                ),
                f"{_UCI_FILES}/thyroid-disease/ann-test.data": (
                    "c649ea19416e78c7996cfaaa2a9e281cb597d4b075aaa68c494fc3e4ee3aa30b"
                ),
            },
            arrays={
                **dict(zip(_THYROID_ARRAYS, zip(*_THYROID_TESTS, strict=True), strict=True)),
                "target_names": ["class_1", "class_2", "class_3_not_hypothyroid"],
            },
            requires={"FTI": ("TT4", "T4U")},
        ),
    )
}

DATASET_NAMES = tuple(CATALOGUE)
