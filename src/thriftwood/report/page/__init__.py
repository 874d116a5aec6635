"""The frontier as one HTML file: collected as JSON data, put into a template with its scripts."""

from thriftwood.report.page.class_errors import read_positive
from thriftwood.report.page.data import write_page
from thriftwood.report.page.document import Page

__all__ = ["Page", "read_positive", "write_page"]
