"""Choose among many models on validation samples, and tell how the choices did on test samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.dummy import DummyClassifier

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
    """A model as it looks on validation samples; and on test samples, once somebody asks.

    Attributes
    ----------
    origin : str
        What it was made from, and how.
    base_cost : float
        What the model that it was made from costs a validation sample, before any pruning.
    cost : float
        Mean features that a validation sample pays for; the budget is on this.
    loss : float
        What candidates are chosen by; for most, the calibrated log loss on the validation samples.
    error : float
        Share of the validation samples that it gets wrong.
    model : classifier or booster
    test : Rows
        Nothing is chosen by these.
    """

    origin: str
    base_cost: float
    cost: float
    loss: float
    error: float
    model: Any
    test: Rows

    @cached_property
    def wrong(self) -> np.ndarray:
        """Which test samples it gets wrong."""
        return wrong_rows(self.model, self.test)

    @cached_property
    def test_cost(self) -> float:
        """Mean features that a test sample pays for."""
        return mean_bill(self.model, self.test.X)


def candidate(
    model: Any, split: Split, origin: str, base_cost: float | None = None, cost: float | None = None
) -> Candidate:
    """Measure a model on the validation samples of a split."""
    if cost is None:
        cost = mean_bill(model, split.validation.X)
    scores = log_odds(model, split.validation.X)
    return Candidate(
        origin,
        cost if base_cost is None else base_cost,
        cost,
        calibrated_loss(scores, split.validation.y),
        float(np.mean((scores > 0) != split.validation.y)),
        model,
        split.test,
    )


def nothing_bought(split: Split) -> Candidate:
    """Return the answer that costs nothing: the commoner class of the training samples."""
    return candidate(DummyClassifier().fit(*split.train), split, "nothing")


def choose(
    pools: dict[str, list[Candidate]], budgets: Sequence[float]
) -> dict[str, list[Candidate]]:
    """Return the best candidate of every pool within each budget."""
    return {name: [best_within(pool, budget) for budget in budgets] for name, pool in pools.items()}


def best_within(candidates: Sequence[Candidate], budget: float) -> Candidate:
    """Return the candidate with the least validation loss among those within a budget."""
    return min((one for one in candidates if one.cost <= budget), key=lambda one: one.loss)


def wrong_rows(model: Any, rows: Rows) -> np.ndarray:
    return (log_odds(model, rows.X) > 0) != rows.y


def mean_bill(model: Any, X: np.ndarray) -> float:
    if isinstance(model, DummyClassifier):
        return 0.0
    return tw.feature_bill(model, X).mean


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
    about which samples they can tell apart, and a refit is the one that is blamed for it.
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
    """Draw samples for the three parts, all different."""
    order = np.random.default_rng(seed).permutation(len(y))
    ends = np.cumsum([0, *sizes])
    parts = [order[first:last] for first, last in pairwise(ends)]
    return Split(*(Rows(X[part], y[part]) for part in parts))


def line(name: str, entries: list[str]) -> None:
    print(f"  {name:32s}" + "".join(f"{entry:>8s}" for entry in entries))


def errors_of(models: list[list[Candidate]]) -> np.ndarray:
    """Return test errors, a row for each split."""
    return np.array([[one.wrong.mean() for one in of_split] for of_split in models])


def standard_errors(ours: list[list[Candidate]], theirs: list[list[Candidate]]) -> np.ndarray:
    """Return those of the difference: over splits, or over the test samples of the only one."""
    if len(ours) > 1:
        per_split = errors_of(ours) - errors_of(theirs)
        return per_split.std(axis=0, ddof=1) / np.sqrt(len(ours))
    pairs = zip(ours[0], theirs[0], strict=True)
    per_row = np.array([one.wrong.astype(float) - other.wrong for one, other in pairs])
    return per_row.std(axis=1, ddof=1) / np.sqrt(per_row.shape[1])
