"""A classifier that starts cheap, and buys more only for rows of which it is not sure."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from thriftwood.adapters import FittedClassifier
from thriftwood.billing import FeatureBill, feature_bill
from thriftwood.cascade import files
from thriftwood.cascade.rules import StoppingRules
from thriftwood.costs import AnyCosts, PriceList
from thriftwood.forest import (
    Forest,
    Passage,
    Stages,
    pass_stages,
)
from thriftwood.support.arrays import FloatArray


class CascadeClassifier(FittedClassifier):
    """A classifier in stages, made by `PruningPath.cascade` or read by `CascadeClassifier.load`.

    The stages are prunings of one model, from cheap to rich, each part of the next. A row is
    predicted by the first stage that is sure enough of it, so that easy rows stay cheap; what a row
    bought at one stage is used at the next. It works wherever scikit-learn wants a fitted
    classifier, and in `LazyPredictor`, which fetches values only when a stage needs them.

    Parameters
    ----------
    stages : Stages
        Forests, and how sure a row must be to stop at each.
    prices : PriceList
        What features cost.
    rules : StoppingRules
        The rules that were tuned, one for every budget.
    n_jobs : int, optional
        Threads, as in scikit-learn.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array, shape (n_features,)
        Where the model knows the names of its columns.
    """

    def __init__(
        self,
        stages: Stages,
        prices: PriceList,
        rules: StoppingRules,
        n_jobs: int | None = None,
    ) -> None:
        self.stages = stages
        self.prices = prices
        self.rules = rules
        self.n_jobs = n_jobs

    def __repr__(self) -> str:
        unit = f" {self.prices.unit}" if self.prices.unit else ""
        rule = int((self.rules.thresholds == self.stages.thresholds).all(axis=1).argmax())
        return (
            f"CascadeClassifier: {len(self.stages.in_use)} of {len(self.stages)} stages in use\n"
            f"  on the rows that tuned it: mean bill {self.rules.costs[rule]:.6g}{unit}, error "
            f"{self.rules.errors[rule]:.4g}"
        )

    @property
    def _trees(self) -> Forest:
        return self.stages.richest

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class for each row, by the stage where it stops."""
        return self.decision_path(X).predictions

    def decision_path(self, X: Any) -> Passage:
        """Return how rows go through the stages.

        Returns
        -------
        path : Passage
            `path.stage` says where each row stops, `path.margins` how sure each stage that it
            looked at was (NaN for all others), `path.predictions` the probabilities.
        """
        return pass_stages(self.stages, self._rows(X), self.n_jobs)

    def bill(self, X: Any, costs: AnyCosts = None) -> FeatureBill:
        """Return what rows pay.

        Parameters
        ----------
        X : array-like or data frame, shape (n_samples, n_features)
        costs : array-like, mapping or Costs, optional
            None means the prices that the cascade was tuned with.
        """
        return feature_bill(self, X, costs, n_jobs=self.n_jobs)

    def at(self, *, budget: float | None = None) -> CascadeClassifier:
        """Return the same stages with the rule for another budget.

        Parameters
        ----------
        budget : float, optional
            What a row may cost on average, on the rows that the rules were tuned on. None means the
            cheapest rule whose loss is within a quarter of a standard error of the best.
        """
        return cascade_at(self.stages.forests, self.prices, self.rules, budget, self.n_jobs)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the cascade to a file, all of it or nothing; `load` reads it.

        The file holds arrays and text, nothing that could be run.
        """
        files.save_cascade(self.stages, self.prices, self.rules, file)

    @classmethod
    def load(cls, file: str | os.PathLike[str], n_jobs: int | None = None) -> CascadeClassifier:
        """Read a cascade that `save` wrote; refuse a file that is damaged."""
        return cls(*files.load_cascade(file), n_jobs=n_jobs)


def cascade_at(
    forests: tuple[Forest, ...],
    prices: PriceList,
    rules: StoppingRules,
    budget: float | None,
    n_jobs: int | None,
) -> CascadeClassifier:
    """Return forests as a cascade that keeps to a budget."""
    thresholds = rules.thresholds[rules.within(budget)]
    return CascadeClassifier(Stages(forests, np.array(thresholds)), prices, rules, n_jobs)
