"""The study: Table 1 of the paper in full, and every method beside its peers on the same samples.

`python -m benchmarks.study PART` runs a part and appends to its CSV file in `results`; what is
there is skipped, so that an interrupted run goes on. `python -m benchmarks.study --help` has the
parts. Law: one meter measures every method, and nobody chooses anything on test samples.
"""

import sys
from pathlib import Path

# The other benchmarks are scripts that import each other by their bare names.
sys.path.insert(0, str(Path(__file__).parents[1]))
