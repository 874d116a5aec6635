"""A path in files, tables, pictures and words."""

import json
import math
import zipfile
from hashlib import sha256

import numpy as np
import pytest
from paths import FOREST, HEART, PATH, assert_same_path, heart_path
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.errors import InputError
from thriftwood.forest.files import save_arrays

NAMED = RandomForestClassifier(3, random_state=0).fit(HEART.frame(), HEART.y)


@pytest.mark.parametrize("with_model", [True, False])
def test_a_saved_path_comes_back(tmp_path, with_model):
    file = tmp_path / "path.tw"
    PATH.save(file)
    assert [entry.name for entry in tmp_path.iterdir()] == ["path.tw"]
    loaded = tw.PruningPath.load(file, FOREST if with_model else None)
    assert_same_path(loaded, PATH)
    assert loaded.original == PATH.original
    assert loaded.forest.feature_names == PATH.forest.feature_names
    point = loaded.at(budget=200)
    assert isinstance(point.model, RandomForestClassifier if with_model else tw.ForestModel)
    expected = PATH.at(budget=200).model.predict_proba(HEART.X)
    np.testing.assert_allclose(point.model.predict_proba(HEART.X), expected, atol=1e-12)
    assert point.n_splits == PATH.at(budget=200).n_splits
    measured = loaded.evaluate(HEART.X, HEART.y, points=[2])
    assert measured.error == PATH.evaluate(HEART.X, HEART.y, points=[2]).error


def test_groups_of_prices_come_back(tmp_path):
    file = tmp_path / "path.tw"
    path = heart_path(X=HEART.frame(), model=NAMED, costs=HEART.prices)
    assert path.prices.groups
    path.save(file)
    assert tw.PruningPath.load(file).prices.groups == path.prices.groups


@pytest.mark.parametrize("groups", [[["blood", [13]]], [["blood", [0.5]]], [["blood"]], 3, None])
def test_impossible_groups_are_refused(tmp_path, groups):
    file = tmp_path / "path.tw"
    PATH.save(file)
    rewrite(file, lambda _arrays, header: header["prices"].update(groups=groups))
    with pytest.raises(InputError, match="damaged"):
        tw.PruningPath.load(file)


def rewrite(file, change):
    """Change the arrays of a file, or what its header says, so that no checksum notices."""
    with np.load(file) as content:
        arrays = dict(content)
    header = json.loads(str(arrays.pop("header")))
    change(arrays, header)
    save_arrays(file, header, arrays)


def test_files_that_hold_no_path_are_refused(tmp_path):
    missing = tmp_path / "missing"
    with pytest.raises(InputError, match="There is no file"):
        tw.PruningPath.load(missing)
    text = tmp_path / "text"
    for content in ("hello", ""):
        text.write_text(content)
        with pytest.raises(InputError, match="no path that"):
            tw.PruningPath.load(text)
    file = tmp_path / "path.tw"
    PATH.save(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="damaged"):
        tw.PruningPath.load(file)
    with zipfile.ZipFile(file, "w") as damaged:
        damaged.writestr("header.npy", b"\x93NUMPY\x01\0\x02\0{(")  # NumPy reads it as Python
    with pytest.raises(InputError, match="damaged"):
        tw.PruningPath.load(file)
    file.write_bytes(whole)
    other = RandomForestClassifier(3, random_state=1).fit(HEART.X, HEART.y)
    with pytest.raises(InputError, match="another model"):
        tw.PruningPath.load(file, other)


def test_what_is_no_array_is_refused_though_the_checksum_is_right(tmp_path):
    file = tmp_path / "path.tw"
    PATH.save(file)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("note.txt", "text")
    body = file.read_bytes()[:-32]
    file.write_bytes(body + sha256(body).digest())
    with pytest.raises(InputError, match="damaged"):
        tw.PruningPath.load(file)


def test_a_file_of_a_later_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("thriftwood.pruning.storage.VERSION", 8)
    PATH.save(tmp_path / "path")
    monkeypatch.undo()
    with pytest.raises(InputError, match="version 8"):
        tw.PruningPath.load(tmp_path / "path")


def test_every_changed_byte_is_told(tmp_path):
    file = tmp_path / "path.tw"
    PATH.save(file)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    for place in (*rng.choice(len(whole), 60, replace=False), len(whole) - 1):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InputError, match=r"damaged|version"):
            tw.PruningPath.load(file)
    for wrong in (whole + b"0", whole[:-1]):
        file.write_bytes(wrong)
        with pytest.raises(InputError, match="damaged"):
            tw.PruningPath.load(file)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("drop_step", lambda steps: steps[:3]),
        ("drop_step", lambda steps: steps + 10**6),
        ("drop_step", lambda steps: steps.astype(float)),
        ("drop_step", lambda steps: np.where(steps > 0, steps - 1, steps)),
        ("prices_prices", lambda prices: prices[:1]),
        ("prices_prices", lambda prices: -prices),
        ("prices_cost_item", lambda cost_item: cost_item + 10**6),
        ("prices_start", lambda start: start[::-1]),
        ("losses", lambda losses: losses[1:]),
        ("losses", lambda losses: losses - 5),
        ("losses", lambda losses: losses * 1.01),
        ("costs", lambda costs: costs * 1.01),
        ("costs", lambda costs: costs[:, None]),
        ("tradeoffs", lambda tradeoffs: tradeoffs * 1.01),
        ("tradeoffs", lambda tradeoffs: tradeoffs.astype(str)),
        ("n_splits", lambda n_splits: n_splits + 1),
        ("n_features", lambda n_features: n_features.astype(float)),
        ("forest_left", lambda left: left + 1),
        ("forest_values", lambda values: values * 5),
        ("forest_values", lambda values: values - 5),
        ("forest_bias", lambda bias: bias + np.nan),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, name, change):
    file = tmp_path / "path.tw"
    for wrong in (
        lambda arrays, _header: arrays.update({name: change(arrays[name])}),
        lambda arrays, _header: arrays.pop(name),
    ):
        PATH.save(file)
        rewrite(file, wrong)
        with pytest.raises(InputError, match="damaged"):
            tw.PruningPath.load(file)


@pytest.mark.parametrize("loss", ["recorded_gain", "no loss", "\x1b[2J", "", 3, None])
def test_a_loss_that_no_such_model_has_is_refused(tmp_path, loss):
    PATH.save(tmp_path / "path.tw")
    rewrite(tmp_path / "path.tw", lambda _arrays, header: header.update(loss=loss))
    with pytest.raises(InputError, match="its loss is none of its model"):
        tw.PruningPath.load(tmp_path / "path.tw")


@pytest.mark.parametrize("loss", [lambda values: 1 - values, "expected_error"])
def test_a_loss_of_the_users_own_comes_back(tmp_path, loss):
    path = heart_path(loss=loss)
    path.save(tmp_path / "path.tw")
    assert tw.PruningPath.load(tmp_path / "path.tw").loss_name == path.loss_name


@pytest.mark.parametrize("name", ["tradeoffs", "costs", "losses", "n_splits", "n_features"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1, 5e9, "reversed"])
def test_figures_mean_what_they_say(tmp_path, name, wrong):
    file = tmp_path / "path.tw"

    def change(arrays, _header):
        if wrong == "reversed":
            arrays[name] = arrays[name][::-1]
        else:
            with np.errstate(invalid="ignore"):
                arrays[name][len(PATH) // 2] = np.array(wrong).astype(arrays[name].dtype)

    PATH.save(file)
    rewrite(file, change)
    with pytest.raises(InputError, match="damaged: `"):
        tw.PruningPath.load(file)


@pytest.mark.parametrize(
    ("part", "name"),
    [
        *(("proof", name) for name in ("kind", "gap", "cost_gap", "is_exact")),
        *(("original", name) for name in ("cost", "loss", "n_splits", "n_features")),
    ],
)
@pytest.mark.parametrize("wrong", [float("nan"), -1.0, "0", None, [0.0]])
def test_words_of_the_header_mean_what_they_say(tmp_path, part, name, wrong):
    file = tmp_path / "path.tw"
    PATH.save(file)
    if (name, wrong) == ("loss", -1.0):
        wrong = -math.inf  # a loss of the user's own may be below 0
    rewrite(file, lambda _arrays, header: header[part].update({name: wrong}))
    with pytest.raises(InputError, match="damaged"):
        tw.PruningPath.load(file)


@pytest.mark.parametrize("base", [tw.cost_complexity_path, tw.dynamic_programming_path])
def test_baselines_and_subsamples_come_back(tmp_path, base):
    """What is true of optimal paths alone is not asked of these."""
    file = tmp_path / "path.tw"
    problem = tw.pruning_problem(FOREST, HEART.X, HEART.y, costs=HEART.costs, subsample=100)
    for path in (base(tw.pruning_problem(FOREST, HEART.X, HEART.y)), tw.prune_path(problem)):
        path.save(file)
        assert_same_path(tw.PruningPath.load(file), path)


@pytest.mark.parametrize("file", ["missing/path", ".", "", None, 3])
def test_nothing_is_left_where_saving_fails(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        PATH.save(file)
    assert not list(tmp_path.iterdir())


def test_the_path_is_a_table():
    frame = PATH.to_frame()
    assert len(frame) == len(PATH)
    assert frame.columns.tolist() == ["tradeoff", "cost", "loss", "n_splits", "n_features"]


def test_drop_values_say_when_each_split_goes():
    values = PATH.drop_values
    assert np.isnan(values[~PATH.forest.is_split]).all()
    for index in (0, 1, len(PATH) - 2):
        kept = PATH.kept_nodes(index)
        np.testing.assert_array_equal(kept, np.nan_to_num(values) > PATH.tradeoffs[index])
    free = heart_path(costs=np.zeros(HEART.X.shape[1]))
    assert len(free) == 1
    assert set(free.drop_values[free.forest.is_split]) == {0, np.inf}


def test_the_path_can_be_drawn():
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = PATH.plot()
    assert len(ax.lines[0].get_xdata()) == len(PATH)
    measured = PATH.evaluate(HEART.X, HEART.y)
    PATH.plot(ax, measured=measured)
    with pytest.raises(InputError, match=r"path\.evaluate"):
        PATH.plot(measured=measured.to_frame())
    assert ax.get_legend() is not None
    plt.close("all")


def test_words():
    text = repr(PATH)
    assert f"{len(PATH)} optimal prunings" in text
    assert "RandomForestClassifier" in text
    assert "best roc_auc" in repr(PATH.evaluate(HEART.X, HEART.y))
    assert "expected cost" in repr(PATH.mix(budget=100))
