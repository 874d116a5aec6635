"""Numba loops over projects that require each other; their callers check everything."""

import numpy as np

from thriftwood.support.compiling import kernel

NOTHING = -1
LENT = 0.5  # which part of its capacity a project lends to those that require it


@kernel
def lend_capacity(capacity, presence, requires):
    """Let projects lend part of what they have to those that require them, by presence."""
    n_projects = len(requires)
    has = capacity.copy()
    lends = np.zeros(n_projects)
    present_below = np.zeros(n_projects)
    for h in range(n_projects):
        if requires[h] != NOTHING:
            present_below[requires[h]] += presence[h]
    for h in range(n_projects):
        above = requires[h]
        if above != NOTHING and present_below[above] > 0:
            has[h] += lends[above] * presence[h] / present_below[above]
        if present_below[h] > 0:
            lends[h] = LENT * has[h]
            has[h] -= lends[h]
    return has


@kernel
def not_beyond_required(price, requires):
    """Lower the price at which a project drops to that of the project it requires."""
    price = price.copy()
    for h in range(len(price)):
        if requires[h] != NOTHING:
            price[h] = min(price[h], price[requires[h]])
    return price


@kernel
def consistent(status, requires):
    """Drop what requires a dropped project (-1), and open (0) what requires an open one."""
    status = status.copy()
    for h in range(len(status)):
        if requires[h] != NOTHING:
            status[h] = min(status[h], status[requires[h]])
    return status


@kernel
def present_somewhere(presence, requires):
    """Put projects that are present nowhere to where the required one is, or everywhere."""
    presence = presence.copy()
    n_shards, n_projects = presence.shape
    for h in range(n_projects):
        if presence[:, h].sum() > 0:
            continue
        for shard in range(n_shards):
            presence[shard, h] = 1.0 if requires[h] == NOTHING else presence[shard, requires[h]]
    return presence
