"""Profiles over height, one line per record, and spectra over wavenumber, one line per height."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from eagre.plots.data.results import ProfileFile, SpectrumFile
from eagre.plots.drawing.frames import save, titles
from eagre.plots.drawing.style import INK, RC, length_unit, new_figure, nice_time

MAX_LINES = 8


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
