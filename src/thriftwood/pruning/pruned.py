"""What pruning returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from thriftwood.closure import Certificate
from thriftwood.distributed.dual.log import ShardRound
from thriftwood.pruning.methods import (
    DESCENT,
    METHODS,
    ROUNDS,
    SAMPLE,
)
from thriftwood.refitting import LabelledSamples, Refit, refit_model
from thriftwood.solvers import Round
from thriftwood.support.validation import six_digits


@dataclass(frozen=True)
class Figures:
    """What a forest costs and loses on the rows it was pruned on.

    Attributes
    ----------
    cost : float
        Mean bill of a row: the prices of the features that it buys, each once.
    loss : float
        Loss of a row, averaged over rows and trees; of a boosted model as `Pruned.loss_name` says.
    n_splits : int
    n_features : int
        How many features any split tests.
    """

    cost: float
    loss: float
    n_splits: int
    n_features: int


@dataclass(frozen=True, repr=False)
class Pruned(Figures):
    """A pruned model with its figures, and what is proven about it.

    Attributes
    ----------
    model : same type as the model that was pruned
        Ready to predict.
    tradeoff : float, optional
        For the method "ensemble" the paper's lambda: no pruning of the model has a smaller
        loss + tradeoff * cost (but for `bound`, where the solver stopped early). For "each_tree"
        the same holds of every tree and its own cost; for "cost_complexity" of every tree with its
        number of leaves in place of the cost. None for "dynamic_programming".
    original : Figures
        The same figures of the model before pruning.
    certificate : Certificate, optional
        The proof of `prune` at a tradeoff: its gap is 0 unless the solver stopped early. A path
        keeps none; `prune` at a tradeoff inside the interval of a point gives the same forest with
        one.
    index : int, optional
        The point of the path.
    budget : float, optional
        What the model was to cost at most.
    bound : float, optional
        No pruning that costs at most the budget has a loss lower than `loss - bound`; without a
        budget the same holds for prunings that cost at most `cost`, and it is 0 but for rounding.
        From `prune` at a tradeoff, no pruning at all has a smaller objective than
        `objective - bound`: 0 unless the solver stopped early. Proven for the method "ensemble"
        only, None for all others.
    method : {"ensemble", "each_tree", "cost_complexity", "sample", "rounds", \
"dynamic_programming", "descent"}
        How the model was pruned. "sample" is for `sample=...`: nearly optimal on all rows. "rounds"
        is for paths of shards that were too large to be gathered: within `bound` of the optimum.
        "descent" is for the true loss of a boosted model, which is no sum
        over trees: `prune` went down to where no step of its kind helps, and nothing is proven.
    size : int, optional
        How many splits each tree has, if it ever had as many; for "dynamic_programming".
    rounds : tuple of Round or of ShardRound
        How the solver `DantzigWolfe`, or shards of rows, got there; empty for all others.
    loss_name : str
        What `loss` counts. "recorded_gain" is the share of the gains that the splits of a boosted
        model recorded, given up with the splits that are gone.
    objectives : tuple of float
        For "descent", loss + tradeoff * cost at the start and after every step; it never rises.
    sampling_error : float, optional
        For "sample", in place of `bound`: by how much loss + tradeoff * cost of the best pruning
        may be less than here, at the tradeoffs where this point is the best on its path; with a
        budget, how much less the best pruning within the budget may lose. An estimate, which is
        too low about once in forty draws, and no proof.
    sampled : pair of int, optional
        For "sample", how many rows were drawn, and from how many.
    refitted : Refit, optional
        How `refit` chose the values of the leaves. Losses are those of the values before.
    """

    model: Any
    tradeoff: float | None
    original: Figures
    certificate: Certificate | None = None
    index: int | None = None
    budget: float | None = None
    bound: float | None = 0.0
    method: str = "ensemble"
    size: int | None = None
    rounds: tuple[Round, ...] | tuple[ShardRound, ...] = ()
    loss_name: str = ""
    objectives: tuple[float, ...] = ()
    sampling_error: float | None = None
    sampled: tuple[int, int] | None = None
    refitted: Refit | None = None

    def refit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        validation: LabelledSamples | None = None,
        strength: float | None = None,
        sample_weight: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> Pruned:
        """Return the same pruning with the values of all leaves fitted again, together.

        Splits stay as they are, and so does what a row pays. Errors fall most at small budgets. The
        new values are those of an L2-regularised regression on the leaves of all trees (logistic
        for classes, ridge for numbers), held to the old values with a strength that is chosen on
        rows that the trees have not seen; leaving the values alone is among the choices.

        The model has its own type, if that can hold the result. The averaged probabilities of a
        classification forest cannot: for those it is a `ForestModel`, which predicts in the same
        way as any classifier of scikit-learn.

        Parameters
        ----------
        X, y
            The rows that the model was trained on.
        validation : X and y, optional
            Rows that the model was not trained on, to choose the strength; their weights may come
            third. Without such rows, a bagged model takes those out of its trees' bags (which
            pruning has seen, unless its losses counted with `rows="in_bag"`); other models need
            them.
        strength : float, optional
            In place of choosing: above 0, the larger the closer to the old values. 0.03 to 1 is
            usual.
        sample_weight : array-like, optional
            How much each row of X counts.
        n_jobs : int, optional
            Threads, as in scikit-learn.

        Examples
        --------
        >>> import thriftwood as tw
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> heart = tw.datasets.load_heart()
        >>> forest = RandomForestClassifier(20, max_features=None, random_state=0)
        >>> path = tw.prune_path(forest.fit(heart.X, heart.y), heart.X, heart.y, costs=heart.costs)
        >>> refitted = path.at(budget=50).refit(heart.X, heart.y)
        >>> refitted.model.predict_proba(heart.X).shape
        (303, 2)
        """
        model, refitted = refit_model(
            self.model, (X, y, sample_weight), validation, strength, n_jobs
        )
        return replace(self, model=model, refitted=refitted)

    @property
    def objective(self) -> float | None:
        """The paper's objective, loss + tradeoff * cost; None where it was not minimised."""
        if self.tradeoff is None or self.method not in ("ensemble", SAMPLE, ROUNDS, DESCENT):
            return None
        return self.loss + self.tradeoff * self.cost

    def __repr__(self) -> str:
        lines = [f"Pruned {type(self.model).__name__} {self._where}"]
        for label, name in self._labels.items():
            now, before = getattr(self, name), getattr(self.original, name)
            lines.append(f"  {label:14s} {six_digits(now):12s} was {six_digits(before)}")
        if self.budget is not None and self.bound is not None:
            least = f"has a loss below {self.loss - self.bound:.6g}"
            if self.index == 0:
                lines.append(f"  No pruning {least}, whatever it costs.")
            else:
                lines.append(f"  No pruning within the budget {least}.")
        if self.sampled is not None:
            lines.append(f"  {self._sample_in_words}")
        if self.refitted is not None:
            lines.append(f"  {self.refitted}.")
        if self.rounds:
            lines.append(f"  {self._rounds_in_words}")
        if self.n_splits == 0:
            lines.append(f"  Every tree is a single leaf: try a {self._advice}.")
        return "\n".join(lines)

    @property
    def _where(self) -> str:
        words = METHODS[self.method].point
        if self.budget is not None:
            within = f"within the budget {self.budget:g}"
            return within if self.method == "ensemble" else f"{within}, {words}"
        if self.size is not None:
            return f"of size {self.size}, {words}"
        if self.certificate is not None and self.certificate.gap > 0:
            within = f"proven within {self.bound:.3g} of the least objective"
            return f"at tradeoff {self.tradeoff:g}, {within}"
        proven = "" if self.certificate is None else "proven "
        return f"at tradeoff {self.tradeoff:g}, {proven}{words}"

    @property
    def _sample_in_words(self) -> str:
        size, n_samples = self.sampled or (0, 0)
        better = f"be better by about {self.sampling_error:.2g}"
        if self.budget is not None:
            better = f"lose about {self.sampling_error:.2g} less within the budget"
        return f"A sample of {size} of {n_samples} rows: the best pruning may {better} (estimated)."

    @property
    def _rounds_in_words(self) -> str:
        last, n_rounds = self.rounds[-1], len(self.rounds)
        rounds = f"{n_rounds} round{'s' if n_rounds > 1 else ''}"
        end = "gap closed" if last.gap == 0 else f"stopped at a gap of {last.relative_gap:.2g}"
        if isinstance(last, ShardRound):
            how = f"{rounds} of shards of rows"
        else:
            n_columns = sum(one.n_columns for one in self.rounds if isinstance(one, Round))
            how = f"{rounds} of the decomposition, {n_columns} columns"
        return f"{how}, {last.seconds:.2g} s: {end}."

    @property
    def _advice(self) -> str:
        if self.budget is not None:
            return "larger budget"
        return "smaller tradeoff" if self.size is None else "larger size"

    @property
    def _labels(self) -> dict[str, str]:
        loss = "loss per tree" if self.method != DESCENT else "loss"
        if self.loss_name == "recorded_gain":
            loss = "gain given up"
        return {"cost": "cost", loss: "loss", "splits": "n_splits", "features": "n_features"}
