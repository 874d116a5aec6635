"""Models for other programs, `tw.export`: what is written predicts what the model predicts."""

from thriftwood.formats.c import to_c
from thriftwood.formats.json import from_json, to_json
from thriftwood.formats.lightgbm import to_lightgbm
from thriftwood.formats.onnx import to_onnx
from thriftwood.formats.skops import from_skops, to_skops
from thriftwood.formats.treelite import to_treelite

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
