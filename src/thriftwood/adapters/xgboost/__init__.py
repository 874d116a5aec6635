"""Models of XGBoost. The library is imported where it is used."""

from thriftwood.adapters.xgboost import booster

__all__ = ["booster"]
