"""Columns of pipelines: encoded, missing, dropped, or behind a model of stages."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cli_files import answer, refused
from library_versions import polars_is_known
from pipeline_cases import (
    LEARNERS,
    MAKERS,
    NUMBERS,
    PRICES,
    TEXTS,
    SizedRatios,
    as_array,
    patients,
    source,
)
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    StandardScaler,
)

import thriftwood as tw
from thriftwood.errors import (
    InputError,
    UnfittedModelError,
    UnknownTransformerWarning,
    UnusedPriceWarning,
)

# Of functions, which most of these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore::thriftwood.errors.UnknownTransformerWarning")


def encoded_by_hand():
    """Dummy columns of a category made by pandas, and a forest on them."""
    X, y = patients()
    encoded = pd.get_dummies(X.drop(columns="pulse"), columns=TEXTS, dtype=float)
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(encoded, y)
    dummies = {text: [name for name in encoded if name.startswith(f"{text}_")] for text in TEXTS}
    return forest, encoded, y, dummies


def test_encoded_columns_are_bought_together_as_a_group_for_one_price():
    forest, X, y, dummies = encoded_by_hand()
    named = {name: PRICES[name] for name in ("age", "weight", "pain", "town")}
    costs = tw.Costs(per_feature=named, encoded=dummies)
    own = {name: named.get(name, 0.0) for name in X}
    groups = {f"all of {text}": dummies[text] for text in TEXTS}
    fees = {f"all of {text}": PRICES[text] for text in TEXTS}
    same = tw.Costs(per_feature=own, groups=groups, group_fee=fees)
    path, other = (tw.prune_path(forest, X, y, costs=one) for one in (costs, same))
    np.testing.assert_allclose(path.costs, other.costs)
    np.testing.assert_array_equal(path.drop_step, other.drop_step)
    bill = tw.feature_bill(path[0], X, costs)
    assert bill.feature_names == ("age", "weight", "pain", "town")
    np.testing.assert_allclose(bill.per_sample, tw.feature_bill(path[0], X, same).per_sample)
    assert path.n_features[0] <= 4
    found = {one.name: one.value for one in bill.receipt(0).purchases}
    assert set(found) <= set(named)
    assert set(found) & {"pain", "town"}
    for name in set(found) & {"pain", "town"}:
        value, of_feature = found[name].split(" in ")
        assert float(value) == X[of_feature][0]
        assert of_feature in dummies[name]
    lazy = tw.LazyPredictor(forest, acquire=source(X, []), costs=costs).predict(range(9))
    np.testing.assert_allclose(
        lazy.bill.per_sample, tw.feature_bill(forest, X, costs).per_sample[:9]
    )


def test_encoded_names_must_be_right():
    forest, X, _, dummies = encoded_by_hand()
    with pytest.raises(InputError, match="names 'pain_none ', which is no feature"):
        tw.feature_bill(forest, X, tw.Costs(encoded={"pain": ["pain_none "]}))
    with pytest.raises(InputError, match="'age', but that is the name of a feature"):
        tw.feature_bill(forest, X, tw.Costs(encoded={"age": dummies["pain"]}))


def test_columns_that_are_handed_on_beside_what_is_made_of_them():
    X, y = patients()
    X = X[["age", "weight"]]
    both = FeatureUnion([("as it is", "passthrough"), ("old", FunctionTransformer(np.floor))])
    prepare = ColumnTransformer(
        [("both", both, ["age"]), ("weight", "passthrough", ["weight"])],
        verbose_feature_names_out=False,
    )
    prepare.set_params(both__verbose_feature_names_out=False, both__old=KBinsDiscretizer(2))
    prepare.set_params(both__old__quantile_method="averaged_inverted_cdf")
    encoded = tw.encoded_by(prepare.fit(X))
    assert encoded == {"age": ["age", "age_0.0", "age_1.0"]}
    made = pd.DataFrame(
        as_array(prepare.transform(X)), columns=prepare.get_feature_names_out().astype(str)
    )
    forest = LEARNERS["forest"]().fit(made, y)
    bill = tw.feature_bill(forest, made, tw.Costs(per_feature=[1.0, 2.5], encoded=encoded))
    assert bill.feature_names == ("age", "weight")


def test_transformers_that_know_no_columns_have_nothing_to_say():
    X, _ = patients()
    with pytest.raises(InputError, match="fit it on a data frame"):
        tw.encoded_by(StandardScaler().fit(X[NUMBERS].to_numpy()))
    with pytest.raises(UnfittedModelError, match="This StandardScaler is not fitted"):
        tw.encoded_by(StandardScaler())
    for nameless in (5, FunctionTransformer().fit(X[NUMBERS])):
        with pytest.raises(InputError, match="does not name its outputs"):
            tw.encoded_by(nameless)
    with pytest.warns(UnknownTransformerWarning, match="SizedRatios"):
        encoded = tw.encoded_by(SizedRatios().fit(X[["age", "weight"]]))
    assert encoded == {"age": ["years", "ratio"], "weight": ["years", "ratio"]}


def test_a_thrifty_model_behind_transformers_goes_by_columns():
    X, y = patients(400)
    prepare = MAKERS["usual"]().set_params(texts__sparse_output=False)
    prepare.set_output(transform="pandas")
    costs = tw.Costs(per_feature=PRICES, encoded=tw.encoded_by(prepare.fit(X)))
    model = tw.ThriftyClassifier(costs=costs, effort="quick", random_state=0)
    whole = make_pipeline(prepare, model).fit(X, y)
    bill = whole[-1].bill(whole[:-1].transform(X))
    assert set(bill.feature_names) == set(X)
    with pytest.raises(InputError, match=r"made of 'town'\? .* encoded_by\(transformers\)"):
        make_pipeline(prepare, clone(model).set_params(costs=PRICES)).fit(X, y)


def test_pruned_ensembles_take_pipelines():
    X, y = patients(200)
    inner = make_pipeline(MAKERS["usual"](), RandomForestClassifier(5, max_depth=3))
    model = tw.PrunedEnsembleClassifier(inner, costs=PRICES, cv=2, random_state=0)
    weights = np.linspace(1, 2, len(y))
    model.fit(X, y, sample_weight=weights)
    assert isinstance(model.model_, Pipeline)
    np.testing.assert_array_equal(model.predict(X), model.model_.predict(X))
    again = tw.PrunedEnsembleClassifier(inner, costs=PRICES, budget=5.0, random_state=0).fit(X, y)
    assert tw.feature_bill(again, X).mean <= 5.0 + 1e-9


def test_paths_of_pipelines_come_back_from_files(tmp_path):
    X, y = patients()
    pipeline = make_pipeline(MAKERS["usual"](), RandomForestClassifier(3, random_state=0)).fit(X, y)
    path = tw.prune_path(pipeline, X, y, costs=PRICES)
    path.save(tmp_path / "it.twp")
    again = tw.PruningPath.load(tmp_path / "it.twp", pipeline)
    measured = again.evaluate(X, y)
    np.testing.assert_array_equal(measured.cost, path.evaluate(X, y).cost)
    np.testing.assert_array_equal(again[2].model.predict(X), path[2].model.predict(X))


def test_columns_that_are_missing_are_named():
    X, y = patients()
    pipeline = make_pipeline(MAKERS["usual"](), RandomForestClassifier(3, random_state=0)).fit(X, y)
    with pytest.raises(InputError, match="X lacks 'pain'"):
        tw.prune_path(pipeline, X.drop(columns="pain"), y)
    with pytest.raises(InputError, match="X has 4 columns, but the pipeline was trained on 5"):
        tw.prune_path(pipeline, X.to_numpy()[:, :4], y)
    some_order = X[["town", "pulse", "age", "pain", "weight"]].assign(other=1)
    np.testing.assert_array_equal(
        tw.feature_bill(pipeline, some_order, PRICES).per_sample,
        tw.feature_bill(pipeline, X, PRICES).per_sample,
    )


@pytest.mark.parametrize(
    "kind",
    [
        pd.DataFrame,
        pytest.param(pl.from_pandas, marks=polars_is_known),
        pa.Table.from_pandas,
    ],
)
def test_columns_that_a_pipeline_drops_may_be_missing(kind):
    X, y = patients()
    parts = [("texts", OneHotEncoder(), TEXTS), ("weight", "drop", ["weight"])]
    prepare = ColumnTransformer(
        [*parts, ("none", OneHotEncoder(), []), ("age", "passthrough", [0])]
    )
    for first in (prepare, make_pipeline(prepare, StandardScaler(with_mean=False))):
        pipeline = make_pipeline(first, RandomForestClassifier(5, max_depth=4, random_state=0))
        few = kind(X[["town", "age", "pain"]])
        expected = tw.prune_path(pipeline.fit(X, y), X, y, costs=PRICES)
        path = tw.prune_path(pipeline, few, y, costs=PRICES)
        np.testing.assert_array_equal(path.costs, expected.costs)
        np.testing.assert_array_equal(path.evaluate(few, y).error, path.evaluate(X, y).error)
        bill = tw.feature_bill(path[0], few)
        np.testing.assert_array_equal(bill.used, tw.feature_bill(path[0], X).used)
        answer = tw.LazyPredictor(path[0]).predict(few)
        np.testing.assert_array_equal(answer.proba, path[0].model.predict_proba(X))
        np.testing.assert_allclose(answer.bill.per_sample, bill.per_sample)
        with pytest.raises(InputError, match="X lacks 'pain'"):
            path.evaluate(kind(X[["town", "age", "weight"]]), y)


def test_columns_that_a_pipeline_drops_need_no_price():
    X, y = patients()
    prepare = ColumnTransformer([("texts", OneHotEncoder(), TEXTS), ("age", "passthrough", [0])])
    pipeline = make_pipeline(prepare, LEARNERS["forest"]()).fit(X, y)
    prices = {name: PRICES[name] for name in ("age", "pain", "town")}
    path = tw.prune_path(pipeline, X, y, costs=PRICES)
    for costs in (prices, tw.Costs(per_feature=prices, per_split=0.0)):
        same = tw.prune_path(pipeline, X, y, costs=costs)
        np.testing.assert_array_equal(same.costs, path.costs)
        bill = tw.feature_bill(same[0], X, costs)
        assert {one.name for i in range(9) for one in bill.receipt(i).purchases} <= set(prices)
        assert "weight" not in str(bill)
        lazy = tw.LazyPredictor(same[0], acquire=source(X, []), costs=costs).predict(range(9))
        np.testing.assert_allclose(lazy.bill.per_sample, bill.per_sample[:9])
    with pytest.warns(UnusedPriceWarning, match="names 'height'"):
        tw.feature_bill(pipeline, X, {**prices, "height": 1.0})
    with pytest.raises(InputError, match=r"no price for 'pain': .* Did you mean 'pain'"):
        tw.feature_bill(pipeline, X, {"age": 1.0, "town": 3.0, "pian": 7.0})
    with pytest.raises(InputError, match="no price for 'age'"):
        tw.feature_bill(pipeline, X, {"pain": 1.0, "town": 3.0})


@pytest.mark.parametrize("dropped", [[], ["weight", "pulse"], ["weight", "pulse", "ill"]])
def test_the_command_line_takes_tables_without_columns_that_a_pipeline_drops(dropped, tmp_path):
    X, y = patients()
    prepare = ColumnTransformer(
        [("texts", OneHotEncoder(), TEXTS), ("age", "passthrough", ["age"])]
    )
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    trained_on = X.assign(ill=y) if "ill" in dropped else X
    pipeline = make_pipeline(prepare, forest).fit(trained_on, y)
    tw.export.to_skops(pipeline, tmp_path / "it.skops")
    prices = PRICES | {"ill": 0.0} if "ill" in dropped else PRICES
    tw.Costs(per_feature=prices).to_file(tmp_path / "prices.csv")
    X.drop(columns=dropped, errors="ignore").assign(ill=y).to_csv(tmp_path / "few.csv", index=False)
    asked = ("--target", "ill", "--costs", tmp_path / "prices.csv")
    bill = answer("bill", tmp_path / "it.skops", tmp_path / "few.csv", *asked)
    assert bill["mean"] == pytest.approx(tw.feature_bill(pipeline, trained_on, prices).mean)
    X.drop(columns="age").assign(ill=y).to_csv(tmp_path / "few.csv", index=False)
    said = refused("bill", tmp_path / "it.skops", tmp_path / "few.csv", *asked)
    assert "no column 'age', which the model asks for" in said


def test_pipelines_in_pipelines():
    X, y = patients()
    inner = Pipeline(
        [("scale", StandardScaler()), ("forest", RandomForestClassifier(3, random_state=0))]
    )
    pipeline = Pipeline([("prepare", MAKERS["remainder"]()), ("rest", inner)]).fit(X, y)
    path = tw.prune_path(pipeline, X, y, costs=PRICES)
    pruned = path[len(path) // 2]
    model, compact = pruned.model, pruned.compact()
    assert isinstance(model[-1], Pipeline)
    assert compact[-1][-1].n_features_in_ < inner[-1].n_features_in_
    needed = list(pruned.required_features)
    np.testing.assert_array_equal(compact.predict(X[needed]), model.predict(X))
    right = np.mean(model.predict(X) == y)
    assert 1 - path.evaluate(X, y).error[len(path) // 2] == pytest.approx(right)
