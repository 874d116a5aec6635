"""Prune tree ensembles optimally where features cost money, time or energy.

The public names stand in `__init__.pyi`. Each is loaded when it is first used (SPEC 1), so that
importing the package is instant and compiled kernels are only read where they are needed.
"""

from typing import Any

import lazy_loader

from thriftwood._version import __version__
from thriftwood.support.libraries import load_aside

_load, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = [*_names, "__version__"]


def __getattr__(name: str) -> Any:
    """Load a public name."""
    if name not in _names:
        return _load(name)
    globals()[name] = found = load_aside(_load, name)
    return found
