"""Samples in files: tables and arrays, with the columns that a model asks for.

Law: a model gets its own columns, in its own order, or the reader says in a sentence which column
of which file is wrong.
"""

from thriftwood.formats.tables.files import read_table
from thriftwood.formats.tables.samples import (
    Samples,
    samples_for,
    samples_to_learn,
    without_columns,
)
from thriftwood.formats.tables.table import FileTable

__all__ = [
    "FileTable",
    "Samples",
    "read_table",
    "samples_for",
    "samples_to_learn",
    "without_columns",
]
