"""Projection of a velocity onto divergence-free flow.

    v = v^ - C grad phi,    div(rho* v) = 0,    n . v = 0 on walls, prescribed at open boundaries

Use::

    metric = Metric((nz, ny, nx), (dz, dy, dx), ("wall", "periodic", "periodic"), levels=..., hill=...)
    projection = Projection(device, "double", metric, density, tolerance=1e-7)
    projection.set_coefficients(c11, c12, c33)      # after a change of dt or the sponge layer
    projection.set_normal(x=..., y=..., z=...)      # open boundaries only
    ... write v^ into projection.u, .v, .w (device arrays, or the model's own, given as velocity=(u, v, w)) ...
    result = projection.solve(dt)                   # u, v, w are the projected velocity now, phi the pressure
    result.iterations, result.divergence            # divergence: dt max |div v| before the last update of u, v, w

phi = (dt / 2) p' / rho_b is the first guess of GCR in the next solution (`guess="second-last"`: in the solution after
the next one, because errors of the trapezoidal rule in time change their sign in every step). Direct solutions start
from 0. phi, and `older` for such guesses, are part of a restart. Checkerboard modes of phi are arbitrary on even axes
and do not affect the velocity: compare velocities.

Centred differences over two grid spacings connect every second point. Points are in separate classes (even or odd along
each axis, except periodic axes with an odd number of points). At open boundaries, inflow and outflow must balance in
each class.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.backend.device import Device, Work, check_precision
from eagre.checks import one_of
from eagre.errors import InputError
from eagre.models.anelastic.base.metric import Metric, point_weights
from eagre.models.anelastic.preconditioners.column_sweeps import Sweeps
from eagre.models.anelastic.preconditioners.polynomial import Polynomial
from eagre.models.anelastic.preconditioners.spectral import Spectral
from eagre.models.anelastic.pressure import operator as cells
from eagre.models.anelastic.pressure.operator_launches import PressureOperator
from eagre.models.anelastic.pressure.separable import FlatKernels, is_separable, stencil_of
from eagre.solvers.gcr.fused_cuda import FusedIteration
from eagre.solvers.gcr.iteration import GcrIteration, ResidualTest, Weights
from eagre.stepping.convergence_loop import ConvergenceLoop, is_iterating

METHODS = ("auto", "direct", "gcr")
PRECONDITIONERS = ("auto", "fft", "line-jacobi", "richardson", "chebyshev", "none")
GUESSES = ("previous", "second-last", "zero")


class Balance(NamedTuple):
    """Correction of the normal velocities at open boundaries: maximum, m/s, and ratio to the maximum velocity."""

    max_correction: float
    relative_correction: float


def parities(metric: Metric) -> list[list[slice]]:
    """Return the classes along each axis."""
    classes = []
    for n, side in zip(metric.shape, metric.sides, strict=True):
        is_split = n > 1 and not (side == "periodic" and n % 2)
        classes.append([slice(0, None, 2), slice(1, None, 2)] if is_split else [slice(None)])
    return classes


def balanced(
    metric: Metric, rho: Callable[[int], np.ndarray], velocities: tuple[Any, Any, Any]
) -> tuple[list[np.ndarray], Balance]:
    """Return the normal velocities x (2, nz, ny), y (2, nz, nx), z (2, ny, nx) with the minimum balancing correction.

    The correction is constant for each boundary and class of points; walls have none.

    rho : returns rho* in the planes at both ends of an axis, as a field with two points along it, or a profile
    """
    each = zip("xyz", (2, 1, 0), velocities, strict=True)
    values = [_checked(metric, name, axis, value) for name, axis, value in each]
    areas = {axis: _areas(metric, rho(axis), axis) for axis in range(3) if _is_open(metric, axis)}
    if not areas:
        return values, Balance(0.0, 0.0)
    classes = parities(metric)
    unknowns: dict[tuple[int, ...], int] = {}
    for axis in areas:
        for key in product([axis], range(2), *(range(len(classes[k])) for k in range(3) if k != axis)):
            unknowns[key] = len(unknowns)
    scale = max(float(np.abs(value).max()) for value in values)
    rows, right = [], []
    for key in product(*(range(len(one)) for one in classes)):
        row, total = np.zeros(len(unknowns)), 0.0
        for axis, area in areas.items():
            other_axes = [k for k in range(3) if k != axis]
            where = tuple(classes[k][key[k]] for k in other_axes)
            for end, sign in ((0, -1.0), (1, 1.0)):
                class_area = area[(end, *where)]
                row[unknowns[(axis, end, *(key[k] for k in other_axes))]] = sign * class_area.sum()
                total += sign * float((class_area * values[2 - axis][(end, *where)]).sum())
        rows.append(row)
        right.append(total)
    change = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
    for (axis, end, *key), n in unknowns.items():
        other_axes = [k for k in range(3) if k != axis]
        values[2 - axis][(end, *(classes[k][c] for k, c in zip(other_axes, key, strict=True)))] -= change[n]
    max_correction = float(np.abs(change).max())
    return values, Balance(max_correction, max_correction / scale if scale > 0.0 else 0.0)


def _is_open(metric: Metric, axis: int) -> bool:
    return metric.sides[axis] == "open" and metric.shape[axis] > 1


def _checked(metric: Metric, name: str, axis: int, value: Any) -> np.ndarray:
    """Return the normal velocities at the two ends of an axis, 0 by default."""
    shape = (2, *(n for k, n in enumerate(metric.shape) if k != axis))
    if value is not None and not _is_open(metric, axis):
        raise InputError(
            f"normal velocities along {name}",
            allowed=f'boundaries that are "open", not "{metric.sides[axis]}"',
            problem=f"The boundaries along {name} are not open.",
        )
    velocities = np.zeros(shape) if value is None else np.array(value, float)
    if velocities.shape != shape or not np.isfinite(velocities).all():
        raise InputError(
            f"{name} of shape {velocities.shape}",
            allowed=f"finite numbers, {shape}",
            problem=f"The shape or a value of {name} is not allowed.",
        )
    return velocities


def _areas(metric: Metric, rho: np.ndarray, axis: int) -> np.ndarray:
    """Return rho* times the area of each boundary point; rho : see `balanced`."""
    shape = [2 if n == axis else size for n, size in enumerate(metric.shape)]
    ends = point_weights(shape, metric.sides) * rho * 2.0
    return np.moveaxis(ends, axis, 0) / metric.spacing[axis] * float(np.prod(metric.spacing))


class Projected(NamedTuple):
    """Result of a projection: iterations (or repetitions of a direct solution), dt max |div v|."""

    iterations: int
    divergence: float


@cell
def add(k, j, i, a, b, control):
    """Add b to a."""
    a[k, j, i] += b[k, j, i]


@add.variant("cuda")
def _add_while_iterating(k, j, i, a, b, control):
    if is_iterating(control):
        a[k, j, i] += b[k, j, i]


@cell
def stretch(k, j, i, guess, phi, a):
    """Set guess = a phi, also in place."""
    guess[k, j, i] = a * phi[k, j, i]


@cell
def swap(k, j, i, phi, older):
    """Exchange phi and older."""
    last = phi[k, j, i]
    phi[k, j, i] = older[k, j, i]
    older[k, j, i] = last


def guess_source(phi: Any, older: Any, steps: tuple[float, float], dt: float) -> tuple[Any, Any, float]:
    """Return the array of the guess before `swap`, the solution that it is taken from, and its factor for a step of dt.

    Solutions are proportional to their time steps `steps`, s, which are 0 before the first steps.
    """
    last, second_last = steps
    if older is None:
        return phi, phi, dt / last if last else 1.0
    if second_last == 0.0:
        return older, phi, dt / last if last else 1.0
    return older, older, dt / second_last


class Projection:
    """Projection of velocities on a grid.

    Parameters
    ----------
    device : Device
    precision : str
    metric : Metric
        Grid, boundary conditions and metric.
    density : array or number
        rho_b at points, kg/m^3: broadcastable to (nz, ny, nx), or (nz,) for a profile.
    velocity : (u, v, w), optional
        Device arrays (nz, ny, nx), m/s, to project; new arrays by default.
    forces : (u, v, w), optional
        Device arrays that are set to the projected velocity minus their values.
    provisional_in_forces : bool
        True if v^ is stored in `forces`; otherwise in `velocity`.
    tolerance : float
        Maximum of dt max |div v|.
    method : {"auto", "direct", "gcr"}
        "direct": one solution of the flat operator, repeated to the tolerance; "auto" uses it if it is exact.
    preconditioner : {"auto", "fft", "line-jacobi", "richardson", "chebyshev", "none"}
        Preconditioner of GCR: the flat operator with horizontal means ("auto"), sweeps with column systems, or
        polynomial sweeps over flat terrain.
    num_directions : int, optional
        k of GCR(k); by default 1, and 3 with Coriolis over terrain or between walls (unsymmetric operator).
    sweeps : int
        Number of sweeps; for "chebyshev" 2 to 16, good values are 6 to 8.
    guess : {"previous", "second-last", "zero"}
    max_iterations : int
        Maximum number of iterations.
    kernels : {"fast", "reference"}
        "fast" uses fused kernels if available; "reference" uses one kernel for each part of an iteration.

    Attributes
    ----------
    u, v, w, phi : arrays (nz, ny, nx) on the device
    provisional : (u, v, w)
        Arrays of v^.
    older : array or None
        phi of the previous step, for guesses from the second-last solution.
    steps : (float, float)
        Last two time steps, s; 0 before the first steps. Part of a restart, with phi and `older`.
    exact : bool
        True if the direct solution is exact for the coefficients.
    bound : int
        Number of times that launches were created, for other kinds of coefficients.
    final : list of launches
        Last launches of a solution: u, v, w from phi.

    Raises
    ------
    InputError
        For incompatible options.
    """

    def __init__(
        self,
        device: Device,
        precision: str,
        metric: Metric,
        density: Any = 1.0,
        *,
        velocity: tuple[Any, Any, Any] | None = None,
        forces: tuple[Any, Any, Any] | None = None,
        provisional_in_forces: bool = False,
        tolerance: float = 1e-7,
        method: str = "auto",
        preconditioner: str = "auto",
        num_directions: int | None = None,
        sweeps: int = 2,
        guess: str = "previous",
        max_iterations: int = 500,
        kernels: str = "fast",
    ) -> None:
        self._device, self._precision, self._real = device, precision, check_precision(precision)
        self.metric, self.shape, self.tolerance, self._max_iterations = metric, metric.shape, tolerance, max_iterations
        self._method = one_of("method", method, METHODS)
        self._preconditioner = one_of("preconditioner", preconditioner, PRECONDITIONERS)
        self._guess, self._num_directions, self._sweeps = one_of("guess", guess, GUESSES), num_directions, sweeps
        arrays = [device.zeros(self.shape, self._real) for _ in range(3)] if velocity is None else velocity
        self.u, self.v, self.w = arrays
        self.provisional = tuple(forces) if forces is not None and provisional_in_forces else (self.u, self.v, self.w)
        self._forces, self._from_velocity = forces, not (forces is not None and provisional_in_forces)
        self.phi, self._r, self._b = (device.zeros(self.shape, self._real) for _ in range(3))
        self.older = device.zeros(self.shape, self._real) if guess == "second-last" else None
        self.steps = (0.0, 0.0)
        self._density = self._shaped("density", density)
        self._normal: cells.Normal | None = None
        self._fuses = one_of("kernels", kernels, ("fast", "reference")) == "fast"
        self._is_bound, self.bound = False, 0
        self._small, self._small_of = device.zeros((1,), np.float64), 0.0
        self.set_coefficients()

    def _shaped(self, name: str, values: Any) -> np.ndarray:
        """Return a number, profile or field as (nz, 1, 1) or (nz, ny, nx), in double precision."""
        array = np.asarray(values, float)
        nz = self.shape[0]
        if array.ndim == 1:
            array = array[:, None, None]
        if array.ndim == 0 or array.shape == (1, 1, 1):
            array = np.full((nz, 1, 1), float(array.reshape(())))
        if array.shape not in ((nz, 1, 1), self.shape):
            raise InputError(
                f"{name} of shape {array.shape}",
                allowed=f"a number, ({nz},) or {self.shape}",
                problem=f"The shape of {name} is not the shape of the grid.",
            )
        return np.ascontiguousarray(array)

    # -- what may change -------------------------------------------------------------------------

    def set_coefficients(self, c11: Any = 1.0, c12: Any = 0.0, c33: Any = 1.0) -> None:
        """Set C = [[c11, c12, 0], [-c12, c11, 0], [0, 0, c33]], each a number, (nz,) or (nz, ny, nx)."""
        entries = [self._shaped(name, c) for name, c in (("c11", c11), ("c12", c12), ("c33", c33))]
        if self._is_bound and self.operator.holds(*entries):
            return
        if self._is_bound and self.operator.update(*entries) and self._direct == self._takes_direct:
            self._refresh()
            return
        self.operator = PressureOperator(
            self._device, self._precision, self.metric, self._density, *entries, normal=self._normal
        )
        self._bind()
        self._is_bound = True
        self.bound += 1

    def set_normal(self, x: Any = None, y: Any = None, z: Any = None) -> Balance:
        """Set the normal velocities at open boundaries, balanced; x (2, nz, ny), y (2, nz, nx), z (2, ny, nx), m/s.

        The lower boundary is first; values are positive along the axis, 0 by default. Inflow and outflow must balance
        in each class of points that differences over two grid spacings connect.
        """
        rho = np.broadcast_to(self._density * self.metric.jacobian, self.metric.shape)
        normals, balance = balanced(self.metric, lambda axis: rho.take([0, -1], axis), (x, y, z))
        values = [one.astype(self._real) for one in normals]
        if self._normal is not None:
            for array, one in zip(self._normal, values, strict=True):
                self._device.fill(array, one)
            return balance
        self._normal, self._is_bound = cells.Normal(*map(self._device.array, values)), False
        self.set_coefficients(self.operator.c11, self.operator.c12, self.operator.c33)
        return balance

    # -- solution --------------------------------------------------------------------------------

    @property
    def exact(self) -> bool:
        """True if the direct solution is exact for the coefficients."""
        return self.operator.exact

    @property
    def ends_at_once(self) -> bool:
        """True if all kernels of an iteration are skipped after convergence; transforms are not."""
        return isinstance(self._until, FusedIteration)

    @property
    def launches(self) -> list[Work]:
        """Launches of a solution, for `Device.prepare`."""
        return [*self._until.launches, *self.final]

    @property
    def _takes_direct(self) -> bool:
        return self._method == "direct" or (self._method == "auto" and self.operator.exact)

    def _bind(self) -> None:
        """Create the launches for the kinds of coefficients."""
        device, operator, provisional = self._device, self.operator, self.provisional
        self._refreshing, self._direct = [], self._takes_direct
        flat, test = self._flat_kernels()
        wind = (self.u, self.v, self.w)
        self.final: list[Work] = [*(flat or operator).wind(self.phi, wind, self._forces, self._from_velocity)]
        ends: list[Work] = [] if flat is None else [*flat.ends(provisional)]
        start: list[Work] = [*operator.residual(self.phi, provisional, self._r), test.measured]
        if flat is not None:
            start = [flat.residual(self.phi, provisional, self._r, test.control, test.partials)]
        if self._direct:
            known = provisional, self._r
            begin = operator.start(*known) if flat is None else [flat.divergence(*known)]
            self._until: Any = self._direct_solution([*ends, *begin], test, start)
            return
        sides = zip(self.shape, self.metric.sides, strict=True)
        edges = [0.5 if n > 1 and side != "periodic" else 1.0 for n, side in sides]
        if self.older is not None:
            ends = [device.over(device.loop(swap, self._precision), self.shape, (self.phi, self.older)), *ends]
        weights = Weights(operator.medium.density, (edges[0], edges[1], edges[2]))
        num_directions = self._num_directions or (3 if operator.turning else 1)
        known = (device, self._precision, self.phi, self._r)
        if flat is not None and num_directions == 1 and self._preconditioner == "none":
            periodic_z = self.metric.sides[0] == "periodic"
            fused = FusedIteration(*known, test, [*ends, *start], stencil_of(operator), periodic_z, weights)
            self._refreshing.append(lambda: fused.refill(stencil_of(self.operator)))
            self._until = fused
            return
        first = [*ends, *operator.residual(self.phi, provisional, self._r)]
        gcr_test = ResidualTest(device, self._precision, self._r, max(2, num_directions))
        apply, precondition = self._steps_of_an_iteration(flat, gcr_test.control)
        options = num_directions, 1 if self._preconditioner in ("auto", "fft") else 4, gcr_test
        self._until = GcrIteration(*known, first, apply, precondition, weights, *options).until

    def _direct_solution(self, begin: list[Work], test: ResidualTest, judged: list[Work]) -> ConvergenceLoop:
        """Return launches of phi = -P^-1 r, repeated to the tolerance; begin: r of phi = 0; judged: r and its test.

        The solution starts from phi = 0: a first guess would require a residual and an addition.
        """
        adds = self._device.over(self._device.loop(add, self._precision), self.shape, (self.phi, self._b, test.control))
        spectral = self._spectral(-1.0)
        again = [*self._flat(self._r, self._b, spectral), adds, *judged]
        first = [*begin, *self._flat(self._r, self.phi, spectral), *judged]
        return ConvergenceLoop(self._device, test, again, first, iterations_per_check=1, start_counts=True)

    def _flat_kernels(self) -> tuple[FlatKernels | None, ResidualTest]:
        """Return the GPU kernels for flat terrain, and the convergence test."""
        device, precision = self._device, self._precision
        if device.kind != "cuda" or not self._fuses or not is_separable(self.operator):
            return None, ResidualTest(device, precision, self._r)
        flat = FlatKernels(device, precision, self.operator)
        self._refreshing.append(lambda: flat.refill(self.operator))
        return flat, ResidualTest(device, precision, self._r, blocks=flat.tiles.blocks)

    def _refresh(self) -> None:
        """Update all copies of the coefficients of the operator."""
        for one in self._refreshing:
            one()

    def _steps_of_an_iteration(self, flat: FlatKernels | None, control: Any) -> tuple[Any, Any]:
        """Return functions to launches: (q, image) to image = L q, and (r, q) to q = P^-1 r, or None."""
        if self._preconditioner == "chebyshev":
            polynomial = Polynomial(self.operator, self._sweeps, flat, control)
            self._refreshing.append(polynomial.refresh)
            return polynomial.apply, polynomial.launches
        operator = self.operator
        return operator.apply, self._preconditioning()

    def _preconditioning(self) -> Any:
        """Return launches of other preconditioners, or None."""
        if self._preconditioner in ("line-jacobi", "richardson"):
            sweeps = Sweeps(self.operator, self._preconditioner, self._sweeps)
            self._refreshing.append(sweeps.factorise)
            return sweeps.launches
        if self._preconditioner == "none":
            return None
        return self._flat

    def _spectral(self, sign: float = 1.0) -> Spectral:
        """Return the inverse of the flat operator with horizontal means; it follows the coefficients."""
        spectral = Spectral(self._device, self._precision, self.metric, sign)

        def refresh() -> None:
            density, across, up = self.operator.means()
            spectral.set_coefficients(across, up, np.ones_like(density) if self._by_point else density)

        self._refreshing.append(refresh)
        refresh()
        return spectral

    @property
    def _by_point(self) -> bool:
        """True for a density field, False for a profile."""
        return self.operator.medium.density.shape == self.shape

    def _flat(self, r: Any, q: Any, spectral: Spectral | None = None) -> list[Work]:
        """Return launches of q = P^-1 r of the flat operator with horizontal means, or of `spectral`."""
        spectral = spectral or self._spectral()
        if self._by_point:
            return [self.operator.weighed(r, self._b), *spectral.launches(self._b, q)]
        return spectral.launches(r, q)

    def solve(self, dt: float) -> Projected:
        """Project u, v, w; the time step `dt`, s, scales the divergence.

        Raises
        ------
        ConvergenceError
            If the tolerance is not reached; the velocity is unchanged, and phi is the best iterate.
        """
        result = self.find(dt)
        self.correct()
        return result

    def find(self, dt: float) -> Projected:
        """Solve for phi, without the launches `final`."""
        self._device.run(self._first_guess(dt))
        self.steps = (dt, self.steps[0])
        result = self._until.run(self.tolerance / dt, self._max_iterations)
        return Projected(result.iterations, result.norm * dt)

    def correct(self) -> None:
        """Compute u, v, w of the current phi, as the last part of `solve`."""
        self._device.run(self.final)

    def set_out(self, dt: float) -> None:
        """Set the next time step, s, and the first guess, before launches of `unlooked`."""
        if self._small_of != dt:
            self._device.fill(self._small, np.array([self.tolerance / dt]))
            self._small_of = dt
        self._device.run(self._first_guess(dt))
        self.steps = (dt, self.steps[0])

    def unlooked(self, iterations: int) -> list[Work]:
        """Return launches of a solution with a maximum number of iterations, after `set_out`; result: `control`.

        The result is bitwise identical to `solve` if that needs no more iterations. Launches are valid until `bound`
        changes.
        """
        return [*self._until.unlooked(self._small, self._max_iterations, iterations), *self.final]

    @property
    def control(self) -> Any:
        """Control numbers of the iteration on the device; see `eagre.stepping.convergence_loop`."""
        return self._until.control

    def _first_guess(self, dt: float) -> list[Work]:
        """Return launches that set the first guess, which `swap` then moves to phi, from an earlier solution."""
        if self._direct:
            return []
        guess, source, factor = guess_source(self.phi, self.older, self.steps, dt)
        factor = 0.0 if self._guess == "zero" else factor
        if factor == 1.0 and guess is source:
            return []
        loop = self._device.loop(stretch, self._precision)
        return [self._device.over(loop, self.shape, (guess, source, self._real(factor)))]
