"""Active tiles: list of the tiles that a step can change, on the device. Skipping the others is exact.

A cell is *live* if it has depth or momentum, or if rain, an internal discharge, an open or periodic boundary or the
interface to another device can supply water. In the hydrostatic scheme the flux between two dry cells is exactly 0. So
a stage changes live cells and their neighbours only, and a step of two stages changes cells up to two cells away.

The first stage of step n records where each tile has live cells: anywhere, and along each side. Step n + 1 computes all
tiles with a live cell inside or within four cells: two for the changes of step n since then, two for the changes of
step n + 1. All other tiles have equal values in all buffers, so that no buffer must be written: the last step that
computed such a tile found no live cell within reach and wrote the values that it read. A rejected step is repeated with
the same list, because its buffers have not changed roles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, real, serial_entry
from eagre.backend.device import Device, Launch
from eagre.boundaries.sides import SIDES, FaceRange
from eagre.boundaries.subdomain import clip_segments
from eagre.grid import Grid
from eagre.local_rows import LocalRows
from eagre.stepping.clock import STEPS, open_gate
from eagre.terms.collect import Contribution, Terms

REACH = 4  # distance in cells within which a live cell activates a tile; minimum size of all tiles except the last
# Bits of a tile: live cells inside, and within REACH of each of its sides.
LIVE, SOUTH_STRIP, NORTH_STRIP, WEST_STRIP, EAST_STRIP = 1, 2, 4, 8, 16
EVERYWHERE = 31
LISTED_STEP = 2  # index, after the two counts, of the step of the present list
# Maximum fractions of wet cells and of active tiles for which a list is faster.
MAX_WET_FRACTION, MAX_ACTIVE_FRACTION = 0.5, 0.75
CHECKS_PER_DECISION = 32  # state checks between two decisions whether to use a list again
DECISION_STEPS = 512  # steps between two decisions where they change the result
PROBES = (0.37, -1.9)  # a force that is 0 for these values at depth 0 never acts on dry cells


class Active(NamedTuple):
    """Active-tile list that the kernels read and write; even and odd steps alternate between two counts."""

    listed: np.ndarray  # numbers of the active tiles
    work: np.ndarray  # number of listed tiles in even and in odd steps, then LISTED_STEP
    live: np.ndarray  # bits, (rows of tiles + 2, tiles per row + 2), with a margin of zeros


@cell
def is_near(live, always, j, i):
    """Return whether tile (j, i) has a live cell inside or within REACH."""
    near = ((live[j + 1, i + 1] | always[j + 1, i + 1]) & LIVE) != 0
    for dj in range(3):
        for di in range(3):
            facing = NORTH_STRIP if dj == 0 else (SOUTH_STRIP if dj == 2 else 0)
            facing |= EAST_STRIP if di == 0 else (WEST_STRIP if di == 2 else 0)
            bits = (live[j + dj, i + di] | always[j + dj, i + di]) & facing
            near = near or (bits == facing and facing != 0)
    return near


@cell
def live_cells(q, s, over, j, corner, n):
    """Return the number of live cells among n cells of row j of q.

    corner, over : index in q and in the scratch s (1/h) of the cell two columns before the first.
    """
    count = 0
    for i in range(n):
        c = corner + i + 2
        wet = s[over + i + 2] > real(0.0)
        count += 1 if wet or q[1, j, c] != real(0.0) or q[2, j, c] != real(0.0) else 0
    return count


@cell
def live_bits(q, s, over, j, i0, r, rows, n):
    """Return, as bits, the location of live cells among n cells of row r of a tile of `rows` rows.

    The row is row j of q.
    """
    bits, start = 0, np.uint32(over)
    if live_cells(q, s, start, j, i0, n) > 0:
        bits = LIVE | (SOUTH_STRIP if r < REACH else 0) | (NORTH_STRIP if r + REACH >= rows else 0)
        few = min(n, REACH)
        last = np.uint32(n - few)
        bits |= WEST_STRIP if live_cells(q, s, start, j, i0, few) > 0 else 0
        bits |= EAST_STRIP if live_cells(q, s, np.uint32(start + last), j, np.uint32(i0 + last), few) > 0 else 0
    return bits


@serial_entry
def list_tiles_cpu(active, always, clock, phase):
    """List the tiles of the next step, unless this is another attempt at the same step."""
    listed, work, live = active
    step = np.int32(clock[STEPS])
    if open_gate(clock, phase) and work[LISTED_STEP] != step:
        count, across = 0, live.shape[1] - 2
        for j in range(live.shape[0] - 2):
            for i in range(across):
                if is_near(live, always, j, i):
                    listed[count] = j * across + i
                    count += 1
        work[step & 1] = count
        work[LISTED_STEP] = step


@entry
def list_tiles_cuda(active, always, clock, phase):
    """List the tiles in any order, one thread per tile (see `list_tiles_cpu`).

    The first stage sets LISTED_STEP (`tiles_to_do`).
    """
    listed, work, live = active
    block_slots = cuda.shared.array(2, np.int32)
    step = np.int32(clock[STEPS])
    if not open_gate(clock, phase) or work[LISTED_STEP] == step:
        return
    down, across = np.uint32(live.shape[0] - 2), np.uint32(live.shape[1] - 2)
    t = np.uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
    if cuda.threadIdx.x == 0:
        block_slots[0] = 0
    cuda.syncthreads()
    near = t < down * across and is_near(live, always, np.uint32(t // across), np.uint32(t % across))
    slot = cuda.atomic.add(block_slots, 0, 1) if near else 0
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        block_slots[1] = cuda.atomic.add(work, step & 1, block_slots[0])
    cuda.syncthreads()
    if near:
        listed[np.uint32(block_slots[1] + slot)] = t


class ActiveTiles:
    """Active-tile list of a run on its device.

    Parameters
    ----------
    setup : Setup
    device : Device
    rows, columns : int
        Cells of a tile. The last tiles can have fewer cells.
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
        self.always_live_fraction = float(stirred.mean())  # fraction of cells that are always live
        self._always = device.array(bits_of(stirred, rows, columns))
        self._counts = device.pinned((3,), np.int32)
        self.read_counts = device.transfer(self._counts, self.active.work)

    def wake(self, step: int) -> None:
        """Activate all tiles in the next step, because the buffers differ."""
        self._device.fill(self.active.live, self._all)
        self._device.fill(self.active.work, np.array([0, 0, -1], np.int32))
        self._first = step

    def knows(self, step: int) -> bool:
        """Return whether the step before `step` had a list other than the initial list of all tiles."""
        return step > self._first + 1

    def active_fraction(self, step: int) -> float:
        """Return the fraction of the tiles that were active in the step before `step`, as of the last state check."""
        return float(self._counts[(step - 1) & 1]) / self.count

    def launch(self, precision: str, clock: Any, phase: int, **switches: Any) -> Launch:
        """Return the launch that lists the tiles of the next step."""
        arguments = (self.active, self._always, clock, phase)
        if self._device.kind == "cpu":
            return Launch(self._device.program(list_tiles_cpu, precision, switches), arguments)
        program = self._device.program(list_tiles_cuda, precision, switches)
        threads = self._device.parameters("programs.loop").line
        return Launch(program, arguments, (-(-self.count // threads[0]),), tuple(threads))


class Chooser:
    """Decision of a run to use the active-tile list, updated at state checks.

    Parameters
    ----------
    active_tiles : {"auto", "on", "off"}
    tiles : ActiveTiles or None
        None if no list is available.
    mixes : bool
        Whether steps on the list have another scheme. The decisions then depend on the state at multiples of
        DECISION_STEPS only, not on the lengths of batches, so that a run can be repeated.
    """

    def __init__(self, active_tiles: str, tiles: ActiveTiles | None, mixes: bool = False) -> None:
        self._auto, self._tiles, self._mixes = active_tiles == "auto", tiles, mixes and tiles is not None
        self.listed, self._looks, self._next = tiles is not None and active_tiles == "on", 0, 0

    def begin(self, step: int, wet_fraction: Callable[[], float]) -> None:
        """Decide for a new state before step `step`; wet_fraction : returns the fraction of wet cells."""
        if self._tiles is not None:
            self.listed, self._looks = not self._auto or self._few(wet_fraction), 0
            self._next = (step // DECISION_STEPS + 1) * DECISION_STEPS
            self._tiles.wake(step)

    def _few(self, wet_fraction: Callable[[], float]) -> bool:
        """Return whether few cells are wet, and, if the decision changes the result, few are always live."""
        assert self._tiles is not None
        mostly_live = self._mixes and self._tiles.always_live_fraction >= MAX_WET_FRACTION
        return wet_fraction() < MAX_WET_FRACTION and not mostly_live

    def steps_to_decision(self, step: int, steps: int) -> int:
        """Return the maximum number of steps, up to `steps`, before the next decision that changes the result."""
        return min(steps, self._next - step) if self._mixes else steps

    def state(self) -> np.ndarray | None:
        """Return the present decision and the step of the next one, for a restart, if they change the result."""
        return np.array([float(self.listed), float(self._next)]) if self._mixes else None

    def resume(self, state: np.ndarray | None) -> None:
        """Restore a decision of `state`, after `begin`."""
        if self._mixes and state is not None:
            self.listed, self._next = bool(state[0]), int(state[1])

    def choose(self, step: int, wet_fraction: Callable[[], float]) -> None:
        """Decide before a batch of steps that starts with step `step`."""
        if self._tiles is None or not self._auto:
            return
        if self._mixes:
            if step >= self._next:
                self.begin(step, wet_fraction)
            return
        if self.listed:
            self.listed = self._tiles.active_fraction(step) <= MAX_ACTIVE_FRACTION or not self._tiles.knows(step)
            self._looks = 0
        else:
            self._looks += 1
            if self._looks % CHECKS_PER_DECISION == 0 and wet_fraction() < MAX_WET_FRACTION:
                self.listed = True
                self._tiles.wake(step)

    def never(self) -> None:
        """Compute all tiles from now on."""
        self.listed, self._tiles = False, None

    def wake(self, step: int) -> None:
        """Activate all tiles, because a buffer was used for another purpose before step `step`."""
        if self._tiles is not None:
            self._tiles.wake(step)


def bits_of(live: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return the LIVE and side bits of all tiles with a margin of zeros; live : (ny, nx), whether a cell is live."""
    (first_j, south, north), (first_i, west, east) = (
        _tile_margins(count, size) for count, size in zip(live.shape, (rows, columns), strict=True)
    )
    by_columns, by_rows = np.logical_or.reduceat(live, first_i, axis=1), np.logical_or.reduceat(live, first_j)
    bits = LIVE * np.logical_or.reduceat(by_columns, first_j).astype(np.int32)
    for bit, margin in ((SOUTH_STRIP, south), (NORTH_STRIP, north)):
        bits += bit * np.logical_or.reduceat(by_columns & margin[:, None], first_j)
    for bit, margin in ((WEST_STRIP, west), (EAST_STRIP, east)):
        bits += bit * np.logical_or.reduceat(by_rows & margin, first_i, axis=1)
    return np.pad(bits, 1)


def _tile_margins(count: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first cells of the tiles along an axis, and masks of the cells within REACH of the tile ends."""
    index = np.arange(count)
    low = index % size
    high = np.minimum(index - low + size, count) - 1 - index
    return index[::size], low < REACH, high < REACH


def always_live(grid: Grid, terms: Terms, faced: Sequence[FaceRange]) -> np.ndarray:
    """Return the mask of cells that can receive water or momentum from outside, (ny, nx).

    faced : boundary segments of the rows of this subdomain.
    """
    mask = np.zeros(grid.shape, bool)
    for term in terms.water:
        mask |= _brings(term, grid)
    for term in (*terms.x, *terms.y):
        if any(term.cell(0.0, 0.0, 0.0, *[probe] * len(term.quantities)) != 0.0 for probe in PROBES):
            mask[...] = True
    closed = {side: np.zeros(grid.ny if side in ("west", "east") else grid.nx, bool) for side in SIDES}
    for segment in faced:
        closed[segment.side][segment.first : segment.last] = segment.condition.closed and not segment.condition.periodic
    mask[:, 0] |= ~closed["west"]
    mask[:, -1] |= ~closed["east"]
    mask[0] |= ~closed["south"]
    mask[-1] |= ~closed["north"]
    return mask


def live_fraction(depth: np.ndarray, rows: LocalRows, terms: Terms, segments: Sequence[FaceRange]) -> float:
    """Return the fraction of cells that are live at the start of a run: with water, or always live.

    depth : initial depth in the rows of this process, m.
    """
    first, last, whole = rows.first, rows.last, rows.grid
    grid = replace(whole, ny=last - first)
    live = always_live(grid, terms.rows(first, last, grid), clip_segments(segments, whole.ny, first, last, first))
    live |= rows.owned(depth) > 0.0
    return sum(rows.each(int(live.sum()))) / whole.cells


def _brings(term: Contribution, grid: Grid) -> np.ndarray:
    """Return where a term can add water: where a quantity is nonzero, or everywhere if the term needs no quantity."""
    if term.cell(*[0.0] * len(term.quantities)) != 0.0:
        return np.ones(grid.shape, bool)
    mask = np.zeros(grid.shape, bool)
    for quantity in term.quantities:
        if not quantity.is_zero:
            mask |= quantity.map(grid) != 0.0
    return mask
