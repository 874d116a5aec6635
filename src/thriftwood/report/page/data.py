"""The page: one JSON object, collected from the path, bills, evaluations and certificates.

Its keys are those that the scripts in `assets` read.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from thriftwood.billing import FeatureBill, Receipt, bill_of_stages, value_in_words
from thriftwood.costs import MODEL, PriceList
from thriftwood.errors import InputError
from thriftwood.evaluation import Evaluation, evaluate
from thriftwood.forest import Forest, collapse, one_stage
from thriftwood.problem import (
    ErrorCosts,
    PruningProblem,
    interval_in_words,
    times_counted,
    tradeoff_inside,
    tradeoffs_of,
)
from thriftwood.pruning import PruningPath
from thriftwood.report.page.class_errors import ClassErrors
from thriftwood.report.page.document import ROUNDING, Page, write_document
from thriftwood.report.page.proofs import proofs_of
from thriftwood.report.points import drawn_points, first_point, shown_points
from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.files import File
from thriftwood.support.progress import progress_bar
from thriftwood.support.validation import truth, whole_number

FEWEST_POINTS = 3  # the first, the last and the suggested one
# So that a page stays below 2 MB whatever the model: points of the curve, of which no screen shows
# more, and numbers in the details of all points.
MOST_DRAWN = 1500
MOST_NUMBERS = 150_000
MOST_BILL_BARS = 30
MOST_TREE_BARS = 100
# Parts of a mean bill that are no groups of features.
OTHER_FEATURES, ALL_FEATURES = "features without a group", "features"
MODEL_COST, SEVERAL = "what is paid once for the model", "counted in several groups"
# Where typical samples stand among all, ordered by what they pay before pruning.
TYPICAL = {"A cheap {}": 0.1, "A {} in the middle": 0.5, "A dear {}": 0.9}


def write_page(
    path: PruningPath,
    file: File,
    problem: PruningProblem,
    evaluation: Evaluation | None = None,
    *,
    title: str | None = None,
    noun: str = "sample",
    positive: Any = None,
    commands: Callable[[int, float], str] | None = None,
    max_points: int = 40,
    receipts: bool = True,
) -> Page:
    """Write the frontier as one HTML file that needs nothing else, not even a network.

    It shows cost against error, and for the point that is chosen on it: which errors it makes, what
    samples pay, which features they buy, what is saved, how small the trees get, receipts of three
    samples, and the proof that no pruning of this model is better.

    Parameters
    ----------
    path : PruningPath
    file : path
        Usually named `.html`; one that is there already is replaced.
    problem : PruningProblem
        The problem that the path solves, with its samples in memory. Bills, receipts and proofs are
        those of these samples. Its `n_jobs` and `progress` are the page's.
    evaluation : Evaluation, optional
        What `path.evaluate` measured on samples that the model was not trained on. With it the page
        shows their errors, and suggests the cheapest point within one standard error of the best.
    title : str, optional
    noun : str
        What a sample is called on the page, such as "patient".
    positive : label, optional
        Of two classes the one to be found, whose samples are missed or raise false alarms; None
        means the rarer one.
    commands : callable, optional
        Called with the number of a point and a tradeoff for which it is optimal; returns the
        command that makes this model. None shows Python code only.
    max_points : int
        For how many points there are details at the most; fewer for models that buy thousands of
        features, so that the page stays below 2 MB. The curve shows all points that can be told
        apart on a screen.
    receipts : bool
        Whether to show receipts of three samples, with the values of their features.

    Returns
    -------
    page : Page
        `page.point` is the point that the page begins with, `page.why` the reason. At the end of a
        cell a notebook shows the page itself.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(heart.X, heart.y)
    >>> problem = tw.pruning_problem(forest, heart.X, heart.y, costs=heart.prices)
    >>> path = tw.prune_path(problem)
    >>> with TemporaryDirectory() as folder:
    ...     page = tw.report.write_page(path, Path(folder) / "page.html", problem)
    ...     page.file.read_text()[:15]
    '<!DOCTYPE html>'
    """
    _check_arguments(path, problem, evaluation, title, commands)
    noun, nouns = _singular_and_plural(noun)
    most_points = whole_number(max_points, "max_points", FEWEST_POINTS)
    forest, prices, weights = path.forest, problem.prices, problem.in_memory.weights
    before = _bill(problem, forest)
    _check_cost(before.mean, path.original.cost)
    is_judged = forest.is_classifier or forest.statistic != "other"
    training = _on_own_samples(path, problem, evaluation) if is_judged else None
    errors = ClassErrors.of(evaluation or training, problem, positive)
    start, why = first_point(path, training, evaluation, nouns)
    typical = _typical_samples(before, weights, noun) if truth(receipts, "receipts") else []
    numbers = 2 * len(prices.names) + sum(len(one["lines"]) for one in typical)
    numbers += 2 * len(errors.names)
    most = max(FEWEST_POINTS, min(most_points, MOST_NUMBERS // numbers))
    shown = shown_points(path.costs, [start], most)
    drawn = drawn_points(path.costs, shown, MOST_DRAWN)
    edges = _bill_edges(before.per_sample)
    points = []
    with progress_bar("Writing the page", problem.progress) as bar:
        for index, proof in zip(shown, proofs_of(path, problem, shown, start), strict=True):
            pruned = collapse(forest, path.kept_nodes(index))[0]
            after = _bill(problem, pruned)
            _check_cost(after.mean, float(path.costs[index]))
            point = _point(path, index, commands)
            point["place"] = int(np.searchsorted(drawn, index)) + 1
            point["details"] = _details(after, problem, pruned, edges) | errors.at(index)
            point["receipts"] = [_still_paid(after, one) for one in typical]
            points.append(point | {"proof": proof})
            bar(len(points) / len(shown))
    members = [feature for _, features in prices.groups for feature in features]
    rest = OTHER_FEATURES if prices.groups else ALL_FEATURES
    tests = f"splits that {'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun} passes"
    in_groups = set(members) if prices.groups else set(range(prices.n_columns))
    data = {
        "title": title or f"What this {type(path.model).__name__} could cost",
        "noun": noun,
        "nouns": nouns,
        "model": type(path.model).__name__,
        "unit": prices.unit,
        "loss": path.loss_in_words,
        "error": "none" if not is_judged else "share" if forest.is_classifier else "squared",
        "method": f"{len(path):,} {path.points_in_words}",
        "weighting": _weighting(problem, nouns),
        "n_samples": len(weights),
        "n_validation": 0 if evaluation is None else evaluation.n_samples,
        "n_trees": forest.n_trees,
        "trees_per_bar": _trees_per_bar(forest.n_trees),
        "n_points": len(path),
        "features": prices.names[: prices.n_columns],
        "fees": list(before.fees),
        "prices": prices.prices[prices.payer != MODEL],
        "classes": errors.names,
        "class_counts": errors.counts,
        "positive": errors.positive,
        "lines": [*before.by_group, rest, tests, MODEL_COST, SEVERAL],
        "rest_line": len(before.by_group),
        "ungrouped": [k for k in range(prices.n_columns) if k not in in_groups],
        "in_several_groups": len(set(members)) < len(members),
        "edges": edges,
        "typical": typical,
        "curve": _curve(path, training, evaluation, drawn),
        "before": _details(before, problem, forest, edges) | errors.before,
        "points": points,
        "start": {"point": start, "why": why, "is_suggested": evaluation is not None},
    }
    return Page(start, why, write_document(data, file))


def _check_arguments(path: Any, problem: Any, evaluation: Any, title: Any, commands: Any) -> None:
    if not isinstance(path, PruningPath) or np.isnan(path.tradeoffs).any():
        raise InputError("`path` has no tradeoffs: pass what prune_path returned.", "path")
    if not isinstance(problem, PruningProblem) or problem.subsample is not None:
        words = "pass what pruning_problem(model, X, y, ...) returned, without `subsample`."
        raise InputError(f"`problem` is not of all samples of the path: {words}", "problem")
    if evaluation is not None and (
        not isinstance(evaluation, Evaluation) or len(evaluation.points) != len(path)
    ):
        words = "pass what path.evaluate(X, y) returned."
        raise InputError(f"`evaluation` is none of all points of the path: {words}", "evaluation")
    if title is not None and (not isinstance(title, str) or not title.strip()):
        raise InputError(f"`title` is {reprlib.repr(title)}: pass some words, or nothing.", "title")
    if commands is not None and not callable(commands):
        words = "pass a function of a point and a tradeoff that returns a command."
        raise InputError(f"`commands` is {reprlib.repr(commands)}: {words}", "commands")


def _singular_and_plural(noun: Any) -> tuple[str, str]:
    """Return what a sample is called, and several of them: patients, companies, boxes."""
    if not isinstance(noun, str) or not noun.strip():
        words = "pass what one sample is, such as 'patient'."
        raise InputError(f"`noun` is {reprlib.repr(noun)}: {words}", "noun")
    noun = noun.strip()
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun, f"{noun[:-1]}ies"
    return noun, f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def _on_own_samples(
    path: PruningPath, problem: PruningProblem, evaluation: Evaluation | None
) -> Evaluation:
    """Measure all points on the samples that they were pruned on, by answers of the same kind."""
    data = problem.in_memory
    times = times_counted(path.forest.n_trees, data.table.n_samples)
    in_all_trees = replace(data, times=times, loss_weights=data.sample_weights)
    money = None if evaluation is None else evaluation.error_costs
    return evaluate(
        path,
        in_all_trees,
        problem.prices,
        n_jobs=problem.n_jobs,
        progress=problem.progress,
        scoring=None if money is None else ErrorCosts(money),
    )


def _check_cost(measured: float, of_path: float) -> None:
    if abs(measured - of_path) > ROUNDING * max(abs(of_path), ROUNDING):
        raise InputError(
            f"A sample of `problem` pays {measured:.6g} on average, but {of_path:.6g} on the "
            "samples that the path was computed on: pass the problem that the path solves.",
            "problem",
        )


def _point(
    path: PruningPath, index: int, commands: Callable[[int, float], str] | None
) -> dict[str, Any]:
    """Return how a point is made again."""
    tradeoff = tradeoff_inside(path.tradeoffs, index)
    command = None if commands is None else commands(index, tradeoff)
    if commands is not None and not isinstance(command, str):
        raise InputError(
            f"`commands` returned {command!r} for point {index}: it must be text.", "commands"
        )
    return {
        "index": index,
        "interval": interval_in_words(*tradeoffs_of(path.tradeoffs, index)),
        "command": command,
        "python": f"model = path.at(tradeoff={tradeoff!r}).model",
    }


def _curve(
    path: PruningPath, training: Evaluation | None, validation: Evaluation | None, drawn: IntArray
) -> dict[str, Any]:
    """Return cost, loss and errors: of the model before pruning, and then of points."""

    def errors(measured: Evaluation | None) -> dict[str, Any] | None:
        if measured is None:
            return None
        before = measured.original
        return {
            "error": [before.error, *measured.error[drawn]],
            "spread": [before.standard_error, *measured.standard_error[drawn]],
            # On the samples it was pruned on it is that of the curve.
            "cost": None if measured is training else [before.cost, *measured.cost[drawn]],
        }

    return {
        "cost": [path.original.cost, *path.costs[drawn]],
        "loss": [path.original.loss, *path.losses[drawn]],
        "training": errors(training),
        "validation": errors(validation),
    }


def _weighting(problem: PruningProblem, nouns: str) -> str:
    """Say how samples count, where they do not all count alike."""
    data, words = problem.in_memory, []
    counted = data.sample_weights > 0
    if np.ptp(data.sample_weights):
        where = "every share, mean and error" if problem.prices.weigh_bills else "every error"
        words.append(f"The {nouns} it was pruned on count by their weights, in {where}.")
    if np.ptp(data.loss_weights[counted] / data.sample_weights[counted]) > ROUNDING:
        words.append("The loss that pruning weighs counts classes by their weights; errors do not.")
    return " ".join(words)


def _bill(problem: PruningProblem, forest: Forest) -> FeatureBill:
    """Return what the samples of a problem pay for a forest, each as much as it counts."""
    data, stages = problem.in_memory, one_stage(forest)
    return bill_of_stages(stages, data.table, problem.prices, problem.n_jobs, data.weights)


def _details(
    bill: FeatureBill, problem: PruningProblem, forest: Forest, edges: FloatArray
) -> dict[str, Any]:
    """Return what the page says about one model: the one before pruning, or a point."""
    bills, weights = np.minimum(bill.per_sample, edges[-1]), problem.in_memory.weights
    return {
        "cost": bill.mean,
        "n_splits": forest.n_splits,
        "n_features": problem.prices.n_columns_of(forest.feature[forest.is_split]),
        "quantiles": bill.quantiles((0.1, 0.5, 0.9)),
        "bills": np.histogram(bills, edges, weights=weights)[0],
        "bought": [*bill.bought, *bill.fee_payers.values()],
        "spent": [*bill.by_feature, *bill.fees.values()],
        "test_cost": bill.test_cost,
        "model_cost": bill.model_cost,
        "by_line": _by_line(bill, problem.prices),
        "trees": _tree_bars(forest, problem.forest),
    }


def _by_line(bill: FeatureBill, prices: PriceList) -> list[float]:
    """Return the parts of a mean bill; the last makes up for features of several groups."""
    has_group = np.zeros(prices.n_columns, dtype=np.bool_)
    for _, members in prices.groups:
        has_group[list(members)] = True
    others = float(bill.by_feature[~has_group].sum())
    lines = [*bill.by_group.values(), others, bill.test_cost, bill.model_cost]
    overlap = bill.mean - sum(lines)
    return [*lines, overlap if abs(overlap) > 1e-9 * max(1.0, bill.mean) else 0.0]


def _bill_edges(bills: FloatArray) -> FloatArray:
    """Return the edges of bins from 0 to the largest bill, as wide as people would choose them."""
    largest = float(bills.max())
    if largest <= 0:
        return np.array([0.0, 1.0])
    width = largest / MOST_BILL_BARS
    power = 10.0 ** math.floor(math.log10(width))
    width = next(power * step for step in (1, 2, 2.5, 5, 10, 20) if power * step >= width)
    n_bars = math.ceil(largest / width * (1 - 1e-12))
    return np.linspace(0.0, n_bars * width, n_bars + 1)


def _tree_bars(forest: Forest, before: Forest) -> FloatArray:
    """Return the splits of each tree, or of some trees on average, the largest before first."""
    now, was = (
        np.bincount(one.tree_of(np.flatnonzero(one.is_split)), minlength=one.n_trees)
        for one in (forest, before)
    )
    in_order = now[np.argsort(-was, kind="stable")].astype(np.float64)
    per_bar = _trees_per_bar(forest.n_trees)
    return np.array([bar.mean() for bar in np.split(in_order, range(per_bar, len(now), per_bar))])


def _trees_per_bar(n_trees: int) -> int:
    """Return how many trees a bar stands for: one, unless there are very many."""
    return -(-n_trees // MOST_TREE_BARS)


def _typical_samples(before: FeatureBill, weights: FloatArray, noun: str) -> list[dict[str, Any]]:
    """Return samples by what they pay before pruning, with the lines of their receipts.

    Points are nested, so that at every point a sample pays for some of these lines.
    """
    chosen: dict[int, str] = {}
    by_bill = np.argsort(before.per_sample, kind="stable")
    counted = np.cumsum(weights[by_bill])
    for label, share in TYPICAL.items():
        sample = int(by_bill[np.searchsorted(counted, share * counted[-1])])
        chosen.setdefault(sample, label.format(noun))  # fewer where there are very few samples
    return [_typical_sample(before, sample, label) for sample, label in chosen.items()]


def _typical_sample(before: FeatureBill, sample: int, label: str) -> dict[str, Any]:
    receipt = before.receipt(sample)
    values = {one.name: value_in_words(one.value) for one in receipt.purchases}
    lines = [
        {
            "item": item,
            "name": f"fee: {item}" if item in before.fees else item,
            "value": values.get(item),
            "price": price,
        }
        for item, price in sorted(_paid(receipt).items(), key=lambda one: -one[1])
    ]
    return {"label": label, "sample": sample, "lines": lines, "tests": receipt.test_cost}


def _still_paid(after: FeatureBill, typical: dict[str, Any]) -> dict[str, Any]:
    """Return the places of the lines that a typical sample still pays for, and its tests."""
    receipt = after.receipt(typical["sample"])
    paid = _paid(receipt)
    places = [place for place, line in enumerate(typical["lines"]) if line["item"] in paid]
    return {"lines": places, "tests": receipt.test_cost}


def _paid(receipt: Receipt) -> dict[str, float]:
    """Return what a sample pays for each item by name; 0 for features that it has anyway."""
    items = [item for one in receipt.purchases for item in one.items]
    return dict.fromkeys((one.name for one in receipt.purchases), 0.0) | dict(
        [*items, *receipt.shared]
    )
