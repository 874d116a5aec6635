"""Rows that pass the stages of a cascade lazily."""

from dataclasses import replace

import numpy as np
import pytest
from builders import forest_of, leaf, split
from hypothesis import given, settings
from hypothesis import strategies as st
from lazy_twin import FORMS, Cascade, ask, assert_decides_alike
from paths import FOREST, HEART
from test_stages import FORESTS, stages_of

import thriftwood as tw
from thriftwood.errors import InputError
from thriftwood.forest import (
    SKIPPED,
    Stages,
    one_stage,
    predict_stages,
    scores,
)
from thriftwood.forest.table import read_rows


@settings(max_examples=25)
@given(
    thresholds=st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, SKIPPED]), min_size=0, max_size=3),
    form=st.sampled_from(FORMS),
)
def test_stages_are_passed_as_if_all_values_were_there(thresholds, form):
    stages = stages_of(*thresholds)
    rows = read_rows(HEART.X, stages.richest).values[:80]
    predicted = predict_stages(stages, rows)
    costs = replace(HEART.prices, per_split=0.25)
    answer, _ = ask(Cascade(stages), HEART.X[:80], form, costs=costs)
    np.testing.assert_array_equal(answer.stages, predicted.stage)
    np.testing.assert_array_equal(answer.proba, predicted.predictions)
    for number in set(predicted.stage.tolist()):
        stopped = predicted.stage == number
        bill = tw.feature_bill(stages.forests[number], HEART.X[:80][stopped], costs)
        np.testing.assert_array_equal(answer.bill.per_sample[stopped], bill.per_sample)


@settings(max_examples=25)
@given(
    thresholds=st.lists(
        st.sampled_from([0.0, 0.05, 0.2, 0.5, 0.9, SKIPPED]), min_size=1, max_size=3
    ),
    form=st.sampled_from(FORMS),
)
def test_stages_with_decided_labels(thresholds, form):
    assert_decides_alike(Cascade(stages_of(*thresholds)), HEART.X[:80], HEART.prices, form)


@pytest.mark.parametrize("form", FORMS)
def test_thresholds_that_only_a_draw_tells_apart(form):
    """Rows with the very same scores: some stop, some go on, lazily the same ones."""
    rows = read_rows(HEART.X, FORESTS[0]).values
    margins = one_stage(FORESTS[0]).margins(0, rows, scores(FORESTS[0], rows))
    for threshold in np.quantile(margins, [0.1, 0.5, 0.9], method="lower"):
        stages = stages_of(threshold)
        predicted = predict_stages(stages, rows)
        answer, _ = ask(Cascade(stages), HEART.X, form)
        np.testing.assert_array_equal(answer.stages, predicted.stage)
        assert_decides_alike(Cascade(stages), HEART.X, form=form)
    gaps = np.round(margins, 5)
    tied = gaps == gaps[np.argmin(np.abs(margins - threshold))]
    assert len(set(answer.stages[tied])) == 2


def test_a_tuned_cascade():
    path = tw.prune_path(FOREST, HEART.X, HEART.y, costs=HEART.prices)
    cascade = path.cascade(HEART.X, HEART.y, budget=path.costs[0] / 3)
    answer, _ = ask(cascade, HEART.X, "many", costs=HEART.prices)
    np.testing.assert_array_equal(answer.proba, cascade.predict_proba(HEART.X))
    bill = tw.feature_bill(cascade, HEART.X, HEART.prices)
    np.testing.assert_array_equal(answer.bill.per_sample, bill.per_sample)
    assert answer.bill.model_cost == bill.model_cost
    assert len(set(answer.stages)) > 1
    one, _ = ask(cascade, HEART.X[:40], costs=HEART.prices)
    assert [one.receipt(row) for row in range(40)] == [bill.receipt(row) for row in range(40)]
    full, stopped = assert_decides_alike(cascade, HEART.X, HEART.prices)
    assert stopped < full


def test_a_row_goes_on_to_the_next_stage_without_finishing_one_it_cannot_stop_at():
    """No leaf of the first stage is sure enough: nothing is bought for its sake alone."""
    cheap = forest_of(split(0, 1.0, leaf((0.6, 0.4)), leaf((0.4, 0.6)), (0.5, 0.5)), n_features=2)
    rich = forest_of(
        split(
            0,
            1.0,
            split(1, 1.0, leaf((1.0, 0.0)), leaf((0.9, 0.1)), (0.6, 0.4)),
            leaf((0.8, 0.2)),
            (0.5, 0.5),
        ),
        n_features=2,
    )
    stages = Stages((cheap, rich), [0.5, 0.0]).check()
    answer, shop = ask(Cascade(stages), np.zeros((1, 2)), stop="decided")
    assert not shop.sold  # every leaf of the second stage says the same
    assert answer.stages[0] == 1
    assert len(ask(Cascade(stages), np.zeros((1, 2)))[1].sold) == 2


def test_a_plain_model_is_a_single_stage():
    for stop in (None, "decided"):
        alone, _ = ask(FORESTS[1], HEART.X, stop=stop)
        staged, _ = ask(Cascade(one_stage(FORESTS[1])), HEART.X, stop=stop)
        np.testing.assert_array_equal(alone.proba, staged.proba)
        np.testing.assert_array_equal(alone.bill.used, staged.bill.used)


@pytest.mark.parametrize("form", FORMS)
def test_refitted_stages_and_an_averaged_one(form):
    path = tw.prune_path(FOREST, HEART.X, HEART.y, costs=HEART.costs)
    cascade = path.cascade(HEART.X, HEART.y, stages=7, refit=(HEART.X, HEART.y), budget=120)
    links = {cascade.stages.forests[stage].link for stage in (1, -1)}
    assert links == {"softmax", "identity"}
    way = cascade.decision_path(HEART.X)
    answer, _ = ask(cascade, HEART.X, form, costs=HEART.costs)
    np.testing.assert_array_equal(answer.stages, way.stage)
    np.testing.assert_array_equal(answer.proba, way.predictions)
    np.testing.assert_array_equal(answer.bill.per_sample, cascade.bill(HEART.X).per_sample)
    assert_decides_alike(cascade, HEART.X, HEART.costs, form)


@pytest.mark.parametrize("stop", [None, "decided"])
def test_a_refitted_stage_alone_in_use_before_an_averaged_one(stop):
    path = tw.prune_path(FOREST, HEART.X, HEART.y, costs=HEART.costs)
    cascade = path.cascade(HEART.X, HEART.y, stages=4, refit=(HEART.X, HEART.y))
    alone = Stages(cascade.stages.forests, [SKIPPED, 0.0, SKIPPED, 0.0])
    refitted, averaged = alone.forests[1], alone.richest
    assert (refitted.link, averaged.link) == ("softmax", "identity")
    answer, _ = ask(Cascade(alone), HEART.X, stop=stop)
    np.testing.assert_allclose(answer.proba.sum(axis=1), 1.0)
    if stop is None:
        np.testing.assert_array_equal(answer.proba, tw.ForestModel(refitted).predict_proba(HEART.X))


def test_a_cascade_is_billed_at_its_own_prices():
    path = tw.prune_path(FOREST, HEART.X, HEART.y, costs=HEART.costs)
    cascade = path.cascade(HEART.X, HEART.y, stages=4, budget=100)
    answer, _ = ask(cascade, HEART.X)
    np.testing.assert_array_equal(answer.bill.per_sample, cascade.bill(HEART.X).per_sample)
    grouped = tw.prune_path(FOREST, HEART.X, HEART.y, costs=HEART.prices)
    cascade = grouped.cascade(HEART.X, HEART.y, stages=4)
    assert tw.feature_bill(cascade, HEART.X).mean == cascade.bill(HEART.X).mean
    answer, _ = ask(cascade, HEART.X)
    np.testing.assert_array_equal(answer.bill.per_sample, cascade.bill(HEART.X).per_sample)
    with pytest.raises(InputError, match="more than one number for each feature"):
        ask(cascade, HEART.X[:1], known=[{0: 63.0}])
