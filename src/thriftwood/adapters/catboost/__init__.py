"""Models of CatBoost. The library is imported where it is used."""

from thriftwood.adapters.catboost import ensemble

__all__ = ["ensemble"]
