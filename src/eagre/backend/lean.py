"""Compiling in half the time: no machine code for what is only a part of other code.

Numba makes machine code of every function that it compiles, also of those that are then copied into their callers: each
formula, the body of a parallel loop, and two wrappers around that which hold all of it and optimise it once more. Only
the code of the whole program is ever run. Its instructions are the same either way.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from eagre.backend.numba_internals import Compiler, JITCodeLibrary

OF_CODEGEN = ("_library_class", "_engine", "set_env", "create_library")
OF_LIBRARY = ("_optimize_final_module", "_finalize_dynamic_globals", "_verify_declare_only_symbols", "_finalized")


def is_as_known(codegen: Any) -> bool:
    """Whether this Numba has the private names that this module stands on; without one it compiles as it would."""
    library = codegen.create_library("empty")
    return all(hasattr(codegen, name) for name in OF_CODEGEN) and all(hasattr(library, name) for name in OF_LIBRARY)


class Part(JITCodeLibrary):
    """Code that is linked into other code and never called by itself."""

    def _optimize_final_module(self) -> None:
        if "wrapper" not in self.name.lower():  # of a loop's body, which is optimised already
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class Whole(Compiler):
    """Compiles a program of which everything else is a part; for ``njit(pipeline_class=...)``."""

    def _compile_bytecode(self) -> Any:
        state: Any = self.state
        codegen = state.targetctx.codegen()
        if not is_as_known(codegen) or codegen._library_class is not JITCodeLibrary:
            return super()._compile_bytecode()  # also while another program is compiled
        state.library = codegen.create_library(state.func_id.func_qualname)
        state.library.enable_object_caching()
        with _parts(codegen):
            return super()._compile_bytecode()


@contextmanager
def _parts(codegen: Any) -> Iterator[None]:
    """Make `Part`s of the libraries that are made inside; the compilers' lock is held."""
    set_now, later = codegen.set_env, []

    def set_env(name: str, environment: Any) -> None:
        if codegen._engine.is_symbol_defined(name):
            set_now(name, environment)
        else:
            later.append((name, environment))

    collects = gc.isenabled()
    gc.disable()  # nothing is set free before the end: a tenth of the time
    codegen._library_class, codegen.set_env = Part, set_env
    try:
        yield
    finally:
        del codegen._library_class, codegen.set_env
        if collects:
            gc.enable()
    for name, environment in later:
        if codegen._engine.is_symbol_defined(name):  # it is in the whole
            set_now(name, environment)
