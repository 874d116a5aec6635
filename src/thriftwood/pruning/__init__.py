"""From the user's model to the same model, smaller: one optimal pruning, or all of them.

Law: points of a path are nested, their costs fall and their losses rise, and the pruning at a
tradeoff is the one that the path holds there.
"""

from thriftwood.pruning.making import pruning_problem
from thriftwood.pruning.mixture import Mixture
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.proof import (
    Baseline,
    Bounded,
    Certified,
    Descended,
    Estimated,
    Optimal,
    Sampled,
)
from thriftwood.pruning.prune import prune
from thriftwood.pruning.prune_path import prune_path
from thriftwood.pruning.pruned import Pruned
from thriftwood.pruning.verifying import Verification, verify_pruning
