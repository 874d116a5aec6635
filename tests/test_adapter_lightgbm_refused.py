"""LightGBM models that cannot be read are refused in a sentence; odd ones are read all the same."""

import warnings
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
from adapter_laws import check_reading
from boosters_lightgbm import (
    SMALL,
    fit,
    frame,
    grown,
    leaves_in,
    numbers,
    positive,
    raw_scores,
    rows,
    squared,
    three,
    train,
    two,
)

from thriftwood.adapters import read_forest, write_model
from thriftwood.errors import ForestError, UnfittedModelError, UnsupportedModelError

WRAPPERS = (lightgbm.LGBMClassifier, lightgbm.LGBMRegressor, lightgbm.LGBMRanker)


@pytest.mark.parametrize("kind", WRAPPERS)
def test_a_wrapper_that_is_not_fitted_is_refused(kind: type) -> None:
    for attempt in (read_forest, lambda model: write_model(model, np.zeros(1, dtype=bool))):
        with pytest.raises(UnfittedModelError, match=rf"{kind.__name__} is not fitted: call fit"):
            attempt(kind())


def test_a_booster_without_trees_is_refused() -> None:
    booster = lightgbm.Booster(SMALL, lightgbm.Dataset(rows(), numbers(rows())))
    with pytest.raises(UnfittedModelError, match=r"Booster is not fitted"):
        read_forest(booster)


def own_scores(score: np.ndarray, data: lightgbm.Dataset) -> tuple[np.ndarray, np.ndarray]:
    return score - np.eye(3)[data.get_label().astype(int)], np.ones(score.shape)


def ordered_frame() -> pd.DataFrame:
    X = frame()
    X["age"] = pd.Categorical(X["age"].fillna(0.0) > 0, ordered=True)
    return X


REFUSED: dict[str, tuple[Any, str]] = {
    "linear_trees": (
        lambda: train(numbers, "regression", linear_tree=True),
        r"Booster has linear models.*linear_tree=False",
    ),
    "square_root": (
        lambda: train(positive, "regression", reg_sqrt=True),
        r"objective 'regression sqrt'.*Train with one of: .*regression",
    ),
    "lambda_link": (
        lambda: train(two, "cross_entropy_lambda"),
        r"objective 'cross_entropy_lambda'.*cross_entropy",
    ),
    "own_objective_of_several_scores": (
        lambda: train(three, own_scores, num_class=3),
        r"predicts 3 scores.*'multiclass'",
    ),
    "classifier_with_a_regressor_s_objective": (
        lambda: fit(lightgbm.LGBMClassifier, two, objective="regression"),
        r"LGBMClassifier has the objective of a regressor.*'binary'",
    ),
    "one_class": (
        lambda: fit(lightgbm.LGBMClassifier, lambda X: np.ones(len(X))),
        r"trained on 1 class",
    ),
    "ordered_categories": (
        lambda: train(numbers, "regression", X=ordered_frame(), categorical_feature="auto"),
        r"data frame with 2 categorical columns.*takes 1 columns.*ordered",
    ),
    "other_categories": (
        lambda: train(numbers, "regression", X=other_frame(), categorical_feature=["ward"]),
        r"data frame with 1 categorical columns.*`categorical_feature`",
    ),
}


def other_frame() -> pd.DataFrame:
    """A column of labels that LightGBM takes for numbers, and one of numbers for categories."""
    X = frame()
    X["ward"] = rows()[:, 3]
    X["age"] = pd.Categorical(X["age"].fillna(0.0) > 0)
    return X


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_reproduced_is_refused(name: str) -> None:
    make, sentence = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what LightGBM thinks of it does not matter here
        model, _ = make()
    for attempt in (read_forest, lambda model: write_model(model, np.zeros(1, dtype=bool))):
        with pytest.raises(UnsupportedModelError, match=sentence):
            attempt(model)


def test_a_classifier_with_an_objective_of_its_own_gives_numbers() -> None:
    # LightGBM returns the scores, too, and says so.
    def gradient(y: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return score - y, np.ones(len(y))

    model, X = fit(lightgbm.LGBMClassifier, two, objective=gradient)
    forest = check_reading(model, X, raw_scores, leaves_in)
    assert forest.classes is None
    assert forest.link == "identity"


def test_an_objective_of_its_own_survives_writing() -> None:
    model, X = train(numbers, squared)
    forest = read_forest(model)
    written = write_model(model, forest.is_split)
    np.testing.assert_array_equal(written.predict(X), model.predict(X))


def damaged(old: str, new: str) -> lightgbm.Booster:
    """A booster that says something wrong of itself.

    LightGBM must not get to see it: it would write beyond its arrays, and end the process later.
    """
    text = grown("regression").model.model_to_string()
    lines = text.split("\n")
    place = next(k for k, line in enumerate(lines) if line.startswith(old))
    lines[place] = f"{old}={new}"
    booster = lightgbm.Booster(model_str=text)
    booster.model_to_string = lambda: "\n".join(lines)
    return booster


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("left_child", "9 9 9 9 9 9", "model is damaged"),
        ("left_child", "0 0 0 0 0 0", "model is damaged"),
        ("right_child", "-1 -1 -1 -1 -1 -1", "model is damaged"),
        ("leaf_value", "nan 1 1 1 1 1 1", "not finite"),
        ("split_feature", "7 0 0 0 0 0", "feature outside 0 to 3"),
    ],
)
def test_a_damaged_model_is_refused(old: str, new: str, sentence: str) -> None:
    with pytest.raises(ForestError, match=sentence):
        read_forest(damaged(old, new))


def test_reading_and_writing_print_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for kind in ("regression", "classifier_of_words"):
        model = grown(kind).model
        capfd.readouterr()
        write_model(model, read_forest(model).is_split)
        assert capfd.readouterr() == ("", "")
