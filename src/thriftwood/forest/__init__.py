"""Forests as flat arrays, whatever library grew them.

Law: a `Forest` that passes `check()` can be walked from any root without leaving its tree, and
every node, inner or leaf, carries the value that the model would predict there.
"""

from thriftwood.forest.collapse import collapse
from thriftwood.forest.forest import LEAF, Forest

__all__ = ["LEAF", "Forest", "collapse"]
