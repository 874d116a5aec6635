"""Costs of predictions: one engine counts them for bills, receipts, paths and closure problems.

Law: a sample pays each cost item once, while a split that it passes needs it; the receipt of a
sample adds up to its bill.
"""

from thriftwood.billing.bill import (
    FeatureBill,
    bill_of_stages,
    feature_bill,
    features_used,
    make_bill,
    model_cost_of,
)
from thriftwood.billing.payments import (
    bills_of,
    mean_costs,
    model_costs,
    nested_bills,
    paid_by_step,
    payments,
    sorted_by_step,
    steps_of,
)
from thriftwood.billing.purchases import (
    OF_SPLIT,
    Purchases,
    count_purchases,
    list_purchases,
)
from thriftwood.billing.receipt import (
    FeatureUse,
    Receipt,
    shown_value,
    value_in_words,
)
