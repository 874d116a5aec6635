"""The whole journey: from the user's model to the same model, smaller."""

from thriftwood.pruning.choosing import check_rule, chosen_point
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
    "check_rule",
    "chosen_point",
    "prune",
    "prune_path",
]
