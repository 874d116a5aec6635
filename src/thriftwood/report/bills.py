"""Two bills side by side: what is paid for each feature, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thriftwood.billing import FeatureBill
from thriftwood.errors import InputError
from thriftwood.report.amounts import amount
from thriftwood.support.axes import (
    BLUE,
    VERMILION,
    axes_or_new,
    shortened,
    tidy,
    with_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 20
MOST_LETTERS = 24  # of a name, as long as names differ by them
HEIGHT = 0.4  # of a bar; two of them share a line of height 1


# What something costs a sample on average: its name, before and after.
Entry = tuple[str, float, float]


def plot_bills(before: FeatureBill, after: FeatureBill, ax: Axes | None = None) -> Axes:
    """Draw what a sample pays for each feature on average, before and after pruning.

    The dearest come first. The fees of groups, the tests and the model have bars of their own, and
    the last bar holds all that is too cheap for one, so that the bars add up to the two means that
    the legend tells.

    Parameters
    ----------
    before, after : FeatureBill
        Of the same features, in the same unit: what `feature_bill` returned for two models.
    ax : matplotlib Axes, optional
        None makes new ones.

    Returns
    -------
    ax : matplotlib Axes
    """
    _check_bills(before, after)
    entries = _entries(before, after)
    ax = axes_or_new(ax, figsize=(7.0, 1.3 + 0.3 * max(len(entries), 3)))
    places = np.arange(len(entries))
    for column, shift, bill, name, color, hatch in (
        (1, -HEIGHT / 2, before, "before", VERMILION, "///"),
        (2, HEIGHT / 2, after, "after", BLUE, ""),
    ):
        ax.barh(
            places + shift,
            [entry[column] for entry in entries],
            height=HEIGHT,
            color=color,
            hatch=hatch,
            edgecolor="white",
            linewidth=0,
            label=f"{name}: {amount(bill.mean, bill.unit)}",
        )
    names = _short_names([name for name, _, _ in entries])
    ax.set_yticks(places, names, parse_math=False)  # a name may hold dollars
    ax.set_ylim(max(len(entries), 1) - 0.4, -0.6)  # the dearest on top
    ax.set_xlabel(with_unit("part of the mean bill", before.unit), parse_math=False)
    tidy(ax)
    ax.grid(visible=False, axis="y")
    legend = ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    for words in legend.get_texts():
        words.set_parse_math(False)
    return ax


def _check_bills(before: Any, after: Any) -> None:
    for name, bill in (("before", before), ("after", after)):
        if not isinstance(bill, FeatureBill):
            raise InputError(
                f"`{name}` is no bill: pass what `feature_bill(model, X, costs)` returned."
            )
    sizes = len(before.by_feature), len(after.by_feature)
    names = before.feature_names, after.feature_names
    units = before.unit or "no unit", after.unit or "no unit"
    for differs, words in (
        (sizes[0] != sizes[1], f"are of {sizes[0]} and of {sizes[1]} features"),
        (None not in names and names[0] != names[1], "name their features differently"),
        (before.unit != after.unit, f"are in {units[0]} and in {units[1]}"),
    ):
        if differs:
            raise InputError(f"The bills {words}: compare bills of the same features and prices.")


def _entries(before: FeatureBill, after: FeatureBill) -> list[Entry]:
    """Return the dearest parts of both, and one for all others together; none that is free."""
    names = before.feature_names or after.feature_names
    features = [
        (names[k] if names else f"feature {k}", before.by_feature[k], after.by_feature[k])
        for k in range(len(before.by_feature))
    ]
    fees = [
        (f"fee of {group}", before.fees.get(group, 0.0), after.fees.get(group, 0.0))
        for group in {**before.fees, **after.fees}
    ]
    tests = ("tests", before.test_cost, after.test_cost)
    model = ("model", before.model_cost, after.model_cost)
    paid = [entry for entry in (*features, *fees, tests, model) if max(entry[1:]) > 0]
    dearest = sorted(paid, key=lambda entry: -max(entry[1:]))
    shown, others = dearest[:MOST_BARS], dearest[MOST_BARS:]
    shown.sort(key=lambda entry: (-entry[1], -entry[2]))
    if others:
        _, was, now = zip(*others, strict=True)
        shown.append((f"{len(others)} others", sum(was), sum(now)))
    return shown


def _short_names(names: list[str]) -> list[str]:
    """Return names as short as they may be without becoming the same."""
    longest = max((len(name) for name in names), default=0)
    for most in range(MOST_LETTERS, longest):
        short = [shortened(name, most, inside=True) for name in names]
        if len(set(short)) == len(set(names)):
            return short
    return [shortened(name, max(longest, MOST_LETTERS), inside=True) for name in names]
