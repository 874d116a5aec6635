"""Baselines to compare `prune_path` with, which call nothing optimal that is not.

Law: costs and losses of their points are those of the ensemble, by whatever criterion the points
were found.
"""

from thriftwood.baselines.dynamic_programming import dynamic_programming_path
from thriftwood.baselines.each_tree import cost_complexity_path, each_tree_path
