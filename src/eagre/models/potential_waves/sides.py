"""What stands along a side beside relaxation zones: paddles that push water, and sponges that take waves away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from eagre.errors import InputError
from eagre.models.potential_waves.inlet import Inlet
from eagre.models.potential_waves.laplace_base import Laplace
from eagre.models.potential_waves.sponge import STRENGTH, Sponge, check_sponge, largest_damping
from eagre.models.potential_waves.zones import SIDES
from eagre.series import Series


class Water(Protocol):
    """What a side takes of a `Setup`."""

    @property
    def depth(self) -> np.ndarray:
        """Of still water, m, (ny, nx)."""
        ...

    @property
    def gravity(self) -> float:
        """m/s2."""
        ...

    @property
    def linear(self) -> bool:
        """Waves of small height."""
        ...


FEWEST_ROWS = 4  # of a series that a cubic spline runs through


@dataclass(frozen=True)
class Wavemaker:
    """Wavemaker along a side: a piston wavemaker or a flux inlet.

    Parameters
    ----------
    side : {"west", "east", "south", "north"}
    velocity : Series or float, m/s
        Velocity of the paddle or of the water, positive into the water; interpolated by a cubic spline. A series whose
        integral stays within one depth is a piston, whose displacement is taken into account to second order. A number,
        or a series that adds up to more, is a flow through the side.
    position : Series, m
        Instead of velocity: position of the paddle, positive into the water, at most one depth from its first value.
    active_absorption : bool
        Whether waves that come to the side are let out (long ones are).
    target : Series or float, m
        Elevation at the side beside which waves are let out.

    Raises
    ------
    InputError
        For another side, both or none of velocity and position, or a series of fewer than four rows.
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
            raise InputError(f"{got} of a wavemaker", allowed="one of them", fix='velocity = {file = "paddle.csv"}')
        for series in self.series:
            if not series.is_constant and series.times.size < FEWEST_ROWS:
                raise InputError(f"{series.name} of {series.times.size} rows", allowed=f"{FEWEST_ROWS} rows or more")

    @property
    def series(self) -> list[Series]:
        """What has to cover a run."""
        moves = self.velocity if self.position is None else self.position
        assert moves is not None
        return [Series.of(moves), Series.of(self.target)]

    @property
    def speed(self) -> float:
        """Root mean square of its velocity at the rows of its series, m/s."""
        moves = self.series[0]
        speed = smooth(moves, 0 if self.position is None else 1)
        return float(np.sqrt(np.mean([speed(float(time)) ** 2 for time in moves.times])))

    def excursion(self) -> tuple[float, float]:
        """Return the ends of the paddle's path, m, relative to its place at the first row; (0, 0) at constant speed."""
        displacement = self._displacement()
        path = [0.0] if displacement is None else [displacement(float(time)) for time in self.series[0].times]
        return min(path), max(path)

    def mean_frequency(self) -> float:
        """Return the mean angular frequency of the movement, rad/s, by mean squares; 0 at constant speed."""
        displacement, speed = self._displacement(), self.speed
        if displacement is None or speed == 0.0:
            return 0.0
        return speed / float(np.std([displacement(float(time)) for time in self.series[0].times]))

    def is_piston(self, depth: float) -> bool:
        """Return whether the side moves; a velocity that adds up to more than the depth, m, is an inlet."""
        low, high = self.excursion()
        return self.position is not None or 0.0 < max(-low, high) <= depth

    def _displacement(self) -> Callable[[float], float] | None:
        """Return the distance from the place at the first row, m, of a time in s; None for a constant velocity."""
        moves = self.series[0]
        if moves.is_constant:
            return None
        position = smooth(moves, 0 if self.position is not None else -1)
        start = position(float(moves.times[0]))
        return lambda time: position(time) - start

    def inlet(self, laplace: Laplace, setup: Water) -> Inlet:
        """What adds to the rates of the surface."""
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
                f"{low:.4g} to {high:.4g} m from its place at the first row",
                problem=f"The paddle along the {self.side} side moves by more than the depth.",
                allowed=f"up to the depth, {depth:.4g} m",
                fix="a relaxation zone, or the velocity of the water as velocity",
            )


@dataclass(frozen=True)
class SpongeLayer:
    """A strip along a side in which pressure on the surface takes the energy of waves.

    Parameters
    ----------
    side : {"west", "east", "south", "north"}
    width : float
        m, one to two wave lengths.
    period : float
        Of the waves that come, s.
    strength : float
        What is left of a wave there and back is exp(-strength), to first order.

    Raises
    ------
    InputError
        For another side, and numbers that are not above 0.
    """

    side: str
    width: float
    period: float
    strength: float = STRENGTH

    def __post_init__(self) -> None:
        check_sponge(self.side, width=self.width, period=self.period, strength=self.strength)

    def sponge(self, laplace: Laplace, setup: Water) -> Sponge:
        """What adds to the rates of the surface."""
        depth = depth_along(self.side, setup.depth)
        return Sponge(laplace, self.side, self.width, self.period, depth, setup.gravity, self.strength)

    def damping(self, depth: np.ndarray, gravity: float) -> float:
        """`largest_damping` in a basin, m/s."""
        return largest_damping(self.width, self.period, depth_along(self.side, depth), gravity, self.strength)


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

    def at(time: float) -> float:
        if derivative and not first <= time <= last:
            return 0.0
        return float(spline(min(max(time, first), last), derivative))

    return at
