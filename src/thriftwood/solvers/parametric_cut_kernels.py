"""Numba loops of the path: split a set of projects and items until every part drops as one.

A *part* is a set of undecided projects, with the items that nobody who stays longer pays for. At
the price at which its gains and its costs are equal in sum, either its surpluses cover all its
costs, and the part drops as one; or what the remaining surpluses reach drops later than the rest.
"""

from collections import namedtuple

import numpy as np

from thriftwood.closure.kernels import (
    best_alone,
    merge_arcs,
    merge_costs,
    twin_groups,
    without_hopeless,
)
from thriftwood.solvers.pseudoflow_kernels import (
    NOTHING,
    leads_up,
    pay_from_below,
    plant,
    settle,
)
from thriftwood.support.compiling import kernel

# Parts with fewer arcs than this are decided in one go, without coming back to Python.
FEW_ARCS = 50_000
# Priced gains of a part, signs aside, add up to at most this.
MOST = np.int64(2**60)

# Projects, items and arcs as in a ClosureProblem. `origin` numbers the projects in the whole;
# `parent` are the trees of the last cut, to start the next one from.
Part = namedtuple("Part", "origin gains requires arc_start arc_item costs parent")

# For each project of the whole: gains and costs of the part with which it drops, and by how many
# gains that part may miss the optimum where prices had to be rounded.
Found = namedtuple("Found", "gain cost slack")


@kernel
def worth_having(part):
    """Return the part without projects that never pay, free items, and twins among items."""
    hopeful = without_hopeless(best_alone(part.gains, part.requires), part.requires)
    part = take(part, np.concatenate((hopeful, part.costs > 0)), part.parent)
    _, _, scale, price = balance(part)
    rest = rests(part, scale, price)
    parent = pay_from_below(part.requires, part.arc_start, part.arc_item, rest)
    for v in range(len(parent)):
        part.parent[v] = parent[v]
    return part


@kernel
def decide(part, found):
    """Find with which part each project drops."""
    while True:
        is_one, later, earlier = split(part, found)
        if is_one:
            return
        if len(later.arc_item) < len(earlier.arc_item):
            decide(later, found)
            part = earlier
        else:
            decide(earlier, found)
            part = later


@kernel
def split(part, found):
    """Note a part that drops as one; halve any other: (is one, what drops later, the rest)."""
    gain, cost, scale, price = balance(part)
    trees = plant(
        part.requires, part.arc_start, part.arc_item, rests(part, scale, price), part.parent
    )
    settle(trees)
    if cost > 0 and (trees.rest < 0).any():
        later = strong_side(trees)
        return False, take(part, later, trees.parent), take(part, ~later, trees.parent)
    # At the exact price a better set would gain at least 1 / cost more; rounding hides less than
    # left_over / scale. Doubles decide this but for the last digits.
    left_over = float(gain * scale - cost * price)
    is_proven = left_over * float(cost) < 0.99 * float(scale)
    for project in part.origin:
        found.gain[project] = gain
        found.cost[project] = cost
        found.slack[project] = 0.0 if is_proven else left_over / scale
    return True, part, part


@kernel
def balance(part):
    """Return all gains, all costs, and what to multiply each with to make them equal, or nearly.

    Gains are then at least the costs, and stay within the range.
    """
    gain, cost, size = np.int64(0), np.int64(0), np.int64(0)
    for amount in part.gains:
        gain += amount
        size += abs(amount)
    for amount in part.costs:
        cost += amount
    scale, price = fraction_from_below(gain, cost, MOST // max(size, 1))
    return gain, cost, scale, price


@kernel
def fraction_from_below(gain, cost, most):
    """Return (a, b) with b / a as near below gain / cost as any fraction with a <= most.

    Where a reduced fraction gain / cost has a denominator that small, this is it. Otherwise it is
    the last fraction from below, on the way that continued fractions take, before `a` is too large.
    """
    above, below = np.int64(gain), np.int64(cost)
    a, b = np.int64(1), np.int64(0)
    next_a, next_b = np.int64(0), np.int64(1)
    best_a, best_b = np.int64(1), np.int64(0)
    is_below = True
    while below > 0:
        whole = above // below
        above, below = below, above - whole * below
        if next_a > 0 and whole > (most - a) // next_a:
            if is_below:  # fewer than `whole` steps stay below, too, and come nearer than none
                steps = (most - a) // next_a
                best_a, best_b = a + steps * next_a, b + steps * next_b
            break
        a, next_a = next_a, a + whole * next_a
        b, next_b = next_b, b + whole * next_b
        if is_below or below == 0:
            best_a, best_b = next_a, next_b
        is_below = not is_below
    return best_a, best_b


@kernel
def rests(part, scale, price):
    """Return what each vertex starts with: a gain, or minus a cost."""
    return np.concatenate((part.gains * scale, -part.costs * price))


@kernel
def strong_side(trees):
    """Mark what a surplus reaches: along arcs, and back over arcs that carry flow.

    This is the smallest best set at the price of the cut, as in `closure.smallest_optimum`.
    """
    n_projects = len(trees.requires)
    reached = trees.rest > 0
    stack = np.flatnonzero(reached)
    size = len(stack)
    stack = np.concatenate((stack, np.empty(len(reached) - size, dtype=stack.dtype)))
    while size > 0:
        size -= 1
        v = stack[size]
        p = trees.parent[v]
        if p != NOTHING and not reached[p] and (trees.flow[v] > 0 or leads_up(trees, v, p)):
            reached[p] = True
            stack[size] = p
            size += 1
        kid = trees.first_kid[v]
        while kid != NOTHING:
            if not reached[kid] and (trees.flow[kid] > 0 or not leads_up(trees, kid, v)):
                reached[kid] = True
                stack[size] = kid
                size += 1
            kid = trees.next_kid[kid]
        if v >= n_projects:
            continue
        required = trees.requires[v]
        if required != NOTHING and not reached[required]:
            reached[required] = True
            stack[size] = required
            size += 1
        for arc in range(trees.arc_start[v], trees.arc_start[v + 1]):
            item = n_projects + trees.arc_item[arc]
            if not reached[item]:
                reached[item] = True
                stack[size] = item
                size += 1
    return reached


@kernel
def take(part, inside, parent):
    """Return the vertices inside as a part of their own, twins among the items merged.

    The trees of `parent` go with them.
    """
    n_projects = len(part.gains)
    number = np.cumsum(inside) - 1
    projects = np.flatnonzero(inside[:n_projects])
    items = np.flatnonzero(inside[n_projects:])
    requires = np.empty(len(projects), dtype=np.int32)
    arc_start = np.empty(len(projects) + 1, dtype=np.int64)
    n_arcs = 0
    for k in range(len(projects)):
        h = projects[k]
        above = part.requires[h]
        requires[k] = number[above] if above != NOTHING and inside[above] else NOTHING
        arc_start[k] = n_arcs
        for arc in range(part.arc_start[h], part.arc_start[h + 1]):
            n_arcs += inside[n_projects + part.arc_item[arc]]
    arc_start[len(projects)] = n_arcs
    arc_item = np.empty(n_arcs, dtype=np.int32)
    n_arcs = 0
    for h in projects:
        for arc in range(part.arc_start[h], part.arc_start[h + 1]):
            v = n_projects + part.arc_item[arc]
            if inside[v]:
                arc_item[n_arcs] = number[v] - len(projects)
                n_arcs += 1
    group, n_groups = twin_groups(arc_start, arc_item, len(items))
    arc_start, arc_item = merge_arcs(arc_start, arc_item, group, n_groups)
    costs = merge_costs(part.costs[items], group, n_groups, MOST)
    for k in range(len(items)):
        number[n_projects + items[k]] = len(projects) + group[k]
    return Part(
        part.origin[projects],
        part.gains[projects],
        requires,
        arc_start,
        arc_item,
        costs,
        forest_of(parent, inside, number, len(projects) + n_groups),
    )


@kernel
def forest_of(parent, inside, number, n_vertices):
    """Return the parents by their new numbers; where merged twins would close a ring, none."""
    new_parent = np.full(n_vertices, NOTHING, dtype=np.int32)
    leader = np.arange(n_vertices)
    for v in range(len(parent)):
        p = parent[v]
        if p == NOTHING or not inside[v] or not inside[p] or new_parent[number[v]] != NOTHING:
            continue
        one, other = leader_of(leader, number[v]), leader_of(leader, number[p])
        if one != other:
            leader[one] = other
            new_parent[number[v]] = number[p]
    return new_parent


@kernel
def leader_of(leader, v):
    while leader[v] != v:
        leader[v] = leader[leader[v]]
        v = leader[v]
    return v
