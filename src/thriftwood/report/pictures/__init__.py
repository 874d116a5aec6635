"""Pictures for a document or a talk, drawn with matplotlib."""

from thriftwood.report.pictures.bills import plot_bills
from thriftwood.report.pictures.cascade import plot_cascade
from thriftwood.report.pictures.tree import plot_tree

__all__ = ["plot_bills", "plot_cascade", "plot_tree"]
