"""Axes to draw on, and what all pictures have in common: colours for everybody, words, a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thriftwood.errors import InputError
from thriftwood.support.arrays import FloatArray
from thriftwood.support.libraries import library
from thriftwood.support.text import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours.
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
GREY = "#999999"


def axes_or_new(ax: Any, figsize: tuple[float, float] = (7.0, 4.5)) -> Axes:
    """Return the user's argument `ax`, or new axes of a size in inches where it is None."""
    plt = library("matplotlib.pyplot", "plot", "Drawing")
    if ax is None:
        ax = plt.subplots(figsize=figsize, layout="constrained")[1]
    if not hasattr(ax, "fill_between"):
        raise InputError(f"`ax` is {ax!r}: pass axes of matplotlib, or None for new ones.")
    return ax


def draw_with_band(
    ax: Axes, x: FloatArray, y: FloatArray, spread: FloatArray, style: str = "-", **labels: str
) -> None:
    """Draw a line, and a band of one standard error around it; labels: `line`, `band`."""
    (line,) = ax.plot(x, y, style, markersize=6, label=labels.get("line"))
    order = np.argsort(x, kind="stable")
    low, high = (y - spread)[order], (y + spread)[order]
    about: Any = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
    ax.fill_between(x[order], low, high, label=labels.get("band"), **about)


def with_unit(words: str, unit: str) -> str:
    """Return the label of an axis, with the unit where there is one."""
    return f"{words} ({shown(unit)})" if unit else words


def shortened(text: str, most: int, inside: bool = False) -> str:
    """Return a text as one line of at most so many letters; dots stand for what is cut off.

    Names of features often begin alike and tell at their end what they are: cut these `inside`.
    """
    line = shown(" ".join(text.split()))
    if len(line) <= most:
        return line
    behind = (most - 1) // 2 if inside else 0
    return line[: most - 1 - behind] + "…" + line[len(line) - behind :]


def tidy(ax: Axes) -> None:
    """Put a light grid behind what is drawn, and take away the lines that only frame it."""
    ax.set_axisbelow(True)
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
