"""Numba loops of the min cut: push surpluses along residual arcs until they fill what is open.

There is no source and no sink. Every vertex has a *rest*: a project starts with its gain, an item
with minus its cost. Rests travel over arcs, from a project to what it needs, and back as far as
flow came. A vertex with a positive rest has a surplus, one with a negative rest is open. When no
surplus can reach an open vertex any more, the flow is optimal.

Labels are the classic ones of push-relabel: a lower bound on the number of arcs to the nearest open
vertex, exact after each breadth-first search. Of all vertices with a surplus the one nearest to an
open vertex goes first: on our problems that beats the usual farthest-first.
"""

from collections import namedtuple

import numpy as np

from thriftwood.compiling import kernel

NOTHING = -1
FAR = np.int32(2**30)
# After looking at this many arcs per arc of the network, a new breadth-first search pays.
WORK_PER_SEARCH = 1.0
# A vertex whose label passes the largest exact one by more than this waits for the next search.
PATIENCE = 4

# What an arc to an item carries: nothing, some, or the whole cost of the item. More than that is
# never sent, it would only have to come back.
EMPTY, PARTLY, FULL = 0, 1, 2

# Vertices: projects 0 .. n - 1, then items n .. n + m - 1. Arcs are kept twice: by project with a
# byte that says what they carry, for the search; by item with the exact flow.
#
#   by project   arc_item[arc]        arc_slot[arc]    carries[arc]      arc_start[h] <= arc
#   by item      slot_project[slot]   slot_arc[slot]   flow[slot]        item_start[j] <= slot
Network = namedtuple(
    "Network",
    "requires first_child next_child arc_start arc_item arc_slot carries "
    "item_start slot_project slot_arc flow cost to_required rest label current queue",
)


@kernel
def make_flow_optimal(net):
    """Push surpluses until none can reach an open vertex."""
    fill_from_below(net)
    while push_surpluses(net, search(net)):
        pass


@kernel
def fill_from_below(net):
    """Start: each project fills its open items and hands the remaining surplus to its required."""
    n_projects = len(net.requires)
    for h in range(n_projects - 1, -1, -1):
        if net.rest[h] <= 0:
            continue
        for arc in range(net.arc_start[h], net.arc_start[h + 1]):
            j = n_projects + net.arc_item[arc]
            amount = min(net.rest[h], -net.rest[j])
            if amount > 0:
                send_to_item(net, arc, amount)
                net.rest[h] -= amount
                net.rest[j] += amount
        above = net.requires[h]
        if above != NOTHING and net.rest[h] > 0:
            net.to_required[h] += net.rest[h]
            net.rest[above] += net.rest[h]
            net.rest[h] = 0


@kernel
def send_to_item(net, arc, amount):
    """Book a flow over an arc; the rests at its ends are the caller's."""
    slot = net.arc_slot[arc]
    net.flow[slot] += amount
    net.carries[arc] = FULL if net.flow[slot] >= net.cost[net.arc_item[arc]] else PARTLY


@kernel
def search(net):
    """Set every label to the exact distance to an open vertex; return the largest finite one."""
    n_projects = len(net.requires)
    label, queue, rest = net.label, net.queue, net.rest
    size = 0
    for v in range(len(rest)):
        label[v] = FAR
        if rest[v] < 0:
            label[v] = 0
            queue[size] = v
            size += 1
    done = 0
    while done < size:
        v = queue[done]
        done += 1
        next_label = label[v] + 1
        if v >= n_projects:
            j = v - n_projects
            for slot in range(net.item_start[j], net.item_start[j + 1]):
                h = net.slot_project[slot]
                if label[h] == FAR and net.flow[slot] < net.cost[j]:
                    label[h] = next_label
                    queue[size] = h
                    size += 1
            continue
        for arc in range(net.arc_start[v], net.arc_start[v + 1]):
            if net.carries[arc] != EMPTY:
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


@kernel
def push_surpluses(net, farthest):
    """Discharge vertices with a surplus, nearest first, for a while; False if there are none."""
    n_projects = len(net.requires)
    # Vertices with a surplus wait in one list per label: bucket[label], then following[...].
    bucket = np.full(farthest + PATIENCE + 1, NOTHING, dtype=np.int32)
    following = net.queue
    net.current[:] = 0
    found = False
    for v in range(len(net.rest)):
        if net.rest[v] > 0 and net.label[v] < FAR:
            found = True
            following[v] = bucket[net.label[v]]
            bucket[net.label[v]] = v
    work_left = WORK_PER_SEARCH * (len(net.arc_item) + len(net.rest))
    nearest = 1
    while nearest < len(bucket) and work_left > 0:
        v = bucket[nearest]
        if v == NOTHING:
            nearest += 1
            continue
        bucket[nearest] = following[v]
        if v >= n_projects:
            work_left -= discharge_item(net, v, bucket, following)
        else:
            work_left -= discharge_project(net, v, bucket, following)
        if net.rest[v] > 0:
            work_left -= relabel(net, v)
            if net.label[v] < len(bucket):
                following[v] = bucket[net.label[v]]
                bucket[net.label[v]] = v
        nearest = max(nearest - 1, 1)  # whoever received something is one label below
    return found


@kernel
def discharge_item(net, v, bucket, following):
    """Give the surplus of an item back to projects one label below; return the arcs looked at."""
    j = v - len(net.requires)
    target = net.label[v] - 1
    first = net.item_start[j]
    slot = first + net.current[v]
    while slot < net.item_start[j + 1]:
        h = net.slot_project[slot]
        if net.flow[slot] > 0 and net.label[h] == target:
            amount = most_for(net, h, min(net.rest[v], net.flow[slot]))
            net.flow[slot] -= amount
            net.carries[net.slot_arc[slot]] = PARTLY if net.flow[slot] > 0 else EMPTY
            net.rest[v] -= amount
            receive(net, h, amount, bucket, following)
            if net.rest[v] == 0:
                break
        slot += 1
    work = slot - first - net.current[v] + 1
    net.current[v] = slot - first
    return work


@kernel
def discharge_project(net, v, bucket, following):
    """Send the surplus of a project one label down; return the number of arcs looked at.

    First to the required project, then to items, then back to projects that sent it.
    """
    n_projects = len(net.requires)
    target = net.label[v] - 1
    above = net.requires[v]
    if above != NOTHING and net.label[above] == target:
        amount = most_for(net, above, net.rest[v])
        net.to_required[v] += amount
        net.rest[v] -= amount
        receive(net, above, amount, bucket, following)
        if net.rest[v] == 0:
            return 1
    first = net.arc_start[v]
    arc = first + net.current[v]
    while arc < net.arc_start[v + 1]:
        j = n_projects + net.arc_item[arc]
        if net.label[j] == target and net.carries[arc] != FULL:
            amount = net.cost[net.arc_item[arc]] - net.flow[net.arc_slot[arc]]
            amount = most_for(net, j, min(amount, net.rest[v]))
            send_to_item(net, arc, amount)
            net.rest[v] -= amount
            receive(net, j, amount, bucket, following)
            if net.rest[v] == 0:
                break
        arc += 1
    work = arc - first - net.current[v] + 1
    net.current[v] = arc - first
    if net.rest[v] == 0:
        return work
    child = net.first_child[v]
    while child != NOTHING:
        work += 1
        if net.to_required[child] > 0 and net.label[child] == target:
            amount = most_for(net, child, min(net.rest[v], net.to_required[child]))
            net.to_required[child] -= amount
            net.rest[v] -= amount
            receive(net, child, amount, bucket, following)
            if net.rest[v] == 0:
                break
        child = net.next_child[child]
    return work


@kernel
def most_for(net, v, amount):
    """Limit what is sent to an open vertex to what it lacks."""
    return min(amount, -net.rest[v]) if net.rest[v] < 0 else amount


@kernel
def receive(net, v, amount, bucket, following):
    """Add to a rest; one that turns positive joins its bucket, one no longer open is relabelled."""
    before = net.rest[v]
    net.rest[v] += amount
    if before < 0:
        if net.rest[v] == 0:
            relabel(net, v)
    elif before == 0 and net.label[v] < len(bucket):
        following[v] = bucket[net.label[v]]
        bucket[net.label[v]] = v


@kernel
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
            if net.carries[arc] != FULL:
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
