"""Sparse matrices mean what they mean to the library of the model; text and containers do not."""

import tracemalloc

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xgboost
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from thriftwood.adapters import forest_model, read_forest
from thriftwood.errors import InputError, OutOfMemoryError

QUIET = {"verbose": False, "allow_writing_files": False}
LEARNERS = {
    "forest": lambda: RandomForestClassifier(6, max_depth=5, random_state=0),
    "numbers": lambda: ExtraTreesRegressor(4, max_depth=4, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=6, random_state=0),
    "LightGBM": lambda: lightgbm.LGBMClassifier(n_estimators=6, min_child_samples=5, verbose=-1),
    "XGBoost": lambda: xgboost.XGBClassifier(n_estimators=6, max_depth=4),
    "CatBoost": lambda: catboost.CatBoostClassifier(iterations=6, depth=3, **QUIET),
}


def mostly_nothing(n_samples=200, seed=0):
    """Samples of few values, some of them stored zeros, and their labels."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(n_samples, 12)) * (rng.random((n_samples, 12)) < 0.4)
    X = sparse.csr_matrix(dense)
    X.data[rng.random(X.nnz) < 0.2] = 0.0
    return X, (dense[:, 0] + dense[:, 1] - dense[:, 2] > 0).astype(int)


@pytest.fixture(scope="module", params=LEARNERS)
def model(request):
    return LEARNERS[request.param]().fit(*mostly_nothing())


def probabilities(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def test_a_forest_reads_a_sparse_matrix_as_its_library_does(model):
    X, _ = mostly_nothing(seed=1)
    own = forest_model(read_forest(model))
    for table in (X, X.tocsc(), X.tocoo(), sparse.csr_array(X), X.astype(np.float32)):
        np.testing.assert_allclose(probabilities(own, table), probabilities(model, X), rtol=1e-5)


def test_points_of_a_path_have_the_bills_and_errors_of_their_models(model, tmp_path):
    X, y = mostly_nothing()
    X_new, y_new = mostly_nothing(seed=1)
    prices = np.arange(1.0, 13.0)
    path = tw.prune_path(model, X, y, costs=prices)
    pruned = path.at(budget=path.costs[0] / 2)
    assert tw.feature_bill(pruned, X, prices).mean == pytest.approx(pruned.cost)
    measured = path.evaluate(X_new, y_new)
    wrong = (pruned.model.predict(X_new) - y_new) ** 2
    assert np.mean(wrong) == pytest.approx(measured.error[pruned.index], rel=1e-5)
    lazy = tw.LazyPredictor(pruned, costs=prices).predict(X_new)
    expected = tw.feature_bill(pruned, X_new, prices)
    np.testing.assert_allclose(lazy.bill.per_sample, expected.per_sample)
    if read_forest(model).is_classifier:
        np.testing.assert_array_equal(lazy.labels, pruned.model.predict(X_new))
    own = forest_model(read_forest(pruned))
    own.save(tmp_path / "own.tw")
    again = tw.ForestModel.load(tmp_path / "own.tw")
    np.testing.assert_array_equal(again.predict(X_new), own.predict(X_new))
    chunks = ((X[first : first + 50], y[first : first + 50]) for first in range(0, 200, 50))
    apart = tw.prune_path(model, chunks, costs=prices)
    np.testing.assert_allclose(apart.costs, path.costs)


def test_entries_that_are_stored_twice_add_up():
    X, y = mostly_nothing()
    model = LEARNERS["forest"]().fit(X, y)
    twice = sparse.coo_array(
        (np.tile(X.tocoo().data / 2, 2), (np.tile(X.tocoo().row, 2), np.tile(X.tocoo().col, 2))),
        shape=X.shape,
    )
    own = forest_model(read_forest(model))
    np.testing.assert_array_equal(own.predict_proba(twice), own.predict_proba(X))
    apart = twice.tocsr()
    apart.has_canonical_format = False
    n_stored = apart.nnz
    own.predict(apart)
    assert apart.nnz == n_stored


@pytest.mark.parametrize("name", ["forest", "LightGBM", "XGBoost", "CatBoost"])
def test_sparse_outputs_of_transformers_are_what_the_model_sees(name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.choice(list("abcdefgh"), size=(300, 3)), columns=["one", "two", "three"])
    y = ((X["one"] < "c") ^ (X["two"] == "d") ^ (rng.random(300) < 0.1)).astype(int)
    pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LEARNERS[name]()).fit(X, y)
    path = tw.prune_path(pipeline, X, y, costs=None)
    pruned = path.at(budget=2.5)
    right = np.mean(pruned.model.predict(X) == y)
    assert 1 - path.evaluate(X, y).error[pruned.index] == pytest.approx(right)
    lazy = tw.LazyPredictor(pruned, acquire=lambda i, column: X.at[i, column]).predict(range(50))
    np.testing.assert_array_equal(lazy.labels, pruned.model.predict(X.iloc[:50]))


def test_predictions_of_very_wide_matrices_take_blocks():
    X, y = mostly_nothing()
    narrow = LEARNERS["forest"]().fit(X, y)
    wide = sparse.hstack([X, sparse.csr_matrix((200, 600_000))], format="csr")
    own = forest_model(read_forest(LEARNERS["forest"]().fit(wide, y)))
    tracemalloc.start()
    predicted = own.predict_proba(wide)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert predicted.shape == narrow.predict_proba(X).shape
    assert peak < 200_000_000 < 4 * np.prod(wide.shape)


def test_very_wide_matrices_are_made_dense_once():
    X, y = mostly_nothing()
    wide = sparse.hstack([X, sparse.csr_matrix((200, 200_000))], format="csr")
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(wide, y)
    used = np.unique(tree.tree_.feature[tree.tree_.feature >= 0])
    assert used.max() < 12
    prices = np.ones(wide.shape[1])
    tracemalloc.start()
    path = tw.prune_path(tree, wide, y, costs=prices)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.6 * 4 * np.prod(wide.shape)
    bill = tw.feature_bill(tree, wide, prices)
    assert path.original.cost == bill.mean
    np.testing.assert_array_equal(np.flatnonzero(bill.bought), used)


def test_what_does_not_fit_when_dense_is_refused_in_a_sentence():
    forest = read_forest(LEARNERS["forest"]().fit(*mostly_nothing()))
    with pytest.raises(OutOfMemoryError, match="sparse matrix that would take"):
        tw.feature_bill(forest_model(forest), sparse.csr_array((2**20, 2**31 - 10)))


def test_estimators_take_sparse_matrices():
    X, y = mostly_nothing()
    model = tw.PrunedEnsembleClassifier(LEARNERS["forest"](), cv=2, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.6
    dense = tw.PrunedEnsembleClassifier(LEARNERS["forest"](), cv=2, random_state=0)
    np.testing.assert_array_equal(dense.fit(X.toarray(), y).predict(X), model.predict(X))


CONTAINERS = {
    "catboost.Pool": lambda X, y: catboost.Pool(X, y),
    "xgboost.DMatrix": lambda X, y: xgboost.DMatrix(X, y),
    "xgboost.QuantileDMatrix": lambda X, y: xgboost.QuantileDMatrix(X, y),
    "lightgbm.Dataset": lambda X, y: lightgbm.Dataset(X, y),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_of_libraries_are_refused_by_name(name):
    X, y = mostly_nothing()
    X = X.toarray()
    container = CONTAINERS[name](X, y)
    model = LEARNERS["forest"]().fit(X, y)
    path = tw.prune_path(model, X, y)
    for attempt in (
        lambda: tw.prune_path(model, container, y),
        lambda: path.evaluate(container, y),
        lambda: tw.feature_bill(model, container),
        lambda: forest_model(read_forest(model)).predict(container),
        lambda: tw.PrunedEnsembleClassifier().fit(container, y),
        lambda: tw.BudgetForestClassifier().fit(container, y),
    ):
        with pytest.raises(InputError, match=f"X is a {name}.* data frame that it was made of"):
            attempt()


def test_text_is_answered_by_what_to_do():
    X, y = mostly_nothing()
    frame = pd.DataFrame(X.toarray()).set_axis([f"c{k}" for k in range(12)], axis=1)
    model = LEARNERS["forest"]().fit(frame, y)
    with_text = frame.assign(c3="high", c5="12")
    for table, words in (
        (with_text, "text in the column 'c3': .* the whole Pipeline"),
        (with_text.to_numpy(), "text in the column 3: .* the whole Pipeline"),
    ):
        with pytest.raises(InputError, match=words):
            tw.prune_path(model, table, y)
    for estimator in (
        tw.PrunedEnsembleClassifier(),
        tw.BudgetForestClassifier(),
        tw.ThriftyClassifier(),
    ):
        with pytest.raises(InputError, match=r"text in the column 'c3'.*make_column_transformer"):
            estimator.fit(with_text, y)
    encode = make_column_transformer((OneHotEncoder(), ["c3"]), remainder="passthrough")
    inside = make_pipeline(encode, LEARNERS["forest"]())
    assert tw.PrunedEnsembleClassifier(inside, cv=2).fit(with_text, y).score(with_text, y) > 0.6


def test_arrow_tables_are_data_frames():
    X, y = mostly_nothing()
    names = [f"c{k}" for k in range(12)]
    frame = pd.DataFrame(X.toarray(), columns=names)
    table = pa.Table.from_pandas(frame)
    model = LEARNERS["forest"]().fit(frame, y)
    prices = dict.fromkeys(names, 2.0)
    path = tw.prune_path(model, table, y, costs=prices)
    np.testing.assert_array_equal(path.costs, tw.prune_path(model, frame, y, costs=prices).costs)
    assert tw.feature_bill(model, table, prices).feature_names == tuple(names)
    fitted = tw.PrunedEnsembleClassifier(costs=prices, budget=12).fit(table, y)
    np.testing.assert_array_equal(fitted.predict(table), fitted.predict(frame))


def test_words_go_through_a_vectoriser():
    words = ["red apple", "green apple", "red brick", "grey brick"] * 20
    y = np.array([1, 1, 0, 0] * 20)
    made = HashingVectorizer(n_features=2**12).fit_transform(words)
    model = LEARNERS["forest"]().fit(made, y)
    path = tw.prune_path(model, made, y)
    np.testing.assert_array_equal(path[0].model.predict(made), y)
