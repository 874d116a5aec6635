"""A forest that is grown, pruned and brought to a good point by `fit`."""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from thriftwood.adapters import (
    Scoring,
    check_names,
    fit_ranker,
    is_ranker,
    library_of,
    read_forest,
    weight_name,
    without_pipeline,
)
from thriftwood.costs import AnyCosts
from thriftwood.errors import (
    ConstantPredictionWarning,
    InputError,
    UnfittedModelError,
    UnsupportedModelError,
)
from thriftwood.estimators.cross_validation import Fold, FoldSamples, cross_validate, make_folds
from thriftwood.estimators.options import prices_for, refuse_text, target_in_words
from thriftwood.evaluation import (
    Evaluation,
    check_scoring,
    check_statistic,
    choose_point,
    chosen_recalibration,
    read_rule,
    warn_of_constant,
)
from thriftwood.forest.table import CATEGORIES, OBJECTS, columns_of_type, readable
from thriftwood.problem import (
    AnyErrorCosts,
    AnyLoss,
    ClassWeight,
    ErrorCosts,
    answers_of,
    check_known,
    read_error_costs,
    read_queries,
    read_weights,
)
from thriftwood.pruning import Pruned, PruningPath, prune_path
from thriftwood.support.arrays import FloatArray, log_of
from thriftwood.support.parallel import aside, joblib_settings
from thriftwood.support.text import DOCUMENTS
from thriftwood.support.validation import check_mask, one_number_from_zero

OUT_OF_BAG = "out_of_bag"
TAKES_CATEGORIES = ("lightgbm", "xgboost")


@dataclass(eq=False, repr=False)
class _PrunedEnsemble(BaseEstimator):
    """All that the classifier and the regressor share."""

    _doc_link_module = "thriftwood"
    _doc_link_template = f"{DOCUMENTS}choosing.md"
    _forest: ClassVar[type[Any]]

    estimator: Any = None
    _: KW_ONLY
    costs: AnyCosts = None
    budget: float | None = None
    tradeoff: float | None = None
    scoring: Scoring = None
    error_costs: AnyErrorCosts = None
    rule: str | None = None
    limit: float | None = None
    cv: Any = 5
    loss: AnyLoss = None
    class_weight: ClassWeight = None
    samples: str | None = None
    refit: bool = False
    random_state: Any = None
    n_jobs: int | None = None

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        costs: AnyCosts = None,
        qid: ArrayLike | None = None,
    ) -> Self:
        """Grow the trees, compute their path and take a point of it.

        Parameters
        ----------
        X : array-like or data frame, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            How much each sample counts: in growing, in pruning and in choosing the point.
        costs : array-like, mapping or Costs, optional
            In place of the parameter `costs`, for prices that come by metadata routing. Tools of
            scikit-learn that split samples also split an array that happens to have as many entries
            as there are samples; a mapping is always passed whole.
        qid : array-like, shape (n_samples,), optional
            The query of each sample, where samples are documents that queries found: rankers are
            trained with it, folds are made of whole queries, and points chosen by "ndcg@10" unless
            `scoring` says something else.
        """
        self._check_parameters()
        samples = self._read_samples(X, y, sample_weight)
        query = read_queries(qid, len(samples.y))
        if query is None and is_ranker(self._template()):
            raise InputError(
                f"A {type(self.estimator).__name__} is trained on the documents of each query: "
                "pass `qid`, the query of each sample.",
                "qid",
            )
        samples = samples._replace(costs=self.costs if costs is None else costs, query=query)
        prices_for(self, samples.costs, len(samples.y), query)  # refuses before any work
        check_names(self._template(), getattr(self, "feature_names_in_", ()))
        folds = self._folds(samples)
        if hasattr(self, "feature_names_in_"):
            samples = samples._replace(X=X)  # models trained on data frames know their names
        self.path_ = self._grow(samples)
        self.estimator_ = self.path_.model
        if not self._is_decided:
            judge = self.scoring if self._money is None else self._money
            check_statistic(self.path_.forest, judge, query is not None)
        self.evaluation_ = self._measured(samples, folds)
        self.pruned_ = self._chosen()
        if self.budget and not self.pruned_.n_splits and self.path_.n_splits[0]:
            warnings.warn(
                f"Within {self.budget:g} no split can be paid for: every sample gets the same "
                "answer.",
                ConstantPredictionWarning,
                stacklevel=2,
            )
        self.recalibration_ = chosen_recalibration(self.evaluation_, self.pruned_.choice)
        if self.refit:
            self.pruned_ = self.pruned_.refit(
                samples.X,
                samples.y,
                sample_weight=samples.weights,
                qid=samples.query,
                n_jobs=self.n_jobs,
            )
        self.model_ = self.pruned_.model
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class, or the number, of each sample with the pruned model."""
        predicted: NDArray[Any] = self._fitted_for(X).predict(readable(X))
        return predicted

    def _fitted_for(self, X: Any) -> Any:
        """Return the pruned model, if X has the columns that it was fitted on."""
        check_is_fitted(self)
        if hasattr(X, "columns"):  # not every library looks at their names
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.model_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = get_tags(self._template()).input_tags
        tags.input_tags.allow_nan, tags.input_tags.sparse = own.allow_nan, own.sparse
        return tags

    def _template(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        # Trees that may choose among all features share more of them, so pruning saves more.
        return self._forest(max_features=None, n_jobs=self.n_jobs)

    def _new_model(self) -> Any:
        model = clone(self._template(), safe=False)
        with suppress(UnfittedModelError):  # only kinds that can be pruned get that far
            read_forest(model)
        if not hasattr(model, "fit") or is_classifier(model) != is_classifier(self):
            raise UnsupportedModelError(
                f"A {type(self).__name__} cannot be made of a {type(model).__name__}: pass a "
                f"model of the kind of {self._forest.__name__}."
            )
        if self.random_state is not None and "random_state" in without_pipeline(model).get_params():
            without_pipeline(model).set_params(random_state=self.random_state)
        return model

    def _check_parameters(self) -> None:
        """Refuse before any work what would be refused after it."""
        read_rule(self.rule, self.limit, self.error_costs is not None)
        if self.scoring is not None:
            check_scoring(self.scoring)
            if self.error_costs is not None:
                raise InputError("Pass either `scoring` or `error_costs`.", "scoring")
        if self.budget is not None and self.tradeoff is not None:
            raise InputError("Pass `budget` or `tradeoff`, not both: each alone decides the point.")
        if isinstance(self.cv, str) and self.cv != OUT_OF_BAG:
            raise InputError(
                f"`cv` is {self.cv!r}: pass a number of folds, a splitter, ready-made splits, or "
                f"{OUT_OF_BAG!r}."
            )
        for name in ("budget", "tradeoff"):
            if getattr(self, name) is not None:
                one_number_from_zero(getattr(self, name), name, "Or pass None and let `cv` choose.")
        model = self._new_model()
        is_bagged = bool(getattr(without_pipeline(model), "bootstrap", False))
        if is_bagged:
            return
        lacks = f"a {type(model).__name__} like this one has no samples out of bag"
        if self.refit:
            raise InputError(
                f"`refit` is True, and {lacks}: leave it out, and call `pruned_.refit(X, y, "
                "validation=(X_val, y_val))` with samples that were not given to `fit`."
            )
        if self._measures_out_of_bag:
            raise InputError(
                f"`cv` is {OUT_OF_BAG!r}, and {lacks}: pass a number of folds, or train with "
                "bootstrap=True where it can."
            )

    def _read_samples(self, X: Any, y: Any, sample_weight: Any) -> FoldSamples:
        X = readable(X)
        for name, values in (("y", y), ("sample_weight", sample_weight)):
            check_mask(values, name)
        template = self._template()
        is_pipeline = without_pipeline(template) is not template
        library = library_of(template)
        if not is_pipeline and library != "catboost":
            takes = library in TAKES_CATEGORIES or hasattr(template, "categorical_features")
            refuse_text(X, template, categories=not takes)
        with target_in_words(X, y):
            # What a pipeline takes, and categories, are for the model to accept or refuse.
            has_labels = bool(columns_of_type(X, OBJECTS + CATEGORIES))
            if has_labels or (is_pipeline and hasattr(X, "shape")):
                y = column_or_1d(y, warn=True)
                check_consistent_length(X, y)
                validate_data(self, X, skip_check_array=True)
            else:  # so are missing values, and values beyond float32
                X, y = validate_data(
                    self,
                    X,
                    y,
                    accept_sparse="csr",
                    dtype=[np.float64, np.float32],
                    ensure_all_finite="allow-nan",
                    y_numeric=not is_classifier(self),
                )
            check_known(y)  # scikit-learn makes NaN of None among numbers
            if is_classifier(self):
                check_classification_targets(y)
                self.classes_ = np.unique(y)
        if sample_weight is None:
            return FoldSamples(X, y, None)
        weights = _check_sample_weight(sample_weight, y)
        read_weights(weights, len(y))  # refuses what cannot be a weight
        return FoldSamples(X, y, weights)

    def _folds(self, samples: FoldSamples) -> list[Fold]:
        if self._is_decided or self._measures_out_of_bag:
            return []
        folds = make_folds(self.cv, samples, is_classifier(self))
        if not folds:
            warnings.warn(
                "There are too few samples to choose a point by cross-validation, at least 2 (of "
                "each class) are needed: the first point of the path is taken. Pass a `budget`, a "
                "`tradeoff` or a splitter as `cv`.",
                stacklevel=3,
            )
        return folds

    @property
    def _is_decided(self) -> bool:
        return self.budget is not None or self.tradeoff is not None

    @property
    def _measures_out_of_bag(self) -> bool:
        return isinstance(self.cv, str) and self.cv == OUT_OF_BAG and not self._is_decided

    def _grow(self, samples: FoldSamples) -> PruningPath:
        """Train a new model and return its path."""
        counted = "in_bag" if self._measures_out_of_bag else "all"
        model = self._new_model()
        weights = {} if samples.weights is None else {weight_name(model): samples.weights}
        settings, of_joblib = get_config(), joblib_settings()

        def fit() -> None:
            with config_context(**settings), of_joblib():
                if samples.query is not None and is_ranker(model):
                    fit_ranker(model, samples.X, samples.y, samples.query, samples.weights)
                else:
                    model.fit(samples.X, samples.y, **weights)

        aside(fit)  # whatever library it is of: an interrupt does not wait for it
        loss = self.loss
        if loss is None and self._money is not None and read_forest(model).is_averaged:
            loss = self._money
        class_weight = self.class_weight
        if isinstance(class_weight, Mapping) and is_classifier(self):
            # A fold may lack a class, which its model does not know then.
            absent = set(self.classes_.tolist()) - set(samples.y.tolist())
            class_weight = {label: w for label, w in class_weight.items() if label not in absent}
        return prune_path(
            model,
            samples.X,
            samples.y,
            costs=samples.costs,
            loss=loss,
            class_weight=class_weight,
            samples=counted if self.samples is None else self.samples,
            sample_weight=samples.weights,
            qid=samples.query,
            n_jobs=self.n_jobs,
            progress=False,
        )

    @property
    def _money(self) -> ErrorCosts | None:
        """Costs of errors, for models that may know only some of the classes."""
        if self.error_costs is None:
            return None
        classes = getattr(self, "classes_", None)
        return ErrorCosts(read_error_costs(ErrorCosts(self.error_costs), classes), classes)

    @property
    def _judge(self) -> Scoring | ErrorCosts:
        """Score or costs to judge points by; values of averaged trees are recalibrated for costs.

        Boosted trees were trained to say it, and a refit does as much.
        """
        if self._money is None:
            return self.scoring
        return self._money._replace(recalibrates=self.path_.forest.is_averaged and not self.refit)

    def _measured(self, samples: FoldSamples, folds: list[Fold]) -> Evaluation | None:
        """Measure the points, where that is to decide between them."""
        if folds:
            return cross_validate(self.path_, self._grow, samples, folds, self._judge)
        if not self._measures_out_of_bag:
            return None
        return self.path_.evaluate(
            samples.X,
            samples.y,
            scoring=self._judge,
            samples=OUT_OF_BAG,
            quantiles=(),
            sample_weight=samples.weights,
            costs=samples.costs,
            qid=samples.query,
            n_jobs=self.n_jobs,
            progress=False,
        )

    def _chosen(self) -> Pruned:
        if self._is_decided:
            return self.path_.at(budget=self.budget, tradeoff=self.tradeoff)
        if self.evaluation_ is None:
            return self.path_.at(index=0)
        rule = read_rule(self.rule, self.limit, self.error_costs is not None)
        choice = choose_point(self.evaluation_, rule, self.limit)
        warn_of_constant(choice, stacklevel=3)
        return self.path_.chosen(choice)


class PrunedEnsembleClassifier(ClassifierMixin, _PrunedEnsemble):
    """A tree ensemble for classes that is grown and then pruned to what its features are worth.

    Parameters
    ----------
    estimator : scikit-learn model, optional
        What to grow: any model that `prune_path` accepts. It is not changed. None means a random
        forest whose trees choose among all features, which saves more than the usual one. A
        `BudgetForestClassifier` has prices of its own to grow with: give them to it, too.
    costs : array-like, mapping from feature name to price, Costs, or None
        What it costs one sample to look at each feature. None means 1 each; names need data frames.
    budget : float, optional
        Take the best point that costs at most this per sample.
    tradeoff : float, optional
        Take the point that is optimal at this tradeoff. Without a budget and a tradeoff, `cv`,
        `scoring`, `rule` and `limit` choose the point.
    scoring : str or callable, optional
        By which score, as in `PruningPath.choose`.
    error_costs : float, mapping from class to cost, or matrix, optional
        What wrong answers cost, in the unit of the prices, as in `prune`. The point of least mean
        bill and cost of errors is taken, and `predict` answers with the class of least expected
        cost. Probabilities of averaged trees are recalibrated for that, on the samples that choose
        the point: see `recalibration_`.
    rule : {"one_standard_error", "best_score", "least_total_cost", "max_score_decrease", \
            "max_error_increase", "budget"}, optional
        Which point to take by the measured scores and bills, as in `PruningPath.choose`.
    limit : float, optional
        For the last three rules.
    cv : int, splitter, iterable of splits, or "out_of_bag"
        How to measure the points. By cross-validation: a model is grown and pruned on each training
        part, and what it keeps is measured on the held-out part, at a tradeoff from the middle of
        each point's interval: 5 means to grow six ensembles in all. An int is lowered to the number
        of samples of the rarest class; where that is 1, the first point is taken with a warning.
        For groups of samples pass ready-made splits. Or "out_of_bag", by the trees that did not see
        a sample, without growing more models.
    loss : str or callable, optional
        As in `prune`.
    class_weight : "balanced", "uniform", mapping from class to weight, or None
        As in `prune`: it counts in the loss of pruning only, and None takes that of the estimator.
        To grow with class weights give them to the estimator. The scores that choose a point are
        plain ones, without class weights.
    samples : {"all", "in_bag", "out_of_bag"}, optional
        As in `prune`. None means all, but "in_bag" with `cv="out_of_bag"`, which needs trees that
        were not pruned on what measures them.
    refit : bool
        Whether to fit the values of all leaves again after pruning, as `Pruned.refit` does, with a
        strength that samples out of bag choose: for bagged estimators. (Boosted ones need samples
        that they were not trained on: see `Pruned.refit`.)
    random_state : int, RandomState or None
        Given to the estimator, where it takes one; None leaves it as it is.
    n_jobs : int, optional
        Threads to prune with, and to grow the forest that None means.

    Attributes
    ----------
    model_
        The pruned model that predicts. Deploy this alone: it is much smaller than the rest.
    pruned_ : Pruned
        The same with its figures.
    path_ : PruningPath
        All points to choose from.
    estimator_
        The model before pruning.
    evaluation_ : Evaluation or None
        The measured errors and bills of the points, where they decided.
    recalibration_ : Recalibration or None
        With `error_costs` what `predict` makes of probabilities before it answers, a function;
        `predict_proba` returns those of the trees.
    classes_ : array, shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array, shape (n_features,)
        Where X has column names that are text.

    Examples
    --------
    >>> import thriftwood as tw
    >>> heart = tw.datasets.load_heart()
    >>> model = tw.PrunedEnsembleClassifier(costs=heart.costs, budget=50, random_state=0)
    >>> model = model.fit(heart.X, heart.y)
    >>> bool(model.pruned_.cost <= 50)
    True
    >>> model.predict(heart.X).shape == heart.y.shape
    True
    """

    _forest = RandomForestClassifier

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample: the likeliest, or that of least expected cost."""
        matrix = self.error_costs_
        if matrix is None:
            return super().predict(X)
        answers = answers_of(self.predict_proba(X), matrix, self.recalibration_)
        labels: NDArray[Any] = self.classes_[answers]
        return labels

    @property
    def error_costs_(self) -> FloatArray | None:
        """Matrix of what answers cost, for whoever answers in place of `predict`."""
        return None if self._money is None else self._money.given

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class for each sample."""
        predicted: FloatArray = self._fitted_for(X).predict_proba(readable(X))
        return predicted

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of the probability of each class for each sample."""
        return log_of(self.predict_proba(X))


class PrunedEnsembleRegressor(RegressorMixin, _PrunedEnsemble):
    """A tree ensemble for numbers that is grown and then pruned to what its features are worth.

    Parameters and attributes are those of `PrunedEnsembleClassifier`, without classes and their
    weights. Without `scoring` squared errors choose a point, whatever the loss, and an int as `cv`
    is lowered to the number of samples.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> heart = tw.datasets.load_heart()
    >>> age, X, costs = heart.X[:, 0], heart.X[:, 1:], heart.costs[1:]
    >>> tree = DecisionTreeRegressor(min_samples_leaf=20, random_state=0)
    >>> model = tw.PrunedEnsembleRegressor(tree, costs=costs).fit(X, age)
    >>> model.pruned_.cost < model.pruned_.original.cost
    True
    """

    _forest = RandomForestRegressor
