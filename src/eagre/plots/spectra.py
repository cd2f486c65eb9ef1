"""Spectra over wave numbers, a line a height."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eagre.plots.frames import titles
from eagre.plots.results import SpectrumFile
from eagre.plots.saving import save
from eagre.plots.style import INK, RC, new_figure, nice_time

_MOST_LINES = 8


def plot_spectra(
    spectra: SpectrumFile,
    output: str | Path,
    *,
    variable: str | None = None,
    time: str | None = None,
    dpi: int = 150,
) -> Path:
    """Draw spectral densities of a record over wave numbers, both logarithmic, at up to eight heights.

    Parameters
    ----------
    spectra : SpectrumFile
    output : str or Path
        Picture to write; its ending says the format (png, pdf, svg).
    variable : str, optional
        Without it the first in the file.
    time : str, optional
        Such as ``"2 h"``: the record nearest to it; ``"first"`` or ``"last"``. Without it the last.
    dpi : int
        Dots per inch.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    InputError
        If the variable is not in the file, or the time far from its records.
    """
    from matplotlib import colormaps, rc_context
    from matplotlib.ticker import LogLocator, NullFormatter

    name, record = spectra.check_variable(variable), spectra.record_at(time)
    along, label = spectra.wave_numbers[name]
    count = spectra.heights.size
    shown = np.unique(np.linspace(0, count - 1, min(count, _MOST_LINES)).round().astype(int)).tolist()
    with rc_context(RC):
        figure = new_figure(7.0, 5.4)
        axes = figure.add_subplot(xscale="log", yscale="log", xlabel=label, ylabel=spectra.labels[name])
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))  # labels of all digits would overlap
        axes.xaxis.set_minor_formatter(NullFormatter())
        for place, level in zip(np.linspace(0.9, 0.0, len(shown)), shown, strict=True):
            told = f"z = {spectra.heights[level]:g} m"
            values = spectra.values[name][record, level]
            values = np.where(values > 0.0, values, np.nan)  # a logarithm has no nothing
            axes.plot(along, values, color=colormaps["viridis"](place), linewidth=1.4, label=told)
        axes.grid(color=INK, alpha=0.15, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        titles(axes, spectra.title).set_text(f"t = {nice_time(float(spectra.times[record]))}")
        save(figure, output, dpi)
    return Path(output)
