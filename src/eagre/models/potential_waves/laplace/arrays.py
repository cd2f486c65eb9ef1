"""Arrays and launches of the Laplace solver on one device, for the whole grid or a slab of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.models.potential_waves.laplace.plan_cpu import CpuColumns
from eagre.models.potential_waves.laplace.plan_cuda import CudaColumns
from eagre.models.potential_waves.laplace.stencils import Modes, Vertical
from eagre.models.potential_waves.surface import reference_kernels
from eagre.solvers.finite_differences import centred
from eagre.solvers.multigrid import Multigrid
from eagre.solvers.multigrid.kernels import row_norm
from eagre.stepping.convergence_loop import StopTest

MAX_HOST_POINTS = 65536  # points up to which a sum on the host is faster than on a GPU
OF_THE_SURFACE = ("set_bed", "set_surface", "set_sources", "set_rates", "next_stage")
"""Kernels in double precision always: in single precision, second differences of phi~ lose accuracy."""

OF_THE_VOLUME = (
    "set_ghosts", "set_missing", "set_slopes", "residual", "add_missing", "to_modes", "correct", "correct_ghost",
    "vertical_velocity",
)  # fmt: skip


class LaplacePart:
    """Part of a Laplace solver on one device.

    Parameters
    ----------
    h : (ny, nx)
        Still-water depth at the rows of the device, m.
    spacing, vertical, device, precision, linear, plain
        See `LaplaceProblem`.
    modes : Modes
    periodic : (y, x)
        Periodic axes; otherwise walls at the first and last points. Ends of a slab count as walls.
    multigrid : Multigrid
        Solver for the rows of the device.
    own : slice
        Rows to correct and to sum; the other rows are halos.
    preconditioner : {"modes", "lines"}
        Origin of the modes: `Vertical.modes`, or `Vertical.line_modes`, for which the ghost layer is an unknown.

    Attributes
    ----------
    test : StopTest
        Stop test of the whole problem, set by the caller.
    squares : array on the device
        Sums of squares of corrections in the rows of the device.
    """

    test: StopTest
    squares: Any

    def __init__(
        self, h: np.ndarray, spacing: tuple[float, float], vertical: Vertical, modes: Modes,
        periodic: tuple[bool, bool], device: Device, precision: str, linear: bool, plain: bool, multigrid: Multigrid,
        interior: slice, preconditioner: str = "modes",
    ) -> None:  # fmt: skip
        self.device, self.vertical, self.shape, self.multigrid = device, vertical, h.shape, multigrid
        self.real = check_precision(precision)
        self.fields, self.w = self.surface_zeros(2), self.zeros(1)
        self.eta, self.phi = self.fields[:1], self.fields[1:]
        self.psi = self.zeros(vertical.nz + 1)
        self.geometry, self._sources = self.zeros(reference_kernels.FIELDS), self.zeros(reference_kernels.SOURCES)
        self._h, self._q = device.array(h[None].astype(float)), multigrid.screening
        self._lines = self._differences(spacing, periodic, self.real)
        self.lines = self._differences(spacing, periodic, np.float64)
        self._columns = reference_kernels.Columns(*map(self._array, (vertical.sigma, vertical.first, vertical.second)))
        self._to_modes, self._to_layers = self._array(modes.to_modes), self._array(modes.to_layers)
        kinds = [*((name, "double") for name in OF_THE_SURFACE), *((name, precision) for name in OF_THE_VOLUME)]
        switches = {"NONLINEAR": not linear, **({"POINTS": vertical.order + 1} if device.target == "cuda" else {})}
        self.loops = {name: device.loop(getattr(reference_kernels, name), kind, switches) for name, kind in kinds}
        self._fast, self._missing = None, None
        if preconditioner == "lines":
            self._missing, self._lowest = self.zeros(1), self.real(vertical.sigma[vertical.nz - 2])
        if device.target == "cpu" and not plain:
            kinds, ghosts = (precision, multigrid.precision), preconditioner == "lines"
            self._fast = CpuColumns(device, kinds, vertical, modes, self.shape, spacing, periodic, linear, ghosts)
        elif device.kind == "cuda" and not plain:
            kinds = precision, multigrid.precision
            known = (vertical, modes, self.shape, spacing, periodic, interior)
            self._fast = CudaColumns(device, *kinds, *known, preconditioner == "lines")
        else:
            self._slopes, self._r = self.zeros(vertical.nz), self.zeros(vertical.nz - 1)
        self._norm = device.loop(row_norm, precision)
        device.run([self.plane("set_bed", self._h, self.geometry, self.lines)])

    # -- arrays and launches -------------------------------------------------------------------

    def zeros(self, layers: int) -> Any:
        """Return a zero array of a number of layers."""
        return self.device.zeros((layers, *self.shape), self.real)

    def surface_zeros(self, fields: int) -> Any:
        """Return a zero array of a number of surface fields, in double precision."""
        return self.device.zeros((fields, *self.shape), np.float64)

    def _array(self, values: np.ndarray) -> Any:
        return self.device.array(np.ascontiguousarray(values, self.real))

    def _differences(self, spacing: Any, periodic: Any, real: Any) -> reference_kernels.Lines:
        """Return the weights along x and y; zeros along an axis of one point."""

        def along(axis: int, derivative: int) -> Any:
            w = centred(self.vertical.order, spacing[axis], derivative)
            return self.device.array((w if self.shape[axis] > 1 else 0.0 * w).astype(real))

        return reference_kernels.Lines(
            along(1, 1), along(1, 2), along(0, 1), along(0, 2), int(periodic[1]), int(periodic[0])
        )

    def plane(self, name: str, *arguments: Any) -> Launch:
        """Return the launch of a kernel of `reference` at every point of the plane."""
        return self.device.over(self.loops[name], self.shape, arguments)

    def volume(self, name: str, layers: int, *arguments: Any) -> Launch:
        """Return the launch of a kernel of `reference` at every point of a number of layers."""
        return self.device.over(self.loops[name], (layers, *self.shape), arguments)

    def squares_of(self, rows: int) -> tuple[tuple[int, ...], int | None]:
        """Return the shape of the sums of squares of a number of rows, and their row axis or None (own rows only)."""
        if self._fast:
            return self._fast.squares_of(rows)
        return (self.vertical.nz - 1, rows), 1

    # -- a solution ----------------------------------------------------------------------------

    def take_up(self) -> list[Launch]:
        """Return launches that compute depth, right-hand sides and screening of the finest grid from the fields."""
        if isinstance(self._fast, CpuColumns):
            return self._fast.surface(self.fields, self._h, self.geometry, self._sources, self._q)
        return [
            self.plane("set_surface", self.eta, self._h, self.geometry, self._q, self.lines),
            self.plane("set_sources", self.phi, self.geometry, self._sources, self.lines),
        ]

    def defect(self) -> list[Launch]:
        """Return launches that compute the modes of the residual of `psi`."""
        if self._fast:
            known = (self.geometry, self._sources, self.w, self.multigrid.f, self.test.control)
            return self._fast.defect(self.psi, *known)
        nz, known = self.vertical.nz, (self.geometry, self._sources, self._columns, self._lines)
        launches = [
            self.volume("set_slopes", nz, self.psi, self._slopes, self._columns),
            self.volume("residual", nz - 1, (self.psi, self._slopes), self._r, known[:2], *known[2:]),
        ]
        if self._missing is None:
            launches.insert(0, self.plane("set_ghosts", self.psi, *known))
        else:
            launches.append(self.plane("set_missing", self.psi, self._missing, *known))
            launches.append(self.plane("add_missing", self._missing, self.geometry, self._r, self._lowest))
        return [*launches, self.volume("to_modes", nz - 1, self._r, self.multigrid.f, self._to_modes)]

    def correct(self, weight: float) -> list[Launch]:
        """Return launches that add the correction to `psi` and compute `squares`."""
        u, relaxation = self.multigrid.u, self.real(weight)
        if self._fast:
            return self._fast.correct(u, self.psi, self.squares, relaxation, self.test.control)
        layers = self.vertical.nz - 1
        below = []
        if self._missing is not None:
            known = (self._r, self._missing, self.psi, relaxation, self._lowest)
            below = [self.plane("correct_ghost", *known)]
        return [
            self.volume("correct", layers, u, self.psi, self._r, self._to_layers, relaxation),
            *below,
            self.device.over(self._norm, (layers * self.shape[0],), (self._r, self.squares)),
        ]

    def end(self) -> list[Launch]:
        """Return launches that compute `w`."""
        if isinstance(self._fast, CpuColumns):
            return self._fast.end(self.psi, self.geometry, self._sources, self.w)
        ghosts = self.plane("set_ghosts", self.psi, self.geometry, self._sources, self._columns, self._lines)
        return [ghosts, self.plane("vertical_velocity", self.psi, self.geometry, self._columns, self.w)]

    def rates(self, rates: Any, gravity: float) -> list[Launch]:
        """Return launches that compute the rates of eta, m/s, and phi~, m2/s2, (2, ny, nx), from `w`."""
        if isinstance(self._fast, CpuColumns):
            return self._fast.rates(self.fields, self.w, rates, gravity)
        return [self.plane("set_rates", self.eta, self.phi, self.w, rates, gravity, self.lines)]

    def bottom_squares(self) -> np.ndarray:
        """Return the sums of squares of `psi` at the bed by row, (ny,)."""
        bottom = self.psi[self.vertical.nz - 1]
        if bottom.size <= MAX_HOST_POINTS:
            there = self.device.host(bottom)
            return (there * there).sum(axis=1, dtype=np.float64)
        if self.device.is_remote:
            return self.device.host(np.zeros(len(bottom)))
        with self.device.joined():
            return self.device.host((bottom * bottom).sum(axis=1, dtype=np.float64))
