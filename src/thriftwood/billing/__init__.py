"""What predictions cost, measured in one way for every model.

Law: the receipt of a row adds up to its bill.
"""

from thriftwood.billing.bill import (
    FeatureBill,
    bill_of,
    bill_of_stages,
    feature_bill,
    model_cost_of,
)
from thriftwood.billing.receipt import Purchase, Receipt, make_receipt
from thriftwood.billing.use import (
    Use,
    first_asks,
    use_of,
    values_shown,
)

__all__ = [
    "FeatureBill",
    "Purchase",
    "Receipt",
    "Use",
    "bill_of",
    "bill_of_stages",
    "feature_bill",
    "first_asks",
    "make_receipt",
    "model_cost_of",
    "use_of",
    "values_shown",
]
