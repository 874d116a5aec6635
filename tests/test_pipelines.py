"""Laws of pipelines: features need the columns that they are made of; bills speak of columns."""

import pickle
import warnings

import catboost
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import skrub
import xgboost
from cli_files import answer, refused
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.utils.validation import validate_data

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.adapters.pipelines import read_inputs
from thriftwood.errors import (
    InputError,
    UnfittedModelError,
    UnknownTransformerWarning,
    UnsupportedModelError,
    UnusedPriceWarning,
)
from thriftwood.forest import Inputs

# Of functions, which most of these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore::thriftwood.errors.UnknownTransformerWarning")

NUMBERS, TEXTS = ["age", "weight", "pulse"], ["pain", "town"]


def patients(n_samples=120, seed=0):
    """Samples of two kinds of columns, with missing numbers, and their labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.gamma(4.0, 10.0, size=(n_samples, 3)).round(1), columns=NUMBERS)
    frame["pain"] = rng.choice(["none", "mild", "strong"], n_samples, p=[0.5, 0.3, 0.2])
    frame["town"] = rng.choice(list("abcdefg"), n_samples)
    y = (frame["age"] + 20 * (frame["pain"] == "strong") > 45).astype(int).to_numpy()
    frame.loc[rng.random(n_samples) < 0.1, "pulse"] = np.nan
    return frame, y


def numbers(*transformers):
    """A transformer of the columns of numbers alone, missing values filled first."""
    steps = make_pipeline(SimpleImputer(), *transformers)
    return ColumnTransformer([("numbers", steps, NUMBERS)])


def texts(*transformers):
    return ColumnTransformer([("texts", make_pipeline(*transformers), TEXTS)])


MAKERS = {
    "usual": lambda: ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
                NUMBERS,
            ),
            ("texts", OneHotEncoder(handle_unknown="ignore"), TEXTS),
        ]
    ),
    "remainder": lambda: ColumnTransformer(
        [("texts", OrdinalEncoder(), TEXTS)], remainder=SimpleImputer()
    ),
    "passthrough": lambda: ColumnTransformer(
        [("texts", OneHotEncoder(drop="first"), ["town"]), ("age", "passthrough", ["age"])]
    ),
    "selectors": lambda: ColumnTransformer(
        [
            ("numbers", SimpleImputer(), make_column_selector(dtype_include=float)),
            ("pain", OneHotEncoder(drop="if_binary"), slice("pain", "pain")),
        ]
    ),
    "mask": lambda: ColumnTransformer(
        [("some", SimpleImputer(), [True, False, True, False, False]), ("one", "drop", [1])]
    ),
    "rare": lambda: texts(OneHotEncoder(min_frequency=20)),
    "target": lambda: texts(TargetEncoder()),
    "bins": lambda: numbers(KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf")),
    "ordinal bins": lambda: numbers(
        KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf")
    ),
    "splines": lambda: numbers(SplineTransformer(3)),
    "powers": lambda: numbers(PolynomialFeatures(2)),
    "scalers": lambda: numbers(
        MinMaxScaler(), PowerTransformer(), QuantileTransformer(n_quantiles=20)
    ),
    "logarithm": lambda: numbers(FunctionTransformer(np.log1p)),
    "own function": lambda: numbers(
        FunctionTransformer(
            lambda X: X / X.sum(axis=1, keepdims=True), feature_names_out="one-to-one"
        )
    ),
    "components": lambda: numbers(PCA(2)),
    "neighbours": lambda: ColumnTransformer([("numbers", KNNImputer(), NUMBERS)]),
    "chosen": lambda: Pipeline(
        [("all", numbers(PolynomialFeatures(2, include_bias=False))), ("best", SelectKBest(k=4))]
    ),
    "varying": lambda: numbers(VarianceThreshold()),
    "words": lambda: ColumnTransformer(
        [("age", "passthrough", ["age"]), ("words", CountVectorizer(), "pain")]
    ),
    "topics": lambda: ColumnTransformer(
        [
            ("topics", make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0)), "pain"),
            ("numbers", SimpleImputer(), ["age", "pulse"]),
        ]
    ),
    "hashed words": lambda: ColumnTransformer(
        [("words", HashingVectorizer(n_features=8), 3), ("age", "passthrough", [0])]
    ),
    "union": lambda: ColumnTransformer(
        [("both", FeatureUnion([("fill", SimpleImputer()), ("gaps", MissingIndicator())]), NUMBERS)]
    ),
}


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


def as_array(made):
    return made.toarray() if hasattr(made, "toarray") else np.asarray(made)


PRICES = {"age": 1.0, "weight": 2.5, "pulse": 4.0, "pain": 7.0, "town": 3.0}


def plain_bills(pipeline, X, prices, declared=None):
    """What every sample pays, by a walk through scikit-learn's own trees, column by column."""
    inputs = read_inputs(pipeline, pipeline[-1].n_features_in_)
    needs = declared or inputs.columns.of_features
    made = as_array(inputs.transform(X)).astype(np.float32)
    names = list(X.columns)
    bills = np.zeros(len(X))
    for i, row in enumerate(made):
        bought = set()
        for tree in (one.tree_ for one in pipeline[-1].estimators_):
            node = 0
            while tree.children_left[node] >= 0:
                feature = tree.feature[node]
                bought |= {names[k] for k in needs[feature]}
                goes_left = row[feature] <= tree.threshold[node]
                node = (tree.children_left if goes_left else tree.children_right)[node]
        bills[i] = sum(prices[name] for name in bought)
    return bills


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


def source(X, asked):
    def acquire(sample, column):
        asked.append((sample, column))
        return X.at[sample, column]

    return acquire


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


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
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


LEARNERS = {
    "forest": lambda: RandomForestClassifier(8, max_depth=4, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=8, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=8, random_state=0),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=8, num_leaves=7, verbose=-1),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=8, max_depth=3),
    "catboost": lambda: catboost.CatBoostClassifier(
        iterations=8, depth=3, grow_policy="Depthwise", verbose=False, allow_writing_files=False
    ),
}


@pytest.fixture(scope="module", params=LEARNERS)
def everywhere(request):
    """A pipeline of imputation, scaling and one-hot columns around a model of each library."""
    X, y = patients(300)
    prepare = MAKERS["usual"]()
    if request.param == "histogram boosting":  # takes no sparse matrix
        prepare.set_params(texts__sparse_output=False)
    pipeline = make_pipeline(prepare, LEARNERS[request.param]()).fit(X, y)
    return pipeline, tw.prune_path(pipeline, X, y, costs=PRICES)


@pytest.mark.slow
def test_points_go_through_every_function(everywhere, tmp_path):
    pipeline, path = everywhere
    X, y = patients(300)
    X_new, y_new = patients(200, seed=1)
    pruned = path.at(budget=path.costs[0] / 2)
    chosen = path.choose(X_new, y_new)
    problem = tw.pruning_problem(pipeline, X, y, costs=PRICES)
    at_tradeoff = tw.prune(pipeline, X, y, costs=PRICES, tradeoff=0.001)
    assert tw.verify_pruning(problem, pruned).gap < 1e-9
    refitted = pruned.refit(X, y, validation=(X_new, y_new))
    for one in (pruned, chosen, at_tradeoff, refitted):
        assert isinstance(one.model, Pipeline)
        assert tw.feature_bill(one, X, PRICES).mean == pytest.approx(one.cost)
        np.testing.assert_array_equal(one.model[:-1].transform(X) != pipeline[:-1].transform(X), 0)
    assert type(pruned.model[-1]) is type(pipeline[-1])
    bill = tw.feature_bill(pruned, X_new, PRICES)
    measured = path.evaluate(X_new, y_new)
    assert measured.cost[pruned.index] == pytest.approx(bill.mean)
    right = np.mean(pruned.model.predict(X_new) == y_new)
    assert 1 - measured.error[pruned.index] == pytest.approx(right)
    lazy = tw.LazyPredictor(pruned, acquire=source(X_new, []), costs=PRICES).predict(range(30))
    np.testing.assert_allclose(lazy.bill.per_sample, bill.per_sample[:30])
    np.testing.assert_array_equal(lazy.labels, pruned.model.predict(X_new.iloc[:30]))
    needed = list(pruned.required_features)
    compact = pruned.compact()
    np.testing.assert_array_equal(compact.predict(X_new[needed]), pruned.model.predict(X_new))
    again = tw.LazyPredictor(compact, acquire=source(X_new, []), costs=None).predict(range(9))
    np.testing.assert_array_equal(again.labels, lazy.labels[:9])
    made = compact[:-1].transform(X_new[needed])  # as words of exports say
    assert type(compact[-1]) is type(pipeline[-1])
    forests = [read_forest(one[-1]) for one in (compact, pruned.model)]
    if type(pipeline[-1]).__name__ != "CatBoostClassifier":
        assert forests[0].n_features == len(np.unique(forests[1].feature[forests[1].is_split]))
    np.testing.assert_array_equal(compact[-1].predict(made), pruned.model.predict(X_new))
    chunks = iter([(X.iloc[:150], y[:150]), (X.iloc[150:], y[150:])])
    in_pieces = tw.prune_path(pipeline, chunks, costs=PRICES)  # of one unit, for all tradeoffs
    for tradeoff in (1e-9, 1e-6, 0.001, 0.1, 1.0):
        assert in_pieces.at(tradeoff=tradeoff).cost == path.at(tradeoff=tradeoff).cost
    tw.report.write_page(path, tmp_path / "page.html", problem, measured)
    page = (tmp_path / "page.html").read_text()
    assert "pain" in page
    assert "texts__" not in page


@pytest.mark.slow
def test_cascades_and_estimators_of_every_library(everywhere):
    pipeline, path = everywhere
    X, y = patients(300)
    X_new, y_new = patients(200, seed=1)
    for cascade in (path.cascade(X_new, y_new), path.cascade(X_new, y_new, refit=(X, y))):
        lazy = tw.LazyPredictor(cascade, acquire=source(X_new, [])).predict(range(40))
        np.testing.assert_array_equal(lazy.labels, cascade.predict(X_new.iloc[:40]))
        expected = tw.feature_bill(cascade, X_new.iloc[:40]).per_sample
        np.testing.assert_allclose(lazy.bill.per_sample, expected)
    grown = tw.PrunedEnsembleClassifier(clone(pipeline), costs=PRICES, budget=6).fit(X, y)
    assert isinstance(grown.model_, Pipeline)
    assert tw.feature_bill(grown, X).mean <= 6
    assert set(grown.pruned_.required_features) <= set(X)


@pytest.mark.slow
def test_exports_and_the_command_line_of_every_library(everywhere, tmp_path):
    pipeline, path = everywhere
    X, y = patients(300)
    pruned = path.at(budget=path.costs[0] / 2).model
    for write in (tw.export.to_c, tw.export.to_json, tw.export.to_onnx):
        with pytest.raises(UnsupportedModelError, match=r"`to_skops`, or export its last step"):
            write(pruned)
        write(pruned[-1])
    with open(tmp_path / "model.pkl", "wb") as file:
        pickle.dump(pipeline, file)
    X.assign(ill=y).to_csv(tmp_path / "data.csv", index=False)
    prices = "".join(f"{name},{price}\n" for name, price in PRICES.items())
    (tmp_path / "prices.csv").write_text(f"name,price\n{prices}")
    said = answer(
        "prune",
        tmp_path / "model.pkl",
        tmp_path / "data.csv",
        "--trust-pickle",
        *("--target", "ill"),
        *("--costs", tmp_path / "prices.csv"),
        *("--budget", str(path.costs[0] / 2)),
        *("--output", tmp_path / "small.pkl"),
    )
    with open(tmp_path / "small.pkl", "rb") as file:
        small = pickle.load(file)
    np.testing.assert_array_equal(small.predict(X), pruned.predict(X))
    assert said


def test_the_command_line_reads_columns_of_text(tmp_path):
    X, y = patients(200)
    pipeline = make_pipeline(
        MAKERS["usual"](), RandomForestClassifier(5, max_depth=4, random_state=0)
    )
    tw.export.to_skops(pipeline.fit(X, y), tmp_path / "it.skops")
    X.assign(ill=y).to_csv(tmp_path / "train.csv", index=False)
    tw.Costs(per_feature=PRICES).to_file(tmp_path / "prices.csv")
    files = (tmp_path / "it.skops", tmp_path / "train.csv")
    asked = (*files, "--target", "ill", "--costs", tmp_path / "prices.csv")
    said = answer("prune", *asked, "--budget", "6", "-o", tmp_path / "pruned.skops")
    expected = tw.prune(pipeline, X, y, costs=PRICES, budget=6)
    assert said["cost"] == pytest.approx(expected.cost)
    written = tw.export.from_skops(tmp_path / "pruned.skops")
    np.testing.assert_array_equal(written.predict(X), expected.model.predict(X))
    bill = answer("bill", tmp_path / "pruned.skops", *asked[1:])
    assert {one["name"] for one in bill["features"]} <= set(X.columns)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("as_frame", [True, False])
def test_a_compact_model_takes_only_what_is_still_used(name, as_frame):
    X, y = patients(300)
    X = X[NUMBERS].fillna(0.0).assign(noise=np.random.default_rng(0).normal(size=300))
    X = X if as_frame else X.to_numpy()
    path = tw.prune_path(LEARNERS[name]().fit(X, y), X, y)
    pruned = path.at(budget=1)
    used = list(pruned.required_features)
    only = X[used] if as_frame else X[:, used]
    assert only.shape[1] < X.shape[1]
    compact = pruned.compact()
    np.testing.assert_array_equal(compact.predict(only), pruned.model.predict(X))
    assert compact.n_features_in_ == len(used)
    prices = np.arange(1.0, X.shape[1] + 1)
    of_used = [prices[column] for column in (map(list(X).index, used) if as_frame else used)]
    bill = tw.feature_bill(compact, only, of_used).per_sample
    np.testing.assert_allclose(bill, tw.feature_bill(pruned, X, prices).per_sample)
    if as_frame:
        assert compact.feature_names_in_.tolist() == used
    exported = tw.export.from_json(tw.export.to_json(compact))
    assert exported.n_features == len(used)
    assert exported.feature_names == (tuple(used) if as_frame else exported.feature_names)
    np.testing.assert_array_equal(
        tw.ForestModel(exported).predict(np.asarray(only)), compact.predict(only).astype(int)
    )
    if name != "catboost":
        assert type(compact) is type(pruned.model)
    elif as_frame:
        with pytest.raises(InputError, match=f"X lacks '{used[0]}'"):
            compact.predict(only.drop(columns=used[0]))


def test_a_compact_model_of_leaves_alone_takes_no_column():
    X, y = patients(100)
    X = X[NUMBERS].fillna(0.0).to_numpy()
    pruned = tw.prune_path(LEARNERS["forest"]().fit(X, y), X, y).at(budget=0)
    nothing = X[:, :0]
    assert pruned.required_features == ()
    np.testing.assert_array_equal(pruned.compact().predict(nothing), pruned.model.predict(X))
    assert tw.feature_bill(pruned.compact(), nothing, np.array([])).mean == 0.0


def bodies(X):
    """Outputs of a function of somebody's own: each looks at some of its columns."""
    return pd.DataFrame(
        {
            "ratio": X["weight"] / (1 + X["age"]),
            "young": (X["age"] < 40).astype(float),
            "heavy": np.log1p(X["weight"]),
        }
    )


MADE_OF = {"age": ["ratio", "young"], "weight": ["ratio", "heavy"]}


@pytest.fixture(scope="module")
def own_function():
    X, y = patients()
    prepare = ColumnTransformer(
        [
            ("own", FunctionTransformer(bodies), ["age", "weight"]),
            ("pain", OneHotEncoder(sparse_output=False), ["pain"]),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    forest = RandomForestClassifier(2, max_depth=2, max_features=1, random_state=0)
    return make_pipeline(prepare, forest).fit(X, y)


def test_what_outputs_of_an_unknown_transformer_need_can_be_declared(own_function):
    X, y = patients()
    costs = tw.Costs(per_feature=PRICES, encoded=MADE_OF)
    inputs = read_inputs(own_function, own_function[-1].n_features_in_)
    at_most = plain_bills(own_function, X, PRICES)
    needs = {"ratio": (0, 1), "young": (0,), "heavy": (1,)}
    names = own_function[-1].feature_names_in_
    declared = [needs.get(name, (3,)) for name in names]
    assert inputs.columns.of_features == tuple((0, 1) if name in needs else (3,) for name in names)
    bill = tw.feature_bill(own_function, X, costs)
    expected = plain_bills(own_function, X, PRICES, declared)
    np.testing.assert_allclose(bill.per_sample, expected)
    assert (expected <= at_most).all()
    assert (expected < at_most).any()
    path = tw.prune_path(own_function, X, y, costs=costs)
    pruned = path[len(path) // 2]
    assert plain_bills(pruned.model, X, PRICES, declared).mean() == pytest.approx(pruned.cost)
    asked = []
    lazy = tw.LazyPredictor(own_function, acquire=source(X, asked), costs=costs).predict(range(30))
    np.testing.assert_allclose(lazy.proba, own_function.predict_proba(X.iloc[:30]))
    np.testing.assert_allclose(lazy.bill.per_sample, expected[:30])
    assert len(asked) == lazy.n_requests < 30 * 3
    receipt = bill.receipt(4)
    assert receipt.total == pytest.approx(expected[4])
    known = tw.LazyPredictor(own_function, acquire=source(X, asked), costs=costs).predict(
        range(5), known=[{"age": X.at[i, "age"]} for i in range(5)]
    )
    free = plain_bills(own_function, X.iloc[:5], {**PRICES, "age": 0.0}, declared)
    np.testing.assert_allclose(known.bill.per_sample, free)


def test_declared_needs_are_columns_and_features_that_are_there(own_function):
    X, _ = patients()
    for encoded, words in (
        ({"ages": ["ratio"]}, "names 'ages'.*Did you mean 'age'"),
        ({"age": ["ration"]}, "names 'ration'.*Did you mean 'ratio'"),
        ({"pain": ["ratio"]}, "has 'ratio' under 'pain', which the transformer"),
    ):
        with pytest.raises(InputError, match=words):
            tw.feature_bill(own_function, X, tw.Costs(encoded=encoded))


class Ratios(TransformerMixin, BaseEstimator):
    """A transformer of somebody's own, which does not say how many columns it takes."""

    def fit(self, _X, _y=None):
        return self

    def transform(self, X):
        return np.column_stack([X["age"], X["age"] / (1 + X["weight"])])

    def get_feature_names_out(self, _names=None):
        return ["years", "ratio"]


class SizedRatios(Ratios):
    """The same that says how many it takes, and their names."""

    def fit(self, X, _y=None):
        validate_data(self, X, skip_check_array=True)
        return self


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ([SizedRatios()], "SizedRatios"),
        ([ColumnTransformer([("own", Ratios(), ["age", "weight"])])], "Ratios"),
        ([FunctionTransformer(bodies)], r"FunctionTransformer\(bodies\)"),
        ([numbers(), FunctionTransformer(abs)], r"FunctionTransformer\(abs\)"),
    ],
)
def test_transformers_that_are_not_known_are_named(steps, name):
    X, y = patients()
    pipeline = make_pipeline(*steps, LEARNERS["forest"]()).fit(X, y)
    with pytest.warns(UnknownTransformerWarning, match=f"outputs of {name} are made of"):
        tw.feature_bill(pipeline, X, PRICES)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "prepare",
    [
        numbers(PCA(2)),  # does need all
        ColumnTransformer([("own", FunctionTransformer(lambda X: X > 40), ["age"])]),
        ColumnTransformer([("root", FunctionTransformer(np.sqrt), ["age", "weight"])]),
    ],
)
def test_nothing_is_said_of_transformers_whose_needs_are_known(prepare):
    X, y = patients()
    pipeline = make_pipeline(prepare, LEARNERS["forest"]()).fit(X, y)
    assert tw.feature_bill(pipeline, X, PRICES).mean > 0


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_of_needs_that_are_declared(own_function):
    X, _ = patients()
    assert tw.feature_bill(own_function, X, tw.Costs(per_feature=PRICES, encoded=MADE_OF)).mean


@pytest.mark.parametrize("first", [Ratios(), make_pipeline(Ratios())])
def test_a_first_step_must_say_how_many_columns_it_takes(first):
    X, y = patients()
    pipeline = make_pipeline(first, LEARNERS["forest"]()).fit(X, y)
    with pytest.raises(UnsupportedModelError, match=r"Ratios, the first step .* `n_features_in_`"):
        tw.feature_bill(pipeline, X, PRICES)


def test_text_alone_goes_through_a_column_transformer():
    X, y = patients()
    words = make_pipeline(CountVectorizer(), LEARNERS["forest"]()).fit(X["pain"], y)
    with pytest.raises(UnsupportedModelError, match=r'ColumnTransformer\(\[\("countvectorizer", '):
        tw.feature_bill(words, X[["pain"]])
    words.steps[0] = ("other", StandardScaler())
    with pytest.raises(UnfittedModelError, match="This StandardScaler is not fitted"):
        tw.feature_bill(words, X[["pain"]])


def test_files_of_pipelines_are_read_with_the_pipeline(own_function, tmp_path):
    X, y = patients()
    path = tw.prune_path(own_function, X, y, costs=PRICES)
    cascade = path.cascade(X, y)
    path.save(tmp_path / "it.twp")
    cascade.save(tmp_path / "it.tw")
    again = tw.CascadeClassifier.load(tmp_path / "it.tw", own_function)
    np.testing.assert_array_equal(again.predict_proba(X), cascade.predict_proba(X))
    np.testing.assert_array_equal(again.bill(X).per_sample, cascade.bill(X).per_sample)
    other = make_pipeline(MAKERS["usual"](), RandomForestClassifier(2, random_state=0)).fit(X, y)
    with pytest.raises(InputError, match="of another pipeline"):
        tw.CascadeClassifier.load(tmp_path / "it.tw", other)
    for load, name in ((tw.CascadeClassifier.load, "it.tw"), (tw.PruningPath.load, "it.twp")):
        with pytest.raises(InputError, match=r"load\(file, pipeline\)"):
            load(tmp_path / name)
    with pytest.raises(InputError, match="would lose the transformers"):
        tw.ForestModel(read_forest(own_function)).save(tmp_path / "forest.tw")


@pytest.mark.parametrize("name", ["c", "json", "lightgbm", "onnx", "treelite"])
def test_exports_without_transformers_are_refused(own_function, name):
    write = getattr(tw.export, f"to_{name}")
    with pytest.raises(UnsupportedModelError, match=r"export its last step, `pipeline\[-1\]`"):
        write(own_function)
    assert write(own_function[-1])


# --- skrub


@pytest.mark.parametrize("kind", ["vectorizer", "tabular"])
def test_tables_that_skrub_vectorises(kind):
    frame, y = patients(300)
    frame["seen"] = pd.date_range("2020-01-01", periods=300)
    forest = RandomForestClassifier(6, max_depth=4, random_state=0)
    pipeline = make_pipeline(skrub.TableVectorizer(), forest)
    if kind == "tabular":
        pipeline = skrub.tabular_pipeline(forest)
    costs = {name: 1.0 + k for k, name in enumerate(frame)}
    # Nothing may warn: neither reading nor buying asks encoders for categories that they lack.
    path = tw.prune_path(pipeline.fit(frame, y), frame, y, costs=costs)
    pruned = path[len(path) // 2]
    np.testing.assert_array_equal(path.model.predict(frame), pipeline.predict(frame))
    lazy = tw.LazyPredictor(pruned, acquire=lambda i, name: frame.at[i, name], costs=costs)
    answer = lazy.predict(frame.index[:40])
    np.testing.assert_array_equal(answer.labels, pruned.model.predict(frame[:40]))
    bill = tw.feature_bill(pruned.model, frame[:40], costs)
    np.testing.assert_allclose(answer.bill.per_sample, bill.per_sample)
    needed = list(pruned.required_features)
    assert 0 < len(needed) < len(costs)
    small = pruned.compact().predict(frame[needed])
    np.testing.assert_array_equal(small, pruned.model.predict(frame))


# --- the data sets that come along


def bundled_sets():
    """Frames of people and of scikit-learn's own, with gaps and columns of text, and prices."""
    people = tw.datasets.load_nhanes()
    X, y = people.frame().iloc[:1500], people.y[:1500] > 0
    prices = dict(zip(X.columns, people.costs, strict=True))
    yield "nhanes", X.astype(float), y, prices
    for name, load in (("cancer", load_breast_cancer), ("wine", load_wine)):
        found = load(as_frame=True)
        yield name, found.data, found.target.to_numpy(), None


def prepared(X):
    """Transformers of many kinds, each for some columns."""
    columns = list(X.columns)
    fill = SimpleImputer(strategy="most_frequent", add_indicator=True)
    bins = KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    return ColumnTransformer(
        [
            ("binned", make_pipeline(SimpleImputer(), bins), columns[:4]),
            ("scaled", make_pipeline(fill, StandardScaler()), columns[4:]),
        ]
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Bins whose width are too small:UserWarning")
@pytest.mark.parametrize("learner", ["forest", "lightgbm", "xgboost"])
@pytest.mark.parametrize("number", range(3))
def test_laws_of_pipelines_on_data_that_come_along(number, learner):
    _, X, y, prices = [*bundled_sets()][number]
    rng = np.random.default_rng(0)
    X = X.mask(rng.random(X.shape) < 0.05).reset_index(drop=True)
    prices = prices or dict(
        zip(X.columns, rng.integers(1, 9, X.shape[1]).astype(float), strict=True)
    )
    pipeline = make_pipeline(prepared(X), LEARNERS[learner]()).fit(X, y)
    path = tw.prune_path(pipeline, X, y, costs=prices)
    pruned = path.at(budget=path.costs[0] / 2)
    bill = tw.feature_bill(pruned, X, prices)
    assert bill.mean == pytest.approx(pruned.cost)
    if learner == "forest":
        np.testing.assert_allclose(bill.per_sample, plain_bills(pruned.model, X, prices))
    asked = []
    lazy = tw.LazyPredictor(pruned, acquire=source(X, asked), costs=prices).predict(range(60))
    assert len(set(asked)) == len(asked)
    np.testing.assert_array_equal(lazy.labels, pruned.model.predict(X[:60]))
    np.testing.assert_allclose(lazy.bill.per_sample, bill.per_sample[:60])
    needed = list(pruned.required_features)
    assert 0 < len(needed) < X.shape[1]
    compact = pruned.compact()
    np.testing.assert_array_equal(compact.predict(X[needed]), pruned.model.predict(X))
