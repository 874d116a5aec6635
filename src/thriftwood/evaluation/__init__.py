"""Measure prunings on samples, choose among them, prove them.

Law: the errors, scores and bills of a point are those of the model that the point writes.
"""

from thriftwood.evaluation.choosing import (
    Choice,
    check_statistic,
    choose_point,
    read_rule,
    warn_of_constant,
)
from thriftwood.evaluation.evaluation import Evaluation, Measures, evaluate
from thriftwood.evaluation.scores import default_scoring

__all__ = [
    "Choice",
    "Evaluation",
    "Measures",
    "check_statistic",
    "choose_point",
    "default_scoring",
    "evaluate",
    "read_rule",
    "warn_of_constant",
]
