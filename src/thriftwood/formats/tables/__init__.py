"""Rows in files: tables and arrays, with the columns that a model asks for.

Law of this folder: a model gets its own columns, in its own order, or the reader says in a sentence
which column of which file is wrong.
"""

from thriftwood.formats.tables.columns import numbers_as_names
from thriftwood.formats.tables.reading import read_table
from thriftwood.formats.tables.row_table import Rows, RowTable

__all__ = ["RowTable", "Rows", "numbers_as_names", "read_table"]
