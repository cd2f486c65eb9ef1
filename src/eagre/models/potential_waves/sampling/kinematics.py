"""Flow below the surface at one time: velocity, acceleration and pressure at arbitrary points.

With the potential Phi(x, y, sigma) on the vertical grid, sigma = (z + h) / d::

    u = Phi_x + sigma_x Phi_s,   v likewise,   w = Phi_s / d
    p = -rho (phi_t + |grad phi|^2 / 2 + g z)
    D u / D t = grad phi_t + (grad phi . grad) grad phi

At a fixed point phi_t is harmonic like phi, satisfies the same condition at the bed and is -w~ eta_t + d phi~ / dt at
the surface. It follows from the same Laplace problem, without finite differences in time. Sources:
A. P. Engsig-Karup, H. B. Bingham, O. Lindberg, J. Comput. Phys. 228, 2100-2118 (2009), doi:10.1016/j.jcp.2008.11.028,
equations 1 to 5; for phi_t R. Cointe, P. Geyer, B. King, B. Molin, M. Tramoni, Proc. 18th Symp. Naval Hydrodynamics
(1990), 85-99.

The potential of the model does not contain the part U a of a wavemaker (`boundaries.wavemaker`). The
known derivatives of U a are added, and U_t a is added to phi_t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.constants import WATER_DENSITY
from eagre.models.potential_waves.boundaries.wavemaker import Inlet
from eagre.models.potential_waves.laplace.base import Laplace
from eagre.models.potential_waves.sampling.probes import Column, Probes
from eagre.models.potential_waves.surface.forcing import Forcing

Array = np.ndarray
MAX_RATE_ERROR = 1e-6  # maximum relative error of phi_t; applies if the potential is 0
X, Y, S, XX, YY, SS, XY, XS, YS = range(1, 10)  # rows of the derivatives of a potential; row 0 is the potential


class Kinematics(NamedTuple):
    """Kinematics and pressure at n points; NaN at points outside the water.

    Parameters
    ----------
    z : (n,), m
        Height above the still-water level.
    velocity : (3, n), m/s
        Velocity components u, v, w along x, y, z.
    acceleration : (3, n), m/s2
        Material acceleration D/Dt.
    local_acceleration : (3, n), m/s2
        Local acceleration d/dt at the fixed point.
    dynamic_pressure : (n,), Pa
        Dynamic pressure p + rho g z (deviation from hydrostatic).
    pressure : (n,), Pa
        Pressure relative to atmospheric pressure; 0 at the surface.
    elevation : (n,), m
        Surface elevation at the horizontal position of the points.
    """

    z: Array
    velocity: Array
    acceleration: Array
    local_acceleration: Array
    dynamic_pressure: Array
    pressure: Array
    elevation: Array


class Flow:
    """Flow below the present surface of a Laplace problem.

    Parameters
    ----------
    laplace : Laplace
        Laplace solver; its `fields` are the surface. Every call restores its `fields`, `psi` and `w`, so probes do not
        change the results of a run.
    gravity : float
        Acceleration of gravity, m/s2.
    tolerance : float
        Absolute tolerance of `Laplace.solve`, m2/s.
    density : float
        Density of water, kg/m3.
    linear : bool
        Whether the problem is linear: the surface is at z = 0 and the squared velocity is neglected.
    forcing : sequence of Forcing
        Wavemakers and sponges.
    """

    def __init__(
        self, laplace: Laplace, gravity: float, tolerance: float, density: float = WATER_DENSITY,
        linear: bool = False, forcing: Sequence[Forcing] = (),
    ) -> None:  # fmt: skip
        self._laplace, self._gravity, self._tolerance = laplace, float(gravity), tolerance
        self._density, self._linear, self._forcing = density, linear, forcing
        self._motions: list[tuple[Inlet, float, float]] = []
        layers = laplace.vertical.nz + 1
        self._psi, self._psi_t = laplace.zeros(layers), laplace.zeros(layers)
        self._own_psi, self._own_w = laplace.zeros(layers), laplace.zeros(1)
        self._own_fields, self._rates = laplace.surface_zeros(2), laplace.surface_zeros(2)
        self._set_rates = laplace.rates(self._rates, self._gravity)

    def update(self, time: float = 0.0) -> None:
        """Compute the flow below the present surface at a time, s, with two Laplace solves.

        Raises
        ------
        ConvergenceError
            If the Laplace solver does not converge; the arrays of the problem are restored in this case too.
        """
        laplace, device = self._laplace, self._laplace.device
        arrays = (
            (self._own_psi, laplace.psi),
            (self._own_w, laplace.w),
            (self._own_fields, laplace.fields),
        )
        for copy, array in arrays:
            device.copy(copy, array)
        try:
            self._solve(time)
        finally:
            for copy, array in arrays:
                device.copy(array, copy)

    def _solve(self, time: float) -> None:
        """Solve for phi and phi_t in the arrays of the Laplace problem."""
        laplace, device = self._laplace, self._laplace.device
        laplace.solve(self._tolerance)
        device.run(self._set_rates)
        for forcing in self._forcing:
            forcing.add(time, 0.0, 0, self._rates)
        self._motions = [(inlet, *inlet.motion()) for inlet in self._forcing if isinstance(inlet, Inlet)]
        device.copy(self._psi, laplace.psi)
        self._surface_rate()
        device.copy(laplace.psi, self._psi_t)
        laplace.solve(self._rate_tolerance())
        device.copy(self._psi_t, laplace.psi)
        device.copy(self._rates[1:], laplace.phi)

    def _surface_rate(self) -> None:
        """Write phi_t at the surface to the potential of the Laplace problem."""
        laplace, device = self._laplace, self._laplace.device
        rates = device.host(self._rates)
        rate = rates[1] if self._linear else rates[1] - device.host(laplace.w)[0] * rates[0]
        device.fill(laplace.phi, rate[None])

    def _rate_tolerance(self) -> float:
        """Return the tolerance of phi_t, m2/s2, with the relative tolerance of the potential."""
        laplace, device = self._laplace, self._laplace.device
        phi, rate = (float(np.ptp(device.host(array))) for array in (self._own_fields[1:], laplace.phi))
        relative = min(self._tolerance / phi, MAX_RATE_ERROR) if phi > 0.0 else MAX_RATE_ERROR
        return relative * rate or self._tolerance

    def sample(self, probes: Probes) -> Kinematics:
        """Return the flow at probes, as of the last `update`."""
        device = self._laplace.device
        column = probes.column(lambda j, i: device.sample(self._own_fields, j, i)[0], self._linear)
        phi, rate = (self._derivatives(probes, column, *both) for both in self._potentials())
        flow, local = _Potential.of(column, phi), _Potential.of(column, rate)
        for inlet, speed, acceleration in self._motions:
            known = inlet.potential(probes.x, probes.y, column.z)
            flow, local = flow.plus(speed, known), local.plus(acceleration, known)
        return _kinematics(column, flow, local, self._gravity, self._density, self._linear)

    def _potentials(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        return (self._psi, self._own_fields[1:]), (self._psi_t, self._rates[1:])

    def _derivatives(self, probes: Probes, column: Column, psi: Any, surface: Any) -> Array:
        """Return a potential and its first and second derivatives by x, y, sigma, (10, n)."""
        device = self._laplace.device
        return probes.derivatives(
            column, lambda j, i: device.sample(psi, j, i), lambda j, i: device.sample(surface, j, i)[0]
        )


def _gradient(column: Column, f: Array) -> Array:
    """Return the gradient in x, y, z, (3, n), from the derivatives by x, y, sigma."""
    return np.stack([f[X] + column.s_x * f[S], f[Y] + column.s_y * f[S], f[S] / column.d])


def _gradient_of_gradient(column: Column, f: Array) -> Array:
    """Return the second derivatives in x, y, z, (3, 3, n), from the derivatives by x, y, sigma."""
    c = column
    lap = f[SS]
    xx = f[XX] + 2.0 * c.s_x * f[XS] + c.s_x**2 * lap + c.s_xx * f[S]
    yy = f[YY] + 2.0 * c.s_y * f[YS] + c.s_y**2 * lap + c.s_yy * f[S]
    xy = f[XY] + c.s_x * f[YS] + c.s_y * f[XS] + c.s_x * c.s_y * lap + c.s_xy * f[S]
    xz = (f[XS] + c.s_x * lap - c.d_x / c.d * f[S]) / c.d
    yz = (f[YS] + c.s_y * lap - c.d_y / c.d * f[S]) / c.d
    return np.stack([np.stack([xx, xy, xz]), np.stack([xy, yy, yz]), np.stack([xz, yz, lap / c.d**2])])


class _Potential(NamedTuple):
    """Potential at n points, its gradient, (3, n), and second derivatives, (3, 3, n), in x, y, z."""

    value: Array
    gradient: Array
    second: Array

    @classmethod
    def of(cls, column: Column, f: Array) -> _Potential:
        """Return the potential from its derivatives by x, y, sigma, (10, n)."""
        return cls(f[0], _gradient(column, f), _gradient_of_gradient(column, f))

    def plus(self, factor: float, known: tuple[Array, Array, Array]) -> _Potential:
        """Return the sum of this potential and another one times a factor."""
        return _Potential(*(value + factor * other for value, other in zip(self, known, strict=True)))


def _kinematics(
    c: Column, phi: _Potential, rate: _Potential, gravity: float, density: float, linear: bool
) -> Kinematics:
    velocity, local = phi.gradient, rate.gradient
    pressure, total = -density * rate.value, local
    if not linear:
        pressure = pressure - 0.5 * density * (velocity**2).sum(axis=0)
        total = local + np.einsum("abn,bn->an", phi.second, velocity)
    mask = np.where(c.water, 0.0, np.nan)
    return Kinematics(
        c.z, velocity + mask, total + mask, local + mask, pressure + mask, pressure - density * gravity * c.z + mask,
        c.elevation,
    )  # fmt: skip
