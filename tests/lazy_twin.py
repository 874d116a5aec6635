"""The obvious lazy predictor: one row, one tree after the other, buying from a shop that counts."""

import asyncio
from collections import Counter

import numpy as np

import thriftwood as tw
from thriftwood.adapters import read_stages

FORMS = ("one", "many", "async", "async_many")


class Shop:
    """Sells the values of a table by the ids of its rows, and remembers what it was asked for."""

    def __init__(self, X, ids=None, names=None):
        self.X = X
        self.ids = list(range(len(X))) if ids is None else list(ids)
        self.place = {one: place for place, one in enumerate(self.ids)}
        self.names = names
        self.sold = Counter()
        self.calls = 0

    def value(self, row, feature):
        self.sold[row, feature] += 1
        self.calls += 1
        return self.look_up(row, feature)

    def values(self, requests):
        self.sold.update(requests)
        self.calls += 1
        return [self.look_up(row, feature) for row, feature in requests]

    async def value_soon(self, row, feature):
        await asyncio.sleep(0)
        return self.value(row, feature)

    async def values_soon(self, requests):
        await asyncio.sleep(0)
        return self.values(requests)

    def look_up(self, row, feature):
        column = feature if self.names is None else self.names.index(feature)
        if hasattr(self.X, "columns"):
            return self.X.iloc[self.place[row], column]
        return self.X[self.place[row]][column]


def shop_for(model, X):
    """Return a shop in which features go by the names that a model knows."""
    return Shop(X, names=read_stages(model).richest.feature_names)


def lazy_for(model, shop, form="one", **options):
    """Return a lazy predictor that buys from a shop in one of the forms."""
    function = {
        "one": {"acquire": shop.value},
        "many": {"acquire_many": shop.values},
        "async": {"acquire": shop.value_soon},
        "async_many": {"acquire_many": shop.values_soon},
    }[form]
    return tw.LazyPredictor(model, **{**function, **options})


def run(lazy, rows, form="one", **options):
    """Predict in the form that the predictor was made for."""
    if form.startswith("async"):
        return asyncio.run(lazy.predict_async(rows, **options))
    return lazy.predict(rows, **options)


def ask(model, X, form="one", costs=None, known=None, **options):
    """Return the answer for all rows of a table, and the shop that they bought in."""
    shop = shop_for(model, X)
    lazy = lazy_for(model, shop, form, costs=costs, **options)
    return run(lazy, shop.ids, form, known=known), shop


def bought_by_twin(forest, row):
    """Return the features that a row buys, in order; it is as the forest compares it."""
    bought = []
    for node in forest.tree_start[:-1]:
        while forest.left[node] >= 0:
            feature = int(forest.feature[node])
            if feature not in bought:
                bought.append(feature)
            node = next_node(forest, node, row[feature])
    return bought


def next_node(forest, node, value):
    if np.isnan(value):
        goes_left = forest.missing_left[node]
    elif forest.category_set[node] >= 0:
        start = forest.set_start[forest.category_set[node]]
        stop = forest.set_start[forest.category_set[node] + 1]
        category = int(value) if value > -1 else -1
        goes_left = 0 <= category < stop - start and forest.in_set[start + category]
    elif forest.zero_is_missing[node] and abs(value) <= np.float32(1e-35):
        goes_left = forest.missing_left[node]
    else:
        goes_left = value <= forest.threshold[node]
    return forest.left[node] if goes_left else forest.right[node]


class Cascade:
    """Whatever has stages."""

    def __init__(self, stages):
        self.stages = stages


def assert_decides_alike(model, X, costs=None, form="many"):
    """Same labels on every row, never a higher bill; returns the mean bills, full and stopped."""
    full, _ = ask(model, X, form, costs=costs)
    answer, shop = ask(model, X, form, costs=costs, stop="decided")
    np.testing.assert_array_equal(answer.labels, full.labels)
    np.testing.assert_array_equal(answer.stages, full.stages)
    assert (answer.bill.per_sample <= full.bill.per_sample + 1e-12).all()
    assert not (answer.bill.used & ~full.bill.used).any()
    assert max(shop.sold.values(), default=1) == 1
    classes = read_stages(model).richest.classes
    np.testing.assert_array_equal(classes[answer.proba.argmax(axis=1)], answer.labels)
    finished = (answer.bill.used == full.bill.used).all(axis=1)
    per_split_too = answer._n_tests == full._n_tests
    arrived = finished & per_split_too
    np.testing.assert_array_equal(answer.proba[arrived], full.proba[arrived])
    return full.bill.mean, answer.bill.mean
