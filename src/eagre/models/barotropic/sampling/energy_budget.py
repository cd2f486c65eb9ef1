"""Energy budget of a state: sources and sinks, term by term."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.models.barotropic import kernels
from eagre.models.barotropic.setup import Setup

INNER = (slice(1, -1), slice(1, -1))
CENTRE = 4  # index of the centre in the nine-point stencil
JACOBIANS = {"arakawa": kernels.arakawa_jacobian, "advective": kernels.advective_jacobian}


def energy_budget(model: Any) -> dict[str, float]:
    """Return the rate of change of energy by each term F, -sum(w psi F) dA; w : thickness fractions.

    Returns
    -------
    dict
        wind, viscosity, friction, biharmonic, beta, advection, topography; total, the sum of these; and residual,
        advection divided by the largest of the first four. Beta, advection and topography vanish in exact arithmetic
        for the Arakawa Jacobian.
    """
    engine, setup = model._engine, model.setup
    layers = range(engine.count)
    wind = engine.pad(setup.curl_at(model.time))[INNER]
    psi, q = ([engine.padded(name, layer).astype(np.float64) for layer in layers] for name in ("psi", "q"))
    weights = (1.0,) if setup.layers is None else setup.layers.thickness_fractions
    rates: dict[str, float] = {}
    for layer, weight in zip(layers, weights, strict=True):
        for name, term in _terms(engine, layer, psi, q, wind).items():
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
    engine: Any, layer: int, psi: list[np.ndarray], q: list[np.ndarray], wind: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the terms of q_t of a layer at the unknown points; wind : forcing at these points."""
    setup: Setup = engine.setup
    grid, p = setup.grid, psi[layer]
    zeta = relative_vorticity(setup, layer, psi, q)
    lap = _laplacian(zeta, setup)
    modes = [("wrap" if wrap else "constant") for wrap in setup.periodic]
    padded = np.pad(np.pad(lap, ((1, 1), (0, 0)), mode=modes[1]), ((0, 0), (1, 1)), mode=modes[0])  # type: ignore[call-overload]
    lowest = layer == engine.count - 1
    nothing = np.zeros_like(lap)
    bed = nothing if setup.topography is None else engine.pad(setup.topography)
    east, west = p[1:-1, 2:], p[1:-1, :-2]
    return {
        "wind": wind if layer == 0 else nothing,
        "viscosity": setup.viscosity * lap,
        "friction": -setup.friction * zeta[INNER] if lowest else nothing,
        "biharmonic": -setup.biharmonic * _laplacian(padded, setup) if setup.biharmonic else nothing,
        "beta": -setup.beta * (east - west) / (2.0 * grid.dx),
        "advection": -_jacobian(p, q[layer], setup),
        "topography": -_jacobian(p, bed, setup) if lowest and setup.topography is not None else nothing,
    }


def _neighbours(field: np.ndarray) -> list[np.ndarray]:
    """Return the nine stencil values of the unknown points, from south-west to north-east, as the kernels expect."""
    ny, nx = field.shape
    return [field[j : ny - 2 + j, i : nx - 2 + i] for j in range(3) for i in range(3)]


def _laplacian(field: np.ndarray, setup: Setup) -> np.ndarray:
    _, south, _, west, here, east, _, north, _ = _neighbours(field)
    return kernels.five_points(south, west, here, east, north, setup.grid.dx**-2, setup.grid.dy**-2)


def _jacobian(psi: np.ndarray, carried: np.ndarray, setup: Setup) -> np.ndarray:
    values = [value for field in (psi, carried) for k, value in enumerate(_neighbours(field)) if k != CENTRE]
    return JACOBIANS[setup.jacobian](*values) / (4.0 * setup.grid.dx * setup.grid.dy)
