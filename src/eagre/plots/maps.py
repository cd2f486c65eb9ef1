"""Maps of a field over shaded ground."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.plots.frames import colour_range, few, heading, titles
from eagre.plots.perspective import PerspectivePicture
from eagre.plots.profiles import ProfilePicture
from eagre.plots.saving import save
from eagre.plots.style import (
    RC,
    SHORE,
    colormap_for,
    hillshade,
    is_one_sided,
    length_unit,
    new_figure,
    shaded_land,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from eagre.plots.results import FieldFile

_LETTERS_AN_INCH = 11  # of the label of a colour bar
_NOTHING = 0.86  # brightness of a cell without a number
_WITH_RELIEF = ("depth", "max_depth", "bed", "bed_elevation")  # lit as the ground is

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
) -> Path:
    """Draw one field at one time.

    Parameters
    ----------
    fields : FieldFile
    output : str or Path
        Picture to write; its ending says the format (png, pdf, svg).
    variable : str, optional
        Name of the field; without it the depth.
    time : str, optional
        Such as ``"2 h"``; the nearest record is drawn; without it the last.
    dpi : int
        Dots per inch.
    perspective : bool
        Whether the surface is lit and in perspective; its field is then the surface elevation.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    InputError
        If the file has no such variable or time.
    """
    from matplotlib import rc_context

    name = chosen(fields, variable, perspective)
    record = fields.record_at(time)
    with rc_context(RC):
        picture = make_picture(fields, name, [record], perspective)
        picture.draw(record)
        save(picture.figure, output, dpi)
    return Path(output)


def chosen(fields: FieldFile, variable: str | None, perspective: bool) -> str:
    """The field to draw: `variable`, or the one that suits."""
    if variable is None and perspective:
        variable = "surface_elevation"
    return fields.check_variable(variable) if variable else fields.default_variable()


def make_picture(
    fields: FieldFile, name: str, records: list[int], perspective: bool = False
) -> MapPicture | ProfilePicture | PerspectivePicture:
    """A picture whose colours or axes suit all `records`; draw it with ``.draw(record)``."""
    if perspective:
        return PerspectivePicture(fields, name, records)
    thin = min(fields.x.size, fields.y.size) <= THIN
    return (ProfilePicture if thin else MapPicture)(fields, name, records)


class MapPicture:
    """A map: shaded land, coloured water, shoreline, colour bar.

    Parameters
    ----------
    fields : FieldFile
    name : str
        The field.
    records : list of int
        Records that the colour range is taken from.
    """

    def __init__(self, fields: FieldFile, name: str, records: list[int]) -> None:
        self.fields, self.name = fields, name
        self.dx, self.dy = _spacing(fields.x), _spacing(fields.y)
        self.bed = fields.bed()
        self.norm = colour_range(fields, name, records)
        self.colours = colormap_for(name)
        self._shore: Any = None
        self._ground = self._relief = None
        if self.bed is not None:
            wet = [fields.flooded(name, record) for record in few(records)]
            land = np.logical_or.reduce([np.zeros(self.bed.shape, bool), *(~one for one in wet if one is not None)])
            self._ground = shaded_land(self.bed, self.dx, self.dy, land)
            if name in _WITH_RELIEF:
                self._relief = hillshade(self.bed, self.dx, self.dy, 0.25)
        self.figure, self.axes, self._image = self._frame()
        self._time = titles(self.axes, fields.title)

    def draw(self, record: int) -> None:
        """Show a record."""
        wet = self.fields.flooded(self.name, record)
        self._image.set_data(self._colours(record, wet))
        self._time.set_text(heading(self.fields, record))
        if self._shore is not None:
            self._shore.remove()
            self._shore = None
        if wet is not None and wet.any() and not wet.all():
            x, y = self.fields.x * self.scale, np.sort(self.fields.y) * self.scale
            self._shore = self.axes.contour(x, y, wet.astype(float), [0.5], colors=SHORE, linewidths=0.7)

    def _colours(self, record: int, wet: np.ndarray | None) -> np.ndarray:
        """Colours of all cells, (ny, nx, 3): ground where it is dry, grey where there is no number."""
        values = self.fields.shown(self.name, record)
        known = np.isfinite(values)
        image = self.colours(self.norm(np.where(known, values, 0.0)))[..., :3]
        if self._relief is not None:
            image = np.clip(image * (0.22 + self._relief)[..., None], 0.0, 1.0)
        image = np.where(known[..., None], image, _NOTHING)
        if wet is None:
            return image
        return np.where(wet[..., None], image, _NOTHING if self._ground is None else self._ground)

    def _frame(self) -> tuple[Figure, Axes, Any]:
        fields = self.fields
        west, east = fields.x[0] - self.dx / 2, fields.x[-1] + self.dx / 2
        south, north = min(fields.y) - self.dy / 2, max(fields.y) + self.dy / 2
        ratio = (north - south) / (east - west)
        equal = 1 / 12 < ratio < 12
        beside = ratio > 0.45
        width, height = _figure_size(ratio if equal else 0.4, beside)
        figure = new_figure(width, height)
        axes = figure.add_subplot()
        self.scale, unit = length_unit(max(east - west, north - south))
        extent = tuple(edge * self.scale for edge in (west, east, south, north))
        image = axes.imshow(
            np.zeros((fields.y.size, fields.x.size, 3)),
            origin="lower",
            extent=extent,  # type: ignore[arg-type]
            aspect="equal" if equal else "auto",
            interpolation="nearest" if max(fields.x.size, fields.y.size) < 400 else None,
        )
        axes.set(xlabel=f"{fields.axes[0]} ({unit})", ylabel=f"{fields.axes[1]} ({unit})")
        axes.ticklabel_format(style="plain", useOffset=False)  # a power of ten would stand in the title
        axes.tick_params(direction="out", length=3)
        axes.ticklabel_format(style="plain", useOffset=False)
        self._bar(figure, axes, beside)
        return figure, axes, image

    def _bar(self, figure: Figure, axes: Axes, beside: bool) -> None:
        """Add the colour bar: of classes one colour each, with their names."""
        from matplotlib.cm import ScalarMappable

        classes = self.fields.classes(self.name)
        bar = figure.colorbar(
            ScalarMappable(self.norm, self.colours),
            ax=axes,
            location="right" if beside else "bottom",
            shrink=0.85 if beside else 0.6,
            pad=0.02,
            aspect=28,
            extend="neither" if classes else "max" if is_one_sided(self.name) else "both",
        )
        if classes:
            bar.set_ticks(list(classes), labels=list(classes.values()))
        inches = figure.get_figheight() if beside else figure.get_figwidth()
        bar.set_label(textwrap.fill(self.fields.label(self.name), int(_LETTERS_AN_INCH * inches)))
        bar.outline.set_linewidth(0.6)  # type: ignore[operator]


def _spacing(points: np.ndarray) -> float:
    return abs(float(points[1] - points[0])) if points.size > 1 else 1.0


def _figure_size(ratio: float, beside: bool) -> tuple[float, float]:
    """Width and height in inches for a map of height / width `ratio`."""
    width = 9.0 if ratio < 1.1 else max(4.2, 8.4 / ratio + 1.6)
    plot_width = width - (1.9 if beside else 0.8)
    return width, min(10.0, plot_width * ratio + (1.1 if beside else 1.9))
