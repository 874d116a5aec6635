"""Models of LightGBM. The library is imported where it is used."""

from thriftwood.adapters.lightgbm import booster

__all__ = ["booster"]
