"""What is proven about a pruning, in words and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thriftwood.cli.words import number

if TYPE_CHECKING:
    from thriftwood.closure import Certificate


def proof_in_words(certificate: Certificate | None) -> str:
    """Return a sentence on what a certificate says; None where there is none."""
    if certificate is None:
        return "No proof: the true loss of a boosted model is descended, not minimised exactly."
    figures = f"reached {certificate.profit}, cannot exceed {certificate.bound}"
    if certificate.gap == 0:
        return f"Proven optimal: {figures}, gap 0."
    return f"Not proven optimal: {figures}, gap {certificate.gap}."


def interval_in_words(low: float, high: float | None) -> str:
    """Return for which tradeoffs something holds."""
    if high is None:
        return f"for every tradeoff from {number(low)} on"
    return f"for every tradeoff from {number(low)} to {number(high)}"


def proof_facts(certificate: Certificate | None) -> dict[str, Any] | None:
    """Return a certificate for JSON."""
    if certificate is None:
        return None
    return {"profit": certificate.profit, "bound": certificate.bound, "gap": certificate.gap}
