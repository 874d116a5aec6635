"""Cascades: prunings of one model in stages, and rules to stop at them.

Law: what a row buys at one stage is part of what it buys at the next, so nothing is bought in vain.
"""

from thriftwood.cascade.expected import calibrated
from thriftwood.cascade.model import CascadeClassifier, cascade_at
from thriftwood.cascade.rules import StoppingRules
from thriftwood.cascade.tuning import StageTrial, tune_rules

__all__ = [
    "CascadeClassifier",
    "StageTrial",
    "StoppingRules",
    "calibrated",
    "cascade_at",
    "tune_rules",
]
