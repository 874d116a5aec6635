"""The choice of strength: rows that judge have been seen neither by trees nor by values."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leaf_problems import LOSSES, drawn_problem, indicators, naive_losses
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from thriftwood.errors import InputError
from thriftwood.refitting.newton import fit_leaf_values
from thriftwood.refitting.problem import LeafProblem
from thriftwood.refitting.strength import (
    STRENGTHS,
    Fold,
    choose_strength,
    out_of_bag_folds,
    prior_of_probabilities,
    validation_fold,
)

few_examples = settings(deadline=None, max_examples=20)
seeds = st.integers(0, 2**32 - 1)
losses = st.sampled_from(LOSSES)


def validation_of(problem: LeafProblem) -> LeafProblem:
    """The rows of a problem, to judge by all trees."""
    return validation_fold(problem, problem.leaves, problem.target, problem.weights)[1]


def drawn_bags(problem: LeafProblem, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((problem.n_trees, problem.n_samples)) < 0.5


# --- judging


@given(seeds, losses)
@few_examples
def test_all_trees_judge_by_the_plain_loss(seed: int, loss: str) -> None:
    problem = drawn_problem(seed, loss)
    judged, error = validation_of(problem).evaluate(problem.prior, problem.bias)
    scores = indicators(problem) @ problem.prior + problem.bias
    assert judged == pytest.approx(problem.weights @ naive_losses(problem, scores))
    if loss == "squared":
        assert error == pytest.approx(2 * judged)
    else:
        labels = scores[:, 0] > 0 if loss == "logistic" else scores.argmax(axis=1)
        assert error == pytest.approx(problem.weights @ (labels != problem.target))


def judged_by_all_samples(problem: LeafProblem, n_judges: int) -> float:
    """The mean, over all samples of so many trees, of the loss as these judge it."""
    found = []
    for sample in combinations(range(problem.n_trees), n_judges):
        leaves = np.full_like(problem.leaves, -1)
        leaves[:, list(sample)] = problem.leaves[:, list(sample)]
        scale = np.full(problem.n_samples, problem.n_trees / n_judges)
        rows = replace(problem, leaves=leaves, scale=scale)
        found.append(rows.evaluate(problem.prior, problem.bias)[0])
    return float(np.mean(found))


@given(seeds, st.integers(2, 4))
@few_examples
def test_few_judges_tell_the_squared_loss_of_all_on_average(seed: int, n_judges: int) -> None:
    problem = drawn_problem(seed, "squared", n_trees=5, absent=0.0)
    judged = validation_of(problem).evaluate(problem.prior, problem.bias)[0]
    assert judged_by_all_samples(problem, n_judges) == pytest.approx(judged)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_few_judges_nearly_tell_the_log_loss_of_all_on_average(loss: str) -> None:
    """What is left is of third order: halving the values divides it by about eight or more."""
    problem = drawn_problem(1, loss, n_samples=400, n_trees=6, absent=0.0)
    left = []
    for factor in (0.2, 0.1, 0.05):
        smaller = replace(problem, prior=problem.prior * factor)
        judged = validation_of(smaller).evaluate(smaller.prior, smaller.bias)[0]
        left.append(abs(judged_by_all_samples(smaller, 3) - judged))
    assert left[1] < left[0] / 6
    assert left[2] < left[1] / 6


# --- folds


@given(seeds, losses, st.integers(2, 4))
@few_examples
def test_rows_are_chosen_once_by_trees_and_values_that_have_not_seen_them(
    seed: int, loss: str, n_folds: int
) -> None:
    problem = drawn_problem(seed, loss, n_samples=80)
    # The weight of each row says which one it is.
    problem = replace(problem, weights=np.arange(1.0, 81.0))
    bags = drawn_bags(problem, seed)
    folds = out_of_bag_folds(problem, bags, n_folds)
    judges = bags.T & (problem.leaves != -1)
    n_counting = (problem.leaves != -1).sum(axis=1)
    seen = []
    for training, validation in folds:
        rows = (validation.weights - 1).astype(int)
        assert not set(validation.weights) & set(training.weights)
        np.testing.assert_array_equal(
            validation.leaves, np.where(judges[rows], problem.leaves[rows], -1)
        )
        np.testing.assert_array_equal(validation.target, problem.target[rows])
        np.testing.assert_allclose(validation.scale * judges[rows].sum(axis=1), n_counting[rows])
        fitted = (training.weights - 1).astype(int)
        np.testing.assert_array_equal(training.leaves, problem.leaves[fitted])
        assert len(fitted) == pytest.approx(80 * (1 - 1 / n_folds), abs=1)
        seen += rows.tolist()
    n_judges = judges.sum(axis=1)
    heard = (n_judges > 1) | ((n_judges == 1) & (n_counting == 1))
    assert sorted(seen) == np.flatnonzero(heard).tolist()


def test_each_fold_gets_its_share_of_each_class() -> None:
    problem = drawn_problem(2, n_samples=90)
    for training, _ in out_of_bag_folds(problem, drawn_bags(problem), 3):
        fitted = np.bincount(training.target, minlength=3)
        share = np.bincount(problem.target, minlength=3) * 2 / 3
        np.testing.assert_allclose(fitted, share, atol=1)


# --- choosing


@given(seeds, losses)
@few_examples
def test_the_choice_is_the_weakest_that_loses_little(seed: int, loss: str) -> None:
    problem = drawn_problem(seed, loss)
    choice = choose_strength(out_of_bag_folds(problem, drawn_bags(problem)))
    least = choice.losses.min()
    assert choice.strengths[0] == np.inf
    assert (np.diff(choice.strengths) < 0).all()
    np.testing.assert_array_equal(choice.strengths, STRENGTHS[: len(choice.strengths)])
    if choice.losses[0] == least:
        assert choice.strength == np.inf
        return
    slack = 0 if loss == "squared" else 0.03
    good = choice.losses <= least + slack * abs(least)
    assert choice.strength == choice.strengths[good][-1]
    if len(choice.strengths) < len(STRENGTHS):
        assert not good[-2:].any()


def test_losses_are_those_of_fits_from_scratch() -> None:
    problem = drawn_problem(3, "logistic")
    other = drawn_problem(4, "logistic")
    fold = validation_fold(problem, other.leaves, other.target, other.weights)
    choice = choose_strength([fold], tolerance=1e-10)
    for strength, loss, error in zip(choice.strengths, choice.losses, choice.errors, strict=True):
        fit = fit_leaf_values(problem, strength, tolerance=1e-10)
        judged = np.array(fold[1].evaluate(fit.values, fit.bias))
        np.testing.assert_allclose([loss, error], judged / other.weights.sum(), rtol=1e-4)


def test_noise_is_not_fitted() -> None:
    """Old values that are right, and a target that is noise around them."""
    problem = drawn_problem(5, "squared", n_samples=2000, n_trees=10, leaves_each=40)
    scores = (indicators(problem) @ problem.prior + problem.bias)[:, 0]
    noisy = replace(problem, target=scores + np.random.default_rng(0).normal(0, 30, size=2000))
    assert choose_strength(out_of_bag_folds(noisy, drawn_bags(noisy))).strength >= 3


def test_signal_is_fitted() -> None:
    """Old values that say nothing, and a target that the leaves know."""
    problem = drawn_problem(6, "squared", n_samples=2000, n_trees=10, leaves_each=40)
    scores = (indicators(problem) @ problem.prior + problem.bias)[:, 0]
    unknown = replace(problem, target=scores, prior=np.zeros_like(problem.prior))
    others = drawn_problem(7, "squared", n_samples=500, n_trees=10, leaves_each=40)
    truth = (indicators(others) @ problem.prior + problem.bias)[:, 0]
    fold = validation_fold(unknown, others.leaves, truth, others.weights)
    choice = choose_strength([fold])
    assert choice.strength == min(STRENGTHS)
    assert choice.losses.min() < 0.01 * choice.losses[0]


# --- old values of a forest


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("max_depth", [None, 4])
def test_without_refit_labels_are_those_of_the_forest(
    n_classes: int, max_depth: int | None
) -> None:
    X, y = make_classification(
        1500, 12, n_informative=8, n_classes=n_classes, flip_y=0.1, random_state=0
    )
    forest = RandomForestClassifier(16, max_depth=max_depth, random_state=0).fit(X[:500], y[:500])
    fold, probabilities = forest_fold(forest, X, y)
    prior = prior_of_probabilities(probabilities, 16, [fold[1]])
    scores = fold[1].scores(prior, np.zeros(prior.shape[1]))
    labels = scores[:, 0] > 0 if n_classes == 2 else scores.argmax(axis=1)
    chances = forest.predict_proba(X[500:])
    ranked = np.sort(chances, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-12
    np.testing.assert_array_equal(labels[clear], forest.predict(X[500:])[clear])
    if max_depth is None:  # pure leaves: ties are exact, and broken as the forest does
        np.testing.assert_array_equal(labels, forest.predict(X[500:]))
    bias = np.zeros(prior.shape[1])
    least = fold[1].evaluate(prior, bias)[0]
    assert least <= fold[1].evaluate(prior * 2, bias)[0]
    assert least <= fold[1].evaluate(prior / 2, bias)[0]


def test_refitting_a_shallow_forest_helps() -> None:
    X, y = make_classification(3000, 12, n_informative=8, n_classes=3, random_state=1)
    forest = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X[:500], y[:500])
    fold, probabilities = forest_fold(forest, X, y)
    prior = prior_of_probabilities(probabilities, 20, [fold[1]])
    problem = replace(fold[0], prior=prior)
    bags = np.ones((20, 500), dtype=bool)
    for tree, sample in enumerate(forest.estimators_samples_):
        bags[tree, sample] = False
    choice = choose_strength(out_of_bag_folds(problem, bags))
    assert choice.strength < np.inf
    fit = fit_leaf_values(problem, choice.strength)
    before = fold[1].evaluate(prior, np.zeros(3))
    after = fold[1].evaluate(fit.values, fit.bias)
    assert after[0] < 0.9 * before[0]
    assert after[1] < 0.9 * before[1]


def forest_fold(
    forest: RandomForestClassifier, X: np.ndarray, y: np.ndarray
) -> tuple[Fold, np.ndarray]:
    """The fold that fits the first 500 rows and validates on the others; and leaf probabilities."""
    leaves, probabilities, n_leaves = [], [], 0
    for tree in forest.estimators_:
        is_leaf = tree.tree_.children_left == -1
        number = np.cumsum(is_leaf) - 1 + n_leaves
        leaves.append(number[tree.apply(X)])
        probabilities.append(tree.tree_.value[is_leaf, 0])
        n_leaves += int(is_leaf.sum())
    of_rows = np.column_stack(leaves)
    n_outputs = 1 if forest.n_classes_ == 2 else forest.n_classes_
    problem = LeafProblem(
        of_rows[:500],
        n_leaves,
        y[:500],
        np.ones(500),
        "logistic" if n_outputs == 1 else "softmax",
        np.zeros((n_leaves, n_outputs)),
        np.zeros(n_outputs),
    )
    fold = validation_fold(problem, of_rows[500:], y[500:], np.ones(len(y) - 500))
    return fold, np.vstack(probabilities)


# --- refused


def test_what_cannot_validate_is_refused() -> None:
    problem = drawn_problem(8)
    with pytest.raises(InputError, match="Too few samples are out of bag"):
        out_of_bag_folds(problem, np.zeros_like(drawn_bags(problem)))
    with pytest.raises(InputError, match="from -1 to 20"):
        validation_fold(problem, problem.leaves + 21, problem.target, problem.weights)
