"""Sources that fail: retries, time-outs, and three ways to give up."""

import asyncio
import threading
import time
from collections import Counter

import numpy as np
import pytest
from lazy_twin import FORMS, Shop, ask, bought_by_twin, lazy_for, run
from models import fitted
from paths import HEART, PATH

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


@pytest.fixture
def pauses(monkeypatch):
    """The seconds that somebody slept between attempts, without sleeping."""
    slept = []

    async def sleep_soon(seconds):
        slept.append(seconds)

    monkeypatch.setattr("thriftwood.acquisition.source.sleep", slept.append)
    monkeypatch.setattr("thriftwood.acquisition.asynchronous.sleep", sleep_soon)
    return slept


# --- giving up


@all_forms
def test_all_other_rows_are_answered_before_the_failure_is_raised(form):
    shop = BrokenShop(X)
    lazy = lazy_for(MODEL, shop, form, costs=HEART.prices)
    with pytest.raises(AcquisitionError, match="failed for 1 of 12 rows") as caught:
        run(lazy, shop.ids, form)
    error = caught.value
    assert isinstance(error, ThriftwoodError)
    assert isinstance(error.__cause__, ConnectionError)
    [failure] = error.failures
    assert (failure.row, failure.feature, failure.place) == (BAD_ROW, BAD_FEATURE, BAD_ROW)
    assert failure.error is error.__cause__
    good = [row for row in shop.ids if row != BAD_ROW]
    assert error.answer.rows == tuple(good)
    np.testing.assert_array_equal(error.answer.proba, MODEL.predict_proba(X[good]))
    bill = tw.feature_bill(MODEL, X[good], HEART.prices)
    np.testing.assert_array_equal(error.answer.bill.per_sample, bill.per_sample)
    assert error.answer.receipts[-1].total == pytest.approx(bill.per_sample[-1])
    for words in ("row 5", "ConnectionError", "others (11)", "on_failure"):
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
    with pytest.raises(AcquisitionError, match="for every row") as caught:
        run(lazy_for(MODEL, shop, form), shop.ids, form)
    answer = caught.value.answer
    assert len(answer) == len(answer.labels) == len(answer.receipts) == 0
    assert "0 rows" in repr(answer)
    with pytest.raises(InputError, match="no row was answered"):
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
    asked = {(one.row, one.feature) for one in answer.failures}
    assert asked
    assert asked <= set(broken)
    assert not answer.bill.used[tuple(np.array(list(asked)).T)].any()
    if stop is None:
        np.testing.assert_array_equal(answer.proba, model.predict_proba(holes))
        used = tw.feature_bill(model, holes).used.copy()
        for row, feature in broken:
            used[row, feature] = False
        np.testing.assert_array_equal(answer.bill.used, used)
    for row, receipt in enumerate(answer.receipts):
        bought = [one.feature for one in receipt.purchases]
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
        assert {one.feature for one in answer.receipts[row].purchases} == tested
    assert {(one.row, one.feature) for one in answer.failures} == set(broken) & set(shop.sold)


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


# --- trying again


@all_forms
def test_retries_wait_twice_as_long_each_time(form, pauses):
    shop = BrokenShop(X, recovers_after=3)
    lazy = lazy_for(MODEL, shop, form, retries=3, wait=0.5)
    answer = run(lazy, shop.ids, form)
    assert pauses == [0.5, 1.0, 2.0]
    np.testing.assert_array_equal(answer.proba, MODEL.predict_proba(X))
    assert answer.failures == ()
    assert answer.n_requests == ask(MODEL, X)[0].n_requests


@all_forms
def test_attempts_are_counted(form, pauses):
    shop = BrokenShop(X[[BAD_ROW]], broken=[(0, BAD_FEATURE)])
    lazy = lazy_for(MODEL, shop, form, retries=2, on_failure="missing")
    [failure] = run(lazy, [0], form).failures
    assert sum(pauses) == pytest.approx(0.1 + 0.2)
    if form in ("one", "async"):
        assert failure.attempts == 3 == shop.sold[0, BAD_FEATURE]
    else:  # the call is made again in halves, down to the one request
        assert failure.attempts == shop.sold[0, BAD_FEATURE] >= 3
    assert "asked" in repr(failure)


@pytest.mark.parametrize("form", ["many", "async_many"])
def test_a_bad_request_does_not_lose_the_others_of_its_call(form):
    shop = BrokenShop(X)
    answer = run(lazy_for(MODEL, shop, form, on_failure="missing"), shop.ids, form)
    assert [(one.row, one.feature) for one in answer.failures] == [BAD]
    bad_bought = ask(MODEL, X)[0]
    others = np.arange(12) != BAD_ROW
    np.testing.assert_array_equal(answer.proba[others], bad_bought.proba[others])


@pytest.mark.parametrize("is_async", [False, True])
def test_single_requests_may_fail_and_are_asked_for_again(is_async, pauses):
    calls = []

    def acquire_many(requests):
        calls.append(requests)
        fails = BAD in requests and len(calls) < 4
        return {
            (row, feature): OSError("busy") if fails and (row, feature) == BAD else X[row, feature]
            for row, feature in requests
        }

    async def acquire_soon(requests):
        return acquire_many(requests)

    source = acquire_soon if is_async else acquire_many
    lazy = tw.LazyPredictor(MODEL, acquire_many=source, retries=5)
    answer = run(lazy, range(12), "async" if is_async else "many")
    np.testing.assert_array_equal(answer.proba, MODEL.predict_proba(X))
    retried = [requests for requests in calls if requests == (BAD,)]
    assert len(retried) == len(pauses) >= 1  # alone: the others were not asked for again
    times = Counter(request for requests in calls for request in requests)
    assert [request for request, count in times.items() if count > 1] == [BAD]


@all_forms
def test_what_is_no_number_is_a_failure_without_a_retry(form, pauses):
    words = X.astype(object)
    words[BAD] = "high"
    words[2, BAD_FEATURE] = np.array([1.0, 2.0])
    shop = Shop(words)
    answer = run(lazy_for(MODEL, shop, form, retries=3, on_failure="missing"), shop.ids, form)
    assert pauses == []
    assert sorted(one.row for one in answer.failures) == [2, BAD_ROW]
    for failure in answer.failures:
        assert isinstance(failure.error, InputError)
        assert "no number" in str(failure.error)


# --- time


@pytest.mark.parametrize("form", ["one", "many"])
def test_plain_functions_that_take_too_long_are_given_up(form):
    released = threading.Event()

    class Slow(BrokenShop):
        def look_up(self, row, feature):
            if (row, feature) == BAD:
                released.wait(20)
            return Shop.look_up(self, row, feature)

    shop = Slow(X)
    lazy = lazy_for(MODEL, shop, form, timeout=0.05, on_failure="missing")
    begin = time.perf_counter()
    answer = run(lazy, shop.ids, form)
    assert time.perf_counter() - begin < 10
    released.set()
    [failure] = answer.failures
    assert (failure.row, failure.feature) == BAD
    assert isinstance(failure.error, TimeoutError)
    assert "no answer within 0.05 seconds" in str(failure.error)


def test_threads_end_with_the_prediction():
    before = threading.active_count()
    lazy = lazy_for(MODEL, Shop(X), timeout=5.0)
    for _ in range(3):
        np.testing.assert_array_equal(lazy.predict(range(12)).labels, MODEL.predict(X))
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before


@pytest.mark.parametrize("form", ["async", "async_many"])
def test_coroutines_that_take_too_long_are_given_up(form):
    cancelled = []

    class Slow(Shop):
        async def value_soon(self, row, feature):
            if (row, feature) == BAD:
                await self.hang()
            return self.value(row, feature)

        async def values_soon(self, requests):
            if BAD in requests:
                await self.hang()
            return self.values(requests)

        async def hang(self):
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                cancelled.append(1)
                raise

    shop = Slow(X)
    lazy = lazy_for(MODEL, shop, form, timeout=0.05, on_failure="node")
    answer = run(lazy, shop.ids, form)
    [failure] = answer.failures
    assert isinstance(failure.error, TimeoutError)
    assert "no answer within 0.05 seconds" in str(failure.error)
    assert cancelled


# --- what passes through


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("timeout", [None, 5.0])
def test_an_interrupt_passes_through(form, timeout):
    class Interrupted(Shop):
        def look_up(self, _row, _feature):
            raise KeyboardInterrupt

    lazy = lazy_for(MODEL, Interrupted(X), form, retries=3, timeout=timeout, on_failure="missing")
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
        lazy = tw.LazyPredictor(MODEL, acquire=acquire, retries=3, on_failure="missing")
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


def test_a_slow_row_holds_nobody_up():
    finished = []

    async def acquire(row, feature):
        if row == 0:
            await asyncio.sleep(0.02)
        finished.append(row)
        return X[row, feature]

    lazy = tw.LazyPredictor(MODEL, acquire=acquire)
    asyncio.run(lazy.predict_async(range(12)))
    assert 0 not in finished[: len(finished) - finished.count(0)]
