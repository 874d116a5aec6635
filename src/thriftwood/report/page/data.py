"""The page: one JSON object, collected from its subject: bills, evaluations, certificates.

Its keys are those that the scripts in `assets` read.
"""

import math
import reprlib
from typing import Any

import numpy as np

from thriftwood.adapters import nested_stages
from thriftwood.billing import FeatureBill, Receipt, value_in_words
from thriftwood.cascade import CascadeRanker
from thriftwood.costs import MODEL, PriceList
from thriftwood.errors import InputError
from thriftwood.evaluation import Evaluation
from thriftwood.report.page.class_errors import ClassErrors
from thriftwood.report.page.document import Page, write_document
from thriftwood.report.page.pruned import Commands, pruned_subject
from thriftwood.report.page.ranking import ranking_subject
from thriftwood.report.page.subject import Subject, Version
from thriftwood.report.page.thrifty import thrifty_subject
from thriftwood.report.points import drawn_points, shown_points
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
# Parts of a mean bill that are no groups of features.
OTHER_FEATURES, ALL_FEATURES = "features without a group", "features"
MODEL_COST, SEVERAL = "what is paid once for the model", "counted in several groups"
# Scores whose names do not say what they are.
SCORES = {
    "roc_auc": "area under the ROC curve",
    "roc_auc_ovr": "area under the ROC curve of each class",
    "roc_auc_ovo": "area under the ROC curve of two classes each",
}
# Where typical samples stand among all, ordered by what they pay before pruning.
TYPICAL = {"A cheap {}": 0.1, "A {} in the middle": 0.5, "A dear {}": 0.9}


def write_page(
    path: Any,
    file: File,
    problem: Any,
    evaluation: Evaluation | None = None,
    *,
    title: str | None = None,
    noun: str = "sample",
    positive: Any = None,
    commands: Commands | None = None,
    max_points: int = 40,
    receipts: bool = True,
) -> Page:
    """Write the frontier as one HTML file that needs nothing else, not even a network.

    It shows cost against error, and for the point that is chosen on it: which errors it makes, what
    samples pay, which features they buy, what is saved, how small the trees get, receipts of three
    samples, and the proof that no pruning of this model is better. A thrifty model is compared with
    its last stage, which buys all features for every sample.

    Parameters
    ----------
    path : PruningPath, a fitted ThriftyClassifier or ThriftyRegressor, or a CascadeRanker
    file : path
        Usually named `.html`; one that is there already is replaced.
    problem : PruningProblem, or (X, y), (X, y, sample_weight) or (X, y, sample_weight, qid)
        The problem that the path solves, with its samples in memory. Bills, receipts and proofs are
        those of these samples. Its `n_jobs` and `progress` are the page's. For a thrifty model or a
        ranker, which needs `qid`, the tuple of samples that it was not trained on: all that the
        page shows is measured on these.
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
        `page.point` is the point that the page begins with, `page.why` the reason; it is None where
        no pruning is as good as the model before. At the end of a cell a notebook shows the page
        itself.

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
    if title is not None and (not isinstance(title, str) or not title.strip()):
        words = "pass some words, or nothing."
        raise InputError(f"`title` is {reprlib.repr(title)}: {words}", "title")
    noun, nouns = _singular_and_plural(noun)
    most_points = whole_number(max_points, "max_points", FEWEST_POINTS)
    with_receipts = truth(receipts, "receipts")
    is_ranker = isinstance(path, CascadeRanker)
    if is_ranker or nested_stages(path) is not None:
        for name, value in (("evaluation", evaluation), ("commands", commands)):
            if value is not None:
                raise InputError(
                    f"`{name}` is for paths of prunings: leave it out, a thrifty model is measured "
                    "on the samples that you pass.",
                    name,
                )
        subject = (ranking_subject if is_ranker else thrifty_subject)(path, problem, nouns)
        progress = None
    else:
        subject = pruned_subject(path, problem, evaluation, commands, nouns)
        progress = problem.progress
    errors = ClassErrors.of(subject, positive)
    before = subject.version(None)
    edges = _bill_edges(before.bill.per_sample)
    typical = _typical_samples(subject, before.bill, noun) if with_receipts else []
    numbers = 2 * len(subject.prices.names) + sum(len(one["lines"]) for one in typical)
    numbers += 2 * len(errors.names)
    most = max(FEWEST_POINTS, min(most_points, MOST_NUMBERS // numbers))
    shown = shown_points(subject.costs, [subject.start or 0], most)
    drawn = drawn_points(subject.costs, shown, MOST_DRAWN)
    points = []
    with progress_bar("Writing the page", progress) as bar:
        for index, recipe in zip(shown, subject.recipes(shown), strict=True):
            version = subject.version(index)
            point = {"index": index, "place": int(np.searchsorted(drawn, index)) + 1, **recipe}
            point["details"] = _details(subject, version, edges) | errors.at(index)
            point["receipts"] = [_still_paid(version.bill, one) for one in typical]
            points.append(point)
            bar(len(points) / len(shown))
    data = _about(subject, before.bill, noun, nouns) | {
        "title": title or f"What this {subject.name} could cost",
        "classes": errors.names,
        "class_counts": errors.counts,
        "positive": errors.positive,
        "edges": edges,
        "typical": typical,
        "curve": _curve(subject, drawn),
        "before": _details(subject, before, edges) | errors.before,
        "points": points,
    }
    return Page(subject.start, subject.why, write_document(data, file))


def _about(subject: Subject, before: FeatureBill, noun: str, nouns: str) -> dict[str, Any]:
    """Return what the page says whatever the point."""
    prices = subject.prices
    members = [feature for _, features in prices.groups for feature in features]
    in_groups = set(members) if prices.groups else set(range(prices.n_columns))
    rest = OTHER_FEATURES if prices.groups else ALL_FEATURES
    tests = f"splits that {'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun} passes"
    return {
        "noun": noun,
        "nouns": nouns,
        "model": subject.name,
        "unit": prices.unit,
        "words": subject.words,
        "error": subject.error,
        "score": _score(subject.judge),
        "n_samples": len(subject.data.weights),
        "n_validation": 0 if subject.validation is None else subject.validation.n_samples,
        "n_points": len(subject.costs),
        "features": prices.names[: prices.n_columns],
        "fees": list(before.fees),
        "prices": prices.prices[prices.payer != MODEL],
        "lines": [*before.by_group, rest, tests, MODEL_COST, SEVERAL],
        "rest_line": len(before.by_group),
        "ungrouped": [k for k in range(prices.n_columns) if k not in in_groups],
        "in_several_groups": len(set(members)) < len(members),
        "start": {
            "point": subject.start or 0,
            "why": subject.why,
            "is_suggested": subject.is_suggested,
        },
    }


def _singular_and_plural(noun: Any) -> tuple[str, str]:
    """Return what a sample is called, and several of them: patients, companies, boxes."""
    if not isinstance(noun, str) or not noun.strip():
        words = "pass what one sample is, such as 'patient'."
        raise InputError(f"`noun` is {reprlib.repr(noun)}: {words}", "noun")
    noun = noun.strip()
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun, f"{noun[:-1]}ies"
    return noun, f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def _curve(subject: Subject, drawn: IntArray) -> dict[str, Any]:
    """Return cost, loss and errors: before, and then of points."""
    own, costs, losses = subject.own, subject.costs[drawn], subject.losses
    first = subject.version(None).bill.mean
    if subject.losses is None and own is not None:
        costs = own.cost[drawn]  # where rules were tuned others paid

    def errors(measured: Evaluation | None) -> dict[str, Any] | None:
        if measured is None:
            return None
        before = measured.original
        return {
            "error": [before.error, *measured.error[drawn]],
            "spread": [before.standard_error, *measured.standard_error[drawn]],
            "score": _scores(measured, drawn) if measured is subject.judge else None,
            # On its own samples it is that of the curve.
            "cost": None if measured is own else [before.cost, *measured.cost[drawn]],
        }

    return {
        "cost": [first, *costs],
        "loss": None if losses is None else [losses[0], *losses[1][drawn]],
        "training": errors(own),
        "validation": errors(subject.validation),
    }


def _score(measured: Evaluation | None) -> dict[str, Any] | None:
    """Return what points are chosen by, where that is no error: in words, and whether it rises."""
    if measured is None or not measured.score_beside_error:
        return None
    name = measured.scoring.removeprefix("neg_")
    words = SCORES.get(name, name.replace("_", " "))
    return {"name": words, "rises": name == measured.scoring}


def _scores(measured: Evaluation, drawn: IntArray) -> dict[str, Any]:
    """Return scores, those that are losses without their sign, and their standard errors."""
    sign = -1 if measured.scoring.startswith("neg_") else 1
    values = np.append(measured.original.score, measured.score[drawn])
    spread = [math.hypot(*measured.deviations[0]), *measured.score_error[drawn]]
    return {"value": sign * values, "spread": spread}


def _details(subject: Subject, version: Version, edges: FloatArray) -> dict[str, Any]:
    """Return what the page says about one model: the one before, or a point."""
    bill = version.bill
    bills = np.minimum(bill.per_sample, edges[-1])
    return {
        "cost": bill.mean,
        "n_splits": version.n_splits,
        "n_features": version.n_features,
        "quantiles": bill.quantiles((0.1, 0.5, 0.9)),
        "bills": np.histogram(bills, edges, weights=subject.data.weights)[0],
        "bought": [*bill.bought, *bill.fee_payers.values()],
        "spent": [*bill.by_feature, *bill.fees.values()],
        "test_cost": bill.test_cost,
        "model_cost": bill.model_cost,
        "by_line": _by_line(bill, subject.prices),
        "bars": version.bars,
        "bars_hint": version.bars_hint,
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


def _typical_samples(subject: Subject, before: FeatureBill, noun: str) -> list[dict[str, Any]]:
    """Return samples by what they pay, with the lines of their receipts before.

    Points are nested, so that at every point a sample pays for some of these lines.
    """
    chosen: dict[int, str] = {}
    by_bill = np.argsort(subject.bills_for_receipts, kind="stable")
    counted = np.cumsum(subject.data.weights[by_bill])
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
