"""What the inner nodes of XGBoost's trees would say as leaves.

XGBoost records at each inner node the weight ``w = -G / (H + lambda)`` that it computed there (G
and H: sums of gradients and hessians over the samples of the node), but not the learning rate that
makes a leaf's value of it. A saved model does not know its learning rate either, and callbacks may
change it from tree to tree. So we take it from the tree. At a split h that has leaves below it, two
laws tie what was recorded, with leaf values v = rate * w:

    w_h (H_h + lambda)               =  sum over both children of w (H + lambda)
    gain_h + w_h^2 (H_h + lambda)    =  sum over both children of w^2 (H + lambda)

(with an L1 penalty alpha, |w| (H + lambda) + alpha takes the place of |w| (H + lambda) in the
first). The second gives the rate; the first must then hold, or the split is no witness:
`max_delta_step` and monotone constraints change some weights. The rate of a tree is that of its
witnesses. (Where every weight was clipped, the largest leaf is the rate times `max_delta_step`.)

Where no split of a tree is a witness, as for losses whose leaves are set to a quantile of the
samples afterwards, an inner node gets the mean of the leaves below it, each weighted by its
hessian: what the tree says there on average.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from thriftwood.adapters.xgboost_trees import OUR_RATE, Recorded
from thriftwood.forest import Forest, leaf_means
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

# The laws hold up to float32: what is further off is no witness.
CLOSE = 2e-4

# Splits that are looked at to find the regularisation of a model that does not know its own.
MOST_WITNESSES = 20_000
LAMBDAS = np.concatenate([[0.0], np.logspace(-3, 4, 141)])

# Of some families: the rate that each tells, how far it breaks the first law, its mass.
Witnesses = tuple[FloatArray, FloatArray, FloatArray]


class Training(NamedTuple):
    """Parameters of the training, as the booster has them; of a loaded model, the defaults."""

    l2: float
    l1: float
    rate: float
    max_step: float


class Families(NamedTuple):
    """The splits that have a leaf below them, with their children: parent, left, right.

    `value` is what a leaf says, and the weight of an inner node before shrinking.
    """

    tree: IntArray
    is_leaf: BoolArray
    value: FloatArray
    hessian: FloatArray
    gain: FloatArray


def node_values(
    shape: Forest, recorded: Recorded, known: Training, leaves_set_later: bool
) -> FloatArray:
    """Return what every node says, as a leaf of its tree would.

    What the booster knows of its training is believed where the trees agree. `leaves_set_later`
    says that the loss sets leaves to something else than the recorded weights.
    """
    rates = _rates_at_leaves(shape, recorded)
    if leaves_set_later:
        rates[rates != OUR_RATE] = np.nan  # only in a tree that we wrote the weights mean something
    else:
        families = _families(shape, recorded)
        if np.isnan(rates).any() and len(families.tree):
            rates = np.where(np.isnan(rates), _rates(families, len(rates), known), rates)
        rates[np.isnan(rates) & _clipped(shape, recorded, known)] = known.rate
        told = rates[np.isfinite(rates)]
        if len(told) and told.max() - told.min() < CLOSE * told.min():
            rates = np.where(np.isnan(rates), np.median(told), rates)  # they all have the same
    rate = np.repeat(rates, np.diff(shape.tree_start))
    as_leaves = rate * recorded.weight
    if np.isnan(rates).any():
        means = leaf_means(shape, recorded.condition[:, None], recorded.hessian)[0][:, 0]
        as_leaves = np.where(np.isnan(rate), means, as_leaves)
    return np.where(shape.is_split, as_leaves, recorded.condition)


def _rates_at_leaves(shape: Forest, recorded: Recorded) -> FloatArray:
    """Return the rate where leaves hold their unshrunk weight, as `exact` trees and ours do."""
    told = ~shape.is_split & (recorded.weight != 0) & (recorded.condition != 0)
    found = np.full(shape.n_trees, np.nan)
    for tree, (first, last) in enumerate(pairwise(shape.tree_start)):
        own = np.flatnonzero(told[first:last]) + first
        if not len(own):
            continue
        rates = recorded.condition[own] / recorded.weight[own]
        rate = float(np.median(rates))
        if (np.abs(rates / rate - 1) < CLOSE).all() and abs(rate - 1) > CLOSE:
            found[tree] = rate
    return found


def _clipped(shape: Forest, recorded: Recorded, known: Training) -> BoolArray:
    """Return the trees whose largest leaf is the largest step, which confirms the known rate."""
    sizes = np.where(shape.is_split, 0.0, np.abs(recorded.condition))
    largest = np.maximum.reduceat(sizes, shape.tree_start[:-1])
    close: BoolArray = np.isclose(largest, known.rate * known.max_step, rtol=1e-5)
    return close & (known.max_step > 0)


def _families(shape: Forest, recorded: Recorded) -> Families:
    splits = np.flatnonzero(shape.is_split)
    nodes = np.stack([splits, shape.left[splits], shape.right[splits]], axis=1)
    nodes = nodes[~shape.is_split[nodes].all(axis=1)]
    says = np.where(shape.is_split, recorded.weight, recorded.condition)
    gains = np.zeros(shape.n_nodes) if shape.gains is None else shape.gains
    return Families(
        tree=shape.tree_of(nodes[:, 0]),
        is_leaf=~shape.is_split[nodes],
        value=says[nodes],
        hessian=recorded.hessian[nodes],
        gain=gains[nodes[:, 0]],
    )


def _rates(families: Families, n_trees: int, known: Training) -> FloatArray:
    """Return the rate of each tree, NaN where it has no witness."""
    found = _witnesses(families, known.l2, known.l1)
    if not _convinces(found):
        other = _witnesses(families, _likely_l2(families), 0.0)
        # One free number fits one split always; that three agree is no accident.
        if _convinces(other) and np.count_nonzero(other[1] < CLOSE) >= 3:
            found = other
    first = np.searchsorted(families.tree, np.arange(n_trees + 1))
    rate, off, mass = found
    return np.array(
        [_agreed(rate[a:b], off[a:b] < CLOSE, mass[a:b], known.rate) for a, b in pairwise(first)]
    )


def _agreed(rates: FloatArray, agree: BoolArray, mass: FloatArray, known: float) -> float:
    """Return the rate that the witnesses of a tree agree on.

    One of many may be there by accident, and is not believed alone.
    """
    if not agree.any():
        return np.nan
    order = np.argsort(rates[agree])
    reached = np.cumsum(mass[agree][order])
    rate = float(rates[agree][order][np.searchsorted(reached, reached[-1] / 2)])
    if abs(rate / known - 1) < CLOSE:
        return known  # without the rounding of what was recorded
    same = agree & (np.abs(rates / rate - 1) < CLOSE)
    if np.count_nonzero(same) > 1 or mass[same].sum() > 0.5 * mass.sum():
        return rate
    return np.nan


def _witnesses(families: Families, l2: float, l1: float) -> Witnesses:
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
    return rate, np.where(silent, np.inf, off), shrunk


def _convinces(found: Witnesses) -> bool:
    _, off, mass = found
    return bool(mass[off < CLOSE].sum() > 0.5 * mass.sum())


def _likely_l2(families: Families) -> float:
    """Return the L2 penalty under which most splits obey the laws."""
    step = -(-len(families.tree) // MOST_WITNESSES)
    some = Families._make(column[::step] for column in families)

    def disagreement(l2: float) -> float:
        return float(np.median(np.minimum(_witnesses(some, l2, 0.0)[1], 1.0)))

    grid = [disagreement(l2) for l2 in LAMBDAS]
    best = int(np.argmin(grid))
    around = LAMBDAS[max(best - 1, 0)], LAMBDAS[min(best + 1, len(LAMBDAS) - 1)]
    finer = minimize_scalar(disagreement, bounds=around, method="bounded")
    return float(finer.x) if finer.fun < grid[best] else float(LAMBDAS[best])
