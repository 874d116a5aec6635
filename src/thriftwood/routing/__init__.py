"""Which rows pass which node.

Law: a row's leaf is the leaf that the model itself would send it to.
"""

from thriftwood.routing.routes import Routes, are_first_uses, first_uses, route_examples

__all__ = ["Routes", "are_first_uses", "first_uses", "route_examples"]
