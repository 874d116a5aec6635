"""Closure problems whose items lie in shards, each with its own worker; only numbers travel.

Gains are shared out between shards, and each shard finds its own best sets for its share of the
gains, at all prices at once. Whatever the shares, the shards' best profits add up to a bound: no
closed set has a larger profit. Where all shards want the same set, it is the best.

Law: the answer is closed, its profit is exact, and no closed set has a profit beyond the bound;
where the rest that shards disagree on was gathered, the answer is the smallest best set.
"""

from thriftwood.distributed.dual.at_tradeoff import ShardedSolution, sharded_cut
from thriftwood.distributed.dual.log import ShardRound
from thriftwood.distributed.dual.options import RowShards
from thriftwood.distributed.dual.rounds import Crew, Projects
from thriftwood.distributed.dual.whole_path import ShardedPath, sharded_path
from thriftwood.distributed.dual.works import Order, bills

__all__ = [
    "Crew",
    "Order",
    "Projects",
    "RowShards",
    "ShardRound",
    "ShardedPath",
    "ShardedSolution",
    "bills",
    "sharded_cut",
    "sharded_path",
]
