"""What is proven about a pruning, in words and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thriftwood.cli.words import number

if TYPE_CHECKING:
    from thriftwood.arrays import FloatArray
    from thriftwood.closure import Certificate


def proof_in_words(certificate: Certificate | None, where: str) -> str:
    """Return a sentence on what is proven.

    Parameters
    ----------
    certificate : Certificate, optional
        None where nothing is.
    where : str
        For which tradeoffs.
    """
    if certificate is None:
        return "Nothing is proven: the true loss of a boosted model has no exact optimum."
    figures = f"reached {certificate.profit}, none can pass {certificate.bound}"
    if certificate.gap == 0:
        return f"Proven: no pruning has a smaller loss + tradeoff * cost {where} ({figures})."
    return f"Not proven optimal {where}: {figures}, a gap of {certificate.gap}."


def interval_in_words(tradeoffs: FloatArray, point: int) -> str:
    """Return for which tradeoffs a point of a path is optimal."""
    low = number(float(tradeoffs[point]))
    if point + 1 == len(tradeoffs):
        return f"for tradeoffs from {low} on"
    return f"for tradeoffs from {low} to {number(float(tradeoffs[point + 1]))}"


def proof_facts(certificate: Certificate | None) -> dict[str, Any] | None:
    """Return a certificate for JSON."""
    if certificate is None:
        return None
    return {"profit": certificate.profit, "bound": certificate.bound, "gap": certificate.gap}
