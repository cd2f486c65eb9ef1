"""Launch configuration of the sweeps on a GPU: threads, rows per thread and coupling of the partitions of a line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.layouts.gpu_properties import STATIC_SHARED
from eagre.models.shallow_water_adi.sweeps import sweep_cuda_x, sweep_cuda_y
from eagre.solvers.tridiagonal import columns

EPSILON = {"single": 1e-8, "double": 1e-16}  # coupling below rounding error
# Along x the old flux replaces the unknown at an inner end of a tile: the neglected part is this fraction of the change
# in one step.
OVERLAP_EPSILON = {"single": 1e-7, "double": 1e-14}
SAFETY = 1.1  # safety factor of the maximum initial Courant number; the run checks the neglected coupling
MAX_WARPS = 32
ROW_CELLS = 128  # cells of a warp along x
MAX_CELLS = ROW_CELLS * MAX_WARPS
NAME = "shallow-water-adi"  # name in the tables of launch parameters


def decay(courant: float) -> float:
    """Return the decay factor of the coupling of the unknowns of a line from cell to cell.

    lambda = 1 + 1/(2 mu) - sqrt((1 + 1/(2 mu))^2 - 1), mu = courant^2 / 4.
    """
    b = 1.0 + 2.0 / max(courant, 1e-3) ** 2
    return b - math.sqrt(b * b - 1.0)


def width(courant: float, epsilon: float) -> int:
    """Return the number of cells over which the coupling decays to `epsilon`."""
    return math.ceil(math.log(epsilon) / math.log(decay(courant)))


class PlanState(NamedTuple):
    """Part of a plan that affects the rounding of results; a restart uses it again (see `Plan.state`, `resumed`)."""

    courant: float  # Courant number of the plan
    ny: int
    nx: int
    warps: int
    overlap: int
    exact_x: int  # 1 or 0
    rows: int
    threads: int
    mode_y: int

    @property
    def exact(self) -> bool:
        """True if the partitions of lines are coupled exactly."""
        return bool(self.exact_x) or self.mode_y == columns.REDUCE


@dataclass(frozen=True)
class Plan:
    """Launch configuration of both sweeps."""

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
    preload: bool
    kinds: int
    prefetch: bool
    row_bytes: int
    courant: float

    def state(self, grid: Grid) -> PlanState:
        """Return the part of the plan that a restart stores."""
        numbers = (self.warps, self.overlap, self.exact_x, self.rows, self.threads, self.mode_y)
        return PlanState(self.courant, grid.ny, grid.nx, *numbers)

    @property
    def method(self) -> str:
        """Description of the partition of grid lines and of the coupling of the partitions."""
        coupling = "exact coupling" if self.exact_x else "nearest-neighbour coupling"
        along_x = f"tiles of {ROW_CELLS * self.warps} cells, {coupling} of warps"
        along_y = {columns.ALONE: "whole columns", columns.EXCHANGE: "nearest-neighbour coupling of blocks"}
        return f"x: {along_x}; y: {along_y.get(self.mode_y, 'exact coupling of blocks, two passes')}"

    @property
    def switches_x(self) -> dict[str, Any]:
        """Switches of the sweep along x."""
        switches = {"WARPS": self.warps, "EXACT": self.exact_x, "OPEN": self.open_x, "PRELOAD": self.preload}
        return {**switches, "REGISTERS": self.registers[0]}

    @property
    def switches_y(self) -> dict[str, Any]:
        """Switches of the sweep along y, except the mode."""
        switches = {"ROWS": self.rows, "THREADS": self.threads, "WIDTH": self.width, "KINDS": self.kinds}
        switches |= {"PREFETCH": self.prefetch, "GROUP": max(1, self.row_bytes // (self.width * self.itemsize))}
        return {**switches, "OPEN": self.open_y, "REGISTERS": self.registers[1]}

    def shape_x(self, grid: Grid) -> tuple[tuple[int, int], tuple[int, int]]:
        """Grid and block of the sweep along x."""
        return sweep_cuda_x.shape_of(grid.ny, grid.nx, self.warps, self.run, self.overlap, self.open_x)

    def shape_y(self, grid: Grid, faces: int | None = None) -> tuple[tuple[int, int], tuple[int, int]]:
        """Grid and block of the sweep along y; faces : number of faces of a column, if not all."""
        faces = grid.ny + self.open_y if faces is None else faces
        return sweep_cuda_y.shape_of(faces, grid.nx, self.rows, self.threads, self.width)

    @property
    def shared_y(self) -> int:
        """Shared memory of a block of the sweep along y, bytes."""
        return columns.shared_bytes(self.rows, self.threads, self.itemsize, self.width, self.kinds)


def _shared_y(picked: dict[str, Any], precision: str) -> int:
    itemsize = 4 if precision == "single" else 8
    return columns.shared_bytes(picked["rows"], picked["threads"], itemsize, picked["width"], picked["kinds"])


def plan_of(
    device: Device, grid: Grid, precision: str, courant: float, open_x: bool, open_y: bool, exact: bool = False,
    light: bool = False, **chosen: Any,
) -> Plan:  # fmt: skip
    """Return the launch configuration of a run.

    Parameters
    ----------
    device : Device
        A GPU with launch parameters and device properties.
    courant : float
        Maximum sqrt(g h) dt over the cell size.
    open_x, open_y : bool
        Whether an end of a line is not a wall.
    exact : bool
        Couple partitions exactly for any Courant number.
    light : bool
        Neither drying nor dissipation: few operations per cell.
    chosen
        Override the chosen numbers.

    Raises
    ------
    InputError
        If lines are too long for the tile that the Courant number requires.
    """
    gpu, along_y = device.properties, device.parameters(f"{NAME}.y")
    coupling = width(SAFETY * courant, EPSILON[precision])
    overlap = -(-width(SAFETY * courant, OVERLAP_EPSILON[precision]) // 4) * 4
    picked: dict[str, Any] = {"width": 32, "kinds": along_y.kept[precision], "prefetch": along_y.prefetch[precision]}
    picked["row_bytes"] = along_y.row_bytes
    picked |= _along_x(device, grid, coupling, overlap, open_x, precision, exact)
    blocks, of_y = along_y.blocks[precision], along_y.registers[precision]
    if precision == "double" and not light:
        blocks, of_y = [along_y.heavy["block"]], along_y.heavy["registers"]
    picked |= _along_y(device, grid, coupling, open_y, precision, exact, blocks) | chosen
    along_x = device.parameters(f"{NAME}.x")
    usual = ((along_x.registers if light else along_x.heavy)[precision], of_y)
    of_x, of_y = picked.get("registers", usual)
    if picked["preload"] and "registers" not in chosen:
        of_x = along_x.ahead["registers"]
    picked["registers"] = (min(of_x, gpu.registers_for(picked["warps"])), of_y)
    capacity = gpu.shared_block - STATIC_SHARED
    while "width" not in chosen and picked["width"] > 4 and _shared_y(picked, precision) > capacity:
        picked["width"] //= 2  # the rows of a restart from another GPU can be too many for 32 columns
    if "run" not in chosen:
        windows = sweep_cuda_x.shape_of(grid.ny, grid.nx, picked["warps"], 1, picked["overlap"], open_x)[0][0]
        blocks = max(1, gpu.warps_for(picked["registers"][0]) // picked["warps"])  # of a multiprocessor
        picked["run"] = _run_of(device, grid.ny, windows, blocks, light)
    itemsize = 4 if precision == "single" else 8
    return Plan(open_x=open_x, open_y=open_y, itemsize=itemsize, courant=courant, **picked)


def resumed(rows: Any, rank: int, count: int, present: PlanState) -> dict[str, Any]:
    """Return the arguments of `plan_of` for a restart with the plan of the run that wrote a state.

    Parameters
    ----------
    rows : array, (devices, len(PlanState)), or None
        `PlanState` of every device of that run. None if a CPU wrote the state, or a version that did not store them.
    rank, count : int
        Device and number of devices of this run.
    present : PlanState
        `PlanState` of the present plan.

    Returns
    -------
    dict
        All numbers that affect results if the state has the same number of devices, the same grids and no smaller
        Courant number; otherwise whether partitions are coupled exactly; empty if they are not.
    """
    if rows is None or np.ndim(rows) != 2 or np.shape(rows)[1] != len(PlanState._fields):
        return {}
    plans = [PlanState(float(row[0]), *(int(number) for number in row[1:])) for row in rows]
    if len(plans) == count:
        one = plans[rank]
        if (one.ny, one.nx) == (present.ny, present.nx) and present.courant <= one.courant * (1.0 + 1e-12):
            names = ("warps", "overlap", "rows", "threads", "mode_y")
            numbers = {name: getattr(one, name) for name in names}
            return {**numbers, "exact_x": bool(one.exact_x), "exact": one.exact}
    return {"exact": True} if any(one.exact for one in plans) else {}


def _along_x(
    device: Device, grid: Grid, coupling: int, overlap: int, is_open: bool, precision: str, exact: bool
) -> dict[str, Any]:
    """Return the warps and the overlap of the tile with the fewest redundant cells."""
    parameters, faces = device.parameters(f"{NAME}.x"), grid.nx + is_open
    exact = exact or coupling > ROW_CELLS
    best: tuple[float, int] | None = None
    max_warps = device.properties.warps_for(parameters.registers[precision])  # of a multiprocessor
    for warps in range(1, MAX_WARPS + 1):
        window = ROW_CELLS * warps
        if faces > window and window <= 2 * overlap:
            continue
        windows = 1 if faces <= window else -(-(faces - 2 * overlap) // (window - 2 * overlap))
        if warps > max_warps and best is not None:
            continue
        cost = windows * window * _cost_of(parameters, warps, max_warps, precision)
        if best is None or cost < best[0]:
            best = (cost, warps)
    if best is None:
        raise InputError(
            f"implicit coupling over {coupling} cells, on rows of {grid.nx} cells",
            allowed=f"on a GPU coupling over fewer than {MAX_CELLS // 2} cells, or rows of at most {MAX_CELLS} cells",
            fix="a shorter time_step",
            problem="The Courant number is too large for rows of this length on a GPU.",
        )
    warps = best[1]
    preload = precision == "double" and warps == parameters.ahead["warps"]
    return {"warps": warps, "overlap": overlap, "exact_x": exact and warps > 1, "preload": preload}


def _run_of(device: Device, ny: int, windows: int, blocks: int, light: bool) -> int:
    """Return the rows of a block along x that avoid nearly idle last waves and frequent block starts.

    blocks : concurrent blocks per multiprocessor; light : few operations per cell. Fitted to an H200
    (`benchmarks/NOTES.md`): a single block per multiprocessor takes whole waves; otherwise the time is the mean with
    the next integer, and with more than four blocks a single wave of long runs is slow.
    """
    parameters, at_once = device.parameters(f"{NAME}.run"), device.properties.multiprocessors * blocks

    def cost(run: int) -> float:
        waves = -(-ny // run) * windows / at_once
        whole = math.ceil(waves)
        return (run + parameters.start) * max(1.0, whole if blocks == 1 else 0.5 * (waves + whole))

    whole_waves = range(1 if blocks <= 4 else 2, parameters.waves + 1)
    runs = [-(-ny // (at_once * k // windows)) for k in whole_waves if at_once * k >= windows]
    best = min([parameters.usual, *(run for run in runs if light or run <= parameters.longest)], key=cost)
    return best if cost(best) < (1.0 - parameters.gain) * cost(parameters.usual) else parameters.usual


def _cost_of(parameters: Any, warps: int, max_warps: int, precision: str) -> float:
    """Return the relative time per cell along x.

    A single block on a multiprocessor waits at every barrier, as do few warps compared with `max_warps`, the maximum.
    """
    if precision == "double" and warps == parameters.ahead["warps"]:
        return parameters.ahead["cost"]
    blocks, waiting = max(1, max_warps // warps), parameters.waiting
    return (1.0 + waiting["alone"] / blocks) * max(1.0, max_warps / (blocks * warps)) ** waiting["few"]


def _along_y(
    device: Device, grid: Grid, coupling: int, is_open: bool, precision: str, exact: bool, blocks: list[dict[str, int]]
) -> dict[str, Any]:
    """Return rows per thread, threads per column and the coupling of blocks."""
    faces, params = grid.ny + is_open, device.parameters(f"{NAME}.small")
    few = grid.cells <= params.cells
    registers = (params.registers[precision]["x"], params.registers[precision]["y"])
    picked = {"registers": registers, "kinds": 4, "prefetch": False}
    if few and precision == "double" and faces <= params.alone["faces"]:
        rows = params.alone["rows"]
        threads = 8 * -(-faces // (8 * rows))
        return {**picked, "rows": rows, "threads": threads, "width": params.alone["columns"], "mode_y": columns.ALONE}
    if few and coupling <= params.joined["reach"] and not exact:  # many threads with few rows each: shorter latency
        rows, itemsize = params.joined["rows"], 4 if precision == "single" else 8
        threads = 8 * -(-coupling // (8 * rows))
        mode = columns.ALONE if faces <= rows * threads else columns.EXCHANGE
        return {**picked, "rows": rows, "threads": threads, "width": params.joined["bytes"] // itemsize, "mode_y": mode}
    for block in blocks:
        height = block["rows"] * block["threads"]
        if faces <= height:
            return {**block, "mode_y": columns.ALONE}
        if coupling <= height and not exact:
            return {**block, "mode_y": columns.EXCHANGE}
    return {**device.parameters(f"{NAME}.y").exact, "mode_y": columns.REDUCE}
