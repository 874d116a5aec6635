"""Refit the values of all leaves together, by L2-regularised regression on leaf indicators.

Trees are grown, and pruned, one leaf at a time; but a prediction adds the leaves of all trees. Here
the values are fitted as what they are, the coefficients of one linear model, with the old values as
their prior mean (global refinement of random forests, Ren, Cao, Wei and Sun, CVPR 2015; the prior
mean in place of zero is ours). Only `refit` knows trees, all else only which leaf a sample is in.

Law: a fit says `converged` only if its gradient leaves no room for values that are better by more
than the tolerance.
"""

from thriftwood.refitting.refit import LabelledSamples, Refit, read_labelled, refit_model
from thriftwood.refitting.strength import StrengthChoice
