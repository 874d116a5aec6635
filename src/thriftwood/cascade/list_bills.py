"""Bills of documents that stop at stages, and of their queries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thriftwood.billing import features_used, payments, steps_of
from thriftwood.costs import MODEL, QUERIES, PriceList
from thriftwood.errors import InputError
from thriftwood.forest import Stages
from thriftwood.forest.table import Table
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray


class ListBills(NamedTuple):
    """Payments of documents that stop at each stage."""

    # (n_documents, n_stages), what a document pays for itself, never less than before
    own: FloatArray
    # (n_documents, n_stages, n_items), which cost items of its query a document needs
    needs: BoolArray
    prices: FloatArray  # (n_items,), of these
    query: IndexArray  # (n_documents,)

    @classmethod
    def of(
        cls,
        stages: Stages,
        table: Table,
        prices: PriceList,
        query: IndexArray,
        n_jobs: int | None = None,
    ) -> ListBills:
        """Measure what the forests of all stages buy for documents."""
        check_shared(prices)
        items = np.flatnonzero(prices.payer == QUERIES)
        shape = table.n_samples, len(stages)
        own, needs = np.zeros(shape), np.zeros((*shape, len(items)), dtype=np.bool_)
        place = {int(item): number for number, item in enumerate(items)}
        for stage, forest in enumerate(stages.forests):
            used, test_costs = features_used(forest, table, prices, n_jobs)
            own[:, stage] = test_costs
            uses = steps_of(used)
            for one in payments(prices.for_queries(query), uses.T.__getitem__):
                needed = one.needed >= 0
                if one.cost_item in place:
                    needs[:, stage, place[one.cost_item]] = needed
                else:
                    own[:, stage] += np.where(needed, one.amount, 0.0)
        return cls(own, needs, prices.prices[items], query)

    def per_document(self, stage: IntArray) -> FloatArray:
        """Return the bills of documents that stop at these stages; queries share theirs equally."""
        here = np.arange(len(stage)), stage
        bill: FloatArray = np.where(stage >= 0, self.own[here], 0.0)
        size = np.bincount(self.query)
        for item, price in enumerate(self.prices):
            needs = self.needs[..., item][here] & (stage >= 0)
            pays = np.bincount(self.query, needs) > 0
            bill += (pays * price / size)[self.query]
        return bill


def check_shared(prices: PriceList) -> None:
    """Refuse prices that documents of several queries share."""
    if (prices.payer > (QUERIES if prices.has_queries else -1)).any():
        raise InputError(
            "With `shared_by` what a query pays depends on where others stop, so that none can be "
            "told when to stop: leave it out of `costs`, and give prices `per_query`.",
            "costs",
        )


def most_paid(stages: Stages, prices: PriceList) -> tuple[FloatArray, FloatArray]:
    """Return upper bounds on the bills of a document, and of its query, that stop at each stage."""
    dearest = np.where(prices.payer == MODEL, 0.0, prices.prices)
    if prices.own_prices is not None:
        dearest[: prices.n_columns] = prices.own_prices.max(axis=0)
    found = np.zeros((2, len(stages)))
    for number, forest in enumerate(stages.forests):
        used = np.zeros(prices.n_features, dtype=np.bool_)
        used[forest.feature[forest.is_split]] = True
        items = np.unique(prices.cost_item[np.repeat(used, np.diff(prices.start))])
        of_query = prices.payer[items] == QUERIES
        found[:, number] = dearest[items[~of_query]].sum(), dearest[items[of_query]].sum()
        depths = np.maximum.reduceat(forest.depth, forest.tree_start[:-1])
        found[0, number] += prices.per_split * depths.sum()
    return found[0], found[1]
