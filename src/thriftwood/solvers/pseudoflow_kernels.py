"""Numba loops of the min cut: Hochbaum's pseudoflow with the lowest label first.

There is no source and no sink. Every vertex has a *rest*: a project starts with its gain, an item
with minus its cost. Vertices hang together in trees, and all rests of a tree are sent to its root,
over arcs of the tree alone. A tree whose root has a surplus is *strong*, any other is *weak*. While
a project in a strong tree needs something in a weak one, the strong tree is hung below the weak one
there, and its surplus is pushed to the weak root; arcs that would have to carry less than nothing
are cut, and what is above them is a tree of its own. In the end the strong trees are what to keep.

All arcs, from a project to what it needs, can carry any amount, and those outside the trees carry
nothing: so a flow is one number per vertex, and arcs are needed in this direction only.
"""

from collections import namedtuple

import numpy as np

from thriftwood.support.compiling import kernel

NOTHING = -1

# Vertices: projects 0 .. n - 1, then items n .. n + m - 1.
#
#   parent, first_kid, next_kid, prev_kid   the trees
#   flow      over the arc between a vertex and its parent, whichever way that arc leads
#   label     lower bound on the merges between a vertex and a weak root; rises from root to leaves
#   scan      the kid of a vertex to look at next, while its tree is searched for a way out
#   next_arc  the arc of a project to look at next, 0 for the project that it requires
#   strong, next_strong, count   lists of strong roots by label; how many vertices have a label
Trees = namedtuple(
    "Trees",
    "requires arc_start arc_item parent first_kid next_kid prev_kid flow rest label scan next_arc "
    "strong next_strong count",
)


@kernel
def pay_from_below(requires, arc_start, arc_item, rest):
    """Return parents to start from: each project, the last first, pays what it can and hands on."""
    n_projects = len(requires)
    parent = np.full(len(rest), NOTHING, dtype=np.int32)
    left = rest[:n_projects].copy()
    for h in range(n_projects - 1, -1, -1):
        for arc in range(arc_start[h], arc_start[h + 1]):
            item = n_projects + arc_item[arc]
            if parent[item] == NOTHING and left[h] + rest[item] >= 0:
                parent[item] = h
                left[h] += rest[item]
        above = requires[h]
        if above != NOTHING and left[h] >= 0:
            parent[h] = above
            left[above] += left[h]
    return parent


@kernel
def plant(requires, arc_start, arc_item, rest, hint):
    """Return trees that follow the parents of `hint` as far as these can carry the rests."""
    n_vertices = len(rest)
    trees = Trees(
        requires,
        arc_start,
        arc_item,
        np.full(n_vertices, NOTHING, dtype=np.int32),
        np.full(n_vertices, NOTHING, dtype=np.int32),
        np.empty(n_vertices, dtype=np.int32),
        np.empty(n_vertices, dtype=np.int32),
        np.zeros(n_vertices, dtype=np.int64),
        rest,
        np.empty(n_vertices, dtype=np.int32),
        np.empty(n_vertices, dtype=np.int32),
        np.zeros(n_vertices, dtype=np.int32),
        np.full(n_vertices + 2, NOTHING, dtype=np.int32),
        np.empty(n_vertices, dtype=np.int32),
        np.zeros(n_vertices + 2, dtype=np.int32),
    )
    send_rests_up(trees, hint)
    return trees


@kernel
def send_rests_up(trees, hint):
    """Hang each vertex below its hinted parent, kids first, unless the arc cannot take its rest."""
    n_vertices = len(hint)
    n_kids = np.zeros(n_vertices, dtype=np.int32)
    for v in range(n_vertices):
        if hint[v] != NOTHING:
            n_kids[hint[v]] += 1
    ready = trees.scan  # a stack, for now
    size = 0
    for v in range(n_vertices):
        if n_kids[v] == 0:
            ready[size] = v
            size += 1
    while size > 0:
        size -= 1
        v = ready[size]
        p = hint[v]
        if p == NOTHING:
            continue
        n_kids[p] -= 1
        if n_kids[p] == 0:
            ready[size] = p
            size += 1
        amount = trees.rest[v] if leads_up(trees, v, p) else -trees.rest[v]
        if amount >= 0:
            hang(trees, v, p, amount)
            trees.rest[p] += trees.rest[v]
            trees.rest[v] = 0


@kernel
def settle(trees):
    """Merge strong trees into weak ones until none needs anything of a weak one."""
    n_vertices = len(trees.rest)
    label, strong = trees.label, trees.strong
    for v in range(n_vertices):
        is_root = trees.parent[v] == NOTHING
        label[v] = 0 if is_root and trees.rest[v] <= 0 else 1
        trees.count[label[v]] += 1
        if is_root and trees.rest[v] > 0:
            add_strong(trees, v)
    lowest = 1
    while True:
        while strong[0] != NOTHING:  # roots that were weak
            v = strong[0]
            strong[0] = trees.next_strong[v]
            lift(trees, v)
            add_strong(trees, v)
            lowest = 1
        while lowest < n_vertices and strong[lowest] == NOTHING:
            lowest += 1
        if lowest >= n_vertices or trees.count[lowest - 1] == 0:
            return
        root = strong[lowest]
        strong[lowest] = trees.next_strong[root]
        lowest = find_way_out(trees, root, lowest)


@kernel
def find_way_out(trees, root, lowest):
    """Merge the tree of a strong root, or lift it; return a bound on the labels of strong roots.

    Only vertices with the label of the root are looked at; the others are not below them.
    """
    scan = trees.scan
    v = root
    scan[v] = trees.first_kid[v]
    while True:
        weak = weak_need(trees, v, lowest - 1)
        if weak != NOTHING:
            merge(trees, v, weak)
            return push(trees, root, lowest)
        skip_or_lift(trees, v)
        while scan[v] == NOTHING:
            if v == root:
                add_strong(trees, root)
                return lowest
            v = trees.parent[v]
            skip_or_lift(trees, v)
        kid = scan[v]
        scan[v] = trees.next_kid[kid]
        v = kid
        scan[v] = trees.first_kid[v]


@kernel
def weak_need(trees, v, label):
    """Return the next vertex with this label that v needs, or -1."""
    n_projects = len(trees.requires)
    if v >= n_projects:
        return NOTHING
    if trees.next_arc[v] == 0:
        trees.next_arc[v] = 1
        required = trees.requires[v]
        if required != NOTHING and trees.label[required] == label:
            return required
    first = trees.arc_start[v] - 1
    for arc in range(first + trees.next_arc[v], trees.arc_start[v + 1]):
        item = n_projects + trees.arc_item[arc]
        if trees.label[item] == label:
            trees.next_arc[v] = arc - first + 1
            return item
    trees.next_arc[v] = trees.arc_start[v + 1] - first
    return NOTHING


@kernel
def skip_or_lift(trees, v):
    """Go to the next kid of the same label; where there is none, lift v."""
    while trees.scan[v] != NOTHING:
        if trees.label[trees.scan[v]] == trees.label[v]:
            return
        trees.scan[v] = trees.next_kid[trees.scan[v]]
    lift(trees, v)


@kernel
def lift(trees, v):
    trees.count[trees.label[v]] -= 1
    trees.label[v] += 1
    trees.count[trees.label[v]] += 1
    trees.next_arc[v] = 0


@kernel
def add_strong(trees, v):
    trees.next_strong[v] = trees.strong[trees.label[v]]
    trees.strong[trees.label[v]] = v


@kernel
def merge(trees, v, weak):
    """Hang the tree of v below `weak`, turned around so that v is its top."""
    amount = np.int64(0)
    above = weak
    while v != NOTHING:
        old_parent = trees.parent[v]
        old_flow = trees.flow[v]
        if old_parent != NOTHING:
            cut(trees, v)
        hang(trees, v, above, amount)
        amount = old_flow
        above = v
        v = old_parent


@kernel
def push(trees, v, lowest):
    """Push the surplus of v to the root above it; return a bound on the labels of strong roots."""
    rest, flow = trees.rest, trees.flow
    was_weak = False
    while rest[v] > 0 and trees.parent[v] != NOTHING:
        p = trees.parent[v]
        was_weak = rest[p] <= 0
        if leads_up(trees, v, p):
            amount = rest[v]
            flow[v] += amount
        else:
            amount = min(rest[v], flow[v])
            flow[v] -= amount
        rest[v] -= amount
        rest[p] += amount
        if rest[v] > 0:
            cut(trees, v)
            add_strong(trees, v)
            lowest = min(lowest, trees.label[v])
        v = p
    if rest[v] > 0 and was_weak:
        add_strong(trees, v)
        lowest = min(lowest, trees.label[v])
    return lowest


@kernel
def leads_up(trees, v, p):
    """Say whether the arc between a vertex and its parent leads to the parent."""
    n_projects = len(trees.requires)
    return v < n_projects and (p >= n_projects or trees.requires[v] == p)


@kernel
def hang(trees, v, p, amount):
    trees.parent[v] = p
    trees.flow[v] = amount
    kid = trees.first_kid[p]
    trees.next_kid[v] = kid
    trees.prev_kid[v] = NOTHING
    if kid != NOTHING:
        trees.prev_kid[kid] = v
    trees.first_kid[p] = v


@kernel
def cut(trees, v):
    before, after = trees.prev_kid[v], trees.next_kid[v]
    if before == NOTHING:
        trees.first_kid[trees.parent[v]] = after
    else:
        trees.next_kid[before] = after
    if after != NOTHING:
        trees.prev_kid[after] = before
    trees.parent[v] = NOTHING


@kernel
def flow_over_arcs(trees):
    """Return the flow to the required project of every project, and over every arc to an item."""
    n_projects = len(trees.requires)
    to_required = np.zeros(n_projects, dtype=np.int64)
    to_item = np.zeros(len(trees.arc_item), dtype=np.int64)
    paid = np.zeros(len(trees.rest) - n_projects, dtype=np.int64)
    payer = np.full(len(paid), NOTHING, dtype=np.int32)
    for h in range(n_projects):
        p = trees.parent[h]
        if p >= n_projects:
            paid[p - n_projects] = trees.flow[h]
            payer[p - n_projects] = h
        elif p != NOTHING and trees.requires[h] == p:
            to_required[h] = trees.flow[h]
        kid = trees.first_kid[h]
        while kid != NOTHING:
            if kid >= n_projects:
                paid[kid - n_projects] = trees.flow[kid]
                payer[kid - n_projects] = h
            elif trees.requires[h] == kid:
                to_required[h] = trees.flow[kid]
            kid = trees.next_kid[kid]
        for arc in range(trees.arc_start[h], trees.arc_start[h + 1]):
            if payer[trees.arc_item[arc]] == h:
                to_item[arc] = paid[trees.arc_item[arc]]
    return to_required, to_item
