"""Samples in partitions are pruned as samples in memory are."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cost_cases import priced_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from models import assert_equal_forests, fitted
from paths import FOREST, HEART, assert_same_path
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.distributed import partitioned, subsampling
from thriftwood.distributed.partitions import Partition
from thriftwood.errors import InputError, RangeError

TRADEOFFS = (0.0, 1e-4, 0.001, 0.01)
X, Y = HEART.X, HEART.y
BOOSTED = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(np.nan_to_num(X), Y)


def chunks(X, y, weight=None, sizes=(40, 1, 90, 500)):
    """Yield the samples in chunks of some sizes."""
    start = 0
    for size in sizes:
        rows = slice(start, start + size)
        part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        if len(part):
            yield (part, y[rows]) if weight is None else (part, y[rows], weight[rows])
        start += size


def assert_same_pruning(one, other):
    """Two prunings are the same forest with the same figures, both proven optimal."""
    assert_equal_forests(read_forest(one.model), read_forest(other.model))
    assert one.cost == pytest.approx(other.cost, rel=1e-12)
    assert one.loss == pytest.approx(other.loss, rel=1e-9, abs=1e-15)
    assert one.original.cost == pytest.approx(other.original.cost, rel=1e-12)
    assert one.proof.certificate.gap == other.proof.certificate.gap == 0
    assert max(one.proof.gap, other.proof.gap) <= 1e-12


@pytest.mark.parametrize("tradeoff", TRADEOFFS)
def test_chunks_give_the_pruning_of_all_rows(tradeoff):
    whole = tw.prune(FOREST, X, Y, costs=HEART.costs, tradeoff=tradeoff)
    pieces = tw.prune(FOREST, chunks(X, Y), costs=HEART.costs, tradeoff=tradeoff)
    assert_same_pruning(pieces, whole)
    assert len(pieces.proof.rounds) >= 1
    assert "of the decomposition" in repr(pieces)


@pytest.mark.parametrize("digits", [1, 2, 6])
def test_decimal_weights_count_in_chunks_as_in_memory(digits):
    rng = np.random.default_rng(digits)
    n_samples = 2000
    samples = rng.normal(size=(n_samples, 5))
    y = (rng.random(n_samples) < 0.05).astype(int)
    weight = rng.uniform(0, 2, n_samples).round(digits)
    forest = RandomForestClassifier(5, max_leaf_nodes=40, random_state=0).fit(samples, y)
    whole = tw.prune_path(forest, samples, y, sample_weight=weight)
    pieces = tw.prune_path(forest, chunks(samples, y, weight, sizes=(700, 1, 1299)))
    assert_same_path(pieces, whole)
    assert whole.proof.gap == pieces.proof.gap == 0


def test_chunks_give_the_path_of_all_rows():
    whole = tw.prune_path(FOREST, X, Y, costs=HEART.costs)
    assert_same_path(tw.prune_path(FOREST, chunks(X, Y), costs=HEART.costs), whole)
    budget = tw.prune(FOREST, chunks(X, Y), costs=HEART.costs, budget=50)
    assert budget.cost == whole.at(budget=50).cost


def test_a_path_by_rounds_has_exact_figures_and_a_proven_gap():
    whole = tw.prune_path(FOREST, X, Y, costs=HEART.costs)
    alone = tw.DualDecomposition(max_rounds=8, most_gathered=0)
    with tw.pruning_problem(
        FOREST, chunks(X, Y), costs=HEART.costs, decomposition=alone
    ) as problem:
        path = tw.prune_path(problem)
    assert len(path.proof.rounds) == 8
    assert path.proof.gap > 0
    assert not path.proof.is_exact
    assert "optimal" not in repr(path) + repr(path[1])
    for index in range(0, len(path), max(len(path) // 8, 1)):
        point = path[index]
        bill = tw.feature_bill(point.model, X, costs=HEART.costs)
        assert bill.mean == pytest.approx(point.cost, rel=1e-9, abs=1e-9)
        best = whole.at(tradeoff=point.tradeoff)
        assert best.objective <= point.objective + 1e-12
        assert point.objective - point.proof.gap <= best.objective + 1e-12


@settings(max_examples=60)
@given(priced_cases(), st.integers(1, 3), st.sampled_from([0.0, 0.003, 0.03, 0.11, 0.5]))
def test_every_kind_of_price_works_in_partitions(case, size, tradeoff):
    costs = replace(case.costs, known=None, per_sample=None, shared_by=None)
    model = tw.ForestModel(case.forest)
    weights = None if case.weights is None else np.asarray(case.weights, dtype=float)
    whole = tw.prune(model, case.X, case.y, costs=costs, sample_weight=weights, tradeoff=tradeoff)
    if case.forest.feature_names is None and case.names is not None:
        case = case._replace(forest=whole_forest(case))
    pieces = tw.prune(
        tw.ForestModel(case.forest),
        chunks(case.X, case.y, weights, sizes=(size, 1, 10)),
        costs=costs,
        tradeoff=tradeoff,
    )
    assert pieces.cost == pytest.approx(whole.cost, rel=1e-9, abs=1e-12)
    assert pieces.loss == pytest.approx(whole.loss, rel=1e-9, abs=1e-12)
    assert pieces.n_splits == whole.n_splits
    assert pieces.proof.certificate.gap == 0


def whole_forest(case):
    """Return the forest with the names of the columns, which chunks come too late to give."""
    return replace(case.forest, feature_names=case.names)


@pytest.mark.parametrize("loss", ["error", "expected_error", "brier", "log_loss"])
@pytest.mark.parametrize("class_weight", [None, {1: 3.5}], ids=["plain", "weighed"])
def test_every_loss_of_classes_adds_up_over_partitions(loss, class_weight):
    options = {"costs": HEART.costs, "loss": loss, "class_weight": class_weight}
    whole = tw.prune(FOREST, X, Y, tradeoff=0.001, **options)
    pieces = tw.prune(FOREST, chunks(X, Y), tradeoff=0.001, **options)
    assert pieces.objective == pytest.approx(whole.objective, rel=1e-9)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_losses_of_numbers_add_up_over_partitions(loss):
    kind = fitted("random_forest_regressor")
    whole = tw.prune(kind.model, kind.X, kind.y, tradeoff=0.01, loss=loss)
    pieces = tw.prune(kind.model, chunks(kind.X, kind.y), tradeoff=0.01, loss=loss)
    assert pieces.objective == pytest.approx(whole.objective, rel=1e-9)


def test_a_loss_of_the_user_adds_up_over_partitions():
    def twice(values):
        return 2.0 * (1.0 - values)

    whole = tw.prune(FOREST, X, Y, tradeoff=0.001, loss=twice)
    pieces = tw.prune(FOREST, chunks(X, Y), tradeoff=0.001, loss=twice)
    assert pieces.objective == pytest.approx(whole.objective, rel=1e-9)


def test_weights_of_samples_count_in_partitions():
    weight = np.where(Y == 1, 2.25, 1.0)
    whole = tw.prune(FOREST, X, Y, sample_weight=weight, tradeoff=0.002)
    assert_same_pruning(tw.prune(FOREST, chunks(X, Y, weight), tradeoff=0.002), whole)


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 1e9, 1e20])
def test_weights_of_any_size_count_in_partitions(size):
    weight = size * np.exp(np.random.default_rng(5).normal(0, 3, len(Y)))
    options = {"costs": HEART.costs, "sample_weight": weight}
    pieces = {"costs": HEART.costs}
    for tradeoff in (0.0005, 0.003):
        whole = tw.prune(FOREST, X, Y, tradeoff=tradeoff, **options)
        found = tw.prune(FOREST, chunks(X, Y, weight), tradeoff=tradeoff, **pieces)
        assert found.n_splits == whole.n_splits
        assert found.objective == pytest.approx(whole.objective, rel=1e-9)
    path = tw.prune_path(FOREST, chunks(X, Y, weight), **pieces)
    exact = tw.prune_path(FOREST, X, Y, **options)
    assert path.proof.gap < 1e-6
    for tradeoff in (0.0001, 0.001, 0.01):
        best = exact.at(tradeoff=tradeoff).objective
        assert path.at(tradeoff=tradeoff).objective == pytest.approx(best, rel=1e-6)


def test_what_is_paid_once_for_the_model_is_paid_once_for_all_partitions():
    """Sorted rows: most splits are passed by no row of some piece."""
    costs = tw.Costs(per_feature=HEART.costs, per_model=np.full(13, 900.0), predictions=100)
    order = np.argsort(X[:, 2])
    for tradeoff in (0.0002, 0.001, 0.004):
        whole = tw.prune(FOREST, X, Y, costs=costs, tradeoff=tradeoff)
        pieces = chunks(X[order], Y[order], sizes=(60, 60, 60, 200))
        assert_same_pruning(tw.prune(FOREST, pieces, costs=costs, tradeoff=tradeoff), whole)


def test_a_subsample_of_sorted_partitions_is_drawn_from_all_their_samples():
    order = np.argsort(Y, kind="stable")
    _, read = partitioned.read_shared(FOREST, X, None, None, None, "all")
    _, drawn = subsampling._draw(20, read, Partition(0, X[order], Y[order], None))
    assert 3 < drawn.target.sum() < 17
    assert subsampling._numbers_to_draw([5, 0, 3], 8) == [5, 0, 3]
    many = subsampling._numbers_to_draw([10**12, 10**12], 1000)
    assert sum(many) == 1000
    assert min(many) > 400


def test_boosted_models_lose_recorded_gains_in_partitions():
    whole = tw.prune(BOOSTED, X, Y, tradeoff=0.01)
    assert_same_pruning(tw.prune(BOOSTED, chunks(X, Y), tradeoff=0.01), whole)


def test_samples_of_one_partition_are_merged_a_few_at_a_time(monkeypatch):
    whole = tw.prune(FOREST, X, Y, costs=HEART.costs, tradeoff=0.001)
    monkeypatch.setattr(partitioned, "BLOCK_SAMPLES", 17)
    assert_same_pruning(tw.prune(FOREST, iter([(X, Y)]), costs=HEART.costs, tradeoff=0.001), whole)


def test_rows_in_memory_may_be_cut(tmp_path):
    whole = tw.prune(FOREST, X, Y, costs=HEART.costs, tradeoff=0.001)
    decomposition = tw.DualDecomposition()
    with tw.pruning_problem(
        FOREST, X, Y, costs=HEART.costs, decomposition=decomposition
    ) as problem:
        assert_same_pruning(tw.prune(problem, tradeoff=0.001), whole)
    np.save(tmp_path / "rows.npy", np.asarray(X, dtype=np.float64))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for solver in ("min_cut", "dantzig_wolfe"):  # the other needs all samples, and reads them
        pruned = tw.prune(FOREST, mapped, Y, costs=HEART.costs, tradeoff=0.001, solver=solver)
        assert_same_pruning(pruned, whole)


def test_data_frames_in_chunks_are_known_by_their_names():
    names = [f"column {number}" for number in range(X.shape[1])]
    frame = pd.DataFrame(np.asarray(X), columns=names)
    whole = tw.prune(FOREST, X, Y, tradeoff=0.002)
    assert_same_pruning(tw.prune(FOREST, chunks(frame, Y), tradeoff=0.002), whole)
    first, second = frame.iloc[:100], frame.iloc[100:][names[::-1]]
    with pytest.raises(InputError, match="columns of partition 1"):
        tw.prune(FOREST, iter([(first, Y[:100]), (second, Y[100:])]), tradeoff=0.002)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": "in_bag", "tradeoff": 1}, "order of the training"),
        ({"class_weight": "balanced", "tradeoff": 1}, "needs all labels"),
        ({"class_weight": "heavy", "tradeoff": 1}, "class_weight"),
        ({"solver": "linear_program", "tradeoff": 1}, "samples in memory"),
        ({"tradeoff": -1}, "tradeoff"),
        ({"y": Y, "tradeoff": 1}, "iterator"),
        ({"sample_weight": Y, "tradeoff": 1}, "iterator"),
        ({"costs": tw.Costs(known=np.zeros((303, 13), bool)), "tradeoff": 1}, "certain samples"),
    ],
    ids=[
        "samples",
        "balanced",
        "class_weight",
        "solver",
        "tradeoff",
        "y",
        "weight",
        "known",
    ],
)
def test_what_partitions_cannot_do_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        tw.prune(FOREST, chunks(X, Y), **options)


def test_baselines_and_losses_without_a_path_are_refused():
    with (
        tw.pruning_problem(FOREST, chunks(X, Y)) as problem,
        pytest.raises(InputError, match="in memory"),
    ):
        tw.each_tree_path(problem)
    with pytest.raises(InputError, match="`decomposition` is 4"):
        tw.pruning_problem(FOREST, chunks(X, Y), decomposition=4)
    with pytest.raises(InputError, match="in memory"):
        tw.prune(BOOSTED, chunks(X, Y), loss="log_loss", tradeoff=0.1)
    with pytest.raises(InputError, match="recorded with"):
        tw.prune(BOOSTED, chunks(X, Y), class_weight={0: 2}, tradeoff=0.1)


def test_weights_and_prices_beyond_what_partitions_count_in_are_refused():
    for size in (1e50, 1e-50):
        with pytest.raises(InputError, match=r"Partition 0: .*divide all weights"):
            tw.prune(FOREST, chunks(X, Y, np.full(len(Y), size)), tradeoff=0.1)
    half = iter([(X, Y, np.ones(len(Y))), (X, Y)])
    with pytest.raises(
        InputError, match="Partition 0 has weights of samples, but partition 1 has none"
    ):
        tw.prune(FOREST, half, tradeoff=0.1)
    with pytest.raises(InputError, match="0 everywhere"):
        tw.prune(FOREST, chunks(X, Y, np.zeros(len(Y))), tradeoff=0.1)
    with pytest.raises(RangeError, match="too far apart"):
        tw.prune(FOREST, chunks(X, Y), costs=np.geomspace(1e-9, 1e9, 13), tradeoff=0.1)


def test_wrong_partitions_are_named():
    with pytest.raises(InputError, match="Partition 1: X has 12 columns"):
        tw.prune(FOREST, iter([(X, Y), (X[:, 1:], Y)]), tradeoff=0.1)
    with pytest.raises(InputError, match=r"Partition 0: .*label"):
        tw.prune(FOREST, iter([(X, Y + 5)]), tradeoff=0.1)
    gone = Y.astype(float)
    gone[3] = np.nan
    with pytest.raises(InputError, match="Partition 1: `y` is missing in row 3"):
        tw.prune(FOREST, iter([(X, Y), (X, gone)]), tradeoff=0.1)
