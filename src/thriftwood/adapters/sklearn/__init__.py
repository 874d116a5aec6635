"""scikit-learn's trees, forests and boosted models."""

from thriftwood.adapters.sklearn import (
    ensemble,
    gradient_boosting,
    hist,
    tree,
)

__all__ = ["ensemble", "gradient_boosting", "hist", "tree"]
