"""A guarantee for cascades: a valid test, a fixed sequence of rules, fresh samples."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multinomial
from test_bad_input import assert_refused
from test_cascade import X_TEST, X_VALID, Y_TEST, Y_VALID, nhanes

import thriftwood as tw
from thriftwood.cascade import guarantee
from thriftwood.cascade.guarantee import fewest_samples, rules_from_dear_to_cheap
from thriftwood.forest import predict_stages, scores

shares = st.sampled_from([0.005, 0.01, 0.05, 0.2, 0.6])


# --- the test


def p_value(n_worse, n_better, n_samples, limit):
    """Return the value for so many differences of 1 and of -1, the rest 0."""
    counts = np.array([n_worse, n_better, n_samples - n_worse - n_better])
    return guarantee.p_value(np.array([1.0, -1.0, 0.0]), counts, limit)


@pytest.mark.parametrize("limit", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_a_rule_that_is_worse_than_allowed_passes_as_rarely_as_promised(limit, alpha):
    """All outcomes of small samples, at the least harmless rules: those exactly at the limit."""
    n_samples = 80
    outcomes = [
        (worse, better, n_samples - worse - better)
        for worse in range(n_samples + 1)
        for better in range(n_samples + 1 - worse)
    ]
    passes = np.array([p_value(a, b, n_samples, limit) <= alpha for a, b, _ in outcomes])
    for share_better in (0.0, 0.005, 0.02, 0.1, 0.3, (1 - limit) / 2):
        chances = share_better + limit, share_better, 1 - limit - 2 * share_better
        likely = multinomial.pmf(np.array(outcomes)[passes], n_samples, np.maximum(chances, 0))
        assert np.sum(likely) <= alpha


@given(
    counts=st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 500)),
    limit=shares,
)
def test_worse_counts_never_look_better(counts, limit):
    worse, better, same = counts
    n_samples = 1 + worse + better + same
    now = p_value(worse, better, n_samples, limit)
    assert 0 <= now <= 1
    assert p_value(worse + 1, better, n_samples, limit) >= now
    assert p_value(worse, better + 1, n_samples, limit) <= now
    assert p_value(worse, better, n_samples, limit / 2) >= now


@given(limit=shares, confidence=st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_fewest_samples_are_enough_and_one_less_is_not(limit, confidence):
    enough = fewest_samples(limit, confidence)
    assert p_value(0, 0, enough, limit) <= 1 - confidence
    assert enough == 1 or p_value(0, 0, enough - 1, limit) > 1 - confidence


# --- the sequence


@pytest.mark.parametrize("refitted", [False, True])
@pytest.mark.parametrize("budget", [None, 20.0, np.inf])
def test_rules_go_from_the_whole_model_by_the_present_one_to_cheap(refitted, budget):
    cascade = nhanes(refitted)[2].at(budget=budget)
    rules = rules_from_dear_to_cheap(cascade.stages, cascade.rules)
    stops = [predict_stages(replaced(cascade, rule).stages, X_TEST).stage for rule in rules[::10]]
    assert (stops[0] == len(cascade.stages) - 1).mean() > 0.99
    present = int((rules == cascade.stages.thresholds).all(axis=1).argmax())
    assert (rules[present] == cascade.stages.thresholds).all()
    for dear, cheap in pairwise(stops[: present // 10 + 1]):
        assert (cheap <= dear).all()
    now = cascade.rules.within(budget)
    np.testing.assert_array_equal(rules[present + 1 :], cascade.rules.thresholds[:now][::-1])


def replaced(cascade, thresholds):
    stages = replace(cascade.stages, thresholds=thresholds)
    return tw.CascadeClassifier(stages, cascade.prices, cascade.rules)


# --- cascades


@pytest.mark.parametrize("limit", [0.02, 0.05, 0.1])
def test_the_cheapest_rule_before_the_first_that_fails_is_taken(limit):
    """Every rule up to it passes on what the cascades themselves predict, the next does not."""
    cascade = nhanes()[2]
    chosen = cascade.guaranteed(X_TEST, Y_TEST, max_error_increase=limit, confidence=0.9)
    whole = scores(cascade.stages.richest, X_TEST).argmax(axis=1) != Y_TEST
    for rule in rules_from_dear_to_cheap(cascade.stages, cascade.rules):
        wrong = replaced(cascade, rule).predict(X_TEST) != Y_TEST
        counts = (wrong & ~whole).sum(), (~wrong & whole).sum(), len(Y_TEST)
        if p_value(*counts, limit) > 1 - 0.9:
            break
        last = rule
    np.testing.assert_array_equal(chosen.stages.thresholds, last)
    assert chosen.bill(X_TEST).mean < replaced(chosen, whole_model(cascade)).bill(X_TEST).mean


def whole_model(cascade):
    return np.append(np.full(len(cascade.stages) - 1, np.inf), 0.0)


def test_more_is_allowed_less_is_paid():
    cascade = nhanes(True)[2]
    bills = [
        cascade.guaranteed(X_TEST, Y_TEST, max_error_increase=limit).bill(X_VALID).mean
        for limit in (0.01, 0.02, 0.05, 0.1, 0.3)
    ]
    assert bills == sorted(bills, reverse=True)
    assert bills[-1] < 0.5 * bills[0]


def test_new_samples_err_little_more():
    """Rules chosen on many draws from samples that stand for all: few are above the limit."""
    cascade = nhanes()[2]
    rng = np.random.default_rng(0)
    whole = scores(cascade.stages.richest, X_TEST).argmax(axis=1) != Y_TEST
    above = 0
    for _ in range(60):
        own = rng.integers(0, len(Y_TEST), 600)
        chosen = cascade.guaranteed(
            X_TEST[own], Y_TEST[own], max_error_increase=0.03, confidence=0.8
        )
        above += (chosen.predict(X_TEST) != Y_TEST).mean() - whole.mean() > 0.03
    assert above <= 60 * 0.2 + 3 * np.sqrt(60 * 0.2 * 0.8)


def test_too_few_samples_leave_the_whole_model_and_say_so(tmp_path):
    cascade = nhanes()[2]
    with pytest.warns(UserWarning, match="20 samples are too few") as said:
        chosen = cascade.guaranteed(X_TEST[:20], Y_TEST[:20], max_error_increase=0.01)
    assert str(fewest_samples(0.01, 0.95)) in str(said[0].message)
    np.testing.assert_array_equal(chosen.stages.thresholds, whole_model(cascade))
    forest = nhanes()[0]
    np.testing.assert_array_equal(chosen.predict(X_TEST), forest.predict(X_TEST))
    assert repr(chosen).startswith("CascadeClassifier: 1 of")
    chosen.save(tmp_path / "cascade.tw")
    again = type(chosen).load(tmp_path / "cascade.tw")
    np.testing.assert_array_equal(again.predict(X_TEST), chosen.predict(X_TEST))


def test_one_stage_needs_no_guarantee():
    _, path, _ = nhanes()
    cascade = path.cascade(X_VALID, Y_VALID, stages=[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = cascade.guaranteed(X_TEST, Y_TEST, max_error_increase=0.01)
    np.testing.assert_array_equal(chosen.predict(X_TEST), cascade.predict(X_TEST))


def test_samples_that_tuned_it_are_refused():
    cascade = nhanes()[2]
    assert_refused(
        lambda: cascade.guaranteed(X_VALID, Y_VALID, max_error_increase=0.01),
        "was tuned on",
        "nothing of it has seen",
    )


@pytest.mark.parametrize("bad", [0, 1, -0.1, np.nan, "little", None, [0.1]])
def test_shares_that_are_none_are_refused(bad):
    cascade = nhanes()[2]
    assert_refused(
        lambda: cascade.guaranteed(X_TEST, Y_TEST, max_error_increase=bad),
        "`max_error_increase` is",
        "between 0 and 1",
    )
    assert_refused(
        lambda: cascade.guaranteed(X_TEST, Y_TEST, max_error_increase=0.1, confidence=bad),
        "`confidence` is",
    )
