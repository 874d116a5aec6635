"""The pruning problem: input read and checked once, losses, the closure built and kept.

Law: the profit of a closed set at a tradeoff is the fall of the paper's IP3 objective when the
splits of that set are kept instead of none, times samples, trees and the closure's unit.
"""

from thriftwood.problem.closure import ClosureIndex, build_closure, build_complexity
from thriftwood.problem.error_costs import (
    ERROR_COSTS,
    AnyErrorCosts,
    ErrorCosts,
    answers_of,
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
from thriftwood.problem.pairs import (
    LAMBDARANK,
    MOST_GRADE,
    Pairs,
    RankingLoss,
    check_grades,
    ranking_loss,
    ranks,
    take_documents,
)
from thriftwood.problem.pairs_kernels import apply_pair_hessian, pair_losses
from thriftwood.problem.problem import (
    PER_SAMPLE,
    PruningProblem,
    SampleData,
    Subsample,
    check_gains_count,
    check_problem,
    read_problem,
)
from thriftwood.problem.rankings import (
    NDCG,
    RankingScore,
    grades_of,
    ranking_names,
    ranking_values,
    read_ranking,
)
from thriftwood.problem.refining import (
    FINE,
    certain_splits,
    closure_at,
    coarse_below,
    hidden_in_others,
    refined,
)
from thriftwood.problem.targets import (
    ClassWeight,
    check_known,
    in_whole_numbers,
    is_uniform,
    one_target_each,
    read_class_weights,
    read_queries,
    read_target,
    read_weights,
    times_counted,
)
from thriftwood.problem.validation import (
    read_points,
    read_validation,
    with_own_class_weights,
)
