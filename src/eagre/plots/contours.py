"""Lines on a map: contours of one field of one or two files, and particle tracks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagre.errors import InputError
from eagre.plots.drawing.frames import heading, save, titles
from eagre.plots.drawing.style import INK, RC, length_unit, new_figure, nice_time

if TYPE_CHECKING:
    from eagre.plots.data.fields import FieldFile
    from eagre.plots.data.results import TrackFile

COLOURS = ("black", "#c4141c")  # of the first and the second file
INTERVALS = 14  # largest number of intervals between contour levels
_TRACK = "#2f78b4"


def plot_contours(
    files: Sequence[FieldFile], output: str | Path, *, name: str, time: str | None = None, dpi: int = 150
) -> Path:
    """Draw contour lines of a field, black for the first file and red for the second; negative levels are dashed.

    Parameters
    ----------
    files : sequence of FieldFile
        One or two; their grids may differ. They share the contour levels.
    output : str or Path
        Picture to write; the file extension selects the format (png, pdf, svg).
    name : str
        Name of a stored or derived field.
    time : str, optional
        Time such as ``"2 h"``, or a date; the nearest record of each file is drawn; without it the last.
    dpi : int
        Dots per inch.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    InputError
        If a file has no such variable or time, the planes have different axes, a grid has fewer than two rows or
        columns, or the field is constant.
    """
    from matplotlib import rc_context

    first, records = files[0], [one.record_at(time) for one in files]
    for one in files:
        one.check_variable(name)
        _check_plane(one, first)
    values = [np.ma.masked_invalid(one.values(name, record)) for one, record in zip(files, records, strict=True)]
    levels = contour_levels(values, name)
    width, height = (
        float(np.ptp(np.concatenate(points))) for points in zip(*((one.x, one.y) for one in files), strict=True)
    )
    scale, unit = length_unit(max(width, height)) if first.units == "m" else (1.0, first.units)
    ratio = height / width
    with rc_context(RC):
        figure = new_figure(8.0, float(np.clip(8.0 * ratio, 3.0, 8.0)) + 1.0)
        axes = figure.add_subplot(aspect="equal" if 1 / 12 < ratio < 12 else "auto")
        styles = ["dashed" if level < -1e-9 * np.abs(levels).max() else "solid" for level in levels]
        for one, field, colour in zip(files, values, COLOURS, strict=False):
            axes.contour(one.x * scale, one.y * scale, field, levels, colors=colour, linestyles=styles, linewidths=0.9)
            axes.plot([], [], color=colour, linewidth=0.9, label=str(one.path if len(files) > 1 else one.path.name))
        axes.set(xlabel=f"{first.axes[0]} ({unit})", ylabel=f"{first.axes[1]} ({unit})")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.0, -0.1), borderaxespad=0.0)
        interval = f"interval {levels[1] - levels[0]:.3g}"
        times = ", ".join(dict.fromkeys(heading(one, record, name) for one, record in zip(files, records, strict=True)))
        titles(axes, f"{first.label(name)}, {first.place}".rstrip(", ")).set_text(f"{times}   {interval}".strip())
        save(figure, output, dpi)
    return Path(output)


def contour_levels(values: Sequence[np.ma.MaskedArray], name: str) -> np.ndarray:
    """Return round, equidistant levels in the common range of several fields; `InputError` if it is empty."""
    from matplotlib.ticker import MaxNLocator

    known = np.concatenate([one.compressed() for one in values])
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    if not low < high:
        raise InputError(
            f"--contours {name}, {low:g} at all points", allowed="a field that varies in space",
            problem=f"The field {name} has no contour lines.",
        )  # fmt: skip
    return np.asarray(MaxNLocator(INTERVALS, min_n_ticks=2).tick_values(low, high))


def _check_plane(one: FieldFile, first: FieldFile) -> None:
    """Reject a file without a plane of points, or with axes that differ from the axes of the first file."""
    if min(one.x.size, one.y.size) < 2:
        raise InputError(
            f"{one.x.size} x {one.y.size} points in {one.path.name}", allowed="2 rows and columns or more",
            problem="Contour lines require a field over a plane.",
        )  # fmt: skip
    if (one.axes, one.units) != (first.axes, first.units):
        got = f"{one.path.name} over {' and '.join(one.axes)}, {first.path.name} over {' and '.join(first.axes)}"
        raise InputError(got, allowed="files over the same axes", fix='--slice "z = 500 m"',
                         problem="The planes of the two files differ.")  # fmt: skip


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
