"""Particle tracks on a map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagre.plots.drawing.frames import save, titles
from eagre.plots.drawing.style import INK, RC, length_unit, new_figure, nice_time

if TYPE_CHECKING:
    from eagre.plots.data.results import TrackFile

_TRACK = "#2f78b4"


def plot_tracks(tracks: TrackFile, output: str | Path, *, dpi: int = 150) -> Path:
    """Draw the track of every particle, with a dot at its last position.

    Parameters
    ----------
    tracks : TrackFile
    output : str or Path
        Picture to write; the file extension selects the format (png, pdf, svg).
    dpi : int
        Dots per inch.

    Returns
    -------
    Path
        `output`.
    """
    from matplotlib import rc_context

    x, y = broken(tracks.x), broken(tracks.y)
    hidden = np.isnan(x) | np.isnan(y)
    x, y = np.where(hidden, np.nan, x), np.where(hidden, np.nan, y)
    scale, unit = length_unit(max(float(np.nanmax(a) - np.nanmin(a)) for a in (tracks.x, tracks.y)))
    with rc_context(RC):
        figure = new_figure(8.0, 7.0)
        axes = figure.add_subplot()
        axes.plot(x * scale, y * scale, color=_TRACK, linewidth=0.9, alpha=0.8)
        axes.plot(tracks.x[-1] * scale, tracks.y[-1] * scale, "o", color=INK, markersize=2.5)
        axes.set(xlabel=f"x ({unit})", ylabel=f"y ({unit})", aspect="equal")
        axes.ticklabel_format(style="plain", useOffset=False)
        span = " to ".join(nice_time(float(time)) for time in tracks.times[[0, -1]])
        titles(axes, tracks.title).set_text(f"{tracks.x.shape[1]} particles, t = {span}")
        save(figure, output, dpi)
    return Path(output)


def broken(positions: np.ndarray) -> np.ndarray:
    """Return coordinates of tracks with a gap (NaN) where a particle crosses a periodic boundary.

    Parameters
    ----------
    positions : (n, particles)

    Returns
    -------
    array, (2 n - 1, particles)
        One additional row between two records: their mean, or NaN if they differ by more than half of the tracks'
        extent.
    """
    steps = np.diff(positions, axis=0)
    half = 0.5 * float(np.nanmax(positions) - np.nanmin(positions))
    rows = np.empty((2 * positions.shape[0] - 1, positions.shape[1]))
    rows[::2] = positions
    rows[1::2] = np.where(np.abs(steps) > half, np.nan, 0.5 * (positions[1:] + positions[:-1]))
    return rows
