"""Base state on the levels of a grid, and coefficients of the implicit part of a step."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from eagre.models.anelastic.base.vertical_profiles import Profile
from eagre.models.anelastic.forcing.profile_forcing import profile_of
from eagre.models.anelastic.setup import Setup

Array = np.ndarray


class BaseState:
    """Base-state profiles at the points, (nz, 1, 1), over terrain (nz, ny, nx), evaluated when they are first used.

    Parameters
    ----------
    setup : Setup
    coldest : float, optional
        Minimum theta_e of the grid, K, if `setup` has a part of the rows.
    """

    def __init__(self, setup: Setup, coldest: float | None = None) -> None:
        self._setup, self._coldest = setup, coldest

    @cached_property
    def density(self) -> Array:
        """rho_b, kg m-3."""
        return self._setup.air.density(self._setup.levels.z)

    @cached_property
    def theta(self) -> Array:
        """theta_e, K."""
        return self._setup.air.ambient(self._setup.levels.z)

    @cached_property
    def stability(self) -> Array:
        """N^2, s-2."""
        return self._setup.air.stability(self._setup.levels.z, self._setup.layers)

    @cached_property
    def lapse(self) -> Array:
        """d theta_e / dz, K/m."""
        air, z = self._setup.air, self._setup.levels.z
        return self.stability * air.reference(z) / air.gravity if air.gravity else np.zeros(z.shape)

    @cached_property
    def buoyancy(self) -> Array:
        """g / theta_b, m s-2 K-1."""
        return self._setup.air.gravity / self._setup.air.reference(self._setup.levels.z)

    @cached_property
    def wind(self) -> tuple[Array, Array]:
        """u_e and v_e, m/s."""
        return self._at_points(self._setup.air.wind)

    @cached_property
    def balanced(self) -> tuple[Array, Array]:
        """Geostrophic wind of the large-scale pressure gradient, m/s; the ambient wind by default."""
        geostrophic = self._setup.forcing.geostrophic
        return self._at_points(geostrophic) if geostrophic else self.wind

    def _at_points(self, wind: tuple[float | Profile, float | Profile]) -> tuple[Array, Array]:
        z, (u, v) = self._setup.levels.z, wind
        return profile_of("u", u)(z) + np.zeros(z.shape), profile_of("v", v)(z) + np.zeros(z.shape)

    @property
    def sponge(self) -> Array:
        """Damping rate of the top sponge layer, s-1."""
        return np.broadcast_to(self._setup.top_sponge[:, None, None], self._setup.levels.z.shape)

    @cached_property
    def coldest(self) -> float:
        """Minimum theta_e of the grid, K."""
        return float(self.theta.min()) if self._coldest is None else self._coldest

    def at_ends(self, axis: int) -> BaseState:
        """Return the base state in the planes at both ends of y, axis 1, or x, axis 2."""
        terrain = self._setup.levels.terrain_height
        if terrain is None:
            return self
        levels = replace(self._setup.levels, terrain_height=terrain.take([0, -1], axis - 1))
        return BaseState(replace(self._setup, levels=levels))

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
