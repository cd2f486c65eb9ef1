"""Arrows of velocity on maps, with a key."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from eagre.plots.drawing.frames import few
from eagre.plots.drawing.style import INK, pretty_units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eagre.plots.data.fields import FieldFile

ARROWS = 30
"""Maximum number of arrows along the longer side of a map."""
SHORTEST = 0.02
"""Fraction of the key's speed below which no arrow is drawn."""


class Arrows:
    """Arrows of velocity at evenly spaced cells of a map.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Axes of the map.
    fields : FieldFile
    records : list of int
        Records that determine the length of the arrows.
    scale : float
        Factor from metres to the coordinates of the axes.
    wet : callable
        Function of a record that returns the cells with arrows, (ny, nx), or None for all.

    Raises
    ------
    InputError
        If the file has no velocity components.
    """

    def __init__(
        self,
        axes: Axes,
        fields: FieldFile,
        records: list[int],
        scale: float,
        wet: Callable[[int], np.ndarray | None],
    ) -> None:
        self._fields, self._wet, self._key = fields, wet, 0.0
        self._names = fields.velocity_components()
        nx, ny = fields.x.size, fields.y.size
        step = max(1, math.ceil(max(nx, ny) / ARROWS))
        self._cells = np.ix_(np.arange(step // 2, ny, step), np.arange(step // 2, nx, step))
        speeds = np.concatenate([self._speeds(record) for record in few(records)])
        self._key = round_speed(float(np.quantile(speeds, 0.98)) if speeds.size else 0.0)
        x, y = fields.x[self._cells[1].ravel()] * scale, np.sort(fields.y)[self._cells[0].ravel()] * scale
        nothing = np.zeros((y.size, x.size))
        self._quiver = axes.quiver(
            x, y, nothing, nothing, color=INK, angles="xy", scale=self._key * nx / step, scale_units="width",
            width=0.0017, headwidth=4.0, zorder=3,
        )  # fmt: skip
        units = pretty_units(str(fields.attributes(self._names[0]).get("units", "m s-1")))
        axes.quiverkey(
            self._quiver, 0.97, 1.02, self._key, f"{self._key:g} {units}  ", labelpos="W", coordinates="axes"
        )

    def draw(self, record: int) -> None:
        """Draw the velocities of a record."""
        self._quiver.set_UVC(*self._components(record))

    def _speeds(self, record: int) -> np.ndarray:
        """Return the speeds of the arrows of a record."""
        u, v = self._components(record)
        return np.hypot(u.compressed(), v.compressed())

    def _components(self, record: int) -> tuple[np.ma.MaskedArray, np.ma.MaskedArray]:
        """Return both components at the cells with arrows, masked where it is dry, NaN or almost at rest."""
        u, v = (self._fields.values(name, record)[self._cells] for name in self._names)
        wet = self._wet(record)
        hidden = ~np.isfinite(u + v) | (np.hypot(u, v) < SHORTEST * self._key)
        if wet is not None:
            hidden |= ~wet[self._cells]
        return np.ma.array(u, mask=hidden), np.ma.array(v, mask=hidden)


def round_speed(speed: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten up to a speed; 1 if it is 0."""
    if not speed > 0.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(speed))
    return next(
        float(f"{factor * power:.3g}") for factor in (5.0, 2.0, 1.0, 0.5) if factor * power <= speed * (1 + 1e-9)
    )
