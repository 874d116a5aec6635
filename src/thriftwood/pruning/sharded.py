"""Pruning where rows come in pieces: every piece becomes a shard, and no row travels."""

from __future__ import annotations

from typing import NamedTuple

from thriftwood.closure import Shard
from thriftwood.formulation import (
    ShardReport,
)


class _State(NamedTuple):
    """What a worker keeps of its piece of the rows."""

    shard: Shard
    report: ShardReport
