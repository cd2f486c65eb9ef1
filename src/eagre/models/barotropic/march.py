"""Steps whose update marches through slabs of rows (`march_cuda`): which runs have them, and their launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Launch
from eagre.models.barotropic.inversion import CudaBox, Launches
from eagre.models.barotropic.march_cuda import march_cuda
from eagre.models.barotropic.setup import Setup
from eagre.solvers.poisson.box_cuda import PART, VECTOR, Box, registers
from eagre.solvers.poisson.sine_plan import SinePlan

LEAST = 1024  # intervals of a row from which a march is faster
SHARED = 228 * 1024  # bytes of shared memory of a multiprocessor (compute capability 9.0), 1 KiB of each block taken


def marched(setup: Setup, box: Box) -> bool:
    """Whether a step is nothing but update, columns and transform back, and rows have a plan of their own."""
    alone = setup.layers is None and not (setup.gathers or setup.implicit or setup.compensated or setup.particles)
    plain = setup.walls == "free-slip" and setup.diffusivity is None
    return alone and plain and box.plan.row == box.plan.n >= LEAST


def layout(plan: SinePlan, precision: str) -> tuple[dict[str, int], int]:
    """Switches that say where things lie in shared memory, and its size, words."""
    vector = VECTOR[precision]
    last = plan.row + vector
    ring = -(-2 * max(plan.stride, last + last // plan.last + 1) // 4) * 4
    pitch = (plan.row // vector + 1) * vector
    turns, warps = plan.row // (vector * plan.threads) + 1, -(-plan.threads // 32)
    edges = ring + 2 * pitch
    return {"RING": ring, "PITCH": pitch, "EDGES": edges}, edges + 8 * turns * warps


def slabs(box: Box, words: int) -> tuple[int, int]:
    """Registers a thread, and blocks of the grid: as many as there are at once."""
    limit, warps = registers(box.plan, box.precision, True), -(-box.plan.threads // 32)
    at_once = SHARED // (words * np.dtype(box.real).itemsize + 1024)
    at_once = min(at_once, 4 * (PART // (32 * limit)) // warps)
    return limit, max(1, at_once) * box.device.multiprocessors


class March:
    """Launches of steps of one layer.

    Parameters
    ----------
    inversion : CudaBox
    update : callable
        at -> arguments of `march_cuda` from zeta to the coefficients, and switches, of a step from buffers `at`.
    psi : array
        The streamfunction of both sets of buffers.
    screening : float
    """

    def __init__(self, inversion: CudaBox, update: Callable[[int], Any], psi: Any, screening: float) -> None:
        self._inversion, self._update, self._psi = inversion, update, psi
        box = inversion.box
        self._spectrum, self._waves = inversion.work(0, None), inversion.second()
        self._columns = box.columns(self._spectrum, screening, out=self._waves)
        self._back = box.rows(self._waves, psi)
        self._marches = {(at, stored): self._march(at, stored) for at in (0, 1) for stored in (False, True)}

    def step(self, at: int) -> Launches:
        """A step from buffers `at`."""
        return [self._marches[at, True], self._columns, self._back]

    def steps(self, count: int) -> Launches:
        """`count` steps from buffers 0: psi is stored after the last alone."""
        made: Launches = []
        for n in range(count):
            made += [self._marches[n % 2, n == 0], self._columns]
        return [*made, self._back]

    def _march(self, at: int, stored: bool) -> Launch:
        box, (arguments, switches) = self._inversion.box, self._update(at)
        where, words = layout(box.plan, box.precision)
        limit, blocks = slabs(box, words)
        switches = {**switches, **box.switches(update=True), **where, "FROM_TILES": True}
        switches |= {"THREADS": box.plan.threads, "REGISTERS": limit}
        device = box.device
        program = device.program(march_cuda, box.precision, switches)
        shared = words * np.dtype(box.real).itemsize
        pairs = (box.ny + 1) // 2
        every = (np.int32(stored), self._psi, self._waves, *arguments, self._spectrum, box.table, pairs)
        return Launch(program, every, (min(blocks, pairs),), (box.plan.threads,), shared, early=box.early > 0)
