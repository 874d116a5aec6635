"""What stands in the columns of a pipeline: gaps, categories, dates and text as it knows them."""

import pickle

import catboost
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xgboost
from cli_files import answer, refused
from library_versions import polars_is_known
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, TargetEncoder

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import UnsupportedModelError

POLARS = pytest.param("polars", marks=polars_is_known)
NUMBERS = ["age in years", "größe"]
PRICES = {"age in years": 1.0, "größe": 2.0, "Straße, Ort": 3.0, "day": 5.0, "kind": 7.0}


def people(n_samples=60, seed=0):
    """Samples with gaps in numbers and in text, dates and categories, and their labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.normal(50, 20, n_samples).round(1) for name in NUMBERS})
    towns = rng.choice(["Köln", "Bonn", None], n_samples, p=[0.5, 0.3, 0.2])
    frame["Straße, Ort"] = towns
    frame["day"] = pd.date_range("2024-01-01", periods=n_samples)
    frame["kind"] = pd.Categorical(rng.choice(["a", "b", "c"], n_samples))
    is_ill = (frame["age in years"] > 60) ^ frame["Straße, Ort"].isna() ^ (frame["kind"] == "b")
    frame.loc[rng.random(n_samples) < 0.2, "größe"] = np.nan
    return frame, is_ill.astype(int).to_numpy()


def forest():
    return RandomForestClassifier(5, max_depth=5, random_state=0)


def encoded(encoder):
    parts = [("town", encoder, ["Straße, Ort"]), ("numbers", SimpleImputer(), NUMBERS)]
    return make_pipeline(ColumnTransformer(parts), forest())


ENCODERS = {
    "one-hot": lambda: OneHotEncoder(),
    "lenient": lambda: OneHotEncoder(handle_unknown="ignore"),
    "ordinal": lambda: OrdinalEncoder(encoded_missing_value=-2),
    "target": lambda: TargetEncoder(),
}


def cells_of(frame):
    """A source that gives what a frame holds."""
    return lambda sample, column: (
        frame[sample, column] if isinstance(frame, pl.DataFrame) else frame.at[sample, column]
    )


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("library", ["pandas", POLARS])
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_gaps_are_what_encoders_know_as_missing(encoder, library, missing):
    X, y = people()
    X = X[["Straße, Ort", *NUMBERS]]
    X = pl.from_pandas(X) if library == "polars" else X
    pipeline = encoded(ENCODERS[encoder]()).fit(X, y)
    given = cells_of(X)

    def acquire(sample, column):
        value = given(sample, column)
        return missing if value is None or value != value else value

    answer = tw.LazyPredictor(pipeline, acquire=acquire).predict(range(len(y)))
    np.testing.assert_array_equal(answer.proba, pipeline.predict_proba(X))


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("library", ["pandas", POLARS])
def test_gaps_of_arrow_tables_are_what_encoders_know_as_missing(encoder, library, tmp_path):
    X, y = people()
    X = X[["Straße, Ort", *NUMBERS]]
    arrow = pa.Table.from_pandas(X)
    X = pl.from_pandas(X) if library == "polars" else X
    pipeline = encoded(ENCODERS[encoder]()).fit(X, y)
    answered = tw.LazyPredictor(pipeline).predict(arrow)
    np.testing.assert_array_equal(answered.proba, pipeline.predict_proba(X))
    path = tw.prune_path(pipeline, arrow, y)
    np.testing.assert_array_equal(path.costs, tw.prune_path(pipeline, X, y).costs)
    pq.write_table(arrow.append_column("ill", [y]), tmp_path / "data.parquet")
    with open(tmp_path / "it.pkl", "wb") as file:
        pickle.dump(pipeline, file)
    asked = (tmp_path / "it.pkl", tmp_path / "data.parquet", "--target", "ill", "--trust-pickle")
    assert answer("bill", *asked)["mean"] == pytest.approx(tw.feature_bill(pipeline, X).mean)


@pytest.mark.parametrize("column", ["Straße, Ort", "größe"])
def test_what_the_source_lacks_is_imputed_and_encoded_as_in_a_table(column):
    X, y = people()
    pipeline = encoded(OneHotEncoder(handle_unknown="ignore")).fit(X, y)

    def acquire(sample, wanted):
        if wanted == column:
            raise TimeoutError
        return X.at[sample, wanted]

    lazy = tw.LazyPredictor(pipeline, acquire=acquire, on_failure="missing")
    answer = lazy.predict(range(len(y)))
    gap = X.loc[X[column].isna(), column].iloc[0]  # None in text, before pandas 3
    without = X.assign(**{column: pd.Series([gap] * len(y), dtype=X[column].dtype)})
    np.testing.assert_array_equal(answer.proba, pipeline.predict_proba(without))
    assert {one.feature for one in answer.failures} == {column}


def passed_on(prepared="kind"):
    """Transformers that fill gaps, and hand on a column of categories as it is."""
    parts = [("gaps", SimpleImputer(), ["größe"]), ("as it is", "passthrough", [prepared])]
    made = ColumnTransformer(parts, verbose_feature_names_out=False)
    return made.set_output(transform="pandas")


def month(X):
    return pd.DataFrame({"month": X["day"].dt.month, "weekday": X["day"].dt.day_of_week})


def is_missing_or_long(X):
    return pd.DataFrame({"length": X["Straße, Ort"].fillna("").str.len()})


PIPELINES = {
    "dates": lambda: make_pipeline(
        ColumnTransformer(
            [("day", FunctionTransformer(month), ["day"]), ("numbers", SimpleImputer(), NUMBERS)]
        ),
        forest(),
    ),
    "text": lambda: make_pipeline(
        ColumnTransformer(
            [
                ("text", FunctionTransformer(is_missing_or_long), ["Straße, Ort"]),
                ("age", "passthrough", ["age in years"]),
            ]
        ),
        forest(),
    ),
    "a column in two parts": lambda: make_pipeline(
        ColumnTransformer(
            [
                ("one-hot", OneHotEncoder(), ["kind", "Straße, Ort"]),
                ("gap", MissingIndicator(missing_values=np.nan), ["Straße, Ort", "größe"]),
            ]
        ),
        forest(),
    ),
    "scikit-learn's categories": lambda: make_pipeline(
        passed_on(),
        HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype"),
    ),
    "LightGBM's categories": lambda: make_pipeline(
        passed_on(), lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)
    ),
    "XGBoost's categories": lambda: make_pipeline(
        passed_on(), xgboost.XGBClassifier(n_estimators=5, enable_categorical=True)
    ),
    "CatBoost's categories": lambda: make_pipeline(
        passed_on(),
        catboost.CatBoostClassifier(
            iterations=5,
            depth=3,
            cat_features=["kind"],
            one_hot_max_size=9,
            verbose=False,
            allow_writing_files=False,
        ),
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_columns_of_every_kind_are_bought_and_left_out(name):
    X, y = people()
    path = tw.prune_path(PIPELINES[name]().fit(X, y), X, y, costs=PRICES)
    for pruned in {path[0], path[len(path) // 2], path[len(path) - 2]}:
        answer = tw.LazyPredictor(pruned, acquire=cells_of(X)).predict(range(len(y)))
        proba = pruned.model.predict_proba(X)
        np.testing.assert_allclose(answer.proba, proba, rtol=1e-6)
        bill = tw.feature_bill(pruned, X)
        np.testing.assert_allclose(answer.bill.per_sample, bill.per_sample)
        compact = pruned.compact().predict_proba(X[list(pruned.required_features)])
        np.testing.assert_allclose(compact, proba, rtol=1e-6)


@pytest.mark.parametrize("kind", [POLARS, "objects"])
def test_estimators_train_pipelines_on_any_table(kind):
    X, y = people()
    columns = ["Straße, Ort", *NUMBERS]
    table = pl.from_pandas(X[columns]) if kind == "polars" else X[columns].to_numpy(object)
    town, numbers = (["Straße, Ort"], NUMBERS) if kind == "polars" else ([0], [1, 2])
    parts = [("town", OneHotEncoder(), town), ("numbers", SimpleImputer(), numbers)]
    inner = make_pipeline(ColumnTransformer(parts), forest())
    model = tw.PrunedEnsembleClassifier(inner, costs=[3, 1, 2], budget=4, random_state=0)
    model.fit(table, y)
    assert isinstance(model.model_, Pipeline)
    assert tw.feature_bill(model, table).used.shape == (len(y), 3)
    np.testing.assert_array_equal(model.predict(table), model.model_.predict(table))


def test_a_pruned_pipeline_keeps_what_the_pipeline_was_set_to(tmp_path):
    X, y = people()
    pipeline = encoded(OneHotEncoder()).set_params(memory=str(tmp_path)).fit(X, y)
    pruned = tw.prune(pipeline, X, y, tradeoff=0.01).model
    assert pruned.memory == str(tmp_path)
    assert pruned[-1] is not pipeline[-1]
    assert pipeline[-1] is pipeline.steps[-1][1]


def test_models_of_transformed_targets_say_what_to_pass():
    X, _ = people()
    y = X["age in years"].to_numpy() ** 2
    parts = [("numbers", SimpleImputer(), NUMBERS)]
    model = TransformedTargetRegressor(
        make_pipeline(ColumnTransformer(parts), RandomForestRegressor(3, random_state=0)),
        func=np.log1p,
        inverse_func=np.expm1,
    ).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="pass its `regressor_`, and y as"):
        read_forest(model)
    made = model.transformer_.transform(y[:, None])[:, 0]
    assert len(tw.prune_path(model.regressor_, X, made, costs=PRICES)) > 1


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["dates", "LightGBM's categories", "a column in two parts"])
def test_the_command_line_reads_columns_as_the_pipeline_does(name, kind, tmp_path):
    X, y = people()
    pipeline = PIPELINES[name]().fit(X, y)
    with open(tmp_path / "it.pkl", "wb") as file:
        pickle.dump(pipeline, file)
    data = tmp_path / f"data.{kind}"
    if kind == "csv":
        X.assign(ill=y).to_csv(data, index=False)
    else:
        X.assign(ill=y).to_parquet(data)
    tw.Costs(per_feature=PRICES).to_file(tmp_path / "prices.csv")
    asked = (tmp_path / "it.pkl", data, "--target", "ill", "--trust-pickle")
    bill = answer("bill", *asked, "--costs", tmp_path / "prices.csv")
    assert bill["mean"] == pytest.approx(tw.feature_bill(pipeline, X, PRICES).mean)
    facts = answer("info", tmp_path / "it.pkl", "--trust-pickle")
    assert facts["feature_names"] == list(X.columns)
    needed = tw.prune_path(pipeline, X, y, costs=PRICES).at(index=0).required_features
    assert set(needed) <= set(facts["used_features"]) <= set(X.columns)


def test_a_column_of_no_dates_is_refused_by_name(tmp_path):
    X, y = people()
    with open(tmp_path / "it.pkl", "wb") as file:
        pickle.dump(PIPELINES["dates"]().fit(X, y), file)
    X.astype({"day": object}).assign(day="soon", ill=y).to_csv(tmp_path / "data.csv", index=False)
    said = refused("bill", tmp_path / "it.pkl", tmp_path / "data.csv", "--trust-pickle")
    assert "the column 'day' is no column of dates, but the pipeline was trained on dates" in said


def with_ratio(X):
    """A function that knows polars alone."""
    return X.with_columns(ratio=pl.col("größe") / (1 + pl.col("age in years").abs()))


def lengths(X):
    return X.select(pl.col("Straße, Ort").fill_null("").str.len_chars())


POLARS_PIPELINES = {
    "one-to-one": lambda: make_pipeline(
        ColumnTransformer([("numbers", "passthrough", NUMBERS)]).set_output(transform="polars"),
        FunctionTransformer(
            lambda X: X.with_columns(pl.all().fill_null(0.0).sqrt()),
            feature_names_out="one-to-one",
        ),
        forest(),
    ),
    "first": lambda: make_pipeline(
        FunctionTransformer(
            lambda X: X.select(pl.col(NUMBERS).fill_null(0.0)), feature_names_out=lambda *_: NUMBERS
        ),
        forest(),
    ),
    "text": lambda: make_pipeline(
        ColumnTransformer(
            [
                ("length", FunctionTransformer(lengths), ["Straße, Ort"]),
                ("both", FunctionTransformer(with_ratio), NUMBERS),
            ],
            verbose_feature_names_out=False,
        ),
        forest(),
    ),
}


@polars_is_known
@pytest.mark.filterwarnings("ignore::thriftwood.errors.UnknownTransformerWarning")
@pytest.mark.parametrize("name", POLARS_PIPELINES)
def test_functions_that_know_polars_alone_are_given_polars(name):
    X, y = people()
    X = pl.from_pandas(X[["Straße, Ort", *NUMBERS]]).with_columns(pl.col(NUMBERS).abs())
    pipeline = POLARS_PIPELINES[name]().fit(X, y)
    prices = {name: PRICES[name] for name in X.columns}
    path = tw.prune_path(pipeline, X, y, costs=prices)
    for pruned in (path[0], path[1]):
        answer = tw.LazyPredictor(pruned, acquire=cells_of(X), costs=prices).predict(range(len(y)))
        np.testing.assert_allclose(answer.proba, pruned.model.predict_proba(X))
        bill = tw.feature_bill(pruned, X, prices)
        np.testing.assert_allclose(answer.bill.per_sample, bill.per_sample)
    compact, needed = path[0].compact(), list(path[0].required_features)
    np.testing.assert_array_equal(compact.predict(X[needed]), path[0].model.predict(X))
    limited = tw.LazyPredictor(pipeline, acquire=cells_of(X), costs=prices, max_cost=6.0)
    assert 0 < limited.predict(range(20)).bill.per_sample.max() <= 6.0


@polars_is_known
def test_scorers_are_given_tables_of_the_kind_that_they_know():
    X, y = people()
    X = pl.from_pandas(X[["Straße, Ort", *NUMBERS]])
    path = tw.prune_path(encoded(OneHotEncoder()).fit(X, y), X, y)
    seen = set()

    def accuracy(model, table, labels):
        seen.add((type(table), tuple(table.columns)))
        return np.mean(model.predict(table) == labels)

    measured = path.evaluate(X, y, scoring=accuracy)
    assert seen == {(pl.DataFrame, tuple(X.columns))}
    np.testing.assert_allclose(measured.score, path.evaluate(X, y, scoring="accuracy").score)
