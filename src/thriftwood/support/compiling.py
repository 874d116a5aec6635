"""Compilation and calls of kernels, in one place."""
# mypy: allow-untyped-calls
# numba has no types.

import gc
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.registry import CPUDispatcher

from thriftwood.support.parallel import aside
from thriftwood.support.progress import Line, new_line


class Kernel(CPUDispatcher):
    """A compiled function that no signal breaks into: in the main thread it runs aside.

    Python calls the handlers of signals in the main thread, even while results of compiled code
    are made into arrays, where an exception, such as that of Ctrl-C, ends the process.
    """

    def __call__(self, *args: Any) -> Any:
        return aside(super().__call__, *args)


class InnerKernel(CPUDispatcher):
    """A compiled function for other kernels: nothing that Python could call it by is compiled."""

    def __call__(self, *_: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is called by kernels alone: it is a small_kernel")


class KernelCache(FunctionCache):
    """Compiled code on disk: what is damaged is compiled anew, what cannot be kept is not kept."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever a damaged file leads numba to
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):  # such as a disk that is full
            super().save_overload(sig, data)


class Announcer(event.Listener):
    """Says in a line on a terminal, or in a notebook, which kernel is compiled.

    One kernel has others compiled meanwhile; numba compiles in one thread at a time. Until it is
    done garbage is not collected: numba makes so many objects that it takes a tenth of the time.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._show: Line | None = None
        self._collects = False

    def on_start(self, begun: event.Event) -> None:
        self._depth += 1
        function = begun.data["dispatcher"].py_func
        if self._depth == 1 and function.__module__.startswith("thriftwood."):
            self._collects = gc.isenabled()
            gc.disable()
            self._show = new_line()
            if self._show is not None:
                self._show(f"Compiling {function.__name__}, once on this machine ...")

    def on_end(self, _: event.Event) -> None:
        self._depth -= 1
        if self._depth > 0:
            return
        if self._collects:
            gc.enable()
        if self._show is not None:
            self._show("")
        self._show, self._collects = None, False


event.register("numba:compile", Announcer())
_folders: set[str] = set()  # where compiled code is kept


def cache_folder() -> Path | None:
    """Return the folder that all compiled code is kept in, or None where there is no place."""
    return Path(os.path.commonpath(_folders)) if _folders else None


def kernel(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function of loops over arrays when it is first called.

    The compiled code is kept on disk for the next process, where there is a place to keep it, and
    runs without the GIL, so that threads can share the work.
    """
    compiled = quick_kernel(function, **options)
    compiled.__class__ = Kernel
    return compiled


def quick_kernel(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function that takes microseconds and returns numbers: it is not run aside."""
    # Nobody calls kernels from C.
    options = {"nogil": True, "no_cfunc_wrapper": True, **options}
    compiled: Any = njit(**options)(function)
    with suppress(RuntimeError):  # neither the package's folder nor the user's home is writable
        compiled._cache = KernelCache(function)
        _folders.add(compiled._cache.cache_path)
    return cast(Callable[..., Any], compiled)


def small_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of loops that other kernels call often, without functions of arrays.

    Otherwise each array of a bundle that it is given would be counted as used and unused again at
    every call (by numba's runtime, NRT), which took most of the time of a minimum cut. Python does
    not call it.
    """
    compiled = quick_kernel(function, _nrt=False, no_cpython_wrapper=True)
    compiled.__class__ = InnerKernel
    return compiled
