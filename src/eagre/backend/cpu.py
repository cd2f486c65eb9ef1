"""The CPU compiler: decorators that generated programs import, and threads."""

from __future__ import annotations

import os

# Threads that wait must sleep: spinning, they slow one another down where cores are shared (8.6
# against 30 Mcell-steps/s beside another job). Set before Numba starts its threads.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numba
from numba import njit, prange

__all__ = ["driver", "formula", "prange", "serial_driver", "set_threads", "threads"]

# error_model="numpy" leaves out the ZeroDivisionError branch and forceinline the call: either one
# stops LLVM's loop vectoriser (4.4 -> 213 Mcell/s; docs/decisions/0002-cells.md).
formula = njit(fastmath=True, error_model="numpy", forceinline=True)
driver = njit(fastmath=True, error_model="numpy", parallel=True, cache=True, nogil=True)
serial_driver = njit(error_model="numpy", cache=True, nogil=True)


def threads() -> int:
    """Number of threads that CPU drivers use; set ``NUMBA_NUM_THREADS`` to change it."""
    return numba.get_num_threads()


def set_threads(count: int) -> None:
    """Let CPU drivers use `count` threads, at most as many as Numba started with."""
    numba.set_num_threads(count)
