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
    """A pruned model with its figures and the proof that it is optimal.

    Attributes
    ----------
    model : same type as the model that was pruned
        Ready to predict.
    tradeoff : float
        The paper's lambda: no pruning of the model has a smaller loss + tradeoff * cost.
    certificate : Certificate
        The proof: its gap is 0.
    original : Figures
        The same figures of the model before pruning.
    """

    model: Any
    tradeoff: float
    certificate: Certificate
    original: Figures

    @property
    def objective(self) -> float:
        """The paper's objective, loss + tradeoff * cost."""
        return self.loss + self.tradeoff * self.cost

    def __repr__(self) -> str:
        kind = type(self.model).__name__
        lines = [f"Pruned {kind} at tradeoff {self.tradeoff:g}, proven optimal"]
        for label, name in _LABELS.items():
            now, before = getattr(self, name), getattr(self.original, name)
            lines.append(f"  {label:14s} {now:<12.6g} was {before:.6g}")
        if self.n_splits == 0:
            lines.append("  Every tree is a single leaf: try a smaller tradeoff.")
        return "\n".join(lines)


_LABELS = {
    "cost": "cost",
    "loss per tree": "loss",
    "splits": "n_splits",
    "features": "n_features",
}
