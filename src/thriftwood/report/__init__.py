"""Reports for people: a page to choose a point of a path on, and pictures.

Law of this folder: every number shown is one that the path, a bill, an evaluation or a certificate
of the same samples has, or a sum or quantile of such.
"""

from thriftwood.report.bills import plot_bills
from thriftwood.report.card import model_card
from thriftwood.report.cascade import plot_cascade
from thriftwood.report.page import write_page
from thriftwood.report.tree import plot_tree

__all__ = ["model_card", "plot_bills", "plot_cascade", "plot_tree", "write_page"]


def __dir__() -> list[str]:
    return __all__
