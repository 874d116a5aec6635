"""Rows that pass the stages of a cascade lazily."""

import numpy as np
import pytest
from builders import forest_of, leaf, split
from hypothesis import given, settings
from hypothesis import strategies as st
from lazy_twin import FORMS, Cascade, ask, assert_decides_alike
from paths import HEART, PATH
from test_stages import FORESTS, stages_of

import thriftwood as tw
from thriftwood.forest import SKIPPED, Stages, margins_of, one_stage, pass_stages, scores
from thriftwood.table import read_rows


@settings(max_examples=25)
@given(
    thresholds=st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, SKIPPED]), min_size=0, max_size=3),
    form=st.sampled_from(FORMS),
)
def test_stages_are_passed_as_if_all_values_were_there(thresholds, form):
    stages = stages_of(*thresholds)
    rows = read_rows(HEART.X, stages.richest).values[:80]
    passage = pass_stages(stages, rows)
    answer, _ = ask(Cascade(stages), HEART.X[:80], form, costs=HEART.prices)
    np.testing.assert_array_equal(answer.stages, passage.stage)
    np.testing.assert_array_equal(answer.proba, passage.predictions)
    for number in set(passage.stage.tolist()):
        stopped = passage.stage == number
        bill = tw.feature_bill(stages.forests[number], HEART.X[:80][stopped], HEART.prices)
        np.testing.assert_array_equal(answer.bill.per_example[stopped], bill.per_example)
        np.testing.assert_array_equal(answer._use.n_tests[stopped], bill._use.n_tests)


@settings(max_examples=25)
@given(
    thresholds=st.lists(
        st.sampled_from([0.0, 0.05, 0.2, 0.5, 0.9, SKIPPED]), min_size=1, max_size=3
    ),
    form=st.sampled_from(FORMS),
)
def test_stages_with_decided_labels(thresholds, form):
    assert_decides_alike(Cascade(stages_of(*thresholds)), HEART.X[:80], HEART.prices, form)


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
@pytest.mark.parametrize("refit", [None, (HEART.X, HEART.y)])
def test_a_tuned_cascade_is_followed_to_the_last_tie(form, refit):
    """Refitted stages, averaged ones, and thresholds between rows with equal scores."""
    cascade = PATH.cascade(HEART.X, HEART.y, stages=7, refit=refit, budget=120)
    way = cascade.decision_path(HEART.X)
    assert len(np.unique(way.stage)) > 2
    answer, _ = ask(cascade, HEART.X, form, costs=HEART.costs)
    np.testing.assert_array_equal(answer.stages, way.stage)
    np.testing.assert_array_equal(answer.proba, way.predictions)
    np.testing.assert_array_equal(answer.labels, cascade.predict(HEART.X))
    np.testing.assert_array_equal(answer.bill.per_example, cascade.bill(HEART.X).per_example)
    assert_decides_alike(cascade, HEART.X, HEART.costs, form)


def test_a_threshold_between_equal_scores_parts_them_alike():
    cheap, rich = FORESTS[0], FORESTS[-1]
    rows = read_rows(HEART.X, rich).values
    margins = margins_of(cheap, rows, scores(cheap, rows))
    rounded, n_alike = np.unique(np.round(margins, 5), return_counts=True)
    tied = np.sort(margins[np.round(margins, 5) == rounded[n_alike.argmax()]])
    assert tied[0] < tied[-1]
    stages = Stages((cheap, rich), [float(np.median(tied)), 0.0]).check()
    passage = pass_stages(stages, rows)
    assert 0 < (passage.stage == 0).sum() < len(rows)
    for stop in (None, "decided"):
        answer, _ = ask(Cascade(stages), HEART.X, stop=stop)
        np.testing.assert_array_equal(answer.labels, rich.classes[passage.predictions.argmax(1)])
    np.testing.assert_array_equal(ask(Cascade(stages), HEART.X)[0].stages, passage.stage)
