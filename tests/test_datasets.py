"""Data sets: what was published is what is loaded, and nothing half-fetched ever stays."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
from shared_data import SHARED, needs_shared_data
from sklearn.tree import DecisionTreeClassifier

from thriftwood.datasets import (
    DATASET_NAMES,
    Dataset,
    load_dataset,
    load_heart,
    load_nhanes,
)
from thriftwood.datasets.catalogue import CATALOGUE, HEART_FILE, NHANES_FILE
from thriftwood.datasets.dataset import to_dataset
from thriftwood.errors import DatasetError, MissingLibraryError, ThriftwoodError

BUNDLED = [load_heart, load_nhanes]


# --- the two sets that come with the package


def test_heart_is_the_published_one() -> None:
    heart = load_heart()
    assert heart.X.shape == (303, 13)
    assert class_counts(heart) == {"no_disease": 164, "disease": 139}
    missing = dict(zip(heart.feature_names, np.isnan(heart.X).sum(axis=0), strict=True))
    assert {name: n for name, n in missing.items() if n} == {"ca": 4, "thal": 2}
    assert heart.X[0].tolist()[:5] == [63, 1, 1, 145, 233]
    assert heart.split is None
    assert heart.categories is None


def test_heart_prices_are_those_of_turney() -> None:
    heart = load_heart()
    assert heart.unit == "CAD"
    assert dict(zip(heart.feature_names, heart.costs.tolist(), strict=True)) == {
        "age": 1,
        "sex": 1,
        "cp": 1,
        "trestbps": 1,
        "chol": 7.27,
        "fbs": 5.20,
        "restecg": 15.50,
        "thalach": 102.90,
        "exang": 87.30,
        "oldpeak": 87.30,
        "slope": 87.30,
        "ca": 100.90,
        "thal": 102.90,
    }


def test_grouped_tests_of_heart_share_a_fee() -> None:
    heart = load_heart()
    assert heart.group_fees == {"A": 2.10, "B": 101.90, "C": 86.30}
    assert members(heart, "A") == {"chol", "fbs"}
    assert members(heart, "B") == {"thalach", "thal"}
    assert members(heart, "C") == {"exang", "oldpeak", "slope"}


def test_nhanes_is_as_documented() -> None:
    nhanes = load_nhanes()
    assert nhanes.X.shape == (5018, 123)
    assert list(class_counts(nhanes).values()) == [2722, 1551, 745]
    assert np.isnan(nhanes.X).sum() == 46_826
    assert len(set(nhanes.feature_names)) == 123


def test_nhanes_prices_follow_the_category_and_share_no_fee() -> None:
    nhanes = load_nhanes()
    assert nhanes.categories is not None
    assert dict(zip(nhanes.categories, nhanes.costs.tolist(), strict=True)) == {
        "Demographics": 2,
        "Questionnaire": 4,
        "Dietary": 4,
        "Examination": 5,
        "Laboratory": 9,
    }
    assert len(set(zip(nhanes.categories, nhanes.costs.tolist(), strict=True))) == 5
    assert nhanes.cost_groups is None
    assert nhanes.costs_in_group is None
    assert nhanes.group_fees == {}


@pytest.mark.parametrize("load", BUNDLED)
def test_source_and_licence_are_named_in_object_docstring_and_beside_the_file(load) -> None:
    dataset = load()
    readme = (HEART_FILE.parent / "README.md").read_text(encoding="utf-8")
    licence = dataset.licence.split(" (")[0]
    for text in (load.__doc__, readme):
        assert licence.lower() in text.lower()
        assert dataset.source.split(",")[0] in " ".join(text.split())
    assert "https://" in dataset.source


@pytest.mark.parametrize("path", [HEART_FILE, NHANES_FILE])
def test_bundled_files_hold_plain_arrays_only(path: Path) -> None:
    with np.load(path, allow_pickle=False) as archive:
        kinds = {archive[key].dtype.kind for key in archive.files}
    assert kinds <= set("fiuU")


def test_nothing_else_is_bundled() -> None:
    assert {path.name for path in HEART_FILE.parent.iterdir()} == {
        HEART_FILE.name,
        NHANES_FILE.name,
        "README.md",
    }


# --- the noun


@pytest.mark.parametrize("load", BUNDLED)
def test_arrays_have_one_type_and_are_the_callers_own(load) -> None:
    dataset = load()
    assert dataset.X.dtype == np.float32
    assert dataset.X.flags.c_contiguous
    assert dataset.y.dtype == np.int64
    assert dataset.costs.dtype == np.float64
    for array in (dataset.X, dataset.y, dataset.costs, dataset.costs_in_group):
        assert array is None or array.flags.writeable


@pytest.mark.parametrize("load", BUNDLED)
def test_two_loads_are_equal_and_independent(load) -> None:
    one, other = load(), load()
    assert_same(one, other)
    assert not np.shares_memory(one.X, other.X)
    with pytest.raises(FrozenInstanceError):
        one.name = "mine"


def test_no_discount_without_a_group_and_none_above_the_price() -> None:
    heart = load_heart()
    assert heart.cost_groups is not None
    assert heart.costs_in_group is not None
    alone = np.array(heart.cost_groups) == ""
    assert (heart.costs_in_group[alone] == heart.costs[alone]).all()
    assert (heart.costs_in_group <= heart.costs).all()


def test_frame_is_an_own_copy_with_names() -> None:
    pytest.importorskip("pandas")
    heart = load_heart()
    frame = heart.frame()
    assert tuple(frame.columns) == heart.feature_names
    np.testing.assert_array_equal(frame.to_numpy(), heart.X)
    frame.loc[0, "age"] = 99.0
    assert heart.X[0, 0] == 63


def test_any_columns_of_a_frame_train_a_tree() -> None:
    pytest.importorskip("pandas")
    heart = load_heart()
    for columns in (["age"], ["thal"], ["ca", "thal"], list(heart.feature_names)):
        tree = DecisionTreeClassifier(max_depth=1).fit(heart.frame()[columns], heart.y)
        assert tuple(tree.feature_names_in_) == tuple(columns)


def test_frame_without_pandas_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingLibraryError, match=r'needs pandas: pip install "thriftwood\[cli\]"'):
        load_heart().frame()


def test_repr_is_one_short_line() -> None:
    assert repr(load_heart()) == (
        "<Dataset heart: 303 samples, 13 features at 1 to 102.9 CAD, 2 classes>"
    )


def test_importing_brings_only_numpy() -> None:
    program = (
        "import sys, types; package = types.ModuleType('thriftwood');"
        # Without the package's own __init__, which may import what it likes.
        f"package.__path__ = [{str(HEART_FILE.parents[2])!r}];"
        "sys.modules['thriftwood'] = package;"
        "import thriftwood.datasets; thriftwood.datasets.load_heart();"
        "print([m for m in ('sklearn', 'scipy', 'pandas', 'numba') if m in sys.modules],"
        "sorted(m for m in sys.modules if m.startswith('thriftwood.') and m.count('.') == 1))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    needed = [f"thriftwood.{name}" for name in ("costs", "datasets", "errors", "support")]
    assert done.stdout.strip() == f"[] {needed}"


# --- checks on the way in


def tiny_arrays() -> dict[str, np.ndarray]:
    return {
        "X": np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]]),
        "y": np.array([0, 1]),
        "feature_names": np.array(["a", "b", "c"]),
        "target_names": np.array(["no", "yes"]),
        "costs": np.array([3.0, 2.0, 1.0]),
        "costs_discount": np.array([2.5, 1.5, 1.0]),
        "cost_group": np.array(["G", "G", ""]),
        "split": np.array([0, 2]),
    }


def tiny_dataset(**changes: np.ndarray | None) -> Dataset:
    arrays = {k: v for k, v in (tiny_arrays() | changes).items() if v is not None}
    return to_dataset(arrays, name="tiny", unit="coins", source="here", licence="free")


def test_arrays_that_fit_become_a_dataset() -> None:
    tiny = tiny_dataset()
    assert tiny.group_fees == {"G": 0.5}
    assert tiny.split is not None
    assert tiny.split.tolist() == [0, 2]


def test_without_prices_each_feature_costs_one() -> None:
    free = dict.fromkeys(("costs", "costs_discount", "cost_group"))
    assert tiny_dataset(**free).costs.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"X": None}, "no array 'X'"),
        ({"target_names": None}, "no array 'target_names'"),
        ({"X": np.zeros(3)}, "table of numbers"),
        ({"X": np.zeros((0, 3))}, "table of numbers"),
        ({"X": np.array([["a", "b", "c"]] * 2)}, "table of numbers"),
        ({"y": np.array([0, 1, 1])}, "y has shape"),
        ({"y": np.array([0, 2])}, "from 0 to 1"),
        ({"y": np.array([-1, 1])}, "from 0 to 1"),
        ({"y": np.array([0.5, 1.0])}, "from 0 to 1"),
        ({"feature_names": np.array(["a", "b"])}, "feature_names has shape"),
        ({"feature_names": np.array([1, 2, 3])}, "should hold text"),
        ({"split": np.array([0, 3])}, "split should hold"),
        ({"costs": np.array([1.0, np.nan, 1.0])}, "prices of zero or more"),
        ({"costs": np.array([1.0, -1.0, 1.0])}, "prices of zero or more"),
        ({"cost_group": None}, "only make sense together"),
        ({"costs": None}, "without costs"),
        ({"costs_discount": np.array([2.5, 1.0, 1.0])}, "'G' do not share one fee"),
        ({"costs_discount": np.array([2.5, 1.5, 0.5])}, "'' do not share one fee"),
        ({"costs_discount": np.array([3.5, 2.5, 1.0])}, "'G' do not share one fee"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(changes, sentence: str) -> None:
    with pytest.raises(DatasetError, match=f"'tiny' is damaged: .*{sentence}"):
        tiny_dataset(**changes)


# --- the sets that are read from a folder


# The full MiniBooNE is read where a user has it; of the folder it is no part.
@needs_shared_data
@pytest.mark.parametrize("name", [name for name in DATASET_NAMES if name != "miniboone"])
def test_prepared_sets_have_the_published_size(name: str) -> None:
    dataset = load_dataset(name, SHARED, download=False)
    assert dataset.X.dtype == np.float32
    assert tuple(class_counts(dataset).values()) == CATALOGUE[name].class_counts
    assert (dataset.costs >= 1).all()
    assert (dataset.unit == "CAD") == (dataset.costs > 1).any()


@needs_shared_data
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("miniboone_tiny", [2000, 1000, 2000]),
        ("cifar10_coates400", [50_000, 0, 10_000]),
        ("thyroid_ann", [3772, 0, 3428]),
    ],
)
def test_published_splits(name: str, sizes: list[int]) -> None:
    split = load_dataset(name, SHARED).split
    assert split is not None
    assert np.bincount(split, minlength=3).tolist() == sizes


@needs_shared_data
def test_taking_blood_costs_the_same_in_all_medical_sets() -> None:
    for name in ("heart_statlog", "pima_diabetes", "thyroid_ann"):
        assert load_dataset(name, SHARED).group_fees["A"] == 2.10


@needs_shared_data
@pytest.mark.parametrize("path", [HEART_FILE, NHANES_FILE])
def test_bundled_files_are_the_prepared_ones(path: Path) -> None:
    assert path.read_bytes() == (SHARED / path.name).read_bytes()


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(DatasetError, match=r"no data set 'iris'.*covertype.*load_heart\(\)"):
        load_dataset("iris")


@pytest.mark.parametrize("name", [n for n in DATASET_NAMES if not CATALOGUE[n].files])
def test_set_without_checksum_names_its_source(name: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=rf"no file {name}\.npz.*cannot be downloaded") as caught:
        load_dataset(name, tmp_path)
    assert CATALOGUE[name].source in str(caught.value)
    assert isinstance(caught.value, ThriftwoodError)


def test_the_full_miniboone_is_read_from_a_folder(tmp_path: Path) -> None:
    signal, background = 36_499, 93_565
    X = np.zeros((signal + background, 50), dtype=np.float32)
    y = np.repeat([1, 0], [signal, background])
    names = {
        "feature_names": [f"f{k}" for k in range(50)],
        "target_names": ["background", "signal"],
    }
    np.savez_compressed(tmp_path / "miniboone.npz", X=X, y=y, **names)
    assert class_counts(load_dataset("miniboone", tmp_path)) == {
        "background": background,
        "signal": signal,
    }


def test_download_can_be_forbidden(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"neither sonar\.npz nor sonar\.all-data"):
        load_dataset("sonar", tmp_path, download=False)


@pytest.mark.parametrize(
    "content", [b"", b"not an archive", b"\x80\x04N.", HEART_FILE.read_bytes()[:3000]]
)
def test_damaged_archive_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "sonar.npz"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"sonar\.npz cannot be read.*Replace it"):
        load_dataset("sonar", tmp_path)


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "sonar.npz", X=np.array([{"code": "runs"}], dtype=object))
    with pytest.raises(DatasetError, match="cannot be read: Object arrays cannot be loaded"):
        load_dataset("sonar", tmp_path)


def test_another_set_under_the_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pima_diabetes.npz").write_bytes(HEART_FILE.read_bytes())
    with pytest.raises(
        DatasetError, match=r"not the published data set.*13 features.*instead of 8"
    ):
        load_dataset("pima_diabetes", tmp_path)


def test_damaged_original_is_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "heart.dat").write_text("1 2 3")
    with pytest.raises(DatasetError, match=r"heart\.dat is not the published one.*Delete it"):
        load_dataset("heart_statlog", tmp_path)


# --- originals: the text of the publisher gives the same data set


def original_texts(name: str, dataset: Dataset) -> list[bytes]:
    """Write the published files anew from the values."""
    X, y = dataset.X, dataset.y
    if name == "sonar":
        rows = [",".join(f"{v:.4f}" for v in x) + "," + "RM"[c] for x, c in zip(X, y, strict=True)]
        return [("\n".join(rows) + "\n").encode()]
    if name == "heart_statlog":
        rows = [" ".join(f"{v:.1f}" for v in x) + f" {c + 1}" for x, c in zip(X, y, strict=True)]
        return [("\n".join(rows) + "\n").encode()]
    if name == "covertype":
        rows = [",".join(f"{v:.0f}" for v in x) + f",{c + 1}" for x, c in zip(X, y, strict=True)]
        return [gzip.compress("\n".join(rows).encode())]
    assert dataset.split is not None
    rows = [" ".join(f"{v:.9g}" for v in x) + f" {c + 1}  " for x, c in zip(X, y, strict=True)]
    return [
        "\n".join(row for row, part in zip(rows, dataset.split, strict=True) if part == k).encode()
        for k in (0, 2)
    ]


@needs_shared_data
@pytest.mark.parametrize("name", ["sonar", "heart_statlog"])
def test_checksums_are_those_of_the_values(name: str) -> None:
    [text] = original_texts(name, load_dataset(name, SHARED))
    assert hashlib.sha256(text).hexdigest() == next(iter(CATALOGUE[name].files.values()))


def shortened(dataset: Dataset, n: int) -> Dataset:
    """Take every k-th example, about `n` of them."""
    some = slice(None, None, max(1, len(dataset.y) // n))
    split = None if dataset.split is None else dataset.split[some]
    return replace(dataset, X=dataset.X[some], y=dataset.y[some], split=split)


def test_every_checksum_is_whole_and_every_file_is_at_its_publisher() -> None:
    files = {url: sha256 for entry in CATALOGUE.values() for url, sha256 in entry.files.items()}
    assert len(set(files.values())) == len(files) == 5
    for url, sha256 in files.items():
        assert len(bytes.fromhex(sha256)) == 32
        assert url.startswith("https://archive.ics.uci.edu/")


# --- vocabulary


def class_counts(dataset: Dataset) -> dict[str, int]:
    counts = np.bincount(dataset.y, minlength=len(dataset.target_names))
    return dict(zip(dataset.target_names, counts.tolist(), strict=True))


def members(dataset: Dataset, group: str) -> set[str]:
    assert dataset.cost_groups is not None
    pairs = zip(dataset.feature_names, dataset.cost_groups, strict=True)
    return {name for name, of_group in pairs if of_group == group}


def assert_same(one: Dataset, other: Dataset) -> None:
    for field in ("X", "y", "costs", "costs_in_group", "split"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)
    for field in ("name", "feature_names", "target_names", "cost_groups", "categories", "unit"):
        assert getattr(one, field) == getattr(other, field)
