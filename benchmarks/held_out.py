"""Choose among many models on validation rows, and tell how the choices did on test rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

import thriftwood as tw

# Surer than this no probability is taken to be, so that its log odds are finite.
MOST_SURE = 1e-6


class Rows(NamedTuple):
    """Rows with labels of 0 and 1."""

    X: np.ndarray
    y: np.ndarray


class Split(NamedTuple):
    """Three parts of a data set, drawn at random: to train, to choose, to tell."""

    train: Rows
    validation: Rows
    test: Rows


@dataclass(frozen=True)
class Candidate:
    """A model as it looks on held-out rows.

    Attributes
    ----------
    origin : str
        What it was made from, and how.
    base_cost : float
        What the model that it was made from costs a validation row, before any pruning.
    cost : float
        Mean features that a validation row pays for; the budget is on this.
    loss : float
        Calibrated log loss on the validation rows; candidates are chosen by it.
    wrong : bool array
        Which test rows it gets wrong. Nothing is chosen by this.
    """

    origin: str
    base_cost: float
    cost: float
    loss: float
    wrong: np.ndarray


def candidate(
    model: Any, split: Split, origin: str, base_cost: float | None = None, cost: float | None = None
) -> Candidate:
    """Measure a model on the validation and the test rows of a split."""
    if cost is None:
        cost = tw.feature_bill(model, split.validation.X).mean
    wrong = (log_odds(model, split.test.X) > 0) != split.test.y
    loss = calibrated_loss(log_odds(model, split.validation.X), split.validation.y)
    return Candidate(origin, cost if base_cost is None else base_cost, cost, loss, wrong)


def nothing_bought(split: Split) -> Candidate:
    """Return the answer that costs nothing: the commoner class of the training rows."""
    share = float(split.validation.y.mean())
    loss = -share * np.log(share) - (1 - share) * np.log(1 - share)
    return Candidate("nothing", 0.0, 0.0, loss, split.test.y != (split.train.y.mean() > 0.5))


def best_within(candidates: Sequence[Candidate], budget: float) -> Candidate:
    """Return the candidate with the least validation loss among those within a budget."""
    return min((one for one in candidates if one.cost <= budget), key=lambda one: one.loss)


def log_odds(model: Any, X: np.ndarray) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        probability = model.predict_proba(X)[:, 1]
    else:  # a booster of LightGBM
        probability = model.predict(X)
    probability = np.clip(probability, MOST_SURE, 1 - MOST_SURE)
    return np.log(probability) - np.log1p(-probability)


def calibrated_loss(scores: np.ndarray, y: np.ndarray) -> float:
    """Return the least log loss of `steepness * scores + shift`, over both.

    Boosters are often too sure of themselves. Their plain log loss then says more about that than
    about which rows they can tell apart, and a refit is the one that is blamed for it.
    """
    spread = float(scores.std())
    if spread == 0:
        scores, spread = np.zeros_like(scores), 1.0
    centred = (scores - scores.mean()) / spread

    def loss_and_slope(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        steepness, shift = parameters
        z = steepness * centred + shift
        residual = 1 / (1 + np.exp(-z)) - y
        loss = float(np.mean(np.logaddexp(0, z) - y * z))
        return loss, np.array([np.mean(residual * centred), residual.mean()])

    start = np.array([spread, scores.mean()])
    return float(minimize(loss_and_slope, start, jac=True, method="BFGS").fun)


def draw_split(X: np.ndarray, y: np.ndarray, sizes: tuple[int, int, int], seed: int) -> Split:
    """Draw rows for the three parts, all different."""
    order = np.random.default_rng(seed).permutation(len(y))
    ends = np.cumsum([0, *sizes])
    parts = [order[first:last] for first, last in pairwise(ends)]
    return Split(*(Rows(X[part], y[part]) for part in parts))
