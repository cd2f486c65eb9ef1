"""Flow below the surface at one time: velocity, acceleration and pressure at arbitrary points and at named probes.

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

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.constants import WATER_DENSITY
from eagre.errors import ConvergenceError, InputError
from eagre.fields import Variable
from eagre.models.potential_waves.boundaries.wavemaker import Inlet
from eagre.models.potential_waves.laplace.base import Laplace
from eagre.models.potential_waves.sampling.probes import Column, Probes
from eagre.models.potential_waves.setup import Setup
from eagre.models.potential_waves.surface.forcing import Forcing

Array = np.ndarray
MAX_RATE_ERROR = 1e-6  # maximum relative error of phi_t; applies if the potential is 0
X, Y, S, XX, YY, SS, XY, XS, YS = range(1, 10)  # rows of the derivatives of a potential; row 0 is the potential
MEASURED = (
    Variable("z", "m", "height of the probe above still-water level", "height_above_mean_sea_level"),
    Variable("velocity_x", "m s-1", "x-component of water velocity", "sea_water_x_velocity"),
    Variable("velocity_y", "m s-1", "y-component of water velocity", "sea_water_y_velocity"),
    Variable("velocity_z", "m s-1", "upward water velocity", "upward_sea_water_velocity"),
    Variable("acceleration_x", "m s-2", "x-component of material acceleration"),
    Variable("acceleration_y", "m s-2", "y-component of material acceleration"),
    Variable("acceleration_z", "m s-2", "upward material acceleration"),
    Variable("dynamic_pressure", "Pa", "dynamic pressure (deviation from hydrostatic)"),
    Variable("pressure", "Pa", "pressure relative to atmospheric pressure", "sea_water_pressure_due_to_sea_water"),
)
LEVELS = {"z": "m", "below": "m", "sigma": "1"}
"""Vertical coordinates of probes, with their units."""


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


class ProbeGroup:
    """Named probes, as stations of an output file.

    Parameters
    ----------
    setup : Setup
    flow : callable
        Function that returns the flow below the present surface.
    probes : mapping of str to mapping
        Probes by name: x, y (default 0), m, and one of z, below and sigma of `eagre.PotentialWaves.kinematics`, each a
        number or a list. Lists define a row, column or plane with a station ``"NAME x=12 z=-0.2"`` at each point.

    Attributes
    ----------
    names : list of str
        Names of all stations.
    coordinates : dict
        Values, (n,), and attributes of the station coordinates x, y, level and level_kind.

    Raises
    ------
    InputError
        If a point is outside the grid or a level is below the bed.
    """

    variables = MEASURED

    def __init__(self, setup: Setup, flow: Callable[[], Flow], probes: Mapping[str, Mapping[str, Any]]) -> None:
        self._flow, self.names = flow, list[str]()
        self._probes: list[Probes] = []
        grid_points = setup.grid.x, setup.grid.y
        rows: list[tuple[float, float, float, str]] = []
        for name, probe in probes.items():
            level = {key: np.atleast_1d(value) for key, value in probe.items() if key in LEVELS and value is not None}
            (kind, values) = next(iter(level.items()))
            coordinates = {"x": np.atleast_1d(probe["x"]), "y": np.atleast_1d(probe.get("y", 0.0)), kind: values}
            points = [
                (float(x), float(y), float(value))
                for y in coordinates["y"]
                for x in coordinates["x"]
                for value in values
            ]
            along_x, along_y, levels = np.transpose(points)
            known = (setup.depth, grid_points, setup.vertical, setup.periodic)
            self._probes.append(Probes(*known, along_x, along_y, **{kind: levels}))
            rows += [(*point, kind) for point in points]
            named = [key for key, of_key in coordinates.items() if of_key.size > 1]
            for point in points:
                of_point = dict(zip(coordinates, point, strict=True))
                self.names.append(" ".join([name, *(f"{key}={of_point[key]:g}" for key in named)]))
        for name, times in Counter(self.names).items():
            if times > 1:
                raise InputError(f"two probes {name!r}", allowed="a unique name for each point")
        self.coordinates = _coordinates(rows)

    def sample(self) -> dict[str, np.ndarray]:
        """Return `MEASURED` at the present time, (n,) each; NaN above the surface or if the flow solver fails."""
        try:
            flow = self._flow()
        except ConvergenceError:
            return {one.name: np.full(len(self.names), np.nan) for one in MEASURED}
        rows = [_row(flow.sample(probes)) for probes in self._probes]
        return {one.name: np.concatenate([row[k] for row in rows]) for k, one in enumerate(MEASURED)}


def _row(flow: Kinematics) -> list[np.ndarray]:
    """Return the values in the order of `MEASURED`."""
    return [flow.z, *flow.velocity, *flow.acceleration, flow.dynamic_pressure, flow.pressure]


def _coordinates(rows: list[tuple[float, float, float, str]]) -> dict[str, tuple[np.ndarray, dict[str, Any]]]:
    """Return the station coordinates from rows of (x, y, level, kind of level)."""
    x, y, level, kind = zip(*rows, strict=True)
    metres = {"units": "m"}
    units = {LEVELS[one] for one in kind}  # no common unit for levels of several kinds
    about = {"long_name": "vertical coordinate of the probe; level_kind defines its type"}
    kinds = "z: height above still water, m; below: depth below the surface, m; sigma: relative height above the bed"
    return {
        "x": (
            np.array(x),
            {"standard_name": "projection_x_coordinate", "long_name": "x coordinate of the probe", **metres},
        ),
        "y": (
            np.array(y),
            {"standard_name": "projection_y_coordinate", "long_name": "y coordinate of the probe", **metres},
        ),
        "level": (np.array(level), about | ({"units": units.pop()} if len(units) == 1 else {})),
        "level_kind": (np.array(kind, dtype=object), {"long_name": kinds}),
    }
