"""Lazy predictions: our own time for one sample and for many, and what stopping when decided saves.

Own time is all time but that which the source takes. The source of the first part is a look-up in
a list; that of the concurrent part sleeps 5 ms for each value. Then a pipeline that one-hot encodes
and imputes, whose transformers run each time something was bought, in front of the same forest.
"""

import asyncio
import statistics
import time

import numpy as np
from measure import arguments, covertype, local_dataset, seconds_of
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import thriftwood as tw

N_TREES = 40
LATENCY = 0.005  # seconds that a value takes in the concurrent part
N_SAMPLES = 1_000


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    heart = tw.datasets.load_heart()
    forest = RandomForestClassifier(N_TREES, max_features=None, max_depth=4, random_state=0)
    path = tw.prune_path(forest.fit(heart.X, heart.y), heart.X, heart.y, costs=heart.prices)
    table = [row.tolist() for row in heart.X]
    repeats = 1 if options.quick else options.repeats
    for budget in (310, 280):
        pruned = path.at(budget=budget)
        print(f"\nheart, {N_TREES} trees pruned to {pruned.n_splits} splits")
        one_sample(pruned.model, table, heart.prices, 300 if options.quick else 3_000)
        many_samples(pruned.model, table, heart.prices, repeats)
        for max_in_flight in (N_SAMPLES, 10 * N_SAMPLES):
            concurrent_samples(pruned.model, table, heart.prices, repeats, max_in_flight)
    pipeline = behind_transformers(clone(forest)).fit(heart.frame(), heart.y)
    pruned = tw.prune(pipeline, heart.frame(), heart.y, costs=heart.prices, budget=280)
    print(f"\nheart, a pipeline around {N_TREES} trees pruned to {pruned.n_splits} splits")
    through_transformers(pruned.model, heart, 20 if options.quick else 300)
    savings(options)


def behind_transformers(model):
    """Return a pipeline that one-hot encodes and imputes columns of heart before a model."""
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["cp", "restecg", "slope"]),
        (SimpleImputer(), ["ca", "thal"]),
        remainder="passthrough",
    )
    return make_pipeline(prepare, model)


def through_transformers(pipeline, heart, n_calls: int) -> None:
    """Show how much time of the processor a sample takes, and how much of it transformers do."""
    X = heart.frame()
    table = [dict(zip(heart.feature_names, row, strict=True)) for row in heart.X.tolist()]
    how = {"costs": heart.prices}
    for name, source in (
        ("acquire", {"acquire": lambda i, column: table[i][column]}),
        ("acquire_many", {"acquire_many": lambda wanted: [table[i][one] for i, one in wanted]}),
    ):
        lazy = tw.LazyPredictor(pipeline, **how, **source)
        n_rounds = lazy.predict([0]).n_rounds
        alone = busy_seconds(lambda lazy=lazy: lazy.predict([0]), n_calls)
        print(f"  one sample by {name}: {1e3 * alone:.1f} ms, {n_rounds} rounds")
    made = busy_seconds(lambda: pipeline[:-1].transform(X.iloc[[0]]), n_calls)
    print(f"  its transformers on a row: {1e3 * made:.1f} ms")
    all_rows = busy_seconds(lambda: lazy.predict(range(len(X))), max(1, n_calls // 10))
    print(f"  {len(X)} samples by acquire_many: {1e3 * all_rows:.1f} ms")


def busy_seconds(run, n_calls: int) -> float:
    """Return the median time of the processor, which others on the machine do not change."""
    seconds = []
    for _ in range(n_calls):
        begin = time.process_time()
        run()
        seconds.append(time.process_time() - begin)
    return statistics.median(seconds)


def one_sample(model, table, prices, n_calls: int) -> None:
    """Show the median of our own time for a sample alone, asked for value by value."""
    spent = 0.0

    def acquire(sample, feature):
        nonlocal spent
        begin = time.perf_counter()
        value = table[sample][feature]
        spent += time.perf_counter() - begin
        return value

    for stop in (None, "decided"):
        lazy = tw.LazyPredictor(model, acquire=acquire, costs=prices, stop=stop)
        lazy.predict([0])  # compiles
        own, bills, n_requests, n_paid = [], [], 0, 0
        for call in range(n_calls):
            spent = 0.0
            begin = time.perf_counter()
            answer = lazy.predict([call % len(table)])
            own.append(time.perf_counter() - begin - spent)
            n_requests += answer.n_requests
            begin = time.perf_counter()
            n_paid += answer.bill.mean > 0  # it is worked out when it is looked at
            bills.append(time.perf_counter() - begin)
        assert n_paid == n_calls
        print(
            f"  one sample, stop={stop!r}: {n_requests / n_calls:.1f} values, "
            f"{1e6 * statistics.median(own):.0f} microseconds of our own (least "
            f"{1e6 * min(own):.0f}); its bill, if looked at, {1e6 * statistics.median(bills):.0f}"
        )


def many_samples(model, table, prices, repeats: int) -> None:
    samples = range(N_SAMPLES)

    def acquire_many(requests):
        return [table[row % len(table)][feature] for row, feature in requests]

    lazy = tw.LazyPredictor(model, acquire_many=acquire_many, costs=prices)
    answer = lazy.predict(samples)
    seconds = statistics.median(seconds_of(lambda: lazy.predict(samples)) for _ in range(repeats))
    print(
        f"  {N_SAMPLES} samples by acquire_many: {1e3 * seconds:.0f} ms, "
        f"{answer.n_requests} values in {answer.n_rounds} calls"
    )


def concurrent_samples(model, table, prices, repeats: int, max_in_flight: int) -> None:
    async def acquire(sample, feature):
        await asyncio.sleep(LATENCY)
        return table[sample % len(table)][feature]

    lazy = tw.LazyPredictor(model, acquire=acquire, costs=prices, max_in_flight=max_in_flight)

    async def once():
        return await lazy.predict_async(range(N_SAMPLES))

    answer = asyncio.run(once())
    seconds, busy, bare = [], [], []
    for _ in range(repeats):
        begin = time.process_time()
        seconds.append(seconds_of(lambda: asyncio.run(once())))
        busy.append(time.process_time() - begin)
        begin = time.process_time()
        asyncio.run(sleeps_alone(answer.n_requests))
        bare.append(time.process_time() - begin)
    print(
        f"  {N_SAMPLES} concurrent samples, {1e3 * LATENCY:g} ms a value, {max_in_flight} in "
        f"flight: {statistics.median(seconds):.2f} s, {answer.n_requests} values in "
        f"{answer.n_rounds} rounds; processor {statistics.median(busy):.2f} s, as many tasks that "
        f"only sleep {statistics.median(bare):.2f} s"
    )


async def sleeps_alone(number: int) -> None:
    """Start as many tasks as there were values, and do nothing else."""
    for first in range(0, number, 3 * N_SAMPLES):
        some = range(min(3 * N_SAMPLES, number - first))
        await asyncio.gather(*(asyncio.sleep(LATENCY) for _ in some))


def savings(options) -> None:
    print("\nStopping when decided: mean bills in full -> stopped, labels alike on every sample")
    for name, X, y, costs in data_sets(options):
        half = len(y) // 2
        for title, model in models(options.quick):
            model.fit(X[:half], y[:half])
            pruned = tw.prune_path(model, X[:half], y[:half], costs=costs)
            for what, one in (
                ("whole", model),
                ("best within half its cost", pruned.at(budget=pruned.costs[0] / 2).model),
            ):
                full, stopped = bills(one, X[half:], costs)
                print(
                    f"  {name}, {title}, {what}: {full:.4g} -> {stopped:.4g}, "
                    f"{1 - stopped / full:.0%} saved"
                )


def data_sets(options):
    heart, people = tw.datasets.load_heart(), tw.datasets.load_nhanes()
    order = np.random.default_rng(0).permutation(len(heart.y))
    yield "heart", heart.X[order], heart.y[order], heart.prices
    n_samples = 600 if options.quick else 4_000
    yield "nhanes", people.X[:n_samples], people.y[:n_samples], people.costs
    if options.quick:
        return
    particles = local_dataset("miniboone_tiny", options.data)
    if particles is not None:
        yield "miniboone_tiny", particles.X[:n_samples], particles.y[:n_samples], None
    X, y, name = covertype(n_samples, options.data)
    yield name, X, y, None


def models(quick: bool):
    n_trees = 10 if quick else N_TREES
    yield (
        f"forest of {n_trees} trees",
        RandomForestClassifier(n_trees, max_features=None, min_samples_leaf=2, random_state=0),
    )
    yield (
        f"{n_trees} boosting rounds",
        HistGradientBoostingClassifier(max_iter=n_trees, max_leaf_nodes=8, random_state=0),
    )


def bills(model, X, costs) -> tuple[float, float]:
    """Return the mean bill in full and stopped early, and check that labels are alike."""
    table = X.tolist()

    def acquire_many(requests):
        return [table[row][feature] for row, feature in requests]

    full, stopped = (
        tw.LazyPredictor(model, acquire_many=acquire_many, costs=costs, stop=stop).predict(
            range(len(X))
        )
        for stop in (None, "decided")
    )
    assert (full.labels == stopped.labels).all()
    assert (stopped.bill.per_sample <= full.bill.per_sample + 1e-9).all()
    return full.bill.mean, stopped.bill.mean


if __name__ == "__main__":
    main()
