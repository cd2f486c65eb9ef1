"""Laplace solver on one device: defect correction with vertical modes and one multigrid cycle per mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch
from eagre.errors import InputError
from eagre.models.potential_waves.boundaries.relaxation_zones import ZoneRelaxation
from eagre.models.potential_waves.laplace.arrays import LaplacePart
from eagre.models.potential_waves.laplace.base import MAX_ITERATIONS, Laplace
from eagre.models.potential_waves.laplace.iteration import STEEP
from eagre.models.potential_waves.laplace.stencils import FACTORS, Vertical
from eagre.solvers.multigrid import Multigrid
from eagre.stepping.convergence_loop import THREADS, StopTest

MIN_SCREENING = 0.25  # relative to still water, for the choice of grids: water twice as deep
LARGE = 1_000_000  # unknowns from which modes are stored in 16 bits if `Multigrid` supports it
ENOUGH = 0.5  # that is a tenth in still water: see `Multigrid`


class LaplaceProblem(Laplace):
    """Laplace solver for the vertical surface velocity w~, on one device.

    The residual has the order of `vertical`. The preconditioner has the same order along sigma, order 2 along x and y,
    no slopes, and the instantaneous depth: nz - 1 screened equations in the plane, with one V(1,1) cycle each per
    iteration. Factors of its differences on each grid (`FACTORS`) equalise the convergence of long and short waves.

    Parameters
    ----------
    h : (ny, nx)
        Still-water depth, m, > 0.
    spacing : (dy, dx)
        Grid spacing, m.
    vertical : Vertical
    periodic : (y, x)
        Periodic axes; otherwise walls at the first and last points.
    device : Device
    precision : {"single", "double"}
        Precision of the potential below the surface.
    correction : {"single", "double"}, optional
        Precision of the modes of the residual, of multigrid and of corrections; default: `precision`.
    linear : bool
        Linear waves: the surface is at z = 0. Slopes of the bed are kept.
    plain : bool
        Use the kernels of `reference` instead of the optimised ones, which are equal to rounding error.
    multigrid : dict, optional
        Options of `Multigrid` that replace its defaults: cycle, pre, post, levels, stretched, smoother, weight.
    preconditioner : {"modes", "lines"}
        "lines": preconditioner of the source, of order 2 along sigma too, with sweeps of whole columns on all grids and
        corrections that are not relaxed. Its convergence rate is 1/3 to 3/4; it is available for comparison.
    max_iterations, on_nonconvergence
        See `Laplace`.

    Raises
    ------
    InputError
        If an axis has fewer points than the differences need, the bed is steeper than 1.5, or `Multigrid` raises.
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
        preconditioner: str = "modes",
        points: tuple[np.ndarray, np.ndarray] | None = None,
        max_iterations: int = MAX_ITERATIONS,
        on_nonconvergence: str = "error",
    ) -> None:
        self.device, self.vertical, self.shape, self.periodic = device, vertical, h.shape, periodic
        check_depth(h, vertical.order)
        self.preconditioner, lines = preconditioner, preconditioner == "lines"
        self.max_iterations, self.on_nonconvergence = max_iterations, on_nonconvergence
        modes = vertical.line_modes() if lines else vertical.modes()
        factors = {} if lines else factors_of(h, spacing, vertical.order)
        self.multigrid = Multigrid(
            h.shape, spacing, layers=modes.decay.tolist(), screening=MIN_SCREENING / h**2, periodic=periodic,
            device=device, precision=correction or precision, enough=0.0 if lines else ENOUGH, plain=plain,
            paired=is_large(h.shape, vertical) and (lines or bool(factors)), in_place=True,
            **factors, **(multigrid or {}),
        )  # fmt: skip
        known = (spacing, vertical, modes, periodic, device, precision, linear, plain, self.multigrid)
        self.subdomain = subdomain = LaplacePart(h, *known, slice(0, h.shape[0]), preconditioner)
        squares, _ = subdomain.squares_of(h.shape[0])
        self.test = subdomain.test = StopTest(device, int(np.prod(squares)), max_iterations)
        subdomain.squares = self.test.partials
        self.real, self.points = subdomain.real, points or points_of(h, spacing)
        self.fields, self.eta, self.phi = subdomain.fields, subdomain.eta, subdomain.phi
        self.w, self.psi = subdomain.w, subdomain.psi
        self.geometry, self.lines = subdomain.geometry, subdomain.lines
        self._begin()

    def plane(self, name: str, *arguments: Any) -> Launch:
        return self.subdomain.plane(name, *arguments)

    def volume(self, name: str, layers: int, *arguments: Any) -> Launch:
        return self.subdomain.volume(name, layers, *arguments)

    def start(self) -> list[Launch]:
        return [*self.subdomain.take_up(), *self.multigrid.screening_launches(from_zero=True)]

    def defect(self) -> list[Launch]:
        return self.subdomain.defect()

    def correction(self, weight: float = 1.0) -> list[Launch]:
        return self.subdomain.correct(weight)

    def end(self) -> list[Launch]:
        return self.subdomain.end()

    def rates(self, rates: Any, gravity: float) -> list[Launch]:
        return self.subdomain.rates(rates, gravity)

    def zone_relaxation(self, rows: slice, columns: slice) -> ZoneRelaxation:
        return ZoneRelaxation(self.device, self.fields, rows, columns, posted=self.device.graphs)

    def on_each(self, program: Any, *arguments: Any) -> Launch:
        return Launch(program, arguments, (1,), (THREADS,))

    def rows_of_all(self, count: int, per_row: int = 1) -> tuple[Any, Any, list[Launch]]:
        sums = self.device.zeros((count, self.shape[0], per_row), np.float64)
        return sums, sums, []

    def _bottom_squares(self) -> np.ndarray:
        return self.subdomain.bottom_squares()


def points_of(h: np.ndarray, spacing: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of the points, (nx,) and (ny,), m, starting from 0."""
    return spacing[1] * np.arange(h.shape[1]), spacing[0] * np.arange(h.shape[0])


def factors_of(h: np.ndarray, spacing: tuple[float, float], order: int) -> dict[str, Any]:
    """Return the factors of differences in the preconditioner; none over steep beds, for conjugate residuals."""
    slopes = [np.gradient(h, d, axis=axis) for axis, d in enumerate(spacing) if h.shape[axis] > 1]
    return {"factors": FACTORS[order]} if np.linalg.norm(slopes, axis=0).max() <= STEEP else {}


def is_large(shape: tuple[int, int], vertical: Vertical) -> bool:
    """Return whether the modes exceed the cache, so that memory traffic limits the speed."""
    return shape[0] * shape[1] * (vertical.nz - 1) >= LARGE


def check_depth(h: np.ndarray, order: int) -> None:
    """Reject axes that are too short and depths that are not positive."""
    short = [n for n in h.shape if 1 < n <= order // 2]
    if short or h.size < 2:
        allowed = f"1 point, or more than {order // 2}, along an axis at order {order}, and two in all"
        raise InputError(f"{h.shape[1]} x {h.shape[0]} points", allowed=allowed)
    if not (np.isfinite(h) & (h > 0.0)).all():
        raise InputError(f"a still-water depth of {np.nanmin(h):g} m", allowed="above 0 m everywhere")
