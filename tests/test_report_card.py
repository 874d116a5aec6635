"""The card of a model says what its bill, its evaluation and its proof say."""

import sys

import numpy as np
import pytest
from paths import HEART
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import thriftwood as tw
from thriftwood.errors import InputError, MissingLibraryError
from thriftwood.report.amounts import amount

X, y = HEART.frame(), HEART.y
TRAIN, OTHERS = slice(0, 200), slice(200, None)
SECTIONS = ("Model", "Prices", "Bill", "Proof", "Metric", "What it gave up")


@pytest.fixture(scope="module")
def problem():
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X[TRAIN], y[TRAIN])
    return tw.pruning_problem(forest, X[TRAIN], y[TRAIN], costs=HEART.prices)


@pytest.fixture(scope="module")
def path(problem):
    return tw.prune_path(problem)


def test_figures_are_those_of_the_bill_the_evaluation_and_the_proof(path, problem, tmp_path):
    measured = path.evaluate(X[OTHERS], y[OTHERS])
    point = len(path) // 2
    card = tw.report.model_card(path, problem, measured, point=point)
    card.save(tmp_path / "README.md")
    text = (tmp_path / "README.md").read_text()
    assert text == card.render()
    assert all(f"\n# {section}\n" in text for section in SECTIONS)
    pruned = path.at(index=point)
    bill = tw.feature_bill(pruned, X[TRAIN], HEART.prices)
    for figure in (
        amount(bill.mean, HEART.unit),
        amount(float(bill.per_sample.max()), HEART.unit),
        f"{measured.score[point]:.4g}",
        f"{measured.original.error:.4g}",
        f"{measured.original.score - measured.score[point]:.4f} of roc_auc",
        f"{path.original.n_splits - pruned.n_splits:,} of {path.original.n_splits:,} splits",
        str(path.certify(problem, [point])[0].certificate.bound),
        f"On {len(y[OTHERS])} samples that training did not see.",
    ):
        assert figure in text
    prices = card.select("Prices").format()
    for name, share in zip(bill.feature_names, bill.bought, strict=True):
        assert (f" {name} " in prices) == (share > 0)
    gone = text.rpartition("any more: ")[2].strip().removesuffix(".")
    assert gone.split(", ") == pruned_away(path, point)


def pruned_away(path, point):
    used = tw.feature_bill(path.model, X[TRAIN], HEART.prices).bought > 0
    kept = tw.feature_bill(path.at(index=point), X[TRAIN], HEART.prices).bought > 0
    return np.array(X.columns)[used & ~kept].tolist()


def test_by_default_it_is_about_the_model_that_the_page_begins_with(path, problem, tmp_path):
    measured = path.evaluate(X[OTHERS], y[OTHERS])
    page = tw.report.write_page(path, tmp_path / "page.html", problem, measured)
    card = tw.report.model_card(path, problem, measured)
    assert page.why.removesuffix(".") in card.render()
    model = path.model if page.point is None else path.at(index=page.point).model
    np.testing.assert_array_equal(card.get_model().predict(X), model.predict(X))
    last = tw.report.model_card(path, problem, point=-1).render()
    assert "too rosy, pruning saw them" in last
    assert f"point {len(path) - 1} of {len(path)}" in last


def test_of_a_model_that_nothing_cheaper_is_as_good_as(path, problem):
    measured = path.evaluate(X[OTHERS], y[OTHERS])
    worse = measured.score - 1.0
    untouched = type(measured)(**{**vars(measured), "score": worse})
    card = tw.report.model_card(path, problem, untouched)
    assert "as it was" in card.select("Model").content
    assert "Nothing was pruned" in card.select("Proof").content


def test_of_numbers():
    target = X["thalach"].to_numpy()
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, target)
    problem = tw.pruning_problem(model, X, target, costs=HEART.prices)
    path = tw.prune_path(problem)
    text = tw.report.model_card(path, problem, path.evaluate(X, target), point=1).render()
    assert "mean squared error" in text
    assert "of neg_mean_squared_error (standard error" in text


def test_of_a_thrifty_model():
    few = RandomForestClassifier(3, max_depth=3, random_state=0)
    model = tw.ThriftyClassifier(
        costs=HEART.prices, budget=60, estimator=few, effort="quick", random_state=0
    ).fit(X[TRAIN], y[TRAIN])
    card = tw.report.model_card(model, (X[OTHERS], y[OTHERS]))
    assert amount(model.bill(X[OTHERS]).mean, HEART.unit) in card.render()
    assert "Nothing is proven here" in card.select("Proof").content
    assert "the full model" in card.render()


def test_points_that_are_not_there_are_refused(path, problem):
    for point in (len(path), -len(path) - 1, 1.5):
        with pytest.raises(InputError, match="`point`"):
            tw.report.model_card(path, problem, point=point)


def test_without_skops_it_says_what_to_install(path, problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.card", None)
    with pytest.raises(MissingLibraryError, match=r"A model card needs skops: .*thriftwood\[skops"):
        tw.report.model_card(path, problem)
