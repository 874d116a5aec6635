"""Transformers that are not known: what they need is declared, or taken to be everything."""

import numpy as np
import pandas as pd
import pytest
from pipeline_cases import (
    LEARNERS,
    MAKERS,
    PRICES,
    Ratios,
    SizedRatios,
    numbers,
    patients,
    plain_bills,
    source,
)
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import (
    CountVectorizer,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
)

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.adapters.pipelines import read_inputs
from thriftwood.errors import (
    InputError,
    UnfittedModelError,
    UnknownTransformerWarning,
    UnsupportedModelError,
)

# Of functions, which most of these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore::thriftwood.errors.UnknownTransformerWarning")


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
