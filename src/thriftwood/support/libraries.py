"""Libraries that may be missing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thriftwood.errors import MissingLibraryError

if TYPE_CHECKING:
    import pandas as pd


def library(name: str, extra: str | None = None, what: str = "This format") -> Any:
    """Import a module of an optional library, or say what needs it and how to install it."""
    try:
        return import_module(name)
    except ImportError:
        root = name.split(".")[0]
        package = f'"thriftwood[{extra}]"' if extra else root
        raise MissingLibraryError(f"{what} needs {root}: pip install {package}") from None


def frame_of(columns: Any, names: list[str] | None = None) -> pd.DataFrame:
    """Return columns by name, or an array with these names, as a pandas data frame."""
    frame: pd.DataFrame = library("pandas", what="A data frame").DataFrame(columns, columns=names)
    return frame
