"""A ranker in stages as the subject of a page: rules from dear to cheap, beside its last stage."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from thriftwood.billing import bill_of_stages
from thriftwood.cascade import CascadeRanker, whole_model
from thriftwood.errors import InputError
from thriftwood.evaluation import read_score
from thriftwood.problem import read_validation
from thriftwood.report.page.subject import Subject, Version
from thriftwood.report.page.thrifty import BUDGETS, purchases_in_words, subject_of_rules
from thriftwood.support.text import unit_behind
from thriftwood.support.validation import six_digits


def ranking_subject(ranker: CascadeRanker, samples: Any, nouns: str) -> Subject:
    """Return a ranker in stages, measured on documents: (X, y, sample_weight, qid)."""
    if not isinstance(samples, tuple) or len(samples) != 4 or samples[3] is None:
        raise InputError(
            "`problem` has no queries: pass (X, y, sample_weight, qid) of documents that the "
            "ranker was not trained on; sample_weight may be None.",
            "problem",
        )
    X, y, weight, qid = samples
    plan, rules = ranker.purchase_plan, ranker.rules
    about = "all", None, weight
    data, prices = read_validation(plan.richest, ranker.prices, X, y, *about, qid=qid)
    query = data.query
    assert query is not None
    outputs = ranker.outputs(data.table)
    score = read_score(ranker.scoring, plan.richest, data, data.table.values)
    evaluation = ranker.measured(data, prices, score, outputs)
    sets = [frozenset(one.feature[one.is_split].tolist()) for one in plan.forests]
    rule = len(rules) if ranker.rule is None else ranker.rule

    def version(point: int | None) -> Version:
        thresholds = whole_model(len(plan)) if point is None else rules.thresholds[-1 - point]
        stages = replace(plan, thresholds=thresholds)
        stage = ranker.walked(outputs, query, thresholds).stage
        about = data.table, prices, ranker.n_jobs, data.weights
        bill = replace(bill_of_stages(stages, *about, query=query, stage=stage), _part="stage")
        bought = frozenset().union(*(sets[number] for number in stages.in_use))
        counted = np.bincount(stage + 1, data.weights, len(plan) + 1)[1:]
        return Version(
            bill,
            prices.n_columns_of(np.array(sorted(bought), dtype=np.int64)),
            counted / data.weights.sum(),
            purchases_in_words(sets, stages.in_use, plan.richest.columns),
        )

    limit = "" if ranker.max_cost == math.inf else f", max_cost={ranker.max_cost!r}"
    unit = unit_behind(ranker.prices.unit)
    why = "the dearest rule; the ranker is set to its last stage, for all documents"
    if rule < len(rules):
        why = (
            "the ranker as it is set, to a rule that cost "
            f"{six_digits(rules.costs[rule])}{unit} a query where it was tuned"
        )
    return subject_of_rules(
        ranker,
        rules,
        len(plan),
        f"Budgets are those of queries. {BUDGETS}",
        nouns,
        limit,
        data=data,
        prices=prices,
        costs=rules.costs[::-1],
        own=evaluation,
        start=max(len(rules) - 1 - rule, 0),
        why=why,
        version=version,
    )
