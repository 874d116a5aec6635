"""Numba loops of the min cut: push surpluses along residual arcs until they fill what is open.

There is no source and no sink. Every vertex has a *rest*: a project starts with its gain, an item
with minus its cost. Rests travel over arcs, from a project to what it needs without limit, and back
as far as flow came. A vertex with a positive rest has a surplus, one with a negative rest is open.
When no surplus can reach an open vertex any more, the flow is optimal.

Labels are the classic ones of push-relabel: a lower bound on the number of arcs to the nearest open
vertex, exact after each breadth-first search.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from thriftwood.closure.kernels import arcs_by_item, children_of

NOTHING = -1
FAR = np.int32(2**30)
# Scanning this many times all arcs pays for a new breadth-first search.
WORK_PER_SEARCH = 1.0
# A vertex whose label passes the largest exact one by more than this waits for the next search.
PATIENCE = 4

# Vertices: projects 0 .. n - 1, then items n .. n + m - 1. Arcs are kept twice: by project for the
# search (with a byte that says whether they carry flow), by item together with the flow.
#
#   by project   arc_item[arc]  arc_slot[arc]  carries[arc]        arc_start[h] <= arc < arc_start[h+1]
#   by item      slot_project[slot]  slot_arc[slot]  flow[slot]    item_start[j] <= slot < item_start[j+1]
Network = namedtuple(
    "Network",
    "requires first_child next_child arc_start arc_item arc_slot carries "
    "item_start slot_project slot_arc flow to_required rest label current queue",
)


@njit(cache=True, nogil=True)
def optimal_flow(gains, requires, arc_start, arc_item, costs):
    """Return `to_required` and `to_item` of an optimal flow, and the number of searches."""
    net = build_network(gains, requires, arc_start, arc_item, costs)
    fill_from_below(net)
    n_searches = 0
    while True:
        n_searches += 1
        farthest = search(net)
        if not push_surpluses(net, farthest):
            break
    to_item = np.empty(len(arc_item), dtype=np.int64)
    for arc in range(len(arc_item)):
        to_item[arc] = net.flow[net.arc_slot[arc]]
    return net.to_required, to_item, n_searches


@njit(cache=True, nogil=True)
def build_network(gains, requires, arc_start, arc_item, costs):
    n_projects = len(gains)
    n_vertices = n_projects + len(costs)
    first_child, next_child = children_of(requires)
    item_start, slot_arc, slot_project = arcs_by_item(arc_start, arc_item, len(costs))
    arc_slot = np.empty(len(arc_item), dtype=np.int32)
    for slot in range(len(slot_arc)):
        arc_slot[slot_arc[slot]] = slot
    rest = np.empty(n_vertices, dtype=np.int64)
    rest[:n_projects] = gains
    rest[n_projects:] = -costs
    return Network(
        requires,
        first_child,
        next_child,
        arc_start,
        arc_item,
        arc_slot,
        np.zeros(len(arc_item), dtype=np.uint8),
        item_start,
        slot_project,
        slot_arc,
        np.zeros(len(arc_item), dtype=np.int64),
        np.zeros(n_projects, dtype=np.int64),
        rest,
        np.empty(n_vertices, dtype=np.int32),
        np.empty(n_vertices, dtype=np.int32),
        np.empty(n_vertices, dtype=np.int32),
    )


@njit(cache=True, nogil=True)
def fill_from_below(net):
    """Start: each project fills its own open items and hands the remaining surplus on."""
    n_projects = len(net.requires)
    for h in range(n_projects - 1, -1, -1):
        if net.rest[h] <= 0:
            continue
        for arc in range(net.arc_start[h], net.arc_start[h + 1]):
            j = n_projects + net.arc_item[arc]
            amount = min(net.rest[h], -net.rest[j])
            if amount > 0:
                net.flow[net.arc_slot[arc]] += amount
                net.carries[arc] = 1
                net.rest[j] += amount
                net.rest[h] -= amount
        above = net.requires[h]
        if above != NOTHING and net.rest[h] > 0:
            net.to_required[h] += net.rest[h]
            net.rest[above] += net.rest[h]
            net.rest[h] = 0


@njit(cache=True, nogil=True)
def search(net):
    """Set every label to the exact distance to an open vertex; return the largest finite one."""
    n_projects = len(net.requires)
    label, queue, rest = net.label, net.queue, net.rest
    size = 0
    for v in range(len(rest)):
        if rest[v] < 0:
            label[v] = 0
            queue[size] = v
            size += 1
        else:
            label[v] = FAR
    done = 0
    while done < size:
        v = queue[done]
        done += 1
        next_label = label[v] + 1
        if v >= n_projects:
            j = v - n_projects
            for slot in range(net.item_start[j], net.item_start[j + 1]):
                h = net.slot_project[slot]
                if label[h] == FAR:
                    label[h] = next_label
                    queue[size] = h
                    size += 1
            continue
        for arc in range(net.arc_start[v], net.arc_start[v + 1]):
            if net.carries[arc]:
                j = n_projects + net.arc_item[arc]
                if label[j] == FAR:
                    label[j] = next_label
                    queue[size] = j
                    size += 1
        child = net.first_child[v]
        while child != NOTHING:
            if label[child] == FAR:
                label[child] = next_label
                queue[size] = child
                size += 1
            child = net.next_child[child]
        above = net.requires[v]
        if above != NOTHING and net.to_required[v] > 0 and label[above] == FAR:
            label[above] = next_label
            queue[size] = above
            size += 1
    return label[queue[size - 1]] if size > 0 else 0


@njit(cache=True, nogil=True)
def push_surpluses(net, farthest):
    """Discharge the vertices with a surplus, highest label first; False if there are none."""
    n_projects = len(net.requires)
    n_vertices = len(net.rest)
    highest_allowed = farthest + PATIENCE
    # Vertices with a surplus wait in one list per label: bucket[label], then following[...].
    bucket = np.full(highest_allowed + 2, NOTHING, dtype=np.int32)
    following = net.queue
    highest = 0
    for v in range(n_vertices):
        if v < n_projects:
            net.current[v] = 0
        else:
            net.current[v] = 0
        if net.rest[v] > 0 and net.label[v] < FAR:
            following[v] = bucket[net.label[v]]
            bucket[net.label[v]] = v
            highest = max(highest, net.label[v])
    if highest == 0:
        return False
    allowed_work = WORK_PER_SEARCH * (len(net.arc_item) + n_vertices)
    work = 0
    while highest > 0 and work < allowed_work:
        v = bucket[highest]
        if v == NOTHING:
            highest -= 1
            continue
        bucket[highest] = following[v]
        if v >= n_projects:
            work += discharge_item(net, v, bucket, following)
        else:
            work += discharge_project(net, v, bucket, following)
        if net.rest[v] > 0:
            work += relabel(net, v)
            if net.label[v] <= highest_allowed:
                following[v] = bucket[net.label[v]]
                bucket[net.label[v]] = v
                highest = max(highest, net.label[v])
    return True


@njit(cache=True, nogil=True)
def receive(net, v, amount, bucket, following):
    """Add to a rest; a vertex that gets a surplus joins its bucket, one that is filled is relabelled."""
    before = net.rest[v]
    net.rest[v] = before + amount
    if before < 0:
        if net.rest[v] == 0:
            relabel(net, v)
    elif before == 0:
        label = net.label[v]
        if label < len(bucket):
            following[v] = bucket[label]
            bucket[label] = v


@njit(cache=True, nogil=True)
def discharge_item(net, v, bucket, following):
    """Give the surplus of an item back to projects one label below."""
    n_projects = len(net.requires)
    j = v - n_projects
    target = net.label[v] - 1
    first = net.item_start[j]
    last = net.item_start[j + 1]
    slot = first + net.current[v]
    while slot < last:
        h = net.slot_project[slot]
        if net.flow[slot] > 0 and net.label[h] == target:
            amount = min(net.rest[v], net.flow[slot])
            if target == 0:
                amount = min(amount, -net.rest[h])
            net.flow[slot] -= amount
            if net.flow[slot] == 0:
                net.carries[net.slot_arc[slot]] = 0
            net.rest[v] -= amount
            receive(net, h, amount, bucket, following)
            if net.rest[v] == 0:
                break
        slot += 1
    work = slot - first - net.current[v] + 1
    net.current[v] = slot - first
    return work


@njit(cache=True, nogil=True)
def discharge_project(net, v, bucket, following):
    """Send the surplus of a project to items, the required project or back to those that require it."""
    n_projects = len(net.requires)
    target = net.label[v] - 1
    first = net.arc_start[v]
    last = net.arc_start[v + 1]
    above = net.requires[v]
    work = 1
    if above != NOTHING and net.label[above] == target:
        amount = net.rest[v]
        if target == 0:
            amount = min(amount, -net.rest[above])
        net.to_required[v] += amount
        net.rest[v] -= amount
        receive(net, above, amount, bucket, following)
        if net.rest[v] == 0:
            return work
    arc = first + net.current[v]
    while arc < last:
        j = n_projects + net.arc_item[arc]
        work += 1
        if net.label[j] == target:
            amount = net.rest[v]
            if target == 0:
                amount = min(amount, -net.rest[j])
            net.flow[net.arc_slot[arc]] += amount
            net.carries[arc] = 1
            net.rest[v] -= amount
            receive(net, j, amount, bucket, following)
            if net.rest[v] == 0:
                break
        arc += 1
    net.current[v] = arc - first
    if net.rest[v] == 0:
        return work
    child = net.first_child[v]
    while child != NOTHING:
        work += 1
        if net.to_required[child] > 0 and net.label[child] == target:
            amount = min(net.rest[v], net.to_required[child])
            if target == 0:
                amount = min(amount, -net.rest[child])
            net.to_required[child] -= amount
            net.rest[v] -= amount
            receive(net, child, amount, bucket, following)
            if net.rest[v] == 0:
                break
        child = net.next_child[child]
    return work


@njit(cache=True, nogil=True)
def relabel(net, v):
    """Lift a vertex just above its lowest residual neighbour; return the arcs looked at."""
    n_projects = len(net.requires)
    lowest = FAR
    work = 2
    if v >= n_projects:
        j = v - n_projects
        for slot in range(net.item_start[j], net.item_start[j + 1]):
            if net.flow[slot] > 0:
                lowest = min(lowest, net.label[net.slot_project[slot]])
        work += net.item_start[j + 1] - net.item_start[j]
    else:
        if net.requires[v] != NOTHING:
            lowest = net.label[net.requires[v]]
        for arc in range(net.arc_start[v], net.arc_start[v + 1]):
            lowest = min(lowest, net.label[n_projects + net.arc_item[arc]])
        work += net.arc_start[v + 1] - net.arc_start[v]
        child = net.first_child[v]
        while child != NOTHING:
            if net.to_required[child] > 0:
                lowest = min(lowest, net.label[child])
            child = net.next_child[child]
            work += 1
    net.label[v] = min(lowest + 1, FAR)
    net.current[v] = 0
    return work
