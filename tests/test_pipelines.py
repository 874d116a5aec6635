"""Laws of pipelines: features need the columns that they are made of; bills speak of columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from pipeline_cases import LEARNERS, MAKERS, PRICES, as_array, patients, plain_bills, source
from sklearn.base import clone
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.pipeline import Pipeline, make_pipeline

import thriftwood as tw
from thriftwood.adapters.pipelines import read_inputs
from thriftwood.errors import (
    InputError,
    UnusedPriceWarning,
)
from thriftwood.forest import Inputs

# Of functions, which most of these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore::thriftwood.errors.UnknownTransformerWarning")


@pytest.fixture(scope="module", params=MAKERS)
def pipeline(request):
    X, y = patients()
    return Pipeline(
        [
            ("prepare", MAKERS[request.param]()),
            ("forest", RandomForestClassifier(5, max_depth=4, random_state=0)),
        ]
    ).fit(X, y)


def test_a_feature_changes_only_with_columns_that_it_needs(pipeline):
    X, _ = patients()
    inputs = read_inputs(pipeline, pipeline[-1].n_features_in_)
    assert inputs.columns.names == tuple(X.columns)
    before = as_array(inputs.transform(X))
    seen = [set() for _ in inputs.columns.of_features]
    for column, name in enumerate(X.columns):
        for other in (X[name].sample(frac=1, random_state=seed).to_numpy() for seed in range(3)):
            after = as_array(inputs.transform(X.assign(**{name: other})))
            for feature in np.flatnonzero((before != after).any(axis=0)):
                seen[feature].add(column)
    for feature, needed in enumerate(inputs.columns.of_features):
        assert seen[feature] <= set(needed)
    assert any(seen)


def test_known_transformers_need_no_column_more(pipeline, request):
    inputs = read_inputs(pipeline, pipeline[-1].n_features_in_)
    looks_at_all = ("own function", "components", "neighbours")
    if request.node.callspec.params["pipeline"] not in (*looks_at_all, "powers", "chosen"):
        assert all(len(needed) == 1 for needed in inputs.columns.of_features)


def test_values_that_nobody_bought_are_no_obstacle(pipeline):
    X, _ = patients()
    inputs = read_inputs(pipeline, pipeline[-1].n_features_in_)
    blank = pd.DataFrame([inputs.blanks], columns=X.columns)
    right = as_array(inputs.transform(X.iloc[:5]))
    for column, name in enumerate(X.columns):
        bought = pd.concat([blank] * 5, ignore_index=True).assign(
            **{name: X[name].iloc[:5].to_numpy()}
        )
        found = as_array(inputs.transform(bought))
        alone = [
            k for k, needed in enumerate(inputs.columns.of_features) if set(needed) <= {column}
        ]
        np.testing.assert_array_equal(found[:, alone], right[:, alone])


def test_bills_are_those_of_a_plain_walk_over_columns(pipeline):
    X, _ = patients()
    bill = tw.feature_bill(pipeline, X, PRICES)
    np.testing.assert_allclose(bill.per_sample, plain_bills(pipeline, X, PRICES), rtol=1e-12)
    assert bill.feature_names == tuple(X.columns)
    assert bill.used.shape == X.shape
    assert bill.receipt(3).total == pytest.approx(bill.per_sample[3])
    assert {one.name for one in bill.receipt(3).purchases} <= set(X.columns)


def test_every_point_of_a_path_is_a_pipeline_with_its_bill_and_loss(pipeline):
    X, y = patients()
    path = tw.prune_path(pipeline, X, y, costs=PRICES)
    for index in sorted({0, len(path) // 2, len(path) - 1}):
        pruned = path[index]
        assert isinstance(pruned.model, Pipeline)
        assert plain_bills(pruned.model, X, PRICES).mean() == pytest.approx(pruned.cost)
        assert pruned.n_features == (tw.feature_bill(pruned, X).bought > 0).sum()
        wrong = [
            np.mean(tree.predict(as_array(pruned.model[:-1].transform(X)).astype(np.float32)) != y)
            for tree in pruned.model[-1].estimators_
        ]
        assert np.mean(wrong) == pytest.approx(pruned.loss)
    measured = path.evaluate(X, y)
    right = np.mean(path[len(path) // 2].model.predict(X) == y)
    assert 1 - measured.error[len(path) // 2] == pytest.approx(right)


def test_a_path_is_optimal_for_columns(pipeline):
    X, y = patients(60)
    path = tw.prune_path(pipeline, X, y, costs=PRICES)
    for proof in path.certify(tw.pruning_problem(pipeline, X, y, costs=PRICES)):
        assert proof.certificate.gap == 0


@pytest.mark.parametrize("limits", [{}, {"max_cost": 9.0}, {"stop": "decided"}])
def test_lazy_predictions_ask_for_columns_once_and_pay_for_them(pipeline, limits):
    X, _ = patients()
    asked = []
    lazy = tw.LazyPredictor(pipeline, acquire=source(X, asked), costs=PRICES, **limits)
    answer = lazy.predict(range(20))
    assert len(set(asked)) == len(asked) == answer.n_requests
    paid = [sum(PRICES[column] for sample, column in asked if sample == i) for i in range(20)]
    np.testing.assert_allclose(answer.bill.per_sample, paid)
    if "max_cost" in limits:
        assert max(paid) <= 9.0
    else:
        np.testing.assert_array_equal(answer.labels, pipeline.predict(X.iloc[:20]))
    if not limits:
        np.testing.assert_allclose(answer.proba, pipeline.predict_proba(X.iloc[:20]))
        np.testing.assert_allclose(paid, plain_bills(pipeline, X.iloc[:20], PRICES))
    bought = {one.name: one.value for one in answer.receipt(5).purchases}
    assert bought == {
        name: (None if X.at[5, name] != X.at[5, name] else X.at[5, name]) for name in bought
    }


def test_lazy_predictions_in_batches_and_from_tables_are_the_same(pipeline):
    X, _ = patients()
    one_by_one = tw.LazyPredictor(pipeline, acquire=source(X, []), costs=PRICES).predict(range(20))
    many = tw.LazyPredictor(
        pipeline, acquire_many=lambda wanted: [X.at[one] for one in wanted], costs=PRICES
    ).predict(range(20))
    table = tw.LazyPredictor(pipeline, costs=PRICES).predict(X.iloc[:20])
    for other in (many, table):
        np.testing.assert_array_equal(other.labels, one_by_one.labels)
        np.testing.assert_allclose(other.bill.per_sample, one_by_one.bill.per_sample)
        assert other.n_requests == one_by_one.n_requests


@pytest.mark.parametrize("limits", [{}, {"max_cost": 9.0}, {"stop": "decided"}])
def test_transformers_run_once_a_round(limits, monkeypatch):
    X, y = patients()
    pipeline = make_pipeline(MAKERS["powers"](), LEARNERS["forest"]()).fit(X, y)
    features, runs = Inputs.features, []

    def counted(inputs, bought):
        runs.append(len(bought))
        return features(inputs, bought)

    monkeypatch.setattr(Inputs, "features", counted)
    alone = tw.LazyPredictor(pipeline, acquire=source(X, []), costs=PRICES, **limits)
    answer = alone.predict([7])
    assert runs == [1] * answer.n_rounds
    runs.clear()
    together = tw.LazyPredictor(
        pipeline, acquire_many=lambda wanted: [X.at[one] for one in wanted], costs=PRICES, **limits
    )
    answer = together.predict(range(40))
    assert len(runs) <= answer.n_rounds
    assert max(runs) == 40


def test_what_is_known_is_not_asked_for_and_costs_nothing(pipeline):
    X, _ = patients()
    asked = []
    lazy = tw.LazyPredictor(pipeline, acquire=source(X, asked), costs=PRICES)
    known = [{"pain": X.at[i, "pain"], "age": X.at[i, "age"]} for i in range(20)]
    answer = lazy.predict(range(20), known=known)
    assert not {column for _, column in asked} & {"pain", "age"}
    np.testing.assert_array_equal(answer.labels, pipeline.predict(X.iloc[:20]))
    free = {**PRICES, "pain": 0.0, "age": 0.0}
    np.testing.assert_allclose(answer.bill.per_sample, plain_bills(pipeline, X.iloc[:20], free))


def test_columns_whose_source_fails_leave_the_others(pipeline):
    X, _ = patients()

    def acquire(sample, column):
        if column == "pain":
            raise TimeoutError
        return X.at[sample, column]

    answer = tw.LazyPredictor(pipeline, acquire=acquire, costs=PRICES, on_failure="node").predict(
        [0, 1]
    )
    assert len(answer) == 2
    assert {one.feature for one in answer.failures} <= {"pain"}


def test_a_compact_pipeline_takes_only_columns_that_are_still_used(pipeline):
    X, y = patients()
    path = tw.prune_path(pipeline, X, y, costs=PRICES)
    for index in (0, len(path) // 2, len(path) - 1):
        pruned = path[index]
        needed = list(pruned.required_features)
        compact = pruned.compact()
        assert compact.n_features_in_ == len(needed)
        if index < len(path) - 1:  # the last step of a model of leaves alone stays as it is
            looked_at = {k for tree in pruned.model[-1] for k in tree.tree_.feature if k >= 0}
            assert compact[-1].n_features_in_ == len(looked_at)
            made = as_array(compact[:-1].transform(X[needed])).astype(np.float32)
            read = tw.ForestModel(tw.export.from_json(tw.export.to_json(compact[-1])))
            np.testing.assert_array_equal(read.predict(made), pruned.model.predict(X))
        np.testing.assert_array_equal(compact.predict(X[needed]), pruned.model.predict(X))


def test_trees_answer_without_text_that_never_comes():
    X, y = patients()
    pipeline = make_pipeline(MAKERS["words"](), LEARNERS["forest"]()).fit(X, y)

    def gaps(sample, column):
        return None if column == "pain" else X.at[sample, column]

    def silent(sample, column):
        return X.drop(columns="pain").at[sample, column]

    with pytest.raises(InputError, match="let the source raise, and pass on_failure='node'"):
        tw.LazyPredictor(pipeline, acquire=gaps, on_failure="node").predict(range(5))
    answer = tw.LazyPredictor(pipeline, acquire=silent, on_failure="node").predict(range(5))
    assert {one.feature for one in answer.failures} == {"pain"}
    assert not answer.bill.used[:, list(X).index("pain")].any()


def test_what_transformers_make_of_columns_is_what_a_pipeline_of_them_needs(pipeline):
    X, y = patients()
    try:
        outputs = pipeline[:-1].get_feature_names_out()
    except AttributeError:
        return  # hashed words and indicators in a union have no names
    encoded = tw.encoded_by(pipeline[:-1])
    inputs = read_inputs(pipeline, pipeline[-1].n_features_in_)
    for output, needed in zip(outputs, inputs.columns.of_features, strict=True):
        assert {name for name, own in encoded.items() if output in own} == {
            inputs.columns.names[column] for column in needed
        } - ({output} - encoded.keys())
    made = pd.DataFrame(as_array(pipeline[:-1].transform(X)), columns=outputs)
    forest = clone(pipeline[-1]).fit(made, y)
    constants = {
        output: 0.0
        for output, needed in zip(outputs, inputs.columns.of_features, strict=True)
        if not needed
    }
    costs = tw.Costs(per_feature=PRICES | constants, encoded=encoded)
    used = {name for own in inputs.columns.of_features for name in own}
    with warnings.catch_warnings():
        if len(used) < len(PRICES):
            warnings.simplefilter("ignore", UnusedPriceWarning)
        bill = tw.feature_bill(forest, made, costs)
    np.testing.assert_allclose(bill.per_sample, plain_bills(pipeline, X, PRICES))
