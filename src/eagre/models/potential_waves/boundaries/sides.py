"""Boundary forcing along sides: wavemakers (pistons, flux inlets, active absorption) and sponge layers.

A sponge layer is a surface pressure that damps waves near a side::

    phi~_t -= mu(x) eta_t

The pressure rho mu eta_t does the work -rho mu eta_t^2 per area on the surface, so the energy decreases. Sources:
Y. Cao, R. F. Beck, W. W. Schultz, An absorbing beach for numerical simulations of nonlinear waves in a wave tank,
8th Int. Workshop on Water Waves and Floating Bodies (1993); as used by G. Ducrozet, F. Bonnefoy, D. Le Touze,
P. Ferrant, Eur. J. Mech. B 34, 19-34 (2012), doi:10.1016/j.euromechflu.2012.01.017.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.errors import InputError
from eagre.models.potential_waves.boundaries.relaxation_zones import SIDES, from_side, on_plane
from eagre.models.potential_waves.boundaries.wavemaker import Inlet
from eagre.models.potential_waves.laplace.base import Laplace
from eagre.models.potential_waves.surface.forcing import Forcing
from eagre.time_varying.series import Series
from eagre.waves import angular_frequency, group_velocity, wave_number

STRENGTH = 6.0


@cell
def press(j, i, rates, mu):
    """Subtract mu times the rate of eta from the rate of phi~."""
    rates[1, j, i] -= mu[0, j, i] * rates[0, j, i]


class Sponge(Forcing):
    """`Forcing` along a side. It must be the last one of a model, because it uses the complete eta_t.

    Parameters
    ----------
    laplace : Laplace
    side : {"west", "east", "south", "north"}
    width : float
        Width, m; one to two wave lengths.
    period : float
        Period of the incident waves, s.
    depth : float
        Still-water depth along the side, m.
    gravity : float
        Acceleration of gravity, m/s2.
    strength : float
        Damping strength: a wave of this period, reflected at the wall, leaves the sponge with a fraction of
        exp(-strength) of its amplitude, to first order. Longer waves are damped less, shorter waves more.

    Raises
    ------
    InputError
        If the side is unknown or a number is not positive.
    """

    def __init__(
        self, laplace: Laplace, side: str, width: float, period: float, depth: float, gravity: float,
        strength: float = STRENGTH,
    ) -> None:  # fmt: skip
        check_sponge(side, width=width, period=period, depth=depth, strength=strength)
        s = np.clip(1.0 - from_side(side, *laplace.points) / width, 0.0, 1.0)
        mu = max_damping(width, period, depth, gravity, strength) * s**2 * (3.0 - 2.0 * s)
        self._laplace = laplace
        self._mu = laplace.device.field(on_plane(mu, side, laplace.shape)[None])
        self._loop = laplace.device.loop(press, "double")

    def launches(self, rates: Any) -> list[Any]:
        return [self._laplace.device.over(self._loop, self._laplace.shape, (rates, self._mu))]


def check_sponge(side: str, **numbers: float) -> None:
    """Reject unknown sides and numbers that are not positive."""
    if side not in SIDES:
        raise InputError(f"a sponge along the {side!r} side", allowed=", ".join(SIDES), fix='side = "east"')
    for name, value in numbers.items():
        if not (math.isfinite(value) and value > 0.0):
            raise InputError(f"{name} = {value:g} of a sponge", allowed="above 0")


def max_damping(width: float, period: float, depth: float, gravity: float, strength: float) -> float:
    """Return mu at the wall, m/s. Amplitudes decay at the rate mu k tanh(k h) / 2; the mean of mu is half of it."""
    k = float(wave_number(2.0 * math.pi / period, depth, gravity))
    omega = float(angular_frequency(k, depth, gravity))
    return 2.0 * strength * gravity * float(group_velocity(k, depth, gravity)) / (omega**2 * width)


class Water(Protocol):
    """Properties of a `Setup` that the boundary forcing needs."""

    @property
    def depth(self) -> np.ndarray:
        """Still-water depth, (ny, nx), m."""
        ...

    @property
    def gravity(self) -> float:
        """Acceleration of gravity, m/s2."""
        ...

    @property
    def linear(self) -> bool:
        """Flag for linearised equations."""
        ...


FEWEST_ROWS = 4  # of a series for a cubic spline


@dataclass(frozen=True)
class Wavemaker:
    """Piston wavemaker or flux inlet along a side, with optional active absorption.

    Parameters
    ----------
    side : {"west", "east", "south", "north"}
    velocity : Series or float, m/s
        Velocity of the paddle or of the inflow, positive into the basin; interpolated by a cubic spline. A series whose
        integral stays within one depth defines a piston, whose displacement enters to second order. A number, or a
        series with a larger integral, defines a flux through the side.
    position : Series, m
        Instead of velocity: position of the paddle, positive into the basin, at most one depth from its first value.
    active_absorption : bool
        Whether the side absorbs incident waves; effective for long waves.
    target : Series or float, m
        Target surface elevation of the active absorption.

    Raises
    ------
    InputError
        If the side is unknown, both or neither of velocity and position are given, or a series has fewer than four
        rows.
    """

    side: str
    velocity: Series | float | None = None
    position: Series | None = None
    active_absorption: bool = False
    target: Series | float = 0.0

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise InputError(f"a wavemaker along the {self.side!r} side", allowed=", ".join(SIDES), fix='side = "west"')
        if (self.velocity is None) == (self.position is None):
            got = "neither velocity nor position" if self.position is None else "both velocity and position"
            raise InputError(
                f"{got} of a wavemaker", allowed="either velocity or position", fix='velocity = {file = "paddle.csv"}'
            )
        for series in self.series:
            if not series.is_constant and series.times.size < FEWEST_ROWS:
                raise InputError(f"{series.name} of {series.times.size} rows", allowed=f"{FEWEST_ROWS} rows or more")

    @property
    def series(self) -> list[Series]:
        """Time series that must cover the run."""
        moves = self.velocity if self.position is None else self.position
        assert moves is not None
        return [Series.of(moves), Series.of(self.target)]

    @property
    def speed(self) -> float:
        """Root mean square of the velocity at the rows of the series, m/s."""
        moves = self.series[0]
        speed = smooth(moves, 0 if self.position is None else 1)
        return float(np.sqrt(np.mean([speed(float(time)) ** 2 for time in moves.times])))

    def excursion(self) -> tuple[float, float]:
        """Return the extreme positions of the paddle, m, relative to the first row; (0, 0) at constant speed."""
        displacement = self._displacement()
        path = [0.0] if displacement is None else [displacement(float(time)) for time in self.series[0].times]
        return min(path), max(path)

    def mean_frequency(self) -> float:
        """Return the mean angular frequency of the motion, rad/s, by mean squares; 0 at constant speed."""
        displacement, speed = self._displacement(), self.speed
        if displacement is None or speed == 0.0:
            return 0.0
        return speed / float(np.std([displacement(float(time)) for time in self.series[0].times]))

    def is_piston(self, depth: float) -> bool:
        """Return whether the side is a piston; a velocity whose integral exceeds the depth, m, is an inlet."""
        low, high = self.excursion()
        return self.position is not None or 0.0 < max(-low, high) <= depth

    def _displacement(self) -> Callable[[float], float] | None:
        """Return the displacement since the first row, m, as a function of time, s; None for a constant velocity."""
        moves = self.series[0]
        if moves.is_constant:
            return None
        position = smooth(moves, 0 if self.position is not None else -1)
        start = position(float(moves.times[0]))
        return lambda time: position(time) - start

    def inlet(self, laplace: Laplace, setup: Water) -> Inlet:
        """Return the forcing of the surface equations by this wavemaker."""
        moves, target = self.series
        order = 0 if self.position is None else 1
        options: dict[str, Any] = {}
        if self.active_absorption:
            options = {"target": smooth(target, 0), "target_rate": smooth(target, 1)}
        depth = depth_along(self.side, setup.depth)
        self._check_excursion(depth)
        if self.is_piston(depth):
            options["position"] = self._displacement()
        return Inlet(
            laplace, setup.depth, self.side, smooth(moves, order), smooth(moves, order + 1), setup.gravity,
            linear=setup.linear, **options,
        )  # fmt: skip

    def _check_excursion(self, depth: float) -> None:
        """Reject a position that moves by more than the depth, m: the equations hold for small displacements."""
        low, high = self.excursion()
        if self.position is not None and max(-low, high) > depth:
            raise InputError(
                f"displacements of {low:.4g} to {high:.4g} m relative to the first row",
                problem=f"The wavemaker along the {self.side} side moves by more than the depth.",
                allowed=f"up to the depth, {depth:.4g} m",
                fix="a relaxation zone, or the velocity of the inflow as velocity",
            )


@dataclass(frozen=True)
class SpongeLayer:
    """Sponge layer along a side, in which surface pressure damps the waves.

    Parameters
    ----------
    side : {"west", "east", "south", "north"}
    width : float
        Width, m; one to two wave lengths.
    period : float
        Period of the incident waves, s.
    strength : float
        Damping strength: a wave reflected at the end of the sponge returns with a fraction of about exp(-strength) of
        its height, to first order.

    Raises
    ------
    InputError
        If the side is unknown or a number is not positive.
    """

    side: str
    width: float
    period: float
    strength: float = STRENGTH

    def __post_init__(self) -> None:
        check_sponge(self.side, width=self.width, period=self.period, strength=self.strength)

    def sponge(self, laplace: Laplace, setup: Water) -> Sponge:
        """Return the forcing of the surface equations by this sponge layer."""
        depth = depth_along(self.side, setup.depth)
        return Sponge(laplace, self.side, self.width, self.period, depth, setup.gravity, self.strength)

    def damping(self, depth: np.ndarray, gravity: float) -> float:
        """Return `max_damping` of this sponge layer in a basin, m/s."""
        return max_damping(self.width, self.period, depth_along(self.side, depth), gravity, self.strength)


def depth_along(side: str, depth: np.ndarray) -> float:
    """Return the mean depth along a side, m."""
    last = -1 if side in ("east", "north") else 0
    return float((depth[:, last] if side in ("west", "east") else depth[last]).mean())


def smooth(series: Series, derivative: int) -> Callable[[float], float]:
    """Return a derivative of the cubic spline through a series, or with -1 its integral, as a function of time, s.

    Beyond the ends of the series the spline keeps its last value, and derivatives are 0.
    """
    if series.is_constant:
        value = float(series.values[0]) if derivative == 0 else 0.0
        return lambda time: value
    from scipy.interpolate import CubicSpline

    spline: Any = CubicSpline(series.times, series.values)
    if derivative < 0:
        spline, derivative = spline.antiderivative(-derivative), 0
    first, last = float(series.times[0]), float(series.times[-1])

    def interpolate(time: float) -> float:
        if derivative and not first <= time <= last:
            return 0.0
        return float(spline(min(max(time, first), last), derivative))

    return interpolate
