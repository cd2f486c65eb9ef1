# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false, reportIndexIssue=false
"""CUDA compiler: the only module that imports Numba's CUDA target."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numba
import numba_cuda  # noqa: F401  (the maintained numba.cuda; its import redirects the name)
from numba import cuda

from eagre.backend.compilation.numba_internals import accelerate_ssa, cuda_ssa
from eagre.backend.cuda.shared_ptx import KernelCache, PtxCache
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
