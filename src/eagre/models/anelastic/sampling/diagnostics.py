"""Integrals and extremes of an anelastic state."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eagre.models.anelastic.base.metric import derivative
from eagre.models.anelastic.engine import COMPONENTS, Engine
from eagre.models.anelastic.step_kernels import Velocity

Array = np.ndarray


def mass_weights(engine: Engine) -> Array:
    """Return the mass of each point, (nz, ny, nx), kg; points on walls have half a cell."""
    metric = engine.metric
    dz, dy, dx = engine.setup.spacing
    return metric.weights * engine.base_state.density * metric.jacobian * (dx * dy * dz)


def diagnostics_of(engine: Engine) -> Mapping[str, float]:
    """Return kinetic energy, J, and per unit mass, extremes of wind and theta', stability number and divergence.

    Of several processes, only the first has the fields; the others return {}.
    """
    setup, kinetic = engine.setup, np.zeros(())
    for name in COMPONENTS:
        kinetic = kinetic + engine.field(name).astype(np.float64) ** 2
    w = engine.field("w")
    others = engine.fields([*setup.scalars, *(("theta",) if setup.stratified else ())])
    if not engine.device.is_first:
        return {}
    kinetic, mass = 0.5 * kinetic, mass_weights(engine)
    energy = float(np.sum(mass * kinetic))
    results = {
        "kinetic_energy": energy,
        "mean_kinetic_energy": energy / float(mass.sum()),
        "max_speed": float(np.sqrt(2.0 * kinetic.max())),
        "max_w": float(w.max()),
        "min_w": float(w.min()),
        "stability_number": engine.counts["courant"],
        "scaled_divergence": engine.counts["divergence"],
    }
    if setup.stratified:
        theta = others["theta"].astype(np.float64)
        results |= {"max_theta_perturbation": float(theta.max()), "min_theta_perturbation": float(theta.min())}
    for name in setup.scalars:
        values = others[name].astype(np.float64)
        results |= {f"total_{name}": float(np.sum(mass * values)), f"min_{name}": float(values.min())}
    return results


def vorticity(engine: Engine, velocity: Velocity | None = None) -> tuple[Array, Array, Array]:
    """Return the vorticity (w_y - v_z, u_z - w_x, v_x - u_y), s-1, of the current or a given wind, for flat terrain."""
    setup, (u, v, w) = engine.setup, velocity or engine.velocity()
    stretch = (1.0 / engine.metric.stretch)[:, None, None]

    def along(a: Array, axis: int) -> Array:
        gradient = derivative(a, axis, setup.spacing[axis], setup.boundaries[axis] == "periodic")
        return gradient * stretch if axis == 0 else gradient

    return along(w, 1) - along(v, 0), along(u, 0) - along(w, 2), along(v, 2) - along(u, 1)


def enstrophy(engine: Engine) -> float:
    """Return the mean enstrophy, half of the square of the vorticity, s-2, for flat terrain."""
    mass = mass_weights(engine)
    return float(np.sum(0.5 * mass * sum(one**2 for one in vorticity(engine))) / mass.sum())
