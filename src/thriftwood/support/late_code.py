"""Machine code only for what Python calls: what kernels call is linked, and optimised with them.

By itself numba optimises each function, and makes machine code of it, when it is compiled, and
again within each that calls it, and within each that calls that. Here a function that is compiled
for a kernel waits, as numba's own code for it, until the kernel is complete.

Nor is numba's own code compiled once for each kind of kernel. All this overrides private parts of
numba: a version that nobody has tried compiles as it does by itself, and a third longer.
"""
# mypy: allow-untyped-calls
# numba has no types.

from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Flags
from numba.core.environment import lookup_environment

TRIED = (0, 61), (0, 68)  # the first and the last version of numba


def is_tried() -> bool:
    """Return whether this numba is one that the tests have been run with."""
    first, last = TRIED
    return first <= numba.version_info.short <= last


class LateLibrary(JITCodeLibrary):
    """A function and what it calls; it is optimised, and made code of, when Python asks for it."""

    _waits = False

    def finalize(self) -> None:
        self._waits = True
        super().finalize()

    def _optimize_final_module(self) -> None:
        if not self._waits:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if not self._waits:
            super()._finalize_final_module()
        self._finalized = True

    def _make_code(self) -> None:
        codegen: Any = self._codegen
        if not self._waits:
            return
        self._waits = False
        self._optimize_final_module()
        self._finalize_final_module()
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if environment is not None:
                codegen.set_env(variable.name, environment)

    def _get_module_for_linking(self) -> Any:
        if not isinstance(self._codegen, LateCodegen):  # linked by a function of somebody else
            self._make_code()
        return super()._get_module_for_linking()

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        if name in (function.name for function in self.get_defined_functions()):
            self._make_code()
        pointer: int = super().get_pointer_to_function(name)
        return pointer

    def serialize_using_object_code(self) -> Any:
        self._ensure_finalized()
        self._make_code()
        return super().serialize_using_object_code()


class LateCodegen(JITCPUCodegen):
    """What numba's generator of machine code is while kernels are compiled."""

    _library_class = LateLibrary

    def set_env(self, name: str, environment: Any) -> None:
        if self._engine.is_symbol_defined(name):  # otherwise there is no code yet
            super().set_env(name, environment)


class KernelFlags(Flags):
    """Options of a kernel, of which numba's own code, compiled for it, sees what concerns it."""

    __slots__ = ()

    def copy(self) -> Any:
        seen: Any = SharedFlags(self)
        seen.no_cpython_wrapper = True  # as numba's own code has it
        for name in ("release_gil", "no_cfunc_wrapper"):
            seen.discard(name)
        return _known.setdefault(seen.summary(), seen)


class SharedFlags(Flags):
    """One object for equal options: numba looks them up for every operation in every line.

    It would compare all of them one by one, a tenth of the time of compiling.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return HASH_OF_ALL

    def __eq__(self, other: object) -> bool:
        same: bool = self is other if isinstance(other, SharedFlags) else super().__eq__(other)
        return same


HASH_OF_ALL = hash(Flags())  # numba's flags have the hash of their names
_known: dict[str, Any] = {}
