"""Faster compilation: no machine code for functions that are inlined into other code.

Numba generates machine code for every function that it compiles, including functions that are inlined: formulas, the
body of a parallel loop, and two wrappers around it that contain and optimise all of it again. Only the code of the
whole program is run. Its instructions are the same with and without this module.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from eagre.backend.compilation.numba_internals import Compiler, JITCodeLibrary

OF_CODEGEN = ("_library_class", "_engine", "set_env", "create_library")
OF_LIBRARY = ("_optimize_final_module", "_finalize_dynamic_globals", "_verify_declare_only_symbols", "_finalized")


def is_as_known(codegen: Any) -> bool:
    """Return whether this Numba has the private names used here; otherwise compilation is not changed."""
    library = codegen.create_library("empty")
    return all(hasattr(codegen, name) for name in OF_CODEGEN) and all(hasattr(library, name) for name in OF_LIBRARY)


class InlinedLibrary(JITCodeLibrary):
    """Code that is linked into other code and never called directly."""

    def _optimize_final_module(self) -> None:
        if "wrapper" not in self.name.lower():  # wrapper of a loop body, which is already optimised
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class Whole(Compiler):
    """Compiler of a program whose other functions are all inlined; for ``njit(pipeline_class=...)``."""

    def _compile_bytecode(self) -> Any:
        state: Any = self.state
        codegen = state.targetctx.codegen()
        if not is_as_known(codegen) or codegen._library_class is not JITCodeLibrary:
            return super()._compile_bytecode()  # also during the compilation of another program
        state.library = codegen.create_library(state.func_id.func_qualname)
        state.library.enable_object_caching()
        with _inlined_libraries(codegen):
            return super()._compile_bytecode()


@contextmanager
def _inlined_libraries(codegen: Any) -> Iterator[None]:
    """Create `Part` libraries within the context; the compiler lock is held."""
    set_now, later = codegen.set_env, []

    def set_env(name: str, environment: Any) -> None:
        if codegen._engine.is_symbol_defined(name):
            set_now(name, environment)
        else:
            later.append((name, environment))

    collects = gc.isenabled()
    gc.disable()  # garbage collection would take a tenth of the time
    codegen._library_class, codegen.set_env = InlinedLibrary, set_env
    try:
        yield
    finally:
        del codegen._library_class, codegen.set_env
        if collects:
            gc.enable()
    for name, environment in later:
        if codegen._engine.is_symbol_defined(name):  # part of the program
            set_now(name, environment)
