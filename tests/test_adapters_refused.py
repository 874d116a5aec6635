"""Models that cannot be read or written are refused in a sentence."""

from typing import Any

import numpy as np
import pytest
from models import (
    plain_rows,
    three_classes,
    two_classes,
)
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from thriftwood import BudgetForestClassifier
from thriftwood.adapters import read_forest, write_model
from thriftwood.errors import (
    ForestError,
    ThriftwoodError,
    UnfittedModelError,
    UnsupportedModelError,
)

UNFITTED = (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    BaggingClassifier,
    BaggingRegressor,
    BudgetForestClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)


@pytest.mark.parametrize("kind", UNFITTED)
def test_a_model_that_is_not_fitted_is_refused(kind: type) -> None:
    for attempt in (read_forest, lambda model: write_model(model, np.zeros(1, dtype=bool))):
        with pytest.raises(
            UnfittedModelError, match=rf"^This {kind.__name__} is not fitted: call fit"
        ) as e:
            attempt(kind())
        assert isinstance(e.value, ThriftwoodError)


def _fit(model: Any) -> Any:
    X = plain_rows()
    return model.fit(X, two_classes(X))


UNSUPPORTED = {
    "LogisticRegression has no trees": lambda: _fit(LogisticRegression()),
    "LinearSVC has no trees": lambda: _fit(make_pipeline(StandardScaler(), LinearSVC())),
    "The last step of this Pipeline is no model": lambda: make_pipeline("passthrough"),
    "RandomForestClassifier is a class": lambda: RandomForestClassifier,
    "NoneType has no trees": lambda: None,
    "str has no trees": lambda: "forest",
}


@pytest.mark.parametrize("sentence", UNSUPPORTED)
def test_a_refusal_leads_with_the_useful_sentence(sentence: str) -> None:
    model = UNSUPPORTED[sentence]()
    for attempt in (read_forest, lambda model: write_model(model, np.zeros(1, dtype=bool))):
        with pytest.raises(UnsupportedModelError, match=f"^{sentence}") as caught:
            attempt(model)
        assert isinstance(caught.value, ThriftwoodError)
        assert len(str(caught.value)) < 200


def two_trees() -> list[tuple[str, Any]]:
    return [("one", DecisionTreeClassifier(max_depth=1)), ("two", DecisionTreeClassifier())]


REASONS = {
    "no loss to weigh": lambda: IsolationForest(n_estimators=3, random_state=0),
    "predicts nothing": lambda: RandomTreesEmbedding(n_estimators=3),
    "vote with weights.*GradientBoosting": lambda: AdaBoostClassifier(n_estimators=3),
    "weighted median.*GradientBoosting": lambda: AdaBoostRegressor(n_estimators=3),
    "average of models.*`estimators_`": lambda: VotingClassifier(two_trees()),
    "average of models": lambda: VotingRegressor([("one", DecisionTreeRegressor())]),
    "model of models": lambda: StackingClassifier(two_trees()),
    "pass its `estimator_`": lambda: FixedThresholdClassifier(_fit(DecisionTreeClassifier())),
    "several outputs": lambda: MultiOutputRegressor(DecisionTreeRegressor()),
    "`best_estimator_`": lambda: GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}),
}


@pytest.mark.parametrize("reason", REASONS)
def test_a_refusal_says_why_and_what_instead(reason: str) -> None:
    with pytest.raises(UnsupportedModelError, match=reason):
        read_forest(REASONS[reason]())


def test_a_kind_of_a_refused_kind_is_refused_for_the_same_reason() -> None:
    class MyForest(IsolationForest):
        pass

    with pytest.raises(UnsupportedModelError, match=r"^A MyForest is not read: .*unusual"):
        read_forest(_fit(MyForest(n_estimators=2)))


@pytest.mark.parametrize(
    ("base", "name"),
    [
        (LogisticRegression(), "LogisticRegression"),
        (RandomForestClassifier(n_estimators=2), "RandomForestClassifier"),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier()), "Pipeline"),
    ],
)
def test_bagging_over_something_else_is_refused(base: Any, name: str) -> None:
    model = _fit(BaggingClassifier(base, n_estimators=2))
    sentence = rf"Estimator 0 of this BaggingClassifier is a {name}.*only over decision trees"
    with pytest.raises(UnsupportedModelError, match=sentence):
        read_forest(model)


@pytest.mark.parametrize(
    "model",
    [
        BaggingClassifier(DecisionTreeRegressor(), n_estimators=2),
        BaggingRegressor(DecisionTreeClassifier(), n_estimators=2),
    ],
    ids=["classifier_over_regressors", "regressor_over_classifiers"],
)
def test_bagging_over_trees_of_the_other_kind_is_refused(model: Any) -> None:
    name = f"{type(model).__name__}.*{type(model.estimator).__name__}"
    with pytest.raises(UnsupportedModelError, match=name):
        read_forest(_fit(clone(model)))


def test_a_bagged_classifier_s_label_is_never_taken_for_a_number() -> None:
    # Its one class is 5, so the model predicts 5, while its trees' nodes hold probability 1.
    X = plain_rows()
    model = BaggingRegressor(DecisionTreeClassifier(), n_estimators=2).fit(X, np.full(len(X), 5))
    with pytest.raises(UnsupportedModelError, match="DecisionTreeClassifier"):
        read_forest(model)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(),
        DecisionTreeRegressor(),
        RandomForestClassifier(n_estimators=2),
        ExtraTreesRegressor(n_estimators=2),
        BaggingRegressor(n_estimators=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_several_outputs_are_refused(model: Any) -> None:
    X = plain_rows()
    both = np.column_stack([two_classes(X), three_classes(X)])
    with pytest.raises(UnsupportedModelError, match=r"predicts 2 outputs.*one model per output"):
        read_forest(clone(model).fit(X, both))


def foreign_tree(y: np.ndarray, model: Any = None) -> Any:
    return (model or DecisionTreeClassifier()).fit(plain_rows(), y)


FOREIGN_TREES = {
    "labels_of_another_training": lambda: foreign_tree(two_classes(plain_rows()) + 1),
    "more_classes": lambda: foreign_tree(three_classes(plain_rows())),
    "negative_labels": lambda: foreign_tree(two_classes(plain_rows()) - 1),
    "digits_as_text": lambda: foreign_tree(two_classes(plain_rows()).astype(str)),
    "words": lambda: foreign_tree(np.array(["no", "yes"])[two_classes(plain_rows())]),
}


@pytest.mark.parametrize("name", FOREIGN_TREES)
def test_trees_that_disagree_in_classes_are_refused(name: str) -> None:
    model = _fit(RandomForestClassifier(n_estimators=3, random_state=0))
    model.estimators_[1] = FOREIGN_TREES[name]()
    with pytest.raises(ForestError, match=r"Tree 1 of the ensemble.*classes.*one training"):
        read_forest(model)


def test_a_classifier_s_tree_in_a_regression_forest_is_refused() -> None:
    model = _fit(RandomForestRegressor(n_estimators=3, random_state=0))
    model.estimators_[1] = foreign_tree(two_classes(plain_rows()))
    with pytest.raises(UnsupportedModelError, match="Estimator 1 of this RandomForestRegressor"):
        read_forest(model)


def test_an_ensemble_without_trees_is_refused() -> None:
    model = _fit(RandomForestRegressor(n_estimators=3, random_state=0))
    model.estimators_ = []
    with pytest.raises(ThriftwoodError, match="no tree"):
        read_forest(model)
