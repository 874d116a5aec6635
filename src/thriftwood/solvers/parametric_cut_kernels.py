"""Numba loops of the parametric cut: divide projects and items until every part drops as one.

A *part* is a set of undecided projects, with the items that nobody who stays longer pays for. At
the lambda at which its gains and its costs are equal in sum, either its excesses cover all its
deficits, and the part drops as one; or what the remaining excesses reach drops later than the rest.
"""

from collections import namedtuple

import numpy as np

from thriftwood.closure.kernels import NOTHING, merge_costs, merge_twins
from thriftwood.solvers.pseudoflow_kernels import Arcs, initialise, pay_from_below, run, strong_side
from thriftwood.support.compiling import inner_kernel, kernel, small_kernel

# Parts with fewer arcs than this are solved in one go, without coming back to Python.
FEW_ARCS = 50_000
# Scaled gains of a part, signs aside, add up to at most this.
MOST = np.int64(2**60)
# Costs of a part that can be shared out in 64 bits.
MOST_SHARED = np.int64(2**52)

# Projects, items and arcs as in a ClosureProblem. `origin` numbers the projects in the whole;
# `parent` are the trees of the last cut, to start the next one from; so many projects as `place`
# says drop later than the part.
Part = namedtuple("Part", "origin gains requires arc_start arc_item costs parent place")

# For each project of the whole: gains, costs and place of the part with which it drops. The slacks
# add up to the gains that may be missed where lambda had to be rounded, or time was up: from when
# `stop[0]` is set, what is left of a part drops as one.
Drops = namedtuple("Drops", "gain cost place slack stop")


@kernel
def first_part(whole, wanted):
    """Return what is wanted of the whole as a part, where each project pays what it can."""
    part = restrict(whole, wanted, whole.parent, whole.place)
    arcs = part.requires, part.arc_start, part.arc_item
    return Part(part.origin, part.gains, *arcs, part.costs, first_parents(part), part.place)


@inner_kernel
def first_parents(part):
    """Return parents to start from, where each project pays from below what it can."""
    _, _, gain_scale, cost_scale = balance(part)
    n_projects = len(part.gains)
    excess = np.empty(n_projects + len(part.costs), dtype=np.int64)
    for h in range(n_projects):
        excess[h] = part.gains[h] * gain_scale
    for item in range(len(part.costs)):
        excess[n_projects + item] = -part.costs[item] * cost_scale
    return pay_from_below(Arcs(part.requires, part.arc_start, part.arc_item), excess)


@kernel
def solve(part, drops):
    """Find with which part each project drops."""
    while True:
        drops_as_one, later, part = halve(part, drops)
        if drops_as_one:
            return
        if len(later.arc_item) < len(part.arc_item):
            solve(later, drops)
        else:
            solve(part, drops)
            part = later


@kernel
def halve_large(part, drops):
    """`halve`, for Python; who has no part of that many arcs never compiles it by itself."""
    return halve(part, drops)


@inner_kernel
def halve(part, drops):
    """Note a part that drops as one; cut any other: (drops as one, what drops later, the rest)."""
    drops_as_one, inside, parent = divide(part, drops)
    if drops_as_one:
        return True, part, part
    later = restrict(part, inside, parent, part.place)
    for v in range(len(inside)):
        inside[v] = not inside[v]
    return False, later, restrict(part, inside, parent, part.place + len(later.origin))


@inner_kernel
def divide(part, drops):
    """Note a part that drops as one; cut any other: (drops as one, who drops later, the trees)."""
    gain, cost, gain_scale, cost_scale = balance(part)
    demand = np.empty_like(part.costs)
    for item in range(len(demand)):
        demand[item] = part.costs[item] * cost_scale
    is_cut, later, parent, left = cut(part, part.parent, gain_scale, demand, drops.stop)
    if is_cut and cost > 0 and not drops.stop[0]:
        return False, later, parent
    # At the exact lambda a better set would gain at least 1 / cost more; what the excesses leave
    # over hides less than that. Doubles decide this but for the last digits.
    slack = left / gain_scale
    if slack * float(cost) >= 0.99 and 0 < cost < MOST_SHARED and not drops.stop[0]:
        scale, shares = shares_of_gain(part, gain, cost)
        is_cut, later, parent, left = cut(part, parent, scale, shares, drops.stop)
        if is_cut and not drops.stop[0]:
            # Every share is less than one unit too low, which a set that was left out may gain.
            drops.slack[part.origin[0]] += len(shares) / scale
            return False, later, parent
        slack = min(slack, np.inf if drops.stop[0] else left / scale)
    note(part, drops, gain, cost, slack if slack * float(cost) >= 0.99 else 0.0)
    return True, later, parent


@small_kernel
def note(part, drops, gain, cost, slack):
    """Note that a part drops as one; it may be empty."""
    if slack > 0:
        drops.slack[part.origin[0]] += slack
    for project in part.origin:
        drops.gain[project] = gain
        drops.cost[project] = cost
        drops.place[project] = part.place


@inner_kernel
def cut(part, parent, gain_scale, demand, stop):
    """Cut a part, where every item asks for its demand, from the trees of `parent`.

    Returns whether somebody asks for more than the excesses can pay, the smallest best set then,
    the trees, and what excesses are left over, in doubles.
    """
    n_projects = len(part.gains)
    excess = np.empty(n_projects + len(demand), dtype=np.int64)
    for h in range(n_projects):
        excess[h] = part.gains[h] * gain_scale
    for item in range(len(demand)):
        excess[n_projects + item] = -demand[item]
    trees = initialise(Arcs(part.requires, part.arc_start, part.arc_item), excess, parent)
    run(trees, stop)
    lowest, left = np.int64(0), 0.0
    for amount in excess:
        lowest = min(lowest, amount)
        left += max(amount, 0)
    is_cut = lowest < 0
    later = strong_side(trees) if is_cut else np.empty(0, dtype=np.bool_)
    return is_cut, later, trees.parent, left


@inner_kernel
def shares_of_gain(part, gain, cost):
    """Return a scale for gains, and each item's share of all of them by its cost, rounded down.

    They stand for lambda where no fraction of few digits is near gain / cost.
    """
    size = np.int64(0)
    for amount in part.gains:
        size += abs(amount)
    scale = MOST // max(size, 1)
    shares = np.empty_like(part.costs)
    for item in range(len(shares)):
        shares[item] = share_of(gain * scale, part.costs[item], cost)
    return scale, shares


@small_kernel
def share_of(amount, cost, total):
    """Return amount * cost / total, rounded down: products wrap, but what they differ by is small.

    The amount is at most 2**60, the cost at most the total, which is below 2**52.
    """
    nearly = np.int64(float(amount) * (float(cost) / float(total)))
    return nearly + (amount * cost - nearly * total) // total


@small_kernel
def balance(part):
    """Return all gains, all costs, and what to multiply each with to make them equal, or nearly.

    Lambda is the ratio of the two scales, cost_scale / gain_scale. Scaled gains are at least the
    scaled costs, and stay within the range.
    """
    gain, cost, size = np.int64(0), np.int64(0), np.int64(0)
    for amount in part.gains:
        gain += amount
        size += abs(amount)
    for amount in part.costs:
        cost += amount
    gain_scale, cost_scale = fraction_from_below(gain, cost, MOST // max(size, 1))
    return gain, cost, gain_scale, cost_scale


@small_kernel
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


@inner_kernel
def restrict(part, inside, parent, place):
    """Return the vertices inside as a part of their own, twins among the items merged.

    The trees of `parent` go with them.
    """
    n_projects, n_inside = len(part.gains), 0
    number = np.empty(len(inside), dtype=np.int32)
    for h in range(n_projects):
        number[h] = n_inside if inside[h] else NOTHING
        n_inside += inside[h]
    projects = np.empty(n_inside, dtype=np.int64)
    origin, requires = np.empty(n_inside, dtype=np.int32), np.empty(n_inside, dtype=np.int32)
    gains = np.empty(n_inside, dtype=np.int64)
    for h in range(n_projects):
        if inside[h]:
            k, above = number[h], part.requires[h]
            projects[k], origin[k], gains[k] = h, part.origin[h], part.gains[h]
            requires[k] = number[above] if above != NOTHING else NOTHING
    arc_start, arc_item, group, n_groups = merge_twins(
        part.arc_start, part.arc_item, projects, inside[n_projects:]
    )
    for j in range(len(group)):
        number[n_projects + j] = n_inside + group[j] if group[j] != NOTHING else NOTHING
    new_parent = np.full(n_inside + n_groups, NOTHING, dtype=np.int32)
    trees_between(parent, number, np.arange(len(new_parent)), new_parent)
    costs = merge_costs(part.costs, group, n_groups, MOST)
    return Part(origin, gains, requires, arc_start, arc_item, costs, new_parent, place)


@small_kernel
def trees_between(parent, number, leader, new_parent):
    """Fill in parents by their new numbers; where merged twins would close a ring, none."""
    for v in range(len(parent)):
        p = parent[v]
        if p == NOTHING or number[v] == NOTHING or number[p] == NOTHING:
            continue
        if new_parent[number[v]] != NOTHING:
            continue
        one, other = leader_of(leader, number[v]), leader_of(leader, number[p])
        if one != other:
            leader[one] = other
            new_parent[number[v]] = number[p]


@small_kernel
def leader_of(leader, v):
    """Return who leads the set of v, and shorten the way there (union-find)."""
    while leader[v] != v:
        leader[v] = leader[leader[v]]
        v = leader[v]
    return v
