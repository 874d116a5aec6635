"""Models of LightGBM. The library is imported where it is used."""

from thriftwood.adapters.lightgbm import booster
from thriftwood.adapters.lightgbm.text import (
    CATEGORIES,
    MISSING_LEFT,
    NAN_IS_MISSING,
    WORD,
    ZERO_IS_MISSING,
)

__all__ = [
    "CATEGORIES",
    "MISSING_LEFT",
    "NAN_IS_MISSING",
    "WORD",
    "ZERO_IS_MISSING",
    "booster",
]
