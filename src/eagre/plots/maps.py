"""Maps of a field, and shaded 3-D views of the water surface and the land.

The picture is computed column by column: heights along each line of sight are projected, and a point is visible if its
projection is higher on the screen than the projection of every nearer point.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.errors import InputError
from eagre.plots.data.fields import DEPTH, SURFACE, WET_DEPTH, water_of
from eagre.plots.drawing.frames import colour_range, few, heading, save, titles, value_range
from eagre.plots.drawing.style import (
    PAPER,
    RC,
    SHORE,
    colormap,
    colormap_for,
    hillshade,
    is_ground,
    is_one_sided,
    length_unit,
    new_figure,
    period_of,
    shaded_land,
)
from eagre.plots.drawing.vectors import Arrows
from eagre.plots.heights import ProfilePicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

    from eagre.plots.data.fields import FieldFile


_LETTERS_PER_INCH = 11  # of the label of a colour bar
_MISSING = 0.86  # brightness of a wet cell without a value
_WITH_RELIEF = ("depth", "max_depth", "bed", "bed_elevation")  # shaded like the terrain

THIN = 4
"""Files with at most this many rows or columns are drawn as a profile."""


def plot_map(
    fields: FieldFile,
    output: str | Path,
    *,
    variable: str | None = None,
    time: str | None = None,
    dpi: int = 150,
    perspective: bool = False,
    vectors: bool = False,
    wet_depth: float = WET_DEPTH,
) -> Path:
    """Draw one field at one time.

    Parameters
    ----------
    fields : FieldFile
    output : str or Path
        Picture to write; the file extension selects the format (png, pdf, svg).
    variable : str, optional
        Name of a stored or derived field (speed, discharge, froude). Without it files of surface elevation and depth
        show the surface elevation of cells that are wet in the first record, and the flood depth of the others. Files
        of maxima with an arrival time of a depth show the maxima likewise. Other files show the depth, the maximum
        depth or their first field.
    time : str, optional
        Time such as ``"2 h"``, or a date; the nearest record is drawn; without it the last.
    dpi : int
        Dots per inch.
    perspective : bool
        Draw a shaded 3-D view of the surface elevation.
    vectors : bool
        Draw arrows of velocity on the map.
    wet_depth : float, m
        Depth above which a cell is drawn as wet.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    InputError
        If the file has no such variable or time, or no velocity components for `vectors`.
    """
    from matplotlib import rc_context

    fields = replace(fields, wet_depth=wet_depth)
    name = chosen(fields, variable, perspective)
    record = fields.record_at(time)
    with rc_context(RC):
        picture = make_picture(fields, name, [record], perspective, vectors)
        picture.draw(record)
        save(picture.figure, output, dpi)
    return Path(output)


def chosen(fields: FieldFile, variable: str | None, perspective: bool) -> str | None:
    """Return the field to draw, or None for surface elevation and flood depth together."""
    if variable is None and perspective:
        variable = "surface_elevation"
    if variable is not None:
        return fields.check_variable(variable)
    section = min(fields.x.size, fields.y.size) <= THIN and fields.surface(0) is None
    return fields.default_variable() if section or water_of(fields) is None else None


def make_picture(
    fields: FieldFile, name: str | None, records: list[int], perspective: bool = False, vectors: bool = False
) -> MapPicture | ProfilePicture | PerspectivePicture:
    """Return a picture whose colours or axes suit all `records`; draw it with ``.draw(record)``."""
    thin = min(fields.x.size, fields.y.size) <= THIN
    if vectors and (perspective or thin):
        got = (
            "--vectors with --perspective" if perspective else f"--vectors for {fields.x.size} x {fields.y.size} cells"
        )
        raise InputError(
            got, allowed=f"a map of more than {THIN} rows and columns, without --perspective",
            problem="Arrows of velocity are drawn on maps only.",
        )  # fmt: skip
    if perspective:
        return PerspectivePicture(fields, name or "surface_elevation", records)
    if thin:
        return ProfilePicture(fields, name or (SURFACE if fields.has(SURFACE) else DEPTH), records)
    return FloodPicture(fields, records, vectors) if name is None else MapPicture(fields, name, records, vectors)


class MapPicture:
    """Map with shaded land, coloured water, shoreline and colour bar.

    Parameters
    ----------
    fields : FieldFile
    name : str
        Name of the field.
    records : list of int
        Records that determine the colour range.
    vectors : bool
        Draw arrows of velocity.
    """

    def __init__(self, fields: FieldFile, name: str, records: list[int], vectors: bool = False) -> None:
        self.fields, self.name = fields, name
        self.dx, self.dy = _spacing(fields.x), _spacing(fields.y)
        self.bed = fields.bed()
        self._shore: Any = None
        self._ground = self._relief = self._faint = None
        if self.bed is not None:
            wet = [self._wet(record) for record in few(records)]
            land = np.logical_or.reduce([np.zeros(self.bed.shape, bool), *(~one for one in wet if one is not None)])
            self._ground = shaded_land(self.bed, self.dx, self.dy, land)
            self._faint = hillshade(self.bed, self.dx, self.dy, 0.25)
        if name in _WITH_RELIEF and self.bed is not None:
            self._relief = self._faint
        elif is_ground(name):
            self._relief = hillshade(fields.values(name, records[-1]), self.dx, self.dy, 0.25)
        self._bars: list[tuple[Any, str, float]] = []
        self._choose_colours(records)
        self.figure, self.axes, self._image = self._frame()
        self._time = titles(self.axes, fields.title)
        self._arrows = Arrows(self.axes, fields, records, self.scale, self._wet) if vectors else None

    def draw(self, record: int) -> None:
        """Draw a record."""
        wet = self._wet(record)
        self._image.set_data(self._colours(record, wet))
        self._time.set_text(heading(self.fields, record, self.name))
        for bar, name, inches in self._bars:
            bar.set_label(textwrap.fill(self._label(name, record), int(_LETTERS_PER_INCH * inches)))
        if self._arrows is not None:
            self._arrows.draw(record)
        if self._shore is not None:
            self._shore.remove()
            self._shore = None
        if wet is not None and wet.any() and not wet.all():
            x, y = self.fields.x * self.scale, np.sort(self.fields.y) * self.scale
            self._shore = self.axes.contour(x, y, wet.astype(float), [0.5], colors=SHORE, linewidths=0.7)

    def _wet(self, record: int) -> np.ndarray | None:
        """Return the cells in which the field is drawn, (ny, nx), or None for all."""
        return self.fields.flooded(self.name, record)

    def _label(self, name: str, record: int) -> str:
        """Return the label of a colour bar."""
        return self.fields.label(name, record)

    def _choose_colours(self, records: list[int]) -> None:
        """Set the colour range and the colour map."""
        self.norm, self.colours = colour_range(self.fields, self.name, records), colormap_for(self.name)

    def _colours(self, record: int, wet: np.ndarray | None) -> np.ndarray:
        """Return the colours of all cells, (ny, nx, 3): terrain where it is dry, shaded grey where a value is NaN."""
        values = self.fields.shown(self.name, record)
        return self._over_ground(self._paint(values, self.norm, self.colours, self._relief), wet)

    def _paint(self, values: np.ndarray, norm: Normalize, colours: Colormap, relief: np.ndarray | None) -> np.ndarray:
        """Return the colours of values, (ny, nx, 3)."""
        known = np.isfinite(values)
        image = colours(norm(np.where(known, values, 0.0)))[..., :3]
        if relief is not None:
            image = np.clip(image * (0.22 + relief)[..., None], 0.0, 1.0)
        missing = _MISSING if self._faint is None else np.clip(_MISSING * (0.22 + self._faint), 0.0, 1.0)[..., None]
        return np.where(known[..., None], image, missing)

    def _over_ground(self, image: np.ndarray, wet: np.ndarray | None) -> np.ndarray:
        """Return an image with the terrain in dry cells."""
        if wet is None:
            return image
        return np.where(wet[..., None], image, _MISSING if self._ground is None else self._ground)

    def _frame(self) -> tuple[Figure, Axes, Any]:
        fields = self.fields
        west, east = fields.x[0] - self.dx / 2, fields.x[-1] + self.dx / 2
        south, north = min(fields.y) - self.dy / 2, max(fields.y) + self.dy / 2
        ratio = (north - south) / (east - west)
        equal = 1 / 12 < ratio < 12
        at_right = ratio > 0.45
        width, height = self._figure_size(ratio if equal else 0.4, at_right)
        figure = new_figure(width, height)
        axes = figure.add_subplot()
        self.scale, unit = length_unit(max(east - west, north - south)) if fields.units == "m" else (1.0, fields.units)
        extent = tuple(edge * self.scale for edge in (west, east, south, north))
        image = axes.imshow(
            np.zeros((fields.y.size, fields.x.size, 3)),
            origin="lower",
            extent=extent,  # type: ignore[arg-type]
            aspect="equal" if equal else "auto",
            interpolation="nearest" if max(fields.x.size, fields.y.size) < 400 else None,
        )
        axes.set(xlabel=f"{fields.axes[0]} ({unit})", ylabel=f"{fields.axes[1]} ({unit})")
        axes.ticklabel_format(style="plain", useOffset=False)  # a power of ten would overlap the title
        axes.tick_params(direction="out", length=3)
        self._add_bars(figure, axes, at_right)
        return figure, axes, image

    def _add_bars(self, figure: Figure, axes: Axes, at_right: bool) -> None:
        """Add the colour bars."""
        self._add_bar(figure, axes, at_right, self.name, self.norm, self.colours)

    def _add_bar(
        self, figure: Figure, axes: Axes, at_right: bool, name: str, norm: Normalize, colours: Colormap
    ) -> None:
        """Add a colour bar; classes have one colour each, with their names."""
        from matplotlib.cm import ScalarMappable

        classes = self.fields.classes(name) if name == self.name else {}
        bar = figure.colorbar(
            ScalarMappable(norm, colours),
            ax=axes,
            location="right" if at_right else "bottom",
            shrink=0.85 if at_right else 0.6,
            pad=0.02,
            aspect=28,
            extend="neither" if classes else "max" if is_one_sided(name) else "both",
        )
        if classes:
            bar.set_ticks(list(classes), labels=list(classes.values()))
        self._bars.append((bar, name, figure.get_figheight() if at_right else figure.get_figwidth()))
        bar.outline.set_linewidth(0.6)  # type: ignore[operator]

    def _figure_size(self, ratio: float, at_right: bool) -> tuple[float, float]:
        """Return width and height in inches for a map of height / width `ratio`."""
        return _figure_size(ratio, at_right)


class FloodPicture(MapPicture):
    """Map of the surface elevation of cells that are wet at the start, and of the flood depth of the others.

    Parameters
    ----------
    fields : FieldFile
        Fields or maxima with the water of `eagre.plots.data.fields.water_of`.
    records : list of int
        Records that determine the colour ranges.
    vectors : bool
        Draw arrows of velocity.
    """

    def __init__(self, fields: FieldFile, records: list[int], vectors: bool = False) -> None:
        water = water_of(fields)
        assert water is not None
        self._water = water
        super().__init__(fields, water.name, records, vectors)

    def _wet(self, record: int) -> np.ndarray | None:
        return self._water.depth(record) > self.fields.wet_depth

    def _label(self, name: str, record: int) -> str:
        label = self._water.labels[name == DEPTH]
        period = period_of(self.fields.attributes(self.name), self.fields.bounds(self.name, record))
        return f"{label}, {period}" if period else label

    def _choose_colours(self, records: list[int]) -> None:
        surfaces, depths = [np.empty(0)], [np.empty(0)]
        for record in few(records):
            surface, depth, wet = self._state(record)
            surfaces.append(surface[self._water.initial & wet & np.isfinite(surface)])
            depths.append(depth[~self._water.initial & wet])
        self._layers = {DEPTH: (value_range(np.concatenate(depths), DEPTH), colormap_for(DEPTH))}
        if self._water.initial.any():
            surface_layer = self._surface_colours(np.concatenate(surfaces))
            flooded = sum(sample.size for sample in depths) > 0
            self._layers = {SURFACE: surface_layer} | (self._layers if flooded else {})
        self._relief = self._faint

    def _surface_colours(self, values: np.ndarray) -> tuple[Normalize, Colormap]:
        """Return colours of the surface elevation: symmetric about the initial level, or sequential for maxima."""
        from matplotlib.colors import Normalize

        if self._water.maxima:
            low, high = (float(one) for one in np.quantile(values, (0.0, 0.998)))
            return Normalize(low, high if high > low else low + 1.0), colormap("speed")
        start, _, wet = self._state(0)
        level = start[wet & np.isfinite(start)]
        return value_range(values, SURFACE, float(np.median(level)) if level.size else 0.0), colormap_for(SURFACE)

    def _state(self, record: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return surface elevation, depth and wet cells of a record."""
        surface, depth = self._water.surface(record), self._water.depth(record)
        return surface, depth, depth > self.fields.wet_depth

    def _colours(self, record: int, wet: np.ndarray | None) -> np.ndarray:
        surface, depth, wet = self._state(record)
        image = np.full((*depth.shape, 3), _MISSING)
        for name, values, cells in ((SURFACE, surface, self._water.initial), (DEPTH, depth, ~self._water.initial)):
            if name in self._layers:
                painted = self._paint(values, *self._layers[name], None if name == SURFACE else self._relief)
                image = np.where(cells[..., None], painted, image)
        return self._over_ground(image, wet)

    def _add_bars(self, figure: Figure, axes: Axes, at_right: bool) -> None:
        for name, (norm, colours) in reversed(self._layers.items()):  # the last bar is next to the map
            self._add_bar(figure, axes, at_right, name, norm, colours)

    def _figure_size(self, ratio: float, at_right: bool) -> tuple[float, float]:
        width, height = super()._figure_size(ratio, at_right)
        more = 1.0 if len(self._layers) > 1 else 0.0
        return (width + more, height) if at_right else (width, height + more)


def _spacing(points: np.ndarray) -> float:
    return abs(float(points[1] - points[0])) if points.size > 1 else 1.0


def _figure_size(ratio: float, at_right: bool) -> tuple[float, float]:
    """Return width and height in inches for a map of height / width `ratio`."""
    width = 9.0 if ratio < 1.1 else max(4.2, 8.4 / ratio + 1.6)
    plot_width = width - (1.9 if at_right else 0.8)
    return width, min(10.0, plot_width * ratio + (1.1 if at_right else 1.9))


AZIMUTH, HEIGHT = math.radians(28.0), 0.42  # of the viewpoint: from south towards west; height / distance
DISTANCE = 2.8  # of the viewpoint, in half diagonals of the domain
WIDTH, STEPS = 1100, 900  # pixels across, points per line of sight
RELIEF = 0.03  # maximum height of the largest waves in the picture, in half diagonals
MAX_EXAGGERATION = 50.0
LOWEST, TALLEST = 1.6, 6.0  # limits of the drawn heights, in amplitudes of the largest waves; terrain is clipped there
DEEP, BRIGHT, SKY, CUT = (
    np.array(c) for c in ((0.02, 0.13, 0.25), (0.10, 0.47, 0.58), (0.80, 0.90, 0.97), (0.05, 0.2, 0.3))
)
LIGHT = np.array([-0.55, 0.45, 0.70]) / np.linalg.norm([-0.55, 0.45, 0.70])


class PerspectivePicture:
    """Shaded 3-D view of the surface; draw it with ``.draw(record)``.

    Parameters
    ----------
    fields : FieldFile
    name : str
        ``"surface_elevation"``.
    records : list of int
        Records that determine colours and heights.

    Raises
    ------
    InputError
        If the field is another one, or the grid has fewer than 3 rows or columns.
    """

    def __init__(self, fields: FieldFile, name: str, records: list[int]) -> None:
        if name != "surface_elevation" or min(fields.x.size, fields.y.size) < 3:
            got = f"a perspective of {name} on {fields.x.size} x {fields.y.size} points"
            raise InputError(
                got, allowed="surface_elevation on 3 rows and columns or more", fix="-v surface_elevation",
                problem="The 3-D view shows the surface elevation of a map only.",
            )  # fmt: skip
        self.fields, self.name = fields, name
        norm = colour_range(fields, name, few(records))
        self.level, self.reach = 0.5 * (norm.vmin + norm.vmax), 0.5 * (norm.vmax - norm.vmin)  # type: ignore[operator]
        self._look(np.ptp(fields.x), np.ptp(fields.y))
        self.figure = new_figure(9.0, 9.0 * self.rows.size / WIDTH + 0.75)
        self.axes = self.figure.add_subplot()
        self._image: Any = self.axes.imshow(np.ones((self.rows.size, WIDTH, 3)), origin="lower", aspect="equal")
        self.axes.set_axis_off()
        self._time = titles(self.axes, fields.title)
        scale, unit = length_unit(float(max(np.ptp(fields.x), np.ptp(fields.y))))
        sides = " x ".join(f"{np.ptp(side) * scale:.4g}" for side in (fields.x, fields.y))
        note = f"{sides} {unit}, seen from the south-west; vertical exaggeration {self.exaggeration:.3g}"
        self.axes.annotate(
            note, (0, 0), xytext=(0, -12), xycoords="axes fraction", textcoords="offset points", fontsize=8
        )

    def _look(self, across: float, along: float) -> None:
        """Set the points of the lines of sight, in cells, and the projection of heights."""
        half = 0.5 * math.hypot(across, along)
        self.exaggeration = min(MAX_EXAGGERATION, max(1.0, RELIEF * half / max(self.reach, 1e-30)))
        eye = DISTANCE * half * np.array([-math.sin(AZIMUTH), -math.cos(AZIMUTH)])
        forward, right = -eye / np.linalg.norm(eye), np.array([math.cos(AZIMUTH), -math.sin(AZIMUTH)])
        corners = np.array([[x, y] for x in (-0.5 * across, 0.5 * across) for y in (-0.5 * along, 0.5 * along)]) - eye
        away = corners @ forward
        widest = 1.03 * float(np.abs(corners @ right / away).max())
        self.away = np.geomspace(0.98 * away.min(), 1.02 * away.max(), STEPS)
        focus, high = 0.5 * WIDTH / widest, HEIGHT * DISTANCE * half
        sight = np.linspace(-widest, widest, WIDTH)
        points = eye + self.away[:, None, None] * (forward + sight[:, None] * right)
        dx, dy = across / (self.fields.x.size - 1), along / (self.fields.y.size - 1)
        self.i, self.j = (points[..., 0] + 0.5 * across) / dx, (points[..., 1] + 0.5 * along) / dy
        self.inside = (
            (self.i >= 0) & (self.j >= 0) & (self.i <= self.fields.x.size - 1) & (self.j <= self.fields.y.size - 1)
        )
        self.spacing, self.high, self.focus = (dx, dy), high, focus
        ground = self.fields.bed()
        land = 0.0 if ground is None else float(np.nanmax(ground) - self.level)
        low, tall = -LOWEST * self.reach, min(max(LOWEST * self.reach, land), TALLEST * self.reach)
        low, top = (
            focus * (self.exaggeration * z - high) / distance for z, distance in ((low, away.min()), (tall, away.max()))
        )
        self.rows = np.arange(math.floor(low), math.ceil(top) + 4)

    def draw(self, record: int) -> None:
        """Draw a record."""
        height, colours = self._surface(record)
        level, seen = bilinear(height, self.j, self.i), np.full(self.inside.shape, -np.inf)
        seen[self.inside] = (self.focus * (level - self.high) / self.away[:, None])[self.inside]
        tops = np.maximum.accumulate(seen, axis=0)
        first = np.argmax(self.inside, axis=0)
        base = self.focus * (-LOWEST * self.exaggeration * self.reach - self.high) / self.away[first]
        columns, farthest = np.arange(WIDTH), tops[-1]
        near = np.stack([np.searchsorted(tops[:, k], np.minimum(self.rows, farthest[k])) for k in columns], axis=1)
        image = bilinear(colours, self.j[near, columns], self.i[near, columns])
        paper = np.array([int(PAPER[k : k + 2], 16) / 255.0 for k in (1, 3, 5)])
        front, there = self._below(tops[first, columns]), self._below(farthest) * (1.0 - self._below(base))
        image = image * (1.0 - front) + CUT * front
        image = image * there + paper * (1.0 - there)
        self._image.set_data(np.clip(image, 0.0, 1.0))
        self._time.set_text(heading(self.fields, record, self.name))

    def _below(self, edge: np.ndarray) -> np.ndarray:
        """Return the fraction of each pixel below an edge, (rows, columns, 1): anti-aliased edges."""
        return np.clip(edge - self.rows[:, None] + 0.5, 0.0, 1.0)[..., None]

    def _surface(self, record: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the exaggerated heights, m, and the colours of all points, from the south-west."""
        values, wet = self.fields.values(self.name, record), self.fields.wet(record)
        shown = np.isfinite(values) if wet is None else wet & np.isfinite(values)
        ground = self.fields.bed()
        solid = np.full(values.shape, self.level) if ground is None else ground
        ends = -LOWEST * self.reach, TALLEST * self.reach
        height = self.exaggeration * np.clip(np.where(shown, values, solid) - self.level, *ends)
        south, west = np.gradient(height, self.spacing[1], self.spacing[0])
        normal = np.stack([-west, -south, np.ones(height.shape)], axis=-1)
        normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
        toward = np.array([-math.sin(AZIMUTH), -math.cos(AZIMUTH), HEIGHT]) / math.hypot(1.0, HEIGHT)
        lit, facing = np.clip(normal @ LIGHT, 0.0, 1.0), np.clip(normal @ toward, 0.0, 1.0)
        half_vector = (LIGHT + toward) / np.linalg.norm(LIGHT + toward)
        fraction = np.clip(0.5 + 0.5 * (values - self.level) / self.reach, 0.0, 1.0)[..., None]
        water = (DEEP + fraction * (BRIGHT - DEEP)) * (0.35 + 0.9 * lit[..., None])
        mirror = 0.04 + 0.75 * (1.0 - facing[..., None]) ** 4
        water = water * (1.0 - mirror) + SKY * mirror + 0.5 * np.clip(normal @ half_vector, 0.0, 1.0)[..., None] ** 60
        land = colormap("land")(np.clip(0.5 + 0.1 * (solid - self.level) / self.reach, 0.0, 1.0))[..., :3]
        return height, np.where(shown[..., None], water, land * (0.35 + 0.75 * lit[..., None]))


def bilinear(values: np.ndarray, j: np.ndarray, i: np.ndarray) -> np.ndarray:
    """Interpolate values, (ny, nx) or (ny, nx, 3), at fractional rows and columns, clamped to the edges."""
    (ny, nx), more = values.shape[:2], (1,) * (values.ndim - 2)
    j, i = np.clip(j, 0, ny - 1), np.clip(i, 0, nx - 1)
    south, west = np.minimum(j.astype(int), ny - 2), np.minimum(i.astype(int), nx - 2)
    y, x = ((position - corner).reshape(position.shape + more) for position, corner in ((j, south), (i, west)))
    lower = values[south, west] * (1.0 - x) + values[south, west + 1] * x
    upper = values[south + 1, west] * (1.0 - x) + values[south + 1, west + 1] * x
    return lower * (1.0 - y) + upper * y
