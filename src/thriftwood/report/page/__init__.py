"""The frontier as one HTML file, on which people choose a point together."""

from thriftwood.report.page.writing import write_page

__all__ = ["write_page"]
