"""Profiles over height, one line per record."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eagre.plots.data.results import ProfileFile
from eagre.plots.drawing.frames import titles
from eagre.plots.drawing.saving import save
from eagre.plots.drawing.style import INK, RC, length_unit, new_figure, nice_time

_MAX_LINES = 8


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
    from matplotlib import colormaps, rc_context

    name = profiles.check_variable(variable)
    count = profiles.times.size
    shown = np.unique(np.linspace(0, count - 1, min(count, _MAX_LINES)).round().astype(int)).tolist()
    records = shown if time is None else [profiles.record_at(time)]
    scale, unit = length_unit(float(np.ptp(profiles.heights)))
    with rc_context(RC):
        figure = new_figure(6.0, 5.4)
        axes = figure.add_subplot()
        for colour, record in zip(np.linspace(0.9, 0.0, len(records)), records, strict=True):
            values = profiles.values[name][record]
            note = f"t = {nice_time(float(profiles.times[record]))}"
            axes.plot(values, profiles.heights * scale, color=colormaps["viridis"](colour), linewidth=1.4, label=note)
        axes.set(xlabel=profiles.labels[name], ylabel=f"z ({unit})")
        axes.grid(color=INK, alpha=0.15, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        titles(axes, profiles.title)
        save(figure, output, dpi)
    return Path(output)
