"""Section [boundaries]: a condition per side, or several along a side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import Field, PlainValidator, ValidationInfo, model_validator

from eagre.config.nearest import nearest
from eagre.config.problems import Key, Problems, problem_of
from eagre.config.section import Section, check
from eagre.config.signals import DischargeSignal, LengthSignal, Signal
from eagre.config.toml import literal
from eagre.config.values import Metres
from eagre.errors import InputError
from eagre.series import Series

SIDES = ("west", "east", "south", "north")


class Condition(Section):
    """A boundary condition; its parameters are its keys."""

    kind: str = Field(description="the kind of condition")


class PlainCondition(Condition):
    """A wall, a periodic side or an open outflow."""


class StageCondition(Condition):
    """A given surface elevation."""

    level: LengthSignal = Field(description="surface elevation, metres", examples=[1.5])


class DischargeCondition(Condition):
    """A given flow through the part, positive into the domain."""

    rate: DischargeSignal = Field(description="flow, m3/s, positive into the domain", examples=["0.5 m3/s"])


class AbsorbingCondition(Condition):
    """Waves leave; a given wave may come in."""

    incoming: LengthSignal = Field(
        default=Signal(0.0, "length"), description="surface elevation of the incoming wave above `level`, metres"
    )
    level: Metres = Field(default=0.0, description="still-water level, metres")


CONDITIONS: dict[str, tuple[type[Condition], str]] = {
    "wall": (PlainCondition, "Wall"),
    "periodic": (PlainCondition, "Periodic"),
    "stage": (StageCondition, "Stage"),
    "discharge": (DischargeCondition, "Discharge"),
    "outflow": (PlainCondition, "Outflow"),
    "absorbing": (AbsorbingCondition, "Absorbing"),
}
"""Section and class (in `eagre.boundaries`) of every kind of boundary condition."""


class Place(Section):
    """Where along a side a part lies."""

    from_: Metres = Field(
        alias="from", description="x (south, north) or y (west, east) where the part begins, metres", examples=[100.0]
    )
    to: Metres = Field(description="x or y where the part ends, metres", examples=[160.0])

    @model_validator(mode="after")
    def _in_order(self) -> Place:
        if not self.from_ < self.to:
            raise InputError(f"from = {self.from_:.10g}, to = {self.to:.10g}", allowed="from < to, metres")
        return self


class SidePart(NamedTuple):
    """A condition, and where along the side it holds (None: everywhere)."""

    condition: Condition
    place: Place | None


def _side(value: Any, info: ValidationInfo) -> list[SidePart]:
    """Read a table, or a list of tables with from and to; every wrong one is told."""
    in_list = isinstance(value, list) and len(value) > 0
    parts, problems = [], []
    for index, item in enumerate(value if in_list else [value]):
        key: Key = (index,) if in_list else ()
        try:
            parts.append(_part(item, info, in_list))
        except Problems as error:
            problems += [problem.under(key) for problem in error.problems]
        except InputError as error:
            problems += problem_of(error, key)
    if problems:
        raise Problems(problems)
    return parts


def _part(value: Any, info: ValidationInfo, in_list: bool) -> SidePart:
    """Read one table: the keys of its kind, and from and to."""
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or kind not in CONDITIONS:
        got = "no kind" if kind is None and isinstance(value, Mapping) else literal(value if kind is None else kind)
        near = nearest(str(kind), CONDITIONS) or "wall"
        raise InputError(got, allowed=f"kind = one of {', '.join(CONDITIONS)}", fix=f'kind = "{near}"')
    rest = {name: item for name, item in value.items() if name not in ("from", "to")}
    condition = check(CONDITIONS[kind][0], rest, info.context)
    if not in_list and len(rest) == len(value):
        return SidePart(condition, None)
    if kind == "periodic":
        raise InputError("a periodic part", allowed="periodic for whole, opposite sides", fix='{kind = "periodic"}')
    return SidePart(condition, check(Place, {name: value[name] for name in ("from", "to") if name in value}))


Side = Annotated[list[SidePart], PlainValidator(_side)]


def _wall() -> list[SidePart]:
    return [SidePart(PlainCondition(kind="wall"), None)]


class BoundariesSection(Section):
    """A condition per side; walls where nothing is said."""

    west: Side = Field(default_factory=_wall, description="the condition at the west side")
    east: Side = Field(default_factory=_wall, description="the condition at the east side")
    south: Side = Field(default_factory=_wall, description="the condition at the south side")
    north: Side = Field(default_factory=_wall, description="the condition at the north side")

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

    def make(self, resolve: Callable[[Signal, Key], float | Series]) -> dict[str, Any]:
        """The objects of `eagre.boundaries` that the section describes, by side.

        Parameters
        ----------
        resolve : callable
            Turns a signal and the path of its key into a number or a series.

        Returns
        -------
        dict
            Side to one condition, or to a list of ``Part(start, stop, condition)``.
        """
        from eagre.boundaries import Part

        sides: dict[str, Any] = {}
        for side in SIDES:
            parts: list[SidePart] = getattr(self, side)
            made = []
            for index, (condition, place) in enumerate(parts):
                made.append(_make(condition, resolve, ("boundaries", side, *((index,) if place else ()))))
            if parts[0].place is None:
                sides[side] = made[0]
            else:
                sides[side] = [
                    Part(part.place.from_, part.place.to, condition)
                    for part, condition in zip(parts, made, strict=True)
                    if part.place
                ]
        return sides


def _make(condition: Condition, resolve: Callable[[Signal, Key], float | Series], key: Key) -> Any:
    """The object of `eagre.boundaries` that one condition describes."""
    from eagre import boundaries

    values: dict[str, Any] = {}
    for name in type(condition).model_fields:
        value = getattr(condition, name)
        if name != "kind":
            values[name] = resolve(value, (*key, name)) if isinstance(value, Signal) else value
    return getattr(boundaries, CONDITIONS[condition.kind][1])(**values)
