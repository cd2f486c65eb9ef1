"""Base state on the levels of a grid, and coefficients of the implicit part of a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eagre.models.anelastic.forcing.profile_forcing import profile_of
from eagre.models.anelastic.setup import Setup

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class BaseState:
    """Base-state profiles at the points: (nz, 1, 1), over terrain (nz, ny, nx).

    Attributes
    ----------
    density : kg m-3
        rho_b.
    theta : K
        theta_e.
    stability : s-2
        N^2.
    lapse : K/m
        d theta_e / dz.
    buoyancy : m s-2 K-1
        g / theta_b.
    wind : pair, m/s
        u_e, v_e.
    balanced : pair, m/s
        Geostrophic wind of the large-scale pressure gradient; the ambient wind by default.
    sponge : s-1
        Damping rate of the top sponge layer.
    coldest : K
        Minimum theta_e of the grid.
    """

    density: Array
    theta: Array
    stability: Array
    lapse: Array
    buoyancy: Array
    wind: tuple[Array, Array]
    balanced: tuple[Array, Array]
    sponge: Array
    coldest: float

    @classmethod
    def of(cls, setup: Setup) -> BaseState:
        """Evaluate the profiles at the heights of the points."""
        air, z = setup.air, setup.levels.z
        theta_b = air.reference(z)
        stability = air.stability(z, setup.layers)
        gravity, ambient = air.gravity, air.ambient(z)
        still, wind = np.zeros(z.shape), setup.forcing.geostrophic or air.wind
        return cls(
            air.density(z),
            ambient,
            stability,
            stability * theta_b / gravity if gravity else still,
            gravity / theta_b,
            (air.wind[0](z) + still, air.wind[1](z) + still),
            (profile_of("u", wind[0])(z) + still, profile_of("v", wind[1])(z) + still),
            np.broadcast_to(setup.top_sponge[:, None, None], z.shape),
            float(ambient.min()),
        )

    def implicit(self, dt: float, coriolis: float) -> dict[str, Array]:
        """Return the fields of `kernels.ImplicitTerms` for a time step, s, by name.

        C is the inverse of the implicit operator of u, v and w after elimination of theta': with a = dt/2 alpha,
        b = dt/2 beta = a, gamma = dt/2 f: ``c11 = (1 + a) / ((1 + a)^2 + gamma^2)``, ``c12 = gamma / (...)`` and
        ``c33 = 1 / (1 + a + (dt/2)^2 N^2 / (1 + b))``.
        """
        half = 0.5 * dt
        a, gamma = half * self.sponge, half * coriolis
        size = (1.0 + a) ** 2 + gamma**2
        (ue, ve), (ug, vg) = self.wind, self.balanced
        return {
            "c11": (1.0 + a) / size,
            "c12": gamma / size,
            "c33": 1.0 / (1.0 + a + half**2 * self.stability / (1.0 + a)),
            "ue": a * ue - gamma * vg,
            "ve": a * ve + gamma * ug,
            "lift": half * self.buoyancy / (1.0 + a),
            "lapse": half * self.lapse,
            "keep": 1.0 / (1.0 + a),
        }
