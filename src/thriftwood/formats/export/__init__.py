"""Forests for other programs.

Law of this folder: what is written predicts what the model predicts, for every row, missing and
infinite values included, up to the rounding that the format's own numbers bring; what a format
cannot hold is refused.
"""

from thriftwood.formats.export.c_source import to_c
from thriftwood.formats.export.json_file import to_json
from thriftwood.formats.export.json_reading import from_json
from thriftwood.formats.export.lightgbm_text import to_lightgbm
from thriftwood.formats.export.onnx_file import to_onnx
from thriftwood.formats.export.skops_file import from_skops, to_skops
from thriftwood.formats.export.treelite_model import to_treelite

__all__ = [
    "from_json",
    "from_skops",
    "to_c",
    "to_json",
    "to_lightgbm",
    "to_onnx",
    "to_skops",
    "to_treelite",
]
