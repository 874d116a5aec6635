"""Numba loops over projects that require each other; their callers check everything."""

import numpy as np

from thriftwood.support.compiling import kernel

NOTHING = -1
LENT = 0.5  # which part of its capacity a project lends to those that require it


@kernel
def lend_capacity(capacity, weight, requires):
    """Let projects lend part of what they have to those that require them, by weight."""
    n_projects = len(requires)
    has = capacity.copy()
    lends = np.zeros(n_projects)
    weight_below = np.zeros(n_projects)
    for h in range(n_projects):
        if requires[h] != NOTHING:
            weight_below[requires[h]] += weight[h]
    for h in range(n_projects):
        above = requires[h]
        if above != NOTHING and weight_below[above] > 0:
            has[h] += lends[above] * weight[h] / weight_below[above]
        if weight_below[h] > 0:
            lends[h] = LENT * has[h]
            has[h] -= lends[h]
    return has


@kernel
def not_above_required(values, requires):
    """Lower the value of each project to that of the project it requires."""
    values = values.copy()
    for h in range(len(values)):
        if requires[h] != NOTHING:
            values[h] = min(values[h], values[requires[h]])
    return values


@kernel
def somewhere(weight, requires):
    """Put projects that lie nowhere to where the required one is, or everywhere."""
    weight = weight.copy()
    n_partitions, n_projects = weight.shape
    for h in range(n_projects):
        total = 0.0
        for p in range(n_partitions):
            total += weight[p, h]
        if total > 0:
            continue
        for p in range(n_partitions):
            weight[p, h] = 1.0 if requires[h] == NOTHING else weight[p, requires[h]]
    return weight
