"""Tables of methods beside their peers: frontiers, money, and parts left out."""

import numpy as np

from . import ablation, frontiers, money
from .data import RECIPES
from .results import Row
from .summary import Compared, Files, Frontier, paired
from .tables import bill, score, table, without_zeros

OURS = [name for name, entry in frontiers.METHODS.items() if entry.is_ours]


def tasks_of(files: Files) -> list[str]:
    rows = files["frontiers"]
    return [name for name in RECIPES if any(row["task"] == name for row in rows)]


def tasks_table(files: Files) -> str:
    """The tasks, and how many of their splits were done."""
    body = []
    for name in tasks_of(files):
        recipe, done = RECIPES[name], files.frontier(name).repeats
        sizes = ", ".join(f"{size:,}" for size in recipe.sizes)
        body.append([recipe.title, recipe.about, sizes, f"{len(done)} of {recipe.n_repeats}"])
    return table(["task", "", "samples to train, to choose, to test", "splits done"], body)


def areas(files: Files, kind: str) -> str:
    """Area under each frontier: the mean score over budgets, in their logarithm."""
    found = {task: files.frontier(task, kind) for task in tasks_of(files)}
    best = {task: score(max(one.area.values())) for task, one in found.items()}
    body = []
    for name, entry in frontiers.METHODS.items():
        cells = []
        for task, frontier in found.items():
            own = score(frontier.area[name]) if name in frontier.methods else ""
            cells.append(f"**{own}**" if own == best[task] else own)
        body.append([entry.title, *cells])
    return table(["", *(RECIPES[task].title for task in found)], body)


def against_peers(files: Files, kind: str, ours: str = "thrifty") -> str:
    """A method of ours against the peer of the largest area, and the best at each budget."""
    body = []
    for task in tasks_of(files):
        frontier = files.frontier(task, kind)
        peers = [name for name in frontier.methods if name not in OURS]
        if ours not in frontier.methods or not peers:
            continue
        peer = frontier.best_peer(OURS)
        difference = compared_areas(frontier, ours, peer)
        verdicts = [
            frontier.compared(ours, frontier.best_of(peers, budget), budget).verdict
            for budget in frontier.budgets
        ]
        counts = [verdicts.count(sign) for sign in (1, 0, -1)]
        against = frontiers.METHODS[peer].title, interval(difference)
        ratios = bill_ratios(frontier, ours, peers)
        body.append([RECIPES[task].title, *against, " / ".join(map(str, counts)), ratios])
    head = ["", "best peer", "area: difference", "budgets won / even / lost"]
    return table([*head, "bill at the best peer's score"], body)


def compared_areas(frontier: Frontier, one: str, other: str) -> Compared:
    return paired(frontier.areas(one) - frontier.areas(other))


def interval(one: Compared) -> str:
    if not np.isfinite(one.low):
        return without_zeros(f"{one.mean:+.3f} (one split)")
    mark = "**" if one.verdict else ""
    return without_zeros(f"{mark}{one.mean:+.3f}{mark} ({one.low:+.3f} to {one.high:+.3f})")


PARTS_OF_THE_WAY = (0.5, 0.75, 0.9)


def bill_ratios(frontier: Frontier, ours: str, peers: list[str]) -> str:
    """Return our bill at three scores as a part of the least bill of any peer there."""
    cells = []
    for level in score_levels(frontier):
        least = min(frontier.bill_needed(peer, level) for peer in peers)
        own = frontier.bill_needed(ours, level)
        cells.append(
            "never"
            if not np.isfinite(own)
            else "all"
            if not np.isfinite(least)
            else f"{own / least:.2f}"
            if least
            else "-"
        )
    return ", ".join(cells)


def score_levels(frontier: Frontier) -> list[float]:
    """Return scores at parts of the way from one answer for all to the best of anybody."""
    everything = [frontier.value[name].mean(axis=0) for name in frontier.methods]
    low, high = min(own.min() for own in everything), max(own.max() for own in everything)
    return [float(low + part * (high - low)) for part in PARTS_OF_THE_WAY]


def bills_at_scores(files: Files, kind: str = "accuracy") -> str:
    """The mean bill that each method needs for three scores."""
    body = []
    for task in tasks_of(files):
        frontier = files.frontier(task, kind)
        methods = [name for name in SHOWN_BILLS if name in frontier.methods]
        for level in score_levels(frontier):
            bills = {name: frontier.bill_needed(name, level) for name in methods}
            least = min(bills.values())
            cells = [bill(bills[name]) if name in bills else "" for name in SHOWN_BILLS]
            cells = [f"**{text}**" if text == bill(least) != "-" else text for text in cells]
            body.append([f"{RECIPES[task].title}, {score(level)}", *cells])
    return table(["", *(frontiers.METHODS[name].title for name in SHOWN_BILLS)], body)


SHOWN_BILLS = ("thrifty", "cascade", "refit", "forward", "importance", "cegb", "catboost", "neural")


def errors_within(files: Files, task: str) -> str:
    """Error, and mean bill on test samples, of each method within each budget."""
    frontier = files.frontier(task)
    names = [name for name in frontiers.METHODS if name in frontier.methods]
    errors = {name: 1 - frontier.value[name].mean(axis=0) for name in names}
    bills = {name: frontier.bill[name].mean(axis=0) for name in names}
    least = [score(float(own)) for own in np.min(list(errors.values()), axis=0)]
    body = []
    for name in names:
        cells = []
        for place, best in enumerate(least):
            error, paid = score(errors[name][place]), bill(bills[name][place])
            cells.append(f"**{error}** ({paid})" if error == best else f"{error} ({paid})")
        body.append([frontiers.METHODS[name].title, *cells])
    return table(["", *(f"{budget:g}" for budget in frontier.budgets)], body)


# --- money, ablation, speed


def money_table(files: Files) -> str:
    """Bill and errors together, the least in bold."""
    rows = files["money"]
    tasks = [name for name in money.TASKS if any(row["task"] == name for row in rows)]
    cases = [(task, cost) for task in tasks for cost in money.ERRORS]
    totals = {
        (name, task, cost): totals_of(rows, task, name, cost)
        for name in money.METHODS
        for task, cost in cases
    }
    body = []
    for name, (title, _) in money.METHODS.items():
        cells = []
        for task, cost in cases:
            means = {
                other: totals[other, task, cost].mean()
                for other in money.METHODS
                if len(totals[other, task, cost])
            }
            own = totals[name, task, cost]
            text = bill(float(own.mean())) if len(own) else ""
            cells.append(f"**{text}**" if len(own) and text == bill(min(means.values())) else text)
        body.append([title, *cells])
    return table(["", *(f"{RECIPES[task].title}, {cost:g}" for task, cost in cases)], body)


def totals_of(rows: list[Row], task: str, method: str, cost: float) -> np.ndarray:
    own = [row for row in rows if (row["task"], row["method"]) == (task, method)]
    found = [row for row in own if float(row["error_cost"]) == cost]
    return np.array([float(row["bill"]) + float(row["errors"]) for row in found])


def ablation_table(files: Files, kind: str = "accuracy") -> str:
    """Area of each variant, less that of the whole method."""
    rows = files["ablation"]
    tasks = [name for name in ablation.TASKS if any(row["task"] == name for row in rows)]
    found = {task: Frontier(rows, task, kind) for task in tasks}
    body = []
    for name, entry in ablation.METHODS.items():
        whole = "thrifty" if name.startswith("thrifty") else "cascade"
        cells = [
            ""
            if name not in frontier.methods
            else score(frontier.area[name])
            if name == whole
            else interval(compared_areas(frontier, name, whole))
            for frontier in found.values()
        ]
        body.append([f"**{entry.title}**" if name == whole else entry.title, *cells])
    return table(["", *(RECIPES[task].title for task in found)], body)


def cpu_seconds(files: Files) -> str:
    """Mean CPU seconds, in one thread, of all that a method does for all budgets of a task."""
    rows = files["frontiers"]
    body = []
    for name, entry in frontiers.METHODS.items():
        cells = []
        for task in tasks_of(files):
            own = [
                float(row["cpu_seconds"])
                for row in rows
                if (row["task"], row["method"]) == (task, name)
            ]
            cells.append(bill(float(np.mean(own))) if own else "")
        body.append([entry.title, *cells])
    return table(["", *(RECIPES[task].title for task in tasks_of(files))], body)
