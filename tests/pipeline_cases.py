"""Pipelines of every kind, samples for them, and bills by a plain walk."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
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

from thriftwood.adapters.pipelines import read_inputs

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


def source(X, asked):
    def acquire(sample, column):
        asked.append((sample, column))
        return X.at[sample, column]

    return acquire


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
