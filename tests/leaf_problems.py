"""Drawn refitting problems, and their naive twin: dense matrices and textbook formulas."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from thriftwood.refitting.problem import LeafProblem

LOSSES = ("squared", "logistic", "softmax")


def drawn_problem(
    seed: int,
    loss: str = "softmax",
    n_samples: int = 60,
    n_trees: int = 4,
    leaves_each: int = 5,
    n_classes: int = 3,
    absent: float = 0.1,
) -> LeafProblem:
    """Rows in random leaves, a tenth of the trees not counting, some rows without weight."""
    rng = np.random.default_rng(seed)
    leaves = rng.integers(leaves_each, size=(n_samples, n_trees)) + leaves_each * np.arange(n_trees)
    leaves[rng.random(leaves.shape) < absent] = -1
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=n_samples)
    weights[:2] = 1.0
    if loss == "squared":
        target = rng.normal(5.0, 2.0, size=n_samples)
    else:
        target = rng.integers(2 if loss == "logistic" else n_classes, size=n_samples)
    n_outputs = n_classes if loss == "softmax" else 1
    n_leaves = leaves_each * n_trees + 1  # the last leaf has no rows
    prior = rng.normal(size=(n_leaves, n_outputs))
    return LeafProblem(leaves, n_leaves, target, weights, loss, prior, rng.normal(size=n_outputs))


def indicators(problem: LeafProblem) -> np.ndarray:
    """A dense line for each row: 1 for the leaves that it is in."""
    matrix = np.zeros((problem.n_samples, problem.n_leaves))
    for row, leaves in enumerate(problem.leaves):
        for leaf in leaves:
            if leaf != -1:
                matrix[row, leaf] += 1
    return matrix


def naive_losses(problem: LeafProblem, scores: np.ndarray) -> np.ndarray:
    """The loss of each row."""
    if problem.loss == "squared":
        return (scores[:, 0] - problem.target) ** 2 / 2
    if problem.loss == "logistic":
        scores = np.column_stack([np.zeros(len(scores)), scores[:, 0]])
    return -log_softmax(scores, axis=1)[np.arange(problem.n_samples), problem.target]


def naive_objective(
    problem: LeafProblem, strength: float, values: np.ndarray, bias: np.ndarray
) -> float:
    """What is minimised, written as in the docstring."""
    losses = naive_losses(problem, indicators(problem) @ values + bias)
    away = ((values - problem.prior) ** 2).sum()
    return float(problem.weights @ losses + strength * problem.n_trees / 2 * away)


def naive_gradient(
    problem: LeafProblem, strength: float, values: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the objective by the values and by the bias."""
    matrix = indicators(problem)
    scores = matrix @ values + bias
    if problem.loss == "squared":
        slopes = scores - problem.target[:, None]
    elif problem.loss == "logistic":
        slopes = 1 / (1 + np.exp(-scores)) - problem.target[:, None]
    else:
        slopes = np.exp(log_softmax(scores, axis=1))
        slopes[np.arange(problem.n_samples), problem.target] -= 1
    slopes *= problem.weights[:, None]
    by_values = matrix.T @ slopes + strength * problem.n_trees * (values - problem.prior)
    return by_values, slopes.sum(axis=0)


def naive_fit(problem: LeafProblem, strength: float, fit_bias: bool = True) -> float:
    """The least objective that scipy finds."""
    shape = problem.prior.shape
    start = np.append(problem.prior.ravel(), problem.bias)

    def value_and_slope(unknowns: np.ndarray) -> tuple[float, np.ndarray]:
        values, bias = unknowns[: problem.prior.size].reshape(shape), unknowns[problem.prior.size :]
        by_values, by_bias = naive_gradient(problem, strength, values, bias)
        slope = np.append(by_values.ravel(), by_bias * fit_bias)
        return naive_objective(problem, strength, values, bias), slope

    options = {"maxiter": 20000, "maxfun": 50000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 50}
    found = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options=options)
    return float(found.fun)
