"""Refitting: fitted values are the minimum of the objective, to the tolerance."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leaf_problems import (
    LOSSES,
    drawn_problem,
    indicators,
    naive_fit,
    naive_gradient,
    naive_objective,
)
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from thriftwood.errors import InputError
from thriftwood.refitting.newton import LeafFit, fit_leaf_values
from thriftwood.refitting.problem import LeafProblem

few_examples = settings(deadline=None, max_examples=30)
seeds = st.integers(0, 2**32 - 1)
strengths = st.sampled_from([10.0, 1.0, 0.1, 1e-3])
losses = st.sampled_from(LOSSES)


def exact(problem: LeafProblem, strength: float, **options: object) -> LeafFit:
    return fit_leaf_values(problem, strength, tolerance=1e-12, **options)


def assert_same_fit(one: LeafFit, other: LeafFit) -> None:
    np.testing.assert_allclose(one.values, other.values, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(one.bias, other.bias, rtol=1e-4, atol=1e-5)


# --- the minimum


@given(seeds, losses, strengths, st.booleans())
@few_examples
def test_the_objective_is_the_least_that_scipy_finds(
    seed: int, loss: str, strength: float, fit_bias: bool
) -> None:
    problem = drawn_problem(seed, loss)
    fit = fit_leaf_values(problem, strength, fit_bias=fit_bias)
    assert fit.converged
    assert fit.objective <= naive_fit(problem, strength, fit_bias) * (1 + 1e-6)
    assert fit.objective == pytest.approx(
        naive_objective(problem, strength, fit.values, fit.bias), rel=1e-9
    )


@given(seeds, losses, strengths)
@few_examples
def test_at_the_minimum_the_gradient_is_zero(seed: int, loss: str, strength: float) -> None:
    problem = drawn_problem(seed, loss)
    fit = exact(problem, strength)
    by_values, by_bias = naive_gradient(problem, strength, fit.values, fit.bias)
    np.testing.assert_allclose(by_values, 0, atol=1e-3)
    np.testing.assert_allclose(by_bias, 0, atol=1e-3)


@given(seeds, losses, strengths)
@few_examples
def test_a_loose_tolerance_is_kept(seed: int, loss: str, strength: float) -> None:
    problem = drawn_problem(seed, loss)
    least = exact(problem, strength).objective
    loose = fit_leaf_values(problem, strength, tolerance=1e-2)
    assert loose.converged
    assert least <= loose.objective * (1 + 1e-9)
    assert loose.objective <= least * 1.01 + 1e-9


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scikit_learn_finds_the_same_values(n_classes: int) -> None:
    loss = "logistic" if n_classes == 2 else "softmax"
    problem = drawn_problem(0, loss, 2000, 20, 12, n_classes)
    problem = replace(problem, prior=np.zeros_like(problem.prior), bias=np.zeros_like(problem.bias))
    strength = 0.05
    matrix = sparse.csr_array(indicators(problem))
    oracle = LogisticRegression(C=1 / (strength * problem.n_trees), tol=1e-10, max_iter=10000)
    oracle.fit(matrix, problem.target, problem.weights)
    fit = exact(problem, strength)
    bias = oracle.intercept_ - oracle.intercept_.mean() * (n_classes > 2)
    np.testing.assert_allclose(fit.values, oracle.coef_.T, atol=1e-4)
    np.testing.assert_allclose(fit.bias, bias, atol=1e-4)
    ours = naive_objective(problem, strength, fit.values, fit.bias)
    theirs = naive_objective(problem, strength, oracle.coef_.T, oracle.intercept_)
    assert ours <= theirs * (1 + 1e-6)


def test_squared_losses_are_ridge_regression() -> None:
    problem = drawn_problem(3, "squared")
    matrix, ridge = indicators(problem), 0.3 * problem.n_trees
    weighted = matrix.T * problem.weights
    wanted = weighted @ (problem.target - problem.bias[0] - matrix @ problem.prior[:, 0])
    moved = np.linalg.solve(weighted @ matrix + ridge * np.eye(problem.n_leaves), wanted)
    fit = exact(problem, 0.3, fit_bias=False)
    np.testing.assert_allclose(fit.values[:, 0], problem.prior[:, 0] + moved, atol=1e-6)
    np.testing.assert_array_equal(fit.bias, problem.bias)


# --- laws


@given(seeds, losses, strengths)
@few_examples
def test_any_start_leads_to_the_same_end(seed: int, loss: str, strength: float) -> None:
    problem = drawn_problem(seed, loss)
    rng = np.random.default_rng(seed)
    # Softmax forgets what is added to all classes at once: a start must not differ in that.
    noise = rng.normal(size=problem.prior.shape)
    noise -= noise.mean(axis=1, keepdims=True) * (loss == "softmax")
    elsewhere = LeafFit(problem.prior + 3 * noise, problem.bias, 0.0, 0.0, 0, False)
    assert_same_fit(exact(problem, strength), exact(problem, strength, start=elsewhere))


@given(seeds, losses)
@few_examples
def test_a_weight_of_two_is_a_row_twice(seed: int, loss: str) -> None:
    problem = drawn_problem(seed, loss)
    twice = problem.take(np.repeat(np.arange(problem.n_samples), 2))
    heavier = replace(problem, weights=2 * problem.weights)
    assert_same_fit(exact(twice, 0.3), exact(heavier, 0.3))


@given(seeds, losses)
@few_examples
def test_rows_without_weight_change_nothing(seed: int, loss: str) -> None:
    problem = drawn_problem(seed, loss)
    without = problem.take(np.flatnonzero(problem.weights))
    one, other = fit_leaf_values(problem, 0.3), fit_leaf_values(without, 0.3)
    np.testing.assert_array_equal(one.values, other.values)
    assert one.objective == other.objective


@given(seeds, losses, strengths)
@few_examples
def test_a_leaf_without_rows_keeps_its_value(seed: int, loss: str, strength: float) -> None:
    problem = drawn_problem(seed, loss)
    fit = fit_leaf_values(problem, strength)
    np.testing.assert_array_equal(fit.values[-1], problem.prior[-1])


@given(seeds, losses)
@few_examples
def test_a_tree_that_counts_for_no_row_keeps_its_values(seed: int, loss: str) -> None:
    problem = drawn_problem(seed, loss)
    leaves = problem.leaves.copy()
    leaves[:, 1] = -1
    fit = fit_leaf_values(replace(problem, leaves=leaves), 0.3)
    np.testing.assert_array_equal(fit.values[5:10], problem.prior[5:10])


@given(seeds, losses)
@few_examples
def test_weaker_strengths_fit_the_rows_better(seed: int, loss: str) -> None:
    problem = drawn_problem(seed, loss)
    fitted = [exact(problem, strength).loss for strength in (np.inf, 10.0, 1.0, 0.1, 0.01)]
    assert all(weaker <= stronger + 1e-6 for stronger, weaker in pairwise(fitted))


@pytest.mark.parametrize("loss", LOSSES)
def test_an_infinite_strength_is_no_refit(loss: str) -> None:
    problem = drawn_problem(5, loss)
    fit = fit_leaf_values(problem, np.inf)
    np.testing.assert_array_equal(fit.values, problem.prior)
    np.testing.assert_array_equal(fit.bias, problem.bias)
    assert fit.converged
    assert fit.loss == pytest.approx(naive_objective(problem, 0.0, problem.prior, problem.bias))


def test_two_classes_can_be_fitted_either_way() -> None:
    """Softmax of (-s / 2, s / 2) is the logistic loss of s, at half the squared distance."""
    logistic = drawn_problem(6, "logistic")
    halves = np.array([-0.5, 0.5])
    softmax = replace(
        logistic, loss="softmax", prior=logistic.prior * halves, bias=logistic.bias * halves
    )
    one, other = exact(logistic, 0.2), exact(softmax, 0.4)
    assert one.objective == pytest.approx(other.objective)
    np.testing.assert_allclose(one.values[:, 0], np.diff(other.values)[:, 0], atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_threads_change_nothing(loss: str) -> None:
    problem = drawn_problem(7, loss, 20000, 12, 300)
    alone, together = (fit_leaf_values(problem, 0.1, n_jobs=n) for n in (1, 3))
    np.testing.assert_array_equal(alone.values, together.values)
    np.testing.assert_array_equal(alone.bias, together.bias)
    assert alone.objective == together.objective


# --- hard cases


@pytest.mark.parametrize("strength", [10.0, 0.1, 1e-3])
@pytest.mark.parametrize("fit_bias", [True, False])
def test_a_class_without_rows_stays_finite(strength: float, fit_bias: bool) -> None:
    problem = drawn_problem(8, "softmax", n_classes=4)
    problem = replace(problem, target=problem.target % 2 * 2)  # classes 1 and 3 are missing
    fit = fit_leaf_values(problem, strength, fit_bias=fit_bias)
    assert fit.converged
    np.testing.assert_array_equal(fit.bias[[1, 3]], problem.bias[[1, 3]])
    assert fit.bias.sum() == pytest.approx(problem.bias.sum())
    assert np.abs(fit.values).max() < 100


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_one_class_alone_keeps_the_bias(loss: str) -> None:
    problem = drawn_problem(9, loss)
    fit = fit_leaf_values(replace(problem, target=np.ones(problem.n_samples)), 0.1)
    assert fit.converged
    np.testing.assert_array_equal(fit.bias, problem.bias)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
@pytest.mark.parametrize("strength", [1e-6, 1e-12, 1e-300])
def test_separable_rows_stay_finite(loss: str, strength: float) -> None:
    n_classes = 2 if loss == "logistic" else 3
    leaves = np.arange(60)[:, None] % 6 + [[0, 6]]
    n_outputs = 1 if loss == "logistic" else n_classes
    problem = LeafProblem(
        leaves,
        12,
        np.arange(60) % 6 % n_classes,
        np.ones(60),
        loss,
        np.zeros((12, n_outputs)),
        np.zeros(n_outputs),
    )
    fit = fit_leaf_values(problem, strength)
    assert np.isfinite(fit.values).all()
    assert np.isfinite(fit.bias).all()
    assert np.isfinite(fit.objective)
    assert fit.loss < 0.01
    assert fit.converged or fit.n_iterations <= 100


def test_giving_up_says_so() -> None:
    problem = drawn_problem(10, "softmax")
    begin = fit_leaf_values(problem, np.inf)
    stopped = [fit_leaf_values(problem, 1e-3, max_iter=n) for n in (0, 1)]
    assert not stopped[0].converged
    assert not stopped[1].converged
    assert [fit.n_iterations for fit in stopped] == [0, 1]
    np.testing.assert_array_equal(stopped[0].values, problem.prior)
    assert stopped[1].objective < begin.objective


def test_a_perfect_start_is_kept() -> None:
    problem = drawn_problem(11, "squared")
    scores = indicators(problem) @ problem.prior + problem.bias
    fit = fit_leaf_values(replace(problem, target=scores[:, 0]), 1.0)
    np.testing.assert_allclose(fit.values, problem.prior, atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_huge_old_values_do_not_overflow(loss: str) -> None:
    problem = drawn_problem(12, loss)
    problem = replace(problem, prior=problem.prior * 1e4)
    with np.errstate(all="raise", under="ignore"):
        fit = fit_leaf_values(problem, 1e-6)
    begin = fit_leaf_values(problem, np.inf)
    assert np.isfinite(fit.values).all()
    assert fit.objective < begin.objective


def test_nobody_can_write_to_a_fit() -> None:
    fit = fit_leaf_values(drawn_problem(13), 1.0)
    with pytest.raises(ValueError, match="read-only"):
        fit.values[0] = 0


# --- refused


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"loss": "hinge"}, "`loss` is 'hinge'"),
        ({"leaves": np.zeros(60, dtype=int)}, "a row for each sample"),
        ({"leaves": np.full((60, 4), 21)}, "from -1 to 20"),
        ({"target": np.full(60, 3)}, "from 0 to 2"),
        ({"weights": np.full(60, -1.0)}, "at least 0"),
        ({"weights": np.full(60, np.nan)}, "finite"),
        ({"prior": np.zeros((21, 2))}, "a column for each bias"),
        ({"loss": "logistic"}, "one output"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(changes: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fit_leaf_values(replace(drawn_problem(14), **changes), 1.0)


@pytest.mark.parametrize(("strength", "words"), [(0.0, "above 0"), ("strong", "not a number")])
def test_bad_strengths_are_refused(strength: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fit_leaf_values(drawn_problem(15), strength)


def test_the_fit_of_other_leaves_is_no_start() -> None:
    other = fit_leaf_values(drawn_problem(16, leaves_each=6), 1.0)
    with pytest.raises(InputError, match="other leaves"):
        fit_leaf_values(drawn_problem(16), 1.0, start=other)
