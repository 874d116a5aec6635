"""What samples and the model pay, from prices as a user writes them, in whole numbers.

`prices` are the arguments of `tw.Costs`, and the queries of samples as `qid`; features go by their
numbers, groups by their names.
"""

from collections.abc import Mapping

import numpy as np

from fuzz.exact import decimal, whole

MODEL = "model"  # pays once
QUERY = "query"  # beside a name: what documents of a query pay together


def payables(prices, splits, weights, n_features):
    """Return what is due as {splits, in bits: cost}, and the denominator of a mean cost.

    A cost is due as soon as any split of its bits is kept. `splits` has the feature of each split
    and the numbers of the samples that come by.
    """
    book = Book(prices, n_features)
    counted = weights if prices.get("weigh_bills") else np.sign(weights)
    weight, _ = whole([decimal(one) for one in counted])
    total, predictions = sum(weight), decimal(prices.get("predictions") or 1)
    due = {}  # (what, who pays) -> splits, in bits
    for bit, (feature, samples) in enumerate(splits):
        for sample in samples:
            for what in book.bought(feature, sample):
                key = what, book.payer(what, sample)
                due[key] = due.get(key, 0) | 1 << bit
        for what in book.upkeep(feature):
            due[what, MODEL] = due.get((what, MODEL), 0) | 1 << bit
    prices_due, unit = whole([book.price(*key) for key in due] + [book.per_split, book.per_node])
    per_node, per_split = prices_due.pop(), prices_due.pop()
    of_sample, of_model = predictions.numerator, predictions.denominator * total
    costs = {}
    for ((_, payer), bits), price in zip(due.items(), prices_due, strict=True):
        share = of_model if payer == MODEL else weight[payer] * of_sample
        costs[bits] = costs.get(bits, 0) + price * share
    for bit, (_, samples) in enumerate(splits):
        tests = per_split * sum(weight[one] for one in samples) * of_sample
        costs[1 << bit] = costs.get(1 << bit, 0) + tests + per_node * of_model
    return costs, unit * total * of_sample


class Book:
    """A price list, looked up by feature and sample."""

    def __init__(self, prices, n_features):
        self.prices = prices
        self.known = self._table("known", n_features)
        self.own = self._table("per_sample", n_features)
        self.per_split = decimal(prices.get("per_split") or 0)
        self.per_node = decimal(prices.get("per_node") or 0)
        groups = prices.get("groups") or {}
        self.features_of = {name: set(_flat(name, groups)) for name in groups}
        self.shared = {name: _first_of_batch(ids) for name, ids in self._shared(n_features)}
        for name in prices.get("per_query") or {}:
            self.shared[QUERY, name] = _first_of_batch(prices["qid"])

    def bought(self, feature, sample):
        """Yield the features and groups that a sample pays for when it is asked for a feature."""
        taken = self._taken(feature, sample, set())
        yield from taken
        for group in self.prices.get("group_fee") or {}:
            if self.features_of[group] & taken:
                yield group
        for name in self.prices.get("per_query") or {}:
            if name in taken or self.features_of.get(name, set()) & taken:
                yield QUERY, name

    def upkeep(self, feature):
        """Yield the features and groups whose price per model is due with a feature."""
        taken = self._taken(feature, None, set())
        for what in self._per_model():
            if what in taken or self.features_of.get(what, set()) & taken:
                yield what

    def payer(self, what, sample):
        """Return who pays: the sample, or the first of its batch for all of them."""
        return self.shared[what][sample] if what in self.shared else sample

    def price(self, what, payer):
        if payer == MODEL:
            return decimal(self._per_model()[what])
        if isinstance(what, tuple):
            return decimal(self.prices["per_query"][what[1]])
        if what in self.features_of:
            return decimal(self.prices["group_fee"][what])
        if what in self.own:
            return decimal(self.own[what][payer])
        given = self.prices.get("per_feature")
        return decimal(0.0 if given is None else given[what])

    def _taken(self, feature, sample, taken):
        """Return a feature and what it is computed from, but for values already at hand."""
        if feature in taken or (sample is not None and self._is_known(feature, sample)):
            return taken
        taken.add(feature)
        for other in (self.prices.get("requires") or {}).get(feature, ()):
            self._taken(other, sample, taken)
        return taken

    def _is_known(self, feature, sample):
        return feature in self.known and self.known[feature][sample]

    def _per_model(self):
        given = self.prices.get("per_model")
        if given is None or isinstance(given, Mapping):
            return given or {}
        return dict(enumerate(given))

    def _table(self, name, n_features):
        given = self.prices.get(name)
        if given is None or isinstance(given, Mapping):
            return given or {}
        return {feature: np.asarray(given)[:, feature] for feature in range(n_features)}

    def _shared(self, n_features):
        given = self.prices.get("shared_by")
        if given is None or isinstance(given, Mapping):
            return (given or {}).items()
        return [(what, given) for what in [*range(n_features), *self.features_of]]


def _flat(group, groups):
    """Yield the features of a group and of the groups in it."""
    for member in groups[group]:
        yield from _flat(member, groups) if member in groups else (member,)


def _first_of_batch(ids):
    first = {}
    return [first.setdefault(one, sample) for sample, one in enumerate(list(ids))]
