"""The whole journey: from the user's model to the same model, smaller."""

from thriftwood.pruning.prune import prune
from thriftwood.pruning.pruned import Figures, Pruned

__all__ = ["Figures", "Pruned", "prune"]
