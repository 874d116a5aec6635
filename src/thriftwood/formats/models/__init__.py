"""Models in files, whatever library wrote them.

Law of this folder: what is read predicts what the file's own library predicts, reading runs no code
that a file brings along unless the caller trusts it, and a file is written whole or not at all.
"""

from thriftwood.formats.models.reading import model_format, read_model, suffix_for
from thriftwood.formats.models.writing import check_model_file, write_model_file

__all__ = [
    "check_model_file",
    "model_format",
    "read_model",
    "suffix_for",
    "write_model_file",
]
