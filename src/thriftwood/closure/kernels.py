"""Numba loops over closure problems; the Python functions that call them check everything.

Throughout, `h` numbers projects and `j` items; as vertices of the graph, the projects come first.
"""

from collections import namedtuple

import numpy as np

from thriftwood.support.compiling import inner_kernel, kernel, small_kernel
from thriftwood.support.draws_kernels import scramble

NOTHING = -1

# The arrays of a ClosureProblem.
ClosureArrays = namedtuple("ClosureArrays", "gains requires arc_start arc_item costs")


@inner_kernel
def arcs_by_item(arc_start, arc_item, n_items):
    """Transpose the arcs: `arc_at[item_start[j]:item_start[j + 1]]` are the arcs that lead to j.

    Returns the arcs of each item in increasing order, and the project at the tail of each.
    """
    n_projects = len(arc_start) - 1
    item_start = np.zeros(n_items + 1, dtype=np.int64)
    for arc in range(len(arc_item)):
        item_start[arc_item[arc] + 1] += 1
    for j in range(n_items):
        item_start[j + 1] += item_start[j]
    place = item_start[:-1].copy()
    arc_at = np.empty(len(arc_item), dtype=np.int32)
    project_at = np.empty(len(arc_item), dtype=np.int32)
    for h in range(n_projects):
        for arc in range(arc_start[h], arc_start[h + 1]):
            slot = place[arc_item[arc]]
            place[arc_item[arc]] += 1
            arc_at[slot] = arc
            project_at[slot] = h
    return item_start, arc_at, project_at


@inner_kernel
def children_of(requires):
    """Link the projects that require the same one: `first[h]`, then `following[...]`, until -1."""
    n_projects = len(requires)
    first = np.full(n_projects, NOTHING, dtype=np.int32)
    following = np.full(n_projects, NOTHING, dtype=np.int32)
    for h in range(n_projects - 1, -1, -1):
        above = requires[h]
        if above != NOTHING:
            following[h] = first[above]
            first[above] = h
    return first, following


@kernel
def reached_by_excess(problem, to_required, to_item):
    """Mark the projects that a vertex with a positive excess reaches over residual arcs."""
    gains, requires, arc_start, arc_item, costs = problem
    n_projects = len(gains)
    n_items = len(costs)
    excess = excess_before_flow(gains, costs)
    for h in range(n_projects):
        excess[h] -= to_required[h]
        if requires[h] != NOTHING:
            excess[requires[h]] += to_required[h]
        for arc in range(arc_start[h], arc_start[h + 1]):
            excess[h] -= to_item[arc]
            excess[n_projects + arc_item[arc]] += to_item[arc]

    item_start, arc_at, project_at = arcs_by_item(arc_start, arc_item, n_items)
    first_child, next_child = children_of(requires)
    reached = np.zeros(len(excess), dtype=np.bool_)
    stack = np.empty(len(excess), dtype=np.int32)
    size = 0
    for v in range(len(excess)):
        if excess[v] > 0:
            reached[v] = True
            stack[size] = v
            size += 1
    while size > 0:
        size -= 1
        v = stack[size]
        if v >= n_projects:
            j = v - n_projects
            for slot in range(item_start[j], item_start[j + 1]):
                h = project_at[slot]
                if not reached[h] and to_item[arc_at[slot]] > 0:
                    reached[h] = True
                    stack[size] = h
                    size += 1
            continue
        above = requires[v]
        if above != NOTHING and not reached[above]:
            reached[above] = True
            stack[size] = above
            size += 1
        child = first_child[v]
        while child != NOTHING:
            if not reached[child] and to_required[child] > 0:
                reached[child] = True
                stack[size] = child
                size += 1
            child = next_child[child]
        for arc in range(arc_start[v], arc_start[v + 1]):
            j = n_projects + arc_item[arc]
            if not reached[j]:
                reached[j] = True
                stack[size] = j
                size += 1
    return reached[:n_projects].copy()


@inner_kernel
def excess_before_flow(gains, costs):
    """Return what each vertex has, and items need, while nothing flows."""
    n_projects = len(gains)
    excess = np.empty(n_projects + len(costs), dtype=np.int64)
    for h in range(n_projects):
        excess[h] = gains[h]
    for j in range(len(costs)):
        excess[n_projects + j] = -costs[j]
    return excess


@kernel
def best_alone(gains, requires):
    """Return the most that each project and those who require it can gain, and who has a chance.

    That is, whose value and that of all it needs is positive.
    """
    value = gains.copy()
    for h in range(len(gains) - 1, -1, -1):
        if requires[h] != NOTHING and value[h] > 0:
            value[requires[h]] += value[h]
    hopeful = np.empty(len(value), dtype=np.bool_)
    for h in range(len(value)):
        hopeful[h] = value[h] > 0 and (requires[h] == NOTHING or hopeful[requires[h]])
    return value, hopeful


@kernel
def leave_out(arc_start, arc_item, costs, stays):
    """Leave out the arcs that do not stay, and items that are then needed by nobody."""
    needed = np.zeros(len(costs), dtype=np.bool_)
    n_arcs = 0
    for arc in range(len(arc_item)):
        if stays[arc]:
            needed[arc_item[arc]] = True
            n_arcs += 1
    number = np.empty(len(costs), dtype=np.int32)
    n_items = 0
    for j in range(len(costs)):
        number[j] = n_items
        n_items += needed[j]
    new_start = np.empty_like(arc_start)
    new_item = np.empty(n_arcs, dtype=np.int32)
    place = 0
    for h in range(len(arc_start) - 1):
        new_start[h] = place
        for arc in range(arc_start[h], arc_start[h + 1]):
            if stays[arc]:
                new_item[place] = number[arc_item[arc]]
                place += 1
    new_start[-1] = place
    return new_start, new_item, costs[needed]


@kernel
def merge_all_twins(arc_start, arc_item, n_items):
    """`merge_twins` of all projects, where all items count."""
    inside = np.empty(n_items, dtype=np.bool_)
    inside[:] = True
    return merge_twins(arc_start, arc_item, np.arange(len(arc_start) - 1), inside)


@inner_kernel
def merge_twins(arc_start, arc_item, projects, inside):
    """Merge items that exactly the same of some projects need, linear in the arcs.

    Such twins are told by random numbers: each project adds its own to the items that it needs. The
    merged arcs prove that all members of a group are needed together; if not, others are drawn.

    Parameters
    ----------
    projects : shape (n_some,)
        In increasing order.
    inside : shape (n_items,)
        Which items count.

    Returns
    -------
    merged_start : shape (n_some + 1,)
    merged_item
        To groups, which are numbered by their first items.
    group : shape (n_items,)
        -1 for items that nobody needs, or that do not count.
    n_groups : int
    """
    seed = np.uint64(0)
    merged_start = np.zeros(len(projects) + 1, dtype=np.int64)
    merged_item = np.empty_like(arc_item)
    while True:
        sums = np.zeros(len(inside), dtype=np.uint64)
        add_numbers(arc_start, arc_item, projects, seed, sums)
        group, n_members = group_by(sums, inside)
        missing, touched = n_members.copy(), np.empty_like(n_members)
        arcs = arc_start, arc_item, projects
        if merge_arcs(arcs, group, n_members, missing, touched, merged_start, merged_item):
            return merged_start, merged_item[: merged_start[-1]].copy(), group >> 1, len(n_members)
        seed += np.uint64(1)


@small_kernel
def add_numbers(arc_start, arc_item, projects, seed, sums):
    """Add the random number of each project to the sums of the items that it needs."""
    for h in projects:
        number = scramble((seed << np.uint64(32)) + np.uint64(h))
        for arc in range(arc_start[h], arc_start[h + 1]):
            sums[arc_item[arc]] += number


@inner_kernel
def group_by(sums, inside):
    """Give items with equal sums a group, times 2, and 1 more where it has several members.

    Items that do not count get -1, those whose sum is 0 get -2. Also returns the sizes of groups.
    """
    n_bits = 1
    while 1 << n_bits < 2 * len(sums):
        n_bits += 1
    # Of groups, by the first bits of their sums.
    table = np.full(1 << n_bits, NOTHING, dtype=np.int32)
    group = np.full(len(sums), NOTHING, dtype=np.int32)
    first = np.empty(len(sums), dtype=np.int32)
    n_members = np.zeros(len(sums), dtype=np.int32)
    n_groups = 0
    for j in range(len(sums)):
        if not inside[j]:
            continue
        if sums[j] == 0:
            group[j] = -2
            continue
        slot = np.int64(sums[j] >> np.uint64(64 - n_bits))
        while table[slot] != NOTHING and sums[first[table[slot]]] != sums[j]:
            slot = (slot + 1) % len(table)
        if table[slot] == NOTHING:
            table[slot] = n_groups
            first[n_groups] = j
            n_groups += 1
        group[j] = table[slot]
        n_members[group[j]] += 1
    for j in range(len(sums)):
        if group[j] >= 0:
            group[j] = 2 * group[j] + (n_members[group[j]] > 1)
    return group, n_members[:n_groups]


@small_kernel
def merge_arcs(arcs, group, n_members, missing, touched, merged_start, merged_item):
    """Fill in one arc to each group; tell whether projects need all members of a group or none.

    `missing` counts the members that the present project has not named yet.
    """
    arc_start, arc_item, projects = arcs
    n_merged = 0
    for k in range(len(projects)):
        n_touched = 0
        for arc in range(arc_start[projects[k]], arc_start[projects[k] + 1]):
            code = group[arc_item[arc]]
            if code == NOTHING:
                continue
            if code < NOTHING:  # needed, and yet the sum is 0
                return False
            one = code >> 1
            if code & 1:
                missing[one] -= 1
                if missing[one] + 1 < n_members[one]:
                    continue
                touched[n_touched] = one
                n_touched += 1
            merged_item[n_merged] = one
            n_merged += 1
        merged_start[k + 1] = n_merged
        for one in touched[:n_touched]:
            if missing[one] > 0:
                return False
            missing[one] = n_members[one]
    return True


@kernel
def merge_costs(costs, group, n_groups, largest_cost):
    """Add up the costs of each group, to at most `largest_cost`."""
    merged = np.zeros(n_groups, dtype=costs.dtype)
    for j in range(len(costs)):
        if group[j] != NOTHING:
            merged[group[j]] = min(merged[group[j]] + costs[j], largest_cost)
    return merged


@kernel
def share_out(problem, group, merged, merged_flow):
    """Share the flow to a group among its items; only when all are paid does one get more."""
    flow = np.zeros(len(problem.arc_item), dtype=np.int64)
    deficit = problem.costs.copy()
    left = np.zeros(len(deficit) + 1, dtype=np.int64)
    last_arc = np.zeros(len(deficit) + 1, dtype=np.int64)
    for h in range(len(problem.gains)):
        for arc in range(merged.arc_start[h], merged.arc_start[h + 1]):
            left[merged.arc_item[arc]] = merged_flow[arc]
        for arc in range(problem.arc_start[h], problem.arc_start[h + 1]):
            j = problem.arc_item[arc]
            taken = min(left[group[j]], deficit[j])
            flow[arc] = taken
            deficit[j] -= taken
            left[group[j]] -= taken
            last_arc[group[j]] = arc
        for arc in range(merged.arc_start[h], merged.arc_start[h + 1]):
            flow[last_arc[merged.arc_item[arc]]] += left[merged.arc_item[arc]]
    return flow


@kernel
def closure_at_prices(gains, requires, arc_start, prices, never):
    """Solve the closure problem where arc `a` has a price `prices[a]` of its own: two passes.

    No item couples projects then. Returns the value of each project with the best of those that
    require it, and the smallest best closed set. What a project is charged stops at
    `never`, more than all gains together.
    """
    own = gains.copy()
    for h in range(len(gains)):
        charge = 0
        for arc in range(arc_start[h], arc_start[h + 1]):
            charge = min(charge + prices[arc], never)
        own[h] -= charge
    return best_alone(own, requires)


@kernel
def excess_and_traffic(problem, to_required, to_item):
    """Return the excess of each vertex, and what passes through it in doubles."""
    gains, requires, arc_start, arc_item, costs = problem
    n_projects = len(gains)
    excess = excess_before_flow(gains, costs)
    traffic = np.empty(len(excess), dtype=np.float64)
    for v in range(len(excess)):
        traffic[v] = abs(excess[v])
    for h in range(n_projects):
        if requires[h] != NOTHING:
            move(excess, traffic, h, requires[h], to_required[h])
        for arc in range(arc_start[h], arc_start[h + 1]):
            move(excess, traffic, h, n_projects + arc_item[arc], to_item[arc])
    return excess, traffic


@small_kernel
def move(excess, traffic, tail, head, amount):
    """Send an amount over an arc."""
    excess[tail] -= amount
    excess[head] += amount
    traffic[tail] += amount
    traffic[head] += amount


@kernel
def last_needed(drop_of, arc_start, arc_item, n_items):
    """Return for each item the last drop among the projects that need it, -1 if there is none."""
    last = np.full(n_items, NOTHING, dtype=np.int32)
    for h in range(len(drop_of)):
        for arc in range(arc_start[h], arc_start[h + 1]):
            last[arc_item[arc]] = max(last[arc_item[arc]], drop_of[h])
    return last
