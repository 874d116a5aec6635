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
    n_stages = lists.scores.shape[1]
    n_kinds, n_items = len(lists.gains), len(lists.item_price)
    needed = np.empty(n_items, dtype=np.bool_)
    worth = np.empty(n_kinds)
    for query in range(len(lists.start) - 1):
        here = np.arange(lists.start[query], lists.start[query + 1])
        figures[query] = 0.0
        needed[:] = False
        for stage in range(n_stages):
            if rule[stage] == np.inf:
                continue
            own = lists.scores[here, stage]
            order = np.argsort(-own, kind="mergesort")
            n_go, place = 0, 0
            while place < len(order):
                last = place + 1
                while last < len(order) and own[order[last]] == own[order[place]]:
                    last += 1
                if place < rule[stage]:
                    n_go = last
                else:
                    discount = lists.discount_sum[last] - lists.discount_sum[place]
                    worth[:] = 0.0
                    for which in range(place, last):
                        i = here[order[which]]
                        worth += lists.gains[:, i]
                        figures[query, n_kinds] += lists.own[i, stage]
                        needed |= lists.needs[i, stage]
                    figures[query, :n_kinds] += worth * (discount / (last - place))
                place = last
            here = here[order[:n_go]]
            if n_go == 0:
                break
        figures[query, :n_kinds] *= lists.per_ideal[:, query]
        for item in range(n_items):
            if needed[item]:
                figures[query, n_kinds] += lists.item_price[item]
