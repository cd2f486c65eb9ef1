"""What the kernels of `columns_cuda` are given: texts with the weights of the vertical grid, tiles, arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.models.potential_waves import columns_cuda as kernels
from eagre.models.potential_waves.stencils import Modes, Vertical

TILE = (8, 32)  # rows and columns of a tile in the plane
TALL = (12, 32)  # where the rim of order 8 has more points than the tile's threads
LINE = (1, 128)  # of one row


class CudaColumns:
    """Defect and correction of a `LaplaceProblem` on a GPU; what is done once a solution is left to plain cells.

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

    Attributes
    ----------
    sums : array on the device, (1, ny, nx)
        What the layers above the ghost make of the derivative at the bottom.
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
        own: slice,
    ) -> None:
        self._device, self._shape = device, shape
        (ny, nx), nz, half, real = shape, vertical.nz, vertical.order // 2, check_precision(precision)
        over = (0.0 if n == 1 else 1.0 / d for n, d in zip((nx, ny), spacing[::-1], strict=True))
        self._numbers = (*map(real, over), int(periodic[1]), int(periodic[0]))
        self._first = device.array(vertical.first[nz - 1][1:nz].astype(real))
        self._last = real(1.0 / vertical.first[nz - 1][nz])
        self.sums = device.zeros((1, *shape), real)
        self._bottom = device.loop(kernels.set_bottom_sum, precision)
        self._ghost = device.loop(kernels.ghost_cell(vertical, ny > 1), precision)
        self._tile = LINE if ny == 1 else (TALL if vertical.order == 8 else TILE)
        column = kernels.residual_cell(vertical, ny > 1, modes.to_modes, self._tile, (precision, correction))
        registers = device.layout("potential-waves.columns").registers[precision]
        switches = {"COLUMN": column, "REGISTERS": registers}
        self._residual = device.program(kernels.set_residuals, precision, switches)
        tall, wide = self._tile
        self._shared = 2 * (wide + 2 * half) * (tall + 2 * half) * np.dtype(real).itemsize
        corrected = {"CORRECTED": kernels.correction_cell(vertical, modes.to_layers)}
        self._correct = device.program(kernels.correct_columns, precision, corrected)
        self._first_column, self._end = own.start * nx, own.stop * nx
        self._items = -(-(self._end - self._first_column) // kernels.LINE)
        self._partials = None
        if own.stop - own.start < ny:  # a band: others ask for its sum
            self._partials = device.zeros((self._items,), np.float64)
            self._add = device.program(kernels.add_squares, "double")

    def squares_of(self, rows: int) -> tuple[tuple[int, ...], int | None]:
        """The shape of the sums of squares, one a block, of a band one of all; blocks know of no rows."""
        return (self._items if self._partials is None else 1,), None

    def begin(self, psi: Any) -> list[Launch]:
        """What an iteration needs to know of psi besides itself."""
        return [self._device.over(self._bottom, self._shape, (psi, self._first, self.sums))]

    def defect(self, psi: Any, geometry: Any, sources: Any, w: Any, f: Any, control: Any) -> list[Launch]:
        """The modes of the residual of psi, into f."""
        ghost = (psi, geometry, sources, self.sums, self._last, *self._numbers, control)
        (ny, nx), (tall, wide) = self._shape, self._tile
        arguments = (psi, f, geometry, sources, *self._numbers, control)
        blocks = (-(-nx // wide), -(-ny // tall))
        return [
            self._device.over(self._ghost, self._shape, ghost),
            Launch(self._residual, arguments, blocks, (wide, tall), self._shared),
        ]

    def correct(self, u: Any, psi: Any, squares: Any, relaxation: Any, control: Any) -> list[Launch]:
        """Add the correction that the modes u make, and the sums of its squares."""
        partials = squares if self._partials is None else self._partials
        arguments = (u, psi, self.sums, relaxation, partials, self._first_column, self._end, control)
        found = [Launch(self._correct, arguments, (self._items,), (kernels.LINE,))]
        if self._partials is not None:
            found.append(Launch(self._add, (partials, squares, control), (1,), (kernels.SUMMED,)))
        return found
