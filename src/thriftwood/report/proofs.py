"""What is proven about a point, and what is not, in plain words."""

from __future__ import annotations

from typing import NamedTuple

from thriftwood.closure import Certificate
from thriftwood.pruning import PruningPath
from thriftwood.pruning.methods import ROUNDS, SAMPLE
from thriftwood.report.given import GivenPage

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

BETTER = "A better pruning of this model may exist"
NEARLY = {
    SAMPLE: (
        "Found on a sample of the rows and measured on all of them. A pruning that is a little "
        "better may exist"
    ),
    ROUNDS: (
        "Rows were pruned in pieces, which did not agree on everything. A pruning that is a little "
        "better may exist"
    ),
}


class Proof(NamedTuple):
    """What is claimed of a point, and the numbers that prove it, if any.

    Attributes
    ----------
    claim : str
    reached, bound, gap : str, optional
        Whole numbers, as text: scripts know no whole numbers of this size.
    """

    claim: str
    reached: str | None = None
    bound: str | None = None
    gap: str | None = None


def prove(
    given: GivenPage, points: list[int], n_jobs: int | None, progress: bool | None
) -> list[Certificate | None]:
    """Return checked certificates of points, where the method is after what they prove."""
    if given.path.method in NO_PROOF:
        return [None] * len(points)
    return list(
        given.path_of_rows.certify(
            given.X,
            given.y,
            points=points,
            loss=given.loss,
            class_weight=given.class_weight,
            sample_weight=given.sample_weight,
            n_jobs=n_jobs,
            progress=progress,
        )
    )


def proof_of(path: PruningPath, index: int, certificate: Certificate | None) -> Proof:
    """Return what can be said of a point."""
    if certificate is None:
        return Proof(f"{NO_PROOF[path.method]} Nothing is proven here.")
    numbers = (str(certificate.profit), str(certificate.bound), str(certificate.gap))
    if certificate.gap == 0:
        rounding = path.resolution + float(path.tradeoffs[index]) * path.cost_resolution
        claim = "No pruning of this model is better"
        if path.method == "ensemble" and rounding > 0:
            claim += f", but for rounding of at most {rounding:.2g}"
        return Proof(claim, *numbers)
    return Proof(NEARLY.get(path.method, BETTER), *numbers)
