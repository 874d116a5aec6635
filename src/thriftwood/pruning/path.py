"""The frontier: every optimal pruning of a model, and ways to pick one."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.acquisition import read_limit
from thriftwood.adapters import BootstrapSamples, Scoring, read_bootstrap, read_forest, write_model
from thriftwood.cascade import (
    N_STAGES,
    CascadeClassifier,
    CascadeRanker,
    build_cascade,
    build_list_cascade,
    check_cascade,
    ranking_name,
)
from thriftwood.costs import AnyCosts, PriceList
from thriftwood.errors import InputError
from thriftwood.evaluation import (
    Choice,
    Evaluation,
    check_statistic,
    choose_point,
    evaluate,
    read_rule,
    score_or_money,
    warn_of_constant,
)
from thriftwood.evaluation.certifying import certify
from thriftwood.forest import Forest
from thriftwood.problem import (
    RECORDED_GAIN,
    AnyErrorCosts,
    ClassWeight,
    ErrorCosts,
    Figures,
    PruningProblem,
    SampleData,
    check_problem,
    read_points,
    read_tradeoff,
    read_validation,
    tradeoff_inside,
    with_own_class_weights,
)
from thriftwood.pruning import plot, storage
from thriftwood.pruning.mixture import Mixture
from thriftwood.pruning.proof import Baseline, Bounded, Certified, Optimal, PathProof
from thriftwood.pruning.pruned import Pruned
from thriftwood.refitting import LabelledSamples
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray
from thriftwood.support.axes import with_unit
from thriftwood.support.libraries import frame_of
from thriftwood.support.memory import tells_memory
from thriftwood.support.parallel import aside, n_threads
from thriftwood.support.summary import Chart, Summarised, Summary
from thriftwood.support.text import shown
from thriftwood.support.validation import is_whole, one_number_from_zero

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Losses and costs are sums of doubles: two that differ by less than this part are the same.
ROUNDING = 1e-12
COUNTED_ON = {"in_bag": ", on samples in its bag", "out_of_bag": ", on samples out of its bag"}


@dataclass(frozen=True, eq=False, repr=False)
class PruningPath(Summarised):
    """Every optimal pruning of a model, from the richest to single leaves.

    Point `i` is optimal for tradeoffs from `tradeoffs[i]` to `tradeoffs[i + 1]`. Points are nested:
    each keeps only splits that the one before keeps. So the whole path is one number per split.
    `path[i]` is `path.at(index=i)`, and `len(path)` the number of points.

    `proof` says what is known: `Optimal` for the paper's objective of all trees together,
    loss + tradeoff * cost; `Sampled` for a subsample; `Baseline` for paths to compare with, whose
    points are optimal by another criterion. Costs and losses are those of the ensemble in any case.

    Attributes
    ----------
    model
        The model that is pruned.
    forest : Forest
        Its trees.
    samples : str
        On which samples each tree's loss counted: "all", "in_bag" or "out_of_bag".
    prices : PriceList
    loss_name : str
        The loss that was counted.
    costs, losses : shape (n_points,)
        Mean bill of a sample, and loss averaged over samples and trees, on the samples given.
    n_splits, n_features : shape (n_points,)
        What each point keeps.
    original : Figures
        The figures of the model before pruning. The first point has the least loss that any
        pruning has, but for the gap, and may be smaller: splits that gain nothing are gone.
    proof : Optimal, Sampled or Baseline
    tradeoffs : shape (n_points,)
        The paper's lambda from which on each point is optimal; 0 for the first. For cost-complexity
        the price of a leaf; NaN for dynamic programming.
    error_costs : shape (n_classes, n_classes), optional
        What errors cost, where they were the loss: `evaluate`, `choose` and `cascade` count them,
        too, unless they are told to judge by something else.
    drop_step : shape (n_nodes,), optional
        Point `i` keeps the splits with a step of at least `i`; -1 at leaves and at splits that gain
        nothing.
    masks : bits, shape (n_points, n_nodes / 8), optional
        The splits of each point where points are not nested, in place of `drop_step`.
    """

    model: Any
    forest: Forest
    samples: str
    prices: PriceList
    loss_name: str
    costs: FloatArray
    losses: FloatArray
    n_splits: IntArray
    n_features: IntArray
    original: Figures
    proof: PathProof
    tradeoffs: FloatArray
    drop_step: IndexArray | None = None
    masks: NDArray[np.uint8] | None = None
    error_costs: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.costs)

    def __getitem__(self, index: int) -> Pruned:
        if not is_whole(index):
            raise InputError(f"A point of the path is a whole number, not {index!r}.")
        if not -len(self) <= index < len(self):
            raise IndexError(f"The path has {len(self)} points: there is no point {index}.")
        return self.at(index=index)

    def _summary(self) -> Summary:
        was, unit = self.original, self.prices.unit
        named = {"original": was, "first": self._figures(0), "last": self._figures(-1)}
        return Summary(
            f"PruningPath of a {type(self.model).__name__}: {len(self)} {self.points_in_words}",
            "  {:10s} {:>10s} {:>10s} {:>8s} {:>8s}",
            [
                (name, f"{row.cost:.6g}", f"{row.loss:.4g}", f"{row.n_splits}", f"{row.n_features}")
                for name, row in named.items()
            ],
            head=(shown(unit)[:10], "cost", "loss", "splits", "features"),
            notes=self.proof.notes if isinstance(self.proof, Optimal) else [],
            chart=Chart(
                self.costs,
                self.losses,
                with_unit("mean bill", unit),
                "loss",
                mark=(was.cost, was.loss, "before pruning"),
            ),
        )

    @property
    def points_in_words(self) -> str:
        """The noun for a point of the path, in the singular or the plural."""
        return self.proof.points.format(s="s" * (len(self) != 1))

    @property
    def loss_in_words(self) -> str:
        """The loss, and the samples on which each tree is judged if not all."""
        if self.loss_name == RECORDED_GAIN:
            return "share of the recorded gain given up"
        return f"{self.loss_name.replace('_', ' ')} per tree{COUNTED_ON.get(self.samples, '')}"

    @property
    def drop_values(self) -> FloatArray:
        """The tradeoff at which each node stops being a split.

        0 where a split gains nothing, infinity where it costs nothing, NaN at leaves.
        """
        beyond = np.concatenate([self._breakpoints[1:], [np.inf, 0.0]])  # the last for step -1
        return np.where(self.forest.is_split, beyond[self.drop_step], np.nan)

    def kept_nodes(self, index: int) -> BoolArray:
        """Return the splits of a point, as a mask over the nodes of the forest."""
        if self.drop_step is not None:
            return self.forest.is_split & (self.drop_step >= index)
        assert self.masks is not None
        return np.unpackbits(self.masks[index], count=self.forest.n_nodes).astype(np.bool_)

    def bootstrap(self) -> BootstrapSamples | None:
        """Return the samples that each tree was grown on, where the model knows them."""
        return read_bootstrap(self.unchanged_model())

    def at(
        self,
        *,
        tradeoff: float | None = None,
        index: int | None = None,
        budget: float | None = None,
        max_loss_increase: float | None = None,
    ) -> Pruned:
        """Return one pruning, with its model.

        Parameters
        ----------
        tradeoff : float
            The paper's lambda: the optimum of loss + tradeoff * cost, or of what else a baseline
            minimises.
        index : int
            A point of the path; negative ones count from the end.
        budget : float
            The best point that costs at most this. The `gap` of its proof says how much less any
            pruning within the budget could lose, at the most. Beyond the cost of the first point
            more money buys nothing: the first point is returned.
        max_loss_increase : float
            The cheapest point whose loss is at most this much above the original model's.
        """
        given = {
            "tradeoff": tradeoff,
            "index": index,
            "budget": budget,
            "max_loss_increase": max_loss_increase,
        }
        if sum(value is not None for value in given.values()) != 1:
            raise InputError(f"Pass exactly one of {', '.join(f'`{name}`' for name in given)}.")
        if tradeoff is not None:
            number = read_tradeoff(tradeoff)
            place = int(np.searchsorted(self._breakpoints, number, side="right")) - 1
            return self._pruned(place, tradeoff=number)
        if index is not None:
            return self._pruned(self._read_index(index))
        if budget is not None:
            number = _read_budget(budget)
            affordable = self._affordable(number)
            best = affordable[self.losses[affordable] == self.losses[affordable].min()]
            place = int(best[self.costs[best].argmin()])
            return self._pruned(place, budget=number, slack=self._unused(place, number))
        return self._pruned(self._cheapest_within(max_loss_increase))

    def mix(self, *, budget: float, random_state: int = 0) -> Mixture:
        """Return the two points around a budget, mixed so that the budget is met on average.

        Each sample is predicted by one of the two, drawn at random: the optimum of the paper's LP1,
        which no single pruning reaches between two points. From the cost of the first point on it
        is that point alone. Only for paths that are proven optimal: of other points no mixture is.

        Parameters
        ----------
        budget : float
        random_state : int
            The draw of a sample depends on this and on its values, nothing else.
        """
        if not (isinstance(self.proof, Optimal) and self.proof.is_exact):
            raise InputError(
                f"This path has {self.proof.points.format(s='s')}, of which no mixture is optimal: "
                "mix points of prune_path(...) on all samples."
            )
        number = _read_budget(budget)
        if not is_whole(random_state):
            raise InputError(f"`random_state` is {random_state!r}: pass a whole number.")
        index = int(self._affordable(number)[0])
        cheap, rich = self._pruned(index), self._pruned(max(index - 1, 0))
        step = rich.cost - cheap.cost
        probability = min((number - cheap.cost) / step, 1.0) if step > 0 else 1.0
        return Mixture(cheap, rich, probability, int(random_state), self.forest)

    @tells_memory
    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        *,
        scoring: Scoring | ErrorCosts = None,
        error_costs: AnyErrorCosts = None,
        points: Sequence[int] | None = None,
        samples: str = "all",
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        sample_weight: ArrayLike | None = None,
        class_weight: ClassWeight = None,
        costs: AnyCosts = None,
        qid: ArrayLike | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> Evaluation:
        """Measure the real errors and bills of the points on samples, usually held-out ones.

        Parameters
        ----------
        X, y
            Samples and their targets.
        scoring : str or callable, optional
            What `score` is: the name of a score of scikit-learn, such as "average_precision", or a
            function of a model, X and y. None means the area under the ROC curve for classifiers
            (the mean over each class against the rest, if there are more than two; the Brier score
            where these samples lack a class) and the squared error for regressors.
        error_costs : float, mapping from class to cost, or matrix, optional
            In place of `scoring`: what wrong answers cost, as in `pruning_problem`, where each
            sample gets the answer of least expected cost. The score is minus their mean cost.
        points : sequence of int, optional
            Points of the path; None means all.
        samples : {"all", "in_bag", "out_of_bag"}
            Which trees predict a sample: all, those that were grown on it, or those that were not.
            With "out_of_bag" pass the samples that the model was trained on: an estimate without
            held-out samples. It needs a path of `prune_path(..., samples="in_bag")`; otherwise the
            trees were pruned on the labels of these samples. Those that no tree predicts are left
            out of the errors.
        quantiles : sequence of float
            Of the bills.
        sample_weight : array-like, optional
            How much each sample counts in errors and scores; in bills, too, where the prices have
            `weigh_bills`. At 0 it is left out.
        class_weight : "balanced", mapping from class to weight, or None
            How much errors on samples of each class count, on top of that; bills do not know of
            it. None counts all alike, whatever the model was trained with.
        costs : array-like, mapping or Costs, optional
            What these samples pay; None means the prices of the path. Needed where those belong to
            the samples that the path was computed on.
        qid : array-like, optional
            The query of each sample, where samples are documents that queries found. `scoring` may
            then be a score of rankings: "ndcg@10" (of regressors the usual one), "map", "map@10" or
            "mrr", with any number. Standard errors are those over queries, and bills of queries
            have quantiles, too.
        n_jobs : int, optional
            Threads to route the samples with.
        progress : bool, optional
            As in `prune_path`.
        """
        about = samples, sample_weight, costs, class_weight, qid
        data, prices = self._read_validation(X, y, *about)
        scoring = self._judged_by(scoring, error_costs)
        check_statistic(self.forest, scoring, qid is not None)
        options = points, quantiles, n_threads(n_jobs), progress, scoring, X
        return aside(evaluate, self, data, prices, *options)

    @tells_memory
    def choose(
        self,
        X: Any,
        y: ArrayLike,
        *,
        scoring: Scoring | ErrorCosts = None,
        error_costs: AnyErrorCosts = None,
        rule: str | None = None,
        limit: float | None = None,
        samples: str = "all",
        sample_weight: ArrayLike | None = None,
        class_weight: ClassWeight = None,
        costs: AnyCosts = None,
        qid: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> Pruned:
        """Choose a point by its score and its bills on samples that training did not see.

        Parameters
        ----------
        X, y, scoring, error_costs, samples, sample_weight, class_weight, costs, qid, n_jobs
            As in `evaluate`.
        rule : str, optional
            With `error_costs` "least_total_cost" is the usual one, the least mean bill plus mean
            cost of errors; otherwise "one_standard_error": the cheapest point that is not clearly
            worse than the best, the model before pruning included: its score is lower by at most
            one standard error of the difference, which is paired, sample by sample. "best_score":
            the cheapest of the best. "max_score_decrease": the cheapest whose score is at most
            `limit` below that of the model before pruning. "max_error_increase": the cheapest whose
            error is at most `limit` above. "budget": the best among those whose mean bill on these
            samples is at most `limit`.
        limit : float, optional
            For the last three rules.

        Returns
        -------
        Pruned
            Its `choice` says what is given up for what is saved. Where the point predicts one
            class for all samples, and the model does not, there is an
            `errors.ConstantPredictionWarning`.

        Scores are those of the whole ensemble. Models that predict a quantile or a rank need a
        `scoring` that judges these.
        """
        scoring = self._judged_by(scoring, error_costs)
        rule = read_rule(rule, limit, isinstance(scoring, ErrorCosts))
        measured = self.evaluate(
            X,
            y,
            scoring=scoring,
            samples=samples,
            quantiles=(),
            sample_weight=sample_weight,
            class_weight=class_weight,
            costs=costs,
            qid=qid,
            n_jobs=n_jobs,
        )
        choice = choose_point(measured, rule, limit)
        warn_of_constant(choice, stacklevel=3)  # past `tells_memory`
        return self.chosen(choice)

    def chosen(self, choice: Choice) -> Pruned:
        """Return the point of a choice, which stays with it; or the model before pruning."""
        pruned = self._unpruned() if choice.point is None else self._pruned(choice.point)
        return replace(pruned, choice=choice)

    @tells_memory
    def cascade(
        self,
        X: Any,
        y: ArrayLike,
        *,
        budget: float | None = None,
        max_cost: float = math.inf,
        scoring: Scoring | ErrorCosts = None,
        error_costs: AnyErrorCosts = None,
        stages: int | Sequence[int] = N_STAGES,
        refit: LabelledSamples | None = None,
        samples: str = "all",
        sample_weight: ArrayLike | None = None,
        class_weight: ClassWeight = None,
        costs: AnyCosts = None,
        qid: ArrayLike | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> CascadeClassifier | CascadeRanker:
        """Return a classifier that starts cheap, and buys more only where it is not sure.

        Points of the path become stages. A sample is predicted by the first one that is sure enough
        of it; since points are nested, nothing that it bought before is wasted. How sure is sure
        enough, at each stage, is tuned on the samples given, for every budget at once:
        `cascade.at(budget=...)` takes another budget without further work. Budgets between two
        points of the path are used, too, as far as samples differ in what they have bought.

        Of a ranker, with `qid`, it is a ranker: all documents of a query start cheap, and only the
        best of each stage go on. Budgets and limits are those of queries then.

        Parameters
        ----------
        X, y
            Samples that the model was not trained on.
        budget : float, optional
            What a sample may cost on average, measured on these samples. None means the cheapest
            rule that is not clearly worse than the best, by `scoring` or `error_costs`.
        max_cost : float
            What no sample may pay more than, as in `LazyPredictor`, or of a ranker no query. Rules
            are tuned without it; those for lists are measured within it, and chosen so.
        scoring : str or callable, optional
            As in `evaluate` and `choose`: without a budget the cheapest rule is taken whose score
            is lower than the best by at most one standard error of the difference. None means the
            area under the ROC curve, with which probabilities must not be clearly worse, either.
        error_costs : float, mapping from class to cost, or matrix, optional
            In place of `scoring`: what wrong answers cost, as in `pruning_problem`. Rules minimise
            what these cost in place of their number, without a budget that of least mean bill and
            cost of errors is taken, and `predict` answers with the class of least expected cost.
        stages : int or sequence of int
            How many stages to try, the whole model as the last among them; or the points of the
            path that are to be stages, and no others. Tuning leaves out those that do not help.
        refit : X and y, optional
            The samples that the model was trained on, to fit the values of leaves again at each
            stage, as `Pruned.refit` does; where that predicts worse, the values stay. It brings
            most at small budgets. The whole model as the last stage stays as it is. Weights of
            samples may come third.
        samples : {"all", "out_of_bag"}
            With "out_of_bag" pass the samples that the model was trained on: each is then judged by
            the trees that were not grown on it. It needs a path of
            `prune_path(..., samples="in_bag")`, and goes without `refit`.
        sample_weight : array-like, optional
            As in `evaluate`.
        class_weight : as in `prune_path`
            How much errors on each class count; bills do not know of it. None takes the weights
            that the model was trained with, but for `error_costs`; "uniform" weighs all alike.
        costs : array-like, mapping or Costs, optional
            What these samples pay; None means the prices of the path.
        qid : array-like, optional
            The query of each sample, for a ranker. Scores are then those of rankings, usually
            "ndcg@10"; the queries of `refit` come fourth, as refit=(X, y, None, qid).
        n_jobs : int, optional
            Threads, as in scikit-learn.
        progress : bool, optional
            As in `prune_path`.
        """
        check_cascade(self.forest, samples, refit, qid is not None)
        scoring = self._judged_by(scoring, error_costs)
        about = samples, sample_weight, costs, class_weight, qid
        data, prices = self._read_validation(X, y, *about)
        if not self.forest.is_classifier:
            name = ranking_name(scoring)
            limit = read_limit(max_cost)
            own = self, data, prices, stages, refit, n_jobs, progress, name
            return build_list_cascade(*own, limit).at(budget=budget, max_cost=limit)
        if class_weight is None and not isinstance(scoring, ErrorCosts):
            data = with_own_class_weights(data, self.model, self.forest) or data
        cascade = build_cascade(self, data, prices, stages, refit, n_jobs, progress, scoring)
        cascade = cascade.at(budget=budget, max_cost=max_cost)
        if budget is None and cascade.choice is not None:
            warn_of_constant(cascade.choice, stacklevel=3)  # past `tells_memory`
        return cascade

    @tells_memory
    def certify(
        self, problem: PruningProblem, points: Sequence[int] | None = None
    ) -> tuple[Certified, ...]:
        """Return a checked proof for each point, at a tradeoff inside its interval.

        A gap of 0 says that no pruning is better there. The proofs are made anew, from the samples
        that the path was computed on: they do not trust the path.

        Parameters
        ----------
        problem : PruningProblem
            The problem that the path solves, by `tw.pruning_problem(...)`.
        points : sequence of int, optional
            Points of the path; None means all.
        """
        if isinstance(self.proof, Baseline):
            raise InputError(
                f"Points of {self.proof.criterion!r} are no optima of the ensemble, so there is "
                "nothing to prove."
            )
        wanted = list(range(len(self))) if points is None else read_points(points, len(self))
        masks = [self.kept_nodes(int(point)) for point in wanted]
        inside = [tradeoff_inside(self._breakpoints, int(point)) for point in wanted]
        self._check_same_problem(problem)
        return tuple(Certified(*one) for one in certify(problem, masks, inside))

    def plot(self, ax: Axes | None = None, *, measured: Evaluation | None = None) -> Axes:
        """Draw cost against loss, or against the real error of an evaluation (matplotlib)."""
        style = ".-" if self.drop_step is not None else "."  # no line where costs go up and down
        if measured is None:
            return plot.draw_losses(self, ax, style)
        if not isinstance(measured, Evaluation):
            raise InputError("`measured` must be what `path.evaluate` returned.")
        what = "error" if self.forest.is_classifier else "mean squared error"
        return plot.draw_errors(measured, ax, style, what, self.prices.unit)

    def to_frame(self) -> pd.DataFrame:
        """Return one line per point as a pandas data frame."""
        return frame_of(
            {
                "tradeoff": self.tradeoffs,
                "cost": self.costs,
                "loss": self.losses,
                "n_splits": self.n_splits,
                "n_features": self.n_features,
            }
        )

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the path to a file, without the model: arrays and plain text, no pickle."""
        storage.save_path(self, file)

    @classmethod
    def load(cls, file: str | os.PathLike[str], model: Any = None) -> PruningPath:
        """Read a path from a file.

        Parameters
        ----------
        file : path
        model : optional
            The model that the path was computed for, to get pruned models of its type; without it
            they are of our own kind, `ForestModel`, and predict the same. A pipeline must be
            passed: files hold no transformers.
        """
        return cls(**storage.load_path(file, model))

    def unchanged_model(self) -> Any:
        """Return the model, or raise where it is no longer the one that was pruned."""
        if not self.forest.has_same_trees(read_forest(self.model)):
            raise InputError(
                "The model was changed or fitted again since its path was computed: compute the "
                "path anew."
            )
        return self.model

    @property
    def _breakpoints(self) -> FloatArray:
        """The tradeoffs, or an error where points have none."""
        if np.isnan(self.tradeoffs[0]):
            raise InputError(
                "Points of dynamic programming belong to sizes, not to tradeoffs: take one by "
                "`index`; point -1 - k has k splits in each tree."
            )
        return self.tradeoffs

    def _read_validation(
        self, X: Any, y: ArrayLike, samples: str, *about: Any
    ) -> tuple[SampleData, PriceList]:
        """Read samples to measure points on; `about` are weights and more, as they are read."""
        if samples == "out_of_bag" and self.samples != "in_bag":
            raise InputError(
                f"The path was computed with samples={self.samples!r}, so its trees were pruned on "
                "samples out of their bags and look better on them than they are. Compute it with "
                "samples='in_bag'.",
                "samples",
            )
        bootstrap = None if samples == "all" else self.bootstrap()
        return read_validation(self.forest, self.prices, X, y, samples, bootstrap, *about)

    def _judged_by(
        self, scoring: Scoring | ErrorCosts, error_costs: AnyErrorCosts
    ) -> Scoring | ErrorCosts:
        """Return the score or the costs of errors to judge by, or else those of the path."""
        if scoring is None and error_costs is None and self.error_costs is not None:
            return ErrorCosts(self.error_costs)
        return score_or_money(scoring, error_costs)

    def _figures(self, index: int) -> Figures:
        return Figures(
            cost=float(self.costs[index]),
            loss=float(self.losses[index]),
            n_splits=int(self.n_splits[index]),
            n_features=int(self.n_features[index]),
        )

    def _pruned(
        self,
        index: int,
        *,
        tradeoff: float | None = None,
        budget: float | None = None,
        slack: float = 0.0,
    ) -> Pruned:
        """Return a point with its model; `slack` is what the rest of a budget could buy."""
        at = float(self.tradeoffs[index]) if tradeoff is None else tradeoff
        figures = self._figures(index)
        proof = self.proof.of_point(index, at, slack)
        if isinstance(proof, Bounded) and self.loss_name in storage.NEVER_BELOW_0:
            proof = proof.from_zero(figures.loss, figures.loss + at * figures.cost)
        return Pruned(
            **vars(figures),
            model=write_model(
                self.unchanged_model(), self.kept_nodes(index), names=self.forest.columns.names
            ),
            original=self.original,
            loss_name=self.loss_name,
            proof=proof,
            prices=self.prices,
            tradeoff=at,
            budget=budget,
            index=index,
        )

    def _unpruned(self) -> Pruned:
        """Return the model before pruning, and how much less the best pruning loses."""
        was = self.original
        return Pruned(
            **vars(was),
            model=self.unchanged_model(),
            original=was,
            loss_name=self.loss_name,
            proof=self.proof.of_point(0, 0.0, max(was.loss - float(self.losses[0]), 0.0)),
            prices=self.prices,
        )

    def _read_index(self, index: Any) -> int:
        if not is_whole(index) or not -len(self) <= index < len(self):
            raise InputError(
                f"`index` is {index!r}: pass a whole number from 0 to {len(self) - 1}, or a "
                "negative one that counts from the end."
            )
        return int(index) % len(self)

    def _affordable(self, budget: float) -> IntArray:
        affordable = np.flatnonzero(self.costs <= budget * (1 + ROUNDING))
        if not len(affordable):
            raise InputError(
                f"No pruning costs {budget:g} or less; the cheapest costs {self.costs.min():g}."
            )
        return affordable

    def _unused(self, index: int, budget: float) -> float:
        """Return what the rest of a budget could buy on the line to the next richer point.

        Every pruning lies on or above the line through two neighbouring points of the hull.
        """
        if index == 0 or isinstance(self.proof, Baseline):
            return 0.0
        costs, losses = self.costs[[index, index - 1]], self.losses[[index, index - 1]]
        share = max(budget - costs[0], 0.0) / (costs[1] - costs[0])
        return float(share * (losses[0] - losses[1]))

    def _cheapest_within(self, max_loss_increase: Any) -> int:
        increase = one_number_from_zero(
            max_loss_increase,
            "max_loss_increase",
            "It is how much the loss may rise above the original model's.",
        )
        most = self.original.loss + increase
        most += ROUNDING * max(1.0, most)
        allowed = np.flatnonzero(self.losses <= most)
        if not len(allowed):
            return 0
        return int(allowed[self.costs[allowed] == self.costs[allowed].min()][-1])

    def _check_same_problem(self, problem: PruningProblem) -> None:
        """Raise where the model has other figures than those that the path remembers."""
        then, is_split = self.original, check_problem(problem).forest.is_split
        now = problem.figures(is_split)
        if not np.allclose((now.cost, now.loss), (then.cost, then.loss), rtol=1e-9, atol=0):
            raise InputError(
                f"On these samples the model costs {now.cost:.6g} and loses {now.loss:.6g}; the "
                f"path was computed where it costs {then.cost:.6g} and loses {then.loss:.6g}. Pass "
                "the same samples, weights, prices and loss."
            )


def _read_budget(budget: Any) -> float:
    if isinstance(budget, float) and budget == math.inf:
        return math.inf
    return one_number_from_zero(
        budget, "budget", "It is what a sample may cost on average; a single leaf costs nothing."
    )
