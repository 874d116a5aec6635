"""Proofs of points in plain words: what is proven, and what is not."""

from __future__ import annotations

from thriftwood.problem import PruningProblem, interval_in_words, tradeoff_inside, tradeoffs_of
from thriftwood.pruning import Baseline, Certified, Optimal, PruningPath, Sampled
from thriftwood.report.points import shown_points

BASELINES = {
    "each_tree": (
        "Each tree alone is pruned as well as it can be. All trees together could do better at the "
        "same cost, since they share what a sample has bought. Nothing is proven here."
    ),
    "cost_complexity": (
        "Trees are pruned by their size, without a look at prices. At the same cost others may be "
        "better. Nothing is proven here."
    ),
}
SUBSAMPLE = (
    "Found on a subsample and measured on all samples. A pruning that is a little better may exist."
)
UNFINISHED = (
    "Time was up, or samples in partitions did not agree on everything: a pruning of this model "
    "that is better by {gap:.2g} at most may exist."
)
NOT_MADE = (
    "No certificate was made for this point, to save time: path.certify(problem) or thriftwood "
    "verify makes one."
)
# Numbers are text: scripts know no whole numbers of their size.
NO_NUMBERS: dict[str, str | None] = dict.fromkeys(("tradeoff", "reached", "bound", "gap"))
# A certificate takes about a microsecond per sample and tree: so many of these for all points.
MOST_WORK = 40_000_000


def proofs_of(
    path: PruningPath, problem: PruningProblem, points: list[int], start: int
) -> list[dict[str, str | None]]:
    """Return what is claimed of points, with the numbers of certificates.

    Where samples and trees are very many, some points go without one; `start` never does.
    """
    if isinstance(path.proof, Baseline):
        return [NO_NUMBERS | {"claim": BASELINES[path.proof.criterion]}] * len(points)
    most = MOST_WORK // (problem.in_memory.table.n_samples * path.forest.n_trees)
    places = shown_points(path.costs[points], [points.index(start)], most)
    proven = [points[place] for place in places]
    found = dict(zip(proven, path.certify(problem, proven), strict=True))
    return [_proof(path, point, found.get(point)) for point in points]


def _proof(path: PruningPath, index: int, proof: Certified | None) -> dict[str, str | None]:
    claim = _claim(path, index)
    if proof is None:
        return NO_NUMBERS | {"claim": f"{claim} {NOT_MADE}"}
    certificate = proof.certificate
    tradeoff = repr(tradeoff_inside(path.tradeoffs, index))
    is_nearly = not (isinstance(path.proof, Optimal) and path.proof.is_exact)
    if certificate.gap and not is_nearly:
        claim = "A better pruning of this model may exist."
    elif is_nearly and not certificate.gap:
        but = f", but for rounding of at most {proof.gap:.2g}," if proof.gap else ""
        claim = f"No pruning of this model is better{but} at the tradeoff {tradeoff}."
    return {
        "claim": claim,
        "tradeoff": tradeoff,
        "reached": str(certificate.profit),
        "bound": str(certificate.bound),
        "gap": str(certificate.gap),
    }


def _claim(path: PruningPath, index: int) -> str:
    """Return what is known of a point from how the path was computed."""
    if isinstance(path.proof, Sampled):
        return SUBSAMPLE
    assert isinstance(path.proof, Optimal)
    rounding = path.proof.gap_at(float(path.tradeoffs[index]))
    if not path.proof.is_exact:
        return UNFINISHED.format(gap=rounding)
    but = f", but for rounding of at most {rounding:.2g}," if rounding > 0 else ""
    interval = interval_in_words(*tradeoffs_of(path.tradeoffs, index))
    return f"No pruning of this model is better{but} for tradeoffs {interval}."
