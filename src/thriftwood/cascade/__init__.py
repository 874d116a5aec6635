"""Cascades: prunings of one model in stages, and rules to stop at them.

As in a cascade of detectors (Viola and Jones, CVPR 2001), cheap stages decide the easy samples.

Law: what a sample buys at one stage is part of what it buys at the next, so nothing is bought in
vain.
"""

from thriftwood.cascade.building import N_STAGES, build_cascade, check_cascade
from thriftwood.cascade.calibration import (
    brier_scores,
    expected_errors,
    is_lopsided,
    temperature_scaling,
)
from thriftwood.cascade.guarantee import Guarantee
from thriftwood.cascade.list_building import build_list_cascade, ranking_name, tuned
from thriftwood.cascade.model import CascadeClassifier
from thriftwood.cascade.ranker import CascadeRanker
from thriftwood.cascade.rules import (
    CLOSE,
    StoppingRules,
    not_beaten,
    rule_parts,
    rules_from,
    whole_model,
)
from thriftwood.cascade.tuning import (
    StageResults,
    at_stop,
    cheapest,
    rules_near_best,
    tune_rules,
)
