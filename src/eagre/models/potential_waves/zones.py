"""Relaxation zones: strips along a side in which waves are made or taken away.

In a zone the fields are drawn to a target after every Runge-Kutta stage, E <- keep E + (1 - keep) E_target, with
keep = 0 beside the side where waves are made, or absorbed, and 1 at the inner edge. Sources: A. P. Engsig-Karup,
M. G. Madsen, S. L. Glimberg, Int. J. Numer. Methods Fluids 70, 20-36 (2012), doi:10.1002/fld.2675, section 4;
J. Larsen, H. Dancy, Coastal Eng. 7, 285-297 (1983), doi:10.1016/0378-3839(83)90022-4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from eagre.backend.cells import cell, real
from eagre.backend.device import Device
from eagre.errors import InputError
from eagre.given import given_number
from eagre.waves import FixedPoints, LinearWaves, RegularWave

SIDES = ("west", "east", "south", "north")
LARGEST_TABLE = 2**30  # bytes
STEPS_A_PERIOD = 16.0
"""Chosen by measured reflection: 12, 25, 50 give 0.3, 0.8, 1.8 % with exponent 3.5 and 1.8 lengths."""


def across_x(side: str) -> bool:
    """Whether the way from a side into the water is along x."""
    return side in ("west", "east")


def from_side(side: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Distances of points from a side, m: (nx,) for the west and east, (ny,) for the others."""
    along = x if across_x(side) else y
    return along - along[0] if side in ("west", "south") else along[-1] - along


def on_plane(values: np.ndarray, side: str, shape: tuple[int, ...]) -> np.ndarray:
    """Values by distance from a side at all points, (ny, nx)."""
    return np.broadcast_to(values if across_x(side) else values[:, None], shape)


class Waves(Protocol):
    """What a zone makes: any wave or sea of `eagre.waves`."""

    def elevation(self, x: Any, y: Any, t: Any) -> Any:
        """Surface elevation, m, at places, m, and a time, s."""

    def surface_potential(self, x: Any, y: Any, t: Any) -> Any:
        """Potential on the surface, m2/s."""


@cell
def relax(k, j, i, fields, keep, target, south, west):
    """Draw a field to its target, at the points of a zone, whose first one is at (south, west)."""
    share, y, x = keep[0, j, i], south + j, west + i
    fields[k, y, x] = share * fields[k, y, x] + (real(1.0) - share) * target[k, j, i]


class Strip:
    """The part of the fields of a device that a zone touches.

    Parameters
    ----------
    device : Device
    fields : array on the device, (2, ny, nx)
    rows, columns : slice
    posted : bool
        Whether targets wait on the host until `launches` take them up: who sets one knows that they took the last.

    Attributes
    ----------
    launches : list of Launch
        Draw the fields to the target.
    """

    def __init__(self, device: Device, fields: Any, rows: slice, columns: slice, posted: bool = False) -> None:
        shape = rows.stop - rows.start, columns.stop - columns.start
        self._device = device
        self._keep, self._target = (device.zeros((n, *shape), np.float64) for n in (1, 2))
        arguments = (fields, self._keep, self._target, rows.start, columns.start)
        self.launches: list[Any] = [device.over(device.loop(relax, "double"), self._target.shape, arguments)]
        self._post = device.pinned(self._target.shape, np.float64) if posted else None
        if self._post is not None:
            self.launches.insert(0, device.transfer(self._target, self._post))

    def keep(self, values: np.ndarray) -> None:
        """Take the share that stays in a step, of these rows and columns."""
        self._device.fill(self._keep, np.ascontiguousarray(values[None]))

    def target(self, values: np.ndarray) -> None:
        """Take elevation, m, and potential, m2/s, to draw to, (2, rows, columns)."""
        if self._post is None:
            self._device.fill(self._target, np.ascontiguousarray(values))
        else:
            self._post[...] = values


@dataclass(frozen=True)
class RelaxationZone:
    """A strip along a side in which waves are made, or absorbed.

    Parameters
    ----------
    side : {"west", "east", "south", "north"}
    width : float
        m, one to two wave lengths.
    period : float
        Of the waves that come, s. A zone works as its profile says when a step is a 16th of it; in
        shorter steps it works as much less in each.
    waves : Waves, optional
        What it makes, its level and potential 0 in still water; without it waves are absorbed.
    exponent : float
        Of the profile of absorption, 1 - s^exponent, s from 0 at the inner edge to 1 at the side.
    ramp : float
        s in which what it makes rises from still water to all of it.

    Raises
    ------
    InputError
        For another side, or a width, period or exponent that is not above 0.
    """

    side: str
    width: float
    period: float
    waves: Waves | None = None
    exponent: float = 3.5
    ramp: float = 0.0

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise InputError(f"a zone along the {self.side!r} side", allowed=", ".join(SIDES), fix='side = "west"')
        for name in ("width", "period", "exponent"):
            value = given_number(name, getattr(self, name))
            if not (np.isfinite(value) and value > 0.0):
                raise InputError(f"{name} = {value:g} of a zone", allowed="above 0")
        if not (np.isfinite(given_number("ramp", self.ramp)) and self.ramp >= 0.0):
            raise InputError(f"ramp = {self.ramp:g} s of a zone", allowed="0 or more")

    def strip(self, x: np.ndarray, y: np.ndarray) -> tuple[slice, slice]:
        """Rows and columns of the points at x, (nx,), and y, (ny,), m, that the zone touches: others it keeps whole."""
        off = from_side(self.side, x, y)
        count, n = int((off < self.width).sum()), off.size
        touched = slice(0, count) if self.side in ("west", "south") else slice(n - count, n)
        return (slice(0, y.size), touched) if across_x(self.side) else (touched, slice(0, x.size))

    def keep(self, x: np.ndarray, y: np.ndarray, dt: float) -> np.ndarray:
        """Share of the fields that stays in a step, (ny, nx), at points x, (nx,), and y, (ny,), m."""
        s = np.clip(from_side(self.side, x, y) / self.width, 0.0, 1.0)  # from 0 at the side to 1 at the inner edge
        profile = s**2 * (3.0 - 2.0 * s) if self.waves is not None else 1.0 - (1.0 - s) ** self.exponent
        share = profile ** (dt * STEPS_A_PERIOD / self.period)
        return on_plane(share, self.side, (y.size, x.size)).copy()

    def target(self, x: np.ndarray, y: np.ndarray, t: float) -> np.ndarray:
        """Elevation, m, and potential on the surface, m2/s, that the zone draws to, (2, ny, nx)."""
        if self.waves is None:
            return np.zeros((2, y.size, x.size))
        places = x[None, :], self._rows(y), t
        return self._given(t, (self.waves.elevation(*places), self.waves.surface_potential(*places)), y.size)

    def maker(self, x: np.ndarray, y: np.ndarray) -> Callable[[float], np.ndarray]:
        """What gives `target` at these points at a time: for waves and seas by a table, some twenty times faster."""
        waves, rows = self.waves, self._rows(y)
        if not isinstance(waves, LinearWaves | RegularWave):
            return lambda t: self.target(x, y, t)
        if isinstance(waves, LinearWaves) and 16 * x.size * rows.size * waves.amplitude.size > LARGEST_TABLE:
            return lambda t: self.target(x, y, t)
        points = FixedPoints(waves, x[None, :], rows)
        return lambda t: self._given(t, points.surface(t), y.size)

    def _rows(self, y: np.ndarray) -> np.ndarray:
        """The rows of points that are worked out, (n, 1): of waves along x one is every row."""
        alike = np.all(np.asarray(getattr(self.waves, "direction", np.nan)) == 0.0)
        return y[: 1 if alike else None, None]

    def _given(self, t: float, fields: tuple[np.ndarray, np.ndarray], ny: int) -> np.ndarray:
        """What the zone draws to, (2, ny, nx), from the waves in the rows that were worked out."""
        return self._risen(t) * np.stack([np.broadcast_to(field, (ny, field.shape[1])) for field in fields])

    def _risen(self, t: float) -> float:
        """The share of the waves that is made at a time, s."""
        return min(1.0, t / self.ramp) if self.ramp > 0.0 else 1.0
