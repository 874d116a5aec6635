"""How kernels are compiled, in one place."""

from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of loops over arrays when it is first called.

    The compiled code is kept on disk for the next process, where there is a place to keep it, and
    runs without the GIL, so that threads can share the work.
    """
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's home can be written to
        return njit(nogil=True)(function)
