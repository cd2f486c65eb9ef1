"""Column systems of `columns` on several devices, each of which holds a slab of rows.

A slab computes both recurrences over its m rows, t = 0 .. m - 1, without contributions from outside, and stores two
values per column: p of its first row and g of its last one (where p = g). With G the g of the row before the slab, P
the p of the row after it, and p_0 of the wall, as in `columns`, with j = s + t the row in the box,

    p_j = p_j (slab only) + G (r^(t + 1) - r^(2 m - t + 1)) / (1 - r^2) + P r^(m - t),
    x_j = -r dy^2 (p_j - p_0 (r^j - r^(2 ny - j)) / (1 - r^(2 ny))),

so the contributions of the other slabs and the walls to a column of a slab are U r^(t + 1) + V r^(m - t). U and V are
sums of the stored values with precomputed factors. The solution is exact: slabs only change the order of operations.
Devices exchange two values per column and slab instead of a transposed field.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, grid_dependency_wait, prange, real, switch
from eagre.backend.device import Device, HostCall, Launch, check_precision
from eagre.solvers.poisson.columns import CHUNK, DECAY, DELTA, FAR, NOWHERE, column_table
from eagre.solvers.poisson.rows_cuda import row_of_tile

WIDTH = switch("WIDTH", 8)  # wavenumbers per tile of the spectrum
EARLY = switch("EARLY", 0)  # whether the kernel may start before the previous one has ended
FIRST, LAST = range(2)  # rows of a slab whose values are stored
Launches = list[Launch | HostCall]
NEGLIGIBLE = {"single": 18.0, "double": 38.0}  # exp(-NEGLIGIBLE) is negligible compared with 1


@cell
def ends_taken(i, spectrum, ends, last):
    """Copy the first row and row `last` of a slab's spectrum, wavenumber i, to ends[0], ends[1]."""
    tile, lane = i // WIDTH, i % WIDTH
    ends[0, i] = spectrum[tile, row_of_tile(np.uint64(1)), lane]
    ends[1, i] = spectrum[tile, row_of_tile(np.uint64(last + 1)), lane]


@cell
def summed_point(ends, couplings, side, k):
    """Return U (side 0) or V (side 1) of wavenumber k."""
    total = real(0.0)
    for n in range(ends.shape[0]):
        total += couplings[side, n, k] * ends[n, k]
    return total


@entry
def join_bands_cuda(spectrum, ends, couplings, decay, row_blocks, rows):
    """Add U r^(t + 1) + V r^(m - t) to row t of m = `rows` of a spectrum in tiles, in place, where it is significant.

    spectrum : (tiles, rows + 1 or more, WIDTH); ends : (2 slabs, tiles WIDTH); couplings : (2, 2 slabs, tiles WIDTH);
    decay : (tiles WIDTH,); row_blocks : (blocks, 2), tile and first row of the rows of a block, threads / WIDTH.
    """
    tile, lane = np.uint64(row_blocks[cuda.blockIdx.x, 0]), np.uint64(cuda.threadIdx.x % WIDTH)
    t = row_blocks[cuda.blockIdx.x, 1] + cuda.threadIdx.x // WIDTH
    k = tile * np.uint64(WIDTH) + lane
    rate = decay[k]
    if EARLY > 0:
        grid_dependency_wait()
    if t < rows:
        change = summed_point(ends, couplings, 0, k) * math.exp(-(rate * real(t + 1)))
        change += summed_point(ends, couplings, 1, k) * math.exp(-(rate * real(rows - t)))
        spectrum[tile, row_of_tile(np.uint64(t + 1)), lane] += change


def coupled_row_blocks(decay: np.ndarray, width: int, rows: int, far: float, threads: int) -> np.ndarray:
    """Return tile and first row of all groups of threads / width rows where exp(-decay t) > exp(-far), (blocks, 2)."""
    height = threads // width
    start = np.arange(0, rows, height)
    nearest = np.minimum(start + 1, rows + 1 - np.minimum(start + height, rows))  # rows from the nearer interface
    slowest = decay.reshape(-1, width).min(axis=1)
    return np.argwhere(slowest[:, None] * nearest < far) * (1, height)


class Slab(NamedTuple):
    """Rows of one device: its index from south to north, and the numbers of unknown rows of all devices."""

    index: int = 0
    heights: tuple[int, ...] = ()  # empty: one device has all rows

    @property
    def first(self) -> int:
        """Index of the first unknown row; row 0 is the southern wall."""
        return 1 + sum(self.heights[: self.index])

    @property
    def rows(self) -> slice:
        """Rows of a global field on this device, including walls or halo rows."""
        return slice(self.first - 1, self.first + self.heights[self.index] + 1) if self.heights else slice(None)

    @property
    def walls(self) -> tuple[bool, bool]:
        """South and north: True if the boundary points are walls (or periodic), False if they are halo rows."""
        return self.index == 0, self.index + 1 >= len(self.heights)


def slab_heights(rows: int, slabs: int) -> list[int]:
    """Return the rows of each slab, from south to north, as equal as possible."""
    return [rows // slabs + (slab < rows % slabs) for slab in range(slabs)]


def slab_couplings(heights: Sequence[int], nx: int, dx: float, dy: float, screening: float = 0.0) -> np.ndarray:
    """Return the factors of U and V of every slab, (slabs, 2, 2 slabs, nx), computed in double precision.

    Parameters
    ----------
    heights : sequence of int
        Rows of the slabs from south to north, all interior rows together.
    nx : int
        Intervals along x; column 0 has no wavenumber.
    dx, dy : float
        Spacing.
    screening : float
        See `column_table`.

    Returns
    -------
    array
        [slab, 0 for U and 1 for V, 2 n + FIRST or LAST]: contribution of p of the first or last row of slab n.
    """
    slabs, ny = len(heights), sum(heights) + 1
    decay = column_table(nx, ny, dx, dy, screening)[DECAY, 1:]
    unit = np.repeat(np.eye(2 * slabs)[:, :, None], nx - 1, axis=2)

    def power(n: float) -> np.ndarray:
        """Return r^n of every wavenumber."""
        return np.exp(-n * decay)

    def below(n: float) -> np.ndarray:
        """Return 1 - r^n."""
        return -np.expm1(-n * decay)

    forward = [np.zeros((2 * slabs, nx - 1))]  # G of each slab
    for n, m in enumerate(heights):
        forward.append(unit[2 * n + LAST] + power(m) * forward[n])
    backward = [np.zeros((2 * slabs, nx - 1))]  # P of each slab, from north to south
    for n, m in reversed(list(enumerate(heights))):
        passed = power(1) * below(2 * m) / below(2) * forward[n]
        backward.append(unit[2 * n + FIRST] + passed + power(m) * backward[-1])
    backward.reverse()
    wall = power(1) * backward[0] / below(2 * ny)
    couplings = np.zeros((slabs, 2, 2 * slabs, nx))
    for n, m in enumerate(heights):
        start = 1 + sum(heights[:n])
        couplings[n, 0, :, 1:] = forward[n] / below(2) - wall * power(start - 1)
        couplings[n, 1, :, 1:] = backward[n + 1] - forward[n] * power(m + 1) / below(2)
        couplings[n, 1, :, 1:] += wall * power(2 * ny - start - m)
    return couplings


@cell
def summed(ends, couplings, side, first, last, total):
    """Compute U (side 0) or V (side 1) of wavenumbers first <= k < last."""
    for k in range(last - first):
        total[k] = 0.0
    for n in range(ends.shape[0]):
        for k in range(last - first):
            total[k] += couplings[side, n, first + k] * ends[n, first + k]


@cell
def faded(total, table, first, last):
    """Advance a contribution by one row, with its decay."""
    for k in range(last - first):
        total[k] -= table[DELTA, first + k] * total[k]


@entry
def join_bands_cpu(f, ends, couplings, table, scratch):
    """Add U r^(t + 1) + V r^(m - t) to row t of m, in place, where it is significant.

    f : (m, nx - 1), result of `solve_columns_cpu` without walls; ends : (2 slabs, nx - 1), first and last rows of all
    slabs;
    couplings : (2, 2 slabs, nx - 1) and table : (7, nx - 1), in double precision; scratch : (chunks, 2, CHUNK), double.
    """
    rows = f.shape[0]
    for chunk in prange(scratch.shape[0]):
        first = chunk * CHUNK
        last = min(first + CHUNK, f.shape[1])
        low, high = scratch[chunk, 0], scratch[chunk, 1]
        summed(ends, couplings, 0, first, last, low)
        summed(ends, couplings, 1, first, last, high)
        felt = min(rows, int(FAR / table[DECAY, first]) + 1)
        for t in range(felt):
            faded(low, table, first, last)
            faded(high, table, first, last)
            for k in range(last - first):
                f[t, first + k] += low[k]
            for k in range(last - first):
                f[rows - 1 - t, first + k] += high[k]


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
        row_blocks = coupled_row_blocks(decay, self.width, self.rows, NEGLIGIBLE[self.precision], self._threads)
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
