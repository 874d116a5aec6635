"""Numba loops over the splits that a point adds, and over ranked samples; callers check all."""

from collections import namedtuple

from thriftwood.support.compiling import kernel, quick_kernel

# What samples get at the current point of a path.
#
#   total      sum of the values of the leaves they are in, in whole numbers so that nothing drifts
#   votes      how many trees predict each class
#   n_trees    how many trees predict the sample
#   changed    samples that are no longer as they were last measured
State = namedtuple("State", "total votes n_trees changed")

# The trees with the values of their nodes, and the samples that pass them: `Forest` and `Routes`.
#
#   winner     the output with the largest value at each node
#   times      0 where a tree does not predict a sample
Trees = namedtuple("Trees", "tree_of left right value winner order start stop times")


@kernel
def put_in(trees, state, splits, sign):
    """Send the samples of some leaves on to their children; with sign -1 take them back.

    What a split adds to a sample does not depend on other splits: any order will do.
    """
    for h in splits:
        tree, left = trees.tree_of[h], trees.left[h]
        for place in range(trees.start[h], trees.stop[h]):
            sample = trees.order[tree, place]
            if trees.times[tree, sample] == 0:
                continue
            child = left if place < trees.stop[left] else trees.right[h]
            state.changed[sample] = True
            state.votes[sample, trees.winner[h]] -= sign
            state.votes[sample, trees.winner[child]] += sign
            for k in range(trees.value.shape[1]):
                state.total[sample, k] += sign * (trees.value[child, k] - trees.value[h, k])


@quick_kernel
def area(order, values, shares, is_own, influence):
    """Return the area under a ROC curve; write what each sample adds to its deviation.

    `order` has the samples by their `values`, which are sorted. A sample is ranked rightly against
    those of the other kind on their side of it, and against half of those with equal values.
    """
    own = other = area = own_below = other_below = 0.0
    for sample in range(len(shares)):
        if is_own[sample]:
            own += shares[sample]
        else:
            other += shares[sample]
    first = 0
    while first < len(order):
        last, own_equal, other_equal = first, 0.0, 0.0
        while last < len(order) and values[last] == values[first]:
            if is_own[order[last]]:
                own_equal += shares[order[last]]
            else:
                other_equal += shares[order[last]]
            last += 1
        for sample in order[first:last]:
            if is_own[sample]:
                influence[sample] = (other_below + other_equal / 2) / other
            else:
                influence[sample] = 1.0 - (own_below + own_equal / 2) / own
        area += own_equal * (other_below + other_equal / 2) / other
        own_below, other_below, first = own_below + own_equal, other_below + other_equal, last
    area /= own
    for sample in range(len(shares)):
        size = own if is_own[sample] else other
        influence[sample] = shares[sample] / size * (influence[sample] - area)
    return area
