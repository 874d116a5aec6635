"""A ranker that starts cheap and buys more only for the documents that may still be at the top."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.acquisition import read_limit
from thriftwood.adapters import FittedModel, Scoring
from thriftwood.billing import FeatureBill, bill_of_stages, model_cost_of
from thriftwood.cascade.list_bills import ListBills, most_paid
from thriftwood.cascade.rules import (
    NO_RULES,
    StoppingRules,
    rule_parts,
    rules_from,
    whole_model,
)
from thriftwood.costs import AnyCosts, PriceList, price_parts, prices_from, prices_of_samples
from thriftwood.errors import InputError
from thriftwood.evaluation import Choice, Evaluation, Meter, Predicted, Score, choice_of, read_score
from thriftwood.forest import (
    Forest,
    ListPredictions,
    ListRule,
    ListWalk,
    NestedStages,
    Stages,
    files,
    load_stages,
    purchase_plan,
    save_stages,
    stage_parts,
    stages_from,
    walk_lists,
)
from thriftwood.forest.table import Table, read_rows
from thriftwood.problem import (
    NDCG,
    RankingScore,
    SampleData,
    grades_of,
    read_queries,
    read_ranking,
    read_target,
    read_validation,
)
from thriftwood.support.arrays import FloatArray, IndexArray, IntArray, read_only
from thriftwood.support.axes import with_unit
from thriftwood.support.summary import Chart, Summarised, Summary
from thriftwood.support.validation import shares_of_one

FORMAT = "thriftwood ranker"
VERSION = 1


class CascadeRanker(Summarised, FittedModel):
    """A ranker in stages, made by `PruningPath.cascade`, in `ThriftyRanker` or read by `load`.

    All documents of a query start at the cheapest stage; those that are best there go on to the
    next, and stand above the others. What was bought at one stage is used at the next. How many go
    on from each stage is tuned on queries, for every budget.

    Parameters
    ----------
    stages : Stages or NestedStages
        Forests, or models on nested sets of features, from cheap to rich. A document stops where as
        many of its query are better as the threshold says.
    prices : PriceList
    rules : StoppingRules, optional
        The rules that were tuned; their costs are mean bills of queries, their errors what the
        score lacks.
    scoring : str
        The score of rankings that they were tuned by.
    feature_names : tuple of str, optional
        Of columns, for nested stages.
    n_jobs : int, optional
        Threads, as in scikit-learn.
    max_cost : float
        What a query may pay at the most: a document goes on only if the next stage fits, whatever
        its trees ask for.

    Attributes
    ----------
    evaluation : Evaluation, optional
        Of the rules, from dear to cheap, on the samples that tuned them.
    choice : Choice, optional
        What the rule in use gives up for what it saves, on the samples that tuned it.
    n_features_in_ : int
    feature_names_in_ : array, shape (n_features,)
        Where the model knows the names of its columns.
    """

    def __init__(
        self,
        stages: Stages | NestedStages,
        prices: PriceList,
        rules: StoppingRules | None = None,
        scoring: str = NDCG,
        feature_names: tuple[str, ...] | None = None,
        n_jobs: int | None = None,
        max_cost: float = math.inf,
    ) -> None:
        self.stages = stages
        self.prices = prices
        self.rules = NO_RULES if rules is None else rules
        self.scoring = scoring
        self.feature_names = feature_names
        self.n_jobs = n_jobs
        self.max_cost = max_cost
        self.evaluation: Evaluation | None = None

    @cached_property
    def purchase_plan(self) -> Stages:
        """Purchases of each stage, as trees that bills and lazy predictors can follow."""
        if isinstance(self.stages, Stages):
            return self.stages
        return purchase_plan(self.stages, None, self.feature_names)

    @property
    def _trees(self) -> Forest:
        return self.purchase_plan.richest

    def predict(self, X: Any, qid: ArrayLike | None = None) -> FloatArray:
        """Rank documents: return minus the number of documents of its query above each.

        Parameters
        ----------
        X : array-like or data frame, shape (n_samples, n_features)
        qid : array-like, shape (n_samples,)
            The query of each sample.
        """
        return self.decision_path(X, qid).predictions

    def decision_path(self, X: Any, qid: ArrayLike | None = None) -> ListPredictions:
        """Return at which stage documents stop, what it says of them, and their ranks."""
        table, query = self._read(X, qid)
        return self._walk(table, query)

    def bill(self, X: Any, qid: ArrayLike | None = None, costs: AnyCosts = None) -> FeatureBill:
        """Return what documents and their queries pay.

        Parameters
        ----------
        X, qid
            As in `predict`.
        costs : array-like, mapping or Costs, optional
            None means the prices that the stages were tuned with.
        """
        table, query = self._read(X, qid)
        columns = self._trees.named(table.names).columns
        prices = prices_of_samples(self.prices, "model", costs, columns, len(query), query)
        stage = self._walk(table, query).stage
        return bill_of_stages(
            self.purchase_plan, table, prices, self.n_jobs, query=query, stage=stage
        )

    def score(self, X: Any, y: Any, qid: ArrayLike | None = None) -> float:
        """Return the score of rankings, such as NDCG."""
        table, query = self._read(X, qid)
        ranking: Any = read_ranking(self.scoring)
        grades = grades_of(ranking, self._trees, read_target(y, self._trees, table.n_samples))
        found = self._walk(table, query).predictions
        return float(ranking.of_queries(grades, found, query).mean())

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: ArrayLike,
        scoring: Scoring = None,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        sample_weight: ArrayLike | None = None,
        costs: AnyCosts = None,
    ) -> Evaluation:
        """Measure all rules, from dear to cheap; the original is the last stage alone.

        Parameters
        ----------
        X, y, qid
            Documents, their grades and queries.
        scoring, quantiles, sample_weight, costs
            As in `PruningPath.evaluate`; None means the score that rules were tuned by.
        """
        about = "all", None, sample_weight, costs, None, qid
        data, prices = read_validation(self._trees, self.prices, X, y, *about)
        if data.query is None:
            raise self._without_queries()
        score = read_score(scoring or self.scoring, self._trees, data, data.table.values)
        shares = shares_of_one(quantiles, "quantiles")
        return self.measured(data, prices, score, self.outputs(data.table), shares)

    def measured(
        self,
        data: SampleData,
        prices: PriceList,
        score: Score,
        outputs: FloatArray,
        shares: tuple[float, ...] = (),
    ) -> Evaluation:
        """Measure all rules, given what stages say of documents, shape (n_documents, n_stages)."""
        assert data.query is not None
        plan = self.purchase_plan
        bills = ListBills.of(plan, data.table, prices, data.query, self.n_jobs)
        meter = Meter(self, self._trees, data, score, shares, 1 + len(self.rules))
        found = []
        for rule in [whole_model(len(plan)), *self.rules.thresholds[::-1]]:
            stages = replace(plan, thresholds=rule)
            walked = self.walked(outputs, data.query, rule)
            predicted = walked.predictions[:, None]
            losses = (predicted.T - data.target) ** 2
            bill = bills.per_document(walked.stage)
            cost = float(np.average(bill, weights=data.weights))
            measures = meter(Predicted(losses, predicted, np.zeros(len(bill), np.int64)), bill)
            found.append(
                measures._replace(cost=cost + model_cost_of(stages.last_in_use, self.prices))
            )
        return Evaluation.of(
            found,
            points=read_only(np.arange(len(self.rules))),
            tradeoffs=read_only(np.full(len(self.rules), np.nan)),
            quantiles=shares,
            n_samples=int(np.count_nonzero(data.sample_weights)),
            scoring=score.name,
            **meter.about_queries,
        )

    def at(self, *, budget: float | None = None, max_cost: float = math.inf) -> CascadeRanker:
        """Return the same stages with the rule for another budget, and another limit.

        Parameters
        ----------
        budget : float, optional
            What a query may cost on average, on the queries that the rules were tuned on. None
            means the cheapest rule that is not clearly worse than the best.
        max_cost : float
            What no query may pay more than, apart from what is paid once for the model.
        """
        rules = np.vstack([self.rules.thresholds, whole_model(len(self.stages))])
        other = copy(self)
        other.__dict__.pop("purchase_plan", None)
        other.stages = replace(self.stages, thresholds=rules[self.rules.within(budget)])
        other.max_cost = read_limit(max_cost)
        return other

    @property
    def rule(self) -> int | None:
        """The number of the rule in use, one beyond the last for the last stage alone."""
        return self.rules.number_of(self.stages.thresholds)

    @property
    def choice(self) -> Choice | None:
        """Score and bill given up and saved, on the samples that tuned the rules."""
        own = self.rule
        if self.evaluation is None or own is None or self.max_cost < math.inf:
            return None
        place = None if own == len(self.rules) else len(self.rules) - 1 - own
        how = "one_standard_error" if own == self.rules.suggested else "budget"
        return choice_of(self.evaluation, place, how)

    def list_rule(self, stages: Stages | NestedStages | None = None) -> ListRule:
        """Return the rule by which documents go on, at thresholds of these stages or its own."""
        used = self.stages if stages is None else stages
        rule = ListRule(used.in_use, used.thresholds)
        if self.max_cost == math.inf:
            return rule
        most = most_paid(self.purchase_plan, self.prices)
        return rule._replace(max_cost=self.max_cost, per_document=most[0], per_query=most[1])

    def outputs(self, table: Table) -> FloatArray:
        """Return scores of documents at all stages, shape (n_documents, n_stages)."""
        return np.column_stack(
            [
                self.stages.outputs(number, table.values, self.n_jobs)[:, 0]
                for number in range(len(self.stages))
            ]
        )

    def walked(self, outputs: FloatArray, query: IndexArray, rule: FloatArray) -> ListPredictions:
        """Send documents through stages whose outputs are known, by the thresholds of a rule."""
        stages = replace(self.stages, thresholds=rule)
        return _finished(
            walk_lists(self.list_rule(stages), query), lambda number, here: outputs[here, number]
        )

    def _walk(self, table: Table, query: IndexArray) -> ListPredictions:
        """Send documents through the stages in use, each predicted as far as it comes."""

        def scores(number: int, here: IntArray) -> FloatArray:
            return self.stages.outputs(number, table.values[here], self.n_jobs)[:, 0]

        return _finished(walk_lists(self.list_rule(), query), scores)

    def _read(self, X: Any, qid: ArrayLike | None) -> tuple[Table, IndexArray]:
        table = read_rows(X, self._trees)
        query = read_queries(qid, table.n_samples)
        if query is None:
            raise self._without_queries()
        return table, query

    def _without_queries(self) -> InputError:
        return InputError(
            f"A {type(self).__name__} ranks the documents of each query: pass `qid`, the query of "
            "each sample.",
            "qid",
        )

    def _summary(self) -> Summary:
        in_use = f"{type(self).__name__}: {len(self.stages.in_use)} of {len(self.stages)} stages"
        own, choice = self.rule, self.choice
        notes = [] if choice is None else [str(choice)]
        if own is None or own == len(self.rules):
            return Summary(f"{in_use} in use", notes=notes)
        about = with_unit("mean bill of a query", self.prices.unit), self.scoring
        scores = 1.0 - self.rules.errors
        mark = (float(self.rules.costs[own]), float(scores[own]), "this rule")
        chart = Chart(self.rules.costs, scores, *about, mark=mark)
        return Summary(f"{in_use} in use", notes=notes, chart=chart)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the ranker to a file, all of it or nothing; `load` reads it.

        The file holds arrays and text, nothing that could be run.
        """
        about_prices, arrays = price_parts(self.prices)
        arrays |= rule_parts(self.rules)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "suggested": self.rules.suggested,
            "scoring": self.scoring,
            "feature_names": self.feature_names,
            "max_cost": None if self.max_cost == math.inf else self.max_cost,
            "prices": about_prices,
        }
        if isinstance(self.stages, NestedStages):
            save_stages(file, self.stages, header, arrays)
            return
        header["forests"], own = stage_parts(self.stages)
        files.save_arrays(file, header, arrays | own | {"thresholds": self.stages.thresholds})

    @classmethod
    def load(cls, file: str | os.PathLike[str], n_jobs: int | None = None) -> CascadeRanker:
        """Read a ranker that `save` wrote; refuse a file that is damaged."""
        otherwise = "no ranker that `CascadeRanker.save` wrote"
        header, arrays = files.load_arrays(file, FORMAT, VERSION, otherwise)
        try:
            stages: Stages | NestedStages
            if "forests" in header:
                stages = stages_from(header["forests"], arrays)
            else:
                stages = load_stages(header, arrays)
            rules = rules_from(header["suggested"], arrays)
            names = header["feature_names"]
            ranker = cls(
                stages,
                prices_from(header["prices"], arrays),
                rules,
                str(header["scoring"]),
                None if names is None else tuple(map(str, names)),
                n_jobs,
                math.inf if header["max_cost"] is None else read_limit(header["max_cost"]),
            )
            fits = (
                rules.fits(len(stages))
                and ranker.prices.n_features == ranker.n_features_in_
                and isinstance(read_ranking(ranker.scoring), RankingScore)
            )
            if not fits:
                raise ValueError
        except (*files.DAMAGE, InputError):
            raise InputError(f"{file} is damaged: copy it again.") from None
        return ranker


def _finished(walk: ListWalk, scores: Callable[[int, IntArray], FloatArray]) -> ListPredictions:
    try:
        number, here = next(walk)
        while True:
            number, here = walk.send(scores(number, here))
    except StopIteration as end:
        return end.value
