"""How the sweeps are laid out on a GPU: threads, rows a thread, and how pieces of a line are joined."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.shallow_water_adi import sweep_cuda_x, sweep_cuda_y
from eagre.solvers.tridiagonal import columns

EPSILON = {"single": 1e-8, "double": 1e-16}  # coupling that rounding hides
# Along x an inner end of a window takes the old flux for the unknown: what is left out is this part of the
# change in one step.
OVERLAP_EPSILON = {"single": 1e-7, "double": 1e-14}
SAFETY = 1.1  # on the largest Courant number at the start; a guard watches the run
MOST_WARPS = 32
ROW_CELLS = 128  # of a warp along x
MOST_CELLS = ROW_CELLS * MOST_WARPS
BLOCKS_Y = {4: ((8, 8), (8, 16)), 8: ((10, 10), (8, 16))}  # rows and threads of a column, by size of a word
KINDS = {4: 4, 8: 3}  # words of a row that a block keeps along y; of three, the fourth waits in the new surface
ROW_BYTES = 2048  # of a row that blocks side by side read along y
REGISTERS = {4: (80, 64), 8: (128, 96)}
SMALL_REGISTERS = {4: (128, 64), 8: (128, 96)}
# Along x in double precision: warps that load ahead, for which they need more registers, and their cost.
AHEAD_WARPS, AHEAD_REGISTERS, AHEAD_COST = 12, 168, 1.3
PART = 512  # registers a thread of one warp that a part of a multiprocessor has; there are four parts
MULTIPROCESSORS = 132  # of an H200
# Rows of a block along x: the usual, the most where a cell has much to compute (of long runs some end late), and the
# part of the time that others must promise; a block takes as long as START rows to start.
RUN, LONGEST, LEAST_GAIN, START = 16, 26, 0.05, 1.33
MOST_WAVES = 8
MOST_ALONE = 256  # faces of a column that one narrow block holds where grids are small
SMALL_CELLS = 400**2  # up to here launches and waiting cost more than memory


def decay(courant: float) -> float:
    """Factor by which the coupling of the unknowns of a line falls from cell to cell.

    lambda = 1 + 1/(2 mu) - sqrt((1 + 1/(2 mu))^2 - 1), mu = courant^2 / 4.
    """
    b = 1.0 + 2.0 / max(courant, 1e-3) ** 2
    return b - math.sqrt(b * b - 1.0)


def width(courant: float, epsilon: float) -> int:
    """Cells over which the coupling falls to `epsilon`."""
    return math.ceil(math.log(epsilon) / math.log(decay(courant)))


@dataclass(frozen=True)
class Plan:
    """The layout of both sweeps."""

    warps: int
    run: int
    overlap: int
    exact_x: bool
    rows: int
    threads: int
    width: int
    mode_y: int
    open_x: bool
    open_y: bool
    itemsize: int
    registers: tuple[int, int]
    ahead: bool
    kinds: int
    ask: bool

    @property
    def method(self) -> str:
        """How the pieces of a line are joined, in words."""
        along_x = f"windows of {ROW_CELLS * self.warps}, warps joined {'exactly' if self.exact_x else 'by neighbours'}"
        along_y = {columns.ALONE: "whole columns", columns.EXCHANGE: "blocks joined by neighbours"}
        return f"x: {along_x}; y: {along_y.get(self.mode_y, 'blocks joined exactly, two passes')}"

    @property
    def switches_x(self) -> dict[str, Any]:
        """Switches of the sweep along x."""
        found = {"WARPS": self.warps, "EXACT": self.exact_x, "OPEN": self.open_x, "AHEAD": self.ahead}
        return {**found, "REGISTERS": self.registers[0]}

    @property
    def switches_y(self) -> dict[str, Any]:
        """Switches of the sweep along y, but for the mode."""
        found = {"ROWS": self.rows, "THREADS": self.threads, "WIDTH": self.width, "KINDS": self.kinds}
        found |= {"ASK": self.ask, "GROUP": max(1, ROW_BYTES // (self.width * self.itemsize))}
        return {**found, "OPEN": self.open_y, "REGISTERS": self.registers[1]}

    def shape_x(self, grid: Grid) -> tuple[tuple[int, int], tuple[int, int]]:
        """Grid and block of the sweep along x."""
        return sweep_cuda_x.shape_of(grid.ny, grid.nx, self.warps, self.run, self.overlap, self.open_x)

    def shape_y(self, grid: Grid) -> tuple[tuple[int, int], tuple[int, int]]:
        """Grid and block of the sweep along y."""
        return sweep_cuda_y.shape_of(grid.ny, grid.nx, self.rows, self.threads, self.width, self.open_y)

    @property
    def shared_y(self) -> int:
        """Shared memory of a block of the sweep along y, bytes."""
        return columns.shared_bytes(self.rows, self.threads, self.itemsize, self.width, self.kinds)


def plan_of(
    grid: Grid, precision: str, courant: float, open_x: bool, open_y: bool, exact: bool = False, light: bool = False,
    **chosen: Any,
) -> Plan:  # fmt: skip
    """The layout for a run.

    Parameters
    ----------
    courant : float
        Largest sqrt(g h) dt over the cell size.
    open_x, open_y : bool
        Whether an end of a line is anything but a wall.
    exact : bool
        Join pieces exactly whatever the Courant number.
    light : bool
        Neither drying nor dissipation: a cell has little to compute.
    chosen
        Replaces what would be picked.

    Raises
    ------
    InputError
        If lines are too long for the window that so large a Courant number needs.
    """
    itemsize = 4 if precision == "single" else 8
    reach = width(SAFETY * courant, EPSILON[precision])
    overlap = -(-width(SAFETY * courant, OVERLAP_EPSILON[precision]) // 4) * 4
    picked: dict[str, Any] = {"width": 32, "kinds": KINDS[itemsize], "ask": itemsize == 4}
    picked |= _along_x(grid, reach, overlap, open_x, itemsize, exact)
    picked |= _along_y(grid, reach, open_y, itemsize, exact) | chosen
    along_x, along_y = picked.get("registers", REGISTERS[itemsize])
    if picked["ahead"] and "registers" not in chosen:
        along_x = AHEAD_REGISTERS
    fitting = PART // -(-picked["warps"] // 4) // 8 * 8  # a part holds every fourth warp of a block
    picked["registers"] = (min(along_x, fitting), along_y)
    if "run" not in chosen:
        windows = sweep_cuda_x.shape_of(grid.ny, grid.nx, picked["warps"], 1, picked["overlap"], open_x)[0][0]
        blocks = max(1, 4 * (PART // picked["registers"][0]) // picked["warps"])  # of a multiprocessor
        picked["run"] = _run_of(grid.ny, windows, blocks, light)
    return Plan(open_x=open_x, open_y=open_y, itemsize=itemsize, **picked)


def _along_x(grid: Grid, reach: int, overlap: int, is_open: bool, itemsize: int, exact: bool) -> dict[str, Any]:
    """Warps of the window that computes the fewest cells twice, overlap."""
    faces = grid.nx + is_open
    exact = exact or reach > ROW_CELLS
    best: tuple[float, int] | None = None
    room = 4 * (PART // REGISTERS[itemsize][0])  # warps of a multiprocessor
    for warps in range(1, MOST_WARPS + 1):
        window = ROW_CELLS * warps
        if faces > window and window <= 2 * overlap:
            continue
        windows = 1 if faces <= window else -(-(faces - 2 * overlap) // (window - 2 * overlap))
        if warps > room and best is not None:
            continue
        cost = windows * window * _cost_of(warps, room, itemsize)
        if best is None or cost < best[0]:
            best = (cost, warps)
    if best is None:
        raise InputError(
            f"a Courant number whose coupling reaches over {reach} cells, on lines of {grid.nx}",
            allowed=f"on a GPU a reach below {MOST_CELLS // 2} cells, or lines of at most {MOST_CELLS}",
            fix="a shorter time_step",
        )
    warps = best[1]
    ahead = itemsize == 8 and warps == AHEAD_WARPS
    return {"warps": warps, "overlap": overlap, "exact_x": exact and warps > 1, "ahead": ahead}


def _run_of(ny: int, windows: int, blocks: int, light: bool) -> int:
    """Rows of a block along x, so that the last blocks do not run almost alone, and few have to start.

    blocks : of a multiprocessor at the same time; light : whether cells have little to compute. Fitted to an H200
    (`benchmarks/NOTES.md`): a block that is alone takes whole waves, others their mean with the next whole number, and
    of more than four a single wave of long runs is slow.
    """
    at_once = MULTIPROCESSORS * blocks

    def cost(run: int) -> float:
        waves = -(-ny // run) * windows / at_once
        whole = math.ceil(waves)
        return (run + START) * max(1.0, whole if blocks == 1 else 0.5 * (waves + whole))

    whole_waves = range(1 if blocks <= 4 else 2, MOST_WAVES + 1)
    runs = [-(-ny // (at_once * k // windows)) for k in whole_waves if at_once * k >= windows]
    best = min([RUN, *(run for run in runs if light or run <= LONGEST)], key=cost)
    return best if cost(best) < (1.0 - LEAST_GAIN) * cost(RUN) else RUN


def _cost_of(warps: int, room: int, itemsize: int) -> float:
    """Time of a cell along x, relative: fitted to an H200.

    One block alone on a multiprocessor waits at every barrier; so do few warps of the `room` there is.
    """
    if itemsize == 8 and warps == AHEAD_WARPS:
        return AHEAD_COST
    blocks = max(1, room // warps)
    return (1.0 + 0.5 / blocks) * max(1.0, room / (blocks * warps)) ** 0.25


def _along_y(grid: Grid, reach: int, is_open: bool, itemsize: int, exact: bool) -> dict[str, Any]:
    """Rows of a thread, threads of a column and the way blocks are joined."""
    faces = grid.ny + is_open
    small = {"registers": SMALL_REGISTERS[itemsize], "kinds": 4, "ask": False}
    if grid.cells <= SMALL_CELLS and itemsize == 8 and faces <= MOST_ALONE:
        return {**small, "rows": 4, "threads": 8 * -(-faces // 32), "width": 4, "mode_y": columns.ALONE}
    if grid.cells <= SMALL_CELLS and reach <= 96 and not exact:  # many threads with few rows each: less to wait for
        threads = 8 * -(-reach // 24)
        mode = columns.ALONE if faces <= 3 * threads else columns.EXCHANGE
        return {**small, "rows": 3, "threads": threads, "width": 64 // itemsize, "mode_y": mode}
    for rows, threads in BLOCKS_Y[itemsize]:
        if faces <= rows * threads:
            return {"rows": rows, "threads": threads, "mode_y": columns.ALONE}
        if reach <= rows * threads and not exact:
            return {"rows": rows, "threads": threads, "mode_y": columns.EXCHANGE}
    return {"rows": 8, "threads": 8, "mode_y": columns.REDUCE}
