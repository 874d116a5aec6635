"""A classifier that starts cheap and buys more only where the margin is small; its files."""

from __future__ import annotations

import math
import os
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.acquisition import LazyPredictor, read_limit
from thriftwood.adapters import FittedModel, read_forest
from thriftwood.billing import FeatureBill, feature_bill
from thriftwood.cascade.guarantee import (
    Guarantee,
    Limits,
    cheapest_guaranteed,
    read_class_weight,
    read_part,
)
from thriftwood.cascade.rules import ROUNDING, StoppingRules, rule_parts, rules_from, whole_model
from thriftwood.costs import AnyCosts, PriceList, price_parts, prices_from
from thriftwood.errors import InputError
from thriftwood.evaluation import (
    LEAST_TOTAL_COST,
    Choice,
    Evaluation,
    check_several_classes,
    choice_of,
)
from thriftwood.forest import (
    Forest,
    StagePredictions,
    Stages,
    files,
    predict_stages,
    stage_parts,
    stages_from,
)
from thriftwood.forest.table import read_rows
from thriftwood.problem import (
    ClassWeight,
    ErrorCosts,
    SampleData,
    least_cost_answers,
    read_error_costs,
    read_target,
    read_weights,
    times_counted,
)
from thriftwood.support.arrays import FloatArray
from thriftwood.support.axes import with_unit
from thriftwood.support.summary import Chart, Summarised, Summary
from thriftwood.support.text import DOCUMENTS, unit_behind

FORMAT = "thriftwood cascade"
VERSION = 6


def _without_guarantee(header: dict[str, Any], _arrays: Any) -> None:
    """Make version 6 of version 5, which did not keep what was shown of errors."""
    header["guarantee"] = None


files.UPDATES[FORMAT, 5] = _without_guarantee


class CascadeClassifier(Summarised, FittedModel):
    """A classifier in stages, made by `PruningPath.cascade` or read by `CascadeClassifier.load`.

    The stages are prunings of one model, from cheap to rich, each part of the next. A sample is
    predicted by the first stage whose margin is large enough, so that easy samples stay cheap; what
    was bought at one stage is used at the next. It works wherever scikit-learn wants a fitted
    classifier, and in `LazyPredictor`, which fetches values only when a stage needs them.

    Parameters
    ----------
    stages : Stages
        Forests, the margin that a sample needs to stop at each, and what errors cost: with these
        `predict` answers with the class of least expected cost, not with the most probable one.
    prices : PriceList
        What features cost.
    rules : StoppingRules
        The rules that were tuned, one for every budget.
    n_jobs : int, optional
        Threads, as in scikit-learn.
    max_cost : float
        What a sample may pay at the most, as in `LazyPredictor`.
    evaluation : Evaluation, optional
        Scores, errors and bills of the rules on the samples that tuned them, a point for each; not
        of a cascade that was read from a file.

    Attributes
    ----------
    choice : Choice, optional
        What the rule in use gives up for what it saves, on the samples that tuned it, where there
        is an `evaluation`; not of a rule that `guaranteed` found, nor with a `max_cost`.
    guarantee : Guarantee, optional
        What is shown of the errors of a rule that `guaranteed` found.
    classes_ : array, shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array, shape (n_features,)
        Where the model knows the names of its columns.
    """

    _doc_link_template = f"{DOCUMENTS}cascade.md"

    def __init__(
        self,
        stages: Stages,
        prices: PriceList,
        rules: StoppingRules,
        n_jobs: int | None = None,
        max_cost: float = math.inf,
        evaluation: Evaluation | None = None,
    ) -> None:
        self.stages = stages
        self.prices = prices
        self.rules = rules
        self.n_jobs = n_jobs
        self.max_cost = max_cost
        self.evaluation = evaluation
        self.guarantee: Guarantee | None = None

    def _summary(self) -> Summary:
        in_use = f"CascadeClassifier: {len(self.stages.in_use)} of {len(self.stages)} stages in use"
        own, choice = self.rules.number_of(self.stages.thresholds), self.choice
        notes = [str(one) for one in (self.guarantee, choice) if one is not None]
        if own is None or own == len(self.rules):
            return Summary(in_use, notes=notes)
        unit = unit_behind(self.prices.unit)
        word = "error" if self.error_costs is None else "errors cost"
        cost, error = float(self.rules.costs[own]), float(self.rules.errors[own])
        if not notes:
            tuned = "on the samples that tuned it"
            notes = [f"{tuned}: mean bill {cost:.6g}{unit}, {word} {error:.4g}"]
        about = with_unit("mean bill", self.prices.unit), word
        mark = (cost, error, "this rule")
        chart = Chart(self.rules.costs, self.rules.errors, *about, mark=mark)
        return Summary(in_use, notes=notes, chart=chart)

    @property
    def choice(self) -> Choice | None:
        """Score and bill given up and saved, on the samples that tuned the rules."""
        own = self.rules.number_of(self.stages.thresholds)
        is_limited = self.max_cost < math.inf or self.guarantee is not None
        if self.evaluation is None or own is None or is_limited:
            return None
        place = None if own == len(self.rules) else own
        suggested = "one_standard_error" if self.error_costs is None else LEAST_TOTAL_COST
        is_suggested = own == self.rules.suggested
        return choice_of(self.evaluation, place, suggested if is_suggested else "budget")

    @property
    def _trees(self) -> Forest:
        return self.stages.richest

    @property
    def error_costs(self) -> FloatArray | None:
        """Costs of answers (columns) where rows are true, in the order of the classes."""
        return self.stages.error_costs if len(self.stages.error_costs) else None

    @property
    def error_costs_(self) -> FloatArray | None:
        """Costs of answers, for whoever answers in place of `predict`."""
        return self.error_costs

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample: the most probable, or that of least expected cost."""
        if self.error_costs is None:
            return super().predict(X)
        answers = least_cost_answers(self._outputs(X), self.error_costs)
        return self.classes_[answers]

    def _outputs(self, X: Any) -> FloatArray:
        return self.decision_path(X).predictions

    def decision_path(self, X: Any) -> StagePredictions:
        """Return where samples stop, by which margins, and what is predicted there.

        Returns
        -------
        path : StagePredictions
            `path.stage` says where each sample stops, `path.margins` its margin at each stage that
            it passed (NaN for all others, and for all where a limit stops trees in between),
            `path.predictions` the probabilities.
        """
        if self.max_cost == math.inf:
            return predict_stages(self.stages, self._rows(X), self.n_jobs)
        answer = LazyPredictor(self).predict(X)
        assert answer.proba is not None
        unknown = np.full((len(answer.stages), len(self.stages)), np.nan)
        return StagePredictions(answer.stages, unknown, answer.proba)

    def bill(self, X: Any, costs: AnyCosts = None) -> FeatureBill:
        """Return what samples pay.

        Parameters
        ----------
        X : array-like or data frame, shape (n_samples, n_features)
        costs : array-like, mapping or Costs, optional
            None means the prices that the cascade was tuned with.
        """
        if self.max_cost == math.inf:
            return feature_bill(self, X, costs, n_jobs=self.n_jobs)
        return LazyPredictor(self, costs=costs).predict(X).bill

    def at(self, *, budget: float | None = None, max_cost: float = math.inf) -> CascadeClassifier:
        """Return the same stages with the rule for another budget, and another limit.

        Parameters
        ----------
        budget : float, optional
            What a sample may cost on average, on the samples that the rules were tuned on. None
            means the cheapest rule that is as good as the best: see `PruningPath.cascade`.
        max_cost : float
            What no sample may pay more than. Trees that need a value which does not fit answer with
            the node that they have reached, as in `LazyPredictor`. Rules were tuned without it.
        """
        rule = self.rules.within(budget)
        whole = whole_model(len(self.stages))
        limited = self._with_thresholds(np.vstack([self.rules.thresholds, whole])[rule])
        limited.max_cost = read_limit(max_cost)
        return limited

    def guaranteed(
        self,
        X: Any,
        y: ArrayLike,
        *,
        max_error_increase: float,
        confidence: float = 0.95,
        class_weight: ClassWeight = None,
        sample_weight: ArrayLike | None = None,
    ) -> CascadeClassifier:
        """Return the same stages with the cheapest rule that is shown not to err much more.

        On new samples its error exceeds that of the whole model, the last stage, by no more than
        `max_error_increase`: with probability `confidence` over the samples given, whatever
        distribution they and the new ones are drawn from. Rules are tested one after the other: the
        thresholds of this cascade, raised ever less, and then cheaper ones that were tuned. Where
        the samples are too few for any, the whole model is used, and a warning says so. What is
        shown stands in the attribute `guarantee`.

        Errors do not see everything. So of the rules that pass none is taken that names one class
        for all samples, if the whole model does not. Where more than three quarters of the samples
        are of one class, none is taken whose score (see `PruningPath.choose`) is clearly below the
        best on these samples. With `error_costs` these alone decide.

        Parameters
        ----------
        X, y
            Samples that nothing has seen: the model was not trained, pruned or refitted on them,
            nor the cascade tuned. The samples that it was tuned on are refused.
        max_error_increase : float
            Between 0 and 1, such as 0.01: one more sample in a hundred is misclassified. With
            `error_costs` what errors may cost more, on average: from 0 to the dearest.
        confidence : float
            Between 0 and 1.
        class_weight : "uniform", mapping from class to weight, or None
            How much errors on a class count. None means as in tuning, where they counted as in
            training if nothing else was said.
        sample_weight : array-like, optional
            How much each sample counts: how often there are others like it. New samples are taken
            to weigh at most as much as the greatest of these.
        """
        if self.max_cost < math.inf:
            raise InputError(
                "A cascade with a `max_cost` buys less than the rules that are tested: call "
                "`guaranteed` on `cascade.at(...)` without it.",
                "max_cost",
            )
        dearest = 1.0 if self.error_costs is None else float(self.error_costs.max())
        own = self.rules.class_weights
        weights = own if class_weight is None else read_class_weight(class_weight, self._trees)
        limit = read_part(max_error_increase, "max_error_increase", dearest)
        limits = Limits(limit, read_part(confidence, "confidence"), weights)
        data = self._fresh(X, y, sample_weight)
        rule, found = cheapest_guaranteed(self.stages, self.rules, data, limits, self.n_jobs)
        return self._with_thresholds(rule, found)

    def _fresh(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> SampleData:
        """Return samples that nothing has seen, checked."""
        table = read_rows(X, self._trees)
        target = read_target(y, self._trees, table.n_samples).astype(np.int32)
        weights = read_weights(sample_weight, table.n_samples)
        counted = weights > 0
        check_several_classes(np.unique(target[counted]), int(counted.sum()))
        times = times_counted(self._trees.n_trees, table.n_samples)
        return SampleData(table, target, weights, weights, weights, times)

    def _with_thresholds(
        self, thresholds: FloatArray, guarantee: Guarantee | None = None
    ) -> CascadeClassifier:
        other = copy(self)
        other.stages = replace(self.stages, thresholds=thresholds)
        other.guarantee = guarantee
        return other

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the cascade to a file, all of it or nothing; `load` reads it.

        The file holds arrays and text, nothing that could be run.
        """
        about_prices, arrays = price_parts(self.prices)
        about_stages, own = stage_parts(self.stages)
        arrays |= own | rule_parts(self.rules)
        arrays["thresholds"] = self.stages.thresholds
        if self.error_costs is not None:
            arrays["error_costs"] = self.error_costs
        header = {
            "format": FORMAT,
            "version": VERSION,
            "suggested": self.rules.suggested,
            "max_cost": None if self.max_cost == math.inf else self.max_cost,
            "guarantee": None if self.guarantee is None else self.guarantee.facts(),
            "stages": about_stages,
            "prices": about_prices,
        }
        files.save_arrays(file, header, arrays)

    @classmethod
    def load(
        cls, file: str | os.PathLike[str], model: Any = None, n_jobs: int | None = None
    ) -> CascadeClassifier:
        """Read a cascade that `save` wrote; refuse a file that is damaged.

        `model` is the pipeline that it was made of, if it was one: files hold no transformers.
        """
        otherwise = "no cascade that `CascadeClassifier.save` wrote"
        header, arrays = files.load_arrays(file, FORMAT, VERSION, otherwise)
        try:
            stages = stages_from(header["stages"], arrays)
            classes = tuple(np.asarray(stages.richest.classes).tolist())
            rules = rules_from(header["suggested"], arrays)
            prices = prices_from(header["prices"], arrays)
            if (
                not rules.fits(len(stages), len(classes))
                or prices.n_features != stages.richest.n_features
            ):
                raise ValueError
            error_costs = arrays.get("error_costs")
            if error_costs is not None:
                error_costs = read_error_costs(ErrorCosts(error_costs), stages.richest.classes)
                stages = replace(stages, error_costs=error_costs)
            elif (rules.errors > 1 + ROUNDING).any():
                raise ValueError
            max_cost = math.inf if header["max_cost"] is None else read_limit(header["max_cost"])
            shown = header["guarantee"]
            guarantee = None if shown is None else Guarantee.of(shown, classes)
        except (*files.DAMAGE, InputError):
            raise InputError(f"{file} is damaged: copy it again.") from None
        whole = None if model is None else read_forest(model)
        inputs = files.inputs_from(header["stages"][0], whole, file)
        forests = tuple(replace(one, inputs=inputs) for one in stages.forests)
        stages = replace(stages, forests=forests)
        cascade = cls(stages, prices, rules, n_jobs, max_cost)
        cascade.guarantee = guarantee
        return cascade
