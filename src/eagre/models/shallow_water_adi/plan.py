"""How the sweeps are laid out on a GPU: threads, rows a thread, and how pieces of a line are joined."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.grid import Grid
from eagre.models.shallow_water_adi import sweep_cuda_x, sweep_cuda_y
from eagre.solvers.tridiagonal import columns

EPSILON = {"single": 1e-8, "double": 1e-17}
SAFETY = 1.5  # on the largest Courant number at the start


def decay(courant: float) -> float:
    """Factor by which the coupling of the unknowns of a line falls from cell to cell.

    lambda = 1 + 1/(2 mu) - sqrt((1 + 1/(2 mu))^2 - 1), mu = courant^2 / 4.
    """
    b = 1.0 + 2.0 / courant**2
    return b - math.sqrt(b * b - 1.0)


def width(courant: float, epsilon: float) -> int:
    """Cells over which the coupling falls to `epsilon`."""
    return math.ceil(math.log(epsilon) / math.log(decay(max(courant, 1e-3))))


@dataclass(frozen=True)
class Plan:
    """The layout of both sweeps."""

    warps: int
    run: int
    overlap: int
    rows: int
    threads: int
    mode_y: int
    open_x: bool
    open_y: bool
    itemsize: int
    registers: tuple[int, int] | None = None

    @property
    def switches_x(self) -> dict[str, Any]:
        """Switches of the sweep along x."""
        found = {"WARPS": self.warps, "RUN": self.run, "OVERLAP": self.overlap, "OPEN": self.open_x}
        return found | ({"REGISTERS": self.registers[0]} if self.registers else {})

    @property
    def switches_y(self) -> dict[str, Any]:
        """Switches of the sweep along y."""
        found = {"ROWS": self.rows, "THREADS": self.threads, "MODE": self.mode_y, "OPEN": self.open_y}
        return found | ({"REGISTERS": self.registers[1]} if self.registers else {})

    def shape_x(self, grid: Grid) -> tuple[tuple[int, int], tuple[int, int]]:
        """Grid and block of the sweep along x."""
        return sweep_cuda_x.shape_of(grid.ny, grid.nx, self.warps, self.run, self.overlap, self.open_x)

    def shape_y(self, grid: Grid) -> tuple[tuple[int, int], tuple[int, int]]:
        """Grid and block of the sweep along y."""
        return sweep_cuda_y.shape_of(grid.ny, grid.nx, self.rows, self.threads, self.open_y)

    @property
    def shared_y(self) -> int:
        """Shared memory of a block of the sweep along y, bytes."""
        return columns.shared_bytes(self.rows, self.threads, self.itemsize)


def plan_of(setup: Any, precision: str, open_x: bool, open_y: bool, **chosen: Any) -> Plan:
    """The layout for a run; `chosen` replaces what would be picked."""
    grid = setup.grid
    itemsize = 4 if precision == "single" else 8
    picked = {"warps": 8, "run": 16, "rows": 8, "threads": 16, "overlap": 40} | chosen
    faces = grid.ny + int(open_y)
    alone = faces <= picked["rows"] * picked["threads"]
    mode = columns.ALONE if alone else columns.EXCHANGE
    picked.setdefault("mode_y", mode)
    return Plan(open_x=open_x, open_y=open_y, itemsize=itemsize, **picked)


def courant_number(setup: Any, surface: np.ndarray, dt: float) -> float:
    """Largest sqrt(g h) dt / min(dx, dy) of a state."""
    deepest = float(np.maximum(surface - setup.bed, 0.0).max())
    return math.sqrt(setup.gravity * deepest) * dt / min(setup.grid.dx, setup.grid.dy)
