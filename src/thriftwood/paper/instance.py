"""Instance of the paper's programs: trees, samples, losses and prices."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.errors import InputError
from thriftwood.forest import LEAF, Forest, Routes, first_uses, preorder, sums_below
from thriftwood.problem import PruningProblem, read_problem
from thriftwood.support.arrays import FloatArray, IntArray, read_only


@dataclass(frozen=True, eq=False)
class Uses:
    """Every (t, k, i) such that sample i uses feature k in tree t, sorted by k, i and t.

    Its node is u(t, k, i), the first on the way of the sample that tests the feature; its pair is
    the (k, i) of the ensemble that it belongs to, of those that some tree uses.
    """

    tree: IntArray
    feature: IntArray
    sample: IntArray
    node: IntArray
    pair: IntArray
    pair_feature: IntArray
    pair_sample: IntArray

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, eq=False)
class PaperInstance:
    """An ensemble with samples routed through it, in the paper's numbers and names.

    The paper counts nodes, features, samples (its examples) and trees from 1: feature k is column
    k - 1, sample i is row i - 1. Nodes are numbered in pre-order, on through all trees, as in its
    Figure 1.

    Attributes
    ----------
    problem : PruningProblem
        With e_h, what each node would lose as a leaf, and c_k, one price per feature.
    forest, routes
        The trees, and S_h: the samples that reach or pass each node.
    """

    problem: PruningProblem

    @property
    def forest(self) -> Forest:
        return self.problem.forest

    @property
    def routes(self) -> Routes:
        return self.problem.routes

    @cached_property
    def n_below(self) -> IntArray:
        """The number of nodes at and below each node."""
        ones = np.ones(self.forest.n_nodes)
        return read_only(sums_below(self.forest, ones).astype(np.int64))

    @cached_property
    def number(self) -> IntArray:
        """The number of each node in pre-order: a node, all below its left child, then right."""
        return read_only(np.argsort(preorder(self.forest)) + 1)

    @cached_property
    def uses(self) -> Uses:
        """The first uses of every sample in every tree: the paper's K(t, i) and u(t, k, i)."""
        forest, n_samples = self.forest, self.routes.n_samples
        nodes = first_uses(forest)
        node = np.repeat(nodes, self.routes.n_samples_of[nodes])
        sample = self.samples_through(nodes)
        feature, tree = forest.feature[node].astype(np.int64), forest.tree_of(node)
        order = np.lexsort((tree, sample, feature))
        pairs, pair = np.unique(feature[order] * n_samples + sample[order], return_inverse=True)
        return Uses(
            tree=read_only(tree[order]),
            feature=read_only(feature[order]),
            sample=read_only(sample[order]),
            node=read_only(node[order]),
            pair=read_only(pair),
            pair_feature=read_only(pairs // n_samples),
            pair_sample=read_only(pairs % n_samples),
        )

    @cached_property
    def mean_losses(self) -> FloatArray:
        """The weight of z_h in every objective, e_h / (N T)."""
        lost = self.problem.node_losses
        return read_only(lost.total / lost.weight)

    @cached_property
    def mean_prices(self) -> FloatArray:
        """The part of w_{k,i} in the mean feature cost, c_k / N."""
        weights = self.problem.in_memory.weights
        share = weights[self.uses.pair_sample] / weights.sum()
        return read_only(self.problem.prices.prices[self.uses.pair_feature] * share)

    @cached_property
    def z_names(self) -> list[str]:
        """The name of every node's z, in the order of the forest's arrays."""
        return [f"z_{number}" for number in self.number]

    @cached_property
    def w_names(self) -> list[str]:
        """The names of w_{k,i}, for every pair that some tree uses."""
        pairs = zip(self.uses.pair_feature, self.uses.pair_sample, strict=True)
        return [f"w_{k + 1},{i + 1}" for k, i in pairs]

    @cached_property
    def tree_w_names(self) -> list[str]:
        """The names of w^(t)_{k,i}, for every use."""
        uses = zip(self.uses.tree, self.uses.feature, self.uses.sample, strict=True)
        return [f"w({t + 1})_{k + 1},{i + 1}" for t, k, i in uses]

    def nodes_of(self, tree: int) -> IntArray:
        """Return the nodes of a tree in pre-order."""
        first, last = self.forest.tree_start[tree : tree + 2]
        return first + np.argsort(self.number[first:last])

    def samples_through(self, nodes: IntArray) -> IntArray:
        """Return the paper's S_h of several nodes, one after the other."""
        routes, trees = self.routes, self.forest.tree_of(nodes)
        slices = [
            routes.order[tree, routes.start[node] : routes.stop[node]]
            for tree, node in zip(trees, nodes, strict=True)
        ]
        return np.concatenate([np.empty(0, dtype=np.int64), *slices])

    def nodes_down_to(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """Return positions in `nodes`, each with the node itself and all above: {h} and p(h)."""
        which, here = np.arange(len(nodes)), nodes.astype(np.int64)
        positions, passed = [which], [here]
        while len(here):
            above = self.forest.parent[here].astype(np.int64)
            which, here = which[above != LEAF], above[above != LEAF]
            positions.append(which)
            passed.append(here)
        return np.concatenate(positions), np.concatenate(passed)


def read_instance(model: Any, X: Any, y: ArrayLike, **options: Any) -> PaperInstance:
    """Read a model with samples.

    Parameters
    ----------
    model, X, y
        As in `tw.prune`.
    **options
        `costs`, `loss`, `class_weight`, `sample_weight` and `samples`, as in `tw.prune`.
    """
    problem = read_problem(model, X, y, **options)
    if not problem.forest.is_averaged:
        raise InputError(
            "The paper's programs add up the losses of trees, but boosted trees predict only "
            "together: pass a forest, a bagged ensemble or a tree."
        )
    if not problem.prices.is_plain:
        raise InputError(
            "The paper's programs know one price per feature and nothing else: pass an array or a "
            "mapping as `costs`, or use `prune`.",
            "costs",
        )
    return PaperInstance(problem)
