"""Memory transactions of tiles with halos: equations 1 and 2 of the paper, and 32-byte sectors with an L2 cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eagre.layouts.gpu_properties import WARP

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
