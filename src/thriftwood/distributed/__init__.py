"""Samples in partitions, local or on Dask; dual decomposition; subsampling.

Law: the closure problem of all partitions together is that of all samples at once, and what is
proven of its solution holds for all samples.
"""

from thriftwood.distributed.dual.options import RowShards as DualDecomposition
from thriftwood.distributed.in_partitions import comes_in_partitions, partitioned_problem
from thriftwood.distributed.subsampling import subsampled_partitions, subsampled_problem

__all__ = [
    "DualDecomposition",
    "comes_in_partitions",
    "partitioned_problem",
    "subsampled_partitions",
    "subsampled_problem",
]
