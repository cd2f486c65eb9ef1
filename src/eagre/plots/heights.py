"""Lines over a coordinate: profiles over height, spectra over wavenumber, sections along a flume."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.plots.data.results import ProfileFile, SpectrumFile
from eagre.plots.drawing.frames import few, heading, save, titles
from eagre.plots.drawing.style import INK, RC, length_unit, new_figure, nice_time

if TYPE_CHECKING:
    from eagre.plots.data.fields import FieldFile

MAX_LINES = 8
_LETTERS = 40  # maximum length of a line of the axis label
_SMALL = 0.05  # ratio of the surface range to the height of the section below which the surface has a separate panel


def plot_profiles(
    profiles: ProfileFile,
    output: str | Path,
    *,
    variable: str | None = None,
    time: str | None = None,
    dpi: int = 150,
) -> Path:
    """Draw horizontal means over height at one record, or at up to eight records from the first to the last.

    Parameters
    ----------
    profiles : ProfileFile
    output : str or Path
        Picture to write; the file extension selects the format (png, pdf, svg).
    variable : str, optional
        Name of the variable; without it theta, or else the first variable of the file.
    time : str, optional
        Time such as ``"2 h"``, whose nearest record is drawn, ``"first"`` or ``"last"``.
    dpi : int
        Dots per inch.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    InputError
        If the file does not have the variable, or the time is outside its period.
    """
    from matplotlib import rc_context

    name = profiles.check_variable(variable)
    records = _spread(profiles.times.size) if time is None else [profiles.record_at(time)]
    scale, unit = length_unit(float(np.ptp(profiles.heights)))
    with rc_context(RC):
        figure = new_figure(6.0, 5.4)
        axes = figure.add_subplot()
        for colour, record in zip(_colours(records), records, strict=True):
            values = profiles.values[name][record]
            note = f"t = {nice_time(float(profiles.times[record]))}"
            axes.plot(values, profiles.heights * scale, color=colour, linewidth=1.4, label=note)
        axes.set(xlabel=profiles.labels[name], ylabel=f"z ({unit})")
        _set_style(axes)
        titles(axes, profiles.title)
        save(figure, output, dpi)
    return Path(output)


def plot_spectra(
    spectra: SpectrumFile,
    output: str | Path,
    *,
    variable: str | None = None,
    time: str | None = None,
    dpi: int = 150,
) -> Path:
    """Draw the spectral densities of a record over wavenumber at up to eight heights, on logarithmic axes.

    Parameters
    ----------
    spectra : SpectrumFile
    output : str or Path
        Picture to write; the file extension selects the format (png, pdf, svg).
    variable : str, optional
        Name of the variable; without it the first variable of the file.
    time : str, optional
        Time such as ``"2 h"``, whose nearest record is drawn, ``"first"`` or ``"last"``, the default.
    dpi : int
        Dots per inch.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    InputError
        If the file does not have the variable, or the time is outside its period.
    """
    from matplotlib import rc_context
    from matplotlib.ticker import LogLocator, NullFormatter

    name, record = spectra.check_variable(variable), spectra.record_at(time)
    along, label = spectra.wave_numbers[name]
    shown = _spread(spectra.heights.size)
    with rc_context(RC):
        figure = new_figure(7.0, 5.4)
        axes = figure.add_subplot(xscale="log", yscale="log", xlabel=label, ylabel=spectra.labels[name])
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))  # more labels would overlap
        axes.xaxis.set_minor_formatter(NullFormatter())
        for colour, level in zip(_colours(shown), shown, strict=True):
            note = f"z = {spectra.heights[level]:g} m"
            values = spectra.values[name][record, level]
            values = np.where(values > 0.0, values, np.nan)  # zero has no logarithm
            axes.plot(along, values, color=colour, linewidth=1.4, label=note)
        _set_style(axes)
        titles(axes, spectra.title).set_text(f"t = {nice_time(float(spectra.times[record]))}")
        save(figure, output, dpi)
    return Path(output)


def _spread(count: int) -> list[int]:
    """Return at most `MAX_LINES` indices from the first to the last of `count` items."""
    return np.unique(np.linspace(0, count - 1, min(count, MAX_LINES)).round().astype(int)).tolist()


def _colours(items: list[int]) -> Any:
    from matplotlib import colormaps

    return colormaps["viridis"](np.linspace(0.9, 0.0, len(items)))


def _set_style(axes: Any) -> None:
    axes.grid(color=INK, alpha=0.15, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


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
