"""Which rows the trees of a model were grown on."""

from typing import NamedTuple

from thriftwood.support.arrays import IntArray


class BootstrapSamples(NamedTuple):
    """For each tree the rows in its sample, as often as drawn; and how many rows there were."""

    of_trees: list[IntArray]
    n_samples: int
