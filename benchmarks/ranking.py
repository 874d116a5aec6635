"""Rankers within a budget per document, beside CEGB and fixed sets of features (MQ2008).

Everybody has the same queries, to train and to choose. ThriftyRanker takes both parts together and
chooses by cross-fitting; the others choose on the second part and are trained again on both with
what was chosen, but for one model that is pruned in stages, which needs the second part to tune.
NDCG@10 is scikit-learn's, of test queries: the official split by itself, then with others drawn at
random. What two ways differ by is measured query by query; a query that is tested in several splits
counts once.

MQ2008 has no prices. `price_list` is one by kind of feature and field, in the shape of a search
engine's work: term statistics need the postings of a field, which are read once for a document;
IDF is looked up once for a query; lengths and links lie beside the document. In these data features
are normalised within each query, so that IDF itself tells nothing. Beside it every feature costs 1.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from measure import SHARED_DATA, arguments

import thriftwood as tw

N_SPLITS = 4
BUDGETS = (1, 1.5, 2, 3, 4, 6, 8, 12, 20)  # per document, where every feature costs 1
BUDGETS_OF_LIST = (2, 3, 4, 6, 8, 12, 16, 24)
TREES, LEAVES = (25, 50, 100), (7, 15)
TRADEOFFS = (0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4)
N_CANDIDATES, MOST_STEPS = 14, 10
SEED = 40

FIELDS = {"body": 4.0, "anchor": 2.0, "title": 1.0, "url": 1.0, "whole": 5.0}  # reading postings
KINDS = {"tf": 0.2, "tf_idf": 0.2, "bm25": 0.5, "lm_abs": 0.8, "lm_dir": 0.8, "lm_jm": 0.8}
LENGTH, LINK, IDF = 0.1, 0.5, 1.0  # of a document, of a document, of a query
# The order of the 46 columns, as their values show it: the last kinds come field by field.
NAMES = [
    *(f"{kind} {field}" for kind in ("tf", "idf", "tf_idf", "length") for field in FIELDS),
    *(f"{kind} {field}" for field in FIELDS for kind in ("bm25", "lm_abs", "lm_dir", "lm_jm")),
    *(f"link {number}" for number in range(1, 7)),
]
THRIFTY, ALL = "ThriftyRanker", "all features"
PRUNED, CEGB, FIXED = "one model, pruned in stages", "LambdaMART, CEGB", "LambdaMART, fixed set"
LOOKS = {  # told apart without colours, too
    PRUNED: ("D", "--", "#009E73"),
    CEGB: ("v", "-.", "#E69F00"),
    FIXED: ("^", ":", "#D55E00"),
    THRIFTY: ("o", "-", "#0072B2"),
}
FREE = 5.0  # what costs a query less is not drawn


def price_list() -> tw.Costs:
    """Return prices by kind of feature and field, in microseconds, say."""
    own = {name: KINDS.get(name.split()[0], 0.0) for name in NAMES}
    own |= {name: LENGTH for name in NAMES if name.startswith("length")}
    own |= {name: LINK for name in NAMES if name.startswith("link")}
    of_field = {field: [f"{kind} {field}" for kind in KINDS] for field in FIELDS}
    scored = [name for name in NAMES if name.split()[0] in ("tf_idf", "bm25")]
    return tw.Costs(
        per_feature=own,
        groups=of_field,
        group_fee=FIELDS,
        per_query={f"idf {field}": IDF for field in FIELDS},
        requires={name: [f"idf {name.split()[1]}"] for name in scored},
    )


class Documents(NamedTuple):
    """Documents of queries, query by query."""

    X: Any
    y: np.ndarray
    qid: np.ndarray

    def of(self, queries: np.ndarray) -> "Documents":
        here = np.isin(self.qid, queries)
        return Documents(self.X[here], self.y[here], self.qid[here])

    @property
    def sizes(self) -> np.ndarray:
        return np.unique(self.qid, return_counts=True)[1]


class Split(NamedTuple):
    """Documents to train, to choose and to test, and the seed of whatever is random in models."""

    parts: list[Documents]
    seed: int

    @property
    def both(self) -> Documents:
        """The documents to train and to choose with, query by query."""
        joined = [np.concatenate(pair) for pair in zip(*self.parts[:2], strict=True)]
        order = np.argsort(joined[2], kind="stable")
        return Documents(*(own[order] for own in joined))


class Measured(NamedTuple):
    """A way on validation queries, to choose by, and what it has on test queries."""

    cost: float
    score: float
    test_cost: float
    test_scores: np.ndarray  # of each query


class Candidate(NamedTuple):
    """A way on validation queries, and what makes it again on all and measures it on test queries.

    Only those that are chosen are: that is most of the work.
    """

    cost: float
    score: float
    measured: Callable[[], Measured]


def main() -> None:
    options = arguments(__doc__.splitlines()[0], draws=True)
    data, official = load(options.quick)
    lists = {"1 for every feature": (None, BUDGETS)}
    if data.X.shape[1] == len(NAMES):
        lists["a price list"] = (price_list(), BUDGETS_OF_LIST)
    curves = {}
    for name, (costs, budgets) in lists.items():
        if options.quick:
            budgets = budgets[2:6:2]
        found: dict[str, list[list[Measured]]] = {}
        drawn = list(splits(official, 2 if options.quick else N_SPLITS))
        tested = [queries[2] for queries in drawn]
        for number, queries in enumerate(drawn):
            split = Split([data.of(part) for part in queries], SEED + number)
            for way, own in all_ways(split, costs, budgets, options.quick):
                found.setdefault(way, []).append(own)
            if number in (0, len(drawn) - 1):  # the official split by itself, then all
                show(name, budgets, found, tested[: number + 1])
        size = len(data.of(tested[0]).y) / len(tested[0])
        curves[name] = {way: curve(own[0], size) for way, own in found.items()}
    if options.picture:
        draw(curves, options.picture)


def load(quick: bool) -> tuple[Documents, list[np.ndarray]]:
    """Return MQ2008 with the queries of its parts, or drawn documents where it is not at hand."""
    file = SHARED_DATA / "mq2008_ranking.npz"
    if not file.is_file():
        print("MQ2008 is not at hand: taking drawn documents.")
        rng = np.random.default_rng(0)
        qid = np.repeat(np.arange(300), 20)
        X = rng.normal(size=(len(qid), 12))
        score = X[:, :4] @ [1.0, 0.7, 0.5, 0.4] + rng.normal(size=len(qid))
        y, part = np.digitize(score, [1.0, 2.2]), np.arange(300) % 5 // 3 + np.arange(300) % 5 // 4
    else:
        with np.load(file, allow_pickle=False) as arrays:
            order = np.argsort(arrays["qid"], kind="stable")
            X, y, qid = (arrays[name][order] for name in ("X", "y", "qid"))
            first = np.unique(qid, return_index=True)[1]
            part = arrays["split"][order][first]
    queries = np.unique(qid)
    parts = [queries[part == number] for number in range(3)]
    if quick:
        parts = [own[: len(own) // 4] for own in parts]
    return Documents(X.astype(np.float64), y.astype(np.int64), qid), parts


def splits(official: list[np.ndarray], n_splits: int) -> Iterator[list[np.ndarray]]:
    """Yield queries to train, to choose and to test: the official split first."""
    yield official
    sizes = np.cumsum([len(own) for own in official])
    for seed in range(SEED, SEED + n_splits - 1):
        drawn = np.random.default_rng(seed).permutation(np.concatenate(official))
        yield np.split(drawn, sizes[:2])


def all_ways(
    split: Split, costs: Any, budgets: Sequence[float], quick: bool
) -> Iterator[tuple[str, list[Measured]]]:
    """Yield what each way has within each budget."""
    train, valid, _ = split.parts
    yield ALL, [best(list(tried(None, split, costs, quick)), np.inf).measured()] * len(budgets)
    yield THRIFTY, thrifty(split, costs, budgets, quick)
    yield PRUNED, pruned(split, costs, budgets)
    tradeoffs = TRADEOFFS[2:6:2] if quick else TRADEOFFS
    vectors = cegb_prices(costs, tradeoffs, split.both)
    paying = [one for prices in vectors for one in tried(prices, split, costs, quick)]
    yield CEGB, [best(paying, budget).measured() for budget in budgets]
    sets = forward_selection(train, valid, costs, quick)
    fixed = [one for own in sets for one in tried(None, split, costs, quick, own)]
    yield FIXED, [best(fixed, budget).measured() for budget in budgets]


def ranker(
    data: Documents,
    leaves: int,
    trees: int,
    prices: Any = None,
    columns: Sequence[int] | None = None,
    seed: int = 0,
) -> lightgbm.LGBMRanker:
    own: dict[str, Any] = {}
    if prices is not None:
        own = {"cegb_tradeoff": 1.0, "cegb_penalty_feature_lazy": list(prices)}
    model = lightgbm.LGBMRanker(
        n_estimators=trees,
        num_leaves=leaves,
        learning_rate=0.1,
        random_state=seed,
        n_jobs=1,
        verbose=-1,
        deterministic=True,
        **own,
    )
    X = data.X if columns is None else data.X[:, list(columns)]
    return model.fit(X, data.y, group=data.sizes)


def tried(
    prices: Any, split: Split, costs: Any, quick: bool, columns: Sequence[int] | None = None
) -> Iterator[Candidate]:
    """Yield rankers of all sizes, trained on the first part to choose by the second, and on both.

    A booster of few trees is the beginning of one of many.
    """
    trees = TREES[:1] if quick else TREES
    for leaves in LEAVES[:1] if quick else LEAVES:

        @cache
        def trained(on_both: bool, leaves: int = leaves) -> Any:
            seen = split.both if on_both else split.parts[0]
            return ranker(seen, leaves, max(trees), prices, columns, split.seed)

        @cache
        def figures(number: int, on_test: bool, trained: Any = trained) -> tuple[float, np.ndarray]:
            some = split.parts[1 + on_test]
            text = trained(on_test).booster_.model_to_string(num_iteration=number)
            booster = lightgbm.Booster(model_str=text)
            if columns is None:
                return bill(booster, some, costs), scores_of(some, booster.predict(some.X))
            values = booster.predict(some.X[:, list(columns)])
            return set_cost(columns, some, costs), scores_of(some, values)

        for number in trees:
            cost, scores = figures(number, False)
            score = float(scores.mean())
            yield Candidate(cost, score, partial(_measured, cost, score, figures, number))


def _measured(cost: float, score: float, figures: Any, number: int) -> Measured:
    return Measured(cost, score, *figures(number, True))


def bill(model: Any, data: Documents, costs: Any) -> float:
    """Return what a document pays on average, its part of what its query pays included."""
    X = data.X if costs is None else named(data.X)
    return tw.feature_bill(model, X, costs, qid=data.qid).mean


def set_cost(columns: Sequence[int], data: Documents, costs: Any) -> float:
    """Return what a document pays that buys a set of features."""
    if costs is None:
        return float(len(columns))
    fields = {NAMES[k].split()[1] for k in columns if NAMES[k].split()[0] in KINDS}
    scored = {NAMES[k].split()[1] for k in columns if NAMES[k].split()[0] in ("tf_idf", "bm25")}
    idf = scored | {NAMES[k].split()[1] for k in columns if NAMES[k].startswith("idf")}
    own = sum(costs.per_feature[NAMES[k]] for k in columns) + sum(FIELDS[one] for one in fields)
    return own + IDF * len(idf) * len(data.sizes) / len(data.y)


def named(X: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=NAMES)


def scores_of(data: Documents, values: np.ndarray) -> np.ndarray:
    """Return NDCG@10 of each query."""
    from thriftwood.problem import read_ranking

    query = np.unique(data.qid, return_inverse=True)[1]
    measure: Any = read_ranking("ndcg@10")
    found: np.ndarray = measure.of_queries(data.y.astype(float), values, query)
    return found


def thrifty(split: Split, costs: Any, budgets: Sequence[float], quick: bool) -> list[Measured]:
    """Return what ThriftyRanker has within each budget; the last is that which it suggests."""
    both, test = split.both, split.parts[2]
    make = (lambda X: X) if costs is None else named
    effort = "quick" if quick else "full"
    model = tw.ThriftyRanker(costs=costs, effort=effort, random_state=split.seed, n_jobs=1)
    model.fit(make(both.X), both.y, qid=both.qid)
    size = len(both.y) / len(both.sizes)
    found = []
    for budget in [*(size * own for own in budgets), None]:
        one = model.at(budget=budget)
        values = one.predict(make(test.X), test.qid)
        cost = one.bill(make(test.X), test.qid).mean
        found.append(Measured(one.cost_ / size, one.score_, cost, scores_of(test, values)))
    return found


def pruned(split: Split, costs: Any, budgets: Sequence[float]) -> list[Measured]:
    """Return what a cascade of one model's prunings has within each budget."""
    train, valid, test = split.parts
    make = (lambda X: X) if costs is None else named
    model = ranker(train, 15, 50, seed=split.seed)
    path = tw.prune_path(model, make(train.X), train.y, qid=train.qid, costs=costs)
    own = make(valid.X), valid.y
    tuned = path.cascade(
        *own, qid=valid.qid, stages=10, refit=(make(train.X), train.y, None, train.qid)
    )
    size = len(valid.y) / len(valid.sizes)
    found = []
    for budget in budgets:
        one = tuned.at(budget=budget * size)
        rule = tuned.rules.within(budget * size)
        values = one.predict(make(test.X), test.qid)
        cost, score = tuned.rules.costs[rule] / size, 1 - tuned.rules.errors[rule]
        bill_of_test = one.bill(make(test.X), test.qid).mean
        found.append(Measured(float(cost), float(score), bill_of_test, scores_of(test, values)))
    return found


def cegb_prices(costs: Any, tradeoffs: Sequence[float], data: Documents) -> Iterator[np.ndarray]:
    """Yield prices of features for CEGB, which knows no fees: with them, and without."""
    n_features = data.X.shape[1]
    vectors = [np.ones(n_features)]
    if costs is not None:
        alone = [set_cost([k], data, costs) for k in range(n_features)]
        vectors = [np.array(alone), np.array([costs.per_feature[name] for name in NAMES])]
    for vector, tradeoff in product(vectors, tradeoffs):
        yield tradeoff * vector / vector.mean()


def forward_selection(
    train: Documents, valid: Documents, costs: Any, quick: bool
) -> Iterator[list[int]]:
    """Yield sets, each with the feature more that brings most NDCG per price on validation."""
    gains = ranker(train, 15, 50).booster_.feature_importance("gain")
    by_gain = np.argsort(-gains, kind="stable")[: 5 if quick else N_CANDIDATES].tolist()
    chosen: list[int] = []
    now = float(scores_of(valid, np.zeros(len(valid.y))).mean())
    for _ in range(2 if quick else MOST_STEPS):
        tried = {}
        for k in by_gain:
            if k not in chosen:
                own = [*chosen, k]
                model = ranker(train, 7, 40, columns=own)
                score = float(scores_of(valid, model.predict(valid.X[:, own])).mean())
                more = set_cost(own, valid, costs) - (
                    set_cost(chosen, valid, costs) if chosen else 0
                )
                tried[k] = ((score - now) / max(more, 0.05), score)
        best_one = max(tried, key=lambda k: tried[k][0])
        now = tried[best_one][1]
        chosen = [*chosen, best_one]
        yield chosen


def best(models: Sequence[Candidate], budget: float) -> Candidate:
    """Return the model with the best score on validation queries within a budget."""
    cheapest = min(models, key=lambda one: one.cost)
    affordable = [one for one in models if one.cost <= budget]
    return max(affordable, key=lambda one: one.score, default=cheapest)


def show(
    name: str,
    budgets: Sequence[float],
    found: dict[str, list[list[Measured]]],
    tested: list[np.ndarray],
) -> None:
    """Print mean scores and costs, and how much better ThriftyRanker is, query by query."""
    n_queries = len(np.unique(np.concatenate(tested)))
    print(f"\n{name}: NDCG@10 on {n_queries} test queries, splits: {len(tested)}")
    line("budget per document", [f"{budget:g}" for budget in budgets])
    for way, of_splits in found.items():
        own = [list(one)[: len(budgets)] for one in of_splits]
        line(way, [f"{mean(own, k, 'test_scores'):.4f}" for k in range(len(budgets))])
        line(
            "   a document pays", [f"{mean(own, k, 'test_cost'):.2f}" for k in range(len(budgets))]
        )
    ours = found[THRIFTY]
    for way, of_splits in found.items():
        if way == THRIFTY:
            continue
        more = [paired(ours, of_splits, k, tested) for k in range(len(budgets))]
        line(f"{THRIFTY} more than {way}", [f"{one:+.4f}" for one, _ in more])
        line("   95 % of samples of queries", [f"+-{1.96 * error:.4f}" for _, error in more])
    suggested = [[one[-1]] for one in ours]
    full = [[one[0]] for one in found[ALL]]
    nothing = [[one[0]._replace(test_scores=0 * one[0].test_scores)] for one in full]
    score, own_error = paired(full, nothing, 0, tested)
    more, error = paired(suggested, full, 0, tested)
    share = mean(suggested, 0, "test_cost") / mean(full, 0, "test_cost")
    print(f"  of all features, over queries: {score:.4f} +- {own_error:.4f} (one standard error)")
    print(
        f"  without a budget {mean(suggested, 0, 'test_scores'):.4f} at "
        f"{mean(suggested, 0, 'test_cost'):.2f} a document, {share:.2f} of all features, which "
        f"have {mean(full, 0, 'test_scores'):.4f}: {more:+.4f} +- {error:.4f} (one standard error)",
        flush=True,
    )


def curve(found: list[Measured], size: float) -> np.ndarray:
    """Return mean costs of queries of so many documents, and mean scores, one for each budget."""
    return np.array([(one.test_cost * size, one.test_scores.mean()) for one in found])


def draw(curves: dict[str, dict[str, np.ndarray]], file: Path) -> None:
    """Draw the scores of the official split against what a query costs, for each price list."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5 * len(curves), 3.6), layout="constrained")
    axes = figure.subplots(1, len(curves), squeeze=False)[0]
    for ax, (name, ways) in zip(axes, curves.items(), strict=True):
        (paid, full), *_ = ways[ALL]
        ax.axhline(full, color="0.6", linestyle=":")
        text = f"LambdaMART, all features, at {paid:.0f}"
        ax.text(0.02, full, text, transform=ax.get_yaxis_transform(), va="bottom")
        for way, (mark, style, colour) in LOOKS.items():
            points = ways[way][: -1 if way == THRIFTY else None]
            order = np.argsort(points[:, 0], kind="stable")
            costs, scores = points[order][points[order, 0] > FREE].T
            own = {"linewidth": 2.2, "zorder": 3} if way == THRIFTY else {}
            look = {"linestyle": style, "color": colour, "markersize": 5, "label": way, **own}
            ax.plot(costs, scores, mark, **look)
        ax.set_xscale("log")
        ax.set_xticks([20, 50, 100, 200, 400], [20, 50, 100, 200, 400])
        ax.minorticks_off()
        ax.margins(y=0.1)
        ax.set(title=name, xlabel="mean cost of a query", ylabel="NDCG@10, test queries")
    axes[-1].legend(fontsize=8, loc="lower right")
    figure.savefig(file, dpi=80)
    print(f"Drew {file}.")


def mean(of_splits: list[list[Measured]], k: int, name: str) -> float:
    return float(np.mean([np.mean(getattr(one[k], name)) for one in of_splits]))


def paired(
    ours: list[list[Measured]], theirs: list[list[Measured]], k: int, tested: list[np.ndarray]
) -> tuple[float, float]:
    """Return the mean difference over queries, and its standard error."""
    queries = np.concatenate([np.sort(own) for own in tested])
    apart = np.concatenate(
        [a[k].test_scores - b[k].test_scores for a, b in zip(ours, theirs, strict=True)]
    )
    number = np.unique(queries, return_inverse=True)[1]
    of_query = np.bincount(number, apart) / np.bincount(number)
    return float(of_query.mean()), float(of_query.std(ddof=1) / np.sqrt(len(of_query)))


def line(name: str, cells: Sequence[str]) -> None:
    print(f"  {name:48s}" + "".join(f"{cell:>9s}" for cell in cells))


if __name__ == "__main__":
    main()
