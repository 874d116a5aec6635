"""Libraries that may be missing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any

from thriftwood.errors import MissingLibraryError

if TYPE_CHECKING:
    import pandas as pd

# The name that frames of Python's own code for imports have.
IMPORTS = "<frozen importlib._bootstrap>"
# Set where this package is all that the process is for, so that nobody else minds how it has
# libraries imported.
alone = threading.Event()


def library(name: str, extra: str | None = None, what: str = "This format") -> Any:
    """Import a module of an optional library, or say what needs it and how to install it."""
    try:
        return load_aside(import_module, name)
    except ImportError as error:
        root = name.split(".")[0]
        package = f'"thriftwood[{extra}]"' if extra else root
        if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == root:
            raise MissingLibraryError(f"{what} needs {root}: pip install {package}") from None
        raise MissingLibraryError(
            f"{what} needs {root}, which is installed but cannot be imported ({error}). To install "
            f"it again: pip install --force-reinstall {root}"
        ) from error


def load_aside(load: Callable[[str], Any], name: str) -> Any:
    """Return `load(name)`, done in another thread if this is the main one.

    There no signal interrupts an import, which would leave half of a library behind. Not by
    `support.parallel`, which imports libraries itself. Within an import it is done at once: the
    other thread might wait for the module that this one is importing.
    """
    if threading.current_thread() is not threading.main_thread() or is_importing():
        return load(name)
    outcome: list[tuple[Any, BaseException | None]] = []

    def work() -> None:
        try:
            outcome.append((load(name), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    loaded, error = outcome[0]
    if error is not None:
        raise error
    return loaded


def is_importing() -> bool:
    """Return True if this thread is importing a module."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename != IMPORTS:
        frame = frame.f_back
    return frame is not None


def frame_of(columns: Any, names: list[str] | None = None) -> pd.DataFrame:
    """Return columns by name, or an array with these names, as a pandas data frame."""
    return library("pandas", "cli", "A data frame").DataFrame(columns, columns=names)
