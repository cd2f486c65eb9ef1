"""Integrals of a state: energy, enstrophy, what feeds and drains them, and the spectrum of the flow."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.arrays import array_module


def integrals(psi: Any, q: Any, screening: float, area: float, count: float) -> dict[str, float]:
    """Energy, enstrophy and extremes over the unknown points, sums in double precision.

    energy = -1/2 sum(psi q) dA: kinetic, and with screening the potential energy of the surface.
    enstrophy = 1/2 sum(zeta^2) dA, zeta = q + screening psi.
    """
    module = array_module(psi)
    inner = (slice(1, -1), slice(1, -1))
    p, z = psi[inner], q[inner]
    zeta = z + psi.dtype.type(screening) * p if screening else z
    return {
        "energy": -0.5 * area * float(module.sum(p * z, dtype=np.float64)),
        "enstrophy": 0.5 * area * float(module.sum(zeta * zeta, dtype=np.float64)),
        "mean_vorticity": float(module.sum(zeta, dtype=np.float64)) / count,
        "max_streamfunction": float(p.max()),
        "min_streamfunction": float(p.min()),
        "max_vorticity": float(module.abs(zeta).max()),
    }


def speeds(psi: Any, dx: float, dy: float) -> tuple[float, float]:
    """Largest |u| and |v| between points."""
    module = array_module(psi)
    u = module.abs(psi[1:] - psi[:-1]).max()
    v = module.abs(psi[:, 1:] - psi[:, :-1]).max()
    return float(u) / dy, float(v) / dx


def velocity(psi: np.ndarray, dx: float, dy: float) -> tuple[np.ndarray, np.ndarray]:
    """u = -psi_y and v = psi_x at the points of a host array: central, one-sided of second order at the edges."""
    return -np.gradient(psi, dy, axis=0, edge_order=2), np.gradient(psi, dx, axis=1, edge_order=2)


def energy_budget(model: Any) -> dict[str, float]:
    """Rates of change of the energy, -sum(psi F) dA term by term, for one layer.

    Returns
    -------
    dict
        wind, viscosity, friction, beta and advection (the last two vanish in exact arithmetic for
        Arakawa's Jacobian) and residual = advection / largest of the others.
    """
    from eagre.models.barotropic import kernels

    engine, setup = model._engine, model.setup
    fields = (field[0][engine.at] for field in (engine.psi, engine.q))
    psi, q = (engine.device.host(engine.view(field)).astype(np.float64) for field in fields)
    grid = setup.grid
    inner = (slice(1, -1), slice(1, -1))
    zeta = q + setup.screening * psi
    jacobian = {"arakawa": kernels.arakawa_jacobian, "advective": kernels.advective_jacobian}[setup.jacobian]
    around = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]

    def at(field: np.ndarray, a: int, b: int) -> np.ndarray:
        return field[1 + a : field.shape[0] - 1 + a, 1 + b : field.shape[1] - 1 + b]

    values = jacobian.function.__globals__["real"](1.0), [at(f, a, b) for f in (psi, q) for a, b in around]
    turned = jacobian(*values[1]) / (4.0 * grid.dx * grid.dy)
    twice = 2.0 * zeta[inner]
    lap = (at(zeta, 0, 1) + at(zeta, 0, -1) - twice) / grid.dx**2 + (
        at(zeta, 1, 0) + at(zeta, -1, 0) - twice
    ) / grid.dy**2
    area = grid.cell_area
    curl = engine.with_rims(setup.curl)[inner]

    def rate(term: np.ndarray) -> float:
        return -float((psi[inner] * term).sum()) * area

    found = {
        "wind": rate(curl),
        "viscosity": rate(setup.viscosity * lap),
        "friction": rate(-setup.friction * zeta[inner]),
        "beta": rate(-setup.beta * (at(psi, 0, 1) - at(psi, 0, -1)) / (2.0 * grid.dx)),
        "advection": rate(-turned),
    }
    largest = max(abs(found[name]) for name in ("wind", "viscosity", "friction"))
    return {**found, "residual": found["advection"] / largest if largest > 0 else 0.0}


def energy_spectrum(psi: np.ndarray, dx: float, dy: float) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic energy in rings of wavenumber of a box with walls.

    Parameters
    ----------
    psi : (ny, nx)
        With its walls.

    Returns
    -------
    wavenumber, energy : (m,)
        Rings of width pi / (longest side); the energies add up to the mean kinetic energy per area.
    """
    import scipy.fft

    ny, nx = psi.shape
    k = np.pi * np.arange(1, nx - 1) / ((nx - 1) * dx)
    m = np.pi * np.arange(1, ny - 1) / ((ny - 1) * dy)
    amplitude = scipy.fft.dstn(psi[1:-1, 1:-1].astype(np.float64), type=1) / ((nx - 1) * (ny - 1))
    symbol = (2.0 / dx * np.sin(0.5 * k * dx)) ** 2 + (2.0 / dy * np.sin(0.5 * m * dy))[:, None] ** 2
    energy = 0.125 * symbol * amplitude**2
    width = np.pi / max((nx - 1) * dx, (ny - 1) * dy)
    ring = np.rint(np.hypot(k, m[:, None]) / width).astype(int)
    totals = np.bincount(ring.ravel(), energy.ravel())
    return width * np.arange(totals.size), totals
