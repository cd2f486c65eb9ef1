"""The flow under the surface at an instant: velocity, acceleration and pressure at any point.

With Phi(x, y, sigma) the potential on the layers, sigma = (z + h) / d::

    u = Phi_x + sigma_x Phi_s,   v likewise,   w = Phi_s / d
    p = -rho (phi_t + |grad phi|^2 / 2 + g z)
    D u / D t = grad phi_t + (grad phi . grad) grad phi

phi_t at a fixed place is harmonic as phi is, has no flow through the bed either, and is -w~ eta_t + d phi~ / dt on the
surface. So it is found by the same Laplace problem, at the instant, and not from differences in time. Sources:
A. P. Engsig-Karup, H. B. Bingham, O. Lindberg, J. Comput. Phys. 228, 2100-2118 (2009), doi:10.1016/j.jcp.2008.11.028,
equations 1 to 5; for phi_t R. Cointe, P. Geyer, B. King, B. Molin, M. Tramoni, Proc. 18th Symp. Naval Hydrodynamics
(1990), 85-99.

Near a paddle the potential of the model does not contain U a (`eagre.models.potential_waves.inlet`). The derivatives of
U a are known and are added, and U_t a is added to phi_t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.constants import WATER_DENSITY
from eagre.models.potential_waves.forcing import Forcing
from eagre.models.potential_waves.inlet import Inlet, with_forcing
from eagre.models.potential_waves.laplace_base import Laplace
from eagre.models.potential_waves.probes import Column, Probes

Array = np.ndarray
MOST_ERROR = 1e-6  # of phi_t, relative, where the potential is 0
X, Y, S, XX, YY, SS, XY, XS, YS = range(1, 10)  # rows of the derivatives of a potential; row 0 is itself


class Kinematics(NamedTuple):
    """What is found at n points, z upward; not a number where there is no water at the time.

    Parameters
    ----------
    z : (n,), m
    velocity : (3, n), m/s
        u, v, w along x, y, z.
    acceleration : (3, n), m/s2
        Of the water, D/Dt.
    local_acceleration : (3, n), m/s2
        d/dt at the fixed point.
    dynamic_pressure : (n,), Pa
        p + rho g z: what the motion adds to still water.
    pressure : (n,), Pa
        Above that of the air; 0 at the surface.
    elevation : (n,), m
        Of the surface above or below the points.
    """

    z: Array
    velocity: Array
    acceleration: Array
    local_acceleration: Array
    dynamic_pressure: Array
    pressure: Array
    elevation: Array


class Flow:
    """The flow of the surface that a Laplace problem has.

    Parameters
    ----------
    laplace : Laplace
        Its `fields` are the surface. They, its `psi` and its `w` are as before after every call, so that a run is the
        same with and without probes.
    gravity : float
        m/s2.
    small : float
        As in `Laplace.solve`, m2/s.
    density : float
        kg/m3.
    linear : bool
        As of the problem: the surface is at z = 0, and there is no square of the velocity.
    forcing : sequence of Forcing
        Paddles and sponges.
    """

    def __init__(
        self, laplace: Laplace, gravity: float, small: float, density: float = WATER_DENSITY,
        linear: bool = False, forcing: Sequence[Forcing] = (),
    ) -> None:  # fmt: skip
        self._laplace, self._gravity, self._small = laplace, float(gravity), small
        self._density, self._linear, self._forcing = density, linear, forcing
        self._motions: list[tuple[Inlet, float, float]] = []
        layers = laplace.vertical.nz + 1
        self._psi, self._psi_t = laplace.zeros(layers), laplace.zeros(layers)
        self._own_psi, self._own_w = laplace.zeros(layers), laplace.zeros(1)
        self._own_fields, self._rates = laplace.surface_zeros(2), laplace.surface_zeros(2)
        self._set_rates = laplace.rates(self._rates, self._gravity)

    def update(self, time: float = 0.0) -> None:
        """Find the flow of the surface of the moment, whose time is `time`, s: two Laplace problems.

        Raises
        ------
        ConvergenceError
            If one has no solution; the arrays of the problem are then as before too.
        """
        laplace, device = self._laplace, self._laplace.device
        kept = (
            (self._own_psi, laplace.psi),
            (self._own_w, laplace.w),
            (self._own_fields, laplace.fields),
        )
        for own, array in kept:
            device.copy(own, array)
        try:
            self._solve(time)
        finally:
            for own, array in kept:
                device.copy(array, own)

    def _solve(self, time: float) -> None:
        """Both Laplace problems, in the arrays of the problem."""
        laplace, device = self._laplace, self._laplace.device
        laplace.solve(self._small)
        device.run(self._set_rates)
        self._motions = with_forcing(self._forcing, time, self._rates)
        device.copy(self._psi, laplace.psi)
        self._surface_rate()
        device.copy(laplace.psi, self._psi_t)
        laplace.solve(self._small_rate())
        device.copy(self._psi_t, laplace.psi)
        device.copy(self._rates[1:], laplace.phi)

    def _surface_rate(self) -> None:
        """Put phi_t of the surface where the problem has its potential."""
        laplace, device = self._laplace, self._laplace.device
        rates = device.host(self._rates)
        rate = rates[1] if self._linear else rates[1] - device.host(laplace.w)[0] * rates[0]
        device.fill(laplace.phi, rate[None])

    def _small_rate(self) -> float:
        """Error of phi_t, m2/s2, in proportion to that of the potential."""
        laplace, device = self._laplace, self._laplace.device
        phi, rate = (float(np.ptp(device.host(array))) for array in (self._own_fields[1:], laplace.phi))
        share = min(self._small / phi, MOST_ERROR) if phi > 0.0 else MOST_ERROR
        return share * rate or self._small

    def at(self, probes: Probes) -> Kinematics:
        """The flow at probes, of the last `update`."""
        device = self._laplace.device
        column = probes.column(lambda j, i: device.pick(self._own_fields, j, i)[0], self._linear)
        phi, rate = (self._derivatives(probes, column, *both) for both in self._potentials())
        flow, local = _Potential.of(column, phi), _Potential.of(column, rate)
        for inlet, speed, acceleration in self._motions:
            known = inlet.potential(probes.x, probes.y, column.z)
            flow, local = flow.plus(speed, known), local.plus(acceleration, known)
        return _kinematics(column, flow, local, self._gravity, self._density, self._linear)

    def _potentials(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        return (self._psi, self._own_fields[1:]), (self._psi_t, self._rates[1:])

    def _derivatives(self, probes: Probes, column: Column, psi: Any, surface: Any) -> Array:
        """(10, n): a potential, its first derivatives by x, y, sigma, and its second ones."""
        device = self._laplace.device
        return probes.derivatives(
            column, lambda j, i: device.pick(psi, j, i), lambda j, i: device.pick(surface, j, i)[0]
        )


def _gradient(column: Column, f: Array) -> Array:
    """(3, n): the gradient in x, y, z of a potential by its derivatives on layers."""
    return np.stack([f[X] + column.s_x * f[S], f[Y] + column.s_y * f[S], f[S] / column.d])


def _gradient_of_gradient(column: Column, f: Array) -> Array:
    """(3, 3, n): second derivatives in x, y, z."""
    c = column
    lap = f[SS]
    xx = f[XX] + 2.0 * c.s_x * f[XS] + c.s_x**2 * lap + c.s_xx * f[S]
    yy = f[YY] + 2.0 * c.s_y * f[YS] + c.s_y**2 * lap + c.s_yy * f[S]
    xy = f[XY] + c.s_x * f[YS] + c.s_y * f[XS] + c.s_x * c.s_y * lap + c.s_xy * f[S]
    xz = (f[XS] + c.s_x * lap - c.d_x / c.d * f[S]) / c.d
    yz = (f[YS] + c.s_y * lap - c.d_y / c.d * f[S]) / c.d
    return np.stack([np.stack([xx, xy, xz]), np.stack([xy, yy, yz]), np.stack([xz, yz, lap / c.d**2])])


class _Potential(NamedTuple):
    """A potential at n points, its gradient, (3, n), and second derivatives, (3, 3, n), by x, y, z."""

    value: Array
    gradient: Array
    second: Array

    @classmethod
    def of(cls, column: Column, f: Array) -> _Potential:
        """Return what the derivatives on layers, (10, n), are in x, y, z."""
        return cls(f[0], _gradient(column, f), _gradient_of_gradient(column, f))

    def plus(self, factor: float, known: tuple[Array, Array, Array]) -> _Potential:
        """Return the sum with another potential times a factor."""
        return _Potential(*(value + factor * other for value, other in zip(self, known, strict=True)))


def _kinematics(
    c: Column, phi: _Potential, rate: _Potential, gravity: float, density: float, linear: bool
) -> Kinematics:
    velocity, local = phi.gradient, rate.gradient
    pressure, total = -density * rate.value, local
    if not linear:
        pressure = pressure - 0.5 * density * (velocity**2).sum(axis=0)
        total = local + np.einsum("abn,bn->an", phi.second, velocity)
    air = np.where(c.water, 0.0, np.nan)
    return Kinematics(
        c.z, velocity + air, total + air, local + air, pressure + air, pressure - density * gravity * c.z + air,
        c.elevation,
    )  # fmt: skip
