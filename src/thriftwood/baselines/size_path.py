"""The best tree of every size, and ways to pick one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thriftwood.baselines import size_kernels
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.pruning.pruned import Pruned
from thriftwood.pruning.sequence import PruningSequence, check_only_one
from thriftwood.support.arrays import (
    BoolArray,
    IndexArray,
    IntArray,
    read_only,
)
from thriftwood.support.validation import is_whole


@dataclass(frozen=True, eq=False, repr=False)
class SizePath(PruningSequence):
    """For every size the forest whose trees each are the best of that size.

    Of all prunings of a tree to exactly `sizes[i]` splits, point `i` has one of least loss; a tree
    that never had as many splits is whole. Points need not be nested, and neither costs nor losses
    need change in one direction only. What features cost plays no part.

    `path[i]` is `path.at(index=i)`, and `len(path)` the number of points.

    Attributes
    ----------
    model, forest, rows, prices, loss_name, costs, losses, n_splits, n_features, original
        As in `PruningPath`; the first point is the original.
    method : {"dynamic_programming"}
    choice : int array
        How many splits the left subtree gets, for each split and each number of splits at or below
        it, from 1 on; the splits one after the other in the order of the nodes.
    """

    choice: IndexArray

    is_nested: ClassVar = False
    own_methods: ClassVar = ("dynamic_programming",)
    own_arrays: ClassVar = ("choice",)
    own_numbers: ClassVar = ()

    @property
    def sizes(self) -> IntArray:
        """How many splits each tree has at each point, if it ever had as many."""
        return np.arange(len(self) - 1, -1, -1)

    @property
    def labels(self) -> dict[str, NDArray[Any]]:
        """The sizes."""
        return {"size": self.sizes}

    def kept_nodes(self, index: int) -> BoolArray:
        """Return which nodes of the forest are splits at a point."""
        return self._layout.kept_nodes(int(self.sizes[index]), self.choice)

    def at(
        self,
        *,
        size: int | None = None,
        index: int | None = None,
        budget: float | None = None,
        max_loss_increase: float | None = None,
    ) -> Pruned:
        """Return one pruning, with its model.

        Parameters
        ----------
        size : int
            How many splits each tree is to have, or all where it has fewer.
        index : int
            A point of the path; negative ones count from the end.
        budget : float
            The point of least loss among those that cost at most this, the cheapest of equals.
        max_loss_increase : float
            The cheapest point whose loss is at most this much above the original model's, the
            smallest of equals.
        """
        check_only_one(size=size, index=index, budget=budget, max_loss_increase=max_loss_increase)
        if size is not None:
            return self._pruned(len(self) - 1 - self._read_size(size))
        return super().at(index=index, budget=budget, max_loss_increase=max_loss_increase)

    def fits(self) -> bool:
        """Say whether the arrays fit the forest and each other: kernels trust them."""
        return (
            super().fits()
            and len(self) == self._layout.largest_size + 1
            and self._layout.allows(self.choice)
        )

    @cached_property
    def _layout(self) -> SizeLayout:
        return SizeLayout(self.forest)

    def _pruned(self, index: int, **about: Any) -> Pruned:
        return super()._pruned(index, size=int(self.sizes[index]), **about)

    def _read_size(self, size: Any) -> int:
        if not is_whole(size) or not 0 <= size < len(self):
            raise InputError(
                f"`size` is {size!r}: pass a whole number of splits from 0 to {len(self) - 1}, "
                "which the largest tree has."
            )
        return int(size)


class SizeLayout:
    """Where the choices of each split are, in one array for all trees.

    Attributes
    ----------
    n_below : shape (n_nodes,)
        How many splits the subtree of each node has, itself among them.
    start : shape (n_nodes + 1,)
        Where the choices of each node begin; leaves have none.
    largest_size : int
        How many splits the largest tree has.
    """

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self.n_below: IntArray = read_only(
            size_kernels.count_splits_below(forest.left, forest.right)
        )
        self.start: IntArray = read_only(np.concatenate([[0], np.cumsum(self.n_below)]))
        self.largest_size = int(self.n_below[forest.tree_start[:-1]].max())

    def kept_nodes(self, size: int, choice: IndexArray) -> BoolArray:
        """Return which nodes are splits where each tree has `size` of them, or all it has."""
        forest = self.forest
        kept: BoolArray = size_kernels.kept_at_size(
            size,
            forest.tree_start[:-1],
            forest.left,
            forest.right,
            self.n_below,
            self.start,
            choice,
        )
        return kept

    def allows(self, choice: IndexArray) -> bool:
        """Say whether each choice gives both subtrees a number of splits that they have."""
        if choice.dtype != np.int32 or choice.shape != (self.start[-1],):
            return False
        node = np.repeat(np.arange(self.forest.n_nodes), self.n_below)
        n_shared = np.arange(len(choice)) - self.start[node]
        on_the_left = self.n_below[self.forest.left[node]]
        on_the_right = self.n_below[self.forest.right[node]]
        rest = n_shared - choice
        fits = (choice >= 0) & (choice <= on_the_left) & (rest >= 0) & (rest <= on_the_right)
        return bool(fits.all())
