"""Section [boundaries]: one condition per side, or several segments along a side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, get_args

import numpy as np
from pydantic import PlainValidator, ValidationInfo, create_model, model_validator

from eagre import boundaries
from eagre.boundaries.base import keys_of
from eagre.config.problems import Key, read_each
from eagre.config.section import Section, case_key, check, kind_of
from eagre.config.toml import literal
from eagre.config.values.signals import Signal, signal
from eagre.config.values.types import Metres, VectorFile, key_of, quantity
from eagre.config.values.units import parse_quantity
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.time_varying.series import Series

SIDES = ("west", "east", "south", "north")


class Condition(Section):
    """Boundary condition; its parameters are the keys."""

    kind: str = case_key("the kind of condition")


def _section_of(kind: type[boundaries.Condition]) -> type[Condition]:
    """Create the section of a condition from the arguments of its class (`eagre.boundaries.base.Key`)."""
    keys: dict[str, Any] = {}
    for name, (hint, key) in keys_of(kind).items():
        in_time = Series in get_args(hint)
        default = getattr(kind, name, ...)
        if in_time and default is not ...:
            default = Signal(default, key.dimension)
        reader: Any = Annotated[float, quantity(key.dimension)]
        if in_time:
            reader = Annotated[Signal, signal(key.dimension)]
        elif default is None:
            reader = reader | None
        keys[name] = (reader, case_key(key.what, key.example, default=default))
    return create_model(f"{kind.__name__}Condition", __base__=Condition, __doc__=kind.__doc__, **keys)


CONDITIONS: dict[str, tuple[type[Condition], str]] = {
    module: (_section_of(getattr(boundaries, name)), name) for name, module in boundaries.NAMES.items()
}
"""Section and class (in `eagre.boundaries`) of every kind of boundary condition."""


ELSEWHERE = {
    **dict.fromkeys(("open", "radiation", "radiating", "flather", "riemann", "characteristic"), "absorbing"),
    **dict.fromkeys(("free", "transmissive", "extrapolation", "neumann", "zero_gradient", "critical"), "outflow"),
    **dict.fromkeys(("closed", "reflective", "reflecting", "reflection", "solid", "slip", "land"), "wall"),
    **dict.fromkeys(("tide", "level", "elevation", "water_level", "waterlevel", "surface_elevation", "head"), "stage"),
    **dict.fromkeys(("flow", "flux", "river", "hydrograph", "source"), "discharge"),
    **dict.fromkeys(("normal", "uniform", "slope", "manning"), "normal_depth"),
}
"""Names of boundary conditions in other programs, with the corresponding kind."""


class Place(Section):
    """Extent of a segment along a side."""

    from_: Metres = case_key("start of the segment: x (south, north) or y (west, east), metres", 100.0, alias="from")
    to: Metres = case_key("end of the segment: x or y, metres", 160.0)

    @model_validator(mode="after")
    def _in_order(self) -> Place:
        if not self.from_ < self.to:
            raise InputError(f"from = {self.from_:.10g}, to = {self.to:.10g}", allowed="from < to, metres")
        return self


class SidePart(NamedTuple):
    """Condition and its extent along the side (None: the whole side)."""

    condition: Condition
    place: Place | None


def _side(value: Any, info: ValidationInfo) -> list[SidePart]:
    """Read a table, or a list of tables with from and to; report every invalid table."""
    if isinstance(value, list) and value:
        return read_each(enumerate(value), lambda _, item: _part(item, info, in_list=True))
    return [_part(value, info, in_list=False)]


def _kind_of(value: Any) -> str:
    """Return the kind of a table, or raise `InputError`."""
    return kind_of(value, CONDITIONS, "wall", "A boundary condition is a table with a known kind.", ELSEWHERE)


def _part(value: Any, info: ValidationInfo, in_list: bool) -> SidePart:
    """Read one table: the keys of its kind, `from` and `to`."""
    kind = _kind_of(value)
    parameters = {name: item for name, item in value.items() if name not in ("from", "to")}
    condition = check(CONDITIONS[kind][0], parameters, info.context)
    if not in_list and len(parameters) == len(value):
        return SidePart(condition, None)
    if kind == "periodic":
        raise InputError(
            "a periodic segment", allowed="periodic on two whole opposite sides", fix='{kind = "periodic"}'
        )
    return SidePart(condition, check(Place, {name: value[name] for name in ("from", "to") if name in value}))


def _polygon(value: Any, info: ValidationInfo) -> list[list[float]]:
    """Read pairs of numbers in metres, or of strings with a unit."""
    pairs = isinstance(value, list) and value and all(isinstance(one, list) and len(one) == 2 for one in value)
    if not pairs:
        key = key_of(info)
        fix = f"{key} = [[100.0, 0.0], [100.0, 250.0]]"
        raise InputError(f"{key} = {literal(value)}", allowed="a list of [x, y], metres", fix=fix)
    return [[parse_quantity(number, "length", key_of(info)) for number in one] for one in value]


Polygon = Annotated[list[list[float]], PlainValidator(_polygon)]


class InsidePlace(Section):
    """Location of a condition inside the domain."""

    points: Polygon | None = case_key(
        "vertices [x, y] of a line, metres; one vertex is a point", [[100.0, 0.0], [100.0, 250.0]], default=None
    )
    area: Polygon | None = case_key(
        "alternative to points: vertices [x, y] of a polygon, metres",
        [[0.0, 0.0], [80.0, 0.0], [80.0, 60.0]],
        default=None,
    )
    file: VectorFile | None = case_key(
        "alternative to points: vector file (.geojson, or .gpkg, .shp, .fgb: eagre[vector])",
        "walls.geojson",
        default=None,
    )
    layer: str | None = case_key("layer of a file with several layers", default=None)
    name: str = case_key("name in the water balance", "spillway", default="")

    @model_validator(mode="after")
    def _one_of_three(self) -> InsidePlace:
        specified = [name for name in ("points", "area", "file") if getattr(self, name) is not None]
        if len(specified) != 1:
            got = " and ".join(specified) or "no points, no area and no file"
            raise InputError(got, allowed="one of points, area, file", fix="points = [[100.0, 0.0], [100.0, 250.0]]")
        return self

    def lines(self, condition: Any, grid: Grid) -> list[boundaries.InternalLine]:
        """Return the lines and areas of a condition inside the domain.

        Raises
        ------
        InputError
            If a file cannot be read, or a polygon of a discharge has holes.
        """
        if self.file is None:
            line = boundaries.InternalLine if self.area is None else boundaries.InternalArea
            return [line(self.points or self.area or [], condition, self.name)]
        from eagre.io.vectors import read_features

        geometries = [
            (feature.name, kind, coordinates)
            for feature in read_features(self.file, grid, ("Point", "LineString", "Polygon"), self.layer)
            for kind, coordinates in feature.simple_geometries()
        ]
        lines: list[boundaries.InternalLine] = []
        for name, kind, coordinates in geometries:
            known = {one.name for one in lines}
            name = f"{self.name} {name}".strip()
            name = name if name not in known else f"{name} ({len(lines) + 1})"
            lines += _lines_of(f"{self.file}: {name}", name, kind, coordinates, condition)
        return lines


def _lines_of(where: str, name: str, kind: str, coordinates: Any, condition: Any) -> list[boundaries.InternalLine]:
    """Return the lines of a part of a feature: for polygons the outline and one line per hole (walls only)."""
    if kind != "Polygon":
        points = np.array([coordinates] if kind == "Point" else coordinates, np.float64)[:, :2]
        return [boundaries.InternalLine(points.tolist(), condition, name)]
    if len(coordinates) > 1 and not condition.closed:
        raise InputError(f"{where}, a polygon with holes", allowed="polygons without holes for discharges")
    outlines = [np.array(outline, np.float64)[:-1, :2].tolist() for outline in coordinates]
    names = [name, *(f"{name}, hole {k}" for k in range(1, len(outlines)))]
    return [
        boundaries.InternalArea(outline, condition, line_name)
        for outline, line_name in zip(outlines, names, strict=True)
    ]


class InsidePart(NamedTuple):
    """Condition and its location inside the domain."""

    condition: Condition
    place: InsidePlace


def _inside(value: Any, info: ValidationInfo) -> list[InsidePart]:
    """Read a list of tables; report every invalid table."""
    if not isinstance(value, list):
        raise InputError(literal(value), allowed="tables [[boundaries.internal]], with double brackets")

    def one(_: Any, item: Any) -> InsidePart:
        section = CONDITIONS[_kind_of(item)][0]
        parameters = {key: value for key, value in item.items() if key in section.keys()}
        location = {key: value for key, value in item.items() if key not in parameters}
        return InsidePart(check(section, parameters, info.context), check(InsidePlace, location, info.context))

    return read_each(enumerate(value), one)


Inside = Annotated[list[InsidePart], PlainValidator(_inside)]
Side = Annotated[list[SidePart], PlainValidator(_side)]


def _wall() -> list[SidePart]:
    return [SidePart(CONDITIONS["wall"][0](kind="wall"), None)]


class BoundariesSection(Section):
    """Boundary condition of each side; the default is a wall."""

    west: Side = case_key("condition at the west side", default_factory=_wall)
    east: Side = case_key("condition at the east side", default_factory=_wall)
    south: Side = case_key("condition at the south side", default_factory=_wall)
    north: Side = case_key("condition at the north side", default_factory=_wall)

    internal: Inside = case_key("conditions along lines and in areas inside the domain", default_factory=list)

    @model_validator(mode="after")
    def _periodic_in_pairs(self) -> BoundariesSection:
        for one, other in (("west", "east"), ("south", "north")):
            kinds = [getattr(self, name)[0].condition.kind for name in (one, other)]
            if kinds.count("periodic") == 1:
                raise InputError(
                    f"{one} {kinds[0]} and {other} {kinds[1]}",
                    allowed="periodic on both of two opposite sides",
                    fix=f'{one} = {{kind = "periodic"}} and {other} = {{kind = "periodic"}}',
                )
        return self

    def make(
        self,
        resolve: Callable[[Signal, Key], float | Series],
        lay: Callable[[InsidePlace, Any, Key], list[boundaries.InternalLine]],
    ) -> dict[str, Any]:
        """Create the objects of `eagre.boundaries` of the section, by side.

        Parameters
        ----------
        resolve : callable
            Converts a signal and the path of its key to a number or a series.
        lay : callable
            Returns the lines of a location, a condition and the path of its key: `InsidePlace.lines` on a grid.

        Returns
        -------
        dict
            Side to one condition, or to a list of ``BoundarySegment(start, stop, condition)``; "internal" to lines and
            areas.
        """
        sides: dict[str, Any] = {}
        for side in SIDES:
            segments: list[SidePart] = getattr(self, side)
            conditions = []
            for index, (condition, section) in enumerate(segments):
                conditions.append(_make(condition, resolve, ("boundaries", side, *((index,) if section else ()))))
            if segments[0].place is None:
                sides[side] = conditions[0]
            else:
                sides[side] = [
                    boundaries.BoundarySegment(segment.place.from_, segment.place.to, condition)
                    for segment, condition in zip(segments, conditions, strict=True)
                    if segment.place
                ]
        for index, (condition, section) in enumerate(self.internal):
            key = ("boundaries", "internal", index)
            sides.setdefault("internal", []).extend(lay(section, _make(condition, resolve, key), key))
        return sides


def _make(condition: Condition, resolve: Callable[[Signal, Key], float | Series], key: Key) -> Any:
    """Create the object of `eagre.boundaries` of one condition."""
    values: dict[str, Any] = {}
    for name in type(condition).model_fields:
        value = getattr(condition, name)
        if name != "kind":
            values[name] = resolve(value, (*key, name)) if isinstance(value, Signal) else value
    return getattr(boundaries, CONDITIONS[condition.kind][1])(**values)
