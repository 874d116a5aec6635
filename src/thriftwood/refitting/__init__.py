"""Refit the values of all leaves together, whatever trees the leaves belong to.

Trees are grown, and pruned, one leaf at a time; but a prediction adds the leaves of all trees. Here
the values are fitted as what they are, the coefficients of one regularised linear model, and stay
near the old ones where the rows do not ask for something else (global refinement of random forests,
Ren, Cao, Wei and Sun, CVPR 2015; the pull towards old values is ours).

This package knows no tree, only which leaf a row is in.

Law: a fit says `converged` only if its slope leaves no room for values that are better by more than
the tolerance.
"""

from thriftwood.refitting.choosing import STRENGTHS, StrengthChoice, choose_strength
from thriftwood.refitting.fit import LeafFit, check_strength, fit_leaf_values
from thriftwood.refitting.held_out import (
    HeldOutRows,
    Trial,
    out_of_bag_trials,
    validation_trial,
)
from thriftwood.refitting.prior import prior_of_probabilities
from thriftwood.refitting.problem import LeafProblem

__all__ = [
    "STRENGTHS",
    "HeldOutRows",
    "LeafFit",
    "LeafProblem",
    "StrengthChoice",
    "Trial",
    "check_strength",
    "choose_strength",
    "fit_leaf_values",
    "out_of_bag_trials",
    "prior_of_probabilities",
    "validation_trial",
]
