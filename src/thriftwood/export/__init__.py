"""Forests for other programs.

Law of this folder: what is written predicts what the model predicts, for every row, missing and
infinite values included, up to the rounding that the format's own numbers bring; what a format
cannot hold is refused.
"""

from thriftwood.export.c_source import to_c
from thriftwood.export.onnx_file import to_onnx

__all__ = ["to_c", "to_onnx"]
