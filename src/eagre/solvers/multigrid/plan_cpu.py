"""Layout of the scratch array of `cycle_cpu`, and the order of operations of a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch
from eagre.solvers.multigrid import cycle_cpu as cpu
from eagre.solvers.multigrid.grids import Grid
from eagre.solvers.multigrid.kernels import Screening


def table_of(grids: Sequence[Grid]) -> tuple[np.ndarray, int, int]:
    """Return the table of `cycle_cpu.cycle_cpu`, the size of the scratch array, and of the screening of all grids."""
    table, end, end_of_q = np.zeros((len(grids), cpu.COLUMNS), np.int64), 0, 0
    for row, grid in zip(table, grids, strict=True):
        ny, nx = grid.shape
        pitch = cpu.MARGIN + -(-((nx + 1) // 2) // cpu.MARGIN) * cpu.MARGIN
        plane = ny * pitch
        row[[cpu.NY, cpu.NX, cpu.PITCH, cpu.Q]] = ny, nx, pitch, end_of_q
        row[[cpu.U, cpu.F, cpu.INVERSE, cpu.DIAGONAL, cpu.R]] = end + plane * np.array([0, 2, 4, 6, 7])
        row[[cpu.STEP_Y, cpu.STEP_X]] = grid.step_y, grid.step_x
        row[[cpu.PERIODIC_Y, cpu.PERIODIC_X]] = grid.y.periodic, grid.x.periodic
        end, end_of_q = end + 8 * plane + cpu.MARGIN, end_of_q + 2 * plane
    return table, end + 2 * (grids[0].shape[1] + 2 * cpu.MARGIN), end_of_q + cpu.MARGIN


def work_of(used: int, grids: int, cycle: str, pre: int, post: int, coarsest: int, from_zero: bool) -> np.ndarray:
    """Return the operations of a cycle on the first `used` grids, (n, 2): operation, and grid."""

    def sweeps(level: int, count: int, zero: bool) -> list[tuple[int, int]]:
        operations = [(cpu.RED, level), (cpu.BLACK, level)] * count
        return [(cpu.START, level), *operations[1:]] if zero and operations else operations

    def cycle_from(level: int, cycle: str, zero: bool) -> list[tuple[int, int]]:
        if level == used - 1:
            return sweeps(level, coarsest if used == grids else pre + post, zero)
        operations = [*sweeps(level, pre, zero), (cpu.DOWN, level), *cycle_from(level + 1, cycle, True)]
        if cycle != "V" and level + 2 < grids:
            operations += cycle_from(level + 1, "W" if cycle == "W" else "V", False)
        return [*operations, (cpu.UP, level), *sweeps(level, post, False)]

    return np.array(cycle_from(0, cycle, from_zero), np.int64)


class CpuCycle:
    """CPU cycles of a `Multigrid`: one thread per layer at most, each with its own scratch array.

    Parameters
    ----------
    device : Device
    precision : {"single", "double"}
    grids : sequence of Grid
    layers : int
    over : (grids, 2)
        1 / dx^2 and 1 / dy^2, 0 along an axis of one point.
    """

    def __init__(self, device: Device, precision: str, grids: Sequence[Grid], layers: int, over: np.ndarray) -> None:
        real = np.float32 if precision == "single" else np.float64
        self._program, self._screen = (device.program(one, precision) for one in (cpu.cycle_cpu, cpu.screen_cpu))
        self._table, size, size_of_q = table_of(grids)
        self._q = device.zeros((size_of_q,), real)
        self._over = over.astype(real)
        self._scratch = device.zeros((min(layers, getattr(device, "threads", 1)), size), real)

    def launch(self, u: Any, f: Any, s: Any, used: Sequence[int], from_zero: bool, **cycle: Any) -> Launch:
        """Return a cycle; used : number of grids of each layer; cycle : arguments of `work_of`."""
        each = [work_of(count, len(self._table), from_zero=from_zero, **cycle) for count in used]
        ends = np.cumsum([len(one) for one in each])
        ranges = np.stack([ends - [len(one) for one in each], ends, np.array(used)], axis=1)
        work = np.concatenate(each)
        grids, operations = (self._table, self._over), (work, np.ascontiguousarray(ranges), from_zero)
        return Launch(self._program, (u, f, Screening(s, self._q), grids, operations, self._scratch))

    def screening_launches(self, q: Any, grids: int) -> list[Launch]:
        """Return launches that restrict the screening, (1, ny, nx), to `grids` grids."""
        known = (q.reshape(-1), self._q, self._table)
        return [Launch(self._screen, (*known, level, self._scratch)) for level in range(grids)]
