"""Choice of the block size of a stencil kernel: Algorithm 3 of the paper, and a rule for current GPUs.

It follows from the occupancy, blocks and warps that are resident on a multiprocessor, and from the memory transactions
of tiles with halos: equations 1 and 2 of the paper, and 32-byte sectors with an L2 cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from eagre.layouts.gpu_properties import MAX_THREADS, STATIC_SHARED, WARP, GpuProperties

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


KIB = 1024


@dataclass(frozen=True)
class Limits:
    """Resource limits of a multiprocessor, shared by its resident blocks."""

    name: str
    threads: int  # maximum resident threads
    blocks: int  # maximum resident blocks
    registers: int  # 32-bit registers
    shared: int  # bytes of shared memory
    shared_block: int  # maximum shared memory per block, bytes
    reserved: int = STATIC_SHARED  # reserved shared memory per block, bytes
    granule: int = 256  # allocation granularity of registers

    @classmethod
    def of(cls, facts: GpuProperties) -> Limits:
        """Return the limits of a device from its properties."""
        return cls(facts.name, facts.threads, facts.max_blocks, facts.registers, facts.shared, facts.shared_block)

    @property
    def warps(self) -> int:
        """Maximum number of resident warps."""
        return self.threads // WARP

    def blocks_at_once(self, threads: int, registers: int = 32, shared: int = 0) -> int:
        """Return the number of resident blocks; 0 if a block cannot be launched.

        Parameters
        ----------
        threads : int
            Threads per block.
        registers : int
            Registers per thread.
        shared : int
            Shared memory per block, bytes.
        """
        if not 0 < threads <= MAX_THREADS or shared > self.shared_block:
            return 0
        warps = -(-threads // WARP)
        each = -(-registers * WARP // self.granule) * self.granule
        by_shared = self.shared // max(shared + self.reserved, 1)
        return min(self.blocks, self.warps // warps, self.registers // each // warps, by_shared)

    def warps_at_once(self, threads: int, registers: int = 32, shared: int = 0) -> int:
        """Return the number of resident warps of a kernel."""
        return self.blocks_at_once(threads, registers, shared) * -(-threads // WARP)

    def occupancy(self, threads: int, registers: int = 32, shared: int = 0) -> float:
        """Return the occupancy: resident warps divided by the maximum."""
        return self.warps_at_once(threads, registers, shared) / self.warps


KEPLER = Limits("Tesla K40m", 2048, 16, 65536, 48 * KIB, 48 * KIB, reserved=0)
HOPPER = Limits("H100, H200", 2048, 32, 65536, 228 * KIB, 227 * KIB)


LINE = 128  # bytes per transaction of the GPUs of the paper
SECTOR = 32  # bytes per transaction of current GPUs


def elements(rows: int, columns: int) -> int:
    """Return the number of elements read by a tile with a halo of one element without corners (equation 1)."""
    return rows * columns + 2 * columns + 2 * rows


def transactions(rows: int, columns: int, word: int = 8) -> int:
    """Return the number of 128-byte lines read by a tile (equation 2): one per element for the halo columns.

    `columns` run along the contiguous axis; `word` is the size of an element, bytes.
    """
    lines = -(-columns * word // LINE)
    return rows * lines + 2 * lines + 2 * rows


@dataclass(frozen=True)
class Tile:
    """Tile of `rows` x `columns` threads, and the cost of all tiles of a plane."""

    rows: int
    columns: int
    blocks: int
    each: int  # transactions per tile
    overhead: float  # transactions of all tiles divided by those of the plane

    @property
    def total(self) -> int:
        """Number of transactions of all tiles."""
        return self.blocks * self.each


def tile(rows: int, columns: int, plane: tuple[int, int], word: int = 8) -> Tile:
    """Return the cost of tiles of one shape on a plane of (rows, columns) elements."""
    blocks = -(-plane[0] // rows) * -(-plane[1] // columns)
    each = transactions(rows, columns, word)
    return Tile(rows, columns, blocks, each, blocks * each * LINE / (plane[0] * plane[1] * word))


def tiles(plane: tuple[int, int], most_threads: int, word: int = 8) -> list[Tile]:
    """Return all tiles of full warps with at most `most_threads` threads, cheapest first, then widest.

    Reproduces Tables III (768 threads) and IV (256) of the paper, on (392, 256) elements.
    """
    candidates = [
        tile(rows, columns, plane, word)
        for columns in range(WARP, most_threads + 1, WARP)
        for rows in range(1, most_threads // columns + 1)
    ]
    return sorted(candidates, key=lambda one: (one.total, -one.columns))


def sectors(first: int, count: int, word: int) -> int:
    """Return the number of sectors of `count` elements from element `first` of a row that starts at a sector."""
    return -(-(first + count) * word // SECTOR) - first * word // SECTOR if count > 0 else 0


def _rows(n: int, size: int, halo: int) -> Iterator[tuple[int, int]]:
    """Return the first element and count of each tile of `size` elements along an axis, with its halo."""
    for start in range(0, n, size):
        low = max(0, start - halo)
        yield low, min(n, start + size + halo) - low


@dataclass(frozen=True)
class MemoryTraffic:
    """Memory traffic of tiles of a plane, divided by the size of the plane."""

    l2: float  # traffic between multiprocessors and L2 cache
    memory: float  # traffic between L2 cache and memory


def moved(
    rows: int, columns: int, plane: tuple[int, int], *, halo: int = 1, word: int = 8, kept: bool = True
) -> MemoryTraffic:
    """Return the reads of tiles on a current GPU in sectors, including corners of the halo.

    Parameters
    ----------
    rows, columns : int
        Elements of a tile without its halo, columns along the contiguous axis.
    plane : (rows, columns)
        Elements of the plane; rows start at a sector boundary.
    halo : int
        Halo width on each side, elements.
    word : int
        Size of an element, bytes.
    kept : bool
        Whether the L2 cache keeps the elements of a tile until neighbouring tiles need them (see `kept_in_l2`); each
        sector is then read from memory once.
    """
    across = sum(sectors(first, count, word) for first, count in _rows(plane[1], columns, halo))
    down = sum(count for _, count in _rows(plane[0], rows, halo))
    minimum = plane[0] * sectors(0, plane[1], word)
    l2 = down * across / minimum
    return MemoryTraffic(l2, 1.0 if kept else l2)


def kept_in_l2(l2: int, blocks: int, rows: int, columns: int, arrays: int, planes: int, word: int = 8) -> bool:
    """Return whether half of an L2 cache of `l2` bytes holds the working set of all resident blocks.

    A block that streams through planes uses `planes` planes of its tile of each of `arrays`. Half of the cache is an
    estimate, as stores use the same cache.
    """
    return blocks * rows * columns * arrays * planes * word <= l2 // 2
