"""Isosurfaces of fields on levels by marching tetrahedra, drawn as shaded triangles.

Each cell of the grid is divided into six tetrahedra around one diagonal, which match at the faces of cells; in a
tetrahedron the field is linear. Source: A. Doi, A. Koide, IEICE Trans. Inf. Syst. E74-D, 214-224 (1991).
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.errors import InputError
from eagre.plots.drawing.frames import heading, save, titles
from eagre.plots.drawing.style import PAPER, RC, length_unit, new_figure, pretty_units

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D

    from eagre.plots.data.fields import FieldFile

MAX_TRIANGLES = 500_000
"""Largest number of triangles of a picture; above it every second point along each axis is used."""
ELEVATION, AZIMUTH = 25.0, -60.0  # of the viewpoint, degrees
FLATTEST = 0.15  # smallest ratio of the sides of the drawn box
COLOUR, AMBIENT = np.array([0.16, 0.45, 0.72]), 0.35  # of the surface; its brightness in the shade
LIGHT = np.array([0.35, -0.75, 0.56])  # towards the light: x, y, z

_CORNERS = np.array(list(itertools.product((0, 1), repeat=3)))  # steps along z, y and x
_TETRAHEDRA = [(0, 1 << a, (1 << a) | (1 << b), 7) for a, b, _ in itertools.permutations(range(3))]
_EDGES = {  # by the number of vertices above the level, which come first: triangles of edges (above, below)
    1: (((0, 1), (0, 2), (0, 3)),),
    2: (((0, 2), (0, 3), (1, 2)), ((0, 3), (1, 3), (1, 2))),
    3: (((0, 3), (1, 3), (2, 3)),),
}


def isosurface(values: np.ndarray, level: float, z: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the triangles of an isosurface.

    Parameters
    ----------
    values : (nz, ny, nx) array
        Field at the points; cells with a NaN have no triangles.
    level : float
    z, y, x : (nz,), (ny,), (nx,) array
        Coordinates of the points, increasing.

    Returns
    -------
    (n, 3, 3) array
        Vertices of each triangle, as x, y, z. Its normal (b - a) x (c - a) points towards lower values.
    """
    corners = np.stack([values[_shifted(values.shape, step)] for step in _CORNERS])
    crossed = np.nonzero((corners.min(axis=0) <= level) & (corners.max(axis=0) > level))
    corners = corners[:, *crossed].T
    points = np.stack(
        [axis[start[:, None] + step] for axis, start, step in zip((z, y, x), crossed, _CORNERS.T, strict=True)][::-1],
        axis=-1,
    )
    triangles = [_in_tetrahedra(corners[:, one], points[:, one], level) for one in map(list, _TETRAHEDRA)]
    return np.concatenate(triangles)


def _shifted(shape: tuple[int, ...], step: np.ndarray) -> tuple[slice, ...]:
    """Return the slices of one corner of all cells."""
    return tuple(slice(first, count - 1 + first) for first, count in zip(step, shape, strict=True))


def _in_tetrahedra(values: np.ndarray, points: np.ndarray, level: float) -> np.ndarray:
    """Return the triangles in tetrahedra with values, (n, 4), at vertices, (n, 4, 3)."""
    order = np.argsort(values <= level, axis=1, kind="stable")
    values, points = np.take_along_axis(values, order, 1), np.take_along_axis(points, order[..., None], 1)
    above, result = (values > level).sum(axis=1), []
    for count, edge_lists in _EDGES.items():
        v, p = values[above == count], points[above == count]
        for edges in edge_lists:
            a, b = (list(ends) for ends in zip(*edges, strict=True))
            fraction = (v[:, a] - level) / (v[:, a] - v[:, b])
            triangles = p[:, a] + fraction[..., None] * (p[:, b] - p[:, a])
            inwards = np.sum(normals(triangles) * (p[:, 0] - triangles[:, 0]), axis=1) > 0.0
            triangles[inwards] = triangles[inwards][:, ::-1]
            result.append(triangles)
    return np.concatenate(result)


def normals(triangles: np.ndarray) -> np.ndarray:
    """Return the normals (b - a) x (c - a) of triangles, (n, 3), whose lengths are twice the areas."""
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])


def parse_isosurface(text: str) -> tuple[str, float]:
    """Return field and level of a text such as ``"vorticity=0.5"``."""
    name, _, level = (item.strip() for item in text.partition("="))
    try:
        number = float(level)
    except ValueError:
        number = np.nan
    if not name or not np.isfinite(number):
        raise InputError(
            f"--isosurface {text}", allowed="a field and a level in its unit", fix="--isosurface vorticity=0.5",
            problem="The isosurface has no field and level.",
        )  # fmt: skip
    return name, number


def plot_isosurface(
    fields: FieldFile, output: str | Path, *, name: str, level: float, time: str | None = None, dpi: int = 150
) -> Path:
    """Draw the surface on which a field has a value.

    Parameters
    ----------
    fields : FieldFile
        Any slice of a file of fields on levels.
    output : str or Path
        Picture to write; the file extension selects the format (png, pdf, svg).
    name : str
        Field over z, y and x; ``"vorticity"`` is computed from u, v and w over flat terrain.
    level : float
        Value of the field, in its unit.
    time : str, optional
        Time such as ``"2 h"``, or a date; the nearest record is drawn; without it the last.
    dpi : int
        Dots per inch.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    InputError
        If the file has no fields on levels, no such field or time, or no value on both sides of the level.
    """
    from matplotlib import rc_context

    if fields.volume is None:
        raise InputError(
            f"--isosurface for {fields.path.name}", allowed="a file of fields over z, y and x",
            problem="The file has no fields on levels.",
        )  # fmt: skip
    record = fields.record_at(time)
    volume, points = fields.volume, fields.volume.coordinates
    values = volume.values(volume.check_variable(name), record)
    check_level(values, name, level)
    triangles = isosurface(values, level, *points)
    while len(triangles) > MAX_TRIANGLES:
        values, points = values[::2, ::2, ::2], tuple(axis[::2] for axis in points)
        triangles = isosurface(values, level, *points)
    with rc_context(RC):
        figure = new_figure(8.0, 7.0)
        axes: Any = figure.add_subplot(projection="3d", facecolor=PAPER)
        draw_triangles(axes, triangles, volume.coordinates)
        units = pretty_units(str(volume.attributes(name).get("units", "")))
        titles(axes, str(volume.dataset.attrs.get("title") or fields.path.stem)).set_text(
            f"{name} = {level:g} {units}".strip() + f"   {heading(fields, record)}"
        )
        save(figure, output, dpi)
    return Path(output)


def check_level(values: np.ndarray, name: str, level: float) -> None:
    """Raise `InputError` with the range of the field if the level is outside, or if an axis has a single point."""
    if min(values.shape) < 2:
        raise InputError(
            f"{name} on {' x '.join(map(str, values.shape))} points", allowed="2 points or more along z, y and x",
            problem="An isosurface requires a three-dimensional field.",
        )  # fmt: skip
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)
    if not low <= level < high:
        raise InputError(
            f"--isosurface {name}={level:g}", allowed=f"from {low:g} to {high:g}, the range of {name} at this time",
            fix=f"--isosurface {name}={0.5 * (low + high):.3g}", problem="The level is outside the range of the field.",
        )  # fmt: skip


def draw_triangles(axes: Axes3D, triangles: np.ndarray, points: tuple[np.ndarray, ...]) -> None:
    """Draw shaded triangles in a box; `points` : coordinates along z, y and x, m."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    normal = normals(triangles)
    length = np.linalg.norm(normal, axis=1)
    towards = normal @ (LIGHT / np.linalg.norm(LIGHT)) / np.where(length > 0.0, length, 1.0)
    colours = COLOUR * (AMBIENT + (1.0 - AMBIENT) * np.clip(towards, 0.0, 1.0))[:, None]
    sides = [float(np.ptp(axis)) for axis in points[::-1]]
    scale, unit = length_unit(max(sides))
    axes.add_collection3d(Poly3DCollection(scale * triangles, facecolors=colours, edgecolors="none", antialiased=False))
    for axis, name, along in zip(points[::-1], "xyz", (axes.xaxis, axes.yaxis, axes.zaxis), strict=True):
        getattr(axes, f"set_{name}lim")(scale * axis.min(), scale * axis.max())
        along.set_label_text(f"{name} ({unit})")
    axes.set_box_aspect([max(side, FLATTEST * max(sides)) for side in sides])
    axes.view_init(ELEVATION, AZIMUTH)
