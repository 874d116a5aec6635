"""Numba loops over rows and nested points; `measuring` and `spread` check everything first."""

from collections import namedtuple

from thriftwood.support.compiling import kernel, small_kernel

# Splits and who passes them: a few arrays of `Forest` and of `Routes`.
Passed = namedtuple("Passed", "tree_of left right order start stop")


@kernel
def class_changes(passed, splits, label, table, changes):
    """Write down by how much the loss of each row changes when each split is put in.

    `table[h, k]` is what a row of class `k` loses at node `h`.
    """
    number = 0
    for h in splits:
        for place in range(passed.start[h], passed.stop[h]):
            k = label[passed.order[passed.tree_of[h], place]]
            changes[number] = table[child_of(passed, h, place), k] - table[h, k]
            number += 1


@kernel
def list_pairs(passed, splits, child, row):
    """Write down for each split and each row that passes it the child it goes to, and the row."""
    number = 0
    for h in splits:
        for place in range(passed.start[h], passed.stop[h]):
            child[number] = child_of(passed, h, place)
            row[number] = passed.order[passed.tree_of[h], place]
            number += 1


@small_kernel
def child_of(passed, h, place):
    """Return where the row in this place goes from a split."""
    below = passed.left[h]
    return below if place < passed.stop[below] else passed.right[h]


# Rows at a point of a path, and sums over them with which they change at once.
#
#   loss, bill             of each row, at this point
#   loss_share, bill_share   how much each row counts, 1 on average
#   sums                   in the order of the names below
Standing = namedtuple("Standing", "loss bill loss_share bill_share sums")
LOSS, BILL, LOSS_2, LOSS_BILL, BILL_2, LOSS_OWN, LOSS_CROSS, BILL_OWN, BILL_CROSS = range(9)
N_SUMS = 9


# What is put in with each step: `splits` and `item_row` are sorted by step, and those of step `s`
# begin at `split_start[s]` and `item_start[s]`; `pair_start[s]` counts the rows of splits before.
Steps = namedtuple("Steps", "splits split_start pair_start item_row item_price item_start")


@kernel
def sweep(passed, steps, first, last, changes, per_split, standing, sums):
    """Go back from point `last` to point `first`, and write down the sums of each.

    `changes` says by how much the loss of each row changes at each split between these points.
    """
    for point in range(last - 1, first - 1, -1):
        number = steps.pair_start[point] - steps.pair_start[first]
        for place in range(steps.split_start[point], steps.split_start[point + 1]):
            h = steps.splits[place]
            for among in range(passed.start[h], passed.stop[h]):
                row = passed.order[passed.tree_of[h], among]
                change_loss(standing, row, changes[number])
                if per_split > 0:
                    change_bill(standing, row, per_split)
                number += 1
        for item in range(steps.item_start[point], steps.item_start[point + 1]):
            change_bill(standing, steps.item_row[item], steps.item_price[item])
        sums[point] = standing.sums


@small_kernel
def change_loss(standing, row, change):
    sums, before = standing.sums, standing.loss[row]
    a, b = standing.loss_share[row], standing.bill_share[row]
    standing.loss[row] = before + change
    sums[LOSS] += a * change
    sums[LOSS_2] += a * a * change * (2 * before + change)
    sums[LOSS_BILL] += a * b * change * standing.bill[row]
    sums[LOSS_OWN] += a * a * change
    sums[LOSS_CROSS] += a * b * change


@small_kernel
def change_bill(standing, row, change):
    sums, before = standing.sums, standing.bill[row]
    a, b = standing.loss_share[row], standing.bill_share[row]
    standing.bill[row] = before + change
    sums[BILL] += b * change
    sums[BILL_2] += b * b * change * (2 * before + change)
    sums[LOSS_BILL] += a * b * change * standing.loss[row]
    sums[BILL_OWN] += b * b * change
    sums[BILL_CROSS] += a * b * change
