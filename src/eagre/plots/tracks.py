"""Tracks of particles on a map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagre.plots.frames import titles
from eagre.plots.saving import save
from eagre.plots.style import INK, RC, length_unit, new_figure, nice_time

if TYPE_CHECKING:
    from eagre.plots.results import TrackFile

_TRACK = "#2f78b4"


def plot_tracks(tracks: TrackFile, output: str | Path, *, dpi: int = 150) -> Path:
    """Draw the way of every particle, with a dot where it is at the end.

    Parameters
    ----------
    tracks : TrackFile
    output : str or Path
        Picture to write; its ending says the format (png, pdf, svg).
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


def broken(places: np.ndarray) -> np.ndarray:
    """Coordinates of tracks with a gap (NaN) where a particle comes in again at the other side of a period.

    Parameters
    ----------
    places : (n, particles)

    Returns
    -------
    array, (2 n - 1, particles)
        A row between any two records: their mean, or NaN where they are more than half of the tracks' extent apart.
    """
    steps = np.diff(places, axis=0)
    reach = 0.5 * float(np.nanmax(places) - np.nanmin(places))
    found = np.empty((2 * places.shape[0] - 1, places.shape[1]))
    found[::2] = places
    found[1::2] = np.where(np.abs(steps) > reach, np.nan, 0.5 * (places[1:] + places[:-1]))
    return found
