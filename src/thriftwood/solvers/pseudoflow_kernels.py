"""Numba loops of the minimum cut: pseudoflow with the lowest label first.

D. S. Hochbaum (2008), The pseudoflow algorithm: a new algorithm for the maximum-flow problem,
Operations Research 56(4). There is no source and no sink. Every vertex has an *excess*: a project
starts with its gain, an item with minus its cost, a deficit. Vertices hang together in trees, and
all excesses of a tree are sent to its root, over arcs of the tree alone. A tree whose root has a
positive excess is *strong*, any other is *weak*. While a project in a strong tree needs something
in a weak one, the two *merge* there: the strong tree is turned around and hung below the weak one,
and its excess is pushed to the weak root. Arcs that would have to carry less than nothing *split*:
what is below them is a strong tree of its own. In the end the strong trees are what to keep.

All arcs, from a project to what it needs, can carry any amount, and those outside the trees carry
nothing: so a flow is one number per vertex, and arcs are needed in this direction only.
"""

from collections import namedtuple

import numpy as np

from thriftwood.closure.kernels import NOTHING
from thriftwood.support.compiling import inner_kernel, kernel, small_kernel

# Who needs whom: `requires`, `arc_start` and `arc_item` of a ClosureProblem.
Arcs = namedtuple("Arcs", "requires start item")

# Vertices: projects 0 .. n - 1, then items n .. n + m - 1.
#
#   parent, first_child, next_child, prev_child   the trees
#   flow      over the arc between a vertex and its parent, whichever way that arc leads
#   label     lower bound on the merges between a vertex and a weak root; rises from root to leaves
#   scan      the child of a vertex to look at next, while its tree is searched for a merger
#   next_arc  the arc of a project to look at next, 0 for the project that it requires
#   strong, next_strong, count   lists of strong roots by label; how many vertices have a label
Trees = namedtuple(
    "Trees",
    "arcs parent first_child next_child prev_child flow excess label scan next_arc strong "
    "next_strong count",
)


@kernel
def maximum_flow(arcs, excess, stop):
    """Return what is kept, and the flow to the required project of each and over each arc."""
    trees = initialise(arcs, excess, pay_from_below(arcs, excess))
    run(trees, stop)
    return strong_side(trees), *flow_over_arcs(trees)


@inner_kernel
def pay_from_below(arcs, excess):
    """Return parents to start from: each project, the last first, pays what it can and hands on."""
    n_projects = len(arcs.requires)
    parent = np.full(len(excess), NOTHING, dtype=np.int32)
    left = excess[:n_projects].copy()
    for h in range(n_projects - 1, -1, -1):
        for arc in range(arcs.start[h], arcs.start[h + 1]):
            item = n_projects + arcs.item[arc]
            if parent[item] == NOTHING and left[h] + excess[item] >= 0:
                parent[item] = h
                left[h] += excess[item]
        above = arcs.requires[h]
        if above != NOTHING and left[h] >= 0:
            parent[h] = above
            left[above] += left[h]
    return parent


@inner_kernel
def initialise(arcs, excess, hint):
    """Return trees that follow the parents of `hint` as far as these can carry the excesses."""
    n_vertices = len(excess)
    trees = Trees(
        arcs,
        np.full(n_vertices, NOTHING, dtype=np.int32),
        np.full(n_vertices, NOTHING, dtype=np.int32),
        np.empty(n_vertices, dtype=np.int32),
        np.empty(n_vertices, dtype=np.int32),
        np.zeros(n_vertices, dtype=np.int64),
        excess,
        np.empty(n_vertices, dtype=np.int32),
        np.empty(n_vertices, dtype=np.int32),
        np.zeros(n_vertices, dtype=np.int32),
        np.full(n_vertices + 2, NOTHING, dtype=np.int32),
        np.empty(n_vertices, dtype=np.int32),
        np.zeros(n_vertices + 2, dtype=np.int32),
    )
    send_excess_up(trees, hint)
    return trees


@small_kernel
def send_excess_up(trees, hint):
    """Add the hinted arcs, children first, but for those that cannot carry what is below them."""
    n_vertices = len(hint)
    n_children, ready = trees.label, trees.scan  # for now; ready is a stack
    n_children[:] = 0
    for v in range(n_vertices):
        if hint[v] != NOTHING:
            n_children[hint[v]] += 1
    size = 0
    for v in range(n_vertices):
        if n_children[v] == 0:
            ready[size] = v
            size += 1
    while size > 0:
        size -= 1
        v = ready[size]
        p = hint[v]
        if p == NOTHING:
            continue
        n_children[p] -= 1
        if n_children[p] == 0:
            ready[size] = p
            size += 1
        amount = trees.excess[v] if leads_up(trees, v, p) else -trees.excess[v]
        if amount >= 0:
            add_arc(trees, v, p, amount)
            trees.excess[p] += trees.excess[v]
            trees.excess[v] = 0


@small_kernel
def run(trees, stop):
    """Merge strong trees into weak ones until none needs anything of a weak one.

    Or until somebody sets `stop[0]`: the flow is a flow at any time, so its excesses are a bound.
    """
    n_vertices = len(trees.excess)
    label, strong = trees.label, trees.strong
    for v in range(n_vertices):
        is_root = trees.parent[v] == NOTHING
        label[v] = 0 if is_root and trees.excess[v] <= 0 else 1
        trees.count[label[v]] += 1
        if is_root and trees.excess[v] > 0:
            add_strong(trees, v)
    lowest = 1
    while True:
        while strong[0] != NOTHING:  # roots that were weak
            v = strong[0]
            strong[0] = trees.next_strong[v]
            relabel(trees, v)
            add_strong(trees, v)
            lowest = 1
        while lowest < n_vertices and strong[lowest] == NOTHING:
            lowest += 1
        if lowest >= n_vertices or trees.count[lowest - 1] == 0 or stop[0]:
            return
        root = strong[lowest]
        strong[lowest] = trees.next_strong[root]
        lowest = find_merger(trees, root, lowest)


@small_kernel
def find_merger(trees, root, lowest):
    """Merge the tree of a strong root, or relabel it; return a bound on the labels of strong roots.

    Only vertices with the label of the root are looked at; the others are not below them.
    """
    scan = trees.scan
    v = root
    scan[v] = trees.first_child[v]
    while True:
        weak = weak_neighbour(trees, v, lowest - 1)
        if weak != NOTHING:
            merge(trees, v, weak)
            return push(trees, root, lowest)
        next_or_relabel(trees, v)
        while scan[v] == NOTHING:
            if v == root:
                add_strong(trees, root)
                return lowest
            v = trees.parent[v]
            next_or_relabel(trees, v)
        child = scan[v]
        scan[v] = trees.next_child[child]
        v = child
        scan[v] = trees.first_child[v]


@small_kernel
def weak_neighbour(trees, v, label):
    """Return the next vertex with this label that v needs, or -1."""
    n_projects = len(trees.arcs.requires)
    if v >= n_projects:
        return NOTHING
    if trees.next_arc[v] == 0:
        trees.next_arc[v] = 1
        required = trees.arcs.requires[v]
        if required != NOTHING and trees.label[required] == label:
            return required
    first = trees.arcs.start[v] - 1
    for arc in range(first + trees.next_arc[v], trees.arcs.start[v + 1]):
        item = n_projects + trees.arcs.item[arc]
        if trees.label[item] == label:
            trees.next_arc[v] = arc - first + 1
            return item
    trees.next_arc[v] = trees.arcs.start[v + 1] - first
    return NOTHING


@small_kernel
def next_or_relabel(trees, v):
    """Go to the next child of the same label; where there is none, relabel v."""
    while trees.scan[v] != NOTHING:
        if trees.label[trees.scan[v]] == trees.label[v]:
            return
        trees.scan[v] = trees.next_child[trees.scan[v]]
    relabel(trees, v)


@small_kernel
def relabel(trees, v):
    """Raise the label of a vertex by one."""
    trees.count[trees.label[v]] -= 1
    trees.label[v] += 1
    trees.count[trees.label[v]] += 1
    trees.next_arc[v] = 0


@small_kernel
def add_strong(trees, v):
    """Put a strong root into the list of its label."""
    trees.next_strong[v] = trees.strong[trees.label[v]]
    trees.strong[trees.label[v]] = v


@small_kernel
def merge(trees, v, weak):
    """Hang the tree of v below `weak`, turned around so that v is its top."""
    amount = np.int64(0)
    above = weak
    while v != NOTHING:
        old_parent = trees.parent[v]
        old_flow = trees.flow[v]
        if old_parent != NOTHING:
            remove_arc(trees, v)
        add_arc(trees, v, above, amount)
        amount = old_flow
        above = v
        v = old_parent


@small_kernel
def push(trees, v, lowest):
    """Push the excess of v to the root above it; split arcs that cannot carry it.

    Returns a bound on the labels of strong roots.
    """
    excess, flow = trees.excess, trees.flow
    was_weak = False
    while excess[v] > 0 and trees.parent[v] != NOTHING:
        p = trees.parent[v]
        was_weak = excess[p] <= 0
        if leads_up(trees, v, p):
            amount = excess[v]
            flow[v] += amount
        else:
            amount = min(excess[v], flow[v])
            flow[v] -= amount
        excess[v] -= amount
        excess[p] += amount
        if excess[v] > 0:
            remove_arc(trees, v)
            add_strong(trees, v)
            lowest = min(lowest, np.int64(trees.label[v]))
        v = p
    if excess[v] > 0 and was_weak:
        add_strong(trees, v)
        lowest = min(lowest, np.int64(trees.label[v]))
    return lowest


@small_kernel
def leads_up(trees, v, p):
    """Tell whether the arc between a vertex and its parent leads to the parent."""
    n_projects = len(trees.arcs.requires)
    return v < n_projects and (p >= n_projects or trees.arcs.requires[v] == p)


@small_kernel
def add_arc(trees, v, p, amount):
    """Make p the parent of v, with a flow between them."""
    trees.parent[v] = p
    trees.flow[v] = amount
    child = trees.first_child[p]
    trees.next_child[v] = child
    trees.prev_child[v] = NOTHING
    if child != NOTHING:
        trees.prev_child[child] = v
    trees.first_child[p] = v


@small_kernel
def remove_arc(trees, v):
    """Make v a root."""
    before, after = trees.prev_child[v], trees.next_child[v]
    if before == NOTHING:
        trees.first_child[trees.parent[v]] = after
    else:
        trees.next_child[before] = after
    if after != NOTHING:
        trees.prev_child[after] = before
    trees.parent[v] = NOTHING


@inner_kernel
def strong_side(trees):
    """Mark what an excess reaches: along arcs, and back over arcs that carry flow.

    Of projects this is the smallest best set, as in `closure.smallest_optimum`.
    """
    reached = np.zeros(len(trees.excess), dtype=np.bool_)
    reach(trees, reached, np.empty(len(reached), dtype=np.int32))
    return reached


@small_kernel
def reach(trees, reached, stack):
    """Mark what is reached from positive excesses."""
    n_projects, size = len(trees.arcs.requires), np.int64(0)
    for v in range(len(reached)):
        if trees.excess[v] > 0:
            size = visit(v, reached, stack, size)
    while size > 0:
        size -= 1
        v = stack[size]
        p = trees.parent[v]
        if p != NOTHING and (trees.flow[v] > 0 or leads_up(trees, v, p)):
            size = visit(p, reached, stack, size)
        child = trees.first_child[v]
        while child != NOTHING:
            if trees.flow[child] > 0 or not leads_up(trees, child, v):
                size = visit(child, reached, stack, size)
            child = trees.next_child[child]
        if v >= n_projects:
            continue
        if trees.arcs.requires[v] != NOTHING:
            size = visit(trees.arcs.requires[v], reached, stack, size)
        for arc in range(trees.arcs.start[v], trees.arcs.start[v + 1]):
            size = visit(n_projects + trees.arcs.item[arc], reached, stack, size)


@small_kernel
def visit(v, reached, stack, size):
    """Mark a vertex and put it on the stack, if it is new; return the size of the stack."""
    if not reached[v]:
        reached[v] = True
        stack[size] = v
        size += 1
    return size


@inner_kernel
def flow_over_arcs(trees):
    """Return the flow to the required project of every project, and over every arc to an item."""
    n_projects = len(trees.arcs.requires)
    to_required = np.zeros(n_projects, dtype=np.int64)
    to_item = np.zeros(len(trees.arcs.item), dtype=np.int64)
    paid = np.zeros(len(trees.excess) - n_projects, dtype=np.int64)
    payer = np.full(len(paid), NOTHING, dtype=np.int32)
    for h in range(n_projects):
        p = trees.parent[h]
        if p >= n_projects:
            paid[p - n_projects] = trees.flow[h]
            payer[p - n_projects] = h
        elif p != NOTHING and trees.arcs.requires[h] == p:
            to_required[h] = trees.flow[h]
        child = trees.first_child[h]
        while child != NOTHING:
            if child >= n_projects:
                paid[child - n_projects] = trees.flow[child]
                payer[child - n_projects] = h
            elif trees.arcs.requires[h] == child:
                to_required[h] = trees.flow[child]
            child = trees.next_child[child]
        for arc in range(trees.arcs.start[h], trees.arcs.start[h + 1]):
            if payer[trees.arcs.item[arc]] == h:
                to_item[arc] = paid[trees.arcs.item[arc]]
    return to_required, to_item
