"""Numba loops over samples at the stages of a cascade."""

import numpy as np

from thriftwood.support.compiling import kernel


@kernel
def stops_at(margins, rule):
    """Return the stage where each sample stops: the first whose threshold its margin reaches."""
    last = len(rule) - 1
    stage = np.empty(len(margins), dtype=np.int64)
    for i in range(len(margins)):
        s = 0
        while s < last and margins[i, s] < rule[s]:
            s += 1
        stage[i] = s
    return stage


@kernel
def measure_lists(lists, rule, figures):
    """Fill what queries score, by each kind of gains, and what they pay, when lists follow a rule.

    `lists` is as in `list_tuning`. The margin of a document is how many of those that are still
    there are strictly better; documents that tie share the gains of their places.
    """
    n_kinds, n_items = len(lists.gains), len(lists.item_price)
    is_there = np.empty(len(lists.scores), dtype=np.bool_)
    needed = np.empty(n_items, dtype=np.bool_)
    worth = np.empty(n_kinds)
    for query in range(len(lists.start) - 1):
        begin, end = lists.start[query], lists.start[query + 1]
        is_there[begin:end] = True
        needed[:] = False
        figures[query] = 0.0
        for stage in range(len(rule)):
            if rule[stage] == np.inf:
                continue
            number, place, n_go = begin, 0, 0
            while number < end:
                first, value, goes_on = place, 0.0, place < rule[stage]
                worth[:] = 0.0
                while number < end:
                    i = lists.order[number, stage]
                    if is_there[i]:
                        if place > first and lists.scores[i, stage] != value:
                            break
                        value = lists.scores[i, stage]
                        place += 1
                        if not goes_on:
                            is_there[i] = False
                            figures[query, n_kinds] += lists.own[i, stage]
                            for kind in range(n_kinds):
                                worth[kind] += lists.gains[kind, i]
                            for item in range(n_items):
                                needed[item] |= lists.needs[i, stage, item]
                    number += 1
                if goes_on:
                    n_go = place
                elif place > first:
                    discount = lists.discount_sum[place] - lists.discount_sum[first]
                    for kind in range(n_kinds):
                        figures[query, kind] += worth[kind] * discount / (place - first)
            if n_go == 0:
                break
        for kind in range(n_kinds):
            figures[query, kind] *= lists.per_ideal[kind, query]
        for item in range(n_items):
            figures[query, n_kinds] += needed[item] * lists.item_price[item]
