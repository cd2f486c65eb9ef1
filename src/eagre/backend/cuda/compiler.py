# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false, reportIndexIssue=false
"""CUDA compiler: the only module that imports Numba's CUDA target.

Programs that differ only in their register limit share all steps except assembly (`PtxCache`): the limit is an option
of the assembler, which takes a tenth of the compilation time. The PTX of a program of this process with the same source
and another limit is reused, and the result is cached as for any other program.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numba_cuda  # noqa: F401  (the maintained numba.cuda; its import redirects the name)
from numba import cuda

from eagre.backend.compilation import parallel
from eagre.backend.compilation.code_cache import sound
from eagre.backend.compilation.numba_internals import CUDACache, CUDACodeLibrary, accelerate_ssa, cuda_ssa
from eagre.backend.layouts import usual_registers

__all__ = [
    "cuda",
    "double_driver",
    "formula",
    "keep_loaded",
    "limited_driver",
    "ptx",
    "single_driver",
]


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


def _cached(function: Any, max_registers: int, cache: Any = KernelCache) -> Any:
    """Compile a kernel, or load its code from the program cache on disk."""
    kernel: Any = cuda.jit(fastmath=True, max_registers=max_registers)(function)
    kernel._cache = cache(function)
    return kernel


formula: Any = cuda.jit(device=True, forceinline=True, fastmath=True)
# With more registers per thread, too few warps fit to hide the latency of memory (measured at
# 8192 x 8192 on an H200: double 12.1 against 10.7 Gcell-steps/s, single 23.3 against 22.2).
single_driver: Any = partial(_cached, max_registers=usual_registers("single"))
double_driver: Any = partial(_cached, max_registers=usual_registers("double"))
accelerate_ssa(cuda_ssa)
# Small grids, such as a tail of one thread, are intended.
numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0


def limited_driver(registers: int) -> Any:
    """Return a compiler with a limit of `registers` registers per thread: the switch ``REGISTERS`` of a program."""
    return partial(_cached, max_registers=registers, cache=partial(PtxCache, registers=registers))


@cuda.jit
def pause(microseconds):
    """Keep the GPU busy for about `microseconds`. The module name is required: an alias of `nanosleep` has no type."""
    for _ in range(microseconds):
        cuda.nanosleep(1000)  # pyright: ignore[reportCallIssue]


def keep_loaded() -> None:
    """Prevent Numba from unloading kernels, which it does at exit if there are more than ten.

    For kernels that ran on several GPUs the driver would free memory twice and Python would crash at exit (numba-cuda
    0.30.4, driver 580.159, two H200). Memory of Numba's own arrays is still freed.
    """
    numba.config.CUDA_DEALLOCS_COUNT = 1_000_000


def ptx(kernel: Any, signature: tuple[Any, ...], compute_capability: tuple[int, int] = (9, 0)) -> str:
    """Return the PTX of a kernel's Python function; needs no GPU (``pip install 'eagre[sim]'``)."""
    from eagre.backend.compilation.numba_internals import cuda_dispatcher as dispatcher

    # Device functions are compiled for the current device; without a GPU one is named instead.
    current = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=compute_capability)
    try:
        text, _ = cuda.compile(
            getattr(kernel, "py_func", kernel),
            signature,
            device=False,
            cc=compute_capability,
            fastmath=True,
            abi="numba",
        )
    finally:
        dispatcher.get_current_device = current
    return text if isinstance(text, str) else text.decode()
