"""Arguments and launches of the kernels of `columns_cuda`: generated code with vertical weights, tiles, arrays."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.models.potential_waves.laplace import columns_cuda as kernels
from eagre.models.potential_waves.laplace.stencils import Modes, Vertical

TILE = (8, 32)  # rows and columns of a tile in the plane
TALL = (12, 32)  # if the halo of order 8 has more points than the tile has threads
LINE = (1, 128)  # for grids of one row


class CudaColumns:
    """Residual and correction of a `LaplaceProblem` on a GPU; other stages use the kernels of `reference`.

    Parameters
    ----------
    device : Device
    precision, correction : {"single", "double"}
        Of the volume, and of modes and corrections.
    vertical : Vertical
    modes : Modes
    shape : (ny, nx)
    spacing : (dy, dx)
        m.
    periodic : (y, x)
    own : slice
        Rows that are corrected.
    ghosts : bool
        Whether Psi below the bottom is an unknown: of lines along sigma.
    """

    def __init__(
        self,
        device: Device,
        precision: str,
        correction: str,
        vertical: Vertical,
        modes: Modes,
        shape: tuple[int, int],
        spacing: tuple[float, float],
        periodic: tuple[bool, bool],
        interior: slice,
        ghosts: bool = False,
    ) -> None:
        self._device, self._shape = device, shape
        (ny, nx), half, real = shape, vertical.order // 2, check_precision(precision)
        over = (0.0 if n == 1 else 1.0 / d for n, d in zip((nx, ny), spacing[::-1], strict=True))
        self._numbers = (*map(real, over), int(periodic[1]), int(periodic[0]))
        self._missing = device.zeros((1, *shape) if ghosts else (1, 1, 1), real)
        self._tile = LINE if ny == 1 else (TALL if vertical.order == 8 else TILE)
        known, short = (precision, correction), any(1 < n <= vertical.order for n in shape)
        registers = device.parameters("potential-waves.columns").registers[precision]

        @cache
        def residual(paired: bool) -> Any:
            column = kernels.residual_cell(vertical, ny > 1, modes.to_modes, self._tile, known, ghosts, short, paired)
            return device.program(kernels.set_residuals, precision, {"COLUMN": column, "REGISTERS": registers})

        @cache
        def correct(paired: bool) -> Any:
            corrected = kernels.correction_cell(vertical, modes.to_layers, ghosts, paired)
            return device.program(kernels.correct_columns, precision, {"CORRECTED": corrected})

        self._residual, self._correct = residual, correct
        tall, wide = self._tile
        self._shared = 2 * (wide + 2 * half) * (tall + 2 * half) * np.dtype(real).itemsize
        self._first_column, self._end = interior.start * nx, interior.stop * nx
        self._items = -(-(self._end - self._first_column) // kernels.LINE)
        self._partials = None
        if interior.stop - interior.start < ny:  # a slab: the other devices need its sum
            self._partials = device.zeros((self._items,), np.float64)
            self._add = device.program(kernels.add_squares, "double")

    def squares_of(self, rows: int) -> tuple[tuple[int, ...], int | None]:
        """Return the shape of the sums of squares: one per block, or a single one for a slab; not by rows (None)."""
        return (self._items if self._partials is None else 1,), None

    def defect(self, psi: Any, geometry: Any, sources: Any, w: Any, f: Any, control: Any) -> list[Launch]:
        """Return launches that write the modes of the residual of psi to f."""
        (ny, nx), (tall, wide) = self._shape, self._tile
        arguments = (psi, f, geometry, sources, self._missing, self._numbers, control)
        blocks = (-(-nx // wide), -(-ny // tall))
        return [Launch(self._residual(f.dtype == np.uint32), arguments, blocks, (wide, tall), self._shared)]

    def correct(self, u: Any, psi: Any, squares: Any, relaxation: Any, control: Any) -> list[Launch]:
        """Return launches that add the correction from the modes u and sum its squares."""
        partials = squares if self._partials is None else self._partials
        arguments = (u, psi, self._missing, relaxation, partials, self._first_column, self._end, control)
        launches = [Launch(self._correct(u.dtype == np.uint32), arguments, (self._items,), (kernels.LINE,))]
        if self._partials is not None:
            launches.append(Launch(self._add, (partials, squares, control), (1,), (kernels.SUMMED,)))
        return launches
