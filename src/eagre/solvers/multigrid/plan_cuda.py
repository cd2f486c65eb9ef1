"""Launches of a V cycle on a GPU: `marches_cuda` on fine grids, `block_cuda` on grids that fit shared memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch
from eagre.solvers.multigrid import block_cuda, pairs_cuda, streaming_cuda
from eagre.solvers.multigrid.grids import Grid
from eagre.solvers.multigrid.kernels import Screening

REST = Launch(lambda: None, ())
"""Placeholder in the launches of a cycle for omitted grids."""

SHORTEST = 64  # minimum number of points along each axis for the streaming kernels


class CudaCycle:
    """V(pre, post) cycles of a `Multigrid` on a GPU, pre and post above 0.

    Parameters
    ----------
    device : Device
    precision : {"single", "double"}
    grids : sequence of Grid
    points : sequence of Points
        Coefficients of the grids.
    s : array on the device, (layers,)
    is_open : bool
        Whether the cycle on the last grid is omitted; `REST` takes its position.
    sweeps : (pre, post)

    Attributes
    ----------
    takes_pairs : bool
        Whether u and f of the finest grid can be 16-bit pairs of layers (`pairs_cuda`).
    """

    def __init__(
        self, device: Device, precision: str, grids: Sequence[Grid], points: Sequence[Any], s: Any,
        is_open: bool = False, sweeps: tuple[int, int] = (1, 1),
    ) -> None:  # fmt: skip
        self.device, self._grids, self._points, self._s = device, list(grids), points, s
        self._real = np.float32 if precision == "single" else np.float64
        self._tuning, block = device.parameters("solver:multigrid.march"), device.parameters("solver:multigrid.block")
        known = {"REGISTERS": self._tuning.registers[precision]}
        self._down, self._up = (
            device.program(one, precision, known) for one in (streaming_cuda.down, streaming_cuda.up)
        )
        self._block = device.program(block_cuda.cycle_in_block, precision, {"REGISTERS": block.registers})
        known = {"REGISTERS": self._tuning.registers_of_pairs}
        self._pairs = [device.program(one, precision, known) for one in (pairs_cuda.down_pairs, pairs_cuda.up_pairs)]
        self._is_open = is_open
        self.in_block = len(self._grids) - 1 if is_open else self._first_in_block()
        has_kind = precision == "single" and device.properties.compute_capability >= (8, 0)
        self.takes_pairs = has_kind and self.in_block > 0 and len(grids) > 1 and self.is_streamed(0, sweeps)
        self._always = device.array(np.ones(1))

    def _first_in_block(self) -> int:
        """Return the finest grid that fits shared memory with all coarser ones, or the number of grids."""
        sizes, max_bytes = [grid.shape[0] * grid.shape[1] for grid in self._grids], self.device.properties.shared_block
        word = block_cuda.WORDS * np.dtype(self._real).itemsize
        fits = (n for n in range(len(sizes)) if word * sum(sizes[n:]) + block_cuda.STATIC <= max_bytes)
        return next(fits, len(sizes))

    def is_streamed(self, level: int, sweeps: tuple[int, int]) -> bool:
        """Return whether a grid uses streaming kernels."""
        grid = self._grids[level]
        return sweeps == (1, 1) and (grid.step_y, grid.step_x) == (2, 2) and min(grid.shape) >= SHORTEST

    def launches(
        self,
        level: int,
        arrays: Sequence[tuple[Any, Any, Any]],
        used: Sequence[int],
        sweeps: tuple[int, int],
        last: int,
        plain: Callable[[int, list[Launch]], list[Launch]],
        control: Any = None,
    ) -> list[Launch]:
        """Return the cycle from a grid on, with a zero initial guess.

        Parameters
        ----------
        level : int
        arrays : sequence of (u, f, q)
            Arrays of the grids.
        used : sequence of int
            Number of grids of each layer.
        sweeps : (pre, post)
        last : int
            Number of sweeps on the coarsest grid.
        plain : callable
            ``plain(level, coarser)``: cycle on a grid without a fast kernel, around the cycle on the coarser grids.
        control : array, optional
            Control data of a `StopTest`: launches do nothing after convergence.
        """
        control = self._always if control is None else control
        layers = sum(count > level for count in used)
        if not layers:
            return []
        if self._is_open and level + 1 == len(self._grids):
            return [REST]
        u, f, q = arrays[level]
        screening = Screening(self._s, q)
        if level >= self.in_block:
            return [
                self._in_block(
                    level, u, f, screening, [count - level for count in used[:layers]], sweeps, last, control
                )
            ]
        coarser = level + 1 < len(self._grids)
        coarse_launches = self.launches(level + 1, arrays, used, sweeps, last, plain, control) if coarser else []
        if not coarser or not self.is_streamed(level, sweeps):
            return plain(level, coarse_launches)
        visiting = sum(count > level + 1 for count in used)
        (e, coarse_f, _), stream = arrays[level + 1], self._stream
        going_down, going_up = self._pairs if f.dtype == np.uint32 else (self._down, self._up)
        down = [stream(going_down, level, visiting, f, screening, coarse_f, control=control)] if visiting else []
        return [*down, *coarse_launches, stream(going_up, level, layers, u, f, screening, e, control=control)]

    def _stream(self, program: Any, level: int, count: int, *arguments: Any, control: Any) -> Launch:
        (ny, nx), tuning = self._grids[level].shape, self._tuning
        layers = -(-count // 2) if program in self._pairs else count
        tiles, min_warps = -(-nx // streaming_cuda.STRIP), tuning.busy * self.device.multiprocessors
        rows = next((n for n in tuning.rows if tiles * -(-ny // n) * layers >= min_warps), tuning.rows[-1])
        blocks, block = (tiles, -(-ny // rows), -(-layers // tuning.warps)), (streaming_cuda.LANES, tuning.warps)
        return Launch(program, (*arguments, count, rows, self._points[level], control), blocks, block)

    def _in_block(
        self,
        level: int,
        u: Any,
        f: Any,
        screening: Screening,
        used: list[int],
        sweeps: tuple[int, int],
        last: int,
        control: Any,
    ) -> Launch:
        grids = self._grids[level:]
        table, over, total = block_cuda.table_of(grids)
        columns, rows = block_cuda.threads_of(*grids[0].shape)
        number, table = self.device.array(np.array(used, np.int32)), self.device.array(table)
        over = self.device.array(over.astype(self._real))
        coarsening = block_cuda.Grids(table, over, total, int(grids[0].x.periodic), int(grids[0].y.periodic))
        arguments = (u, f, screening, number, coarsening, (*sweeps, last), control)
        shared = block_cuda.WORDS * total * np.dtype(self._real).itemsize
        return Launch(self._block, arguments, (len(used),), (columns, rows), shared)
