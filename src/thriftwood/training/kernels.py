"""Numba loops that grow one tree; `grow_tree` checks everything before it calls them."""

from collections import namedtuple

import numpy as np

from thriftwood.compiling import kernel
from thriftwood.training.impurity_kernels import impurity_after, impurity_of

NOTHING = -1
# A gain below this part of the impurity is the noise of doubles, not a gain.
NOISE = 1e-12
# Rows are sorted by counting where their codes span at most so many times their number.
DENSE = 4
# Up to so many rows are sorted by insertion.
FEW = 24

# The rows of one tree. A node's rows are a slice of every array; splitting it moves them.
#
#   codes    (n_features, n_rows) rank of each value among the distinct ones of its feature
#   missing  (n_features,)        the code of a missing value, above all others
#   label    (n_rows,)            class of each row
#   weight   (n_rows,)            how much it counts
Rows = namedtuple("Rows", "codes missing label weight")

# How to grow: `Growth` in numbers.
Rules = namedtuple(
    "Rules",
    "impurity alpha power max_depth min_samples_leaf min_weight_leaf max_features free_once_bought "
    "prices",
)

# What is grown. Codes up to `below` go left; `above` is the next code among the rows of the split,
# or NOTHING where all known values go left.
Nodes = namedtuple("Nodes", "parent left right feature below above missing_left n_rows counts")

# Features that may still vary at a node are the first in `live`; `place` says where each stands.
# `owned` marks those that cost nothing more, and `drawn` is the order in which they are tried.
Features = namedtuple("Features", "live place owned drawn")

# Scratch memory.
Work = namedtuple(
    "Work",
    "order keys n_per_code left right missing with_missing goes_left moved_codes moved_weights",
)

Split = namedtuple("Split", "feature below above missing_left gain")


@kernel
def grow_nodes(rows, rules, seed, nodes):
    """Grow a tree depth first, left before right, and return its number of nodes."""
    n_features, n_rows = rows.codes.shape
    n_classes = nodes.counts.shape[1]
    features = Features(
        live=np.arange(n_features),
        place=np.arange(n_features),
        owned=np.zeros(n_features, dtype=np.bool_),
        drawn=np.arange(n_features),
    )
    work = Work(
        order=np.empty(n_rows, dtype=np.int32),
        keys=np.empty(n_rows, dtype=np.int64),
        n_per_code=np.zeros(DENSE * n_rows + 3, dtype=np.int32),
        left=np.empty(n_classes),
        right=np.empty(n_classes),
        missing=np.empty(n_classes),
        with_missing=np.empty(n_classes),
        goes_left=np.empty(n_rows, dtype=np.bool_),
        moved_codes=np.empty(n_rows, dtype=np.int32),
        moved_weights=np.empty(n_rows),
    )
    # Of each node that waits: its parent, whether it is a right child, its rows, depth, and how
    # many features are live.
    waiting = np.empty((n_rows + 1, 6), dtype=np.int64)
    waiting[0] = (NOTHING, 0, 0, n_rows, 0, n_features)
    n_waiting, n_nodes = 1, 0
    while n_waiting > 0:
        n_waiting -= 1
        parent, is_right, start, stop, depth, n_live = waiting[n_waiting]
        node = n_nodes
        n_nodes += 1
        put_leaf(nodes, rows, node, parent, is_right, start, stop)
        impurity = impurity_of(nodes.counts[node], rules)
        if impurity <= 0 or depth == rules.max_depth or stop - start < 2 * rules.min_samples_leaf:
            continue
        mark_owned(nodes, rules, node, features.owned)
        seed = shuffle(features.drawn, rules.max_features, seed)
        split, n_live = best_split(
            rows, rules, features, n_live, nodes.counts[node], impurity, start, stop, work
        )
        if split.feature == NOTHING:
            continue
        middle = partition(rows, split, features.live[:n_live], start, stop, work)
        nodes.feature[node] = split.feature
        nodes.below[node] = split.below
        nodes.above[node] = split.above
        nodes.missing_left[node] = split.missing_left
        waiting[n_waiting] = (node, 1, middle, stop, depth + 1, n_live)
        waiting[n_waiting + 1] = (node, 0, start, middle, depth + 1, n_live)
        n_waiting += 2
    return n_nodes


@kernel
def put_leaf(nodes, rows, node, parent, is_right, start, stop):
    """Write a leaf with its class weights, and tell its parent."""
    nodes.parent[node] = parent
    nodes.left[node] = NOTHING
    nodes.right[node] = NOTHING
    nodes.feature[node] = NOTHING
    nodes.below[node] = NOTHING
    nodes.above[node] = NOTHING
    nodes.missing_left[node] = False
    nodes.n_rows[node] = stop - start
    for k in range(nodes.counts.shape[1]):
        nodes.counts[node, k] = 0.0
    for row in range(start, stop):
        nodes.counts[node, rows.label[row]] += rows.weight[row]
    if parent != NOTHING:
        children = nodes.right if is_right else nodes.left
        children[parent] = node


@kernel
def mark_owned(nodes, rules, node, owned):
    """Mark the features that cost nothing at a node: free ones, and those bought above it."""
    for feature in range(len(owned)):
        owned[feature] = rules.prices[feature] == 0
    if rules.free_once_bought:
        above = nodes.parent[node]
        while above != NOTHING:
            owned[nodes.feature[above]] = True
            above = nodes.parent[above]


@kernel
def shuffle(drawn, n_tried, seed):
    """Draw an order in which to try the features, where not all of them are tried."""
    if n_tried >= len(drawn):
        return seed
    for feature in range(len(drawn)):
        drawn[feature] = feature
    for last in range(len(drawn) - 1, 0, -1):
        seed, number = random_number(seed)
        chosen = np.int64(number % np.uint64(last + 1))
        drawn[last], drawn[chosen] = drawn[chosen], drawn[last]
    return seed


@kernel
def random_number(seed):
    """Return the next seed and a number of 64 random bits (Vigna's splitmix64)."""
    seed = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
    bits = seed
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return seed, bits ^ (bits >> np.uint64(31))


@kernel
def best_split(rows, rules, features, n_live, counts, impurity, start, stop, work):
    """Return the split to take, and how many features are still live.

    Of the features that cost something, the cheapest per gain is the best; of those that cost
    nothing, the one that gains most. The latter is taken where it gains at least as much.
    """
    paid = Split(NOTHING, NOTHING, NOTHING, False, 0.0)
    free = paid
    n_tried = 0
    for feature in features.drawn:
        if n_tried >= rules.max_features and max(paid.feature, free.feature) != NOTHING:
            break
        if features.place[feature] >= n_live:
            continue
        codes, missing = rows.codes[feature], rows.missing[feature]
        low, high, n_known = range_of(codes, missing, start, stop)
        if n_known == 0 or (low == high and n_known == stop - start):
            n_live -= 1
            forget(features, feature, n_live)
            continue
        n_tried += 1
        if high - low < DENSE * (stop - start):
            sort_by_counting(codes, low, high, start, stop, work)
        else:
            sort_by_comparing(codes, start, stop, work)
        after, below, above, missing_left = best_threshold(
            rows, rules, codes, n_known, stop - start, counts, work
        )
        gain = impurity - after
        if not gain > NOISE * impurity:
            continue
        split = Split(feature, below, above, missing_left, gain)
        if features.owned[feature]:
            if comes_before(split, free, 1.0, 1.0):
                free = split
        elif comes_before(split, paid, rules.prices[feature], rules.prices[paid.feature]):
            paid = split
    if free.feature != NOTHING and free.gain >= paid.gain:
        return free, n_live
    return paid, n_live


@kernel
def comes_before(split, other, price, other_price):
    """Say whether a split costs less per gain; of equals the lower feature goes first."""
    if other.feature == NOTHING:
        return True
    ratio, other_ratio = price / split.gain, other_price / other.gain
    return ratio < other_ratio or (ratio == other_ratio and split.feature < other.feature)


@kernel
def forget(features, feature, last):
    """Move a feature to place `last` of the live ones, which then are one fewer."""
    place, moved = features.place[feature], features.live[last]
    features.live[place] = moved
    features.place[moved] = place
    features.live[last] = feature
    features.place[feature] = last


@kernel
def range_of(codes, missing, start, stop):
    """Return the lowest and highest code of a node's rows, and how many of them are known."""
    low, high, n_known = missing, NOTHING, 0
    for row in range(start, stop):
        if codes[row] != missing:
            n_known += 1
            low = min(low, codes[row])
            high = max(high, codes[row])
    return low, high, n_known


@kernel
def sort_by_counting(codes, low, high, start, stop, work):
    """Put rows into the order of their codes, missing ones last, in time linear in the span."""
    first = work.n_per_code[: high - low + 3]  # per code, and one for missing ones
    first[:] = 0
    for row in range(start, stop):
        first[min(codes[row] - low, high - low + 1) + 1] += 1
    for code in range(1, len(first)):
        first[code] += first[code - 1]
    for row in range(start, stop):
        code = min(codes[row] - low, high - low + 1)
        work.order[first[code]] = row
        first[code] += 1


@kernel
def sort_by_comparing(codes, start, stop, work):
    """Put rows into the order of their codes, missing ones last, whatever the span."""
    keys = work.keys[: stop - start]
    for row in range(start, stop):
        keys[row - start] = (np.int64(codes[row]) << 32) | row
    if len(keys) <= FEW:
        for i in range(1, len(keys)):
            key, j = keys[i], i - 1
            while j >= 0 and keys[j] > key:
                keys[j + 1] = keys[j]
                j -= 1
            keys[j + 1] = key
    else:
        keys.sort()
    for i in range(len(keys)):
        work.order[i] = keys[i] & 0xFFFFFFFF


@kernel
def best_threshold(rows, rules, codes, n_known, n_rows, counts, work):
    """Return the least impurity that a threshold leaves, and the threshold.

    Rows are in order. Missing ones go right, or left if that is better; right where all known
    values go left. If none are missing here, they would go with the most rows.
    """
    left, right = work.left, work.right
    missing, with_missing = work.missing, work.with_missing
    left[:] = 0.0
    missing[:] = 0.0
    for i in range(n_known, n_rows):
        missing[rows.label[work.order[i]]] += rows.weight[work.order[i]]
    n_missing = n_rows - n_known
    least, below, above, missing_left = np.inf, NOTHING, NOTHING, False
    for i in range(n_known if n_missing > 0 else n_known - 1):
        row = work.order[i]
        left[rows.label[row]] += rows.weight[row]
        next_code = NOTHING if i + 1 == n_known else codes[work.order[i + 1]]
        if next_code == codes[row]:
            continue
        after = impurity_left(left, counts, right, i + 1, n_rows, rules)
        if after < least:
            least, below, above = after, codes[row], next_code
            missing_left = n_missing == 0 and i + 1 > n_rows - i - 1
        if n_missing == 0 or next_code == NOTHING:
            continue
        for k in range(len(left)):
            with_missing[k] = left[k] + missing[k]
        after = impurity_left(with_missing, counts, right, i + 1 + n_missing, n_rows, rules)
        if after < least:
            least, below, above, missing_left = after, codes[row], next_code, True
    return least, below, above, missing_left


@kernel
def impurity_left(left, counts, right, n_left, n_rows, rules):
    """Return the impurity after a split, infinity where a side is too small; fill `right`."""
    if min(n_left, n_rows - n_left) < rules.min_samples_leaf:
        return np.inf
    for k in range(len(left)):
        right[k] = counts[k] - left[k]
    if rules.min_weight_leaf > 0 and min(left.sum(), right.sum()) < rules.min_weight_leaf:
        return np.inf
    return impurity_after(left, right, rules)


@kernel
def partition(rows, split, live, start, stop, work):
    """Move the rows that go left before the others, keeping their order; return where they meet."""
    codes, missing = rows.codes[split.feature], rows.missing[split.feature]
    middle = start
    for row in range(start, stop):
        goes_left = split.missing_left if codes[row] == missing else codes[row] <= split.below
        work.goes_left[row] = goes_left
        middle += goes_left
    for feature in live:
        move(rows.codes[feature], work.goes_left, start, stop, work.moved_codes)
    move(rows.label, work.goes_left, start, stop, work.moved_codes)
    move(rows.weight, work.goes_left, start, stop, work.moved_weights)
    return middle


@kernel
def move(values, goes_left, start, stop, moved):
    """Put the values that go left before the others."""
    n_left, n_right = start, 0
    for row in range(start, stop):
        value = values[row]  # written to both sides, and one of them moves on: no branch
        values[n_left] = value
        moved[n_right] = value
        n_left += goes_left[row]
        n_right += not goes_left[row]
    for i in range(n_right):
        values[n_left + i] = moved[i]
