"""Sections along the longer side of runs with few rows or columns, such as flumes."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from eagre.plots.drawing.frames import few, heading, titles
from eagre.plots.drawing.style import INK, length_unit, new_figure

if TYPE_CHECKING:
    from eagre.plots.data.fields import FieldFile

_LETTERS = 40  # maximum length of a line of the axis label
_SMALL = 0.05  # ratio of the surface range to the height of the section below which the surface has a separate panel


class ProfilePicture:
    """Bed and water surface along the longer side, or a line of another variable.

    Waves that are much lower than the water depth are also drawn in a separate panel above the section.

    Parameters
    ----------
    fields : FieldFile
    name : str
    records : list of int
        Records that determine the axis range.
    """

    def __init__(self, fields: FieldFile, name: str, records: list[int]) -> None:
        self.fields, self.name = fields, name
        self.along_x = fields.x.size >= fields.y.size
        position = fields.x if self.along_x else np.sort(fields.y)
        self.scale, unit = length_unit(float(np.ptp(position)))
        self.position = position * self.scale
        self.with_bed = name in ("depth", "surface_elevation") and fields.bed() is not None
        self.limits = _limits([self._known(record) for record in few(records)])
        surfaces = [self._surface(record) for record in few(records)] if self.with_bed else []
        self.surface_limits = _limits(surfaces, 0.15)
        flat = bool(surfaces) and np.ptp(self.surface_limits) < _SMALL * np.ptp(self.limits)
        self.figure = new_figure(9.0, 6.2 if flat else 4.2)
        panels = list(np.atleast_1d(np.asarray(self.figure.subplots(2 if flat else 1, 1, sharex=True))))
        self.axes, self.waves = panels[-1], panels[0] if flat else None
        self.xlabel = f"{fields.axes[0 if self.along_x else 1]} ({unit})"

    def draw(self, record: int) -> None:
        """Draw a record."""
        axes = self.axes
        axes.clear()
        if self.with_bed:
            self._draw_section(record)
        else:
            axes.plot(self.position, self._line(self.fields.shown(self.name, record)), color="#1f6ba6", linewidth=1.4)
            axes.set_ylabel(textwrap.fill(self.fields.label(self.name, record), _LETTERS))
            axes.grid(color=INK, alpha=0.15, linewidth=0.6)
        axes.set(xlim=(self.position[0], self.position[-1]), ylim=self.limits, xlabel=self.xlabel)
        if self.waves is not None:
            self._draw_waves(record)
        titles(self.waves or axes, self.fields.title).set_text(heading(self.fields, record, self.name))

    def _draw_section(self, record: int) -> None:
        """Draw the bed and the water above it."""
        axes, bed = self.axes, self._line(self.fields.bed())
        surface = self._line(self.fields.surface(record))
        axes.fill_between(self.position, bed, np.maximum(surface, bed), color="#5fb9d0", linewidth=0)
        axes.fill_between(self.position, self.limits[0], bed, color="#cdb48c", linewidth=0)
        axes.plot(self.position, bed, color="#7a5f45", linewidth=1.2)
        axes.plot(self.position, np.where(surface > bed, surface, np.nan), color="#16305f", linewidth=1.3)
        axes.set_ylabel("elevation (m)")

    def _draw_waves(self, record: int) -> None:
        """Draw the surface elevation in a separate panel."""
        assert self.waves is not None
        bed, surface = self._line(self.fields.bed()), self._line(self.fields.surface(record))
        self.waves.clear()
        self.waves.plot(self.position, np.where(surface > bed, surface, np.nan), color="#16305f", linewidth=1.3)
        self.waves.set(ylim=self.surface_limits, ylabel="surface elevation (m)")
        self.waves.grid(color=INK, alpha=0.15, linewidth=0.6)
        self.waves.tick_params(labelbottom=False)

    def _surface(self, record: int) -> np.ndarray:
        """Return the surface elevation in wet cells along the line."""
        surface, bed = self._line(self.fields.surface(record)), self._line(self.fields.bed())
        return surface[np.isfinite(surface) & (surface > bed)]

    def _line(self, values: np.ndarray | None) -> np.ndarray:
        """Return the middle row or column."""
        assert values is not None
        return values[values.shape[0] // 2] if self.along_x else values[:, values.shape[1] // 2]

    def _known(self, record: int) -> np.ndarray:
        """Return the finite values of a record along the line."""
        if self.with_bed:
            values = np.concatenate([self._line(self.fields.bed()), self._line(self.fields.surface(record))])
        else:
            values = self._line(self.fields.shown(self.name, record))
        return values[np.isfinite(values)]


def _limits(samples: list[np.ndarray], margin: float = 0.06) -> tuple[float, float]:
    """Return the axis range of values with a margin, as a fraction of their range."""
    known = np.concatenate([np.empty(0), *samples])
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    space = margin * (high - low) or 1.0
    return low - space, high + space
