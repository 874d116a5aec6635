"""Files that are no models, models that a file cannot hold, and code that must not run."""

import io
import json
import os
import pickle
import re
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import boosters_lightgbm
import numpy as np
import pytest
import skops.io
import xgboost_models
from catboost import CatBoostClassifier
from models import fitted
from paths import FOREST, HEART, PATH
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from thriftwood.errors import (
    InputError,
    MissingLibraryError,
    ThriftwoodError,
    UnfittedModelError,
    UnsupportedModelError,
)
from thriftwood.formats import trial
from thriftwood.formats.export import from_skops, to_skops
from thriftwood.formats.models import (
    check_model_file,
    model_format,
    read_model,
    write_model_file,
)


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)).fit(
        HEART.X[:, :2], HEART.y
    )


# --- pickles


class Trap:
    """Something whose pickle makes a folder when it is read."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "model.skops", "model.txt", "model"])
def test_a_pickle_runs_nothing_without_trust(name, tmp_path):
    file, mark = tmp_path / name, tmp_path / "it_ran"
    file.write_bytes(pickle.dumps(Trap(mark)))
    assert model_format(file) == "pickle"
    with pytest.raises(InputError, match=r"is a pickle: .* run .*--trust-pickle.*to_skops\(model"):
        read_model(file)
    assert not mark.exists()
    with pytest.raises(UnsupportedModelError, match=rf"{name}: NoneType has no trees"):
        read_model(file, trust_pickle=True)
    assert mark.exists()  # so the trap does work


def test_trusted_pickles_that_hold_no_model(tmp_path):
    file = tmp_path / "model.pkl"
    file.write_bytes(pickle.dumps({"model": 3}))
    with pytest.raises(UnsupportedModelError, match=r"model\.pkl: dict has no trees"):
        read_model(file, trust_pickle=True)
    file.write_bytes(pickle.dumps(fitted("stump").model)[:200])
    with pytest.raises(InputError, match=r"model\.pkl is no whole pickle file: .*\.$"):
        read_model(file, trust_pickle=True)
    file.write_bytes(b"\x80\x04cno_such_library_at_all\nModel\n.")
    with pytest.raises(MissingLibraryError, match="of no_such_library_at_all, which is not inst"):
        read_model(file, trust_pickle=True)
    file.write_bytes(b"\x80\x04cthriftwood\nNoSuchClass\n.")
    with pytest.raises(InputError, match=r"defined nowhere here .*NoSuchClass.*to_skops"):
        read_model(file, trust_pickle=True)


# --- files that are no models

NO_MODEL = r"holds no model that Thriftwood reads, or is damaged.* and end in \.skops, "


def test_places_that_are_none(tmp_path):
    with pytest.raises(InputError, match=r"There is no file .*lost"):
        read_model(tmp_path / "lost.skops")
    with pytest.raises(InputError, match="is a folder"):
        read_model(tmp_path)
    (tmp_path / "empty.skops").touch()
    with pytest.raises(InputError, match=r"empty\.skops is empty\."):
        read_model(tmp_path / "empty.skops")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("m.txt", b"hello\n", f"m.txt {NO_MODEL}"),
        ("m.json", b'{"learner": {"attr', NO_MODEL),
        ("m.skops", b"PK hello", NO_MODEL),
        ("m.csv", b"a,b\n1,2\n", NO_MODEL),
        ("m.txt", b"booster[0]:\n0:[f0<1]", NO_MODEL),  # a dump of XGBoost
        ("m.onnx", b"\x08\x09", "for prediction alone: ONNX keeps only what the leaves .*original"),
        ("m.txt", b"tree\nversion=v4\n\nTree=0\n", "no whole LightGBM text file: .*'end of trees'"),
        ("m.txt", b"tree\nversion=v4\nend of trees\n", "is no whole LightGBM text file: "),
        ("m.cbm", b"CBM1hello", "is no whole CatBoost file: it seems cut off"),
        ("m.json", b'{"learner": 3}', r"is no whole XGBoost file: [^\n]*Invalid cast[^\n]*\.$"),
        ("m.json", b'{"format": "x", "trees": []}', "is not a forest that this version reads"),
        ("m.json", b'{"model_info": 1, "scale_and_bias": 2}', r"m\.json is (damaged|no whole)"),
        (
            "m.json",
            b'{"model_info": {}, "scale_and_bias": [1, 2], "trees": [{"left": {"value": 1}}]}',
            "is damaged, perhaps cut off: CatBoost itself crashes on it. Copy it again, or write",
        ),
    ],
)
def test_what_is_no_model_is_said_in_a_sentence(name, content, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_model(tmp_path / name)


def test_a_path_is_no_model(tmp_path):
    PATH.save(tmp_path / "path.npz")
    with pytest.raises(InputError, match=r"holds a path of prunings, not a model: .*load"):
        read_model(tmp_path / "path.npz")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("suffix", [".txt", ".json", ".ubj", ".tw", ".skops"])
def test_files_that_were_cut(suffix, share, tmp_path):
    model = {
        ".txt": boosters_lightgbm.grown("binary").model,
        ".json": xgboost_models.fitted("booster_logistic").model,
        ".ubj": xgboost_models.fitted("booster_logistic").model,
        ".tw": PATH.cascade(HEART.X, HEART.y, stages=2),
        ".skops": fitted("stump").model,
    }[suffix]
    file = tmp_path / f"m{suffix}"
    write_model_file(model, file)
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ThriftwoodError, match=f"m{suffix} "):
        read_model(file)


def test_trees_that_lead_nowhere(tmp_path):
    document = json.loads(xgboost_models.fitted("booster_logistic").model.save_raw("json"))
    document["learner"]["gradient_booster"]["model"]["trees"][0]["left_children"][0] = 999
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(ThriftwoodError, match=r"m\.json"):
        read_model(tmp_path / "m.json")


def test_a_text_of_lightgbm_that_is_cut_off_anywhere(tmp_path):
    """Some of these end the whole process where LightGBM gets to read them."""
    text = boosters_lightgbm.grown("binary").model.model_to_string()
    first_tree = text.index("Tree=0")
    for length in (60, 150, first_tree - 30, first_tree - 1, first_tree + 50, len(text) // 2):
        (tmp_path / "m.txt").write_text(text[:length])
        with pytest.raises(InputError, match=r"m\.txt is no whole LightGBM text file: "):
            read_model(tmp_path / "m.txt")


def lightgbm_with(line):
    """Return a text of LightGBM in which the first entry of a line is another."""
    name, _, wrong = line.partition("=")
    text = boosters_lightgbm.grown("binary").model.model_to_string()
    found = re.search(rf"^{re.escape(name)}=(\S+)", text, re.M)
    return (text[: found.start(1)] + wrong + text[found.end(1) :]).encode()


def xgboost_with(number, binary=False):
    """Return a model of XGBoost in which a node has another parent."""
    booster = xgboost_models.fitted("booster_logistic").model
    document = json.loads(booster.save_raw("json"))
    parents = document["learner"]["gradient_booster"]["model"]["trees"][0]["parents"]
    parents[3] = number
    if not binary:
        return json.dumps(document).encode()
    raw = bytes(booster.save_raw("ubj"))
    place = raw.index(b"parents[$l#L") + len(b"parents[$l#L") + 8 + 4 * 3
    return raw[:place] + number.to_bytes(4, "big", signed=True) + raw[place + 4 :]


def catboost_with(number):
    """Return a model of CatBoost in which a level of a tree asks for another border."""
    model = CatBoostClassifier(iterations=2, depth=2, verbose=0, allow_writing_files=False)
    with TemporaryDirectory() as folder:
        model.fit(HEART.X, HEART.y).save_model(f"{folder}/m.json", format="json")
        document = json.loads(Path(folder, "m.json").read_text())
    document["oblivious_trees"][0]["splits"][0]["split_index"] = number
    return json.dumps(document).encode()


DAMAGED = {
    "no tree in an iteration": ("m.txt", lambda: lightgbm_with("num_tree_per_iteration=0")),
    "a broken parameter": (
        "m.txt",
        lambda: lightgbm_with("num_class=1").replace(b"[max_bin: 255]", b"[max_bin"),
    ),
    "2 billion classes": ("m.txt", lambda: lightgbm_with("num_class=2000000000")),
    "a child that is not there": ("m.txt", lambda: lightgbm_with("left_child=9")),
    "a leaf that is not there": ("m.txt", lambda: lightgbm_with("right_child=-99")),
    "a feature that is not there": ("m.txt", lambda: lightgbm_with("split_feature=70")),
    "a zero byte": ("m.txt", lambda: lightgbm_with("feature_names=a\0b")),
    "a parent below 0": ("m.json", lambda: xgboost_with(-1)),
    "a parent far away": ("m.ubj", lambda: xgboost_with(524290, binary=True)),
    "a border that is not there": ("m.json", lambda: catboost_with(65535)),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damage_that_would_end_the_process(what, tmp_path):
    """Each of these does, or writes where it should not, where the library reads it at once."""
    name, content = DAMAGED[what]
    (tmp_path / name).write_bytes(content())
    with pytest.raises(ThriftwoodError, match=rf"{name}(:| is) .*\.$"):
        read_model(tmp_path / name)


def test_a_file_of_skops_that_is_cut_off(tmp_path):
    to_skops(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]), tmp_path / "m.skops")
    whole = (tmp_path / "m.skops").read_bytes()
    (tmp_path / "m.skops").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=rf"m\.skops {NO_MODEL}"):
        read_model(tmp_path / "m.skops")


def test_a_tree_of_skops_whose_nodes_are_no_row(tmp_path):
    """scikit-learn looks for their number where there is none, and ends the process."""
    to_skops(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]), tmp_path / "whole.skops")
    with (
        zipfile.ZipFile(tmp_path / "whole.skops") as whole,
        zipfile.ZipFile(tmp_path / "m.skops", "w") as damaged,
    ):
        for name in whole.namelist():
            content = whole.read(name)
            if name.endswith(".npy") and np.load(io.BytesIO(content)).dtype.names:
                stream = io.BytesIO()
                np.save(stream, np.load(io.BytesIO(content))[0])
                content = stream.getvalue()
            damaged.writestr(name, content)
    for read in (read_model, from_skops):
        with pytest.raises(InputError, match="not a whole file of skops: the nodes of"):
            read(tmp_path / "m.skops")


def test_a_booster_of_skops_that_would_end_the_process(tmp_path):
    to_skops(boosters_lightgbm.grown("binary").model, tmp_path / "whole.skops")
    with (
        zipfile.ZipFile(tmp_path / "whole.skops") as whole,
        zipfile.ZipFile(tmp_path / "m.skops", "w") as damaged,
    ):
        for name in whole.namelist():
            content = whole.read(name)
            wrong = content.replace(b"num_tree_per_iteration=1", b"num_tree_per_iteration=0")
            damaged.writestr(name, wrong)
    with pytest.raises(InputError, match=r"m\.skops is damaged.* itself crashes on it"):
        from_skops(tmp_path / "m.skops")


def test_what_a_library_says_is_cut_short(tmp_path):
    """XGBoost quotes the whole file."""
    document = json.loads(bytes(xgboost_models.fitted("booster_logistic").model.save_raw("json")))
    document["version"] = "x"
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"m\.json is no whole XGBoost file: ") as caught:
        read_model(tmp_path / "m.json")
    assert len(str(caught.value)) < 1000


def test_numbers_that_contradict_each_other(tmp_path):
    text = boosters_lightgbm.grown("binary").model.model_to_string()
    (tmp_path / "m.txt").write_text(text.replace("num_leaves=7", "num_leaves=0"))
    with pytest.raises(InputError, match=r"m\.txt is no whole LightGBM text file: "):
        read_model(tmp_path / "m.txt")


# --- models that are no trees


def test_models_that_cannot_be_read_are_told_with_their_file(tmp_path):
    file = tmp_path / "m.skops"
    skops.io.dump(LinearRegression().fit([[1.0]], [1.0]), file)
    with pytest.raises(UnsupportedModelError, match=r"m\.skops: LinearRegression has no trees"):
        read_model(file)
    skops.io.dump(DecisionTreeClassifier(), file)
    with pytest.raises(UnfittedModelError, match=r"m\.skops: .*not fitted"):
        read_model(file)


def test_missing_libraries_are_named(tmp_path, monkeypatch):
    write_model_file(boosters_lightgbm.grown("binary").model, tmp_path / "m.txt")
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    with pytest.raises(MissingLibraryError, match=r'pip install "thriftwood\[lightgbm\]"'):
        read_model(tmp_path / "m.txt")


# --- writing


@pytest.mark.parametrize(
    ("model", "name", "words"),
    [
        (lambda: FOREST, "m.txt", r"m\.txt .*RandomForestClassifier, as LightGBM text .*\.skops"),
        (lambda: FOREST, "m.json", "as XGBoost and CatBoost and Thriftwood JSON files cannot"),
        (lambda: FOREST, "m.onnx", "as ONNX keeps leaves only.*thriftwood export"),
        (lambda: FOREST, "m", r"RandomForestClassifier: let it end in \.skops, \.pkl"),
        (lambda: boosters_lightgbm.grown("binary").model, "m.json", r"end in \.skops, \.txt"),
        (lambda: PATH.cascade(HEART.X, HEART.y, stages=2), "m.skops", r"end in \.tw, \.pkl"),
        (
            lambda: boosters_lightgbm.grown("classifier_of_words").model,
            "m.txt",
            "classes 'high', 'low', 'middle', but LightGBM's text .*write .skops, or the `booster_",
        ),
        (
            lambda: IsolationForest(n_estimators=2).fit(HEART.X),
            "m.skops",
            "An IsolationForest is not read",
        ),
        (lambda: FOREST, "lost/m.skops", "There is no folder .*lost"),
    ],
)
def test_what_a_file_cannot_hold(model, name, words, tmp_path):
    """Also before the work begins."""
    for write in (write_model_file, check_model_file):
        with pytest.raises(ThriftwoodError, match=words):
            write(model(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_check_writes_nothing(tmp_path):
    check_model_file(FOREST, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "suffix", "method"),
    [
        ("booster_logistic", ".json", "xgboost.Booster.save_model"),
        ("booster_logistic", ".ubj", "pathlib.Path.write_bytes"),
    ],
)
def test_a_file_is_whole_or_as_it_was(kind, suffix, method, tmp_path, monkeypatch):
    file = tmp_path / f"m{suffix}"
    file.write_text("as it was")

    def full(*_given):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(method, full)
    with pytest.raises(InputError, match=r"m\.\w+ cannot be written: .*No space left on device"):
        write_model_file(xgboost_models.fitted(kind).model, file)
    assert file.read_text() == "as it was"
    assert [left.name for left in tmp_path.iterdir()] == [file.name]


def test_a_zip_of_an_unknown_version_is_refused(tmp_path):
    file = tmp_path / "m.skops"
    to_skops(fitted_tree(), file)
    content = file.read_bytes()
    place = content.index(b"PK\x01\x02") + 6  # the version that is needed to unpack it
    file.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
    with pytest.raises(InputError):
        read_model(file)


def test_what_a_library_quotes_of_a_file_is_cut_short(tmp_path):
    file = tmp_path / "m.skops"
    to_skops(fitted_tree(), file)
    content = file.read_bytes()
    place = content.index(b"PK\x03\x04") + 26  # how long the name of a member is
    file.write_bytes(content[:place] + b"\xff\x0f" + content[place + 2 :])
    with pytest.raises(InputError, match="is not a whole file of skops") as caught:
        read_model(file)
    assert len(str(caught.value)) < 500


def test_a_file_that_is_read_differently_each_time_is_refused():
    """As where parts of a damaged file lead a library beyond its memory."""
    trees = (fitted_tree(max_depth=depth) for depth in (2, 2, 2, 1, 2))
    with pytest.raises(ValueError, match="differently each time"):
        trial._use_often(lambda _: next(trees), None)


def fitted_tree(max_depth=3):
    X = np.random.default_rng(0).normal(size=(50, 3))
    return DecisionTreeClassifier(max_depth=max_depth, random_state=0).fit(X, X[:, 0] > X[:, 1])
