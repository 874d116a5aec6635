"""What is proven about a point, and what is not, in plain words."""

from __future__ import annotations

from typing import NamedTuple

from thriftwood.closure import Certificate
from thriftwood.pruning.methods import ROUNDS, SAMPLE
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.tradeoffs import interval_in_words, tradeoff_inside, tradeoffs_of
from thriftwood.report.page.given import GivenPage
from thriftwood.report.points import shown_points

NO_PROOF = {
    "each_tree": (
        "Each tree alone is pruned as well as it can be. All trees together could do better at the "
        "same cost, since they share what a row has bought."
    ),
    "cost_complexity": (
        "Trees are pruned by their size, without a look at prices. At the same cost others may be "
        "better."
    ),
}

# A certificate takes about a microsecond per row and tree: so many of these for all points.
MOST_WORK = 40_000_000
NOT_MADE = (
    "No certificate was made for this point, to save time: path.certify(X, y) or thriftwood verify "
    "makes one."
)
BETTER = "A better pruning of this model may exist."
NEARLY = {
    SAMPLE: (
        "Found on a sample of the rows and measured on all of them. A pruning that is a little "
        "better may exist."
    ),
    ROUNDS: (
        "Rows were pruned in pieces, which did not agree on everything. A pruning that is a little "
        "better may exist."
    ),
}


class Proof(NamedTuple):
    """What is claimed of a point, and the numbers that prove it, if any.

    Attributes
    ----------
    claim : str
    tradeoff : str, optional
        For which the numbers were checked.
    reached, bound, gap : str, optional
        Whole numbers, as text: scripts know no whole numbers of this size.
    """

    claim: str
    tradeoff: str | None = None
    reached: str | None = None
    bound: str | None = None
    gap: str | None = None


def prove(
    given: GivenPage, points: list[int], start: int, n_jobs: int | None, progress: bool | None
) -> list[Proof]:
    """Return what can be said of points, with certificates where the method is after an optimum.

    Where rows and trees are very many, some points go without one; `start` never does.
    """
    path = given.path
    if path.method in NO_PROOF:
        return [Proof(f"{NO_PROOF[path.method]} Nothing is proven here.")] * len(points)
    most = MOST_WORK // (given.table.n_samples * path.forest.n_trees)
    places = shown_points(path.costs[points], [points.index(start)], most)
    proven = [points[place] for place in places]
    certificates = path.certify(
        given.X,
        given.y,
        points=proven,
        loss=given.loss,
        class_weight=given.class_weight,
        sample_weight=given.sample_weight,
        costs=given.costs,
        n_jobs=n_jobs,
        progress=progress,
    )
    found = dict(zip(proven, certificates, strict=True))
    return [_proof(path, point, found.get(point)) for point in points]


def _proof(path: PruningPath, index: int, certificate: Certificate | None) -> Proof:
    if certificate is None:
        return Proof(f"{_claim_of_path(path, index)} {NOT_MADE}")
    tradeoff = tradeoff_inside(path.tradeoffs, index)
    numbers = (str(certificate.profit), str(certificate.bound), str(certificate.gap))
    if certificate.gap:
        claim = NEARLY.get(path.method, BETTER)
    elif path.method == "ensemble":
        claim = _claim_of_path(path, index)
    else:
        claim = f"No pruning of this model is better at the tradeoff {tradeoff!r}."
    return Proof(claim, repr(tradeoff), *numbers)


def _claim_of_path(path: PruningPath, index: int) -> str:
    """Return what is known of a point from how the path was computed."""
    if path.method != "ensemble":
        return NEARLY.get(path.method, BETTER)
    interval = interval_in_words(*tradeoffs_of(path.tradeoffs, index))
    return f"{_best(path, index)} for tradeoffs {interval}."


def _best(path: PruningPath, index: int) -> str:
    rounding = path.resolution + float(path.tradeoffs[index]) * path.cost_resolution
    best = "No pruning of this model is better"
    return f"{best}, but for rounding of at most {rounding:.2g}," if rounding > 0 else best
