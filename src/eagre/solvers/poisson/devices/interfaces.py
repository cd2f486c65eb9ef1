"""Exchange between slabs (`slabs`) and its application; one object per slab."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device, HostCall, Launch, check_precision
from eagre.solvers.poisson.columns import CHUNK, DECAY, NOWHERE, column_table
from eagre.solvers.poisson.devices.slabs import slab_couplings
from eagre.solvers.poisson.devices.slabs_cpu import join_bands_cpu
from eagre.solvers.poisson.devices.slabs_cuda import coupled_row_blocks, ends_taken, join_bands_cuda

Launches = list[Launch | HostCall]
FAR = {"single": 18.0, "double": 38.0}  # exp(-FAR) is negligible compared with 1


class CpuInterfaces:
    """Exchange of a slab on the CPU.

    Parameters
    ----------
    device : Device
    precision : {"single", "double"}
    index : int
        Index of the slab.
    heights : sequence of int
        Rows of all slabs.
    nx : int
        Intervals along x.
    dx, dy, screening : float
        See `column_table`.

    Attributes
    ----------
    ends : (2 slabs, wavenumbers) array
        First and last rows of all slabs; `leave` sets `local_rows`, the rows of this slab, the other rows are received
        from the devices of their slabs.
    """

    def __init__(
        self, device: Device, precision: str, index: int, heights: list[int], nx: int, dx: float, dy: float,
        screening: float,
    ) -> None:  # fmt: skip
        self.device, self.precision, self.rows = device, precision, heights[index]
        self.local_rows = slice(2 * index, 2 * index + 2)
        table = column_table(nx, sum(heights) + 1, dx, dy, screening)
        self._bind(2 * len(heights), slab_couplings(heights, nx, dx, dy, screening)[index], table)

    def _bind(self, ends: int, couplings: np.ndarray, table: np.ndarray) -> None:
        count = table.shape[1] - 1
        self.ends = np.zeros((ends, count), check_precision(self.precision))
        self._tables = (couplings[..., 1:].copy(), table[:, 1:].copy())
        self._scratch = np.zeros((-(-count // CHUNK), 2, CHUNK))

    def leave(self, work: Any) -> Launches:
        """Store the ends of this slab's columns, solved separately, for the exchange; `work` as in `Inversion.work`."""
        first, last = self.ends[self.local_rows]
        return [HostCall(np.copyto, (first, work[1, 1:-1])), HostCall(np.copyto, (last, work[-2, 1:-1]))]

    def join(self, work: Any) -> Launches:
        """Add the contributions of all ends."""
        program = self.device.program(join_bands_cpu, self.precision)
        return [Launch(program, (work[1:-1, 1:-1], self.ends, *self._tables, self._scratch))]


class CudaInterfaces(CpuInterfaces):
    """Exchange of a slab on a GPU; `tiles` : as in `Box`, set first."""

    def __init__(self, *arguments: Any, tiles: dict[str, int]) -> None:
        self.tiles, self.width = tiles, tiles["WIDTH"]
        super().__init__(*arguments)

    def _bind(self, ends: int, couplings: np.ndarray, table: np.ndarray) -> None:
        real, count = check_precision(self.precision), table.shape[1]
        padding = -count % self.width
        self.ends = self.device.zeros((ends, count + padding), real)
        decay = np.pad(table[DECAY], (0, padding), constant_values=NOWHERE)
        decay[0] = decay[1]  # wavenumber 0 does not exist
        padded = np.pad(couplings, ((0, 0), (0, 0), (0, padding)))
        self._threads = self.device.parameters("solver:poisson.seams").threads
        row_blocks = coupled_row_blocks(decay, self.width, self.rows, FAR[self.precision], self._threads)
        self._blocks = len(row_blocks)
        tables = (padded.astype(real), decay.astype(real), row_blocks.astype(np.int32))
        self._tables = tuple(map(self.device.array, tables))

    def leave(self, work: Any) -> Launches:
        program = self.device.loop(ends_taken, self.precision, self.tiles)
        arguments = (work, self.ends[self.local_rows], np.int32(self.rows - 1))
        return [self.device.over(program, (self.ends.shape[1],), arguments)]

    def join(self, work: Any) -> Launches:
        early = int(self.device.starts_early)
        program = self.device.program(join_bands_cuda, self.precision, {**self.tiles, "EARLY": early})
        arguments = (work, self.ends, *self._tables, np.int32(self.rows))
        return [Launch(program, arguments, (self._blocks,), (self._threads,), early=early > 0)]
