"""Titles, colour ranges and record selection of pictures, and files that are replaced after they are complete."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagre.io.files import writing
from eagre.plots.drawing.style import is_ground, is_one_sided, nice_time, time_span
from eagre.temporary import temporary_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from eagre.plots.data.fields import FieldFile

_SAMPLES = 24


def heading(fields: FieldFile, record: int, name: str | None = None) -> str:
    """Return the line below the title: the time or period, and the date if known; empty for constant fields."""
    if name is not None and not fields.changes(name):
        return ""
    bounds = None if name is None else fields.bounds(name, record)
    step = float(fields.times[1] - fields.times[0]) if fields.times.size > 1 else 0.0
    time = nice_time(float(fields.times[record]), step) if bounds is None else time_span(*bounds)
    date = fields.date(record)
    return f"t = {time}" + (f"   {date}" if date else "")


def titles(axes: Axes, title: str) -> Text:
    """Write the title and return the line below it, which shows the time."""
    axes.set_title(title, loc="left", pad=20)
    return axes.annotate("", (0, 1), xytext=(0, 6), xycoords="axes fraction", textcoords="offset points")


def colour_range(fields: FieldFile, name: str, records: list[int]) -> Normalize:
    """Return the colour range of a field over a sample of records, from wet cells only; symmetric for signed fields."""
    from matplotlib.colors import BoundaryNorm

    if len(classes := list(fields.classes(name))) > 1:
        middles = [0.5 * (one + other) for one, other in itertools.pairwise(classes)]
        ends = 2 * classes[0] - middles[0], 2 * classes[-1] - middles[-1]
        return BoundaryNorm([ends[0], *middles, ends[1]], 256)
    sample = []
    for record in few(records):
        values, wet = fields.shown(name, record), fields.flooded(name, record)
        sample.append(values[np.isfinite(values) & (wet if wet is not None else True)])
    return value_range(np.concatenate(sample), name, _still_level(fields) if name == "surface_elevation" else 0.0)


def value_range(values: np.ndarray, name: str, centre: float = 0.0) -> Normalize:
    """Return the colour range of finite values of a field; `centre` is the middle of a symmetric range."""
    from matplotlib.colors import Normalize

    if values.size == 0:
        return Normalize(0.0, 1.0)
    if is_one_sided(name):
        return Normalize(0.0, float(np.quantile(values, 0.998)) or 1.0)
    low, high = float(values.min()), float(values.max())
    far = low > 0.5 * high > 0.0 and name != "surface_elevation"  # far from 0, such as temperatures in kelvin
    if is_ground(name) or far:
        return Normalize(low, high if high > low else low + 1.0)
    half = float(np.quantile(np.abs(values - centre), 0.998)) or float(np.abs(values - centre).max()) or 1.0
    return Normalize(centre - half, centre + half)


def _still_level(fields: FieldFile) -> float:
    """Return the median surface elevation of the wet cells of the first record, m."""
    wet = fields.wet(0)
    values = fields.values("surface_elevation", 0)
    values = values[np.isfinite(values) & (wet if wet is not None else True)]
    return float(np.median(values)) if values.size else 0.0


def few(records: list[int]) -> list[int]:
    """Return at most 24 of the records, evenly spaced, with the first and the last."""
    if len(records) <= _SAMPLES:
        return records
    return [records[int(index)] for index in np.linspace(0, len(records) - 1, _SAMPLES)]


@contextmanager
def saved(output: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces `output` at the end of the block.

    Raises
    ------
    WriteError
        If the disk is full or the folder is not writable.
    """
    safe = f"the older {output} is untouched" if output.exists() else "nothing was written"
    with (
        writing(output, safe=safe, fix="free some space, or -o in another folder"),
        temporary_path(output) as temporary,
    ):
        yield temporary
        os.replace(temporary, output)


def lay_out(figure: Figure) -> None:
    """Run the constrained layout; the size of a map of fixed aspect, with colour bars, converges in the second pass."""
    for _ in range(2):
        figure.draw_without_rendering()


def save(figure: Figure, output: str | Path, dpi: int) -> None:
    """Write a figure in the format of the file extension; `dpi` : dots per inch."""
    output = Path(output)
    lay_out(figure)
    with saved(output) as temporary:
        figure.savefig(temporary, dpi=dpi, format=output.suffix.removeprefix(".").lower() or "png")
