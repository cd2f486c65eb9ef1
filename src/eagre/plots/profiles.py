"""Profiles of runs with few rows or columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from eagre.plots.frames import few, heading, titles
from eagre.plots.style import INK, length_unit, new_figure

if TYPE_CHECKING:
    from eagre.plots.results import FieldFile

_LETTERS = 40  # of a line beside the axis


class ProfilePicture:
    """Bed and water surface along the longer side, or a line of another variable.

    Parameters
    ----------
    fields : FieldFile
    name : str
    records : list of int
        Records that the axis range is taken from.
    """

    def __init__(self, fields: FieldFile, name: str, records: list[int]) -> None:
        self.fields, self.name = fields, name
        self.along_x = fields.x.size >= fields.y.size
        position = fields.x if self.along_x else np.sort(fields.y)
        self.scale, unit = length_unit(float(np.ptp(position)))
        self.position = position * self.scale
        self.figure = new_figure(9.0, 4.2)
        self.axes = self.figure.add_subplot()
        self.with_bed = name in ("depth", "surface_elevation") and fields.bed() is not None
        known = np.concatenate([self._known(record) for record in few(records)])
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
        margin = 0.06 * (high - low) or 1.0
        self.limits = (low - margin, high + margin)
        self.xlabel = f"{fields.axes[0 if self.along_x else 1]} ({unit})"

    def draw(self, record: int) -> None:
        """Show a record."""
        axes = self.axes
        axes.clear()
        values = self._line(self.fields.shown(self.name, record))
        if self.with_bed:
            bed = self._line(self.fields.bed())
            surface = bed + values if self.name == "depth" else values
            axes.fill_between(self.position, bed, np.maximum(surface, bed), color="#5fb9d0", linewidth=0)
            axes.fill_between(self.position, self.limits[0], bed, color="#cdb48c", linewidth=0)
            axes.plot(self.position, bed, color="#7a5f45", linewidth=1.2)
            axes.plot(self.position, np.where(surface > bed, surface, np.nan), color="#16305f", linewidth=1.3)
            axes.set_ylabel("elevation (m)")
        else:
            axes.plot(self.position, values, color="#1f6ba6", linewidth=1.4)
            axes.set_ylabel(textwrap.fill(self.fields.label(self.name), _LETTERS))
            axes.grid(color=INK, alpha=0.15, linewidth=0.6)
        axes.set(xlim=(self.position[0], self.position[-1]), ylim=self.limits, xlabel=self.xlabel)
        titles(axes, self.fields.title).set_text(heading(self.fields, record))

    def _line(self, values: np.ndarray | None) -> np.ndarray:
        """The middle row or column."""
        assert values is not None
        return values[values.shape[0] // 2] if self.along_x else values[:, values.shape[1] // 2]

    def _known(self, record: int) -> np.ndarray:
        """Return the finite values of a record along the line."""
        values = self._line(self.fields.shown(self.name, record))
        if self.with_bed:
            bed = self._line(self.fields.bed())
            values = np.concatenate([bed, bed + values if self.name == "depth" else values])
        return values[np.isfinite(values)]
