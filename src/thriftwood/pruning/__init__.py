"""The whole journey: from the user's model to the same model, smaller."""

from thriftwood.pruning.choosing import check_rule, chosen_point
from thriftwood.pruning.cost_complexity import cost_complexity_path
from thriftwood.pruning.dynamic_programming import dynamic_programming_path
from thriftwood.pruning.evaluation import Evaluation, Measures
from thriftwood.pruning.loss_words import loss_in_words
from thriftwood.pruning.mixture import MixedModel, Mixture
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.prune import prune
from thriftwood.pruning.prune_path import prune_path
from thriftwood.pruning.pruned import Figures, Pruned
from thriftwood.pruning.refit import JudgedRows, Refit, read_judged
from thriftwood.pruning.size_path import SizePath
from thriftwood.pruning.tradeoffs import interval_in_words, tradeoff_inside, tradeoffs_of
from thriftwood.pruning.verifying import Verification, verify_pruning

__all__ = [
    "Evaluation",
    "Figures",
    "JudgedRows",
    "Measures",
    "MixedModel",
    "Mixture",
    "Pruned",
    "PruningPath",
    "Refit",
    "SizePath",
    "Verification",
    "check_rule",
    "chosen_point",
    "cost_complexity_path",
    "dynamic_programming_path",
    "interval_in_words",
    "loss_in_words",
    "prune",
    "prune_path",
    "read_judged",
    "tradeoff_inside",
    "tradeoffs_of",
    "verify_pruning",
]
