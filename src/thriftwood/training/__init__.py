"""Growing trees with prices in mind: BudgetRF.

F. Nan, J. Wang and V. Saligrama (2015), Feature-budgeted random forest, ICML.

Law: a grown tree has the splits of the plain pseudo-code, `tests/growing_twin.py`, one by one.
"""

from thriftwood.training.grow import (
    Bundles,
    Growth,
    RankedColumns,
    grow_tree,
    rank_columns,
)
