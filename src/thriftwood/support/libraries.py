"""Libraries that may be missing."""

from importlib import import_module
from typing import Any

from thriftwood.errors import MissingLibraryError


def library(name: str, extra: str) -> Any:
    """Return a module of an optional library, or say how to install it."""
    try:
        return import_module(name)
    except ImportError:
        root = name.split(".")[0]
        raise MissingLibraryError(
            f'This format needs {root}: pip install "thriftwood[{extra}]"'
        ) from None
