"""Predictions that buy features only when a tree first uses them.

Law: labels, probabilities and bills are those that the model and `feature_bill` would give if all
values had been there from the start; whoever stops early gets the same labels, never a higher bill;
no bill is above `max_cost`.
"""

from thriftwood.acquisition.answer import Failure, LazyAnswer
from thriftwood.acquisition.lazy import LazyPredictor, read_limit
from thriftwood.acquisition.lists import LazyRanking
