"""Whatever Thriftwood hands out around a model is taken as that model."""

import numpy as np
import pytest
from models import fitted
from paths import FOREST, HEART, PATH

import thriftwood as tw
from thriftwood.adapters import read_forest, write_model
from thriftwood.errors import InputError, UnfittedModelError, UnsupportedModelError
from thriftwood.formats.models import read_model, write_model_file

X, Y, PRICES = HEART.X, HEART.y, HEART.costs


@pytest.fixture(scope="module")
def estimator():
    return tw.PrunedEnsembleClassifier(FOREST, costs=PRICES, budget=150.0).fit(X, Y)


@pytest.fixture(scope="module", params=["estimator", "point"])
def handed_out(request, estimator):
    """What is handed out, and the model inside."""
    if request.param == "estimator":
        return estimator, estimator.model_
    point = PATH.at(budget=150.0)
    return point, point.model


def test_bills(handed_out):
    around, model = handed_out
    bills = tw.feature_bill(around, X, PRICES).per_sample
    np.testing.assert_array_equal(bills, tw.feature_bill(model, X, PRICES).per_sample)


def test_what_was_pruned_knows_its_prices_and_the_model_inside_does_not(handed_out):
    """A model that knows none counts features."""
    around, model = handed_out
    bill = tw.feature_bill(around, X, PRICES)
    assert tw.feature_bill(around, X).mean == bill.mean
    lazy = tw.LazyPredictor(around, acquire=lambda i, k: X[i, k])
    assert lazy.predict(range(9)).bill.mean == pytest.approx(bill.per_sample[:9].mean())
    counted = tw.feature_bill(model, X, np.ones(len(PRICES)))
    assert tw.feature_bill(model, X).mean == counted.mean < bill.mean


def test_prices_that_belong_to_samples_are_asked_for_again():
    costs = tw.Costs(per_sample=np.tile(PRICES, (len(X), 1)))
    pruned = tw.prune(FOREST, X, Y, costs=costs, tradeoff=0.001)
    with pytest.raises(InputError, match="belong to the samples"):
        tw.feature_bill(pruned, X)
    assert tw.feature_bill(pruned, X, costs).mean == pytest.approx(pruned.cost)


def test_lazy_predictions(handed_out):
    around, model = handed_out
    predictor = tw.LazyPredictor(around, acquire=lambda i, k: X[i, k], costs=PRICES)
    np.testing.assert_array_equal(predictor.predict(range(9)).labels, model.predict(X[:9]))


def test_paths(handed_out):
    around, model = handed_out
    path, expected = (tw.prune_path(own, X, Y, costs=PRICES) for own in (around, model))
    np.testing.assert_array_equal(path.costs, expected.costs)
    assert type(path.at(index=0).model) is type(model)


def test_exports_and_files(handed_out, tmp_path):
    around, model = handed_out
    assert tw.export.to_json(around) == tw.export.to_json(model)
    write_model_file(around, tmp_path / "model.skops")
    found = read_model(tmp_path / "model.skops")
    assert type(found) is type(model)
    np.testing.assert_array_equal(found.predict(X), model.predict(X))


def test_what_is_written_is_of_the_type_of_the_model(handed_out):
    around, model = handed_out
    kept = np.zeros(read_forest(model).n_nodes, dtype=bool)
    assert type(write_model(around, kept)) is type(model)


def test_an_estimator_that_is_not_fitted_is_told_as_any_other():
    with pytest.raises(UnfittedModelError, match="PrunedEnsembleClassifier is not fitted: call"):
        read_forest(tw.PrunedEnsembleClassifier())


def test_an_estimator_comes_back_whole_from_a_file(estimator, tmp_path):
    chosen = tw.PrunedEnsembleClassifier(fitted("stump").model, cv=2).fit(X, Y)
    for own in (estimator, chosen):
        tw.export.to_skops(own, tmp_path / "estimator.skops")
        found = tw.export.from_skops(tmp_path / "estimator.skops")
        np.testing.assert_array_equal(found.predict(X), own.predict(X))


def test_what_is_not_one_forest_is_refused_with_advice():
    cascade = PATH.cascade(X, Y, stages=2)
    mixture = PATH.mix(budget=150.0)
    for several, advice in (
        (cascade, "`stages.forests`"),
        (PATH, r"path\.at"),
        (mixture, "`cheap` or `rich`"),
    ):
        with pytest.raises(UnsupportedModelError, match=rf"is not read: .*{advice}"):
            read_forest(several)
