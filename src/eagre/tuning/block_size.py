"""The block of a stencil kernel, chosen at run time: Algorithm 3 of the paper, and a rule for cards of today."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from eagre.layouts.facts import MOST_THREADS, WARP, Facts
from eagre.tuning.occupancy import Limits
from eagre.tuning.transactions import tile

Bytes = Callable[[int, int], int]


def full_sizes(limits: Limits, registers: int, shared_thread: float) -> list[int]:
    """Threads of a block, largest first, with which the most warps run at the same time (Algorithm 3, first part).

    `registers` and `shared_thread`, bytes of shared memory, are those of a thread.
    """
    best, found = 0, []
    for threads in range(MOST_THREADS, WARP - 1, -WARP):
        warps = limits.warps_at_once(threads, registers, round(threads * shared_thread))
        if warps > best:
            best, found = warps, []
        if warps == best and warps > 0:
            found.append(threads)
    return found


@dataclass(frozen=True)
class Block:
    """A block of `rows` x `columns` threads; columns along the contiguous axis."""

    rows: int
    columns: int
    warps: int  # of a multiprocessor at the same time
    transactions: int  # of a plane

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return self.rows * self.columns


def shapes(threads: int) -> Iterable[tuple[int, int]]:
    """Rows and columns of blocks of so many threads, columns in whole warps; the widest first."""
    return ((threads // columns, columns) for columns in range(threads, WARP - 1, -WARP) if threads % columns == 0)


def tile_bytes(halo: int, word: int, arrays: int = 1) -> Bytes:
    """Shared memory of a tile with its halo."""
    return lambda rows, columns: arrays * (rows + 2 * halo) * (columns + 2 * halo) * word


def choose_block(
    limits: Limits,
    plane: tuple[int, int],
    *,
    registers: int = 32,
    shared: Bytes = lambda rows, columns: 0,
    word: int = 8,
) -> Block:
    """The block that keeps the most warps running and, of those, moves the least (Algorithm 3).

    Parameters
    ----------
    limits : Limits
        What a multiprocessor has: `Limits.of` a card, `KEPLER`, `HOPPER`.
    plane : (rows, columns)
        Elements of a plane of the grid, columns along the contiguous axis.
    registers : int
        Of a thread.
    shared : callable (rows, columns)
        Bytes of shared memory of a block; of a shape, where the paper has bytes of a thread.
    word : int
        Bytes of an element.

    Returns
    -------
    Block
        Of equal ones the one with the most threads, of these the widest.
    """
    found = [
        Block(rows, columns, warps, tile(rows, columns, plane, word).total)
        for threads in range(MOST_THREADS, WARP - 1, -WARP)
        for rows, columns in shapes(threads)
        if (warps := limits.warps_at_once(threads, registers, shared(rows, columns))) > 0
    ]
    if not found:
        raise ValueError(
            f"No block of {limits.name} has {registers} registers per thread and the required shared memory."
        )
    most = max(one.warps for one in found)
    return min((one for one in found if one.warps == most), key=lambda one: one.transactions)


def choose_march(facts: Facts, shape: tuple[int, int, int], *, word: int = 8, arrays: int = 2) -> tuple[int, int, int]:
    """Rows and columns of a block, and planes that it marches along, on a card whose second-level cache is large.

    Planes that lie in that cache need not be kept by a block: many short marches of small blocks have more loads under
    way. Where all arrays lie in it, half of the threads that a card can have march at the same time.

    Parameters
    ----------
    facts : Facts
        Of a card; multiprocessors, threads and second-level cache are read.
    shape : (planes, rows, columns)
        Points of the grid.
    word : int
        Bytes of an element.
    arrays : int
        Read and written.
    """
    points = math.prod(shape)
    if arrays * word * points > facts.l2:
        return 2, 64, min(8, shape[0])
    share = 2.0 * points / (facts.multiprocessors * facts.threads)
    return 8, 64, min(2 ** max(0, round(math.log2(share))), shape[0])
