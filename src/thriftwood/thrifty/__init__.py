"""The best model within a budget: nested sets of features, bought stage by stage.

A cascade (Viola and Jones, CVPR 2001) whose stages are fresh models on ever larger sets of
features. Everything is chosen on samples that models did not see.

Law: the set of a stage is part of the set of the next, and a sample pays for the set of the stage
where it stops, each cost item once.
"""

from thriftwood.thrifty.cross_fitting import FittedStages, fit_stages
from thriftwood.thrifty.data import LabelledData
from thriftwood.thrifty.frontier import (
    FRONTIER_ARRAYS,
    Frontier,
    scored_frontier,
    usual_frontier,
)
from thriftwood.thrifty.learners import QUICK, Effort, auto_learners, own_learner, weight_parameter
from thriftwood.thrifty.measuring import MeasuredStages, bill_of_sets
from thriftwood.thrifty.ordering import order_sets
from thriftwood.thrifty.tuning import Objective, StageOutputs, TunedStages, tune_stages
from thriftwood.thrifty.units import PricedUnits, bills_of_sets, model_costs_of, spread_sets
