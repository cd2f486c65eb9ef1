"""The tiles of a march that a step can change: a list on the device, exact while water moves.

A cell is *live* where there is depth or momentum, or where something may bring it: rain or a discharge inside, a side
that is open or periodic, the seam to another device. In the hydrostatic treatment the flux between two dry cells is 0
to the last bit, so a stage changes live cells and those beside them, and a step of two stages nothing further than two
cells away.

The first stage of step n leaves of every tile that it works on where it has live cells: anywhere, and along each side.
Step n + 1 works on all tiles that had a live cell in them or within four cells: two for what step n has changed since,
two for what step n + 1 changes. Other tiles have the same values in all buffers, so that none needs to be written: the
last step that worked on such a tile found nothing live within reach and wrote what it read. A step that was refused is
made again with its own list, since its buffers have not changed places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell, cuda, entry, real, serial_entry
from eagre.backend.device import Device, Launch
from eagre.boundaries.sides import SIDES, FaceRange
from eagre.grid import Grid
from eagre.stepping.clock import STEPS, open_gate
from eagre.terms.collect import Part, Terms

REACH = 4  # cells within which something live makes a tile a part of the next step; no tile but the last is smaller
# Bits of a tile: live cells in it, and within REACH of each of its sides.
LIVE, SOUTH_STRIP, NORTH_STRIP, WEST_STRIP, EAST_STRIP = 1, 2, 4, 8, 16
EVERYWHERE = 31
MADE = 2  # after the two counts: the step whose list there is
MOST_WET, MOST_LISTED = 0.5, 0.75  # of all cells or tiles: up to here a list pays
LOOKS = 32  # between two questions whether it pays again
PROBES = (0.37, -1.9)  # a force that these do not wake up without water never acts there


class Active(NamedTuple):
    """What a march reads and writes of the list; steps of even and of odd number count in turn."""

    listed: np.ndarray  # numbers of tiles, row by row of tiles
    work: np.ndarray  # how many of them there are in even and in odd steps, MADE
    live: np.ndarray  # (rows of tiles + 2, tiles a row + 2) bits, with zeros all round


@cell
def is_near(live, always, j, i):
    """Whether tile (j, i) has a live cell in it or within REACH of it."""
    near = ((live[j + 1, i + 1] | always[j + 1, i + 1]) & LIVE) != 0
    for dj in range(3):
        for di in range(3):
            facing = NORTH_STRIP if dj == 0 else (SOUTH_STRIP if dj == 2 else 0)
            facing |= EAST_STRIP if di == 0 else (WEST_STRIP if di == 2 else 0)
            found = (live[j + dj, i + di] | always[j + dj, i + di]) & facing
            near = near or (found == facing and facing != 0)
    return near


@cell
def live_cells(q, s, over, j, corner, n):
    """How many of n cells of row j of q are live; two columns before them: `corner` in q, `over` in s (1/h)."""
    found = 0
    for i in range(n):
        c = corner + i + 2
        wet = s[over + i + 2] > real(0.0)
        found += 1 if wet or q[1, j, c] != real(0.0) or q[2, j, c] != real(0.0) else 0
    return found


@cell
def live_bits(q, s, over, j, i0, r, rows, n):
    """Where in a tile of `rows` rows the n cells of its row r, which is row j of q, are live: bits."""
    bits, start = 0, np.uint32(over)
    if live_cells(q, s, start, j, i0, n) > 0:
        bits = LIVE | (SOUTH_STRIP if r < REACH else 0) | (NORTH_STRIP if r + REACH >= rows else 0)
        few = min(n, REACH)
        last = np.uint32(n - few)
        bits |= WEST_STRIP if live_cells(q, s, start, j, i0, few) > 0 else 0
        bits |= EAST_STRIP if live_cells(q, s, np.uint32(start + last), j, np.uint32(i0 + last), few) > 0 else 0
    return bits


@serial_entry
def list_tiles_cpu(active, always, clock, turn):
    """List the tiles of the coming step; nothing if this is another attempt at it."""
    listed, work, live = active
    step = np.int32(clock[STEPS])
    if open_gate(clock, turn) and work[MADE] != step:
        count, across = 0, live.shape[1] - 2
        for j in range(live.shape[0] - 2):
            for i in range(across):
                if is_near(live, always, j, i):
                    listed[count] = j * across + i
                    count += 1
        work[step & 1] = count
        work[MADE] = step


@entry
def list_tiles_cuda(active, always, clock, turn):
    """As `list_tiles_cpu`, a thread a tile, in any order; the first stage marks the step as made (`tiles_to_do`)."""
    listed, work, live = active
    room = cuda.shared.array(2, np.int32)
    step = np.int32(clock[STEPS])
    if not open_gate(clock, turn) or work[MADE] == step:
        return
    down, across = np.uint32(live.shape[0] - 2), np.uint32(live.shape[1] - 2)
    t = np.uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
    if cuda.threadIdx.x == 0:
        room[0] = 0
    cuda.syncthreads()
    near = t < down * across and is_near(live, always, np.uint32(t // across), np.uint32(t % across))
    place = cuda.atomic.add(room, 0, 1) if near else 0
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        room[1] = cuda.atomic.add(work, step & 1, room[0])
    cuda.syncthreads()
    if near:
        listed[np.uint32(room[1] + place)] = t


class ActiveTiles:
    """The list of a run on its device.

    Parameters
    ----------
    setup : Setup
    device : Device
    rows, columns : int
        Cells of a tile; the last ones may have fewer.
    """

    def __init__(self, setup: Any, device: Device, rows: int, columns: int) -> None:
        grid = setup.grid
        self._device, self.size = device, (rows, columns)
        down, across = -(-grid.ny // rows), -(-grid.nx // columns)
        self.count = down * across
        self._all = np.zeros((down + 2, across + 2), np.int32)
        self._all[1:-1, 1:-1] = EVERYWHERE
        self.active = Active(
            device.zeros((self.count,), np.int32), device.zeros((3,), np.int32), device.zeros(self._all.shape, np.int32)
        )
        stirred = always_live(grid, setup.terms, setup.faced)
        self._always = device.array(bits_of(stirred, rows, columns))
        self._report = device.pinned((3,), np.int32)
        self.report = device.transfer(self._report, self.active.work)

    def wake(self, step: int) -> None:
        """Work on all tiles in the coming step: the buffers do not agree."""
        self._device.fill(self.active.live, self._all)
        self._device.fill(self.active.work, np.array([0, 0, -1], np.int32))
        self._first = step

    def knows(self, step: int) -> bool:
        """Whether the step before `step` had a list that was not of all tiles for a start."""
        return step > self._first + 1

    def share(self, step: int) -> float:
        """Of all tiles, those that the step before `step` worked on, as the last leg reported."""
        return float(self._report[(step - 1) & 1]) / self.count

    def launch(self, precision: str, clock: Any, turn: int, **switches: Any) -> Launch:
        """What lists the tiles of the coming step."""
        arguments = (self.active, self._always, clock, turn)
        if self._device.kind == "cpu":
            return Launch(self._device.program(list_tiles_cpu, precision, switches), arguments)
        program = self._device.program(list_tiles_cuda, precision, switches)
        threads = self._device.layout("programs.loop").line
        return Launch(program, arguments, (-(-self.count // threads[0]),), tuple(threads))


class Chooser:
    """Whether a run works on the tiles of a list, decided at looks from what is known there.

    Parameters
    ----------
    active_tiles : {"auto", "on", "off"}
    tiles : ActiveTiles or None
        None if there is no list.
    """

    def __init__(self, active_tiles: str, tiles: ActiveTiles | None) -> None:
        self._auto, self._tiles = active_tiles == "auto", tiles
        self.listed, self._looks = tiles is not None and active_tiles == "on", 0

    def begin(self, step: int, wet_share: Callable[[], float]) -> None:
        """A run begins with a state, before step `step`; wet_share : gives the part of all cells that is wet."""
        if self._tiles is not None:
            self.listed, self._looks = not self._auto or wet_share() < MOST_WET, 0
            self._tiles.wake(step)

    def choose(self, step: int, wet_share: Callable[[], float]) -> None:
        """Before a leg that begins with step `step`."""
        if self._tiles is None or not self._auto:
            return
        if self.listed:
            self.listed = self._tiles.share(step) <= MOST_LISTED or not self._tiles.knows(step)
            self._looks = 0
        else:
            self._looks += 1
            if self._looks % LOOKS == 0 and wet_share() < MOST_WET:
                self.listed = True
                self._tiles.wake(step)

    def never(self) -> None:
        """Work on all tiles from now on."""
        self.listed, self._tiles = False, None

    def wake(self, step: int) -> None:
        """A buffer was used for something else before step `step`."""
        if self._tiles is not None:
            self._tiles.wake(step)


def bits_of(live: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Bits of all tiles with zeros all round; live : (ny, nx), whether a cell is."""
    (first_j, south, north), (first_i, west, east) = (
        _strips(count, size) for count, size in zip(live.shape, (rows, columns), strict=True)
    )
    by_columns, by_rows = np.logical_or.reduceat(live, first_i, axis=1), np.logical_or.reduceat(live, first_j)
    found = LIVE * np.logical_or.reduceat(by_columns, first_j).astype(np.int32)
    for bit, strip in ((SOUTH_STRIP, south), (NORTH_STRIP, north)):
        found += bit * np.logical_or.reduceat(by_columns & strip[:, None], first_j)
    for bit, strip in ((WEST_STRIP, west), (EAST_STRIP, east)):
        found += bit * np.logical_or.reduceat(by_rows & strip, first_i, axis=1)
    return np.pad(found, 1)


def _strips(count: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where tiles of so many cells begin, and which cells are within REACH of the low and of the high end of theirs."""
    place = np.arange(count)
    low = place % size
    high = np.minimum(place - low + size, count) - 1 - place
    return place[::size], low < REACH, high < REACH


def always_live(grid: Grid, terms: Terms, faced: Sequence[FaceRange]) -> np.ndarray:
    """Cells that something may bring water or momentum to, whatever is in them, (ny, nx); faced : of the own rows."""
    found = np.zeros(grid.shape, bool)
    for part in terms.water:
        found |= _brings(part, grid)
    for part in (*terms.x, *terms.y):
        if any(part.cell(0.0, 0.0, 0.0, *[probe] * len(part.quantities)) != 0.0 for probe in PROBES):
            found[...] = True
    closed = {side: np.zeros(grid.ny if side in ("west", "east") else grid.nx, bool) for side in SIDES}
    for segment in faced:
        closed[segment.side][segment.first : segment.last] = segment.condition.closed and not segment.condition.periodic
    found[:, 0] |= ~closed["west"]
    found[:, -1] |= ~closed["east"]
    found[0] |= ~closed["south"]
    found[-1] |= ~closed["north"]
    return found


def live_share(depth: np.ndarray, grid: Grid, terms: Terms, faced: Sequence[FaceRange]) -> float:
    """Part of the cells that are live at the start of a run: with water, or always."""
    return float(((depth > 0.0) | always_live(grid, terms, faced)).mean())


def _brings(part: Part, grid: Grid) -> np.ndarray:
    """Where a term may bring water: where one of its quantities is not 0, or everywhere if it needs none."""
    if part.cell(*[0.0] * len(part.quantities)) != 0.0:
        return np.ones(grid.shape, bool)
    found = np.zeros(grid.shape, bool)
    for quantity in part.quantities:
        if not quantity.is_zero:
            found |= quantity.map(grid) != 0.0
    return found
