"""A guarantee for cascades: a valid test, a fixed sequence of rules, fresh samples."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multinomial
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from test_bad_input import assert_refused
from test_cascade import X_TEST, X_VALID, Y_TEST, Y_VALID, nhanes

import thriftwood as tw
from thriftwood.cascade import guarantee
from thriftwood.cascade.guarantee import fewest_samples, rules_from_dear_to_cheap
from thriftwood.errors import ConstantPredictionWarning
from thriftwood.forest import predict_stages, scores

NHANES = tw.datasets.load_nhanes()
shares = st.sampled_from([0.005, 0.01, 0.05, 0.2, 0.6])


# --- the test


def p_value(n_worse, n_better, n_samples, limit):
    """Return the value for so many differences of 1 and of -1, the rest 0."""
    counts = np.array([n_worse, n_better, n_samples - n_worse - n_better])
    return guarantee.p_value(limit - np.array([1.0, -1.0, 0.0]), counts, 1 - limit)


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
    assert enough < fewest_samples(1e-20, confidence)


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
    """Every rule up to it passes on what the cascades themselves predict, the next does not.

    But none is taken that names one class for all samples.
    """
    cascade = nhanes()[2]
    chosen = cascade.guaranteed(X_TEST, Y_TEST, max_error_increase=limit, confidence=0.9)
    last = whole_model(cascade)
    whole = scores(cascade.stages.richest, X_TEST).argmax(axis=1) != Y_TEST
    for rule in rules_from_dear_to_cheap(cascade.stages, cascade.rules):
        answers = replaced(cascade, rule).predict(X_TEST)
        wrong = answers != Y_TEST
        counts = (wrong & ~whole).sum(), (~wrong & whole).sum(), len(Y_TEST)
        if p_value(*counts, limit) > 1 - 0.9:
            break
        last = rule if len(set(answers)) > 1 else last
    # Rules may be so near to each other that no sample lies between.
    np.testing.assert_allclose(chosen.stages.thresholds, last, rtol=1e-6)
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


# --- rare classes, weights, and what is said


def rare(class_weight=None, seed=0):
    """Return a cascade of a forest that few samples of a rare class have trained, and new ones."""
    rng = np.random.default_rng(seed)
    y = (NHANES.y == 2).astype(int)
    ill, well = (rng.permutation(np.flatnonzero(y == k)) for k in (1, 0))
    parts = []
    for n_samples in (350, 155, 1000, 2000):
        n_ill = round(0.14 * n_samples)
        parts.append(np.concatenate([ill[:n_ill], well[: n_samples - n_ill]]))
        ill, well = ill[n_ill:], well[n_samples - n_ill :]
    (X, y), valid, fresh, new = ((NHANES.X[part], y[part]) for part in parts)
    forest = RandomForestClassifier(25, class_weight=class_weight, random_state=seed).fit(X, y)
    cascade = tw.prune_path(forest, X, y, costs=NHANES.costs).cascade(*valid)
    return forest, cascade, valid, fresh, new


@pytest.mark.filterwarnings("ignore::thriftwood.errors.ConstantPredictionWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_rare_class_does_not_cost_the_model(class_weight, seed):
    """Whoever calls everybody well errs hardly more, and knows nothing."""
    forest, cascade, _, fresh, (X_new, y_new) = rare(class_weight, seed)
    chosen = cascade.guaranteed(*fresh, max_error_increase=0.02)
    before, after = (
        roc_auc_score(y_new, model.predict_proba(X_new)[:, 1]) for model in (forest, chosen)
    )
    assert before - after < 0.06


def test_one_class_is_never_the_cheapest_good_rule():
    """However much more it may err; in samples of which many are of both classes."""
    chosen = nhanes()[2].guaranteed(X_TEST, Y_TEST, max_error_increase=0.9)
    assert len(set(chosen.predict(X_TEST))) > 1


def test_by_default_classes_weigh_as_in_training():
    _, cascade, (_, y_valid), fresh, _ = rare("balanced")
    shares = np.bincount(y_valid) / len(y_valid)
    expected = (1 / shares) / (1 / shares).max()
    np.testing.assert_allclose(cascade.rules.class_weights, expected)
    by_default = cascade.guaranteed(*fresh, max_error_increase=0.05)
    assert by_default.guarantee.class_weights == pytest.approx(expected)
    named = dict(enumerate(7 * expected))
    by_hand = cascade.guaranteed(*fresh, max_error_increase=0.05, class_weight=named)
    np.testing.assert_array_equal(by_default.stages.thresholds, by_hand.stages.thresholds)
    alike = cascade.guaranteed(*fresh, max_error_increase=0.05, class_weight="uniform")
    assert alike.guarantee.class_weights is None


@pytest.mark.parametrize("limit", [0.02, 0.2])
@pytest.mark.parametrize("weight", [0.1, 0.5])
def test_weighed_errors_pass_as_rarely_as_promised(limit, weight):
    """All outcomes of few samples of two classes, where the weighed increase is at the limit."""
    n_samples, alpha = 24, 0.2
    room = np.array([limit - 1, limit + 1, weight * (limit - 1), weight * limit])
    outcomes = np.array(
        [
            (a, b, c, n_samples - a - b - c)
            for a in range(n_samples + 1)
            for b in range(n_samples + 1 - a)
            for c in range(n_samples + 1 - a - b)
        ]
    )
    passes = [guarantee.p_value(room, counts, 1 - limit) <= alpha for counts in outcomes]
    for worse, worse_of_others in ((0.11, 0.02), (0.3, 0.1), (0.2, 0.4)):
        same = 1 - worse - worse_of_others
        lost = worse * room[0] + worse_of_others * room[2] + same * room[3]
        better = -lost / (room[1] - room[3])  # so that the mean room is 0
        chances = np.array([worse, better, worse_of_others, same - better])
        assert (chances >= 0).all()
        assert chances @ room == pytest.approx(0)
        assert multinomial.pmf(outcomes[passes], n_samples, chances).sum() <= alpha


def test_samples_of_no_weight_do_not_count_and_alike_weights_say_nothing():
    cascade, half = nhanes()[2], np.arange(len(Y_TEST)) % 2
    some = cascade.guaranteed(X_TEST[half == 1], Y_TEST[half == 1], max_error_increase=0.05)
    options = {"max_error_increase": 0.05, "sample_weight": 3.0 * half}
    weighed = cascade.guaranteed(X_TEST, Y_TEST, **options)
    np.testing.assert_array_equal(some.stages.thresholds, weighed.stages.thresholds)
    assert some.guarantee.n_samples == weighed.guarantee.n_samples == half.sum()
    one_of_many = np.where(np.arange(len(Y_TEST)) == 0, 1000.0, 1.0)
    with pytest.warns(UserWarning, match="too few"):  # others hardly count beside it
        cascade.guaranteed(X_TEST, Y_TEST, max_error_increase=0.05, sample_weight=one_of_many)


def test_what_is_shown_is_said_and_kept_in_the_file(tmp_path):
    _, cascade, _, (X, y), _ = rare("balanced", 3)
    chosen = cascade.guaranteed(X, y, max_error_increase=0.02)
    said = str(chosen.guarantee)
    assert said.startswith("It errs at most 0.02 more than the whole model, where classes weigh")
    assert "with confidence 0.95, as shown on 1,000 samples." in said
    of_class, answers = np.bincount(y), chosen.predict(X)
    missed, alarms = ((answers != y) & (y == k) for k in (1, 0))
    assert f"misses {missed.sum()} of class 1 instead of" in said
    assert f"with {alarms.sum()} false alarms instead of" in said
    np.testing.assert_array_equal(chosen.guarantee.confusion.sum(axis=1), of_class)
    assert said in repr(chosen)
    assert chosen.choice is None
    assert cascade.guarantee is chosen.at(budget=None).guarantee is None
    chosen.save(tmp_path / "cascade.tw")
    again = tw.CascadeClassifier.load(tmp_path / "cascade.tw")
    assert str(again.guarantee) == said
    np.testing.assert_array_equal(again.rules.class_weights, cascade.rules.class_weights)


def test_that_no_test_is_worth_its_price_is_told():
    path = nhanes()[1]
    cascade = path.cascade(X_VALID, Y_VALID, budget=np.inf, error_costs=5.0)
    with pytest.warns(ConstantPredictionWarning, match="no test is worth its price") as told:
        chosen = cascade.guaranteed(X_TEST, Y_TEST, max_error_increase=4.9)
    assert [one.filename for one in told] == [__file__]
    assert chosen.guarantee.is_constant
    assert "Its errors cost at most 4.9 more than the whole model" in str(chosen)


def test_samples_and_weights_that_show_nothing_are_refused():
    cascade, only = nhanes()[2], Y_TEST == 1
    options = {"max_error_increase": 0.1}
    assert_refused(
        lambda: cascade.guaranteed(X_TEST[only], Y_TEST[only], **options), "are of one class"
    )
    for bad, part in (
        ("balanced", "pass a mapping from class to weight"),
        ({0: 0, 1: 0, 2: 0}, "0 for every class"),
    ):
        assert_refused(
            lambda bad=bad: cascade.guaranteed(X_TEST, Y_TEST, class_weight=bad, **options),
            "`class_weight` is",
            part,
        )


def test_samples_that_tuned_it_are_refused():
    _, balanced, valid, *_ = rare("balanced", 2)
    assert len(balanced.rules) > 5
    assert_refused(lambda: balanced.guaranteed(*valid, max_error_increase=0.01), "was tuned on")
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
