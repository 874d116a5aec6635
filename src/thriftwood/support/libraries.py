"""Libraries that may be missing."""

from importlib import import_module
from typing import Any

from thriftwood.errors import MissingLibraryError


def library(name: str, extra: str | None = None, what: str = "This format") -> Any:
    """Import a module of an optional library, or say what needs it and how to install it."""
    try:
        return import_module(name)
    except ImportError:
        root = name.split(".")[0]
        package = f'"thriftwood[{extra}]"' if extra else root
        raise MissingLibraryError(f"{what} needs {root}: pip install {package}") from None
