"""Everything that a page shows, collected from the path, bills, evaluations and certificates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from thriftwood.errors import InputError
from thriftwood.forest import Forest, collapse
from thriftwood.pruning.loss_words import loss_in_words
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.tradeoffs import interval_in_words, tradeoff_inside, tradeoffs_of
from thriftwood.report.page import proofs, wording
from thriftwood.report.page.bins import bill_edges, trees_per_bar
from thriftwood.report.page.curve import Curve, measured_curve
from thriftwood.report.page.details import Details, details_of
from thriftwood.report.page.given import FEWEST_POINTS, GivenPage
from thriftwood.report.page.spending import (
    Spending,
    fee_items,
    line_names,
    spending_on,
)
from thriftwood.report.page.typical import (
    StillPaid,
    TypicalRow,
    still_paid,
    typical_rows,
)
from thriftwood.report.points import drawn_points, shown_points
from thriftwood.report.starting import Start, start_of
from thriftwood.support.arrays import FloatArray
from thriftwood.support.progress import progress_bar

# By this part may a mean bill measured now differ from that of the path.
ROUNDING = 1e-6
# So that a page stays below 2 MB whatever the model: points of the curve, of which no screen shows
# more, and numbers in the details of all points.
MOST_DRAWN = 1500
MOST_NUMBERS = 150_000


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the path that can be chosen on the page.

    Attributes
    ----------
    index : int
        Its place on the path.
    place : int
        Its place on the curve of the page, where the model before pruning is at 0.
    details : Details
    receipts : list of StillPaid
        One for each typical row.
    interval : str
        From which tradeoff to which it is what the method is after, in words.
    proof : Proof
    command : str, optional
        What makes this model on the command line.
    python : str
        What makes it in Python.
    """

    index: int
    place: int
    details: Details
    receipts: list[StillPaid]
    interval: str
    proof: proofs.Proof
    command: str | None
    python: str


@dataclass(frozen=True, eq=False)
class PageContents:
    """What a page shows; the template and the scripts decide how.

    Attributes
    ----------
    title, model, unit, loss, error : str
        What is shown, in words. `error` is "share", "squared", or "none" where errors of the
        ensemble do not judge the model.
    method : str
        What the points of the path are.
    weighting : str
        How rows count, where they do not all count alike.
    n_samples, n_trees, trees_per_bar, n_points : int
    n_validation : int
        0 without validation rows.
    features, fees : sequences of str
    prices : shape (n_features + n_fees,)
    lines : list of str
        The parts of a mean bill.
    in_several_groups : bool
    edges : float array
        Of the bins of bills.
    rows : list of TypicalRow
        Empty where no receipts are wanted.
    curve : Curve
        Of all points, or of so many that no screen shows more.
    before : Details
        Of the model before pruning.
    points : list of Point
    start : Start
        Which of them the page shows first, and why.
    """

    title: str
    model: str
    unit: str
    loss: str
    error: str
    method: str
    weighting: str
    n_samples: int
    n_validation: int
    n_trees: int
    trees_per_bar: int
    n_points: int
    features: tuple[str, ...]
    fees: list[str]
    prices: FloatArray
    lines: list[str]
    in_several_groups: bool
    edges: FloatArray
    rows: list[TypicalRow]
    curve: Curve
    before: Details
    points: list[Point]
    start: Start


def page_contents(given: GivenPage, n_jobs: int | None, progress: bool | None) -> PageContents:
    """Collect what a page shows."""
    path, prices = given.path, given.prices
    before = _spending(given, path.forest, n_jobs)
    _check_cost(before.mean, path.original.cost)
    curve, measured = measured_curve(given, n_jobs, progress)
    start = start_of(path, measured, curve.validation is not None)
    edges = bill_edges(before.per_row)
    rows = typical_rows(before, given.weights) if given.receipts else []
    shown = shown_points(path.costs, [start.point], _most_points(given, before, rows))
    drawn = drawn_points(path.costs, shown, MOST_DRAWN)
    found = proofs.prove(given, shown, start.point, n_jobs, progress)
    points = []
    with progress_bar("Writing the page", progress) as bar:
        for index, proof in zip(shown, found, strict=True):
            after = _spending(given, _forest_at(path, index), n_jobs)
            _check_cost(after.mean, float(path.costs[index]))
            details = details_of(after, before, edges, given.weights)
            place = int(np.searchsorted(drawn, index)) + 1
            points.append(_point(given, index, place, details, still_paid(after, rows), proof))
            bar(len(points) / len(shown))
    fees = fee_items(prices)
    own = details_of(before, before, edges, given.weights)
    return PageContents(
        title=given.title,
        model=type(path.model).__name__,
        unit=prices.unit,
        loss=loss_in_words(path),
        error=wording.error_kind(path.forest),
        method=wording.points_of(path),
        weighting=wording.weighting(given),
        n_samples=given.table.n_samples,
        n_validation=0 if given.validation is None or measured is None else measured.n_samples,
        n_trees=path.forest.n_trees,
        trees_per_bar=trees_per_bar(path.forest.n_trees),
        n_points=len(path),
        features=prices.names[: prices.n_features],
        fees=[prices.names[cost_item] for cost_item in fees],
        prices=prices.prices[[*range(prices.n_features), *fees]],
        lines=line_names(prices),
        in_several_groups=_overlap(features for _, features in prices.groups),
        edges=edges,
        rows=rows,
        curve=curve.only(drawn),
        before=own,
        points=points,
        start=start,
    )


def _most_points(given: GivenPage, before: Spending, rows: list[TypicalRow]) -> int:
    """Return for how many points there is room."""
    numbers = 2 * len(before.bought) + sum(len(row.lines) for row in rows)
    return max(FEWEST_POINTS, min(given.max_points, MOST_NUMBERS // numbers))


def _spending(given: GivenPage, forest: Forest, n_jobs: int | None) -> Spending:
    return spending_on(forest, given.table, given.prices, given.weights, n_jobs)


def _forest_at(path: PruningPath, index: int) -> Forest:
    return collapse(path.forest, path.kept_nodes(index))[0]


def _check_cost(measured: float, of_path: float) -> None:
    if abs(measured - of_path) > ROUNDING * max(abs(of_path), ROUNDING):
        raise InputError(
            f"A row of X pays {measured:.6g} on average, but {of_path:.6g} on the rows that the "
            "path was computed on: pass the same rows, `costs` and `sample_weight`."
        )


def _point(
    given: GivenPage,
    index: int,
    place: int,
    details: Details,
    receipts: list[StillPaid],
    proof: proofs.Proof,
) -> Point:
    tradeoff = tradeoff_inside(given.path.tradeoffs, index)
    return Point(
        index=index,
        place=place,
        details=details,
        receipts=receipts,
        interval=interval_in_words(*tradeoffs_of(given.path.tradeoffs, index)),
        proof=proof,
        command=_command(given, index, tradeoff),
        python=f"model = path.at(tradeoff={tradeoff!r}).model",
    )


def _command(given: GivenPage, index: int, tradeoff: float) -> str | None:
    if given.commands is None:
        return None
    command = given.commands(index, tradeoff)
    if not isinstance(command, str):
        raise InputError(f"`commands` returned {command!r} for point {index}: it must be text.")
    return command


def _overlap(groups: Iterable[tuple[int, ...]]) -> bool:
    members: list[int] = [feature for group in groups for feature in group]
    return len(set(members)) < len(members)
