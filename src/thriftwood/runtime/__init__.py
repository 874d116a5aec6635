"""What predictions cost, measured in one way for every model."""

from thriftwood.runtime.bill import FeatureBill, feature_bill

__all__ = ["FeatureBill", "feature_bill"]
