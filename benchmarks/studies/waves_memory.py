"""Bytes an unknown of potential-flow waves on the CPU, at most, with everything that a run holds.

    python benchmarks/studies/waves_memory.py [columns along x, along y, layers [precision, that of corrections]]
    python benchmarks/studies/waves_memory.py 3073 2049 17 single single 4 (at most so many GiB, else it fails)

Prints what NumPy allocates at most (tracemalloc) from the start of a model on, and how far the resident memory grew
beyond that of a small model, in each precision. A process that grows beyond 42.9 bytes an unknown would not have 100
million unknowns in 4 GiB. What a GPU holds is counted by `tests/kernels/test_potential_waves_cuda.py`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np

from eagre import Grid, PotentialWaves

KINDS = (("single", "single"), ("double", "single"), ("double", "double"))
STEPS = 2


def stepped(shape: tuple[int, int], layers: int, kinds: tuple[str, str]) -> None:
    """Make a model of a standing wave and some steps."""
    grid = Grid.from_points(*shape, shape[0] / 64.0, shape[1] / 64.0)
    eta = np.broadcast_to(0.01 * np.cos(np.pi * grid.x), grid.shape)
    precision, correction = kinds
    model = PotentialWaves(
        grid, 0.5, surface_elevation=eta, vertical_points=layers, device="cpu", precision=precision,
        correction_precision=correction,
    )  # fmt: skip
    model.advance(1e9, max_steps=STEPS)


def resident() -> int:
    """Most bytes of memory that this process had so far."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measured(shape: tuple[int, int], layers: int, kinds: tuple[str, str]) -> tuple[float, float]:
    """Bytes an unknown: allocated by NumPy, and resident."""
    stepped((17, 9), layers, kinds)
    before, unknowns = resident(), shape[0] * shape[1] * (layers - 1)
    stepped(shape, layers, kinds)
    grown = resident() - before
    tracemalloc.start()
    stepped(shape, layers, kinds)
    return tracemalloc.get_traced_memory()[1] / unknowns, grown / unknowns


def capped(shape: tuple[int, int], layers: int, kinds: tuple[str, str], gibibytes: float) -> int:
    """Steps of a model in a process that gets so much memory beyond what a small model leaves it with."""
    stepped((17, 9), layers, kinds)
    fields = (line.split() for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    held = 1024 * next(int(words[1]) for words in fields if words[0] == "VmData:")
    resource.setrlimit(resource.RLIMIT_DATA, (held + int(gibibytes * 2**30),) * 2)
    before = resident()
    stepped(shape, layers, kinds)
    return resident() - before


def main() -> None:
    if len(sys.argv) == 7:
        nx, ny, layers = map(int, sys.argv[1:4])
        grown = capped((nx, ny), layers, (sys.argv[4], sys.argv[5]), float(sys.argv[6]))
        unknowns = nx * ny * (layers - 1)
        print(
            f"{unknowns:,} unknowns, {STEPS} steps under a cap of {sys.argv[6]} GiB: {grown / 2**30:.2f} GiB resident"
        )
        return
    if len(sys.argv) == 6:
        nx, ny, layers = map(int, sys.argv[1:4])
        allocated, grown = measured((nx, ny), layers, (sys.argv[4], sys.argv[5]))
        text = f"{allocated:5.1f} bytes an unknown allocated, {grown:5.1f} resident"
        print(f"{nx} x {ny} x {layers}  {sys.argv[4]:6} corrections {sys.argv[5]:6}  {text}", flush=True)
        return
    size = sys.argv[1:] or ["1025", "513", "9"]
    for kinds in KINDS:
        subprocess.run([sys.executable, __file__, *size, *kinds], check=True)


if __name__ == "__main__":
    main()
