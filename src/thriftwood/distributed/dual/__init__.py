"""Dual decomposition of closure problems whose items lie in partitions.

All partitions must keep the same projects. This coupling is relaxed (Lagrangian relaxation; as in
Guignard and Kim 1987, "Lagrangean decomposition", and Komodakis, Paragios and Tziritas 2011, "MRF
energy minimization and beyond via dual decomposition"): every partition p gets its own copy of the
projects and a part of every gain, the multiplier u[p, h], and solves its subproblem alone. Multi-
pliers of a project always add up to its gain, so that::

    max over x of sum_h gain[h] x[h] - tradeoff * sum_p cost_p(x)
        <=  sum_p  max over x_p of sum_h u[p, h] x_p[h] - tradeoff * cost_p(x_p)

for any multipliers: the right side is the dual bound. Multipliers move towards the partitions that
drop a project too early (dual ascent; Bertsekas, "Nonlinear Programming", chapter 6), and what
partitions still disagree on is gathered and solved by one minimum cut, whose flow gives multipliers
that close the gap. Nothing here knows a tree.

Law: the answer is closed, its profit is exact, and no closed set has a profit beyond the bound;
where the disagreement was gathered, the answer is the smallest best set.
"""

from thriftwood.distributed.dual.ascent import DecomposedClosure
from thriftwood.distributed.dual.cut import DualSolution, decomposed_cut
from thriftwood.distributed.dual.options import DualDecomposition, DualRound
from thriftwood.distributed.dual.path import decomposed_path
from thriftwood.distributed.dual.subproblem import (
    Subproblem,
    cost_by_breakpoint,
    join_subproblems,
    send_all,
)
