"""Relaxation zones along sides for wave generation and absorption.

After every Runge-Kutta stage the fields of a zone are relaxed towards a target, E <- keep E + (1 - keep) E_target.
The weight keep is 0 at the side and 1 at the inner edge of the zone. Sources: A. P. Engsig-Karup,
M. G. Madsen, S. L. Glimberg, Int. J. Numer. Methods Fluids 70, 20-36 (2012), doi:10.1002/fld.2675, section 4;
J. Larsen, H. Dancy, Coastal Eng. 7, 285-297 (1983), doi:10.1016/0378-3839(83)90022-4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from eagre.arguments import real_number
from eagre.backend.compilation.cells import cell, real
from eagre.backend.device import Device
from eagre.errors import InputError
from eagre.models.potential_waves.surface.forcing import StageValues
from eagre.waves import FixedPoints, LinearWaves, RegularWave

SIDES = ("west", "east", "south", "north")
MAX_TABLE_BYTES = 2**30  # bytes of tabulated wave components
STEPS_A_PERIOD = 16.0
"""Steps per period for which the profile holds. Chosen by measured reflection: 12, 25, 50 give 0.3, 0.8, 1.8 % with
exponent 3.5 and a width of 1.8 wave lengths."""


def across_x(side: str) -> bool:
    """Return whether the normal of a side is along x."""
    return side in ("west", "east")


def from_side(side: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the distances of points from a side, m: (nx,) for west and east, (ny,) for south and north."""
    along = x if across_x(side) else y
    return along - along[0] if side in ("west", "south") else along[-1] - along


def on_plane(values: np.ndarray, side: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return values that depend on the distance from a side at all points, (ny, nx)."""
    return np.broadcast_to(values if across_x(side) else values[:, None], shape)


class Waves(Protocol):
    """Target waves of a relaxation zone: any wave or sea of `eagre.waves`."""

    def elevation(self, x: Any, y: Any, t: Any) -> Any:
        """Return the surface elevation, m, at positions, m, and a time, s."""

    def surface_potential(self, x: Any, y: Any, t: Any) -> Any:
        """Return the surface potential, m2/s, at positions, m, and a time, s."""


@cell
def relax(k, j, i, fields, keep, target, south, west):
    """Relax a field towards its target at the points of a zone, whose first point is (south, west)."""
    weight, y, x = keep[0, j, i], south + j, west + i
    fields[k, y, x] = weight * fields[k, y, x] + (real(1.0) - weight) * target[k, j, i]


class ZoneRelaxation:
    """The part of the fields of a device that a zone touches.

    Parameters
    ----------
    device : Device
    fields : array on the device, (2, ny, nx)
    rows, columns : slice
    posted : bool
        Whether targets are staged in pinned host memory; see `StageValues`.

    Attributes
    ----------
    launches : list of Launch
        Launches that relax the fields towards the target.
    """

    def __init__(self, device: Device, fields: Any, rows: slice, columns: slice, posted: bool = False) -> None:
        shape = rows.stop - rows.start, columns.stop - columns.start
        self._device = device
        self._keep, self._target = device.zeros((1, *shape), np.float64), StageValues(device, (2, *shape), posted)
        arguments = (fields, self._keep, self._target.array, rows.start, columns.start)
        self.launches = [*self._target.launches, device.over(device.loop(relax, "double"), (2, *shape), arguments)]

    def keep(self, values: np.ndarray) -> None:
        """Set the weight of the present fields, (rows, columns)."""
        self._device.fill(self._keep, np.ascontiguousarray(values[None]))

    def target(self, values: np.ndarray) -> None:
        """Set the target elevation, m, and potential, m2/s, (2, rows, columns)."""
        self._target.set(values)


@dataclass(frozen=True)
class RelaxationZone:
    """Relaxation zone along a side for wave generation or absorption.

    Parameters
    ----------
    side : {"west", "east", "south", "north"}
    width : float
        Width, m; one to two wave lengths.
    period : float
        Period of the incident waves, s. The profile applies to time steps of a 16th of the period; it is weakened for
        shorter steps so that the relaxation per unit time is unchanged.
    waves : Waves, optional
        Waves to generate, with elevation and potential 0 in still water; without them the zone absorbs waves.
    exponent : float
        Exponent of the absorption profile, 1 - s^exponent, with s = 0 at the inner edge and 1 at the side.
    ramp : float
        Duration over which the generated waves grow linearly from still water, s.

    Raises
    ------
    InputError
        If the side is unknown, or width, period or exponent is not positive.
    """

    side: str
    width: float
    period: float
    waves: Waves | None = None
    exponent: float = 3.5
    ramp: float = 0.0

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise InputError(
                f"a relaxation zone along the {self.side!r} side", allowed=", ".join(SIDES), fix='side = "west"'
            )
        for name in ("width", "period", "exponent"):
            value = real_number(name, getattr(self, name))
            if not (np.isfinite(value) and value > 0.0):
                raise InputError(f"{name} = {value:g} of a relaxation zone", allowed="above 0")
        if not (np.isfinite(real_number("ramp", self.ramp)) and self.ramp >= 0.0):
            raise InputError(f"ramp = {self.ramp:g} s of a relaxation zone", allowed="0 or more")

    def slices(self, x: np.ndarray, y: np.ndarray) -> tuple[slice, slice]:
        """Return rows and columns, as slices, of the points at x, (nx,), and y, (ny,), m, inside the zone."""
        off = from_side(self.side, x, y)
        count, n = int((off < self.width).sum()), off.size
        touched = slice(0, count) if self.side in ("west", "south") else slice(n - count, n)
        return (slice(0, y.size), touched) if across_x(self.side) else (touched, slice(0, x.size))

    def keep(self, x: np.ndarray, y: np.ndarray, dt: float) -> np.ndarray:
        """Return the weight of the present fields in a step, (ny, nx), at points x, (nx,), and y, (ny,), m."""
        s = np.clip(from_side(self.side, x, y) / self.width, 0.0, 1.0)  # from 0 at the side to 1 at the inner edge
        profile = s**2 * (3.0 - 2.0 * s) if self.waves is not None else 1.0 - (1.0 - s) ** self.exponent
        weight = profile ** (dt * STEPS_A_PERIOD / self.period)
        return on_plane(weight, self.side, (y.size, x.size)).copy()

    def target(self, x: np.ndarray, y: np.ndarray, t: float) -> np.ndarray:
        """Return the target elevation, m, and surface potential, m2/s, (2, ny, nx)."""
        if self.waves is None:
            return np.zeros((2, y.size, x.size))
        points = x[None, :], self._rows(y), t
        return self._ramped(t, (self.waves.elevation(*points), self.waves.surface_potential(*points)), y.size)

    def maker(self, x: np.ndarray, y: np.ndarray) -> Callable[[float], np.ndarray]:
        """Return a function of time that computes `target` at these points.

        For waves and seas of `eagre.waves` it uses tables, which is some twenty times faster.
        """
        waves, rows = self.waves, self._rows(y)
        if not isinstance(waves, LinearWaves | RegularWave):
            return lambda t: self.target(x, y, t)
        if isinstance(waves, LinearWaves) and 16 * x.size * rows.size * waves.amplitude.size > MAX_TABLE_BYTES:
            return lambda t: self.target(x, y, t)
        points = FixedPoints(waves, x[None, :], rows)
        return lambda t: self._ramped(t, points.surface(t), y.size)

    def _rows(self, y: np.ndarray) -> np.ndarray:
        """Return y of the rows to compute, (n, 1); one row represents all rows for waves along x."""
        uniform = np.all(np.asarray(getattr(self.waves, "direction", np.nan)) == 0.0)
        return y[: 1 if uniform else None, None]

    def _ramped(self, t: float, fields: tuple[np.ndarray, np.ndarray], ny: int) -> np.ndarray:
        """Return the target, (2, ny, nx), from the wave fields of the computed rows."""
        return self._risen(t) * np.stack([np.broadcast_to(field, (ny, field.shape[1])) for field in fields])

    def _risen(self, t: float) -> float:
        """Return the ramp factor at a time, s."""
        return min(1.0, max(0.0, t / self.ramp)) if self.ramp > 0.0 else 1.0
