"""Memory transactions of tiles with halos: equations 1 and 2 of the paper, and in 32-byte sectors with an L2 cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eagre.layouts.facts import WARP

LINE = 128  # bytes of a transaction of cards of the paper
SECTOR = 32  # bytes of one of today's


def elements(rows: int, columns: int) -> int:
    """Elements that a tile reads, a halo of one without its corners (equation 1)."""
    return rows * columns + 2 * columns + 2 * rows


def transactions(rows: int, columns: int, word: int = 8) -> int:
    """Lines of 128 bytes that a tile reads (equation 2): the columns of its halo cost one an element.

    `columns` run along the contiguous axis; `word` is the bytes of an element.
    """
    lines = -(-columns * word // LINE)
    return rows * lines + 2 * lines + 2 * rows


@dataclass(frozen=True)
class Tile:
    """A tile of `rows` x `columns` threads on a plane, and what all tiles of the plane cost together."""

    rows: int
    columns: int
    blocks: int
    each: int  # transactions of a tile
    overhead: float  # transactions of all of them over those of the plane itself

    @property
    def total(self) -> int:
        """Transactions of all tiles."""
        return self.blocks * self.each


def tile(rows: int, columns: int, plane: tuple[int, int], word: int = 8) -> Tile:
    """Cost of tiles of one shape on a plane of (rows, columns) elements."""
    blocks = -(-plane[0] // rows) * -(-plane[1] // columns)
    each = transactions(rows, columns, word)
    return Tile(rows, columns, blocks, each, blocks * each * LINE / (plane[0] * plane[1] * word))


def tiles(plane: tuple[int, int], most_threads: int, word: int = 8) -> list[Tile]:
    """All tiles of whole warps with at most so many threads, cheapest first; of equal ones the wider first.

    Reproduces Tables III (768 threads) and IV (256) of the paper, on (392, 256) elements.
    """
    found = [
        tile(rows, columns, plane, word)
        for columns in range(WARP, most_threads + 1, WARP)
        for rows in range(1, most_threads // columns + 1)
    ]
    return sorted(found, key=lambda one: (one.total, -one.columns))


def sectors(first: int, count: int, word: int) -> int:
    """Sectors that `count` elements touch from element `first` on, of a row that begins on a sector."""
    return -(-(first + count) * word // SECTOR) - first * word // SECTOR if count > 0 else 0


def _rows(n: int, size: int, halo: int) -> Iterator[tuple[int, int]]:
    """First element and count of each piece of `size` elements of an axis, with its halo within the axis."""
    for start in range(0, n, size):
        low = max(0, start - halo)
        yield low, min(n, start + size + halo) - low


@dataclass(frozen=True)
class Moved:
    """What tiles of a plane move, over the bytes of the plane."""

    l2: float  # between the multiprocessors and the L2 cache
    memory: float  # between the cache and the memory


def moved(rows: int, columns: int, plane: tuple[int, int], *, halo: int = 1, word: int = 8, kept: bool = True) -> Moved:
    """Reads of tiles on a card of today, in sectors, corners of the halo included.

    Parameters
    ----------
    rows, columns : int
        Elements of a tile without its halo, columns along the contiguous axis.
    plane : (rows, columns)
        Elements of the plane; a row begins on a sector.
    halo : int
        Elements on each side.
    word : int
        Bytes of an element.
    kept : bool
        Whether the L2 cache keeps what a tile has read until its neighbours ask for it (see `kept_in_l2`). The memory
        then gives each sector once.
    """
    across = sum(sectors(first, count, word) for first, count in _rows(plane[1], columns, halo))
    down = sum(count for _, count in _rows(plane[0], rows, halo))
    least = plane[0] * sectors(0, plane[1], word)
    l2 = down * across / least
    return Moved(l2, 1.0 if kept else l2)


def kept_in_l2(l2: int, blocks: int, rows: int, columns: int, arrays: int, planes: int, word: int = 8) -> bool:
    """Whether half of an L2 cache of `l2` bytes holds what all blocks that run at once have on their way.

    A block that goes from plane to plane has `planes` planes of its tile of each of `arrays`. An estimate: half,
    because stores pass through the same cache.
    """
    return blocks * rows * columns * arrays * planes * word <= l2 // 2
