"""Laws of the estimators: what they do can be done by hand, and scikit-learn's tools take them."""

import pickle
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from library_versions import polars_is_known
from models import NAMES, rows_with_missing, words
from paths import HEART, PATH
from pruned_ensembles import (
    FOREST,
    NUMBER_FOREST,
    NUMBER_TREE,
    NUMBERS,
    PRICES,
    TREE,
    TREES,
    WEIGHED,
    WEIGHTS,
    X,
    Y,
    assert_same_trees,
    classifier,
    regressor,
)
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import ConstantPredictionWarning, InputError, UnsupportedModelError

BY_NAME = dict(zip(NAMES, PRICES, strict=True))
FRAME = pd.DataFrame(X, columns=NAMES)
KINDS = [
    (classifier, FOREST, Y),
    (classifier, TREE, words(X)),
    (classifier, BaggingClassifier(TREE, 4, max_features=0.5, random_state=0), Y),
    (regressor, NUMBER_FOREST, NUMBERS),
    (regressor, ExtraTreesRegressor(4, max_depth=4, random_state=0), NUMBERS),
]


# --- scikit-learn's own checks

IN_THE_LOSS_ONLY = {
    "check_class_weight_classifiers": (
        "Class weights decide what is pruned. What nodes predict was decided in growing, by the "
        "class weights of the estimator inside."
    )
}
DRAWS_DIFFER = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "A forest draws rows, whatever they weigh: of a row of weight 2 and of two equal rows it "
    "draws different samples. RandomForest* fail this check too.",
)


def failures_expected(estimator):
    draws = hasattr(estimator.estimator, "n_estimators")
    return IN_THE_LOSS_ONLY | (DRAWS_DIFFER if draws else {})


@pytest.mark.filterwarnings("ignore::thriftwood.errors.ConstantPredictionWarning")  # on noise
@parametrize_with_checks(
    [
        tw.PrunedEnsembleClassifier(RandomForestClassifier(5, max_features=None)),
        tw.PrunedEnsembleClassifier(RandomForestClassifier(5), tradeoff=0.001),
        tw.PrunedEnsembleClassifier(DecisionTreeClassifier(), tradeoff=0.001),
        tw.PrunedEnsembleRegressor(RandomForestRegressor(5), cv=2),
        tw.PrunedEnsembleRegressor(DecisionTreeRegressor(), tradeoff=0.001),
    ],
    expected_failed_checks=failures_expected,
)
def test_scikit_learn_accepts_them(estimator, check):
    check(estimator)


# --- nothing but growing, pruning and choosing


@pytest.mark.parametrize(("make", "estimator", "y"), KINDS)
@pytest.mark.parametrize("point", [{"budget": 6.0}, {"tradeoff": 0.01}])
def test_fitting_is_growing_pruning_and_choosing(make, estimator, y, point):
    fitted = make(estimator, **point).fit(X, y)
    grown = clone(estimator).fit(X, y)
    by_hand = tw.prune_path(grown, X, y, costs=PRICES).at(**point)
    assert_same_trees(fitted.estimator_, grown)
    assert_same_trees(fitted.model_, by_hand.model)
    assert fitted.pruned_.cost == by_hand.cost
    assert fitted.pruned_.model is fitted.model_
    assert fitted.path_.model is fitted.estimator_
    assert fitted.evaluation_ is None
    np.testing.assert_array_equal(fitted.predict(X), by_hand.model.predict(X))
    assert fitted.score(X, y) == by_hand.model.score(X, y)


def test_loss_and_rows_reach_the_path():
    fitted = classifier(tradeoff=0.01, loss="brier", samples="out_of_bag", n_jobs=2).fit(X, Y)
    grown = clone(FOREST).fit(X, Y)
    path = tw.prune_path(grown, X, Y, costs=PRICES, loss="brier", samples="out_of_bag")
    np.testing.assert_array_equal(fitted.path_.tradeoffs, path.tradeoffs)


def test_probabilities_are_those_of_the_pruned_model():
    fitted = classifier(TREE, tradeoff=0.01).fit(X, words(X))
    assert fitted.classes_.tolist() == ["healthy", "ill", "unsure"]
    shares = fitted.predict_proba(X)
    np.testing.assert_array_equal(shares, fitted.model_.predict_proba(X))
    logarithms = fitted.predict_log_proba(X)  # without a warning, though shares of 0 are there
    assert (shares == 0).any()
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(logarithms, np.log(shares))


@pytest.mark.parametrize(
    ("make", "y", "kind"),
    [(classifier, Y, RandomForestClassifier), (regressor, NUMBERS, RandomForestRegressor)],
)
def test_without_an_estimator_a_forest_on_all_features_is_grown(make, y, kind):
    fitted = make(None, tradeoff=0.01, random_state=3).fit(X, y)
    assert_same_trees(fitted.estimator_, kind(max_features=None, random_state=3).fit(X, y))


def test_our_random_state_wins_and_none_leaves_the_estimators():
    ours = classifier(FOREST, tradeoff=0.01, random_state=1).fit(X, Y)
    assert_same_trees(ours.estimator_, clone(FOREST).set_params(random_state=1).fit(X, Y))
    theirs = classifier(FOREST, tradeoff=0.01).fit(X, Y)
    assert_same_trees(theirs.estimator_, clone(FOREST).fit(X, Y))
    assert FOREST.random_state == 0
    assert not hasattr(FOREST, "estimators_")


# --- weights


@pytest.mark.parametrize(("make", "tree", "y"), TREES)
def test_a_weight_of_two_is_a_row_twice(make, tree, y):
    model = make(tree, tradeoff=0.01, costs=WEIGHED)
    weighted = clone(model).fit(X, y, sample_weight=WEIGHTS)
    repeated = clone(model).fit(np.repeat(X, WEIGHTS, axis=0), np.repeat(y, WEIGHTS))
    assert_same_trees(weighted.model_, repeated.model_)
    assert weighted.pruned_.cost == pytest.approx(repeated.pruned_.cost)


# --- scikit-learn's tools


def test_copies_have_the_same_parameters_and_change_nothing():
    model = classifier(tradeoff=0.01)
    copy = clone(model).set_params(estimator__max_depth=3, costs=None)
    assert copy.estimator.max_depth == 3
    assert model.estimator.max_depth is None
    assert model.costs is PRICES
    with pytest.raises(NotFittedError):
        copy.predict(X)


def test_pickles_predict_the_same():
    model = classifier(cv=2).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.path_.model is again.estimator_
    assert again.path_.at(budget=3.0).cost == model.path_.at(budget=3.0).cost


def test_in_a_pipeline_prices_are_by_column():
    pipeline = make_pipeline(StandardScaler(), classifier(TREE, budget=6.0)).fit(X, Y)
    by_hand = classifier(TREE, budget=6.0).fit(StandardScaler().fit_transform(X), Y)
    assert_same_trees(pipeline[-1].model_, by_hand.model_)
    assert pipeline.score(X, Y) == by_hand.model_.score(StandardScaler().fit_transform(X), Y)


def test_grid_search_over_what_to_spend():
    search = GridSearchCV(classifier(), {"budget": [0.0, 6.0], "estimator__max_depth": [2, 4]})
    search.fit(X, Y)
    assert search.best_params_["budget"] == 6.0
    again = clone(classifier()).set_params(**search.best_params_)
    assert search.best_score_ == cross_val_score(again, X, Y).mean()
    assert_same_trees(search.best_estimator_.model_, again.fit(X, Y).model_)
    tradeoffs = GridSearchCV(regressor(), {"tradeoff": [0.01, 100.0]}).fit(X, NUMBERS)
    assert tradeoffs.best_params_ == {"tradeoff": 0.01}
    assert len(cross_val_score(classifier(cv=2), X, Y, cv=3)) == 3


def test_weights_and_prices_are_routed():
    with config_context(enable_metadata_routing=True):
        model = classifier(TREE, costs=None, tradeoff=0.01)
        model.set_fit_request(sample_weight=True, costs=True).set_score_request(sample_weight=True)
        plain = classifier(TREE, tradeoff=0.01).fit(X, Y, sample_weight=WEIGHTS)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipeline.fit(X, Y, sample_weight=WEIGHTS, costs=PRICES)
        np.testing.assert_array_equal(pipeline[-1].path_.prices.prices, PRICES)
        assert pipeline[-1].pruned_.cost == pytest.approx(plain.pruned_.cost)
        for prices in (PRICES, BY_NAME):
            search = GridSearchCV(model, {"tradeoff": [0.01]}, cv=3, error_score="raise")
            search.fit(FRAME, Y, sample_weight=WEIGHTS, costs=prices)
            assert_same_trees(search.best_estimator_.model_, plain.model_)


def test_prices_of_fit_go_before_those_of_the_constructor():
    fitted = classifier(TREE, costs=np.ones(4), tradeoff=0.01).fit(X, Y, costs=PRICES)
    assert_same_trees(fitted.model_, classifier(TREE, tradeoff=0.01).fit(X, Y).model_)
    np.testing.assert_array_equal(fitted.costs, np.ones(4))


# --- rows as people have them


@pytest.mark.parametrize(
    "frame", [FRAME, pytest.param(pl.DataFrame(X, schema=NAMES), marks=polars_is_known)]
)
def test_data_frames_bring_their_names(frame):
    plain = classifier(cv=2).fit(X, Y)
    named = classifier(cv=2, costs=BY_NAME).fit(frame, Y)
    assert named.feature_names_in_.tolist() == NAMES
    assert named.path_.forest.feature_names == tuple(NAMES)
    assert named.model_.feature_names_in_.tolist() == NAMES
    assert_same_trees(named.model_, plain.model_)
    np.testing.assert_array_equal(named.predict(frame), plain.predict(X))
    np.testing.assert_array_equal(named.evaluation_.cost, plain.evaluation_.cost)
    with pytest.warns(UserWarning, match="valid feature names"):
        named.predict(X)
    assert not hasattr(named.set_params(costs=PRICES).fit(X, Y), "feature_names_in_")


def test_missing_values_where_the_estimator_takes_them():
    missing = rows_with_missing()
    fitted = classifier(cv=2).fit(missing, Y)
    assert fitted.__sklearn_tags__().input_tags.allow_nan
    assert fitted.predict(missing).shape == Y.shape
    strict = regressor(ExtraTreeRegressor(splitter="best"), tradeoff=0.01)
    assert not strict.__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        strict.fit(missing, NUMBERS)


# --- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 1.0, "tradeoff": 0.1}, "not both"),
        ({"budget": -1.0}, "`budget` is -1.0"),
        ({"tradeoff": np.nan}, "`tradeoff` is nan"),
        ({"rule": "best"}, "`rule` is 'best'"),
        ({"rule": "budget"}, "needs it"),
        ({"limit": 3.0}, "takes no `limit`"),
        ({"costs": [1.0, 2.0]}, "pass one price for each"),
        ({"costs": BY_NAME}, "column names"),
        ({"loss": "squared_error"}, "no loss 'squared_error'"),
        ({"samples": "some"}, "`samples` is 'some'"),
        ({"estimator": TREE, "cv": "out_of_bag"}, "has no samples out of bag"),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(options, message):
    with pytest.raises(InputError, match=message):
        classifier(**options).fit(X, Y)


@pytest.mark.parametrize("cv", ["out_of_bags", 1, 0, 1.5])
def test_splits_that_scikit_learn_does_not_know_are_refused(cv):
    with pytest.raises(ValueError, match=r"cv|n_splits"):
        classifier(cv=cv).fit(X, Y)


@pytest.mark.parametrize(
    ("make", "estimator", "message"),
    [
        (classifier, LogisticRegression(), "LogisticRegression has no trees"),
        (classifier, RandomForestClassifier, "RandomForestClassifier is a class"),
        (classifier, "forest", "str has no trees"),
        (classifier, NUMBER_FOREST, "the kind of RandomForestClassifier"),
        (regressor, TREE, "the kind of RandomForestRegressor"),
        (regressor, read_forest(clone(NUMBER_TREE).fit(X, NUMBERS)), "made of a Forest"),
        (classifier, BaggingClassifier(LogisticRegression()), "Estimator 0 of this Bagging"),
    ],
)
def test_models_that_cannot_be_pruned_are_refused(make, estimator, message):
    with pytest.raises(UnsupportedModelError, match=message):
        make(estimator, tradeoff=0.1).fit(X, Y)


@pytest.mark.parametrize("weights", [np.full(len(X), -1.0), WEIGHTS[1:], np.zeros(len(X))])
def test_wrong_weights_are_refused(weights):
    with pytest.raises(ValueError, match=r"[wW]eight"):
        classifier(tradeoff=0.1).fit(X, Y, sample_weight=weights)


def test_quantiles_are_chosen_by_a_score_that_judges_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.exp(X[:, 0] + 0.3 * rng.normal(size=120))
    high = HistGradientBoostingRegressor(loss="quantile", quantile=0.9, max_iter=5)
    with pytest.raises(InputError, match="pass a `scoring` that does"):
        tw.PrunedEnsembleRegressor(high, cv=2).fit(X, y)
    pinball = make_scorer(mean_pinball_loss, alpha=0.9, greater_is_better=False)
    model = tw.PrunedEnsembleRegressor(high, cv=2, scoring=pinball).fit(X, y)
    assert 0.6 < np.mean(y <= model.predict(X)) <= 1.0


# --- columns that are no numbers

DAYS = pd.date_range("2020-01-01", periods=60)
NO_NUMBERS = {
    "words in categories": (pd.Categorical(["fixed", "normal"] * 30), "text"),
    "words of polars": (pl.Series(["fixed", "normal"] * 30, dtype=pl.Categorical), "text"),
    "days": (DAYS, "dates or times"),
    "durations": (DAYS - DAYS[0], "dates or times"),
    "days of polars": (pl.Series(DAYS.to_list()), "dates or times"),
}
TWO = np.arange(60) // 7 % 2


def with_column(values):
    frame = pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame
    return frame({"a": np.arange(60.0), "new": values})


@pytest.mark.parametrize("name", NO_NUMBERS)
@pytest.mark.parametrize(
    "model",
    [
        tw.ThriftyClassifier(effort="quick"),
        tw.BudgetForestClassifier(2),
        tw.PrunedEnsembleClassifier(RandomForestClassifier(2)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_columns_that_are_no_numbers_are_refused_by_name(model, name):
    values, what = NO_NUMBERS[name]
    with pytest.raises(InputError, match=f"X holds {what} in the column 'new'"):
        clone(model).fit(with_column(values), TWO)


@pytest.mark.parametrize("name", ["days", "days of polars"])
def test_times_are_no_numbers_for_a_model_either(name):
    tree = DecisionTreeClassifier(max_depth=2).fit(np.c_[np.arange(60.0), np.arange(60.0)], TWO)
    with pytest.raises(InputError, match=r"not a number .the type .* in the column 'new'"):
        tw.prune_path(tree, with_column(NO_NUMBERS[name][0]), TWO)


@pytest.mark.parametrize(
    "name", ["words in categories", pytest.param("words of polars", marks=polars_is_known)]
)
def test_a_model_that_takes_categories_gets_them(name):
    frame = with_column(NO_NUMBERS[name][0])
    boosted = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3)
    model = tw.PrunedEnsembleClassifier(boosted, cv=2, rule="best_score").fit(frame, TWO)
    assert len(model.predict(frame)) == 60
    assert tw.feature_bill(model, frame).mean >= 0


def test_categories_of_numbers_are_numbers():
    frame = with_column(pd.Categorical([1, 2] * 30))
    assert len(tw.BudgetForestClassifier(2).fit(frame, TWO).predict(frame)) == 60


# --- where documents are

ROOT = Path(__file__).parents[1]
MADE = {
    "choosing.md": [tw.PrunedEnsembleClassifier(), tw.PrunedEnsembleRegressor()],
    "growing.md": [tw.BudgetForestClassifier()],
    "thrifty.md": [tw.ThriftyClassifier(), tw.ThriftyRegressor()],
    "cascade.md": [PATH.cascade(HEART.X, HEART.y, stages=2)],
    "reference.md": [tw.ForestModel(PATH.forest)],
}


@pytest.mark.parametrize("document", MADE)
def test_estimators_link_to_our_documents(document):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    folder = f"{project['urls']['Source']}/blob/main/docs/"
    assert (ROOT / "docs" / document).is_file()
    for model in MADE[document]:
        assert model._get_doc_link() == folder + document


def test_a_budget_for_no_split_is_said():
    model = tw.PrunedEnsembleClassifier(
        RandomForestClassifier(5, random_state=0), costs=np.full(4, 5.0), budget=3
    )
    X = np.random.default_rng(0).normal(size=(80, 4))
    with pytest.warns(ConstantPredictionWarning, match="Within 3 no split can be paid for"):
        model.fit(X, X[:, 0] > 0)
    assert len(np.unique(model.predict(X))) == 1
