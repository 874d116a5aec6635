"""Sound files of every kind that Thriftwood reads, to be damaged."""

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

import thriftwood as tw

NAMES = ["age", "chol", "fbs", "thal"]
PRICES = {"age": 1.0, "chol": 5.17, "fbs": 3.1, "thal": 100.9}


def samples():
    """Return a small table of samples, and the labels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, len(NAMES))).round(3), columns=NAMES)
    return X, (X["age"] + X["thal"] * X["chol"] > 0.2).astype(int).to_numpy()


def write_seeds(folder):
    """Write one file of each kind into a folder; return kind -> names of its files."""
    X, y = samples()
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    _write_sklearn(folder, forest, X, y)
    _write_boosters(folder, X, y)
    _write_prices(folder)
    _write_tables(folder, X, y)
    path = tw.prune_path(forest, X, y, costs=tw.Costs.from_file(folder / "prices.toml"))
    path.save(folder / "path.npz")
    tw.each_tree_path(tw.pruning_problem(forest, X, y, costs=PRICES)).save(folder / "each_tree.npz")
    path.cascade(X, y).save(folder / "cascade.tw")
    tw.export.to_json(forest, folder / "forest.json")
    tw.ForestModel(path.forest).save(folder / "forest.tw")
    _write_thrifty(folder, X, y)
    return {
        "model": _found(folder, "forest.skops number.skops boosted.skops hist.skops forest.json"),
        "cascade": _found(folder, "cascade.tw forest.tw thrifty.tw"),
        "ranking": _found(folder, "lists.tw ranker.tw"),
        "booster": _found(
            folder, "lightgbm.txt lightgbm3.txt xgboost.json xgboost.ubj catboost.cbm catboost.json"
        ),
        "path": _found(folder, "path.npz each_tree.npz"),
        "prices": _found(folder, "prices.csv prices.toml prices.json semicolons.csv"),
        "table": _found(
            folder, "rows.csv rows.npz rows.parquet rows.feather rows.arrow rows.csv.gz rows.tsv"
        ),
    }


def _found(folder, names):
    for name in names.split():
        assert (folder / name).is_file(), name
    return names.split()


def _write_sklearn(folder, forest, X, y):
    few = {"max_depth": 3, "random_state": 0}
    models = {
        "forest": forest,
        "number": DecisionTreeRegressor(**few).fit(X, X["age"] * y),
        "boosted": GradientBoostingClassifier(n_estimators=3, **few).fit(X, y),
        "hist": HistGradientBoostingClassifier(max_iter=3, **few).fit(X, y),
    }
    for name, model in models.items():
        tw.export.to_skops(model, folder / f"{name}.skops")


def _write_thrifty(folder, X, y):
    few = {"effort": "quick", "random_state": 0, "costs": PRICES, "budget": 20.0}
    small = RandomForestClassifier(3, max_depth=3, random_state=0)
    tw.ThriftyClassifier(estimator=small, **few).fit(X, y).save(folder / "thrifty.tw")
    qid = queries(X)
    ranker = RandomForestRegressor(3, max_depth=3, random_state=0)
    tw.ThriftyRanker(estimator=ranker, **few).fit(X, y, qid=qid).save(folder / "ranker.tw")
    path = tw.prune_path(ranker.fit(X, y), X, y, costs=PRICES, qid=qid)
    path.cascade(X, y, qid=qid, stages=3).save(folder / "lists.tw")


def queries(X):
    """Return the query of each sample, six to a query."""
    return np.arange(len(X)) // 6


def _write_boosters(folder, X, y):
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier
    from xgboost import XGBClassifier

    three = (y + (X["fbs"] > 0)).to_numpy()
    for name, labels in (("lightgbm", y), ("lightgbm3", three)):
        model = LGBMClassifier(n_estimators=3, num_leaves=5, verbose=-1, n_jobs=1).fit(X, labels)
        model.booster_.save_model(folder / f"{name}.txt")
    model = XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1).fit(X, y)
    for suffix in ("json", "ubj"):
        model.save_model(folder / f"xgboost.{suffix}")
    model = CatBoostClassifier(
        3, depth=3, grow_policy="Depthwise", verbose=False, allow_writing_files=False
    ).fit(X, y)
    for suffix in ("cbm", "json"):
        model.save_model(str(folder / f"catboost.{suffix}"), format=suffix)


def _write_prices(folder):
    costs = tw.Costs(
        per_feature=PRICES,
        groups={"blood": ["chol", "fbs"], "visit": ["blood"]},
        group_fee={"blood": 2.1, "visit": 0.5},
        requires={"thal": ["age"]},
        per_model={"thal": 1000.0},
        per_split=0.001,
        per_node=0.1,
        predictions=10_000,
        unit="CAD",
    )
    for suffix in ("csv", "toml", "json"):
        costs.to_file(folder / f"prices.{suffix}")
    (folder / "semicolons.csv").write_text(
        'name;price;group\nage;1,5;\nchol;5,17;"blood; visit"\nfbs;3,1;blood\nthal;100,9;\n'
    )


def _write_tables(folder, X, y):
    table = X.assign(ill=y, weight=np.arange(len(y)) % 3 + 1.0)
    table.to_csv(folder / "rows.csv", index=False)
    table.to_csv(folder / "rows.tsv", index=False, sep="\t")
    table.to_csv(folder / "rows.csv.gz", index=False)
    table.to_parquet(folder / "rows.parquet")
    table.to_feather(folder / "rows.feather")
    table.to_feather(folder / "rows.arrow")
    np.savez(folder / "rows.npz", X=X.to_numpy(), y=y, weight=table["weight"], feature_names=NAMES)
