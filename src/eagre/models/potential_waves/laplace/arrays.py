"""Arrays and launches of the Laplace solver on one device, for the whole grid or a slab of its rows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.models.potential_waves.laplace import columns_cpu as cpu
from eagre.models.potential_waves.laplace import columns_cuda as kernels
from eagre.models.potential_waves.laplace.stencils import Modes, Vertical
from eagre.models.potential_waves.surface import reference_kernels, surface_cpu
from eagre.solvers.finite_differences import centred
from eagre.solvers.multigrid import Multigrid
from eagre.solvers.multigrid.kernels import row_norm
from eagre.stepping.convergence_loop import StopTest

WIDEST = {"single": 136, "double": 72}  # points of a row segment, so that all its layers fit into the cache
SIDE = 4  # maximum number of weights on one side of a point


def weights_of(order: int, shape: Any, spacing: Any, periodic: Any, real: Any) -> cpu.Along:
    """Return the weights of centred differences for (ny, nx) points; zeros along an axis of one point."""

    def along(axis: int, derivative: int) -> np.ndarray:
        side = np.zeros(SIDE, real)
        if shape[axis] > 1:
            side[: order // 2] = centred(order, spacing[axis], derivative)[order // 2 + 1 :]
        return side

    return cpu.Along(along(1, 1), along(1, 2), along(0, 1), along(0, 2), int(periodic[1]), int(periodic[0]))


class CpuColumns:
    """Defect and correction of a `LaplaceProblem` on the CPU.

    Parameters
    ----------
    device : Device
    precisions : pair of {"single", "double"}
        Of the volume, and of corrections.
    vertical : Vertical
    modes : Modes
    shape : (ny, nx)
    spacing : (dy, dx)
        m.
    periodic : (y, x)
    linear : bool
        Whether the equations are linearised.
    ghosts : bool
        Whether Psi below the bottom is an unknown: of lines along sigma.
    """

    def __init__(
        self,
        device: Device,
        precisions: tuple[str, str],
        vertical: Vertical,
        modes: Modes,
        shape: tuple[int, int],
        spacing: tuple[float, float],
        periodic: tuple[bool, bool],
        linear: bool,
        ghosts: bool,
    ) -> None:
        precision, correction = precisions
        self._real, self._short = map(check_precision, precisions)
        ny, nx = shape
        tiles = -(-nx // WIDEST[precision])
        self.width = -(-nx // (tiles * cpu.MARGIN)) * cpu.MARGIN
        self._tiles = -(-nx // self.width)
        items = ny * self._tiles
        layers = vertical.nz - 1
        groups = -(-layers // cpu.GROUP) * cpu.GROUP
        rows = cpu.LAYERS + cpu.ROWS * (vertical.nz + 1) + groups + 1
        threads, stride = min(getattr(device, "threads", 1), items), WIDEST[precision] + 2 * cpu.MARGIN
        self._scratch = device.zeros((threads, rows * stride), self._real)
        self._changes = device.zeros(self._scratch.shape, self._short) if correction != precision else self._scratch
        self._surface_scratch = device.zeros((threads, (surface_cpu.ROWS + 1) * stride), np.float64)
        self._along, self._surface_along = (
            weights_of(vertical.order, shape, spacing, periodic, real) for real in (self._real, np.float64)
        )
        self._windows = self._layers(vertical)
        self._missing = device.zeros((1, *shape) if ghosts else (1, 1, 1), self._real)
        self._lowest = self._short(vertical.sigma[vertical.nz - 2])
        self._bottom, self._surface = (self._array(vertical.first[k]) for k in (vertical.nz - 1, 0))
        whole = (0, 0), (0, groups - layers)
        self._to_modes = self._array(np.pad(modes.to_modes, whole))
        self._to_layers = np.pad(modes.to_layers, whole).astype(self._short)
        switches = {"HALF": vertical.order // 2, "STRIDE": stride, "GHOSTS": ghosts}
        kinds = {"residual_cpu": precision, "ends_cpu": precision, "correct_cpu": correction}
        self._programs = {name: device.program(getattr(cpu, name), kind, switches) for name, kind in kinds.items()}
        switches["NONLINEAR"] = not linear
        for name in ("surface_cpu", "rates_cpu"):
            self._programs[name] = device.program(getattr(surface_cpu, name), "double", switches)

    def _array(self, values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values, self._real)

    def _layers(self, vertical: Vertical) -> cpu.Windows:
        nz, order = vertical.nz, vertical.order
        low = np.clip(np.arange(nz) - order // 2, 0, nz - order)
        first, second = (np.zeros((nz, 2 * SIDE + 1)) for _ in range(2))
        for k in range(nz):
            window = slice(low[k], low[k] + order + 1)
            first[k, : order + 1], second[k, : order + 1] = vertical.first[k, window], vertical.second[k, window]
        return cpu.Windows(low, self._array(first), self._array(second), self._array(vertical.sigma[:nz]))

    def squares_of(self, rows: int) -> tuple[tuple[int, ...], int | None]:
        """Return the shape of the sums of squares of a number of rows, one per row segment, and the row axis."""
        return (rows, self._tiles), 0

    def surface(self, fields: Any, h: Any, geometry: Any, sources: Any, q: Any) -> list[Launch]:
        """Return launches for depth, right-hand sides and screening of a surface."""
        arguments = (fields, h, geometry, sources, q, self._surface_along, self._surface_scratch, self.width)
        return [Launch(self._programs["surface_cpu"], arguments)]

    def rates(self, fields: Any, w: Any, rates: Any, gravity: float) -> list[Launch]:
        """Return launches for the rates of eta and phi~."""
        arguments = (fields, w, rates, gravity, self._surface_along, self._surface_scratch, self.width)
        return [Launch(self._programs["rates_cpu"], arguments)]

    def defect(self, psi: Any, geometry: Any, sources: Any, w: Any, f: Any, control: Any) -> list[Launch]:
        """Return launches that write the modes of the residual of psi to f; `control` is unused on a CPU."""
        known = (self._to_modes, self._along, self._windows, self._scratch, self.width)
        return [
            self._ends(psi, geometry, sources, w, False),
            Launch(self._programs["residual_cpu"], (cpu.Fields(psi, geometry, sources, self._missing), f, *known)),
        ]

    def correct(self, u: Any, psi: Any, partials: Any, relaxation: Any, control: Any) -> list[Launch]:
        """Return launches that add the correction from the modes u and sum its squares."""
        known = (self._to_layers, (self._short(relaxation), self._lowest), self._changes, self.width)
        return [Launch(self._programs["correct_cpu"], (u, psi, self._missing, partials, *known))]

    def end(self, psi: Any, geometry: Any, sources: Any, w: Any) -> list[Launch]:
        """Return launches for the vertical velocity at the surface."""
        return [self._ends(psi, geometry, sources, w, True)]

    def _ends(self, psi: Any, geometry: Any, sources: Any, w: Any, with_w: bool) -> Launch:
        known = (self._along, (self._bottom, self._surface), with_w, self._scratch, self.width)
        return Launch(self._programs["ends_cpu"], (cpu.Fields(psi, geometry, sources, self._missing), w, *known))


TILE = (8, 32)  # rows and columns of a tile in the plane
TALL = (12, 32)  # if the halo of order 8 has more points than the tile has threads
LINE = (1, 128)  # for grids of one row


class CudaColumns:
    """Residual and correction of a `LaplaceProblem` on a GPU; other stages use the kernels of `reference`.

    Parameters
    ----------
    device : Device
    precision, correction : {"single", "double"}
        Of the volume, and of modes and corrections.
    vertical : Vertical
    modes : Modes
    shape : (ny, nx)
    spacing : (dy, dx)
        m.
    periodic : (y, x)
    interior : slice
        Rows that are corrected.
    ghosts : bool
        Whether Psi below the bottom is an unknown: of lines along sigma.
    """

    def __init__(
        self,
        device: Device,
        precision: str,
        correction: str,
        vertical: Vertical,
        modes: Modes,
        shape: tuple[int, int],
        spacing: tuple[float, float],
        periodic: tuple[bool, bool],
        interior: slice,
        ghosts: bool = False,
    ) -> None:
        self._device, self._shape = device, shape
        (ny, nx), half, real = shape, vertical.order // 2, check_precision(precision)
        over = (0.0 if n == 1 else 1.0 / d for n, d in zip((nx, ny), spacing[::-1], strict=True))
        self._numbers = (*map(real, over), int(periodic[1]), int(periodic[0]))
        self._missing = device.zeros((1, *shape) if ghosts else (1, 1, 1), real)
        self._tile = LINE if ny == 1 else (TALL if vertical.order == 8 else TILE)
        known, short = (precision, correction), any(1 < n <= vertical.order for n in shape)
        registers = device.parameters("potential-waves.columns").registers[precision]

        @cache
        def residual(paired: bool) -> Any:
            column = kernels.residual_cell(vertical, ny > 1, modes.to_modes, self._tile, known, ghosts, short, paired)
            return device.program(kernels.set_residuals, precision, {"COLUMN": column, "REGISTERS": registers})

        @cache
        def correct(paired: bool) -> Any:
            corrected = kernels.correction_cell(vertical, modes.to_layers, ghosts, paired)
            return device.program(kernels.correct_columns, precision, {"CORRECTED": corrected})

        self._residual, self._correct = residual, correct
        tall, wide = self._tile
        self._shared = 2 * (wide + 2 * half) * (tall + 2 * half) * np.dtype(real).itemsize
        self._first_column, self._end = interior.start * nx, interior.stop * nx
        self._items = -(-(self._end - self._first_column) // kernels.LINE)
        self._partials = None
        if interior.stop - interior.start < ny:  # a slab: the other devices need its sum
            self._partials = device.zeros((self._items,), np.float64)
            self._add = device.program(kernels.add_squares, "double")

    def squares_of(self, rows: int) -> tuple[tuple[int, ...], int | None]:
        """Return the shape of the sums of squares: one per block, or a single one for a slab; not by rows (None)."""
        return (self._items if self._partials is None else 1,), None

    def defect(self, psi: Any, geometry: Any, sources: Any, w: Any, f: Any, control: Any) -> list[Launch]:
        """Return launches that write the modes of the residual of psi to f."""
        (ny, nx), (tall, wide) = self._shape, self._tile
        arguments = (psi, f, geometry, sources, self._missing, self._numbers, control)
        blocks = (-(-nx // wide), -(-ny // tall))
        return [Launch(self._residual(f.dtype == np.uint32), arguments, blocks, (wide, tall), self._shared)]

    def correct(self, u: Any, psi: Any, squares: Any, relaxation: Any, control: Any) -> list[Launch]:
        """Return launches that add the correction from the modes u and sum its squares."""
        partials = squares if self._partials is None else self._partials
        arguments = (u, psi, self._missing, relaxation, partials, self._first_column, self._end, control)
        launches = [Launch(self._correct(u.dtype == np.uint32), arguments, (self._items,), (kernels.LINE,))]
        if self._partials is not None:
            launches.append(Launch(self._add, (partials, squares, control), (1,), (kernels.SUMMED,)))
        return launches


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
    interior : slice
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
        with self.device.joined():
            return self.device.host((bottom * bottom).sum(axis=1, dtype=np.float64))
