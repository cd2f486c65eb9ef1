"""Surface elevation and depth of a file of fields, and the cells that are wet at the start."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eagre.plots.drawing.labels import arrival_threshold, with_units

if TYPE_CHECKING:
    from eagre.plots.data.fields import FieldFile

SURFACE, DEPTH, MAX_SURFACE = "surface_elevation", "depth", "max_surface_elevation"


class Water(NamedTuple):
    """Surface elevation and depth of water over time, or their maxima.

    Attributes
    ----------
    surface, depth : callable
        Functions of a record that return (ny, nx) arrays, m.
    initial : (ny, nx) array of bool
        Cells that are wet at the start.
    name : str
        Stored field with the period of the values.
    maxima : bool
        Values are maxima over time.
    labels : tuple of str
        Labels of the surface elevation of `initial` cells and of the depth of the other cells.
    """

    surface: Callable[[int], np.ndarray]
    depth: Callable[[int], np.ndarray]
    initial: np.ndarray
    name: str
    maxima: bool
    labels: tuple[str, str]


def water_of(fields: FieldFile) -> Water | None:
    """Return the water of a file of fields, or None if it does not determine the cells that are wet at the start.

    Files of maxima determine them if they have the maximum surface elevation, the maximum depth and an arrival time of
    a depth: cells that exceed the depth at the start have the start as arrival time.
    """
    wet = fields.wet(0)
    if wet is not None and fields.surface(0) is not None:
        name = SURFACE if fields.has(SURFACE) else DEPTH
        labels = with_units("surface elevation", "m"), with_units("flood depth on initially dry land", "m")
        return Water(fields.surface, fields.depth, wet, name, False, labels)  # type: ignore[arg-type]
    max_depth = fields.max_depth_name()
    arrivals = {threshold: name for name in fields.variables if (threshold := arrival_threshold(name)) is not None}
    if max_depth is None or MAX_SURFACE not in fields.variables or not arrivals:
        return None
    threshold = min(arrivals)
    bounds = fields.bounds(max_depth, fields.times.size - 1)
    initial = fields.values(arrivals[threshold], fields.times.size - 1) <= (bounds[0] if bounds is not None else 0.0)
    if not initial.any():
        return None
    text = f"flood depth, initially < {threshold:g} m"
    return Water(
        lambda record: fields.values(MAX_SURFACE, record),
        lambda record: np.nan_to_num(fields.values(max_depth, record)),
        initial,
        max_depth,
        True,
        (with_units("surface elevation", "m"), with_units(text, "m")),
    )
