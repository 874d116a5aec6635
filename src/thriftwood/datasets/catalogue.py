"""What is known of the data sets that do not come with the package.

The checksums are those of the files at their publisher, each recorded by at least two independent
projects; those of sonar and heart_statlog were also computed anew from the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from thriftwood.datasets import originals
from thriftwood.datasets.arrays import Arrays

_UCI = "https://archive.ics.uci.edu"
_UCI_FILES = f"{_UCI}/ml/machine-learning-databases"
_TURNEY = "prices: Ontario fee schedule, published by P. Turney, JAIR 2 (1995)"


@dataclass(frozen=True)
class PublishedFile:
    """A file at its publisher, and the checksum that it must have."""

    url: str
    sha256: str

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Entry:
    """One data set: what it must look like and where it comes from.

    `files` and `read` are empty where no checksum of the published file is known, or where the
    set is not a published file; it can then only be read from a folder.
    """

    name: str
    n_features: int
    class_counts: tuple[int, ...]
    source: str
    licence: str
    unit: str = "features"
    files: tuple[PublishedFile, ...] = ()
    read: Callable[[Sequence[Path]], Arrays] | None = None
    requires: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry(
            name="covertype",
            n_features=54,
            class_counts=(211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510),
            source=f"UCI Machine Learning Repository, Covertype, {_UCI}/dataset/31/covertype",
            licence="CC BY 4.0 (Jock A. Blackard and Colorado State University)",
            files=(
                PublishedFile(
                    f"{_UCI_FILES}/covtype/covtype.data.gz",
                    "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
                ),
            ),
            read=originals.read_covertype,
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
            files=(
                PublishedFile(
                    f"{_UCI_FILES}/undocumented/connectionist-bench/sonar/sonar.all-data",
                    "e90434cdbf00fcf93ffa911fe447ae25606979658e60f1d32e155c3b5240234d",
                ),
            ),
            read=originals.read_sonar,
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
            files=(
                PublishedFile(
                    f"{_UCI_FILES}/statlog/heart/heart.dat",
                    "f5f3b4204c285bafadd85cb735f38b47689f2be7047feb172dcbeab648110bf9",
                ),
            ),
            read=originals.read_heart_statlog,
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
            files=(
                PublishedFile(
                    f"{_UCI_FILES}/thyroid-disease/ann-train.data",
                    "3da53a156bda36cb0c97e9f4b6b111c9226c54c4aa00230de5604b787c47e3a6",
                ),
                PublishedFile(
                    f"{_UCI_FILES}/thyroid-disease/ann-test.data",
                    "c649ea19416e78c7996cfaaa2a9e281cb597d4b075aaa68c494fc3e4ee3aa30b",
                ),
            ),
            read=originals.read_thyroid_ann,
            requires={"FTI": ("TT4", "T4U")},
        ),
    )
}

DATASET_NAMES = tuple(CATALOGUE)
