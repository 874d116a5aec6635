"""What the inner nodes of XGBoost's trees would say as leaves.

XGBoost records at each inner node the weight ``w = -G / (H + lambda)`` that it computed there (G
and H: sums of gradients and hessians over the rows of the node), but not the learning rate that
makes a leaf's value of it. A saved model does not know its learning rate either, and callbacks may
change it from tree to tree. So we take it from the tree. At a split h that has leaves below it, two
laws tie what was recorded, with leaf values v = rate * w:

    w_h (H_h + lambda)               =  sum over both children of w (H + lambda)
    gain_h + w_h^2 (H_h + lambda)    =  sum over both children of w^2 (H + lambda)

(with an L1 penalty alpha, |w| (H + lambda) + alpha takes the place of |w| (H + lambda) in the
first). The second gives the rate; the first must then hold, or the split is no witness:
`max_delta_step` and monotone constraints change some weights. The rate of a tree is that of its
witnesses. (Where every weight was clipped, the largest leaf is the rate times `max_delta_step`.)

Where no split of a tree is a witness, as for losses whose leaves are set to a quantile of the rows
afterwards, an inner node gets the mean of the leaves below it, each weighted by its hessian: what
the tree says there on average.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from thriftwood.adapters.joining import splits_bottom_up
from thriftwood.adapters.xgboost.trees import OUR_RATE, Recorded
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

# The laws hold up to float32: what is further off is no witness.
CLOSE = 2e-4

# Splits that are looked at to find the regularisation of a model that does not know its own.
MOST_WITNESSES = 20_000
LAMBDAS = np.concatenate([[0.0], np.logspace(-3, 4, 141)])


class Regularisation(NamedTuple):
    """How the booster says that it was trained; a loaded model has the library's defaults here."""

    l2: float
    l1: float
    rate: float
    max_step: float


def node_values(
    trees: list[Recorded], known: Regularisation, leaves_set_later: bool
) -> list[FloatArray]:
    """Return what every node of every tree says, as a leaf of the tree would.

    Parameters
    ----------
    trees : list of Recorded
    known : Regularisation
        What the booster knows of its training. It is believed where the trees agree.
    leaves_set_later : bool
        Whether the loss sets leaves to something else than the recorded weights.
    """
    rates = np.array([_rate_at_leaves(tree) for tree in trees])
    if leaves_set_later:
        rates[rates != OUR_RATE] = np.nan  # only in a tree that we wrote the weights mean something
        return [_shrunk(tree, rate) for tree, rate in zip(trees, rates, strict=True)]
    families = _families(trees)
    if np.isnan(rates).any() and len(families.tree):
        rates = np.where(np.isnan(rates), _rates(families, len(trees), known), rates)
    clipped = np.array([_is_clipped(tree, known) for tree in trees])
    rates[np.isnan(rates) & clipped] = known.rate
    told = rates[np.isfinite(rates)]
    if len(told) and told.max() - told.min() < CLOSE * told.min():
        rates = np.where(np.isnan(rates), np.median(told), rates)  # they all have the same
    return [_shrunk(tree, rate) for tree, rate in zip(trees, rates, strict=True)]


def _shrunk(tree: Recorded, rate: float) -> FloatArray:
    if np.isnan(rate):
        return _mean_below(tree)
    return np.where(tree.is_leaf, tree.condition, rate * tree.weight)


def _mean_below(tree: Recorded) -> FloatArray:
    """Return for each node the mean of its leaves, weighted by their hessians."""
    values = np.where(tree.is_leaf, tree.condition, 0.0)
    mass = np.where(tree.is_leaf, np.maximum(tree.hessian, np.finfo(np.float32).tiny), 0.0)
    for level in splits_bottom_up(tree.left, tree.right):
        both = np.stack([tree.left[level], tree.right[level]])
        mass[level] = mass[both].sum(axis=0)
        values[level] = (values[both] * mass[both]).sum(axis=0) / mass[level]
    return values


def _rate_at_leaves(tree: Recorded) -> float:
    """Return the rate where leaves hold their unshrunk weight, as `exact` trees and ours do."""
    told = tree.is_leaf & (tree.weight != 0) & (tree.condition != 0)
    if not told.any():
        return np.nan
    rates = tree.condition[told] / tree.weight[told]
    rate = float(np.median(rates))
    agree = (np.abs(rates / rate - 1) < CLOSE).all()
    return rate if agree and abs(rate - 1) > CLOSE else np.nan


def _is_clipped(tree: Recorded, known: Regularisation) -> bool:
    """Say whether the largest leaf is the largest step, which confirms the known rate."""
    largest = np.abs(tree.condition[tree.is_leaf]).max()
    return bool(known.max_step > 0) and np.isclose(largest, known.rate * known.max_step, rtol=1e-5)


class _Families(NamedTuple):
    """The splits that have a leaf below them, with their children: parent, left, right.

    `value` is what a leaf says, and the weight of an inner node before shrinking.
    """

    tree: IntArray
    is_leaf: BoolArray
    value: FloatArray
    hessian: FloatArray
    gain: FloatArray


class _Witnesses(NamedTuple):
    """What rate each family tells, how far it breaks the first law, and how much it weighs."""

    rate: FloatArray
    off: FloatArray
    mass: FloatArray

    @property
    def agree(self) -> BoolArray:
        agree: BoolArray = self.off < CLOSE
        return agree


def _families(trees: list[Recorded]) -> _Families:
    parts = []
    for number, tree in enumerate(trees):
        splits = np.flatnonzero(~tree.is_leaf)
        nodes = np.stack([splits, tree.left[splits], tree.right[splits]], axis=1)
        nodes = nodes[tree.is_leaf[nodes].any(axis=1)]
        says = np.where(tree.is_leaf, tree.condition, tree.weight)
        of_tree = np.full(len(nodes), number)
        parts.append(
            (of_tree, tree.is_leaf[nodes], says[nodes], tree.hessian[nodes], tree.gain[nodes[:, 0]])
        )
    return _Families._make(np.concatenate(column) for column in zip(*parts, strict=True))


def _rates(families: _Families, n_trees: int, known: Regularisation) -> FloatArray:
    """Return the rate of each tree, NaN where it has no witness."""
    found = _witnesses(families, known.l2, known.l1)
    if not _convinces(found):
        other = _witnesses(families, _likely_l2(families), 0.0)
        # One free number fits one split always; that three agree is no accident.
        if _convinces(other) and np.count_nonzero(other.agree) >= 3:
            found = other
    first = np.searchsorted(families.tree, np.arange(n_trees + 1))
    of_trees = [
        _Witnesses._make(column[start:stop] for column in found) for start, stop in pairwise(first)
    ]
    return np.array([_verdict(own, known.rate) for own in of_trees])


def _verdict(found: _Witnesses, known: float) -> float:
    """Return the rate that the witnesses of a tree agree on.

    One of many may be there by accident, and is not believed alone.
    """
    agree = found.agree
    if not agree.any():
        return np.nan
    rate = _weighted_median(found.rate[agree], found.mass[agree])
    if abs(rate / known - 1) < CLOSE:
        return known  # without the rounding of what was recorded
    same = agree & (np.abs(found.rate / rate - 1) < CLOSE)
    if np.count_nonzero(same) > 1 or found.mass[same].sum() > 0.5 * found.mass.sum():
        return rate
    return np.nan


def _witnesses(families: _Families, l2: float, l1: float) -> _Witnesses:
    leaf, value = families.is_leaf, families.value
    stiffness = families.hessian + l2
    energy = value**2 * stiffness
    shrunk = (energy * leaf).sum(axis=1)
    own = energy[:, 0] - (energy * ~leaf)[:, 1:].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.sqrt(shrunk / (families.gain + own))
        unshrunk = np.where(leaf, value / rate[:, None], value)
    pull = unshrunk * stiffness + np.sign(value) * l1
    hidden = l1 * (value == 0).sum(axis=1)  # a weight of 0 may hide any pull up to l1
    off = np.maximum(np.abs(pull[:, 0] - pull[:, 1] - pull[:, 2]) - hidden, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = off / np.abs(pull).sum(axis=1)
    silent = ~np.isfinite(off) | ~(rate > 0)
    return _Witnesses(rate, np.where(silent, np.inf, off), shrunk)


def _convinces(found: _Witnesses) -> bool:
    return bool(found.mass[found.agree].sum() > 0.5 * found.mass.sum())


def _likely_l2(families: _Families) -> float:
    """Return the L2 penalty under which most splits obey the laws."""
    step = -(-len(families.tree) // MOST_WITNESSES)
    some = _Families._make(column[::step] for column in families)

    def disagreement(l2: float) -> float:
        return float(np.median(np.minimum(_witnesses(some, l2, 0.0).off, 1.0)))

    grid = [disagreement(l2) for l2 in LAMBDAS]
    best = int(np.argmin(grid))
    around = LAMBDAS[max(best - 1, 0)], LAMBDAS[min(best + 1, len(LAMBDAS) - 1)]
    finer = minimize_scalar(disagreement, bounds=around, method="bounded")
    return float(finer.x) if finer.fun < grid[best] else float(LAMBDAS[best])


def _weighted_median(numbers: FloatArray, mass: FloatArray) -> float:
    order = np.argsort(numbers)
    reached = np.cumsum(mass[order])
    return float(numbers[order][np.searchsorted(reached, reached[-1] / 2)])
