"""The pruning problem: input read and checked once, losses, the closure built and kept.

Law: the profit of a closed set at a tradeoff is the fall of the paper's IP3 objective when the
splits of that set are kept instead of none, times samples, trees and the closure's unit.
"""

from thriftwood.problem.closure import ClosureIndex, build_closure, build_complexity
from thriftwood.problem.error_costs import (
    ERROR_COSTS,
    AnyErrorCosts,
    ErrorCosts,
    least_cost_answers,
    read_error_costs,
)
from thriftwood.problem.frontier import (
    Figures,
    interval_in_words,
    nested_figures,
    read_tradeoff,
    tradeoff_inside,
    tradeoffs_of,
)
from thriftwood.problem.losses import (
    CLASSIFIER_LOSSES,
    JOINT,
    RECORDED_GAIN,
    REGRESSOR_LOSSES,
    SUM,
    AnyLoss,
    Loss,
    NodeLosses,
    node_losses,
    read_loss,
    recorded_losses,
)
from thriftwood.problem.majoriser import ensemble_losses, majorised_losses
from thriftwood.problem.problem import (
    PruningProblem,
    SampleData,
    Subsample,
    check_gains_count,
    check_problem,
    own_class_weight,
    read_problem,
)
from thriftwood.problem.targets import (
    ClassWeight,
    check_known,
    in_whole_numbers,
    is_uniform,
    one_target_each,
    read_class_weights,
    read_target,
    read_weights,
    times_counted,
)
from thriftwood.problem.validation import (
    Prunings,
    read_points,
    read_validation,
    with_own_class_weights,
)

__all__ = [
    "CLASSIFIER_LOSSES",
    "ERROR_COSTS",
    "JOINT",
    "RECORDED_GAIN",
    "REGRESSOR_LOSSES",
    "SUM",
    "AnyErrorCosts",
    "AnyLoss",
    "ClassWeight",
    "ClosureIndex",
    "ErrorCosts",
    "Figures",
    "Loss",
    "NodeLosses",
    "PruningProblem",
    "Prunings",
    "SampleData",
    "Subsample",
    "build_closure",
    "build_complexity",
    "check_gains_count",
    "check_known",
    "check_problem",
    "ensemble_losses",
    "in_whole_numbers",
    "interval_in_words",
    "is_uniform",
    "least_cost_answers",
    "majorised_losses",
    "nested_figures",
    "node_losses",
    "one_target_each",
    "own_class_weight",
    "read_class_weights",
    "read_error_costs",
    "read_loss",
    "read_points",
    "read_problem",
    "read_target",
    "read_tradeoff",
    "read_validation",
    "read_weights",
    "recorded_losses",
    "times_counted",
    "tradeoff_inside",
    "tradeoffs_of",
    "with_own_class_weights",
]
