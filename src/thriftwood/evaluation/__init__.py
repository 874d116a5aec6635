"""Measure prunings on samples, choose among them, prove them.

Law: the errors and bills of a point are those of the model that the point writes.
"""

from thriftwood.evaluation.choosing import check_rule, check_statistic, chosen_point
from thriftwood.evaluation.evaluation import Evaluation, Measures, evaluate

__all__ = ["Evaluation", "Measures", "check_rule", "check_statistic", "chosen_point", "evaluate"]
