"""Tables about the paper's Table 1: repeated, with what there is today, and its readings."""

from collections.abc import Sequence

import numpy as np

from . import readings
from .published import LINES, Figure
from .results import Row
from .summary import CurveOfLine, Files, curve_of, error_level, pooled
from .tables import bill, score, table, without_zeros

LEVELS = ("low", "high")
PRUNED = "ensemble, in_bag"
COUNTED = {"all": "all samples", "in_bag": "in the bag"}
TODAY = {
    "expected_error": "by expected error",
    "brier": "by Brier score",
    "log_loss": "by log loss",
    "refit": "refitted",
    "cascade": "cascade",
    "thrifty": "ThriftyClassifier",
}


def lines_of(files: Files) -> list[str]:
    rows = files["table1"]
    return [name for name in LINES if any(row["line"] == name for row in rows)]


def repeated(files: Files) -> str:
    """The paper's table, with ours below each line."""
    rows = files["table1"]
    head = [
        "",
        "no pruning",
        *(f"{name}, {level}" for level in LEVELS for name in ("ens.", "ind.")),
    ]
    body = []
    for name in lines_of(files):
        line = LINES[name]
        theirs = [own[level] for level in LEVELS for own in (line.ensemble, line.each_tree)]
        paper = "the paper's MiniBooNE" if name == "miniboone_5k" else f"{line.title}, the paper"
        body.append([paper, figure(line.whole), *(figure(one, line.whole) for one in theirs)])
        whole = curve_of(rows, name, "whole")
        base = Figure(*(float(one[0]) for one in whole[:4]))
        for counted, title in COUNTED.items():
            ours = [
                figure(one, base)
                for level in LEVELS
                for one in at_level(rows, name, level, counted)
            ]
            about = f"{line.title}, ours, {title} ({whole.n_parts} test parts)"
            body.append([about, figure(base), *ours])
    return table(head, body)


def at_level(rows: list[Row], line: str, level: str, counted: str) -> list[Figure]:
    """Return what pruning together and pruning each tree alone cost at one level of error."""
    whole = curve_of(rows, line, "whole")
    curves = [curve_of(rows, line, f"{scope}, {counted}") for scope in ("ensemble", "each_tree")]
    at = level_both_reach(line, level, whole, curves)
    found = [curve.at_error(at) for curve in curves]
    assert all(found)
    return found


def level_both_reach(
    line: str, level: str, whole: CurveOfLine, curves: Sequence[CurveOfLine]
) -> float:
    return max(error_level(line, level, whole), *(float(curve.error.min()) for curve in curves))


def figure(one: Figure, whole: Figure | None = None) -> str:
    share = f" ({one.cost / whole.cost:.0%})" if whole else ""
    deviations = f"± {one.cost_sd:.2g}; {score(one.error)} ± {score(one.error_sd)}"
    return f"{one.cost:.1f}{share} {deviations}"


def saved(files: Files) -> str:
    """How much less pruning together costs than pruning each tree alone, at each level."""
    rows = files["table1"]
    body = []
    for name in lines_of(files):
        cells = [LINES[name].title]
        for level in LEVELS:
            line = LINES[name]
            cells.append(f"{1 - line.ensemble[level].cost / line.each_tree[level].cost:.0%}")
            for counted in COUNTED:
                together, alone = at_level(rows, name, level, counted)
                cells.append(f"{1 - together.cost / alone.cost:.0%}")
        body.append(cells)
    ways = ["the paper", *COUNTED.values()]
    return table(["", *(f"{level}: {way}" for level in LEVELS for way in ways)], body)


def today(files: Files, by: str) -> str:
    """What the package has today at the two levels: by the same rise, or at the same error."""
    rows = files["table1"]
    methods = [name for name in TODAY if any(row["method"] == name for row in rows)]
    head = [
        "",
        "error",
        "the paper",
        "pruned, in the bag",
        *(TODAY[name] for name in methods),
        "cheapest",
    ]
    body = []
    for name in lines_of(files):
        if by == "error" and name == "miniboone_5k":
            continue
        body += [today_line(rows, name, level, by, methods) for level in LEVELS]
    return table(head, body)


def today_line(rows: list[Row], name: str, level: str, by: str, methods: list[str]) -> list[str]:
    line, theirs = LINES[name], LINES[name].ensemble[level]
    rows = in_common_blocks([row for row in rows if row["line"] == name])
    done = {row["method"] for row in rows}
    whole = curve_of(rows, name, "whole")
    at = theirs.error if by == "error" else error_level(name, level, whole)
    costs = {
        method: cost_at(curve_of(rows, name, method), at)
        for method in (PRUNED, *methods)
        if method in done
    }
    best = min(costs.values(), default=float("inf"))
    own = [bill(costs.get(method, float("inf"))) for method in (PRUNED, *methods)]
    marked = [f"**{text}**" if text == bill(best) and np.isfinite(best) else text for text in own]
    ratio = f"{best / theirs.cost:.0%} of the paper's" if np.isfinite(best) else "not reached"
    title = f"{line.title}, {level} ({whole.n_parts} test parts)"
    return [title, score(at), bill(theirs.cost), *marked, ratio]


def in_common_blocks(rows: list[Row]) -> list[Row]:
    """Leave out the repeats that not all methods of a line have done."""
    groups: dict[str, set[str]] = {}
    for row in rows:
        groups.setdefault(row["group"], set()).add(row["block"])
    common = set.intersection(*groups.values())
    return [row for row in rows if row["block"] in common]


def cost_at(curve: CurveOfLine, level: float) -> float:
    found = curve.at_error(level)
    return found.cost if found else float("inf")


# --- readings


def sonar_readings(files: Files) -> str:
    """For each reading, shares of the cost at the paper's rise, and errors at the paper's costs."""
    line = "sonar"
    rows = [row for row in files["readings"] if row["line"] == line]
    published = LINES[line]
    head = ["errors counted, costs counted", "error of", "whole", "low", "high"]
    head += [f"error at {published.ensemble[level].cost:.1f}" for level in LEVELS]
    shares = [f"{published.ensemble[one].cost / published.whole.cost:.0%}" for one in LEVELS]
    errors = [score(published.ensemble[level].error) for level in LEVELS]
    body = [["**the paper**", "", score(published.whole.error), *shares, *errors]]
    for name in readings.READINGS:
        own = [row for row in rows if row["reading"] == name]
        for error, title in (("vote_error", "vote"), ("mean_error", "mean")) if own else ():
            of = {
                method: pooled([row for row in own if row["method"] == method], error)
                for method in ("whole", "ensemble")
            }
            body.append([name, title, *reading_cells(line, of["whole"], of["ensemble"])])
    return table(head, body)


def reading_cells(line: str, whole: CurveOfLine, curve: CurveOfLine) -> list[str]:
    published = LINES[line]
    cells = [score(float(whole.error[0]))]
    for level in LEVELS:
        rise = published.ensemble[level].error - published.whole.error
        cost = cost_at(curve, float(whole.error[0]) + max(rise, 0.004))
        cells.append(f"{cost / float(whole.cost[0]):.0%}" if np.isfinite(cost) else "-")
    for level in LEVELS:
        near = int(np.abs(curve.cost - published.ensemble[level].cost).argmin())
        cells.append(score(float(curve.error[near])))
    return cells


def partitions(files: Files) -> str:
    """The spread of ten-fold errors over partitions of the samples, at the paper's costs."""
    rows = [row for row in files["readings"] if row["reading"] == readings.PARTITIONS]
    body = []
    for line in readings.PARTITION_BLOCKS:
        for method in ("whole", "ensemble, low", "ensemble, high"):
            own = [row for row in rows if row["line"] == line and row["method"] == method]
            if not own:
                continue
            errors = np.array([float(row["mean_error"]) for row in own])
            level = method.partition(", ")[2]
            published = LINES[line].ensemble[level] if level else LINES[line].whole
            told = score(errors.mean()), score(errors.std())
            ends = f"{score(errors.min())} to {score(errors.max())}"
            title = f"{LINES[line].title}, {method}"
            body.append([title, score(published.error), *told, ends, str(len(own))])
    head = ["", "the paper", "mean", "deviation", "least and most", "partitions"]
    return table(head, body)


def forest_tasks(files: Files) -> str:
    """Cost and error of a whole forest on each task that Forest may have been."""
    rows = [row for row in files["readings"] if row["line"] == "forest"]
    whole = LINES["forest"].whole
    body = [["**the paper**", f"{whole.cost:.2f} ± {whole.cost_sd:.2f}", error_pm(whole)]]
    for name in readings.FOREST_TASKS:
        own = [row for row in rows if row["reading"] == name]
        if own:
            cost = np.array([float(row["cost"]) for row in own])
            error = np.array([float(row["mean_error"]) for row in own])
            told = Figure(cost.mean(), cost.std(), error.mean(), error.std())
            body.append([name, f"{told.cost:.2f} ± {told.cost_sd:.2f}", error_pm(told)])
    return table(["task", "features", "error"], body)


def error_pm(one: Figure) -> str:
    return without_zeros(f"{one.error:.4f} ± {one.error_sd:.4f}")


def steps(files: Files) -> str:
    """Which share of the best profit 50 steps of dual ascent reach, by tradeoff."""
    rows = files["readings"]
    shown = readings.TRADEOFFS[[9, 13, 17, 21, 25, 29]]
    body = []
    for line in ("sonar", "heart", "miniboone_5k"):
        wanted = line, readings.STEPS, "ensemble"
        own = [row for row in rows if (row["line"], row["reading"], row["method"]) == wanted]
        if not own:
            continue
        cells = []
        for dial in shown:
            near = [row for row in own if abs(float(row["dial"]) / dial - 1) < 1e-3]
            share = np.mean([float(row["profit_share"]) for row in near])
            cost = np.mean([float(row["cost"]) for row in near])
            cells.append(f"{share:.1%} ({cost:.1f})")
        body.append([LINES[line].title, *cells])
    return table(["share reached (features bought)", *(f"{dial:.2g}" for dial in shown)], body)
