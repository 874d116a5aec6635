"""The benchmarks run, each in small; what they measure is not tested."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Slow, and left out of `make test`: `make test-benchmarks` has them.
pytestmark = [pytest.mark.slow, pytest.mark.benchmark]
IS_SCRIPT = "arguments(__doc__"  # others are parts of these
SCRIPTS = [
    ("one_tradeoff.py", ["bytes per requires-arc", "HiGHS"]),
    ("whole_path.py", ["of the fit", "one OR-tools solve", "gap 0"]),
    ("memory.py", ["estimate", "deep", "Worst ratios"]),
    ("counted_rows.py", ["out of bag", "validation samples", "within 20"]),
    ("budget_forest.py", ["of the first", "splits"]),
    ("first_call.py", ["first prune_path", "--help", "again"]),
    ("export.py", ["ONNX, float32", "of scikit-learn"]),
    ("boosters.py", ["CEGB alone", "Area between the curves", "Where to start", "descended"]),
    ("predict.py", ["its library", "treelite"]),
    ("lazy.py", ["microseconds of our own", "concurrent samples", "saved"]),
    ("cascade.py", ["CEGB alone", "best base, cascade", "Bases chosen"]),
    ("ranking.py", ["LambdaMART, fixed set", "ThriftyRanker more than", "without a budget"]),
    ("thrifty.py", ["ThriftyRegressor", "full booster", "Growth with features"]),
    ("guarantee.py", ["passed in the world", "among the others", "whole model", "14% ill"]),
    ("gaps.py", ["node's value", "NHANES, median, then forest"]),
    ("limits.py", ["budget, cascade", "limit, whole model", "highest bill"]),
    ("refit.py", ["of growing", "validation samples"]),
    (
        "choosing.py",
        ["ROC AUC alone, paired", "best in hindsight", "was judged on", "all balanced"],
    ),
    ("error_costs.py", ["best constant", "pruned, leaves of 5", "grown"]),
    ("subsampling.py", ["covered", "Losses and bills of the subsample", "all samples"]),
    ("shapes.py", ["one deep tree", "Worst: the path takes"]),
    ("dantzig_wolfe.py", ["two workers", "Gap after each round", "The textbook's master, for"]),
    ("scale_out.py", ["same drop steps True", "of one process", "Extrapolation, not measured"]),
]


@pytest.mark.parametrize(("script", "words"), SCRIPTS)
def test_the_benchmarks_run(script, words):
    printed = printed_by(script)
    for word in words:
        assert word in printed


def test_none_is_forgotten():
    runs = {
        path.name for path in (ROOT / "benchmarks").glob("*.py") if IS_SCRIPT in path.read_text()
    }
    assert runs == {script for script, _ in SCRIPTS}


def printed_by(script):
    """Run a benchmark in small."""
    result = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), "--quick"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
