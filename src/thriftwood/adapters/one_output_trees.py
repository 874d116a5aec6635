"""What readers and writers of boosted trees share: one tree speaks for one output."""

from typing import Any

import numpy as np

from thriftwood.forest import Forest
from thriftwood.support.arrays import FloatArray, IntArray

# Put on every tree that we write: its splits hold what they would say as leaves. A tree that is
# trained again, or added by a warm start, is a new object without the mark.
MARK = "splits_speak_as_leaves_"


def is_marked(tree: Any) -> bool:
    return bool(getattr(tree, MARK, False))


def mark(tree: Any) -> None:
    setattr(tree, MARK, True)


def output_of_nodes(forest: Forest, n_outputs: int) -> IntArray:
    """Return the output that each node speaks for: trees take turns, one for each output."""
    return np.repeat(np.arange(forest.n_trees) % n_outputs, np.diff(forest.tree_start))


def in_columns(own: FloatArray, forest: Forest, n_outputs: int) -> FloatArray:
    """Return values of all outputs from what each node says to its own; 0 elsewhere."""
    values = np.zeros((forest.n_nodes, n_outputs))
    values[np.arange(forest.n_nodes), output_of_nodes(forest, n_outputs)] = own
    return values


def own_column(values: FloatArray, forest: Forest) -> FloatArray:
    """Return from values of all outputs what each node says to its own."""
    output = output_of_nodes(forest, forest.n_outputs)
    own: FloatArray = values[np.arange(forest.n_nodes), output]
    return own
