"""Models in files, whatever library wrote them.

Law of this folder: what is read predicts what the file's own library predicts, reading runs no code
that a file brings along unless the caller trusts it, and a file is written whole or not at all.
"""

from thriftwood.model_files.reading import read_model
from thriftwood.model_files.registry import formats_for_help
from thriftwood.model_files.writing import write_model_file

__all__ = ["formats_for_help", "read_model", "write_model_file"]
