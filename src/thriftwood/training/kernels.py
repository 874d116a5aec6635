"""Numba loops that grow one tree; the estimator checks everything before `grow_tree` calls them."""

from collections import namedtuple

import numpy as np

from thriftwood.support.compiling import kernel, small_kernel

NOTHING = -1
PAIRS, POWERS, ENTROPY = 0, 1, 2  # impurities
# A gain below this part of the impurity is the noise of doubles, not a gain.
NOISE = 1e-12

# The samples of one tree. A node has a slice of `codes`, `order` and `members`, sorted for each
# feature that may still vary there; it stays so when a split moves samples.
#
#   codes    (n_features, n_samples)  rank of each value among the distinct ones, sorted in a slice
#   order    (n_features, n_samples)  the sample that each of these codes is of
#   members  (n_samples,)             the samples in no special order
#   missing  (n_features,)            the code of a missing value, above all others
#   label    (n_samples,)             class of each sample
#   weight   (n_samples,)             how much it counts
Samples = namedtuple("Samples", "codes order members missing label weight")

# How to grow: `Growth` in numbers.
Rules = namedtuple(
    "Rules",
    "impurity alpha power max_depth min_samples_leaf min_weight_leaf max_features free_once_bought "
    "prices bundle_start bundle_cost_item bundle_amount",
)

# What is grown. Codes up to `below` go left; `above` is the next code at the split, or NOTHING if
# all known values go left.
Nodes = namedtuple("Nodes", "parent left right feature below above missing_left n_samples counts")

# Features that may still vary at a node are the first in `live`; `place` says where each stands.
# `bought` marks those that cost nothing more, `prices` says what the others cost where items are
# `paid`, and `drawn` is the order in which they are tried.
Features = namedtuple("Features", "live place bought prices paid drawn")

# Scratch memory.
Work = namedtuple("Work", "left right missing with_missing goes_left moved_codes moved_samples")

# The slice of a node, its class weights and their impurity.
Node = namedtuple("Node", "start stop counts impurity")

Split = namedtuple("Split", "feature below above missing_left gain")


@kernel
def grow_nodes(samples, rules, seed, nodes):
    """Grow a tree depth first, left before right, and return its number of nodes."""
    n_features, n_samples = samples.codes.shape
    n_classes = nodes.counts.shape[1]
    n_cost_items = 0
    for item in rules.bundle_cost_item:
        n_cost_items = max(n_cost_items, item + 1)
    features = Features(
        live=np.arange(n_features),
        place=np.arange(n_features),
        bought=np.zeros(n_features, dtype=np.bool_),
        prices=rules.prices.copy(),
        paid=np.zeros(n_cost_items, dtype=np.bool_),
        drawn=np.arange(n_features),
    )
    work = Work(
        left=np.empty(n_classes),
        right=np.empty(n_classes),
        missing=np.empty(n_classes),
        with_missing=np.empty(n_classes),
        goes_left=np.empty(n_samples, dtype=np.bool_),
        moved_codes=np.empty(n_samples, dtype=samples.codes.dtype),
        moved_samples=np.empty(n_samples, dtype=np.int32),
    )
    # Of each node that waits: its parent, whether it is a right child, its samples, depth, and how
    # many features are live.
    waiting = np.empty((n_samples + 1, 6), dtype=np.int64)
    waiting[0] = (NOTHING, 0, 0, n_samples, 0, n_features)
    n_waiting, n_nodes = 1, np.int64(0)  # no literal: nothing is compiled twice
    while n_waiting > 0:
        n_waiting -= 1
        parent, is_right, start, stop, depth, n_live = waiting[n_waiting]
        node = n_nodes
        n_nodes += 1
        put_leaf(nodes, samples, node, parent, is_right, start, stop)
        impurity = impurity_of(nodes.counts[node], rules)
        if impurity <= 0 or depth == rules.max_depth or stop - start < 2 * rules.min_samples_leaf:
            continue
        if rules.free_once_bought:
            mark_bought(nodes, rules, node, features)
        seed = shuffle(features.drawn, rules.max_features, seed)
        split, n_live = best_split(
            samples, rules, features, work, Node(start, stop, nodes.counts[node], impurity), n_live
        )
        if split.feature == NOTHING:
            continue
        middle = partition(samples, split, features.live[:n_live], start, stop, work)
        nodes.feature[node] = split.feature
        nodes.below[node] = split.below
        nodes.above[node] = split.above
        nodes.missing_left[node] = split.missing_left
        waiting[n_waiting] = (node, 1, middle, stop, depth + 1, n_live)
        waiting[n_waiting + 1] = (node, 0, start, middle, depth + 1, n_live)
        n_waiting += 2
    return n_nodes


@kernel
def take_sample(order, is_new, number, samples):
    """Fill the samples of a tree from sorted columns; `number` is NOTHING for those left out."""
    for feature in range(len(order)):
        code, n_taken = -1, 0
        for place in range(order.shape[1]):
            code += is_new[feature, place]
            sample = number[order[feature, place]]
            if sample != NOTHING:
                samples.codes[feature, n_taken] = code
                samples.order[feature, n_taken] = sample
                n_taken += 1


@small_kernel
def put_leaf(nodes, samples, node, parent, is_right, start, stop):
    """Write a leaf with its class weights, and tell its parent."""
    nodes.parent[node] = parent
    nodes.left[node] = NOTHING
    nodes.right[node] = NOTHING
    nodes.feature[node] = NOTHING
    nodes.below[node] = NOTHING
    nodes.above[node] = NOTHING
    nodes.missing_left[node] = False
    nodes.n_samples[node] = stop - start
    for k in range(nodes.counts.shape[1]):
        nodes.counts[node, k] = 0.0
    for sample in samples.members[start:stop]:
        nodes.counts[node, samples.label[sample]] += samples.weight[sample]
    if parent != NOTHING:
        children = nodes.right if is_right else nodes.left
        children[parent] = node


@small_kernel
def mark_bought(nodes, rules, node, features):
    """Mark the features that were tested above a node, and take what was paid there off the prices.

    A feature that was bought keeps its price: it competes without one, by its gain.
    """
    features.bought[:] = False
    features.paid[:] = False
    above = nodes.parent[node]
    while above != NOTHING:
        k = nodes.feature[above]
        features.bought[k] = True
        for place in range(rules.bundle_start[k], rules.bundle_start[k + 1]):
            features.paid[rules.bundle_cost_item[place]] = True
        above = nodes.parent[above]
    for k in range(len(features.prices)):
        features.prices[k] = rules.prices[k]
        if features.bought[k]:
            continue
        for place in range(rules.bundle_start[k], rules.bundle_start[k + 1]):
            if features.paid[rules.bundle_cost_item[place]]:
                features.prices[k] -= rules.bundle_amount[place]
        features.prices[k] = max(features.prices[k], 0.0)


@small_kernel
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


@small_kernel
def random_number(seed):
    """Return the next seed and a number of 64 random bits (Vigna's splitmix64)."""
    seed = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
    bits = seed
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return seed, bits ^ (bits >> np.uint64(31))


@small_kernel
def best_split(samples, rules, features, work, node, n_live):
    """Return the split to take, and how many features are still live.

    That is the cheapest per gain, unless a feature that was bought before gains at least as much.
    """
    cheapest = Split(NOTHING, NOTHING, NOTHING, False, 0.0)
    bought = cheapest
    n_tried = 0
    for feature in features.drawn:
        if n_tried >= rules.max_features and cheapest.feature != NOTHING:
            break
        if features.place[feature] >= n_live:
            continue
        known = end_of_known(samples, feature, node)
        if is_constant(samples.codes[feature], node, known):
            n_live -= 1
            forget(features, feature, n_live)
            continue
        n_tried += 1
        after, below, above, missing_left = best_threshold(
            samples, rules, work, node, feature, known
        )
        gain = node.impurity - after
        if not gain > NOISE * node.impurity:
            continue
        split = Split(feature, below, above, missing_left, gain)
        prices = features.prices[feature], features.prices[cheapest.feature]
        if costs_less(split, cheapest, *prices):
            cheapest = split
        if features.bought[feature] and costs_less(split, bought, 0.0, 0.0):
            bought = split
    if bought.feature != NOTHING and bought.gain >= cheapest.gain:
        return bought, n_live
    return cheapest, n_live


@small_kernel
def costs_less(split, other, price, other_price):
    """Return True if a split costs less per gain; of equals one that gains more, or the lower."""
    if other.feature == NOTHING:
        return True
    ratio, other_ratio = price / split.gain, other_price / other.gain
    if ratio != other_ratio:
        return ratio < other_ratio
    if split.gain != other.gain:
        return split.gain > other.gain
    return split.feature < other.feature


@small_kernel
def forget(features, feature, last):
    """Move a feature to place `last` of the live ones, which then are one fewer."""
    place, moved = features.place[feature], features.live[last]
    features.live[place] = moved
    features.place[moved] = place
    features.live[last] = feature
    features.place[feature] = last


@small_kernel
def end_of_known(samples, feature, node):
    """Return where missing values begin among the sorted samples of a node: they come last."""
    stop = node.stop
    while stop > node.start and samples.codes[feature, stop - 1] == samples.missing[feature]:
        stop -= 1
    return stop


@small_kernel
def is_constant(codes, node, known):
    """Return True if the samples of a node have the same value, or all miss it."""
    if known == node.start:
        return True
    return known == node.stop and codes[node.start] == codes[known - 1]


@small_kernel
def best_threshold(samples, rules, work, node, feature, known):
    """Return the least impurity that a threshold leaves, and the threshold.

    Missing values go right, or left if that is better; right where all known values go left. If
    none are missing here, they would go with the most samples.
    """
    codes, order = samples.codes[feature], samples.order[feature]
    start, stop, counts, _ = node
    left, right = work.left, work.right
    missing, with_missing = work.missing, work.with_missing
    left[:] = 0.0
    missing[:] = 0.0
    for sample in order[known:stop]:
        missing[samples.label[sample]] += samples.weight[sample]
    n_samples, n_missing = stop - start, stop - known
    least, below, above, missing_left = np.inf, NOTHING, NOTHING, False
    for place in range(start, known if n_missing > 0 else known - 1):
        sample = order[place]
        left[samples.label[sample]] += samples.weight[sample]
        next_code = NOTHING if place + 1 == known else codes[place + 1]
        if next_code == codes[place]:
            continue
        n_left = place + 1 - start
        after = impurity_left(left, counts, right, n_left, n_samples, rules)
        if after < least:
            least, below, above = after, codes[place], next_code
            missing_left = n_missing == 0 and n_left > n_samples - n_left
        if n_missing == 0 or next_code == NOTHING:
            continue
        for k in range(len(left)):
            with_missing[k] = left[k] + missing[k]
        after = impurity_left(with_missing, counts, right, n_left + n_missing, n_samples, rules)
        if after < least:
            least, below, above, missing_left = after, codes[place], next_code, True
    return least, below, above, missing_left


@small_kernel
def impurity_left(left, counts, right, n_left, n_samples, rules):
    """Return the impurity after a split, infinity where a side is too small; fill `right`."""
    if min(n_left, n_samples - n_left) < rules.min_samples_leaf:
        return np.inf
    for k in range(len(left)):
        right[k] = counts[k] - left[k]
    if rules.min_weight_leaf > 0 and min(total_of(left), total_of(right)) < rules.min_weight_leaf:
        return np.inf
    return impurity_after(left, right, rules)


@small_kernel
def partition(samples, split, live, start, stop, work):
    """Move the samples that go left before the others, in order; return where they meet."""
    missing = samples.missing[split.feature]
    middle = start
    for place in range(start, stop):
        code = samples.codes[split.feature, place]
        goes_left = split.missing_left if code == missing else code <= split.below
        work.goes_left[samples.order[split.feature, place]] = goes_left
        middle += goes_left
    for feature in live:
        move_sorted(samples.codes[feature], samples.order[feature], start, stop, work)
    move_members(samples.members, start, stop, work)
    return middle


@small_kernel
def move_sorted(codes, order, start, stop, work):
    """Move codes and their samples, those that go left first; both sides stay sorted."""
    n_left, n_right = start, 0
    # Each is written to both sides, of which only one moves on: no branch to guess wrong.
    for place in range(start, stop):
        code, sample = codes[place], order[place]
        goes_left = work.goes_left[sample]
        codes[n_left], order[n_left] = code, sample
        work.moved_codes[n_right], work.moved_samples[n_right] = code, sample
        n_left += goes_left
        n_right += not goes_left
    for place in range(n_right):
        codes[n_left + place] = work.moved_codes[place]
        order[n_left + place] = work.moved_samples[place]


@small_kernel
def move_members(members, start, stop, work):
    """Move samples, those that go left first."""
    n_left, n_right = start, 0
    for place in range(start, stop):
        sample = members[place]
        members[n_left] = sample
        work.moved_samples[n_right] = sample
        n_left += work.goes_left[sample]
        n_right += not work.goes_left[sample]
    for place in range(n_right):
        members[n_left + place] = work.moved_samples[place]


@small_kernel
def impurity_of(counts, rules):
    """Return the impurity of samples with these class weights."""
    if rules.impurity == PAIRS:
        return pairs(counts, rules.alpha)
    if rules.impurity == POWERS:
        return powers(counts, rules.power)
    return entropy(counts, rules.alpha)


@small_kernel
def impurity_after(left, right, rules):
    """Return the impurity after a split: of the worse side, but of entropies the mean."""
    of_left, of_right = impurity_of(left, rules), impurity_of(right, rules)
    if rules.impurity == ENTROPY:
        n_left, n_right = total_of(left), total_of(right)
        return (n_left * of_left + n_right * of_right) / (n_left + n_right)
    return max(of_left, of_right)


@small_kernel
def pairs(counts, alpha):
    """Return the sum over pairs of classes of [[n_i - alpha]+ [n_j - alpha]+ - alpha^2]+."""
    total = 0.0
    if alpha == 0:
        so_far = 0.0
        for k in range(len(counts)):
            total += counts[k] * so_far
            so_far += counts[k]
        return total
    for j in range(len(counts)):
        for k in range(j):
            above = max(counts[j] - alpha, 0.0) * max(counts[k] - alpha, 0.0) - alpha * alpha
            total += max(above, 0.0)
    return total


@small_kernel
def powers(counts, power):
    """Return (sum n)^power - sum n^power."""
    total, own = 0.0, 0.0
    for k in range(len(counts)):
        total += counts[k]
        own += counts[k] ** power
    return total**power - own


@small_kernel
def total_of(counts):
    """Return the sum of class weights; `counts.sum()` takes long to compile."""
    total = 0.0
    for weight in counts:
        total += weight
    return total


@small_kernel
def entropy(counts, alpha):
    """Return the entropy in nats; below alpha it counts as 0."""
    total = total_of(counts)
    nats = 0.0
    for k in range(len(counts)):
        if counts[k] > 0:
            nats -= counts[k] / total * np.log(counts[k] / total)
    return nats if nats >= alpha else 0.0
