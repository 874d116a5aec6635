"""A classifier that starts cheap and buys more only where the margin is small; its files."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import FittedModel
from thriftwood.billing import FeatureBill, feature_bill
from thriftwood.cascade.guarantee import cheapest_guaranteed, fewest_samples, read_share
from thriftwood.cascade.rules import RULE_ARRAYS, StoppingRules
from thriftwood.costs import AnyCosts, PriceList, price_parts, prices_from
from thriftwood.errors import InputError
from thriftwood.forest import SKIPPED, Forest, StagePredictions, Stages, files, predict_stages
from thriftwood.problem.targets import read_target
from thriftwood.support.arrays import FloatArray
from thriftwood.support.text import unit_behind

FORMAT = "thriftwood cascade"
VERSION = 2


class CascadeClassifier(FittedModel):
    """A classifier in stages, made by `PruningPath.cascade` or read by `CascadeClassifier.load`.

    The stages are prunings of one model, from cheap to rich, each part of the next. A sample is
    predicted by the first stage whose margin is large enough, so that easy samples stay cheap; what
    was bought at one stage is used at the next. It works wherever scikit-learn wants a fitted
    classifier, and in `LazyPredictor`, which fetches values only when a stage needs them.

    Parameters
    ----------
    stages : Stages
        Forests, and the margin that a sample needs to stop at each.
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
        in_use = f"CascadeClassifier: {len(self.stages.in_use)} of {len(self.stages)} stages in use"
        is_own = (self.rules.thresholds == self.stages.thresholds).all(axis=1)
        if not is_own.any():  # the whole model, which was not among the best
            return in_use
        return (
            f"{in_use}\n  on the samples that tuned it: mean bill "
            f"{self.rules.costs[is_own][0]:.6g}{unit_behind(self.prices.unit)}, error "
            f"{self.rules.errors[is_own][0]:.4g}"
        )

    @property
    def _trees(self) -> Forest:
        return self.stages.richest

    def _outputs(self, X: Any) -> FloatArray:
        return self.decision_path(X).predictions

    def decision_path(self, X: Any) -> StagePredictions:
        """Return where samples stop, by which margins, and what is predicted there.

        Returns
        -------
        path : StagePredictions
            `path.stage` says where each sample stops, `path.margins` its margin at each stage that
            it passed (NaN for all others), `path.predictions` the probabilities.
        """
        return predict_stages(self.stages, self._rows(X), self.n_jobs)

    def bill(self, X: Any, costs: AnyCosts = None) -> FeatureBill:
        """Return what samples pay.

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
            What a sample may cost on average, on the samples that the rules were tuned on. None
            means the cheapest rule whose loss is within a quarter of a standard error of the best.
        """
        return self._with_thresholds(np.array(self.rules.thresholds[self.rules.within(budget)]))

    def guaranteed(
        self, X: Any, y: ArrayLike, *, max_error_increase: float, confidence: float = 0.95
    ) -> CascadeClassifier:
        """Return the same stages with the cheapest rule that is shown not to err much more.

        On new samples its error exceeds that of the whole model, the last stage, by no more than
        `max_error_increase`: with probability `confidence` over the samples given, whatever
        distribution they and the new ones are drawn from. Rules are tested one after the other: the
        thresholds of this cascade, raised ever less, and then cheaper ones that were tuned. Where
        the samples are too few for any, the whole model is used, and a warning says so.

        Parameters
        ----------
        X, y
            Samples that nothing has seen: the model was not trained, pruned or refitted on them,
            nor the cascade tuned. The samples that it was tuned on are refused.
        max_error_increase : float
            Between 0 and 1, such as 0.01: one more sample in a hundred is misclassified.
        confidence : float
            Between 0 and 1.
        """
        limit = read_share(max_error_increase, "max_error_increase")
        sure = read_share(confidence, "confidence")
        rows = self._rows(X)
        target = read_target(y, self._trees, len(rows)).astype(np.int64)
        samples = rows, target
        rule = cheapest_guaranteed(self.stages, self.rules, samples, limit, sure, self.n_jobs)
        if rule is None:
            rule = np.append(np.full(len(self.stages) - 1, SKIPPED), 0.0)
            warnings.warn(
                f"{len(rows)} samples are too few to show that a cascade errs at most {limit:g} "
                f"more than the whole model, which is used for all samples: at least "
                f"{fewest_samples(limit, sure)} are needed.",
                stacklevel=2,
            )
        return self._with_thresholds(rule)

    def _with_thresholds(self, thresholds: FloatArray) -> CascadeClassifier:
        stages = Stages(self.stages.forests, thresholds)
        return CascadeClassifier(stages, self.prices, self.rules, self.n_jobs)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the cascade to a file, all of it or nothing; `load` reads it.

        The file holds arrays and text, nothing that could be run.
        """
        forests = enumerate(self.stages.forests)
        parts = [files.forest_parts(forest, f"stage_{number}") for number, forest in forests]
        about_prices, arrays = price_parts(self.prices)
        for _, own in parts:
            arrays |= own
        arrays |= {f"rule_{name}": getattr(self.rules, name) for name in RULE_ARRAYS}
        arrays["thresholds"] = self.stages.thresholds
        header = {
            "format": FORMAT,
            "version": VERSION,
            "stages": [about for about, _ in parts],
            "prices": about_prices,
        }
        files.save_arrays(file, header, arrays)

    @classmethod
    def load(cls, file: str | os.PathLike[str], n_jobs: int | None = None) -> CascadeClassifier:
        """Read a cascade that `save` wrote; refuse a file that is damaged."""
        otherwise = "no cascade that `CascadeClassifier.save` wrote"
        header, arrays = files.load_arrays(file, FORMAT, VERSION, otherwise)
        try:
            forests = tuple(
                files.forest_from(about, arrays, f"stage_{number}")
                for number, about in enumerate(header["stages"])
            )
            stages = Stages(forests, arrays["thresholds"]).check()
            rules = StoppingRules(*(arrays[f"rule_{name}"] for name in RULE_ARRAYS))
            prices = prices_from(header["prices"], arrays)
            if not rules.fits(len(stages)) or prices.n_features != stages.richest.n_features:
                raise ValueError
        except files.DAMAGE:
            raise InputError(f"{file} is damaged: copy it again.") from None
        return cls(stages, prices, rules, n_jobs)
