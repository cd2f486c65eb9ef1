"""What a Laplace problem is to those who work with it, on one device or several: its arrays and its solutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.errors import InputError
from eagre.models.potential_waves import reference
from eagre.models.potential_waves.iteration import Convergence, Iteration
from eagre.models.potential_waves.stencils import Vertical
from eagre.stepping.until import SIZE, Iterated, Lead

STEEPEST = 1.5  # slope of a bed that is solved over


class Laplace:
    """w~ of a surface and the potential on it.

    Launches are those of `device`: stages where that is several devices as one (`eagre.several`).

    Attributes
    ----------
    preconditioner : {"modes", "lines"}
    device : Device
    vertical : Vertical
    shape : (ny, nx)
    periodic : (y, x)
    real : type
        Of the volume.
    points : (x, y)
        Of the points, m: (nx,) and (ny,), from 0 if they were not given.
    fields : array on the device, (2, ny, nx)
        Surface elevation, m, and potential on the surface, m2/s, as they are given, in double precision.
    w : array on the device, (1, ny, nx)
        Vertical velocity at the surface, m/s, as found.
    psi : array on the device, (nz + 1, ny, nx)
        Phi - phi~, m2/s; the guess of the next solution.
    lines : Lines
        Weights of differences of the surface.
    multigrid : Multigrid or MultigridBands
    test : StopTest
    """

    preconditioner = "modes"
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
        """Get ready to solve; everything else is there."""
        self._graphs: dict[str, Callable[[], None]] = {}
        self._started = self.start()
        self._iteration = Iteration(self, self.test, self._steepest())

    # -- what one device and several have of their own -----------------------------------------

    def plane(self, name: str, *arguments: Any) -> Any:
        """A cell of `reference` at every point of the plane."""
        raise NotImplementedError

    def volume(self, name: str, layers: int, *arguments: Any) -> Any:
        """A cell of `reference` at every point of so many layers."""
        raise NotImplementedError

    def start(self) -> list[Any]:
        """Launches that take up `eta` and `phi`."""
        raise NotImplementedError

    def defect(self) -> list[Any]:
        """Launches that find the modes of the residual of `psi`."""
        raise NotImplementedError

    def correction(self, weight: float = 1.0) -> list[Any]:
        """Launches that add what the modes make to `psi`, and the sums of its squares that the stop test adds up."""
        raise NotImplementedError

    def end(self) -> list[Any]:
        """Launches that find `w`."""
        raise NotImplementedError

    def rates(self, rates: Any, gravity: float) -> list[Any]:
        """Launches that find the rates of eta, m/s, and phi~, m2/s2, (2, ny, nx), from `w`."""
        raise NotImplementedError

    def strip(self, rows: slice, columns: slice) -> Any:
        """A `Strip` of the fields."""
        raise NotImplementedError

    def largest(self, array: Any) -> float:
        """The largest number of the first layer of an array."""
        raise NotImplementedError

    def on_each(self, program: Any, *arguments: Any) -> Any:
        """A launch of a program of one block, THREADS on a GPU, that every device runs."""
        raise NotImplementedError

    def rows_of_all(self, count: int) -> tuple[Any, Any, list[Any]]:
        """Arrays of numbers of the rows of so many layers, (count, ny, 1), and launches that make the second.

        Returns
        -------
        own : array on the device
            To be written: in bands each device has its own rows and those that it holds of others.
        whole : array on the device
            Of all rows, the same on each device.
        launches : list
        """
        raise NotImplementedError

    def _bottom_squares(self) -> np.ndarray:
        """Sums of the squares of `psi` at the bottom over rows, (ny,)."""
        raise NotImplementedError

    # -- arrays --------------------------------------------------------------------------------

    def zeros(self, layers: int) -> Any:
        """An array of so many layers."""
        return self.device.field_zeros((layers, *self.shape), self.real)

    def surface_zeros(self, fields: int) -> Any:
        """An array of so many fields of the surface, in double precision."""
        return self.device.field_zeros((fields, *self.shape), np.float64)

    def halos(self, array: Any) -> list[Any]:
        """Return launches that fill the rows of neighbours in an array of fields of the surface; none on one device."""
        return []

    def size_at_bottom(self) -> float:
        """Root mean square of `psi` at the bottom, m2/s."""
        return math.sqrt(float(self._bottom_squares().sum()) / (self.shape[0] * self.shape[1]))

    # -- the solution --------------------------------------------------------------------------

    def iteration(self, weight: float) -> list[Any]:
        """One defect correction, of which so much is taken."""
        cycle = self.multigrid.cycle_launches(from_zero=True, control=self.test.control)
        return [*self.defect(), *cycle, *self.correction(weight)]

    def go_on(self) -> None:
        """Let launches of an iteration work outside a stop test."""
        self.device.fill(self.test.control, np.array([1.0, *(0.0,) * (SIZE - 1)]))

    def launches(self) -> list[Any]:
        """Everything that a solution runs, if no iteration is slow: for `Device.prepare`."""
        return [*self.start(), *self.iteration(1.0), *self.end()]

    def norm(self) -> float:
        """The 2-norm of the last correction of Psi."""
        return float(np.sqrt(self.device.host(self.test.partials).sum()))

    def _once(self, name: str, launches: Callable[[], list[Any]]) -> None:
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
        slopes = np.hypot(*self.device.host(self.geometry[reference.H_X : reference.H_Y + 1]))
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
        """How the last solution was found: method, iterations, rate."""
        return self._iteration.last

    # -- the solution --------------------------------------------------------------------------

    def solve(self, small: float, most: int = 60, meanwhile: Callable[[], None] | None = None) -> Iterated:
        """Find `w` of `eta` and `phi`, from the `psi` that there is.

        Parameters
        ----------
        small : float
            Root mean square of the last correction of Phi over all unknowns, m2/s.
        most : int
            Iterations.
        meanwhile : callable, optional
            What the host may do while a GPU is at work.

        Returns
        -------
        Iterated
            Iterations, and that root mean square.

        Raises
        ------
        ConvergenceError
            If `most` iterations are not enough.
        """
        made = self.iterate(small, Lead("start", self._started, meanwhile), most)
        self._once("end", self.end)
        return made

    def iterate(self, small: float, lead: Lead, most: int = 60) -> Iterated:
        """As `solve`, for those who run what `start` and `end` are with launches of their own.

        lead : what comes before the iterations, `start` in it.
        """
        unknowns = float(np.sqrt((self.vertical.nz - 1) * self.shape[0] * self.shape[1]))
        made = self._iteration.run(small * unknowns, most, lead)
        return Iterated(made.iterations, made.norm / unknowns)
