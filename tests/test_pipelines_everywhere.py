"""Points, cascades, exports and commands take pipelines of every library, skrub's, too."""

import pickle

import numpy as np
import pandas as pd
import pytest
import skrub
from cli_files import answer
from pipeline_cases import LEARNERS, MAKERS, NUMBERS, PRICES, patients, plain_bills, source
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    StandardScaler,
)

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import (
    InputError,
    UnsupportedModelError,
)

# Of functions, which most of these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore::thriftwood.errors.UnknownTransformerWarning")


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
