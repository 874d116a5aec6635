"""What is proven about a pruning, in words and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thriftwood.cli.words import number, wrapped

if TYPE_CHECKING:
    from thriftwood.closure import Certificate


def proof_in_words(
    certificate: Certificate | None, tradeoff: float | None, interval: str = ""
) -> str:
    """Return what is proven, as lines below the figures.

    Parameters
    ----------
    certificate : Certificate, optional
        None where nothing is.
    tradeoff : float, optional
        The one that the proof is for.
    interval : str
        What the path says about others.
    """
    if certificate is None or tradeoff is None:
        sentence = "Nothing is proven: the true loss of a boosted model has no exact optimum."
        return wrapped(sentence, "  ")
    figures = f"reached {certificate.profit}, none can pass {certificate.bound}"
    if certificate.gap == 0:
        proven = (
            f"Proven at tradeoff {number(tradeoff)}: no pruning has a smaller "
            f"loss + tradeoff * cost ({figures})"
        )
    else:
        gap = f"a gap of {certificate.gap}"
        proven = f"Not proven optimal at tradeoff {number(tradeoff)}: {figures}, {gap}"
    return wrapped(f"{proven}; {interval}." if interval else f"{proven}.", "  ")


def proof_facts(certificate: Certificate | None) -> dict[str, Any] | None:
    """Return a certificate for JSON."""
    if certificate is None:
        return None
    return {"profit": certificate.profit, "bound": certificate.bound, "gap": certificate.gap}
