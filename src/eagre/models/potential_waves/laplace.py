"""The Laplace problem under a surface: defect correction with the vertical operator as modes and multigrid for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.errors import InputError
from eagre.models.potential_waves import reference
from eagre.models.potential_waves.iteration import Convergence, Iteration
from eagre.models.potential_waves.plan_cpu import CpuColumns
from eagre.models.potential_waves.plan_cuda import CudaColumns
from eagre.models.potential_waves.stencils import Vertical, centred
from eagre.solvers.multigrid import Multigrid
from eagre.solvers.multigrid.kernels import row_norm
from eagre.stepping.until import SIZE, Iterated, StopTest

SMALLEST_SCREENING = 0.25  # of still water's, where sweeps are counted: that of water twice as deep
STEEPEST = 1.5  # slope of a bed that is solved over
ENOUGH = 0.5  # that is a tenth in still water: see `Multigrid`
OF_THE_SURFACE = ("set_bed", "set_surface", "set_sources", "set_rates", "next_stage")
"""In double precision always: in single, second differences of phi~ would lose what Psi keeps, and they are few."""

OF_THE_VOLUME = ("set_ghosts", "set_slopes", "residual", "to_modes", "correct", "vertical_velocity")


class LaplaceProblem:
    """w~ of a surface and the potential on it, on one device.

    The residual is of the order asked for; it is corrected with the operator of the same order along sigma and of
    order 2 along x and y, without slopes, at the depth of the moment: nz - 1 screened equations in the plane, of which
    one V(1,1) cycle each is an iteration. The correction is relaxed so that long and short waves converge alike.

    Parameters
    ----------
    h : (ny, nx)
        Depth of still water, m, > 0.
    spacing : (dy, dx)
        m.
    vertical : Vertical
    periodic : (y, x)
        Else walls on the first and the last points.
    device : Device
    precision : {"single", "double"}
        Of the volume.
    correction : {"single", "double"}, optional
        Precision of the modes of the residual, of multigrid and of corrections; that of the volume without it.
    linear : bool
        Waves of small height: the surface is taken to be at z = 0. Slopes of the bed stay.
    plain : bool
        Work by the cells of `reference` where there is something faster with the same answers but for rounding.
    multigrid : dict, optional
        Other choices of `Multigrid` than its defaults: cycle, pre, post, levels, stretched, smoother, weight.

    Attributes
    ----------
    points : (x, y)
        Of the points, m: (nx,) and (ny,), from 0.
    fields : array on the device, (2, ny, nx)
        Surface elevation, m, and potential on the surface, m2/s, as they are given, in double precision.
    w : array on the device, (1, ny, nx)
        Vertical velocity at the surface, m/s, as found.
    psi : array on the device, (nz + 1, ny, nx)
        Phi - phi~, m2/s; the guess of the next solution.

    Raises
    ------
    InputError
        For an axis with fewer points than a difference needs, a bed steeper than 1.5, or what `Multigrid` refuses.
    """

    def __init__(
        self,
        h: np.ndarray,
        spacing: tuple[float, float],
        vertical: Vertical,
        periodic: tuple[bool, bool],
        device: Device,
        precision: str,
        linear: bool = False,
        plain: bool = False,
        multigrid: Mapping[str, Any] | None = None,
        correction: str | None = None,
    ) -> None:
        self.device, self.vertical, self.shape = device, vertical, h.shape
        self.real = check_precision(precision)
        _check(h, vertical.order)
        modes = vertical.modes()
        self.multigrid = Multigrid(
            h.shape, spacing, layers=modes.decay.tolist(), screening=SMALLEST_SCREENING / h**2, periodic=periodic,
            device=device, precision=correction or precision, enough=ENOUGH, plain=plain, **(multigrid or {}),
        )  # fmt: skip
        self.points = spacing[1] * np.arange(h.shape[1]), spacing[0] * np.arange(h.shape[0])
        self.fields, self.w = self.surface_zeros(2), self.zeros(1)
        self.eta, self.phi = self.fields[:1], self.fields[1:]
        self.psi = self.zeros(vertical.nz + 1)
        self._geometry, self._sources = self.zeros(reference.FIELDS), self.zeros(reference.SOURCES)
        self._h, self._q = device.array(h[None].astype(float)), self.multigrid.screening
        self._lines = self._differences(spacing, periodic, self.real)
        self.lines = self._differences(spacing, periodic, np.float64)
        self._columns = reference.Columns(*map(self._array, (vertical.sigma, vertical.first, vertical.second)))
        self._to_modes, self._to_layers = self._array(modes.to_modes), self._array(modes.to_layers)
        kinds = [*((name, "double") for name in OF_THE_SURFACE), *((name, precision) for name in OF_THE_VOLUME)]
        switches = {"NONLINEAR": not linear}
        self._loops = {name: device.loop(getattr(reference, name), kind, switches) for name, kind in kinds}
        self._fast = None
        if device.target == "cpu" and not plain:
            kinds = precision, self.multigrid.precision
            self._fast = CpuColumns(device, kinds, vertical, modes, self.shape, spacing, periodic, linear)
        elif device.kind == "cuda" and not plain:
            self._fast = CudaColumns(device, precision, vertical, modes, self.shape, spacing, periodic)
        else:
            self._slopes, self._r = self.zeros(vertical.nz), self.zeros(vertical.nz - 1)
        rows = self._fast.items if self._fast else (vertical.nz - 1) * h.shape[0]
        self._test = StopTest(device, rows)
        self._control = self._test.control
        self._norm = device.loop(row_norm, precision)
        self._graphs: dict[str, Callable[[], None]] = {}
        device.run([self.plane("set_bed", self._h, self._geometry, self.lines)])
        self._iteration = Iteration(self, self._test, self._steepest())

    # -- arrays and launches -------------------------------------------------------------------

    def zeros(self, layers: int) -> Any:
        """An array of so many layers."""
        return self.device.zeros((layers, *self.shape), self.real)

    def surface_zeros(self, fields: int) -> Any:
        """An array of so many fields of the surface, in double precision."""
        return self.device.zeros((fields, *self.shape), np.float64)

    def _array(self, values: np.ndarray) -> Any:
        return self.device.array(np.ascontiguousarray(values, self.real))

    def _differences(self, spacing: Any, periodic: Any, real: Any) -> reference.Lines:
        """Weights along x and y; zeros where an axis has one point."""

        def along(axis: int, derivative: int) -> Any:
            w = centred(self.vertical.order, spacing[axis], derivative)
            return self.device.array((w if self.shape[axis] > 1 else 0.0 * w).astype(real))

        return reference.Lines(along(1, 1), along(1, 2), along(0, 1), along(0, 2), int(periodic[1]), int(periodic[0]))

    def plane(self, name: str, *arguments: Any) -> Launch:
        """A cell of `reference` at every point of the plane."""
        return self.device.over(self._loops[name], self.shape, arguments)

    def volume(self, name: str, layers: int, *arguments: Any) -> Launch:
        """A cell of `reference` at every point of so many layers."""
        return self.device.over(self._loops[name], (layers, *self.shape), arguments)

    def start(self) -> list[Launch]:
        """Launches that take up `eta` and `phi`."""
        if isinstance(self._fast, CpuColumns):
            surface = self._fast.surface(self.fields, self._h, self._geometry, self._sources, self._q)
        else:
            surface = [
                self.plane("set_surface", self.eta, self._h, self._geometry, self._q, self.lines),
                self.plane("set_sources", self.phi, self._geometry, self._sources, self.lines),
            ]
        sums = self._fast.begin(self.psi) if isinstance(self._fast, CudaColumns) else []
        return [*surface, *self.multigrid.screening_launches(from_zero=True), *sums]

    def defect(self) -> list[Launch]:
        """Launches that find the modes of the residual of `psi`."""
        if self._fast:
            known = (self._geometry, self._sources, self.w, self.multigrid.f, self._control)
            return self._fast.defect(self.psi, *known)
        nz, known = self.vertical.nz, (self._geometry, self._sources, self._columns, self._lines)
        return [
            self.plane("set_ghosts", self.psi, *known),
            self.volume("set_slopes", nz, self.psi, self._slopes, self._columns),
            self.volume("residual", nz - 1, self.psi, self._slopes, self._r, *known),
            self.volume("to_modes", nz - 1, self._r, self.multigrid.f, self._to_modes),
        ]

    def correction(self, weight: float = 1.0) -> list[Launch]:
        """Launches that add what the modes make to `psi`, and the sums of its squares that the stop test adds up."""
        u, partials, relaxation = self.multigrid.u, self._test.partials, self.real(weight)
        if self._fast:
            return self._fast.correct(u, self.psi, partials, relaxation, self._control)
        layers = self.vertical.nz - 1
        return [
            self.volume("correct", layers, u, self.psi, self._r, self._to_layers, relaxation),
            self.device.over(self._norm, (layers * self.shape[0],), (self._r, partials)),
        ]

    def iteration(self, weight: float) -> list[Launch]:
        """One defect correction, of which so much is taken."""
        cycle = self.multigrid.cycle_launches(from_zero=True, control=self._control)
        return [*self.defect(), *cycle, *self.correction(weight)]

    def go_on(self) -> None:
        """Let launches of an iteration work outside a stop test."""
        self.device.fill(self._control, np.array([1.0, *(0.0,) * (SIZE - 1)]))

    def launches(self) -> list[Launch]:
        """Everything that a solution runs, if no iteration is slow: for `Device.prepare`."""
        return [*self.start(), *self.iteration(1.0), *self.end()]

    def norm(self) -> float:
        """The 2-norm of the last correction of Psi."""
        return float(np.sqrt(self.device.host(self._test.partials).sum()))

    def end(self) -> list[Launch]:
        """Launches that find `w`."""
        if isinstance(self._fast, CpuColumns):
            return self._fast.end(self.psi, self._geometry, self._sources, self.w)
        ghosts = self.plane("set_ghosts", self.psi, self._geometry, self._sources, self._columns, self._lines)
        return [ghosts, self.plane("vertical_velocity", self.psi, self._geometry, self._columns, self.w)]

    def rates(self, rates: Any, gravity: float) -> list[Launch]:
        """Launches that find the rates of eta, m/s, and phi~, m2/s2, (2, ny, nx), from `w`."""
        if isinstance(self._fast, CpuColumns):
            return self._fast.rates(self.fields, self.w, rates, gravity)
        return [self.plane("set_rates", self.eta, self.phi, self.w, rates, gravity, self.lines)]

    def _once(self, name: str, launches: Callable[[], list[Launch]]) -> None:
        """Run launches that are always the same: bound the first time, on a GPU a graph."""
        if name not in self._graphs:
            self._graphs[name] = self.device.repeated(launches(), 1)
        self._graphs[name]()

    def _steepest(self) -> float:
        """The largest slope of the bed.

        Raises
        ------
        InputError
            If it is above STEEPEST, with its place.
        """
        slopes = np.hypot(*self.device.host(self._geometry)[[reference.H_X, reference.H_Y]])
        j, i = np.unravel_index(int(np.argmax(slopes)), slopes.shape)
        if slopes[j, i] > STEEPEST:
            raise InputError(
                f"a bed of slope {slopes[j, i]:.3g} at x = {self.points[0][i]:g} m, y = {self.points[1][j]:g} m",
                allowed=f"{STEEPEST:g} at most",
                fix=f"a step of 1 m over {np.ceil(10.0 / STEEPEST) / 10.0:g} m or more",
            )
        return float(slopes[j, i])

    @property
    def convergence(self) -> Convergence:
        """How the last solution was found: method, iterations, rate."""
        return self._iteration.last

    # -- the solution --------------------------------------------------------------------------

    def solve(self, small: float, most: int = 60) -> Iterated:
        """Find `w` of `eta` and `phi`, from the `psi` that there is.

        Parameters
        ----------
        small : float
            Root mean square of the last correction of Phi over all unknowns, m2/s.
        most : int
            Iterations.

        Returns
        -------
        Iterated
            Iterations, and that root mean square.

        Raises
        ------
        ConvergenceError
            If `most` iterations are not enough.
        """
        unknowns = float(np.sqrt((self.vertical.nz - 1) * self.shape[0] * self.shape[1]))
        self._once("start", self.start)
        made = self._iteration.run(small * unknowns, most)
        self._once("end", self.end)
        return Iterated(made.iterations, made.norm / unknowns)


def _check(h: np.ndarray, order: int) -> None:
    """Refuse axes that are too short, and beds that are dry."""
    short = [n for n in h.shape if 1 < n <= order // 2]
    if short or h.size < 2:
        allowed = f"1 point, or more than {order // 2}, along an axis at order {order}, and two in all"
        raise InputError(f"{h.shape[1]} x {h.shape[0]} points", allowed=allowed)
    if not (np.isfinite(h) & (h > 0.0)).all():
        raise InputError(f"a depth of still water of {np.nanmin(h):g} m", allowed="above 0 m everywhere")
