"""Samples in partitions, local or on Dask; dual decomposition; subsampling.

Law: the closure problem of all partitions together is that of all samples at once, and what is
proven of its solution holds for all samples.
"""

from thriftwood.distributed.dual import DualDecomposition, DualRound
from thriftwood.distributed.hull import lower_hull, slopes_of
from thriftwood.distributed.partitioned import partitioned_problem
from thriftwood.distributed.partitions import is_partitioned
from thriftwood.distributed.subsampling import subsampled_partitions, subsampled_problem
