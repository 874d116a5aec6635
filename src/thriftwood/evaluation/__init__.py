"""Measure prunings on samples, choose among them, prove them.

Law: the errors, scores and bills of a point are those of the model that the point writes.
"""

from thriftwood.evaluation.choosing import (
    LEAST_TOTAL_COST,
    Choice,
    check_several_classes,
    check_statistic,
    choice_of,
    choose_point,
    chosen_recalibration,
    near_best,
    read_rule,
    warn_of_constant,
)
from thriftwood.evaluation.confusion import counted_answers, errors_in_words
from thriftwood.evaluation.evaluation import (
    Evaluation,
    Measures,
    Meter,
    all_alike,
    evaluate,
    labels_of,
)
from thriftwood.evaluation.money import Recalibration
from thriftwood.evaluation.scores import (
    NEG_ERROR_COSTS,
    Predicted,
    Score,
    areas_under_curve,
    check_scoring,
    class_losses,
    default_scoring,
    read_score,
    score_or_money,
)
