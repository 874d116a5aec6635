"""The whole journey: from the user's model to the same model, smaller."""

from thriftwood.pruning.evaluation import Evaluation
from thriftwood.pruning.mixture import MixedModel, Mixture
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.prune import prune
from thriftwood.pruning.prune_path import prune_path
from thriftwood.pruning.pruned import Figures, Pruned

__all__ = [
    "Evaluation",
    "Figures",
    "MixedModel",
    "Mixture",
    "Pruned",
    "PruningPath",
    "prune",
    "prune_path",
]
