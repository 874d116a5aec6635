"""A pruned model, its figures, and what is proven about it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import ArrayLike

from thriftwood.adapters import compact_model, read_forest, required_columns
from thriftwood.costs import PriceList
from thriftwood.evaluation import Choice
from thriftwood.problem import RECORDED_GAIN, Figures
from thriftwood.pruning.proof import Baseline, Bounded, Certified, Descended, Estimated, Proof
from thriftwood.refitting import LabelledSamples, Refit, refit_model
from thriftwood.support.memory import tells_memory
from thriftwood.support.summary import Summarised, Summary
from thriftwood.support.validation import six_digits


@dataclass(frozen=True, repr=False)
class Pruned(Summarised, Figures):
    """A pruned model with its figures, and what is proven about it.

    Attributes
    ----------
    model : same type as the model that was pruned
        Ready to predict.
    original : Figures
        The figures of the model before pruning.
    loss_name : str
        The loss that was counted. "recorded_gain" is the share of the gains that the splits of a
        boosted model recorded, given up with the splits that are gone.
    proof : Certified, Bounded, Estimated, Descended or Baseline
        How good the pruning is known to be.
    prices : PriceList
        What it was pruned for; bills and lazy predictions of it are by these.
    tradeoff : float, optional
        The paper's lambda at which it was taken; for "cost_complexity" the price of a leaf.
    budget : float, optional
        What the model was to cost at most.
    index : int, optional
        The point of the path; None also where the model before pruning was chosen.
    choice : Choice, optional
        What is given up for what is saved, on the samples by which the point was chosen.
    refitted : Refit, optional
        How `refit` chose the values of the leaves. Losses are those of the values before.
    """

    model: Any
    original: Figures
    loss_name: str
    proof: Proof
    prices: PriceList = field(compare=False)
    tradeoff: float | None = None
    budget: float | None = None
    index: int | None = None
    choice: Choice | None = None
    refitted: Refit | None = None

    @tells_memory
    def refit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        validation: LabelledSamples | None = None,
        strength: float | None = None,
        sample_weight: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> Pruned:
        """Return the same pruning with the values of all leaves fitted again, together.

        Splits stay as they are, and so does what a sample pays. Errors fall most at small budgets.
        The new values are those of an L2-regularised regression on the leaves of all trees
        (logistic for classes, ridge for numbers, LambdaRank's pairs for rankers), held to the old
        values with a strength that is chosen on samples that the trees have not seen; leaving the
        values alone is among the choices.

        The model has its own type, if that can hold the result. The averaged probabilities of a
        classification forest cannot: for those it is a `ForestModel`, which predicts in the same
        way as any classifier of scikit-learn.

        Parameters
        ----------
        X, y
            The samples that the model was trained on.
        validation : X and y, optional
            Samples that the model was not trained on, to choose the strength; their weights may
            come third, and their queries fourth. Without them, a bagged model takes those out of
            its trees' bags (which pruning has seen, unless its losses counted with
            `samples="in_bag"`); other models need them.
        strength : float, optional
            In place of choosing: above 0, the larger the closer to the old values. 0.03 to 1 is
            usual.
        sample_weight : array-like, optional
            How much each sample of X counts.
        qid : array-like, optional
            The query of each sample of X, for rankers, whose loss compares documents of a query.
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
            self.model, (X, y, sample_weight, qid), validation, strength, n_jobs
        )
        return replace(self, model=model, refitted=refitted)

    @property
    def required_features(self) -> tuple[Any, ...]:
        """The features that the model still looks at: names of columns, or else their numbers.

        Of a pipeline the columns that it needs for them.
        """
        forest = read_forest(self.model)
        names = forest.columns.names or range(forest.columns.n_columns)
        return tuple(names[column] for column in required_columns(forest).tolist())

    def compact(self) -> Any:
        """Return a model that predicts as this one does, of `required_features` alone.

        It takes a table of just these columns, in this order, so that the others need no longer be
        made. It has the model's own type; but of a pipeline, of CatBoost and where categories are
        looked at it is a pipeline that first fills in the other columns, with anything.
        """
        return compact_model(self.model)

    @property
    def objective(self) -> float | None:
        """The paper's objective, loss + tradeoff * cost; None where it was not minimised."""
        if self.tradeoff is None or isinstance(self.proof, Baseline):
            return None
        return self.loss + self.tradeoff * self.cost

    def _summary(self) -> Summary:
        rows = [
            (label, six_digits(getattr(self, name)), f"was {six_digits(getattr(was, name))}")
            for was in [self.original]
            for label, name in self._labels.items()
        ]
        name = type(self.model).__name__
        is_whole = self.choice is not None and self.choice.point is None
        title = f"{name} as it was before pruning" if is_whole else f"Pruned {name} {self._where}"
        return Summary(title, "  {:14s} {:12s} {}", rows, notes=self._notes)

    @property
    def _where(self) -> str:
        proof, words = self.proof, self.proof.words
        if self.budget is not None:
            within = f"within the budget {self.budget:g}"
            is_plain = isinstance(proof, Bounded) and proof.is_exact
            return within if is_plain else f"{within}, {words}"
        if self.tradeoff is None or math.isnan(self.tradeoff):
            return words
        return f"at tradeoff {self.tradeoff:g}, {words}"

    @property
    def _notes(self) -> list[str]:
        proof, notes = self.proof, []
        if isinstance(proof, Bounded) and self.budget is not None:
            least = f"has a loss below {self.loss - proof.gap:.6g}"
            free = self.index == 0
            notes.append(
                f"No pruning of this model {least}, whatever it costs."
                if free
                else f"No pruning of this model within the budget {least}."
            )
        if isinstance(proof, Estimated):
            better = f"be better by about {proof.gap:.2g}"
            if self.budget is not None:
                better = f"lose about {proof.gap:.2g} less within the budget"
            notes.append(
                f"A subsample of {proof.n_drawn} of {proof.n_samples} samples: the best pruning "
                f"may {better} (estimated)."
            )
        if self.choice is not None:
            notes.append(f"{self.choice}")
        if self.refitted is not None:
            notes.append(f"{self.refitted}.")
        if isinstance(proof, (Certified, Bounded)) and proof.rounds:
            last, n_rounds = proof.rounds[-1], len(proof.rounds)
            end = "gap closed" if last.gap == 0 else f"stopped at a gap of {last.relative_gap:.2g}"
            notes.append(
                f"{n_rounds} round{'s' * (n_rounds > 1)} of the decomposition, "
                f"{last.seconds:.2g} s: {end}."
            )
        if self.n_splits == 0:
            by = "larger budget" if self.budget is not None else "smaller tradeoff"
            notes.append(f"Every tree is a single leaf: try a {by}.")
        return notes

    @property
    def _labels(self) -> dict[str, str]:
        loss = "loss" if isinstance(self.proof, Descended) else "loss per tree"
        if self.loss_name == RECORDED_GAIN:
            loss = "gain given up"
        return {"cost": "cost", loss: "loss", "splits": "n_splits", "features": "n_features"}
