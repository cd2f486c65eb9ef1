# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false, reportIndexIssue=false
"""Compiler cache for programs that differ only in their register limit: they share all steps except assembly.

The limit is an option of the assembler, which takes a tenth of the compilation time. The PTX of a program of this
process with the same source and another limit is reused, and the result is cached as for any other program.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from eagre.backend.compilation import parallel
from eagre.backend.compilation.code_cache import sound
from eagre.backend.compilation.numba_internals import CUDACache, CUDACodeLibrary

OF_LIBRARY = ("codegen", "cubin_cache", "linkerinfo_cache", "max_registers", "ptx_cache")
LIMIT = "driver = limited_driver("  # source line with the register limit
_compiled: dict[tuple[str, str, str], Any] = {}  # kernels of this process, by source, name and types


def _wait(cache: Any, signature: Any, context: Any) -> None:
    """Wait for a worker that compiles this kernel; numba-cuda then loads the code."""
    parallel.wait(cache.module)


KernelCache: Any = sound(CUDACache, CUDACache._impl_class._locator_classes[:2], _wait)  # NUMBA_CACHE_DIR, __pycache__


class PtxCache(KernelCache):
    """Cache of a kernel with a register limit; missing entries are built from a kernel with another limit."""

    def __init__(self, function: Any, registers: int) -> None:
        super().__init__(function)
        self._function, self._registers = function, registers

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load from disk, or build from a kernel with another limit."""
        kernel, key = super().load_overload(sig, target_context), self._key(sig)
        if kernel is None and key in _compiled:
            kernel = with_limit(_compiled[key], self._registers)
            if kernel is not None:
                kernel.target_context = target_context
                kernel.bind()
                super().save_overload(sig, kernel)
        if kernel is not None:
            _compiled.setdefault(key, kernel)
        return kernel

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled kernel."""
        super().save_overload(sig, data)
        _compiled.setdefault(self._key(sig), data)

    def _key(self, sig: Any) -> tuple[str, str, str]:
        lines = Path(sys.modules[self._function.__module__].__file__ or "").read_text(encoding="utf-8").splitlines()
        text = "\n".join(line for line in lines if not line.startswith(LIMIT))
        return text, self._function.__name__, str(sig)


def with_limit(kernel: Any, registers: int) -> Any:
    """Return the same kernel with another register limit; None if the compiler lacks the required parts."""
    library = kernel._codelibrary
    state = library._reduce_states()
    if type(library) is not CUDACodeLibrary or any(name not in state for name in OF_LIBRARY):
        return None
    ptx_cache = {**state["ptx_cache"]}
    changes = {"max_registers": registers, "cubin_cache": {}, "linkerinfo_cache": {}, "ptx_cache": ptx_cache}
    return type(kernel)._rebuild(
        **{**kernel._reduce_states(), "codelibrary": type(library)._rebuild(**{**state, **changes})}
    )
