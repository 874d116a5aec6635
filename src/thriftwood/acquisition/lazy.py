"""Predict samples whose features are bought one by one, at their first use."""

from __future__ import annotations

import inspect
import math
import reprlib
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from thriftwood.acquisition import buying
from thriftwood.acquisition.answer import LazyAnswer
from thriftwood.acquisition.buying import Buyer, Calls, Request
from thriftwood.acquisition.columns import ColumnBuyer
from thriftwood.acquisition.kernels import KNOWN, LOST
from thriftwood.acquisition.lists import (
    LazyRanking,
    buy_by_stages,
    buy_until_decided,
    many_at_a_time,
    many_from_one,
    values_of,
)
from thriftwood.acquisition.sets import CompiledSets
from thriftwood.acquisition.traversal import compile_stages, price_arrays
from thriftwood.acquisition.values import Known, ValueReader, read_ids
from thriftwood.adapters import own_prices, read_stages, unwrapped
from thriftwood.costs import AnyCosts, Costs, PriceList, as_costs, read_prices, with_known
from thriftwood.errors import AcquisitionError, ConstantPredictionWarning, InputError
from thriftwood.forest import ListRule, NestedStages
from thriftwood.forest.table import Table, read_rows
from thriftwood.problem import AnyErrorCosts, ErrorCosts, answers_of, read_error_costs
from thriftwood.support.arrays import IndexArray
from thriftwood.support.validation import chosen, one_number_from_zero, whole_number

# Prices are looked at as those of a single document, before there are any.
ONE_QUERY = np.zeros(1, dtype=np.int32)


class LazyPredictor:
    """Predict samples whose features are bought at their first use by a tree, and only then.

    Predictions and bills are those of the model and of `feature_bill`, had all values been there
    from the start. No sample requests a value twice.

    Parameters
    ----------
    model : fitted model, pruned or not
        Any model that `prune` accepts, a `Pruned`, a cascade, a fitted `PrunedEnsemble*` or
        `Thrifty*`.
    acquire : callable, optional
        ``acquire(sample, feature)`` returns one value: a number; None or NaN where it is missing;
        the label of a category where the model knows labels. `sample` is an id as passed to
        `predict`, `feature` the name of a column, or its number where the model knows no names. May
        be a coroutine function: then await `predict_async`. For retries and time-outs wrap it, for
        example by `tenacity.retry` and `asyncio.wait_for`. Without a source `predict` takes a table
        of all values, and reads there what it would buy.
    acquire_many : callable, in place of `acquire`
        ``acquire_many(requests)`` gets a tuple of (sample, feature), the next needs of all samples
        together, and returns one value for each in the same order, or a mapping from request to
        value. A value that is an exception says that this request failed. If the call itself
        fails, it is made again for each half of the requests, down to single ones. May be a
        coroutine function.
    costs : array-like, mapping from feature name to price, Costs, or None
        As in `prune`. None means the prices that a `Pruned`, a cascade or a pruned ensemble was
        made with; any other model knows none: 1 each, so that bills count features.
    error_costs : float, mapping from class to cost, or matrix, optional
        What wrong answers cost, as in `pruning_problem`: labels are then those of least expected
        cost. None means those of a cascade or an estimator that has some; any other model, a
        `Pruned` too, answers with the most probable class.
    stop : {None, "decided"}
        "decided" stops as soon as no value that was not read can change the predicted label, and
        requests the most telling value for its price first. Labels stay the same and no bill is
        higher; probabilities become estimates. For classifiers; and for rankers in `rank`, where
        documents stop when the first k are decided.
    max_cost : float, optional
        What a sample may pay at the most, apart from what is paid once for the model. No value is
        bought that would raise the bill above it: trees that need one answer with the node that
        they have reached, the others go on. With ``stop="decided"`` labels are those of the limit
        alone, but for cascades. None means the limit of a cascade that has one, else none.
    on_failure : {"raise", "missing", "node"}
        What becomes of a sample for which the source failed. "raise": all others are finished, then
        `AcquisitionError` is raised, which has their answers. "missing": the value counts as
        missing, and splits send the sample where they send such values. "node": trees that need the
        value answer with the node that they have reached, the others go on. Without a source that
        holds for what is missing in the table: it will never come.
    max_in_flight : int
        How many calls of a coroutine `acquire` may wait for their answers at a time, for all
        samples together. No more samples than that are in progress at a time.

    Notes
    -----
    Without `stop` and `max_cost` every value that is requested is needed whatever the others are,
    so the order changes no bill. `acquire` is called sample after sample, for tree after tree, from
    the root down; a coroutine `acquire` for what all trees of a sample need next, `acquire_many`
    for what all trees of up to 10,000 samples need next. With ``stop="decided"`` or `max_cost` a
    sample requests one value at a time: the one with the largest ratio of how far apart lies what
    trees that wait for it may still say, to what it would add to the bill of the sample.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = tw.datasets.load_heart()
    >>> X = heart.frame()
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, heart.y)
    >>> lazy = tw.LazyPredictor(
    ...     tree, acquire=lambda patient, test: X.at[patient, test], costs=heart.prices
    ... )
    >>> answer = lazy.predict([0, 17])
    >>> answer
    LazyAnswer for 2 samples: 4 requests in 2 rounds, none failed; mean bill 153.85 CAD
    >>> bool((answer.labels == tree.predict(X.loc[[0, 17]])).all())
    True
    >>> answer.receipt(0)
    Receipt of sample 0: 103.9 CAD for 2 features
      tree 0  thal = 6      102.9  thal 1 + B 101.9
      tree 0  cp = 1            1
    """

    def __init__(
        self,
        model: Any,
        *,
        acquire: Callable[[Any, Any], Any] | None = None,
        acquire_many: Callable[[tuple[Request, ...]], Any] | None = None,
        costs: AnyCosts = None,
        error_costs: AnyErrorCosts = None,
        stop: Literal["decided"] | None = None,
        max_cost: float | None = None,
        on_failure: Literal["raise", "missing", "node"] = "raise",
        max_in_flight: int = 100,
    ) -> None:
        self._source = _read_source(acquire, acquire_many)
        self._in_batches = acquire is None
        self._is_async = any(
            map(inspect.iscoroutinefunction, (self._source, type(self._source).__call__))
        )
        model = getattr(model, "cascade_", model)
        # A cascade of lists: how many documents of a query go on is known when all are there.
        self._ranker = model if callable(getattr(model, "list_rule", None)) else None
        waits = self._ranker is not None
        nested = model.stages if waits else getattr(model, "stages_", None)
        is_nested = isinstance(nested, NestedStages)  # and keeps within its limit by itself
        own_limit = (
            math.inf if is_nested or waits else getattr(unwrapped(model), "max_cost", math.inf)
        )
        self._max_cost = read_limit(own_limit if max_cost is None else max_cost)
        self._on_failure = chosen(on_failure, ("raise", "missing", "node"), "on_failure")
        self._max_in_flight = whole_number(max_in_flight, "max_in_flight", 1)
        self._forest: Any
        if isinstance(nested, NestedStages):
            _check_sets(model, stop, self._max_cost, self._on_failure)
            self._forest = CompiledSets(nested, model.purchase_plan, waits)
        else:
            stages = read_stages(model).check()
            if costs is not None:
                stages = stages.called(as_costs(costs).features)
            self._forest = compile_stages(stages, waits)
        self._reader = ValueReader(self._forest.richest)
        self._stops_early = stop is not None and bool(chosen(stop, ("decided",), "stop"))
        if self._stops_early and waits:
            raise InputError(
                "`stop` is 'decided', and a cascade goes by its own rules: leave `stop` out.",
                "stop",
            )
        self._error_costs = getattr(model, "error_costs_", None)
        self._recalibration = getattr(model, "recalibration_", None)
        if error_costs is not None:
            classes = self._forest.richest.classes
            self._error_costs = read_error_costs(ErrorCosts(error_costs), classes)
        if self._stops_early and self._error_costs is not None:
            raise InputError(
                "`stop` is 'decided', once the most probable class is, and this model answers by "
                "what errors cost. Leave `stop` out.",
                "stop",
            )
        self._weighs = self._stops_early or self._max_cost < math.inf
        if self._weighs:
            self._bounds = self._forest.score_bounds(leaves_only=self._max_cost == math.inf)
        self._own = own_prices(model) if costs is None else None
        if self._own is not None and (self._own.is_plain or self._own.is_tied_to_samples):
            costs, self._own = self._own.as_costs(), None
        self._costs = costs
        if isinstance(costs, Costs):  # those of certain samples come with the samples
            costs = costs.for_samples(per_sample=None, known=None, shared_by=None)
        self._prices = self._own or self._read_prices(costs, 1, ONE_QUERY)
        self._price_arrays = price_arrays(self._prices)

    def predict(
        self, samples: Iterable[Any], *, known: Known | None = None, costs: AnyCosts = None
    ) -> LazyAnswer:
        """Predict samples, buying what they need.

        Parameters
        ----------
        samples : sequence, or table of shape (n_samples, n_features)
            Their ids, whatever the source knows them by; without a source, all their values.
        known : sequence of mappings from feature to value, optional
            What is known beforehand, one mapping for each sample, or None for those that know
            nothing. It is not requested and costs nothing.
        costs : as in `LazyPredictor`, optional
            For these samples, in place of the predictor's: needed where prices are tied to samples.

        Raises
        ------
        AcquisitionError
            The source failed for some samples, and `on_failure` is "raise".
        """
        if self._is_async:
            raise InputError(
                "The source is a coroutine function: use `await lazy.predict_async(samples)`."
            )
        self._check_alone()
        if self._source is None:
            table = self._read_table(samples)
            buyer, costs, prices = self._begin(range(table.n_samples), known, costs)
            buyer.from_table(table)
            return self._end(buyer, costs, prices)
        buyer, costs, prices = self._begin(samples, known, costs)
        calls = buyer.in_batches() if self._in_batches else buyer.one_by_one()
        buying.make_calls(calls, self._source)
        return self._end(buyer, costs, prices)

    async def predict_async(
        self, samples: Iterable[Any], *, known: Known | None = None, costs: AnyCosts = None
    ) -> LazyAnswer:
        """Predict samples by a source that is a coroutine function; otherwise as `predict`.

        With `acquire` many samples are in progress at a time, and each goes on as soon as its own
        values are there.
        """
        if self._source is None or not self._is_async:
            raise InputError(
                "The source is a plain function: use `lazy.predict(samples)`, or pass a function "
                "made by `async def`."
            )
        self._check_alone()
        buyer, costs, prices = self._begin(samples, known, costs)
        if self._in_batches:
            await buying.make_calls_async(buyer.in_batches(), self._source)
        else:
            await buyer.concurrently(self._source, self._max_in_flight)
        return self._end(buyer, costs, prices)

    def rank(
        self,
        query: Any,
        documents: Iterable[Any],
        k: int = 10,
        *,
        known: Known | None = None,
        costs: AnyCosts = None,
    ) -> LazyRanking:
        """Find the first documents of a query, buying what that needs.

        The source is asked for features of pairs: `sample` is ``(query, document)``; for those that
        a price `per_query` is all there is to pay for, once for the query, with one of its
        documents. All documents are in progress together, so that `acquire_many` is asked in few
        rounds. A cascade sends the
        best of each stage on. Of any other model all documents are scored; with ``stop="decided"``
        documents stop as soon as values that were not read cannot change the first k or their
        order, and the others buy one value each in a round.

        Parameters
        ----------
        query
            Its id, whatever the source knows it by.
        documents : sequence, or table of shape (n_documents, n_features)
            Their ids; without a source, all their values.
        k : int
            How many to find; all where there are fewer.
        known, costs
            As in `predict`, for the documents.
        """
        if self._is_async:
            raise InputError(
                "The source is a coroutine function: use `await lazy.rank_async(query, documents)`."
            )
        source: Any = self._source
        if source is not None and not self._in_batches:
            source = many_from_one(source)
        elif source is None:
            table = self._read_table(documents, "rank")
            documents, source = (
                range(table.n_samples),
                values_of(table, self._reader.names, self._forest.richest),
            )
        calls, buyer, end = self._begin_ranking(query, documents, k, known, costs)
        if self._source is None:  # a table has the query's own features with every document
            buyer.query_columns = frozenset()
        buying.make_calls(calls, source)
        return end()

    async def rank_async(
        self,
        query: Any,
        documents: Iterable[Any],
        k: int = 10,
        *,
        known: Known | None = None,
        costs: AnyCosts = None,
    ) -> LazyRanking:
        """Find the first documents by a source that is a coroutine function; else as `rank`."""
        if self._source is None or not self._is_async:
            raise InputError("The source is a plain function: use `lazy.rank(query, documents)`.")
        source = self._source
        if not self._in_batches:
            source = many_at_a_time(source, self._max_in_flight)
        calls, _, end = self._begin_ranking(query, documents, k, known, costs)
        await buying.make_calls_async(calls, source)
        return end()

    def _begin_ranking(
        self, query: Any, documents: Any, k: int, known: Known | None, costs: AnyCosts
    ) -> tuple[Calls, Buyer, Callable[[], LazyRanking]]:
        """Return the calls that rank documents, who makes them, and what ends the ranking."""
        n_first, found = whole_number(k, "k", 1), read_ids(documents, "documents")
        if self._forest.richest.is_classifier:
            raise InputError(
                "This model predicts classes, and `rank` sorts by numbers: pass a ranker, or a "
                "regressor of grades."
            )
        if self._max_cost < math.inf:
            raise InputError(
                "`max_cost` is what a sample may pay, and of a ranking the query pays: give the "
                "limit to a cascade, by `cascade.at(max_cost=...)`.",
                "max_cost",
            )
        ids = [(query, document) for document in found]
        buyer, costs, prices = self._begin(ids, known, costs, is_list=True)
        buyer.query_columns = prices.query_columns
        if self._stops_early:
            calls = buy_until_decided(buyer, n_first, self._forest.nodes, self._bounds)
        else:
            rule = ListRule([0], np.zeros(1))
            if self._ranker is not None:
                rule = self._ranker.list_rule()
            calls = buy_by_stages(buyer, rule)

        def end() -> LazyRanking:
            answer, ranking = self._end(buyer, costs, prices), buyer.ranking
            assert ranking is not None
            first = np.argsort(-ranking.predictions, kind="stable")[:n_first]
            own = tuple(found[i] for i in first.tolist())
            return LazyRanking(query, own, ranking.scores[first], ranking.stage, answer)

        return calls, buyer, end

    def _check_alone(self) -> None:
        """Refuse to predict samples alone that are ranked together, or pay together."""
        if self._ranker is not None or self._prices.has_queries:
            raise InputError(
                "Documents of a query are ranked, and pay, together: use `lazy.rank(query, "
                "documents)`."
            )
        if self._stops_early and not self._forest.richest.is_classifier:
            raise InputError(
                "`stop` is 'decided', but the model predicts numbers: any value may still change "
                "them. Leave `stop` out, or rank documents by `lazy.rank(query, documents)`.",
                "stop",
            )

    def __repr__(self) -> str:
        stop = ", stop='decided'" if self._stops_early else ""
        limit = f", max_cost={self._max_cost:g}" if self._max_cost < math.inf else ""
        return f"LazyPredictor({self._forest.richest!r}{stop}{limit})"

    def _begin(
        self,
        samples: Iterable[Any],
        known: Known | None,
        costs: AnyCosts,
        is_list: bool = False,
    ) -> tuple[Buyer, AnyCosts, PriceList]:
        """Return a buyer for samples, and their prices, as given and as a list."""
        ids = read_ids(samples)
        costs = self._costs if costs is None else costs
        if known is not None:
            mask, values = self._reader.known(known, len(ids))
            if mask.any():
                if costs is None and self._own is not None:
                    costs = self._own.as_costs()  # says what to do
                costs = with_known(costs, mask, self._forest.richest.columns)
        prices, weighed = self._prices, self._price_arrays
        is_tied = isinstance(costs, Costs) and costs.is_tied_to_samples
        if is_tied or costs is not self._costs:
            prices = self._read_prices(costs, len(ids), np.zeros(len(ids), np.int32))
            weighed = price_arrays(prices)
        elif is_list:
            prices = prices.for_queries(np.zeros(len(ids), np.int32))
        if self._max_cost < math.inf and prices.is_shared:
            raise InputError(
                "With `shared_by` what a sample pays depends on what others buy, so that no bill "
                "can be held within `max_cost`. Leave one of the two out.",
                "max_cost",
            )
        weighing = None
        if self._weighs:
            by_label = self._stops_early and not is_list
            weighing = self._bounds, weighed, (by_label, self._max_cost)
        one_by_one = not (self._in_batches or self._is_async or is_list)
        most = buying.BATCH_SIZE if self._in_batches else 1 if one_by_one else self._max_in_flight
        most = len(ids) if is_list else most
        traversal = self._forest.traversal(len(ids), min(len(ids), most), one_by_one, weighing)
        inputs = self._forest.richest.inputs
        if inputs is not None and prices.made_of is not None:
            inputs = replace(inputs, columns=prices.made_of)
            columns = ColumnBuyer(inputs, traversal, ids, self._reader, self._on_failure)
            if known is not None:
                columns.set_known(mask, values)
            return columns, costs, prices
        if known is not None:
            traversal.set_known(mask, values)
        return Buyer(traversal, ids, self._reader, self._on_failure), costs, prices

    def _read_table(self, samples: Any, call: str = "predict") -> Table:
        try:
            return read_rows(samples, self._forest.richest)
        except InputError as error:
            hint = f"Without `acquire` and `acquire_many`, `{call}` takes a table of all values."
            argument = "samples" if call == "predict" else "documents"
            raise InputError(f"{error} {hint}", argument) from None

    def _read_prices(self, costs: AnyCosts, n_samples: int, query: IndexArray) -> PriceList:
        return read_prices(costs, self._forest.richest.columns, n_samples, query)

    def _end(self, buyer: Buyer, costs: AnyCosts, prices: PriceList) -> LazyAnswer:
        """Return the answer, or raise where samples had to be given up."""
        if self._is_below_all(buyer):
            warnings.warn(
                f"`max_cost` is {self._max_cost:g}, which is less than any value costs that the "
                "model asks for first: nothing was bought, and all samples got the same answer.",
                ConstantPredictionWarning,
                stacklevel=3,
            )
        if not buyer.dropped:
            return self._answer(buyer, prices, slice(None))
        good = np.delete(np.arange(len(buyer.ids)), list(buyer.dropped))
        if isinstance(costs, Costs) and len(good):
            prices = self._read_prices(costs.take(good), len(good), np.zeros(len(good), np.int32))
        answer = self._answer(buyer, prices, good)
        error = AcquisitionError(_failed(buyer, len(good)), answer.failures, answer)
        raise error from answer.failures[0].error

    def _is_below_all(self, buyer: Buyer) -> bool:
        """Return True where the limit alone, if there is one, kept every sample at the roots."""
        if not 0 < self._max_cost < math.inf or self._on_failure == "node" or buyer.n_requests:
            return False
        status = buyer.traversal.state.status
        return bool((status == LOST).any()) and not (status == KNOWN).any()

    def _answer(self, buyer: Buyer, prices: PriceList, good: Any) -> LazyAnswer:
        """Return the answer for samples that were not given up."""
        forest, state = self._forest, buyer.traversal.state
        classes, stage = forest.richest.classes, state.stage[good]
        predicted = forest.predictions(state.scores[good], stage)
        answers = answers_of(predicted, self._error_costs, self._recalibration)
        kept = range(len(buyer.ids))[good] if isinstance(good, slice) else good.tolist()
        return LazyAnswer(
            samples=tuple(buyer.ids[i] for i in kept),
            labels=None if classes is None else classes[answers],
            proba=None if classes is None else predicted,
            values=predicted[:, -1] if classes is None else None,
            stages=forest.in_use[stage],
            n_requests=buyer.n_requests,
            n_rounds=buyer.n_rounds,
            failures=tuple(buyer.failures),
            _stages=forest.stages,
            _prices=prices,
            _status=state.status[good],
            _n_tests=state.n_tests[good],
            _found=state.values[good],
            _first_uses=[buyer.traversal.first_uses[i] for i in kept],
            _bought=None if buyer.bought is None else [buyer.bought[i] for i in kept],
        )


def _read_source(acquire: Any, acquire_many: Any) -> Callable[..., Any] | None:
    """Return the one function that was passed, if any."""
    if acquire is not None and acquire_many is not None:
        raise InputError(
            "Pass either `acquire`, for one value at a time, or `acquire_many`, for the needs of "
            "all samples together."
        )
    name = "acquire" if acquire_many is None else "acquire_many"
    source: Callable[..., Any] | None = acquire if acquire_many is None else acquire_many
    if source is not None and not callable(source):
        raise InputError(f"`{name}` is {reprlib.repr(source)}: pass a function.")
    return source


def read_limit(max_cost: Any) -> float:
    """Return the user's argument `max_cost` as a number."""
    if isinstance(max_cost, float) and max_cost == math.inf:
        return math.inf
    advice = "It is the most that a sample may pay; at 0 only what is free is bought."
    return one_number_from_zero(max_cost, "max_cost", advice)


def _check_sets(model: Any, stop: Any, max_cost: float, on_failure: str) -> None:
    """Refuse what models that buy whole sets of features cannot do."""
    name = type(model).__name__
    if stop is not None:
        raise InputError(f"`stop` is for trees, and a {name} buys sets of features: leave it out.")
    if max_cost < math.inf:
        raise InputError(
            f"A {name} keeps within a limit that it is fitted with: pass `max_cost` to it.",
            "max_cost",
        )
    if on_failure == "node":
        raise InputError(
            f"`on_failure` is 'node', and a {name} is no single tree with nodes to answer from: "
            "pass 'missing' or 'raise'.",
            "on_failure",
        )


def _failed(buyer: Buyer, n_answered: int) -> str:
    """Return the sentence of an `AcquisitionError`."""
    first = buyer.failures[0]
    which = f"{len(buyer.dropped)} of {len(buyer.ids)} samples" if n_answered else "every sample"
    others = f"The others ({n_answered}) are in `answer` of this error. " if n_answered else ""
    return (
        f"The source failed for {which}, first for {reprlib.repr(first.sample)}: "
        f"{first.reason.rstrip('.')}. {others}"
        "To get an answer for all samples, pass on_failure='missing' or 'node'."
    )
