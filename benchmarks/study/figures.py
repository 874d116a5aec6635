"""One picture for each task: what a prediction costs, and what it scores, of the main methods."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .data import RECIPES
from .frontiers import METHODS
from .summary import Files, Frontier

PICTURES = Path(__file__).parents[2] / "docs" / "images" / "study"
# The same everywhere, and told apart without colours: marker, line, colour.
LOOKS = {
    "thrifty": ("o", "-", "#0072B2"),
    "cascade": ("D", "-", "#009E73"),
    "refit": ("s", "--", "#56B4E9"),
    "forward": ("^", "-", "#D55E00"),
    "importance": ("v", ":", "#D55E00"),
    "cegb": ("P", "-.", "#E69F00"),
    "catboost": ("X", ":", "#E69F00"),
    "neural": ("*", "-.", "#CC79A7"),
    "budget_forest": ("h", ":", "#555555"),
    "plain": (".", "--", "#000000"),
}
SCORE_NAMES = {"accuracy": "accuracy", "auc": "area under the ROC curve"}
WIDTH, HEIGHT, DPI = 9.5, 3.8, 100


def draw_all(files: Files) -> None:
    """Draw every task that has results."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    rows = files["frontiers"]
    for task in RECIPES:
        if any(row["task"] == task for row in rows):
            draw([Frontier(rows, task, score) for score in SCORE_NAMES], PICTURES / f"{task}.png")


def draw(frontiers: list[Frontier], file: Path) -> None:
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes = figure.subplots(1, len(frontiers))
    for frontier, ax in zip(frontiers, axes, strict=True):
        draw_lines(frontier, ax)
    recipe, n_splits = RECIPES[frontiers[0].task], len(frontiers[0].repeats)
    title = f"{recipe.title}: {recipe.about}. Mean over splits: {n_splits}"
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
    figure.savefig(file, dpi=DPI, metadata={"Software": None})


def draw_lines(frontier: Frontier, ax: Axes) -> None:
    for method, (marker, line, colour) in LOOKS.items():
        if method not in frontier.methods:
            continue
        bills, values = frontier.curve(method)
        shown = bills > 0
        own = {"linewidth": 2.2, "zorder": 3} if METHODS[method].is_ours else {"linewidth": 1.3}
        style = {"linestyle": line, "color": colour, "markersize": 4.5, **own}
        ax.plot(bills[shown], values[shown], marker, label=METHODS[method].title, **style)
    constant = min(value.mean(axis=0).min() for value in frontier.value.values())
    ax.axhline(constant, color="#999999", linewidth=0.8, linestyle=(0, (1, 3)))
    ax.set_xscale("log")
    ticks = [b for b in (1, 2, 5, 10, 20, 50, 100, 200, 500) if b <= 1.2 * frontier.budgets[-1]]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlim(left=0.8 * min(frontier.budgets[0], 0.9 * np.max(ticks)))
    ax.set_xlabel("mean bill of a test sample")
    ax.set_ylabel(SCORE_NAMES[frontier.score])
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
