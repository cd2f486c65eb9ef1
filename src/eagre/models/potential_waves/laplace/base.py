"""Common base of the Laplace solvers on one or several devices: arrays, launches and iteration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.errors import ConvergenceError, InputError
from eagre.models.potential_waves.laplace.iteration import Convergence, Iteration
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.surface import reference_kernels
from eagre.stepping.convergence_loop import SIZE, IterationResult, Prologue

STEEPEST = 1.5  # maximum bed slope
MAX_ITERATIONS = 60
ADVICE = "a larger max_iterations or tolerance, or a shorter time step"


class Laplace:
    """Laplace solver for the vertical surface velocity w~ from elevation and surface potential.

    Launches are those of `device`; on several devices they are stages (`eagre.device_mesh`).

    Attributes
    ----------
    preconditioner : {"modes", "lines"}
    device : Device
    vertical : Vertical
    shape : (ny, nx)
    periodic : (y, x)
    real : type
        Type of the potential below the surface.
    points : (x, y)
        Coordinates of the points, m, (nx,) and (ny,); from 0 by default.
    fields : array on the device, (2, ny, nx)
        Surface elevation, m, and surface potential, m2/s, in double precision; the input of a solve.
    w : array on the device, (1, ny, nx)
        Vertical velocity at the surface, m/s; the result of a solve.
    psi : array on the device, (nz + 1, ny, nx)
        Phi - phi~, m2/s; the initial guess of the next solve.
    lines : Lines
        Weights of differences of the surface.
    multigrid : Multigrid or DistributedMultigrid
    test : StopTest
    max_iterations : int
        Maximum number of iterations of a solve.
    on_nonconvergence : {"error", "continue"}
        Action after `max_iterations`: raise `ConvergenceError`, or return the last iterate.
    unconverged : int
        Number of solves that returned without reaching the tolerance.
    """

    preconditioner = "modes"
    max_iterations = MAX_ITERATIONS
    on_nonconvergence = "error"
    unconverged = 0
    device: Device
    vertical: Vertical
    shape: tuple[int, int]
    periodic: tuple[bool, bool]
    real: Any
    points: tuple[np.ndarray, np.ndarray]
    fields: Any
    eta: Any
    phi: Any
    w: Any
    psi: Any
    geometry: Any
    lines: Any
    multigrid: Any
    test: Any

    def _begin(self) -> None:
        """Prepare the iteration, after all other attributes are set."""
        self._graphs: dict[str, Callable[[], None]] = {}
        self._started = self.start()
        self._iteration = Iteration(self, self.test, self._max_bed_slope())

    # -- implemented by subclasses -------------------------------------------------------------

    def plane(self, name: str, *arguments: Any) -> Any:
        """Return the launch of a kernel of `reference` at every point of the plane."""
        raise NotImplementedError

    def volume(self, name: str, layers: int, *arguments: Any) -> Any:
        """Return the launch of a kernel of `reference` at every point of a number of layers."""
        raise NotImplementedError

    def start(self) -> list[Any]:
        """Return launches that compute geometry and right-hand sides from `eta` and `phi`."""
        raise NotImplementedError

    def defect(self) -> list[Any]:
        """Return launches that compute the modes of the residual of `psi`."""
        raise NotImplementedError

    def correction(self, weight: float = 1.0) -> list[Any]:
        """Return launches that add the correction to `psi`, and sum its squares for the stop test."""
        raise NotImplementedError

    def end(self) -> list[Any]:
        """Return launches that compute `w`."""
        raise NotImplementedError

    def rates(self, rates: Any, gravity: float) -> list[Any]:
        """Return launches that compute the rates of eta, m/s, and phi~, m2/s2, (2, ny, nx), from `w`."""
        raise NotImplementedError

    def zone_relaxation(self, rows: slice, columns: slice) -> Any:
        """Return a `ZoneRelaxation` of the fields."""
        raise NotImplementedError

    def on_each(self, program: Any, *arguments: Any) -> Any:
        """Return the launch of a one-block program, of THREADS threads on a GPU, on every device."""
        raise NotImplementedError

    def rows_of_all(self, count: int, per_row: int = 1) -> tuple[Any, Any, list[Any]]:
        """Return arrays of some values per row and layer, (count, ny, per_row), and launches that complete the second.

        Returns
        -------
        local : array on the device
            Array to be written; on several devices each one holds the rows and halos of its subdomain.
        whole : array on the device
            Values of all rows, equal on each device.
        launches : list
        """
        raise NotImplementedError

    def _bottom_squares(self) -> np.ndarray:
        """Return the sums of squares of `psi` at the bed by row, (ny,)."""
        raise NotImplementedError

    # -- arrays --------------------------------------------------------------------------------

    def zeros(self, layers: int) -> Any:
        """Return a zero array of a number of layers."""
        return self.device.field_zeros((layers, *self.shape), self.real)

    def surface_zeros(self, fields: int) -> Any:
        """Return a zero array of a number of surface fields, in double precision."""
        return self.device.field_zeros((fields, *self.shape), np.float64)

    def halos(self, array: Any) -> list[Any]:
        """Return launches that fill the halo rows of surface fields; none on one device."""
        return []

    def size_at_bottom(self) -> float:
        """Return the root mean square of `psi` at the bed, m2/s."""
        return math.sqrt(float(self._bottom_squares().sum()) / (self.shape[0] * self.shape[1]))

    # -- the solution --------------------------------------------------------------------------

    def iteration(self, weight: float) -> list[Any]:
        """Return the launches of one defect correction with a relaxation factor."""
        cycle = self.multigrid.cycle_launches(from_zero=True, control=self.test.control)
        return [*self.defect(), *cycle, *self.correction(weight)]

    def go_on(self) -> None:
        """Enable the launches of an iteration outside a stop test."""
        self.device.fill(self.test.control, np.array([1.0, *(0.0,) * (SIZE - 1)]))

    def launches(self) -> list[Any]:
        """Return all launches of a solve without slow iterations, for `Device.prepare`."""
        return [*self.start(), *self.iteration(1.0), *self.end()]

    def norm(self) -> float:
        """Return the 2-norm of the last correction of Psi."""
        return float(np.sqrt(self.device.host(self.test.partials).sum()))

    def _once(self, name: str, launches: Callable[[], list[Any]]) -> None:
        """Run constant launches, which are bound at the first call; on a GPU they form a graph."""
        if name not in self._graphs:
            self._graphs[name] = self.device.repeated(launches(), 1)
        self._graphs[name]()

    def _max_bed_slope(self) -> float:
        """Return the maximum slope of the bed.

        Raises
        ------
        InputError
            If it exceeds STEEPEST, with its location.
        """
        slopes = np.hypot(*self.device.host(self.geometry[reference_kernels.H_X : reference_kernels.H_Y + 1]))
        j, i = np.unravel_index(int(np.argmax(slopes)), slopes.shape)
        if slopes[j, i] > STEEPEST:
            x, y = self.points[0][i], self.points[1][j]
            raise InputError(
                f"depth with a slope of {slopes[j, i]:.3g} at x = {x:.6g} m, y = {y:.6g} m",
                allowed=f"{STEEPEST:g} at most",
                fix=f"a step of 1 m over {np.ceil(10.0 / STEEPEST) / 10.0:g} m or more",
            )
        return float(slopes[j, i])

    @property
    def convergence(self) -> Convergence:
        """Convergence history of the last solve, whose norms are copied from the device."""
        return self._iteration.last.convergence(self.device.host(self.test.norms), self._unknowns)

    @property
    def _unknowns(self) -> float:
        """Ratio of the 2-norm to the root mean square over all unknowns."""
        return math.sqrt((self.vertical.nz - 1) * self.shape[0] * self.shape[1])

    # -- the solution --------------------------------------------------------------------------

    def solve(self, tolerance: float, host_task: Callable[[], None] | None = None) -> IterationResult:
        """Compute `w` from `eta` and `phi`, with `psi` as initial guess.

        Parameters
        ----------
        tolerance : float
            Tolerance: root mean square of the last correction of Phi over all unknowns, m2/s.
        host_task : callable, optional
            Function that the host may run during the computation on a GPU.

        Returns
        -------
        IterationResult
            Number of iterations, and root mean square of the last correction.

        Raises
        ------
        ConvergenceError
            If `max_iterations` are not sufficient and `on_nonconvergence` is "error", or a correction is not finite.
        """
        result = self.iterate(tolerance, Prologue("start", self._started, host_task))
        self._once("end", self.end)
        return result

    def iterate(self, tolerance: float, prologue: Prologue) -> IterationResult:
        """Run the iterations of `solve` without its `start` and `end`, which the caller launches itself.

        prologue : launches before the iterations, including `start`.
        """
        try:
            iterations, norm = self._iteration.run(tolerance * self._unknowns, self.max_iterations, prologue)
        except ConvergenceError as error:
            iterations, norm = error.iterations, error.norm
            if self.on_nonconvergence == "error" or not math.isfinite(norm):
                raise ConvergenceError(iterations, norm / self._unknowns, tolerance, ADVICE) from None
            self.unconverged += 1
        return IterationResult(iterations, norm / self._unknowns)
