"""Numba loops of the decomposition; the Python functions that call them check everything."""

import numpy as np

from thriftwood.closure.kernels import NOTHING, arcs_by_item
from thriftwood.compiling import kernel


@kernel
def roots(requires):
    """Return the first project of the component that each project belongs to."""
    root = np.empty(len(requires), dtype=np.int64)
    for h in range(len(requires)):
        root[h] = h if requires[h] == NOTHING else root[requires[h]]
    return root


@kernel
def best_response(gains, requires, arc_start, prices, largest_charge):
    """Solve one component alone, where arc `a` costs `prices[a]`: one pass up, one pass down.

    Returns the value of each project with the best of those that require it, and the smallest best
    closed set. What a project is charged stops at `largest_charge`, more than all gains together.
    """
    n_projects = len(gains)
    value = gains.copy()
    for h in range(n_projects - 1, -1, -1):
        charge = 0
        for arc in range(arc_start[h], arc_start[h + 1]):
            charge = min(charge + prices[arc], largest_charge)
        value[h] -= charge
        if requires[h] != NOTHING and value[h] > 0:
            value[requires[h]] += value[h]
    chosen = value > 0
    for h in range(n_projects):
        if requires[h] != NOTHING and not chosen[requires[h]]:
            chosen[h] = False
    return value, chosen


@kernel
def contract(gains, requires, arc_start, arc_item, n_items, starts_piece):
    """Make one project of each piece; a piece is a project that starts one and all that follow it.

    Returns the gains, requires, arc_start and arc_item of the pieces, the piece of each project and
    the arc of a piece that each arc has become part of.
    """
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

    seen_by = np.full(n_items, NOTHING, dtype=np.int32)
    seen_at = np.empty(n_items, dtype=np.int32)
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
    return piece_gain, piece_requires, piece_start, piece_item[:n_arcs].copy(), piece, part_of


@kernel
def share_evenly(costs, arc_start, arc_item, group, merged_start, merged_item, merged_flow):
    """Share what pieces pay for a group of items among its items, as evenly as integers allow.

    Each piece pays the same fraction of every item, up to one unit, so that the parts of a piece
    pay alike. No item gets more than it costs, and what pieces pay beyond all costs is left out.
    """
    n_pieces, n_items, n_groups = len(arc_start) - 1, len(costs), 0
    for j in range(n_items):
        n_groups = max(n_groups, group[j] + 1)
    unpaid = np.zeros(n_groups, dtype=np.float64)  # costs of the items to come, as doubles
    for j in range(n_items):
        if group[j] != NOTHING:
            unpaid[group[j]] += costs[j]

    # The arcs of each item, and the arc over which its group is paid by the same piece.
    item_start, arc_at, _ = arcs_by_item(arc_start, arc_item, n_items)
    pays_over = np.empty(len(arc_item), dtype=np.int32)
    at = np.zeros(n_groups, dtype=np.int32)
    for k in range(n_pieces):
        for arc in range(merged_start[k], merged_start[k + 1]):
            at[merged_item[arc]] = arc
        for arc in range(arc_start[k], arc_start[k + 1]):
            pays_over[arc] = at[group[arc_item[arc]]]

    left = merged_flow.copy()
    open_costs = costs.copy()
    shares = np.zeros(len(arc_item), dtype=np.int64)
    for j in range(n_items):
        if group[j] == NOTHING:
            continue
        begin, end = item_start[j], item_start[j + 1]
        open_cost = costs[j]
        fraction = open_cost / max(unpaid[group[j]], 1.0)
        unpaid[group[j]] -= open_cost
        wanted = 0.0
        for slot in range(begin, end):
            share = min(
                np.int64(left[pays_over[arc_at[slot]]] * fraction),
                open_cost,
                left[pays_over[arc_at[slot]]],
            )
            shares[arc_at[slot]] = share
            left[pays_over[arc_at[slot]]] -= share
            open_cost -= share
            wanted += left[pays_over[arc_at[slot]]]
        # What the items to come cannot take must be paid here.
        too_much = wanted - unpaid[group[j]]
        n_slots = end - begin
        for turn in range(n_slots):
            if too_much <= 0.0 or open_cost <= 0:
                break
            slot = begin + (turn + j) % n_slots
            share = min(
                open_cost, left[pays_over[arc_at[slot]]], np.int64(np.ceil(too_much / n_slots))
            )
            shares[arc_at[slot]] += share
            left[pays_over[arc_at[slot]]] -= share
            open_cost -= share
            too_much -= share
        open_costs[j] = open_cost
    # Doubles were good enough to share evenly; what they left over goes wherever there is room.
    for j in range(n_items):
        for slot in range(item_start[j], item_start[j + 1]):
            share = min(open_costs[j], left[pays_over[arc_at[slot]]])
            shares[arc_at[slot]] += share
            left[pays_over[arc_at[slot]]] -= share
            open_costs[j] -= share
    return shares


@kernel
def prices_of_arcs(costs, arc_start, arc_item, part_of, shares, largest_charge):
    """Share what pieces pay among their arcs; then share what nobody pays among all who ask.

    Charging more than the master found necessary costs it nothing, and lowers the bound. It stops
    where a project is charged more than all gains together.
    """
    n_arcs = len(arc_item)
    n_parts = np.zeros(len(shares), dtype=np.int64)
    n_askers = np.zeros(len(costs), dtype=np.int64)
    open_cost = costs.copy()
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
        open_cost[arc_item[arc]] -= prices[arc]
    for h in range(len(arc_start) - 1):
        charge = 0
        for arc in range(arc_start[h], arc_start[h + 1]):
            charge = min(charge + prices[arc], largest_charge)
        for arc in range(arc_start[h], arc_start[h + 1]):
            j = arc_item[arc]
            more = min(open_cost[j] // n_askers[j], largest_charge - charge)
            prices[arc] += more
            charge += more
            open_cost[j] -= more
            n_askers[j] -= 1
    return prices
