"""Compilation and calls of kernels, in one place."""
# mypy: allow-untyped-calls
# numba has no types.

import gc
import inspect
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numba import config, njit
from numba.core import event
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
    _SourceFileBackedLocatorMixin,
)
from numba.core.codegen import JITCPUCodegen
from numba.core.registry import CPUDispatcher

from thriftwood.support.late_code import KernelFlags, LateCodegen, is_tried
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
        name = self.py_func.__name__
        raise TypeError(f"{name} is called by kernels alone: it is an inner_kernel or small_kernel")


class BesideTheModule(_SourceFileBackedLocatorMixin, _CacheLocator):
    """The folder of compiled code beside a module, where nothing can be written anywhere."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return os.path.join(os.path.dirname(self._py_file), "__pycache__")

    def ensure_cache_path(self) -> None:
        """Accept a folder that can only be read, or is not there."""


class KernelPlaces(CompileResultCacheImpl):
    """The places that numba keeps code in; where it can write nowhere, one to read from."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._locator_classes = [*self._locator_classes, BesideTheModule]
        super().__init__(function)


class KernelCache(FunctionCache):
    """Compiled code on disk: what is damaged is compiled anew, what cannot be kept is not kept.

    It is that of these very sources, and may have been kept by somebody else, in a place that
    numba passed over because nothing can be written there.
    """

    _impl_class = KernelPlaces

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._filled: list[IndexDataCacheFile] = []
        with suppress(OSError):  # there are no sources, as in a frozen program: numba's own stamp
            name, stamp = self._impl.filename_base, source_stamp(function.__globals__)
            self._cache_file = IndexDataCacheFile(self.cache_path, name, stamp)
            folders = takewhile(self.cache_path.__ne__, shared_folders(inspect.getfile(function)))
            self._filled = [IndexDataCacheFile(folder, name, stamp) for folder in folders]

    @property
    def is_kept(self) -> bool:
        """Whether there is a place to write to."""
        return not isinstance(self._impl.locator, BesideTheModule)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        own, found = self._cache_file, None
        for one in (*self._filled, own):
            if found is None:
                self._cache_file = one
                found = self._load_what_is_whole(sig, target_context)
        self._cache_file = own
        return found

    def _load_what_is_whole(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever a damaged file leads numba to
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):  # such as a disk that is full
            super().save_overload(sig, data)


def shared_folders(file: str) -> list[str]:
    """Return where others may have kept the compiled code of a module, as numba prefers them."""
    beside = os.path.join(os.path.dirname(file), "__pycache__")
    named: str = vars(config)["CACHE_DIR"]  # that of the environment variable
    below = _CacheLocator.get_suitable_cache_subpath(file)
    return [os.path.join(named, below), beside] if named else [beside]


def source_stamp(names: dict[str, Any]) -> str:
    """Return a hash of all that the kernels of a module are made of.

    These are this file, the module, the modules of kernels that it imports from, and numbers that
    it imports from others; `names` are those of the module. numba itself looks at the module alone.
    """
    sources: dict[str, tuple[str, list[tuple[str, Any]]]] = {}
    waiting = [names, globals()]
    while waiting:
        names = waiting.pop()
        if names["__name__"] in sources:
            continue
        module = sys.modules[names["__name__"]]
        numbers = [(name, one) for name, one in names.items() if isinstance(one, NUMBERS)]
        sources[module.__name__] = source_hash(module), sorted(numbers)
        others = {getattr(one, "__module__", None) or "" for one in names.values()}
        waiting += [vars(sys.modules[one]) for one in others if one.endswith("kernels")]
    return sha256(repr(sorted(sources.items())).encode()).hexdigest()


@cache
def source_hash(module: ModuleType) -> str:
    return sha256(inspect.getsource(module).encode()).hexdigest()


class Announcer(event.Listener):
    """Says in a line on a terminal, or in a notebook, which kernel is compiled.

    One kernel has others compiled meanwhile; numba compiles in one thread at a time. Until it is
    done garbage is not collected: numba makes so many objects that it takes a tenth of the time.
    And what it calls waits for it to be made into code.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._show: Line | None = None
        self._collects = False
        self._codegen: Any = None

    def on_start(self, begun: event.Event) -> None:
        self._depth += 1
        function = begun.data["dispatcher"].py_func
        if self._depth == 1 and function.__module__.startswith("thriftwood."):
            self._collects = gc.isenabled()
            gc.disable()
            if is_tried():
                self._codegen = begun.data["dispatcher"].targetctx.codegen()
                self._codegen.__class__ = LateCodegen
            self._show = new_line()
            if self._show is not None:
                self._show(f"Compiling {function.__name__}, once on this machine ...")

    def on_end(self, _: event.Event) -> None:
        self._depth -= 1
        if self._depth > 0:
            return
        if self._codegen is not None:
            self._codegen.__class__ = JITCPUCodegen
        if self._collects:
            gc.enable()
        if self._show is not None:
            self._show("")
        self._show, self._collects, self._codegen = None, False, None


NUMBERS = (int, float, np.generic)  # that numba compiles into code as they are
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
    compiled: Callable[..., Any] = quick_kernel(function, **options)
    compiled.__class__ = Kernel
    return compiled


def quick_kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function that returns numbers or nothing, and is not run aside.

    It takes microseconds, or its caller goes aside where it takes longer.
    """
    compiled = _compiled(function, **options)
    with suppress(RuntimeError):  # neither the package's folder nor the user's home is writable
        compiled._cache = KernelCache(function)
        if compiled._cache.is_kept:
            _folders.add(compiled._cache.cache_path)
    return compiled


def inner_kernel(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function that only other kernels call: it becomes part of their code."""
    compiled: Callable[..., Any] = _compiled(function, no_cpython_wrapper=True, **options)
    compiled.__class__ = InnerKernel
    return compiled


def small_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of loops that other kernels call often, without functions of arrays.

    Otherwise each array of a bundle that it is given would be counted as used and unused again at
    every call (by numba's runtime, NRT), which took most of the time of a minimum cut.
    """
    return inner_kernel(function, _nrt=False)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    # Nobody calls kernels from C.
    compiled: Any = njit(**{"nogil": True, "no_cfunc_wrapper": True, **options})(function)
    if is_tried():
        compiled._compiler._customize_flags = KernelFlags
    return compiled
