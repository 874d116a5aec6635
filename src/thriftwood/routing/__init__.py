"""Which rows pass which node.

Law: a row's leaf is the leaf that the model itself would send it to.
"""

from thriftwood.routing.routes import Routes, first_uses, route_examples

__all__ = ["Routes", "first_uses", "route_examples"]
