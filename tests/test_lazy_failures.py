"""Sources that fail: three ways to give up, and what passes through."""

import asyncio
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
import tenacity
from lazy_twin import FORMS, Shop, ask, bought_by_twin, lazy_for, run
from models import fitted
from paths import HEART, PATH
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import AcquisitionError, InputError, ThriftwoodError
from thriftwood.forest import predict, predictions
from thriftwood.forest.table import read_rows

all_forms = pytest.mark.parametrize("form", FORMS)
MODEL = PATH.at(budget=400).model
FOREST = read_forest(MODEL)
X = HEART.X[:12]
ROWS = read_rows(X, FOREST).values
BAD_ROW = 5
# A feature that the bad row buys neither first nor last.
BAD_FEATURE = bought_by_twin(FOREST, ROWS[BAD_ROW])[1]
BAD = (BAD_ROW, BAD_FEATURE)


class BrokenShop(Shop):
    """Cannot sell some values, or not at the first attempts."""

    def __init__(self, table, broken=(BAD,), recovers_after=10**9):
        super().__init__(table)
        self.broken = dict.fromkeys(broken, 0)
        self.recovers_after = recovers_after

    def look_up(self, row, feature):
        if (row, feature) in self.broken:
            self.broken[row, feature] += 1
            if self.broken[row, feature] <= self.recovers_after:
                raise ConnectionError(f"no line to {row}")
        return super().look_up(row, feature)


# --- giving up


@all_forms
def test_all_other_rows_are_answered_before_the_failure_is_raised(form):
    shop = BrokenShop(X)
    lazy = lazy_for(MODEL, shop, form, costs=HEART.prices)
    with pytest.raises(AcquisitionError, match="failed for 1 of 12 samples") as caught:
        run(lazy, shop.ids, form)
    error = caught.value
    assert isinstance(error, ThriftwoodError)
    assert isinstance(error.__cause__, ConnectionError)
    [failure] = error.failures
    assert (failure.sample, failure.feature, failure.place) == (BAD_ROW, BAD_FEATURE, BAD_ROW)
    assert failure.error is error.__cause__
    good = [row for row in shop.ids if row != BAD_ROW]
    assert error.answer.samples == tuple(good)
    np.testing.assert_array_equal(error.answer.proba, MODEL.predict_proba(X[good]))
    bill = tw.feature_bill(MODEL, X[good], HEART.prices)
    np.testing.assert_array_equal(error.answer.bill.per_sample, bill.per_sample)
    assert error.answer.receipt(-1).total == pytest.approx(bill.per_sample[-1])
    for words in ("first for 5", "ConnectionError", "others (11)", "on_failure"):
        assert words in str(error)


@all_forms
def test_prices_of_rows_stay_with_their_rows_when_one_fails(form):
    table = np.random.default_rng(1).random(X.shape)
    table[:, 2] = 0.5  # paid together
    costs = tw.Costs(per_sample=table, known={3: np.arange(12) < 6}, shared_by={2: [0, 1] * 6})
    shop = BrokenShop(X)
    with pytest.raises(AcquisitionError) as caught:
        run(lazy_for(MODEL, shop, form), shop.ids, form, costs=costs)
    good = np.delete(np.arange(12), BAD_ROW)
    bill = tw.feature_bill(MODEL, X[good], costs.take(good))
    np.testing.assert_array_equal(caught.value.answer.bill.per_sample, bill.per_sample)


@all_forms
def test_no_row_at_all(form):
    shop = BrokenShop(X, broken=[(row, k) for row in range(12) for k in range(13)])
    with pytest.raises(AcquisitionError, match="for every sample") as caught:
        run(lazy_for(MODEL, shop, form), shop.ids, form)
    answer = caught.value.answer
    assert len(answer) == len(answer.labels) == 0
    assert "0 samples" in repr(answer)
    with pytest.raises(InputError, match="no sample was answered"):
        answer.bill


@all_forms
@pytest.mark.parametrize("stop", [None, "decided"])
def test_what_cannot_be_got_counts_as_missing(form, stop):
    model, table, _ = fitted("missing_random_forest")
    broken = [(0, 0), (3, 1), (3, 2), (7, 3)]
    holes = table.copy()
    for row, feature in broken:
        holes[row, feature] = np.nan
    shop = BrokenShop(table, broken)
    lazy = lazy_for(model, shop, form, on_failure="missing", stop=stop)
    answer = run(lazy, shop.ids, form)
    np.testing.assert_array_equal(answer.labels, model.predict(holes))
    asked = {(one.sample, one.feature) for one in answer.failures}
    assert asked
    assert asked <= set(broken)
    assert not answer.bill.used[tuple(np.array(list(asked)).T)].any()
    if stop is None:
        np.testing.assert_array_equal(answer.proba, model.predict_proba(holes))
        used = tw.feature_bill(model, holes).used.copy()
        for row, feature in broken:
            used[row, feature] = False
        np.testing.assert_array_equal(answer.bill.used, used)
    for row in range(len(answer)):
        bought = [one.feature for one in answer.receipt(row).purchases]
        assert sorted(bought) == np.flatnonzero(answer.bill.used[row]).tolist()


@all_forms
def test_trees_that_lack_a_value_answer_from_the_node_they_reached(form):
    broken = [(row, BAD_FEATURE) for row in range(0, 12, 2)]
    shop = BrokenShop(X, broken)
    answer = run(lazy_for(MODEL, shop, form, on_failure="node"), shop.ids, form)
    for row in range(12):
        lost = BAD_FEATURE if (row, BAD_FEATURE) in broken else None
        total, tested = np.zeros(2), set()
        for tree in range(FOREST.n_trees):
            node = FOREST.tree_start[tree]
            while FOREST.is_split[node] and FOREST.feature[node] != lost:
                tested.add(int(FOREST.feature[node]))
                value = ROWS[row, FOREST.feature[node]]
                side = FOREST.left if value <= FOREST.threshold[node] else FOREST.right
                node = side[node]
            total += FOREST.values[node]
        expected = predictions(FOREST.link, total[None] / FOREST.n_trees)[0]
        np.testing.assert_array_equal(answer.proba[row], expected)
        assert set(np.flatnonzero(answer.bill.used[row])) == tested
        assert {one.feature for one in answer.receipt(row).purchases} == tested
    assert {(one.sample, one.feature) for one in answer.failures} == set(broken) & set(shop.sold)


@pytest.mark.parametrize("stop", [None, "decided"])
@pytest.mark.parametrize("on_failure", ["missing", "node"])
def test_a_source_that_is_down_still_gets_an_answer(on_failure, stop):
    everything = [(row, k) for row in range(12) for k in range(13)]
    shop = BrokenShop(X, everything)
    answer = lazy_for(MODEL, shop, on_failure=on_failure, stop=stop).predict(shop.ids)
    assert answer.bill.mean == 0
    assert all(count == 1 for count in shop.sold.values())
    if on_failure == "node":
        roots = FOREST.values[FOREST.tree_start[:-1]]
        np.testing.assert_allclose(answer.proba, np.tile(roots.mean(axis=0), (12, 1)))
    elif stop is None:
        nothing = np.full_like(ROWS, np.nan)
        np.testing.assert_array_equal(answer.proba, predict(FOREST, nothing))


# --- batched requests


@pytest.mark.parametrize("form", ["many", "async_many"])
def test_a_bad_request_does_not_lose_the_others_of_its_call(form):
    shop = BrokenShop(X)
    answer = run(lazy_for(MODEL, shop, form, on_failure="missing"), shop.ids, form)
    assert [(one.sample, one.feature) for one in answer.failures] == [BAD]
    bad_bought = ask(MODEL, X)[0]
    others = np.arange(12) != BAD_ROW
    np.testing.assert_array_equal(answer.proba[others], bad_bought.proba[others])


@pytest.mark.parametrize("is_async", [False, True])
def test_single_requests_of_a_call_may_fail(is_async):
    calls = []

    def acquire_many(requests):
        calls.append(requests)
        return {
            (sample, feature): OSError("busy") if (sample, feature) == BAD else X[sample, feature]
            for sample, feature in requests
        }

    async def acquire_soon(requests):
        return acquire_many(requests)

    source = acquire_soon if is_async else acquire_many
    lazy = tw.LazyPredictor(MODEL, acquire_many=source, on_failure="missing")
    answer = run(lazy, range(12), "async" if is_async else "many")
    [failure] = answer.failures
    assert (failure.sample, failure.feature) == BAD
    assert "OSError: busy" in repr(failure)
    assert len(calls) == answer.n_rounds
    times = Counter(request for requests in calls for request in requests)
    assert set(times.values()) == {1}


@all_forms
def test_what_is_no_number_is_a_failure(form):
    words = X.astype(object)
    words[BAD] = "high"
    words[2, BAD_FEATURE] = np.array([1.0, 2.0])
    shop = Shop(words)
    answer = run(lazy_for(MODEL, shop, form, on_failure="missing"), shop.ids, form)
    assert sorted(one.sample for one in answer.failures) == [2, BAD_ROW]
    for failure in answer.failures:
        assert isinstance(failure.error, InputError)
        assert "no number" in str(failure.error)


# --- sources that others wrapped


@all_forms
def test_a_source_that_tries_again_is_the_business_of_others(form):
    shop = BrokenShop(X, recovers_after=2)
    again = tenacity.retry(stop=tenacity.stop_after_attempt(3), reraise=True)
    for name in ("value", "values", "value_soon", "values_soon"):
        setattr(shop, name, again(getattr(shop, name)))
    answer = run(lazy_for(MODEL, shop, form), shop.ids, form)
    np.testing.assert_array_equal(answer.proba, MODEL.predict_proba(X))
    assert answer.failures == ()
    assert answer.n_requests == ask(MODEL, X)[0].n_requests


def test_a_time_out_is_a_failure_of_its_sample_alone():
    cancelled = []

    async def acquire(sample, feature):
        if (sample, feature) == BAD:
            try:
                await asyncio.sleep(20)
            finally:
                cancelled.append(1)
        return X[sample, feature]

    async def impatient(sample, feature):
        return await asyncio.wait_for(acquire(sample, feature), timeout=0.05)

    lazy = tw.LazyPredictor(MODEL, acquire=impatient, on_failure="node")
    [failure] = asyncio.run(lazy.predict_async(range(12))).failures
    assert isinstance(failure.error, TimeoutError)
    assert cancelled


# --- what passes through


@all_forms
def test_an_interrupt_passes_through(form):
    class Interrupted(Shop):
        def look_up(self, _row, _feature):
            raise KeyboardInterrupt

    lazy = lazy_for(MODEL, Interrupted(X), form, on_failure="missing")
    with pytest.raises(KeyboardInterrupt):
        run(lazy, range(3), form)


def test_cancelling_passes_through_and_stops_all_requests():
    under_way, cancelled = [], []

    async def acquire(row, feature):
        under_way.append((row, feature))
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            cancelled.append((row, feature))
            raise

    async def main():
        lazy = tw.LazyPredictor(MODEL, acquire=acquire, on_failure="missing")
        task = asyncio.create_task(lazy.predict_async(range(12)))
        while len(under_way) < 12:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert sorted(cancelled) == sorted(under_way)


def test_a_source_that_cancels_its_own_work_has_failed():
    async def acquire(row, feature):
        if (row, feature) == BAD:
            raise asyncio.CancelledError
        return X[row, feature]

    lazy = tw.LazyPredictor(MODEL, acquire=acquire, on_failure="missing")
    answer = asyncio.run(lazy.predict_async(range(12)))
    [failure] = answer.failures
    assert "cancelled its own work" in str(failure.error)


# --- how much at a time


@pytest.mark.parametrize("most", [1, 3, 12, 15, 1000])
def test_requests_in_flight_are_bounded_for_all_rows_together(most):
    now, peak = [0], [0]

    async def acquire(row, feature):
        now[0] += 1
        peak[0] = max(peak[0], now[0])
        await asyncio.sleep(0.001)
        now[0] -= 1
        return X[row, feature]

    lazy = tw.LazyPredictor(MODEL, acquire=acquire, max_in_flight=most)
    answer = asyncio.run(lazy.predict_async(range(12)))
    np.testing.assert_array_equal(answer.labels, MODEL.predict(X))
    assert peak[0] == most or (most == 1000 and peak[0] > 15)


def test_a_row_asks_at_once_for_what_it_surely_needs():
    rounds = ask(MODEL, X[:1], "many")[0].n_rounds
    calls = []

    async def acquire(row, feature):
        calls.append(feature)
        await barrier()
        return X[row, feature]

    waves = []

    async def barrier():
        """Let everybody come here who can without an answer."""
        before = len(calls)
        for _ in range(20):
            await asyncio.sleep(0)
        if before == len(calls):
            waves.append(before)

    answer = asyncio.run(tw.LazyPredictor(MODEL, acquire=acquire).predict_async([0]))
    assert answer.n_rounds == rounds == len(set(waves)) < len(calls)


def test_a_slow_sample_holds_nobody_up():
    n_others = ask(MODEL, X[1:])[0].n_requests

    async def answer_last():
        others, all_others_are_there = [], asyncio.Event()

        async def acquire(sample, feature):
            if sample == 0:
                await all_others_are_there.wait()
            else:
                others.append(sample)
                if len(others) == n_others:
                    all_others_are_there.set()
            return X[sample, feature]

        lazy = tw.LazyPredictor(MODEL, acquire=acquire)
        return await asyncio.wait_for(lazy.predict_async(range(12)), timeout=60)

    np.testing.assert_array_equal(asyncio.run(answer_last()).labels, MODEL.predict(X))


@pytest.mark.parametrize("kind", ["array", "frame", "pipeline", "polars"])
def test_gaps_of_a_table_are_values_that_never_come(kind: str) -> None:
    """As from a source that fails there; a row without gaps is predicted as ever."""
    heart = tw.datasets.load_heart()
    X = heart.frame().iloc[:, :6]
    names = dict(zip(X, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], strict=True))
    model = RandomForestClassifier(5, max_depth=4, random_state=0)
    if kind == "pipeline":
        model = make_pipeline(SimpleImputer(), PolynomialFeatures(2, interaction_only=True), model)
    model.fit(X.to_numpy() if kind == "array" else X, heart.y)
    costs = list(names.values()) if kind == "array" else names
    gaps = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    gaps.iloc[:20] = X.iloc[:20]
    tables = {"array": gaps.to_numpy(), "polars": pl.from_pandas(gaps)}

    def acquire(row: int, column: Any) -> float:
        value = gaps.iat[row, column] if kind == "array" else gaps.at[row, column]
        if np.isnan(value):
            raise TimeoutError
        return float(value)

    lazy = tw.LazyPredictor(model, acquire=acquire, costs=costs, on_failure="node")
    expected = lazy.predict(range(len(X)))
    table = tables.get(kind, gaps)
    found = tw.LazyPredictor(model, costs=costs, on_failure="node").predict(table)
    np.testing.assert_allclose(found.proba, expected.proba)
    np.testing.assert_allclose(found.bill.per_sample[:20], expected.bill.per_sample[:20])
    if kind != "pipeline":  # of a feature of two columns the source may be asked for one
        np.testing.assert_allclose(found.bill.per_sample, expected.bill.per_sample)
    assert (found.bill.per_sample <= expected.bill.per_sample + 1e-9).all()
    whole = X.to_numpy()[:20] if kind == "array" else X.iloc[:20]
    np.testing.assert_allclose(found.proba[:20], model.predict_proba(whole))
    usual = tw.LazyPredictor(model, costs=costs).predict(table)
    assert not np.allclose(usual.proba, found.proba)
