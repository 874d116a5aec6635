"""Search results for less: all documents start cheap, and only the best of them buy more.

A shop ranks what a query found. The length of a query and how often it is asked are computed once
for it; clicks lie beside each document, reading its text takes longer, a language model longest.
The picture shows how good lists are against what a query pays, on queries that nothing was trained
on: a ranker with all features, the same one pruned and in stages, and a ThriftyRanker.
"""

import numpy as np
import pandas as pd
from lightgbm import LGBMRanker
from matplotlib.figure import Figure
from picture import picture_file

import thriftwood as tw

COSTS = tw.Costs(
    per_feature={
        "query length": 0,
        "query frequency": 0,
        "clicks": 0.1,
        "price": 0.1,
        "title": 0.5,
        "body": 0.5,
        "reviews": 0.5,
        "language model": 4,
    },
    groups={"text": ["body", "reviews"]},
    group_fee={"text": 2},  # for reading it, once for a document
    per_query={"query length": 0.5, "query frequency": 1},
    unit="ms",
)


def main() -> None:
    picture = picture_file(__doc__)
    rng = np.random.default_rng(0)
    (X, y, qid), valid, new = (draw(rng, n_queries) for n_queries in (300, 150, 300))
    model = LGBMRanker(n_estimators=100, num_leaves=8, random_state=0, n_jobs=1, verbose=-1)
    model.fit(X, y, group=np.bincount(qid))

    path = tw.prune_path(model, X, y, costs=COSTS, qid=qid)
    X_val, y_val, qid_val = valid
    cascade = path.cascade(X_val, y_val, qid=qid_val, stages=8, refit=(X, y, None, qid))
    seen = pd.concat([X, X_val]), np.append(y, y_val), np.append(qid, qid_val + len(y))
    thrifty = tw.ThriftyRanker(costs=COSTS, effort="quick", random_state=0, n_jobs=1)
    thrifty.fit(*seen[:2], qid=seen[2])

    X_new, y_new, qid_new = new
    measured = {
        "pruned, in stages": cascade.evaluate(X_new, y_new, qid=qid_new),
        "ThriftyRanker": thrifty.evaluate(X_new, y_new, qid=qid_new),
    }
    whole = path.evaluate(X_new, y_new, qid=qid_new, points=[0]).original
    paid = tw.feature_bill(model, X_new, COSTS, qid=qid_new).per_query.mean()
    print("300 queries that nothing was trained on, in ms and NDCG@10\n")
    print(f"all features: {paid:.1f} ms, {whole.score:.3f}")
    for name, own in measured.items():
        print(f"{name}:")
        for budget in (80, 40, 20, 10):
            best = np.flatnonzero(own.cost_per_query <= budget)[0]
            print(f"{budget:8d}{own.cost_per_query[best]:8.1f}{own.score[best]:8.3f}")

    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.subplots()
    ax.plot(paid, whole.score, "ks", label="LightGBM, all features")
    for (name, own), look in zip(measured.items(), ("D--", "o-"), strict=True):
        shown = own.cost_per_query > 0
        ax.plot(own.cost_per_query[shown], own.score[shown], look, markersize=4, label=name)
    ax.set_xscale("log")
    ax.set_xticks([5, 10, 20, 40, 80, 160], [5, 10, 20, 40, 80, 160])
    ax.minorticks_off()
    ax.set(xlim=(4, 160), ylim=(0.6, 0.88))
    ax.set(xlabel="mean bill of a query, ms", ylabel="NDCG@10 on 300 unseen queries")
    ax.legend(loc="lower right")
    figure.savefig(picture, dpi=100)
    print(f"\nDrew {picture}.")


def draw(rng: np.random.Generator, n_queries: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Draw documents of queries, their grades and the queries of each."""
    qid = np.repeat(np.arange(n_queries), rng.integers(5, 30, n_queries))
    X = pd.DataFrame(
        rng.normal(size=(len(qid), len(COSTS.per_feature))), columns=[*COSTS.per_feature]
    )
    for name in COSTS.per_query:
        X[name] = rng.integers(1, 9, n_queries)[qid]
    text = np.where(X["query length"] > 4, X["body"], X["reviews"])
    known = np.where(X["query frequency"] > 2, X["clicks"], 0)  # rare queries have few clicks
    score = 1.3 * known + X["title"] + text + 0.7 * X["language model"] - X["price"] / 2
    return X, np.digitize(score + rng.normal(size=len(qid)), [1.5, 3.0]), qid


if __name__ == "__main__":
    main()
