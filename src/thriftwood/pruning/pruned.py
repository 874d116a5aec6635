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
        before = self.original
        return (
            f"Pruned {type(self.model).__name__} at tradeoff {self.tradeoff:g}, optimal\n"
            f"  cost      {self.cost:10.4f}   was {before.cost:.4f}\n"
            f"  loss      {self.loss:10.4f}   was {before.loss:.4f}\n"
            f"  splits    {self.n_splits:10d}   was {before.n_splits}\n"
            f"  features  {self.n_features:10d}   was {before.n_features}"
        )
