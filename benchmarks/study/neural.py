"""Active acquisition by two small networks, in the way of DIME (Gadgil, Covert and Lee, 2024).

A predictor answers from the values seen so far. A value network learns by how much each further
value would lower the predictor's loss. A sample buys the feature of the largest expected reduction
per price, until none is worth a threshold; every threshold is a model. Written from the idea of the
paper, for the CPU, without its tuning by validation loss.
"""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import torch
from held_out import Rows, Split
from torch import nn
from torch.nn.functional import cross_entropy

from .choosing import FEW_SAMPLES, Choice, best_candidate
from .data import Task
from .meter import Predict, Prediction

WIDTH = 128
BATCH = 128
N_UPDATES = 1_200  # batches, each followed through all its purchases
FEW_UPDATES = 300  # where samples are few
WARM_UP = 300  # batches with features drawn at random, for the predictor alone
MOST_STEPS = 14
RATE = 1e-3
THRESHOLDS = np.geomspace(1e-4, 0.5, 24)  # expected nats for a feature at the mean price


def neural(task: Task, split: Split, seed: int, quick: bool) -> Choice:
    """One pair of networks; thresholds are the candidates."""
    thresholds = THRESHOLDS[::8] if quick else THRESHOLDS

    def family(rows: Rows) -> list[Callable[[], Predict]]:
        n_updates = 30 if quick else FEW_UPDATES if len(rows.y) < FEW_SAMPLES else N_UPDATES
        networks = cache(partial(Acquirer, task, rows, seed, n_updates))
        return [lambda own=own: networks().at(own) for own in thresholds.tolist()]

    return best_candidate(family, task, split)


class Acquirer:
    """The networks, trained on some samples."""

    def __init__(self, task: Task, rows: Rows, seed: int, n_updates: int) -> None:
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        X = rows.X.astype(np.float32)
        self._mean, self._spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        self._spread[~(self._spread > 0)] = 1
        n_features = X.shape[1]
        self._price = torch.tensor(task.alone / task.alone.mean(), dtype=torch.float32)
        self._n_steps = min(MOST_STEPS, n_features)
        self._predictor = network(n_features, task.n_classes)
        self._value = network(n_features, n_features)
        self._train(self._table(X), torch.tensor(rows.y), n_updates)

    def at(self, threshold: float) -> Predict:
        """Return the model that buys what is worth more than a threshold."""

        def predict(X: np.ndarray) -> Prediction:
            table = self._table(X.astype(np.float32))
            parts = [self._bought(part, threshold) for part in table.split(4096)]
            probability, mask = (torch.cat(own).numpy() for own in zip(*parts, strict=True))
            return Prediction(probability.astype(np.float64), mask > 0)

        return predict

    @torch.no_grad()
    def _bought(self, X: torch.Tensor, threshold: float) -> tuple[torch.Tensor, torch.Tensor]:
        mask, rows = torch.zeros_like(X), torch.arange(len(X))
        for _ in range(X.shape[1]):
            worth = self._worth(X[rows], mask[rows])
            most, feature = worth.max(dim=1)
            goes_on = most > threshold
            rows, feature = rows[goes_on], feature[goes_on]
            if not len(rows):
                break
            mask[rows, feature] = 1
        return self._predictor(seen(X, mask)).softmax(dim=1), mask

    def _worth(self, X: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return what each feature is expected to bring per price; nothing if it is known."""
        worth = self._value(seen(X, mask)) / self._price
        return worth.masked_fill(mask > 0, -torch.inf)

    def _train(self, X: torch.Tensor, y: torch.Tensor, n_updates: int) -> None:
        parameters = [*self._predictor.parameters(), *self._value.parameters()]
        optimiser = torch.optim.Adam(parameters, RATE)
        for update in range(WARM_UP + n_updates):
            rows = torch.randint(len(X), (BATCH,))
            if update < WARM_UP:
                mask = (torch.rand(BATCH, X.shape[1]) < torch.rand(BATCH, 1)).float()
                loss = cross_entropy(self._predictor(seen(X[rows], mask)), y[rows])
            else:
                explore = 1 - (update - WARM_UP) / n_updates
                loss = self._followed(X[rows], y[rows], explore)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def _followed(self, X: torch.Tensor, y: torch.Tensor, explore: float) -> torch.Tensor:
        """Return the losses of both networks while samples buy one feature after the other."""
        mask, every = torch.zeros_like(X), torch.arange(len(X))
        before = cross_entropy(self._predictor(seen(X, mask)), y, reduction="none")
        total = before.mean()
        for _ in range(self._n_steps):
            values = self._value(seen(X, mask))
            with torch.no_grad():
                worth = (values / self._price).masked_fill(mask > 0, -torch.inf)
                drawn = torch.rand_like(worth).masked_fill(mask > 0, -torch.inf)
                at_random = (torch.rand(len(X)) < explore).unsqueeze(1)
                feature = torch.where(at_random, drawn, worth).argmax(dim=1)
            mask = mask.clone()
            mask[every, feature] = 1
            after = cross_entropy(self._predictor(seen(X, mask)), y, reduction="none")
            gained = (before - after).detach()
            total = total + after.mean() + ((values[every, feature] - gained) ** 2).mean()
            before = after
        return total / self._n_steps

    def _table(self, X: np.ndarray) -> torch.Tensor:
        """Return values around 0; missing ones are 0, as if nothing had been learnt by asking."""
        return torch.tensor(np.nan_to_num((X - self._mean) / self._spread).clip(-10, 10))


def network(n_features: int, n_outputs: int) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Linear(2 * n_features, WIDTH), nn.ReLU()),
        *(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, n_outputs)),
    )


def seen(X: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return torch.cat([X * mask, mask], dim=1)
