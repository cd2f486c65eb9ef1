"""Choice of the block size of a stencil kernel: Algorithm 3 of the paper, and a rule for current GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from eagre.layouts.gpu_properties import MAX_THREADS, WARP, GpuProperties
from eagre.tuning.occupancy import Limits
from eagre.tuning.transactions import tile

Bytes = Callable[[int, int], int]


def full_sizes(limits: Limits, registers: int, shared_thread: float) -> list[int]:
    """Return the block sizes with maximum occupancy, largest first (Algorithm 3, first part).

    `registers` and `shared_thread`, bytes of shared memory, are per thread.
    """
    best, sizes = 0, []
    for threads in range(MAX_THREADS, WARP - 1, -WARP):
        warps = limits.warps_at_once(threads, registers, round(threads * shared_thread))
        if warps > best:
            best, sizes = warps, []
        if warps == best and warps > 0:
            sizes.append(threads)
    return sizes


@dataclass(frozen=True)
class Block:
    """Block of `rows` x `columns` threads; columns along the contiguous axis."""

    rows: int
    columns: int
    warps: int  # resident warps per multiprocessor
    transactions: int  # transactions per plane

    @property
    def threads(self) -> int:
        """Number of threads per block."""
        return self.rows * self.columns


def shapes(threads: int) -> Iterable[tuple[int, int]]:
    """Return rows and columns of blocks of `threads` threads with full warps, the widest first."""
    return ((threads // columns, columns) for columns in range(threads, WARP - 1, -WARP) if threads % columns == 0)


def tile_bytes(halo: int, word: int, arrays: int = 1) -> Bytes:
    """Return a function for the shared memory of a tile with its halo."""
    return lambda rows, columns: arrays * (rows + 2 * halo) * (columns + 2 * halo) * word


def choose_block(
    limits: Limits,
    plane: tuple[int, int],
    *,
    registers: int = 32,
    shared: Bytes = lambda rows, columns: 0,
    word: int = 8,
) -> Block:
    """Return the block with maximum occupancy and, among those, the fewest memory transactions (Algorithm 3).

    Parameters
    ----------
    limits : Limits
        Limits of a multiprocessor: `Limits.of` a device, `KEPLER`, `HOPPER`.
    plane : (rows, columns)
        Elements of a plane of the grid, columns along the contiguous axis.
    registers : int
        Registers per thread.
    shared : callable (rows, columns)
        Shared memory of a block, bytes, as a function of its shape (in the paper: per thread).
    word : int
        Size of an element, bytes.

    Returns
    -------
    Block
        Among equal blocks the one with the most threads, then the widest.
    """
    candidates = [
        Block(rows, columns, warps, tile(rows, columns, plane, word).total)
        for threads in range(MAX_THREADS, WARP - 1, -WARP)
        for rows, columns in shapes(threads)
        if (warps := limits.warps_at_once(threads, registers, shared(rows, columns))) > 0
    ]
    if not candidates:
        raise ValueError(
            f"No block of {limits.name} has {registers} registers per thread and the required shared memory."
        )
    max_warps = max(one.warps for one in candidates)
    return min((one for one in candidates if one.warps == max_warps), key=lambda one: one.transactions)


def choose_march(
    facts: GpuProperties, shape: tuple[int, int, int], *, word: int = 8, arrays: int = 2
) -> tuple[int, int, int]:
    """Return rows and columns of a block, and planes per block, of a streaming kernel on a GPU with a large L2.

    Planes in the L2 cache need not be kept by a block: many small blocks with few planes have more loads in flight. If
    all arrays fit the cache, half of the maximum number of resident threads is used.

    Parameters
    ----------
    facts : GpuProperties
        Properties of the device: multiprocessors, threads and L2 cache are used.
    shape : (planes, rows, columns)
        Points of the grid.
    word : int
        Size of an element, bytes.
    arrays : int
        Number of arrays read and written.
    """
    points = math.prod(shape)
    if arrays * word * points > facts.l2:
        return 2, 64, min(8, shape[0])
    planes = 2.0 * points / (facts.multiprocessors * facts.threads)
    return 8, 64, min(2 ** max(0, round(math.log2(planes))), shape[0])
