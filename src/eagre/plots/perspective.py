"""Shaded 3-D view of the water surface and the land.

The picture is computed column by column: heights along each line of sight are projected, and a point is visible if its
projection is higher on the screen than the projection of every nearer point.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.errors import InputError
from eagre.plots.drawing.frames import colour_range, few, heading, titles
from eagre.plots.drawing.style import PAPER, colormap, length_unit, new_figure

if TYPE_CHECKING:
    from eagre.plots.data.fields import FieldFile

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
