"""Parts of the suite: work on a device, number of steps, and verification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.advection.mpdata import plan_of
from eagre.advection.plan import Advector, Options
from eagre.backend.device import Device, check_precision
from eagre.errors import ConvergenceError, EagreError
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.pressure.operator_launches import PressureOperator
from eagre.models.anelastic.pressure.projection import Projection

Shape = tuple[int, int, int]
Made = tuple[Callable[[], None], int, Callable[[], str]]
RING = ("periodic", "periodic", "periodic")
ROUNDING = {"single": 2e-5, "double": 2e-13}
COMPARED = (12, 10, 14)  # shape of the comparison with NumPy
NEVER = 1e-30  # tolerance that is never reached


def winds(shape: Shape, real: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random solenoidal fluxes through the faces normal to x, y and z."""
    rng, (nz, ny, nx) = np.random.default_rng(7), shape
    ones = np.ones
    return (
        (0.4 * rng.random((nz, ny, 1)) * ones(nx + 1) - 0.2).astype(real),
        (0.4 * rng.random((nz, 1, nx)) * ones((1, ny + 1, 1)) - 0.2).astype(real),
        (0.4 * rng.random((1, ny, nx)) * ones((nz + 1, 1, 1)) - 0.2).astype(real),
    )


def advection(device: Device, precision: str, shape: Shape, kernels: str = "fast") -> Made:
    """Return steps of MPDATA, gauge variant with limiter, of a random field in a solenoidal flow of random density.

    kernels : as in `eagre.advection.Mpdata`.
    """
    real = check_precision(precision)
    rng = np.random.default_rng(5)
    start, h = rng.random(shape).astype(real), (1.0 + 0.5 * rng.random(shape)).astype(real)
    v1, v2, v3 = (device.array(one) for one in winds(shape, real))
    advector = Advector(v1, v2, v3, device.array(h))
    first, second = device.array(start), device.zeros(shape, real)
    plan = plan_of(device, precision, shape, RING, Options(), kernels)
    work = device.repeated([*plan.launches(first, second, advector), *plan.launches(second, first, advector)], 1)
    mass = float(np.sum(start * h, dtype=np.float64))

    def verified() -> str:
        result = device.host(first)
        change = abs(float(np.sum(result * h, dtype=np.float64)) / mass - 1.0)
        inside = start.min() - 1e-5 <= result.min() and result.max() <= start.max() + 1e-5
        if not (change < 100.0 * ROUNDING[precision] and inside):
            raise EagreError(
                f"Mass changed by {change:.2g} on {device}; values range from {result.min():g} to {result.max():g}."
            )
        return f"mass {change:.1e}, in bounds"

    return work, 2, verified


def _operator(device: Device, precision: str, shape: Shape) -> PressureOperator:
    ones = np.ones((shape[0], 1, 1))
    return PressureOperator(device, precision, Metric(shape, (1.0, 1.0, 1.0), RING), ones, ones, 0.0 * ones, ones)


def laplacian(device: Device, precision: str, shape: Shape) -> Made:
    """Return the application of the pressure operator on a periodic cube, once per call."""
    real = check_precision(precision)
    q, out = device.array(np.random.default_rng(5).random(shape).astype(real)), device.zeros(shape, real)
    work = device.repeated(_operator(device, precision, shape).apply(q, out), 1)

    def verified() -> str:
        is_small = np.random.default_rng(6).random(COMPARED)
        there, result = device.array(is_small.astype(real)), device.zeros(COMPARED, real)
        device.run(_operator(device, precision, COMPARED).apply(there, result))
        wide = sum(np.roll(is_small, 2, axis) - 2.0 * is_small + np.roll(is_small, -2, axis) for axis in range(3))
        worst = float(np.abs(device.host(result) - 0.25 * wide).max())
        if not worst < ROUNDING[precision]:
            raise EagreError(f"The operator differs from plain sums by {worst:.2g} on {device}.")
        return f"{worst:.1e} from plain sums"

    return work, 1, verified


def one_iteration(*, hill: bool) -> Callable[[Device, str, Shape], Made]:
    """Return one iteration of GCR per call, without the initial residual and the final velocity.

    Without a hill: first test of the paper, a periodic cube. With a hill: replacement of its second test, on a sphere,
    with walls below and above and a direct solver for columns.
    """

    def make(device: Device, precision: str, shape: Shape) -> Made:
        projection = _projection(device, precision, shape, hill, max_iterations=1)

        def work() -> None:
            try:
                projection.solve(1.0)
            except ConvergenceError:
                return

        def verified() -> str:
            is_small = _projection(device, precision, (16, 16, 16), hill, max_iterations=400, tolerance=1e-3)
            return f"{is_small.solve(1.0).iterations} iterations to 1e-3 at 16^3"

        return work, 1, verified

    return make


def _projection(
    device: Device, precision: str, shape: Shape, hill: bool, *, max_iterations: int, tolerance: float = NEVER
) -> Projection:
    """Return a projection of random winds, m/s, with spacings of 1 m."""
    real, (nz, ny, nx) = check_precision(precision), shape
    ground, sides = None, RING
    if hill:
        x, y = (np.arange(n) - n // 2 for n in (nx, ny))
        ground = 0.1 * nz * np.exp(-(x**2 + y[:, None] ** 2) / (0.15 * nx) ** 2)
        sides = ("wall", "periodic", "periodic")
    metric = Metric(shape, (1.0, 1.0, 1.0), sides, hill=ground)
    projection = Projection(
        device, precision, metric, tolerance=tolerance, method="gcr", guess="zero", max_iterations=max_iterations,
        num_directions=1, preconditioner="line-jacobi" if hill else "none",
    )  # fmt: skip
    rng = np.random.default_rng(9)
    for array in (projection.u, projection.v, projection.w):
        device.fill(array, (rng.random(shape) - 0.5).astype(real))
    return projection


def peer(device: Device, precision: str, shape: Shape) -> Made:
    """Return the steps of `advection` by PyMPDATA."""
    from importlib import import_module

    peer_values, periodic = import_module("PyMPDATA"), import_module("PyMPDATA.boundary_conditions").Periodic
    real = check_precision(precision)
    rng = np.random.default_rng(5)
    start, h = rng.random(shape).astype(real), (1.0 + 0.5 * rng.random(shape)).astype(real)
    options = peer_values.Options(n_iters=2, infinite_gauge=True, nonoscillatory=True, dtype=real)
    sides = {"halo": options.n_halo, "boundary_conditions": (periodic(), periodic(), periodic())}
    solver = peer_values.Solver(
        stepper=peer_values.Stepper(options=options, grid=shape, non_unit_g_factor=True),
        advectee=peer_values.ScalarField(start.copy(), **sides),
        advector=peer_values.VectorField(tuple(reversed(winds(shape, real))), **sides),
        g_factor=peer_values.ScalarField(h, **sides),
    )
    mass = float(np.sum(start * h, dtype=np.float64))

    def verified() -> str:
        change = abs(float(np.sum(solver.advectee.get() * h, dtype=np.float64)) / mass - 1.0)
        return f"mass {change:.1e}"

    return lambda: solver.advance(1), 1, verified
