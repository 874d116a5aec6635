"""Numba loops of the decomposition; the Python functions that call them check everything."""

from collections import namedtuple

import numpy as np

from thriftwood.closure.kernels import NOTHING, arcs_by_item
from thriftwood.support.compiling import inner_kernel, kernel, small_kernel


@kernel
def roots(requires):
    """Return the first project of the component that each project belongs to."""
    root = np.empty(len(requires), dtype=np.int64)
    for h in range(len(requires)):
        root[h] = h if requires[h] == NOTHING else root[requires[h]]
    return root


@kernel
def contract(problem, starts_piece):
    """Make one project of each piece; a piece is a project that starts one and all that follow it.

    Returns gains, requires, arc_start and arc_item of the pieces, the piece of each project and the
    arc of a piece that each arc has become part of.
    """
    gains, requires, arc_start, arc_item, costs = problem
    n_projects = len(gains)
    piece = np.empty(n_projects, dtype=np.int32)
    n_pieces = 0
    for h in range(n_projects):
        if starts_piece[h]:
            piece[h] = n_pieces
            n_pieces += 1
        else:
            piece[h] = piece[requires[h]]
    piece_gain = np.zeros(n_pieces, dtype=np.int64)
    piece_requires = np.empty(n_pieces, dtype=np.int32)
    member_start = np.zeros(n_pieces + 1, dtype=np.int64)
    for h in range(n_projects):
        piece_gain[piece[h]] += gains[h]
        member_start[piece[h] + 1] += 1
        if starts_piece[h]:
            piece_requires[piece[h]] = NOTHING if requires[h] == NOTHING else piece[requires[h]]
    for k in range(n_pieces):
        member_start[k + 1] += member_start[k]
    member = np.empty(n_projects, dtype=np.int32)
    place = member_start[:-1].copy()
    for h in range(n_projects):
        member[place[piece[h]]] = h
        place[piece[h]] += 1

    seen_by = np.full(len(costs), NOTHING, dtype=np.int32)
    seen_at = np.empty(len(costs), dtype=np.int32)
    part_of = np.empty(len(arc_item), dtype=np.int32)
    piece_start = np.empty(n_pieces + 1, dtype=np.int64)
    piece_item = np.empty(len(arc_item), dtype=np.int32)
    n_arcs = 0
    for k in range(n_pieces):
        piece_start[k] = n_arcs
        for slot in range(member_start[k], member_start[k + 1]):
            h = member[slot]
            for arc in range(arc_start[h], arc_start[h + 1]):
                j = arc_item[arc]
                if seen_by[j] != k:
                    seen_by[j] = k
                    seen_at[j] = n_arcs
                    piece_item[n_arcs] = j
                    n_arcs += 1
                part_of[arc] = seen_at[j]
    piece_start[n_pieces] = n_arcs
    arrays = piece_gain, piece_requires, piece_start, piece_item[:n_arcs].copy()
    return arrays, piece, part_of


# What is left of each payment, of the cost of each item, and what goes over each arc. Arcs are in
# the order of items, and `payment` says which payment each belongs to.
Shares = namedtuple("Shares", "payment left deficit share")


@kernel
def share_evenly(pieces, group, merged, merged_flow):
    """Share what pieces pay for a group of items among its items, as evenly as integers allow.

    Each piece pays about the same fraction of every item, so that all parts of the piece pay. No
    item gets more than it costs; what is paid beyond the costs of a whole group is left out.
    """
    costs = pieces.costs
    n_items = len(costs)
    item_start, arc_at, _ = arcs_by_item(pieces.arc_start, pieces.arc_item, n_items)
    unpaid = np.zeros(len(merged.arc_item) + 1)  # by the items to come, in doubles
    for j in range(n_items):
        if group[j] != NOTHING:
            unpaid[group[j]] += costs[j]

    shares = Shares(
        payment=payments(pieces, group, merged)[arc_at],
        left=merged_flow.copy(),
        deficit=costs.copy(),
        share=np.zeros(len(arc_at), dtype=np.int64),
    )
    left, payment = shares.left, shares.payment
    for j in range(n_items):
        begin, end = item_start[j], item_start[j + 1]
        if begin == end:
            continue
        fraction = costs[j] / max(unpaid[group[j]], 1.0)
        unpaid[group[j]] -= costs[j]
        still_to_pay = 0.0
        for slot in range(begin, end):
            pay(shares, slot, j, np.int64(left[payment[slot]] * fraction))
            still_to_pay += left[payment[slot]]
        # What the items to come cannot take is paid here, by all in turn.
        too_much = np.int64(np.ceil((still_to_pay - unpaid[group[j]]) / (end - begin)))
        for turn in range(end - begin):
            if still_to_pay <= unpaid[group[j]]:
                break
            slot = begin + (turn + j) % (end - begin)
            still_to_pay -= pay(shares, slot, j, too_much)
    # Doubles are good enough to share evenly; what they leave over goes wherever there is room.
    for j in range(n_items):
        for slot in range(item_start[j], item_start[j + 1]):
            pay(shares, slot, j, shares.deficit[j])
    by_arc = np.empty_like(shares.share)
    by_arc[arc_at] = shares.share
    return by_arc


@inner_kernel
def payments(pieces, group, merged):
    """Return for each arc the arc over which the same piece pays for the group of the item."""
    payment = np.empty(len(pieces.arc_item), dtype=np.int32)
    over = np.zeros(len(merged.arc_item) + 1, dtype=np.int32)
    for k in range(len(pieces.gains)):
        for arc in range(merged.arc_start[k], merged.arc_start[k + 1]):
            over[merged.arc_item[arc]] = arc
        for arc in range(pieces.arc_start[k], pieces.arc_start[k + 1]):
            payment[arc] = over[group[pieces.arc_item[arc]]]
    return payment


@small_kernel
def pay(shares, slot, j, amount):
    """Move an amount from a payment to item `j`, as far as there is any and it is needed."""
    amount = min(amount, shares.deficit[j], shares.left[shares.payment[slot]])
    shares.share[slot] += amount
    shares.left[shares.payment[slot]] -= amount
    shares.deficit[j] -= amount
    return amount


@kernel
def prices_of_arcs(problem, part_of, shares, never):
    """Share what pieces pay among their arcs; then share what nobody pays among all who ask.

    Charging more than the master found necessary costs it nothing, and lowers the bound. It stops
    where a project is charged more than all gains together.
    """
    _, _, arc_start, arc_item, costs = problem
    n_arcs = len(arc_item)
    n_parts = np.zeros(len(shares), dtype=np.int64)
    n_askers = np.zeros(len(costs), dtype=np.int64)
    deficit = costs.copy()
    for arc in range(n_arcs):
        n_parts[part_of[arc]] += 1
        n_askers[arc_item[arc]] += 1
    prices = np.zeros(n_arcs, dtype=np.int64)
    left = shares.copy()
    for arc in range(n_arcs):
        part = part_of[arc]
        prices[arc] = left[part] // n_parts[part]
        left[part] -= prices[arc]
        n_parts[part] -= 1
        deficit[arc_item[arc]] -= prices[arc]
    for h in range(len(arc_start) - 1):
        charge = 0
        for arc in range(arc_start[h], arc_start[h + 1]):
            charge = min(charge + prices[arc], never)
        for arc in range(arc_start[h], arc_start[h + 1]):
            j = arc_item[arc]
            # Rounded by turns: else units that cannot be shared all go to those who ask last.
            part = (deficit[j] + (h + j) % n_askers[j]) // n_askers[j]
            more = min(part, never - charge)
            prices[arc] += more
            charge += more
            deficit[j] -= more
            n_askers[j] -= 1
    return prices
