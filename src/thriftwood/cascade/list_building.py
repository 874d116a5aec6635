"""Make stages of rankers a cascade: tune how many documents go on, and choose a rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thriftwood.billing import model_cost_of
from thriftwood.cascade.building import N_STAGES, stage_forests
from thriftwood.cascade.list_bills import ListBills
from thriftwood.cascade.list_tuning import ListResults, tune_lists
from thriftwood.cascade.ranker import CascadeRanker
from thriftwood.cascade.rules import StoppingRules, not_beaten, whole_model
from thriftwood.costs import PriceList
from thriftwood.errors import InputError
from thriftwood.evaluation import Evaluation, choose_point, read_score
from thriftwood.forest import Stages
from thriftwood.problem import NDCG, SampleData, read_ranking
from thriftwood.refitting import LabelledSamples
from thriftwood.support.arrays import FloatArray
from thriftwood.support.progress import progress_bar


def build_list_cascade(
    path: Any,
    data: SampleData,
    prices: PriceList,
    stages: int | Sequence[int] = N_STAGES,
    refit: LabelledSamples | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    scoring: str = NDCG,
    max_cost: float = math.inf,
) -> CascadeRanker:
    """Return a cascade of points of a ranker's path, tuned on queries, as `PruningPath.cascade`."""
    validation = data.table.columns, data.target, data.sample_weights, data.query
    with progress_bar("Cascading", progress) as bar:
        forests = stage_forests(path, stages, refit, validation, n_jobs, bar)
        tried = Stages(tuple(forests), whole_model(len(forests))).check()
        ranker = CascadeRanker(tried, prices.without_samples(), scoring=scoring, n_jobs=n_jobs)
        ranker.max_cost = max_cost
        return tuned(ranker, data, prices, ranker.outputs(data.table))


def tuned(
    ranker: CascadeRanker, data: SampleData, prices: PriceList, outputs: FloatArray
) -> CascadeRanker:
    """Return a ranker with rules that fit what its stages say of documents they did not see.

    Where it has a limit for each query, rules are measured within it.
    """
    assert data.query is not None
    plan, counts = ranker.purchase_plan, data.counted(data.loss_weights)
    score: Any = read_ranking(ranker.scoring)
    some = np.flatnonzero(counts > 0)
    bills = ListBills.of(plan, data.table, prices, data.query, ranker.n_jobs)
    query = np.unique(data.query[some], return_inverse=True)[1].astype(np.int32)
    results = ListResults(
        scores=outputs[some],
        grades=np.asarray(data.target[some], dtype=np.float64),
        bills=bills._replace(own=bills.own[some], needs=bills.needs[some], query=query),
        weights=counts[some],
        score=score,
        model_costs=np.array([model_cost_of(one, ranker.prices) for one in plan.forests]),
    )
    ranker.rules = tune_lists(results)
    read = read_score(ranker.scoring, plan.richest, data, data.table.values)
    ranker.evaluation = ranker.measured(data, prices, read, outputs)
    if ranker.max_cost < math.inf:
        ranker.rules = _as_measured(ranker.rules, ranker.evaluation)
        ranker.evaluation = ranker.measured(data, prices, read, outputs)
    point = choose_point(ranker.evaluation, "one_standard_error").point
    n_rules = len(ranker.rules)
    suggested = n_rules if point is None else n_rules - 1 - point
    ranker.rules = replace(ranker.rules, suggested=suggested)
    return ranker.at(max_cost=ranker.max_cost)


def _as_measured(rules: StoppingRules, measured: Evaluation) -> StoppingRules:
    """Return rules with the costs and scores that were measured, those that others do not beat."""
    of_queries: Any = measured.cost_per_query
    costs, lacks = of_queries[::-1], 1.0 - measured.score[::-1]
    kept = not_beaten(costs, lacks)
    return StoppingRules(
        thresholds=rules.thresholds[kept],
        costs=costs[kept],
        losses=lacks[kept],
        errors=lacks[kept],
        standard_errors=rules.standard_errors[kept],
    )


def ranking_name(scoring: Any) -> str:
    """Return the score of rankings that is named, or the usual one."""
    if scoring is None:
        return NDCG
    if read_ranking(scoring) is None:
        raise InputError(
            f"`scoring` is {scoring!r}, and lists are tuned by a score of rankings: pass "
            "'ndcg@10', 'map@10' or 'mrr', with any number.",
            "scoring",
        )
    return str(scoring)
