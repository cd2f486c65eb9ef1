"""Spectra over wavenumber, one line per height."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eagre.plots.data.results import SpectrumFile
from eagre.plots.drawing.frames import titles
from eagre.plots.drawing.saving import save
from eagre.plots.drawing.style import INK, RC, new_figure, nice_time

_MAX_LINES = 8


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
    from matplotlib import colormaps, rc_context
    from matplotlib.ticker import LogLocator, NullFormatter

    name, record = spectra.check_variable(variable), spectra.record_at(time)
    along, label = spectra.wave_numbers[name]
    count = spectra.heights.size
    shown = np.unique(np.linspace(0, count - 1, min(count, _MAX_LINES)).round().astype(int)).tolist()
    with rc_context(RC):
        figure = new_figure(7.0, 5.4)
        axes = figure.add_subplot(xscale="log", yscale="log", xlabel=label, ylabel=spectra.labels[name])
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))  # more labels would overlap
        axes.xaxis.set_minor_formatter(NullFormatter())
        for colour, level in zip(np.linspace(0.9, 0.0, len(shown)), shown, strict=True):
            note = f"z = {spectra.heights[level]:g} m"
            values = spectra.values[name][record, level]
            values = np.where(values > 0.0, values, np.nan)  # zero has no logarithm
            axes.plot(along, values, color=colormaps["viridis"](colour), linewidth=1.4, label=note)
        axes.grid(color=INK, alpha=0.15, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        titles(axes, spectra.title).set_text(f"t = {nice_time(float(spectra.times[record]))}")
        save(figure, output, dpi)
    return Path(output)
