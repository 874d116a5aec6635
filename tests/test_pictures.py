"""Pictures show the numbers of bills, paths and cascades, and nothing else."""

import re
import sys
from functools import cache
from itertools import combinations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from models import fitted
from paths import HEART, NHANES, PATH, TRAIN, VALID, nhanes_forest_and_path
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from thriftwood.errors import InputError, MissingLibraryError
from thriftwood.forest import LEAF
from thriftwood.report import plot_bills, plot_cascade, plot_tree
from thriftwood.report.amounts import amount
from thriftwood.report.tree import lay_out

matplotlib.use("Agg")
UPKEEP = tw.Costs(
    per_feature=HEART.prices.per_feature,
    groups=HEART.prices.groups,
    group_fee=HEART.prices.group_fee,
    per_model={"B": 5_000.0},
    per_split=0.01,
    per_node=0.5,
    predictions=1_000,
    unit="CAD",
)


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


def path_of(kind: str, costs=None):
    model, X, y = fitted(kind)
    return tw.prune_path(model, X, y, costs=costs)


@cache
def bills(costs=HEART.prices):
    """Return the bills of the forest and of a pruning, on the heart patients."""
    models = PATH.model, PATH.at(budget=250).model
    return tuple(tw.feature_bill(model, HEART.X, costs) for model in models)


@cache
def nhanes_cascade():
    path = nhanes_forest_and_path()[1]
    return path, path.cascade(NHANES.X[VALID], NHANES.y[VALID], stages=6)


# --- bills


@pytest.mark.parametrize("costs", [HEART.prices, UPKEEP, None], ids=["fees", "upkeep", "none"])
def test_bars_add_up_to_the_means_that_the_legend_tells(costs):
    before, after = bills(costs)
    ax = plot_bills(before, after)
    for bars, bill, name in zip(ax.containers, (before, after), ("before", "after"), strict=True):
        assert sum(bar.get_width() for bar in bars) == pytest.approx(bill.mean)
        assert bars.get_label() == f"{name}: {amount(bill.mean, bill.unit)}"
    unit = f" ({before.unit})" if before.unit else ""
    assert ax.get_xlabel() == f"part of the mean bill{unit}"


def test_each_bar_is_what_is_paid_for_its_feature_and_the_dearest_is_on_top():
    before, after = bills(UPKEEP)
    ax = plot_bills(before, after)
    names = [label.get_text() for label in ax.get_yticklabels()]
    widths = [[bar.get_width() for bar in bars] for bars in ax.containers]
    assert widths[0] == sorted(widths[0], reverse=True)
    assert ax.yaxis_inverted()
    for name, *paid in zip(names, *widths, strict=True):
        if name.startswith("feature "):
            expected = [bill.by_feature[int(name.split()[1])] for bill in (before, after)]
        elif name.startswith("fee of "):
            expected = [bill.fees[name.removeprefix("fee of ")] for bill in (before, after)]
        else:
            attribute = {"tests": "test_cost", "model": "model_cost"}[name]
            expected = [getattr(bill, attribute) for bill in (before, after)]
        assert paid == expected


def test_of_many_features_the_dearest_are_shown_and_the_others_counted():
    model, path = nhanes_forest_and_path()
    X = NHANES.X[VALID]
    before, after = (
        tw.feature_bill(one, X, NHANES.costs) for one in (model, path.at(budget=50).model)
    )
    ax = plot_bills(before, after)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) == 21
    shown = {int(re.fullmatch(r"feature (\d+)", name)[1]) for name in names[:-1]}
    paid = np.maximum(before.by_feature, after.by_feature)
    others = [k for k in np.flatnonzero(paid) if k not in shown]
    assert names[-1] == f"{len(others)} others"
    assert paid[others].max() <= paid[list(shown)].min()
    assert [bars[-1].get_width() for bars in ax.containers] == pytest.approx(
        [before.by_feature[others].sum(), after.by_feature[others].sum()]
    )


def test_one_feature_no_feature_and_odd_names_are_drawn():
    X = pd.DataFrame({"a $very$ long name\nof a column": HEART.X[:, 0]})
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, HEART.y)
    path = tw.prune_path(tree, X, HEART.y)
    before, after = (tw.feature_bill(path[i].model, X) for i in (0, -1))
    ax = plot_bills(before, after)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a $very$ lon…of a column"]
    assert len(plot_bills(after, after).patches) == 0
    plot_tree(path, 0)
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()


def test_names_that_begin_and_end_alike_stay_different():
    names = [f"laboratory value of {what} in millimoles per litre" for what in ("iron", "zinc")]
    X = pd.DataFrame(HEART.X[:, :2], columns=names)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, HEART.y)
    bill = tw.feature_bill(tree, X)
    shown = [label.get_text() for label in plot_bills(bill, bill).get_yticklabels()]
    assert len(set(shown)) == 2
    assert all("…" in name and name.endswith("per litre") for name in shown)


def test_bills_that_cannot_be_compared_are_refused():
    before, after = bills()
    with pytest.raises(InputError, match="`after` is no bill"):
        plot_bills(before, after.mean)
    with pytest.raises(InputError, match="in CAD and in no unit"):
        plot_bills(before, bills(None)[1])
    few = tw.feature_bill(fitted("tree_classifier").model, fitted("tree_classifier").X)
    with pytest.raises(InputError, match="of 13 and of 4 features"):
        plot_bills(before, few)
    named = fitted("named_columns")
    renamed = named.X.rename(columns={"age": "years"})
    other = RandomForestClassifier(2, random_state=0).fit(renamed, named.y)
    with pytest.raises(InputError, match="name their features differently"):
        plot_bills(tw.feature_bill(named.model, named.X), tw.feature_bill(other, renamed))


# --- a tree


def lines_of(ax):
    """Return the lines of a tree by the node that each leads to."""
    return {int(line.get_gid().split()[-1]): line for line in ax.lines}


def texts_of(ax):
    """Return the words at each node."""
    found = [(re.fullmatch(r"node (\d+)", text.get_gid() or ""), text) for text in ax.texts]
    return {int(match[1]): text for match, text in found if match}


KINDS = (
    "random_forest_classifier",
    "random_forest_regressor",
    "missing_random_forest",
    "missing_alone_matters",
    "named_columns",
    "stump",
    "single_leaf",
)


@pytest.mark.parametrize("kind", KINDS)
def test_dropped_lines_are_those_below_splits_that_the_point_drops(kind):
    path = path_of(kind)
    for index in {0, len(path) // 2, len(path) - 1}:
        kept = path.kept_nodes(index)
        ax = plot_tree(path, index, path.forest.n_trees - 1, max_depth=50)
        start, stop = path.forest.tree_start[-2:]
        lines = lines_of(ax)
        assert set(texts_of(ax)) == set(range(start, stop))
        assert set(lines) == set(range(start + 1, stop))
        for node, line in lines.items():
            assert (line.get_linestyle() == "--") == (not kept[path.forest.parent[node]])
        new_leaves = {n for n, text in texts_of(ax).items() if "\n(" in text.get_text()}
        parent = path.forest.parent[start:stop]
        reached = (parent == LEAF) | kept[parent]
        is_new = path.forest.is_split[start:stop] & ~kept[start:stop] & reached
        assert new_leaves == set(np.flatnonzero(is_new) + start)


def test_ends_stand_side_by_side_and_parents_in_the_middle_of_their_children():
    spots = lay_out(PATH.forest, 0, max_depth=4)
    assert [spot.x for spot in spots.values() if spot.is_end] == list(range(_n_ends(spots)))
    for node, spot in spots.items():
        assert spot.depth == PATH.forest.depth[node]
        if not spot.is_end:
            left, right = (spots[side[node]] for side in (PATH.forest.left, PATH.forest.right))
            assert spot.x - left.x == right.x - spot.x > 0
            assert (spot.first, spot.last) == (left.first, right.last)


def _n_ends(spots):
    return sum(spot.is_end for spot in spots.values())


def test_dots_count_the_splits_below():
    forest = PATH.forest
    shallow = texts_of(plot_tree(PATH, 2, max_depth=2))
    assert max(forest.depth[list(shallow)]) == 2
    kept = PATH.kept_nodes(2)
    hidden = sum(int(n) for text in shallow.values() for n in _numbers("… (.*) split", text))
    stay = sum(int(n) for text in shallow.values() for n in _numbers("(.*) kept", text))
    nodes = np.arange(forest.tree_start[1])
    deep = nodes[forest.is_split[nodes] & (forest.depth[nodes] >= 2)]
    assert stay == np.count_nonzero(kept[deep])
    assert 0 < stay <= hidden <= len(deep)


def _numbers(pattern, text):
    return re.findall(pattern, text.get_text())


@pytest.mark.parametrize(("tree_depth", "max_depth"), [(None, 4), (4, 4), (4, 2)])
def test_no_words_overlap_and_none_is_cut_off(tree_depth, max_depth):
    X = HEART.frame()
    forest = RandomForestClassifier(4, max_features=None, max_depth=tree_depth, random_state=0).fit(
        X, HEART.y
    )
    path = tw.prune_path(forest, X, HEART.y, costs=HEART.prices)
    for tree in range(4):
        ax = plot_tree(path, len(path) // 2, tree, max_depth=max_depth)
        figure = ax.get_figure()
        renderer = figure.canvas.get_renderer()
        figure.draw(renderer)
        patches = [text.get_bbox_patch() for text in texts_of(ax).values()]
        boxes = [patch.get_window_extent(renderer) for patch in [*patches, ax.get_legend()]]
        assert len(boxes) > 7
        assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
        for box in boxes:
            assert min(box.x0, box.y0) >= 0
            assert (box.max <= figure.bbox.max).all()


def test_leaves_tell_class_and_share_or_number():
    classifier, regressor = path_of("words_as_labels"), path_of("random_forest_regressor")
    for path in (classifier, regressor):
        for node, text in texts_of(plot_tree(path, 0, max_depth=50)).items():
            if path.forest.is_split[node]:
                continue
            values = path.forest.values[node]
            if path is classifier:
                best = values.argmax()
                assert text.get_text() == f"{path.forest.classes[best]}\n{values[best]:.2f}"
            else:
                assert float(text.get_text()) == pytest.approx(values[0], rel=1e-3)


def test_boosted_trees_tell_what_they_add_and_name_categories():
    rng = np.random.default_rng(0)
    town = rng.choice(["Bern", "Rome", "Oslo", "Lima", "Bonn", "Cork"], 300)
    X = pd.DataFrame({"town": pd.Categorical(town), "age": rng.normal(size=300)})
    for y in (np.isin(town, ["Rome", "Lima"]), np.unique(town, return_inverse=True)[1] // 2):
        model = HistGradientBoostingClassifier(
            max_iter=2, max_leaf_nodes=4, categorical_features="from_dtype", random_state=0
        ).fit(X, y)
        path = tw.prune_path(model, X, y)
        texts = texts_of(plot_tree(path, 0))
        words = [text.get_text() for text in texts.values()]
        assert any(re.match(r"town\nin {(Lima|Rome|Bern|Bonn|Oslo|Cork)", one) for one in words)
        leaves = [texts[node].get_text() for node in texts if not path.forest.is_split[node]]
        assert all(re.fullmatch(r"(\d\n)?[+-][\d.e-]+", one) for one in leaves)


def test_the_point_or_tree_that_is_not_there_is_refused():
    for arguments, words in (
        ((PATH.model, 0), "`path` is no path"),
        ((PATH, len(PATH)), f"from 0 to {len(PATH) - 1}"),
        ((PATH, 0.5), "`index` is 0.5"),
        ((PATH, 0, 12), "`tree` is 12: pass a whole number from 0 to 11"),
        ((PATH, 0, 0, "axes"), "`ax` is 'axes'"),
    ):
        with pytest.raises(InputError, match=words):
            plot_tree(*arguments)
    with pytest.raises(InputError, match="`max_depth`"):
        plot_tree(PATH, 0, max_depth=-1)
    last = lines_of(plot_tree(PATH, -1))
    assert {line.get_linestyle() for line in last.values()} == {"--"}


# --- a cascade


def test_the_cascade_is_drawn_with_the_errors_and_bills_of_its_budgets():
    path, cascade = nhanes_cascade()
    X, y = NHANES.X[2200:2800], NHANES.y[2200:2800]
    ax = plot_cascade(cascade, X, y, path=path, budgets=[30, 5])
    drawn = {line.get_label(): line.get_xydata() for line in ax.lines}
    for budget, (bill, error) in zip((5, 30), drawn["cascade"], strict=True):
        model = cascade.at(budget=budget)
        assert (bill, error) == pytest.approx((model.bill(X).mean, 1 - model.score(X, y)))
    measured = path.evaluate(X, y)
    np.testing.assert_array_equal(drawn["points of the path"][:, 0], measured.cost)
    np.testing.assert_array_equal(drawn["points of the path"][:, 1], measured.error)
    usual = cascade.bill(X).mean, 1 - cascade.score(X, y)
    assert drawn["cascade as it is set"][0] == pytest.approx(usual)


def test_usual_budgets_go_from_the_cheapest_rule_to_the_dearest():
    cascade = nhanes_cascade()[1]
    X, y = NHANES.X[VALID], NHANES.y[VALID]
    (line,) = (one for one in plot_cascade(cascade, X, y).lines if one.get_label() == "cascade")
    ends = line.get_xydata()[[0, -1]]
    np.testing.assert_allclose(ends[:, 0], cascade.rules.costs[[0, -1]])
    np.testing.assert_allclose(ends[:, 1], cascade.rules.errors[[0, -1]])
    assert 5 < len(line.get_xydata()) <= 26


def test_what_is_no_cascade_or_no_label_is_refused():
    path, cascade = nhanes_cascade()
    X, y = NHANES.X[:20], NHANES.y[:20]
    with pytest.raises(InputError, match="`cascade` is no cascade"):
        plot_cascade(path, X, y)
    with pytest.raises(InputError, match="`path` is no path"):
        plot_cascade(cascade, X, y, path=cascade)
    with pytest.raises(InputError, match="`budgets` must be a list"):
        plot_cascade(cascade, X, y, budgets=5)
    with pytest.raises(InputError, match="`y`"):
        plot_cascade(cascade, X, y[:5])


# --- all of them


def test_given_axes_are_drawn_on_and_returned():
    path, cascade = nhanes_cascade()
    X, y = NHANES.X[TRAIN[:50]], NHANES.y[TRAIN[:50]]
    for draw in (
        lambda ax: plot_bills(*bills(), ax),
        lambda ax: plot_tree(PATH, 1, ax=ax),
        lambda ax: plot_cascade(cascade, X, y, path=path, budgets=[5], ax=ax),
    ):
        _, ax = plt.subplots()
        assert draw(ax) is ax
        assert ax.has_data()
        assert ax.get_legend() is not None


def test_on_a_dark_style_sheet_nothing_is_black_on_black():
    with plt.style.context("dark_background"):
        (square,) = (one for one in PATH.plot().lines if one.get_label() == "before pruning")
        assert square.get_color() == "white"
        answers = [text for text in plot_tree(PATH, 1).texts if text.get_gid() is None]
        assert [(text.get_text().strip(), text.get_color()) for text in answers] == [
            ("yes", "white"),
            ("no", "white"),
        ]


def test_without_matplotlib_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingLibraryError, match=r"thriftwood\[plot\]"):
        plot_bills(*bills())


def test_units_and_small_amounts_are_shown_as_they_are():
    costs = tw.Costs(per_feature=np.full(13, 0.0001), unit="US$ or A$")
    before, after = bills(costs)
    ax = plot_bills(before, after)
    words = list(ax.get_legend().get_texts())
    assert [text.get_text() for text in words] == [
        f"{name}: {bill.mean:.3g} US$ or A$"
        for name, bill in (("before", before), ("after", after))
    ]
    assert not any(text.get_parse_math() for text in [*words, ax.xaxis.label])
