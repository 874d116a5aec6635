"""What pruning returns."""

from dataclasses import dataclass
from typing import Any

from thriftwood.closure import Certificate


@dataclass(frozen=True)
class Figures:
    """What a forest costs and loses on the rows it was pruned on.

    Attributes
    ----------
    cost : float
        Mean bill of a row: the prices of the features that it buys, each once.
    loss : float
        Loss of a row, averaged over rows and trees.
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
    tradeoff : float
        The paper's lambda: no pruning of the model has a smaller loss + tradeoff * cost.
    original : Figures
        The same figures of the model before pruning.
    certificate : Certificate, optional
        The proof of `prune` at a tradeoff: its gap is 0. A path keeps none; `prune` at a tradeoff
        inside the interval of a point gives the same forest with one.
    index : int, optional
        The point of the path.
    budget : float, optional
        What the model was to cost at most.
    bound : float
        No pruning that costs at most the budget has a loss lower than `loss - bound`; without a
        budget the same holds for prunings that cost at most `cost`, and it is 0 but for rounding.
    """

    model: Any
    tradeoff: float
    original: Figures
    certificate: Certificate | None = None
    index: int | None = None
    budget: float | None = None
    bound: float = 0.0

    @property
    def objective(self) -> float:
        """The paper's objective, loss + tradeoff * cost."""
        return self.loss + self.tradeoff * self.cost

    def __repr__(self) -> str:
        kind = type(self.model).__name__
        proven = "" if self.certificate is None else "proven "
        where = f"at tradeoff {self.tradeoff:g}, {proven}optimal"
        if self.budget is not None:
            where = f"within the budget {self.budget:g}"
        lines = [f"Pruned {kind} {where}"]
        for label, name in _LABELS.items():
            now, before = getattr(self, name), getattr(self.original, name)
            lines.append(f"  {label:14s} {now:<12.6g} was {before:.6g}")
        if self.budget is not None and self.index == 0:
            lines.append(
                f"  No pruning has a loss below {self.loss - self.bound:.6g}, whatever it costs."
            )
        elif self.budget is not None:
            lines.append(
                f"  No pruning within the budget has a loss below {self.loss - self.bound:.6g}."
            )
        if self.n_splits == 0:
            lines.append(f"  Every tree is a single leaf: try a {self._advice}.")
        return "\n".join(lines)

    @property
    def _advice(self) -> str:
        return "smaller tradeoff" if self.budget is None else "larger budget"


_LABELS = {
    "cost": "cost",
    "loss per tree": "loss",
    "splits": "n_splits",
    "features": "n_features",
}
