"""Diagnostics of a state: energy and its budget, enstrophy, velocities and energy spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.device import array_module
from eagre.models.barotropic import kernels
from eagre.models.barotropic.setup import Setup


def integrals(psi: list[Any], q: list[Any], zeta: list[Any], weights: Sequence[float], area: float) -> dict[str, float]:
    """Return energy, enstrophy and extremes over the unknown points; sums are in double precision.

    energy = -1/2 sum(w psi q) dA with thickness fractions w: kinetic energy plus, with a deformation radius or two
    layers, the available potential energy. enstrophy = 1/2 sum(w zeta^2) dA. Mean and extremes are of the upper layer.
    """
    module = array_module(psi[0])
    inner = (slice(1, -1), slice(1, -1))

    def total(a: Any) -> float:
        return float(module.sum(a, dtype=np.float64))

    each = [[field[inner] for field in layer] for layer in zip(psi, q, zeta, strict=True)]
    p, _, z = each[0]
    return {
        "energy": -0.5 * area * sum(w * total(a * b) for w, (a, b, _) in zip(weights, each, strict=True)),
        "enstrophy": 0.5 * area * sum(w * total(c * c) for w, (*_, c) in zip(weights, each, strict=True)),
        "mean_vorticity": total(z) / p.size,
        "max_streamfunction": float(p.max()),
        "min_streamfunction": float(p.min()),
        "max_vorticity": float(module.abs(z).max()),
    }


def speeds(psi: Any, dx: float, dy: float) -> tuple[float, float]:
    """Return the maximum of |u| and |v| midway between points."""
    module = array_module(psi)
    u = module.abs(psi[1:] - psi[:-1]).max()
    v = module.abs(psi[:, 1:] - psi[:, :-1]).max()
    return float(u) / dy, float(v) / dx


def velocity(psi: np.ndarray, dx: float, dy: float) -> tuple[np.ndarray, np.ndarray]:
    """Return u = -psi_y, v = psi_x at the points of a host array: central, second-order one-sided at the edges."""
    return -np.gradient(psi, dy, axis=0, edge_order=2), np.gradient(psi, dx, axis=1, edge_order=2)


def energy_spectrum(
    psi: np.ndarray, dx: float, dy: float, periodic: tuple[bool, bool] = (False, False)
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kinetic energy in isotropic wavenumber bins.

    Parameters
    ----------
    psi : (ny, nx)
        Streamfunction at the points, including walls.
    dx, dy : float, m
    periodic : (bool, bool)
        Whether x and y are periodic; expansion in Fourier modes along periodic axes, else in sines.

    Returns
    -------
    wavenumber, energy : (m,)
        Bins as wide as the smallest wavenumber; the energies sum to the mean kinetic energy per area.
    """
    import scipy.fft

    amplitude, squares, symbols, numbers = psi.astype(np.float64), [], [], []
    for axis, h, wrap in ((1, dx, periodic[0]), (0, dy, periodic[1])):
        n = psi.shape[axis] - (not wrap)
        if wrap:
            amplitude = scipy.fft.fft(amplitude, axis=axis) / n
            k = 2.0 * np.pi / (n * h) * np.minimum(np.arange(n), n - np.arange(n))
        else:
            inside = [slice(None)] * 2
            inside[axis] = slice(1, -1)
            amplitude = scipy.fft.dst(amplitude[tuple(inside)], type=1, axis=axis) / n
            k = np.pi / (n * h) * np.arange(1, n)
        squares.append(1.0 if wrap else 0.5)  # mean square of a mode
        symbols.append((2.0 / h * np.sin(0.5 * k * h)) ** 2)
        numbers.append(k)
    symbol = symbols[0] + symbols[1][:, None]
    energy = 0.5 * squares[0] * squares[1] * symbol * np.abs(amplitude) ** 2
    width = min(k[k > 0.0].min() for k in numbers)
    shell = np.rint(np.hypot(numbers[0], numbers[1][:, None]) / width).astype(int)
    totals = np.bincount(shell.ravel(), energy.ravel())
    return width * np.arange(totals.size), totals


INNER = (slice(1, -1), slice(1, -1))
JACOBIANS = {"arakawa": kernels.arakawa_jacobian, "advective": kernels.advective_jacobian}


def energy_budget(model: Any) -> dict[str, float]:
    """Return the rate of change of energy by each term F, -sum(w psi F) dA; w : thickness fractions.

    Returns
    -------
    dict
        wind, viscosity, friction, biharmonic, beta, advection, topography; total, the sum of these; and residual,
        advection divided by the largest of the first four. Beta, advection and topography vanish in exact arithmetic
        for the Arakawa Jacobian. Empty in processes other than the first.
    """
    engine, setup = model._engine, model.setup
    layers = range(engine.count)
    psi, q = ([engine.padded(name, layer).astype(np.float64) for layer in layers] for name in ("psi", "q"))
    curl, topography = engine.curl(model.time), engine.topography()
    if not engine.device.is_first:
        return {}
    wind, bed = engine.pad(curl)[INNER], None if topography is None else engine.pad(topography)
    weights = (1.0,) if setup.layers is None else setup.layers.thickness_fractions
    rates: dict[str, float] = {}
    for layer, weight in zip(layers, weights, strict=True):
        for name, term in _terms(engine, layer, psi, q, wind, bed).items():
            rate = -weight * float((psi[layer][INNER] * term).sum()) * setup.grid.cell_area
            rates[name] = rates.get(name, 0.0) + rate
    max_rate = max(abs(rates[name]) for name in ("wind", "viscosity", "friction", "biharmonic"))
    residual = rates["advection"] / max_rate if max_rate > 0 else 0.0
    return {**rates, "total": sum(rates.values()), "residual": residual}


def relative_vorticity(setup: Setup, layer: int, psi: list[Any], q: list[Any]) -> Any:
    """Return zeta = Lap psi of a layer from the potential vorticities and streamfunctions of all layers."""
    kind = psi[layer].dtype.type
    if setup.layers is not None:
        return q[layer] + kind(setup.layers.coupling_parameter(layer)) * (psi[layer] - psi[1 - layer])
    return q[layer] + kind(setup.screening) * psi[layer] if setup.screening else q[layer]


def _terms(
    engine: Any, layer: int, psi: list[np.ndarray], q: list[np.ndarray], wind: np.ndarray, bed: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return the terms of q_t of a layer at the unknown points; wind : forcing at these points; bed : topography."""
    setup: Setup = engine.setup
    grid, p = setup.grid, psi[layer]
    zeta = relative_vorticity(setup, layer, psi, q)
    lap = _laplacian(zeta, setup)
    modes = [("wrap" if wrap else "constant") for wrap in setup.periodic]
    padded = np.pad(np.pad(lap, ((1, 1), (0, 0)), mode=modes[1]), ((0, 0), (1, 1)), mode=modes[0])  # type: ignore[call-overload]
    lowest = layer == engine.count - 1
    nothing = np.zeros_like(lap)
    east, west = p[1:-1, 2:], p[1:-1, :-2]
    return {
        "wind": wind if layer == 0 else nothing,
        "viscosity": setup.viscosity * lap,
        "friction": -setup.bottom_friction * zeta[INNER] if lowest else nothing,
        "biharmonic": -setup.biharmonic_viscosity * _laplacian(padded, setup)
        if setup.biharmonic_viscosity
        else nothing,
        "beta": -setup.beta * (east - west) / (2.0 * grid.dx),
        "advection": -_jacobian(p, q[layer], setup),
        "topography": -_jacobian(p, bed, setup) if lowest and bed is not None else nothing,
    }


def _neighbours(field: np.ndarray) -> list[np.ndarray]:
    """Return the nine stencil values of the unknown points, from south-west to north-east, as the kernels expect."""
    ny, nx = field.shape
    return [field[j : ny - 2 + j, i : nx - 2 + i] for j in range(3) for i in range(3)]


def _laplacian(field: np.ndarray, setup: Setup) -> np.ndarray:
    _, south, _, west, here, east, _, north, _ = _neighbours(field)
    return kernels.five_points(south, west, here, east, north, setup.grid.dx**-2, setup.grid.dy**-2)


def _jacobian(psi: np.ndarray, carried: np.ndarray, setup: Setup) -> np.ndarray:
    stencils = (kernels.Stencil(*_neighbours(field)) for field in (psi, carried))
    return JACOBIANS[setup.jacobian](*stencils) / (4.0 * setup.grid.dx * setup.grid.dy)
