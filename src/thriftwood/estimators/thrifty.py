"""The best model within a budget, in one call: features bought in stages."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from thriftwood.adapters import ClassScore, read_scorer, score_predictions
from thriftwood.billing import FeatureBill
from thriftwood.cascade import (
    CLOSE,
    StoppingRules,
    brier_scores,
    is_lopsided,
    rule_parts,
    rules_from,
    whole_model,
)
from thriftwood.costs import (
    AnyCosts,
    PriceList,
    price_parts,
    prices_from,
    prices_of_samples,
)
from thriftwood.errors import ConstantPredictionWarning, InputError
from thriftwood.estimators.options import class_weights, prices_for, read_samples
from thriftwood.evaluation import NEG_ERROR_COSTS, Evaluation
from thriftwood.forest import (
    NestedStages,
    StagePredictions,
    Stages,
    files,
    load_stages,
    purchase_plan,
    save_stages,
)
from thriftwood.forest.table import readable
from thriftwood.problem import (
    ErrorCosts,
    least_cost_answers,
    read_error_costs,
)
from thriftwood.support.arrays import FloatArray, log_of
from thriftwood.support.columns import Columns
from thriftwood.support.files import File
from thriftwood.support.progress import progress_bar
from thriftwood.support.text import DOCUMENTS, unit_behind
from thriftwood.support.validation import chosen, one_number_from_zero
from thriftwood.thrifty import (
    FRONTIER_ARRAYS,
    QUICK,
    Effort,
    Frontier,
    LabelledData,
    MeasuredStages,
    Objective,
    PricedUnits,
    StageOutputs,
    TunedStages,
    auto_learners,
    bill_of_sets,
    bills_of_sets,
    fit_stages,
    model_costs_of,
    order_sets,
    own_learner,
    scored_frontier,
    spread_sets,
    tune_stages,
    usual_frontier,
    weight_parameter,
)

THRIFTY_FORMAT = "thriftwood thrifty"
VERSION = 1
EFFORTS = {"full": Effort(), "quick": QUICK}
AUTO = "auto"
MOST_SEED = np.iinfo(np.int32).max
SAVED = ("budget", "max_cost", "effort")  # parameters that a file has
# How samples are read; NaN is missing.
AS_READ: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}


class Thrifty(BaseEstimator):
    """Common part of both estimators: sets, stages, rules, the choice among them, bills."""

    _doc_link_module = "thriftwood"
    _doc_link_template = f"{DOCUMENTS}thrifty.md"

    def __init__(
        self,
        *,
        costs: AnyCosts = None,
        budget: float | None = None,
        max_cost: float | None = None,
        scoring: Any = None,
        estimator: Any = AUTO,
        effort: str = "full",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.costs = costs
        self.budget = budget
        self.max_cost = max_cost
        self.scoring = scoring
        self.estimator = estimator
        self.effort = effort
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        costs: AnyCosts = None,
    ) -> Self:
        """Order features, fit the stages, and tune when samples may stop.

        Parameters
        ----------
        X : array-like or data frame of numbers, shape (n_samples, n_features)
            Missing values are NaN.
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            How much each sample counts; at 0 it is left out.
        costs : array-like, mapping or Costs, optional
            In place of the parameter `costs`.
        """
        self._check_parameters()
        data, own_weights, counted = self._read_samples(X, y, sample_weight)
        self._check_weights(data)
        if self.scoring is not None:  # refused before the work
            self._score_of(data, own_weights)(data.perfect(), slice(None))
        prices = prices_for(self, self.costs if costs is None else costs, len(counted))
        prices = prices.take(np.flatnonzero(counted))
        seed = int(check_random_state(self.random_state).randint(MOST_SEED))
        effort = EFFORTS[self.effort]
        units = PricedUnits(prices)
        with progress_bar("Fitting", bool(self.verbose)) as bar:
            bar("orders features")
            limit = np.inf if self.max_cost is None else float(self.max_cost)
            sets = self._sets(data, units, effort, limit, seed)
            auto = isinstance(self.estimator, str)
            learners = auto_learners(effort, data) if auto else [own_learner(self.estimator)]
            fitted = fit_stages(data, sets, learners, seed, self.n_jobs, bar)
            bar("tunes when to stop")
            held_out = fitted.held_out
            samples = data.take(held_out)
            found = StageOutputs(
                fitted.outputs,
                fitted.gate_outputs,
                bills_of_sets(prices, sets, len(data.y))[held_out],
                prices.bill_weights(own_weights)[held_out],
                model_costs_of(prices, sets),
            )
            objective = self._objective(found)
            stages = NestedStages(
                tuple(sets),
                fitted.members,
                fitted.gates,
                whole_model(len(sets)),
                objective.error_costs,
                objective.unit,
            ).check()
            final = [stages.predicted(k, samples.X, self.n_jobs)[0] for k in range(len(stages))]
            tuned = tune_stages(found, samples, objective, np.column_stack(final))
        self.rules_, self.frontier_ = self._measured(
            tuned, found, samples, own_weights[held_out], seed, prices.unit
        )
        self.prices_, self.stages_ = prices.without_samples(), stages
        self._set_rule(self.budget)
        return self

    def at(self, *, budget: float | None = None) -> Self:
        """Return the same model with the rule for another budget; nothing is fitted again.

        Parameters
        ----------
        budget : float, optional
            What a sample, or for a ranker a query, may cost on average. None means as in the
            constructor.
        """
        check_is_fitted(self, "rules_")
        other = copy(self)
        other.budget = budget
        other._set_rule(budget)
        return other

    def bill(self, X: Any, costs: AnyCosts = None) -> FeatureBill:
        """Return what samples pay.

        Parameters
        ----------
        X : array-like or data frame, shape (n_samples, n_features)
        costs : array-like, mapping or Costs, optional
            None means the prices that the model was fitted with.
        """
        rows, names = self._rows(X), self._names
        columns = Columns(self.n_features_in_, names)
        prices = prices_of_samples(self.prices_, "model", costs, columns, len(rows))
        stage = self.stages_.predict(rows, self.n_jobs).stage
        return bill_of_sets(self.stages_, self.stages_.in_use, prices, stage, rows, names)

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        *,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        sample_weight: ArrayLike | None = None,
        costs: AnyCosts = None,
    ) -> Evaluation:
        """Measure errors and bills at every budget on samples that the model was not trained on.

        The score is your `scoring`, or else accuracy, minus the Brier score where nearly all
        samples are of one class, minus what errors cost, or minus the squared error. Points go from
        dear to cheap; the original is the full model, all features for every sample.

        Parameters
        ----------
        X, y
            Samples and their targets.
        quantiles : sequence of float
            Of the bills.
        sample_weight : array-like, optional
            How often samples like each one occur.
        costs : array-like, mapping or Costs, optional
            What these samples pay; None means the prices that the model was fitted with.
        """
        check_is_fitted(self, "stages_")
        return MeasuredStages.of(self, X, y, sample_weight, costs).evaluate(quantiles)

    @property
    def prices(self) -> PriceList:
        """The prices that the model was fitted with."""
        return self.prices_

    @property
    def purchase_plan(self) -> Stages:
        """Purchases of each stage, as trees that bills and lazy predictors can follow."""
        return purchase_plan(self.stages_, getattr(self, "classes_", None), self._names)

    @property
    def _names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    def decision_path(self, X: Any) -> StagePredictions:
        """Return at which stage samples stop, how sure each stage was, and what is predicted."""
        rows = self._rows(X)
        return self.stages_.predict(rows, self.n_jobs)

    def save(self, file: File) -> None:
        """Write the model to a file, all of it or nothing; `load` reads it.

        The file holds arrays and text, nothing that could be run.
        """
        check_is_fitted(self, "stages_")
        about_prices, arrays = price_parts(self.prices_)
        arrays |= rule_parts(self.rules_)
        arrays |= {f"frontier_{name}": getattr(self.frontier_, name) for name in FRONTIER_ARRAYS}
        classes = getattr(self, "classes_", None)
        header = {
            "format": THRIFTY_FORMAT,
            "version": VERSION,
            "kind": type(self).__name__,
            "prices": about_prices,
            "feature_names": self._names,
            "classes": None if classes is None else classes.tolist(),
            "scoring": self.frontier_.scoring,
            "suggested": self.rules_.suggested,
            "own_scoring": self.scoring is not None,
            "scored_class": self.scoring.label if isinstance(self.scoring, ClassScore) else None,
            "own_error_costs": getattr(self, "error_costs", None) is not None,
            **{name: getattr(self, name) for name in SAVED},
        }
        save_stages(file, self.stages_, header, arrays)

    @classmethod
    def load(cls, file: File, n_jobs: int | None = None) -> Self:
        """Read a model that `save` wrote; refuse a file that is damaged."""
        model: Any = load_thrifty(file, n_jobs)
        if not isinstance(model, cls):
            kind = type(model).__name__
            raise InputError(f"{file} holds a {kind}: use `{kind}.load`.")
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _objective(self, found: StageOutputs) -> Objective:
        """Return what errors cost."""

    @abstractmethod
    def _read_target(self, y: NDArray[Any], weights: FloatArray) -> tuple[Any, FloatArray, int]:
        """Return the target as numbers, the weights to train by, and the number of classes."""

    @abstractmethod
    def _usual_scores(
        self, tuned: TunedStages, found: StageOutputs, samples: LabelledData, weights: FloatArray
    ) -> tuple[str, FloatArray]:
        """Return the score that the frontier shows, and what each sample has of it at each stage.

        More is better, shape (n_samples, n_stages).
        """

    def _check_parameters(self) -> None:
        """Refuse before any work what would be refused after it."""
        chosen(self.effort, EFFORTS, "effort")
        if isinstance(self.estimator, str):
            chosen(self.estimator, (AUTO,), "estimator")
        elif not hasattr(self.estimator, "fit"):
            raise InputError(
                f"`estimator` is {self.estimator!r}: pass {AUTO!r}, or a model of scikit-learn's "
                "kind that is not trained yet.",
                "estimator",
            )
        elif isinstance(self, ClassifierMixin) and not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                f"`estimator` is a {type(self.estimator).__name__}, which has no `predict_proba`: "
                "pass one that predicts probabilities, such as a forest, or put it into "
                "scikit-learn's `CalibratedClassifierCV`.",
                "estimator",
            )
        self._check_scoring()
        for name in ("budget", "max_cost"):
            if getattr(self, name) not in (None, np.inf):
                one_number_from_zero(getattr(self, name), name, "Infinity is no limit.")

    def _check_scoring(self) -> None:
        if self.scoring is not None:
            read_scorer(self.scoring)

    def _check_weights(self, data: LabelledData) -> None:
        """Refuse weights that the user's learner does not take."""
        if isinstance(self.estimator, str) or not data.has_weights:
            return
        if weight_parameter(self.estimator) is None:
            model = getattr(self.estimator, "steps", [("", self.estimator)])[-1][1]
            raise InputError(
                f"{type(model).__name__}.fit takes no `sample_weight`, and samples have weights, "
                "by `sample_weight` or `class_weight`: leave these out, or pass an `estimator` "
                "that takes them.",
                "estimator",
            )

    def _read_samples(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[LabelledData, FloatArray, NDArray[np.bool_]]:
        """Return samples that count, their own weights, and which of those given they are."""
        X, y, weights = read_samples(self, X, y, sample_weight, AS_READ)
        target, trained_by, n_classes = self._read_target(y, weights)
        counted = trained_by > 0
        data = LabelledData(X[counted], target[counted], trained_by[counted], n_classes)
        return data, weights[counted], counted

    def _sets(
        self, data: LabelledData, units: PricedUnits, effort: Effort, limit: float, seed: int
    ) -> list[frozenset[int]]:
        """Return the sets of the stages, from free to dear."""
        if data.is_constant or len(data.y) < 4:
            return [units.free]
        sets = order_sets(data, units, effort, limit, seed, self.n_jobs)
        prices = np.array([units.price(own) for own in sets])
        return [sets[number] for number in spread_sets(sets, prices, effort.n_stages)]

    def _measured(
        self,
        tuned: TunedStages,
        found: StageOutputs,
        samples: LabelledData,
        own_weights: FloatArray,
        seed: int,
        unit: str,
    ) -> tuple[StoppingRules, Frontier]:
        """Return the rules to choose from, and the frontier."""
        if self.scoring is None:
            name, scores = self._usual_scores(tuned, found, samples, own_weights)
            return tuned.rules, usual_frontier(tuned, scores, own_weights, (name, unit))
        about = read_scorer(self.scoring)[0], unit
        score_of = self._score_of(samples, own_weights)
        return scored_frontier(tuned, found.outputs, score_of, seed, about)

    def _score_of(
        self, samples: LabelledData, weights: FloatArray
    ) -> Callable[[FloatArray, Any], float]:
        """Return the user's score of predictions of some samples."""
        name, scorer = read_scorer(self.scoring)
        classes = getattr(self, "classes_", None)
        y = samples.y if classes is None else classes[samples.y]

        def score_of(outputs: FloatArray, some: Any) -> float:
            own = samples.X[some], y[some], weights[some]
            return score_predictions(name, scorer, outputs, classes, *own)

        return score_of

    def _set_rule(self, budget: float | None) -> None:
        """Take the rule for a budget."""
        rule = self.rules_.within(budget)
        if self.adds_up:
            rule = self._of_least_total(len(self.rules_) if budget is None else rule + 1)
        self.rule_ = rule
        self.stages_ = replace(self.stages_, thresholds=self.rules_.thresholds[rule])
        self.cost_ = float(self.rules_.costs[rule])
        self.score_ = float(self.frontier_.score[rule])
        self._warn_of_constant()

    def _warn_of_constant(self) -> None:
        """Warn where nothing is bought though something may be, so that all get one answer."""
        limits = [one for one in (self.budget, self.max_cost) if one is not None]
        n_classes = len(getattr(self, "classes_", "12"))
        buys = bool(self.stages_.sets[0]) or self.stages_.thresholds[0] > 0
        if buys or n_classes == 1 or 0 in limits or self.adds_up:
            return
        why = "No set of features predicted clearly better samples that models did not see"
        if limits:
            why = f"Within {min(limits):g}{unit_behind(self.prices_.unit)} this model buys nothing"
        warnings.warn(
            f"{why}: every sample gets the same answer.", ConstantPredictionWarning, stacklevel=3
        )

    @property
    def adds_up(self) -> bool:
        """True where rules are chosen by the sum of bill and errors."""
        return getattr(self, "error_costs", None) is not None and self.scoring is None

    def _of_least_total(self, n_rules: int) -> int:
        """Return the cheapest rule whose bill and errors cost hardly more than the least."""
        total = (self.rules_.costs + self.rules_.losses)[:n_rules]
        best = int(np.argmin(total))
        return int(np.argmax(total <= total[best] + CLOSE * self.rules_.standard_errors[best]))

    def _rows(self, X: Any) -> FloatArray:
        check_is_fitted(self, "stages_")
        rows: FloatArray = validate_data(self, readable(X), reset=False, **AS_READ)
        return rows

    def _summary(self) -> str:
        unit = unit_behind(self.prices_.unit)
        return f"mean bill {self.cost_:.6g}{unit}, {self.frontier_.scoring} {self.score_:.4g}"


class ThriftyClassifier(ClassifierMixin, Thrifty):
    """The best classifier within a budget: features are bought in stages, as long as needed.

    Features are ordered by what they bring per price. On nested sets of them, from free to all,
    strong models are trained: averages of a booster and a forest. A sample starts with the cheapest
    set and buys the next only while its class is not clear. When it is clear enough is tuned for
    every budget, by models that did not see the samples they are measured on (cross-fitting).

    Parameters
    ----------
    costs : array-like, mapping from feature name to price, Costs, or None
        What it costs one sample to look at each feature. None means 1 each; names need data frames.
    budget : float, optional
        What a sample may cost on average. None takes the cheapest rule that is not clearly worse
        than the best, by more than one standard error of the paired difference: neither by its
        score nor, of classes, by the log loss, nor, by more than half a standard error, by the area
        under the ROC curve. With `error_costs` and no `scoring` it takes the least total of bill
        and errors, or hardly more.
    max_cost : float, optional
        What no sample may exceed, apart from what is paid once for the model. Where samples have
        prices of their own, as long as none is above the dearest that the model was fitted with.
    error_costs : float, mapping from class to cost, or matrix, optional
        What wrong answers cost, in the unit of the prices, as in `prune`.
    scoring : str or callable, optional
        A score of scikit-learn to choose rules by, in place of the share of right answers.
    estimator : "auto" or a model of scikit-learn's kind
        What to train on each set. "auto" is LightGBM, or scikit-learn's histogram boosting where it
        is not installed, and extremely randomised trees.
    effort : {"full", "quick"}
        "quick" has fewer stages of boosters alone, for a first look.
    class_weight : dict, "balanced" or None
        How much classes count, in training and where rules are tuned.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads. The model does not depend on it.
    verbose : bool
        Whether to show a progress bar.

    Attributes
    ----------
    frontier_ : Frontier
        Mean bill and score at every budget, on samples that models did not see.
    stages_ : NestedStages
        The sets, their models, and how sure samples must be to stop.
    rules_ : StoppingRules
        All rules to choose from.
    rule_ : int
        Which of them was taken.
    prices_ : PriceList
    cost_, score_ : float
        Of the rule that was taken, on samples that models did not see.
    classes_ : array, shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array, shape (n_features,)
        Where X has column names that are text.

    Examples
    --------
    >>> import thriftwood as tw
    >>> heart = tw.datasets.load_heart()
    >>> model = tw.ThriftyClassifier(costs=heart.costs, budget=50, effort="quick", random_state=0)
    >>> model = model.fit(heart.X, heart.y)
    >>> bool(model.cost_ <= 50)
    True
    >>> bool(model.at(budget=5).bill(heart.X).mean < model.bill(heart.X).mean)
    True
    """

    def __init__(
        self,
        *,
        costs: AnyCosts = None,
        budget: float | None = None,
        max_cost: float | None = None,
        error_costs: Any = None,
        scoring: Any = None,
        estimator: Any = AUTO,
        effort: str = "full",
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            costs=costs,
            budget=budget,
            max_cost=max_cost,
            scoring=scoring,
            estimator=estimator,
            effort=effort,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.error_costs = error_costs
        self.class_weight = class_weight

    @property
    def error_costs_(self) -> FloatArray:
        """Costs of answers: true class, answer; 1 for every error where nothing else was said."""
        check_is_fitted(self, "stages_")
        return self.stages_.error_costs

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample: the likeliest, or that of least expected cost."""
        answers = least_cost_answers(self.predict_proba(X), self.error_costs_)
        labels: NDArray[Any] = self.classes_[answers]
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class for each sample, by the stage where it stops."""
        return self.decision_path(X).predictions

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of the probability of each class for each sample."""
        return log_of(self.predict_proba(X))

    def _read_target(self, y: NDArray[Any], weights: FloatArray) -> tuple[Any, FloatArray, int]:
        counted = y[weights > 0]
        self.classes_ = np.unique(counted)
        if not len(counted):
            raise InputError("All samples have a weight of 0.", "sample_weight")
        if self.class_weight is not None:
            weights = weights * class_weights(self.class_weight, y)
        if self.error_costs is not None:
            read_error_costs(ErrorCosts(self.error_costs), self.classes_)  # refused before the work
        target = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        return target, weights, len(self.classes_)

    def _objective(self, found: StageOutputs) -> Objective:  # noqa: ARG002
        if self.error_costs is None:
            return Objective(1.0 - np.eye(len(self.classes_)))
        matrix = read_error_costs(ErrorCosts(self.error_costs), self.classes_)
        return Objective(matrix, is_money=True)

    def _usual_scores(
        self,
        tuned: TunedStages,
        found: StageOutputs,
        samples: LabelledData,
        weights: FloatArray,  # noqa: ARG002
    ) -> tuple[str, FloatArray]:
        if self.error_costs is not None:
            return NEG_ERROR_COSTS, -tuned.observed
        n_classes = len(self.classes_)
        if n_classes == 1 or not is_lopsided(samples.y, samples.weights / samples.weights.sum()):
            return "accuracy", 1.0 - tuned.observed
        briers = brier_scores(found.outputs, np.eye(n_classes)[samples.y])
        return "neg_brier_score", -briers / (2 if n_classes == 2 else 1)  # as scikit-learn has it


class ThriftyRegressor(RegressorMixin, Thrifty):
    """The best regressor within a budget: features are bought in stages, as long as needed.

    As `ThriftyClassifier`, for numbers: a sample buys the next set while the squared error that it
    may save, as a small forest expects it to, is worth the price. Parameters and attributes are the
    same, without classes, their weights and costs of errors; rules are chosen by the squared error,
    and the score of the frontier is the share of the variance that is explained.

    Examples
    --------
    >>> import thriftwood as tw
    >>> heart = tw.datasets.load_heart()
    >>> age, X, costs = heart.X[:, 0], heart.X[:, 1:], heart.costs[1:]
    >>> model = tw.ThriftyRegressor(costs=costs, budget=20, effort="quick", random_state=0)
    >>> bool(model.fit(X, age).cost_ <= 20)
    True
    """

    def predict(self, X: Any) -> FloatArray:
        """Predict the number of each sample, by the stage where it stops."""
        return self.decision_path(X).predictions[:, 0]

    def _read_target(self, y: NDArray[Any], weights: FloatArray) -> tuple[Any, FloatArray, int]:
        return y.astype(np.float64), weights, 0

    def _objective(self, found: StageOutputs) -> Objective:
        unit = float(found.gates[:, 0].mean())
        return Objective(np.empty((0, 0)), unit if unit > 0 else 1.0)

    def _usual_scores(
        self,
        tuned: TunedStages,
        found: StageOutputs,  # noqa: ARG002
        samples: LabelledData,
        weights: FloatArray,
    ) -> tuple[str, FloatArray]:
        mean = np.average(samples.y, weights=weights)
        variance = float(np.average((samples.y - mean) ** 2, weights=weights))
        return "r2", 1.0 - tuned.observed / (variance or 1.0)


def load_thrifty(file: File, n_jobs: int | None = None) -> ThriftyClassifier | ThriftyRegressor:
    """Read a model that `save` wrote, of either kind; refuse a file that is damaged."""
    otherwise = "no model that `ThriftyClassifier.save` wrote"
    header, arrays = files.load_arrays(file, THRIFTY_FORMAT, VERSION, otherwise)
    kinds: dict[str, Any] = {one.__name__: one for one in (ThriftyClassifier, ThriftyRegressor)}
    try:
        own = {name: header[name] for name in SAVED}
        model: ThriftyClassifier | ThriftyRegressor
        model = kinds[header["kind"]](**own, n_jobs=n_jobs)
        model.stages_ = load_stages(header, arrays)
        model.prices_ = prices_from(header["prices"], arrays)
        model.rules_ = rules_from(header["suggested"], arrays)
        measured: Any = {name: arrays[f"frontier_{name}"] for name in FRONTIER_ARRAYS}
        measured |= {"scoring": header["scoring"], "unit": model.prices_.unit}
        model.frontier_ = Frontier(**measured)
        model.n_features_in_ = model.stages_.n_features
        if header["feature_names"] is not None:
            model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        if header["classes"] is not None:
            model.classes_ = np.array(header["classes"])
        if header["own_scoring"]:
            name, label = header["scoring"], header.get("scored_class")
            model.scoring = name if label is None else ClassScore(name, label)
        if header["own_error_costs"]:
            model.error_costs = model.stages_.error_costs
        fits = (
            model.prices_.n_features == model.n_features_in_
            and model.rules_.thresholds.shape == (len(model.rules_), len(model.stages_))
            and len(model.frontier_) == len(model.rules_) > header["suggested"] >= 0
            and len(model.stages_.error_costs) == len(header["classes"] or ())
            and header.get("scored_class") in (None, *(header["classes"] or ()))
        )
        if not fits:
            raise ValueError
        model._set_rule(model.budget)
    except files.DAMAGE:
        raise InputError(f"{file} is damaged: copy it again.") from None
    return model
