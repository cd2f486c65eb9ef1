"""Generic halo fill for 2-D and 3-D fields: periodic, even, odd or prescribed value at the face, per side.

A halo element beyond a side follows from the interior element that it repeats or mirrors::

    periodic   q(-1 - m) = q(n - 1 - m)             opposite end of the axis
    even       q(-1 - m) = q(m)                     zero gradient across the face
    odd        q(-1 - m) = -q(m)                    zero value at the face
    value      q(-1 - m) = 2 v - q(m)               value v at the face, second order

These rules hold at centres, where the face is half a spacing outside. Points on the side itself (faces across the axis,
corners) are mirrored about the outermost point, q(-1 - m) = q(1 + m). Beyond several sides the rules are applied along
x, then y, then z. All halo elements depend on interior elements only: one launch fills all sides of several fields in
any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.backend.device import Device, Launch
from eagre.errors import InputError
from eagre.fields import STAGGERED, Layout, points_at

NONE, PERIODIC, EVEN, ODD, VALUE = range(5)
KINDS = {"none": NONE, "periodic": PERIODIC, "even": EVEN, "odd": ODD, "value": VALUE}
SIDES_OF_AXIS = {-1: ("west", "east"), -2: ("south", "north"), -3: ("bottom", "top")}
FIELDS_AT_ONCE = 4
FIELDS = switch("FIELDS", FIELDS_AT_ONCE)  # number of fields in use


@dataclass(frozen=True)
class Side:
    """Halo rule of a side: one of `KINDS`, and the value at the face for the kind "value"."""

    kind: str = "even"
    value: float = 0.0


class Arrays(NamedTuple):
    """FIELDS_AT_ONCE three-dimensional fields with halos."""

    field_0: Any
    field_1: Any
    field_2: Any
    field_3: Any


class Rules(NamedTuple):
    """Halo rules by field (first index), axis z, y, x (second index) and low or high side (third index)."""

    kind: Any  # (fields, 3, 2)
    value: Any  # (fields, 3, 2), in the precision of the fields
    first: Any  # (fields, 3): index of the first point of a field in its array
    points: Any  # (fields, 3): number of points
    on_side: Any  # (fields, 3): 1 if the outermost points are on the sides


@cell
def inside_of(rules, f, axis, position):
    """Return the interior index that element `position` of an axis depends on, and the side: 0 low, 1 high, 2 none.

    The interior index is relative to the first point.
    """
    n = rules.points[f, axis]
    m = position - rules.first[f, axis]
    if m >= 0 and m < n:
        return m, 2
    side = 0 if m < 0 else 1
    kind = rules.kind[f, axis, side]
    if kind == PERIODIC:
        return m + n if m < 0 else m - n, side
    if kind == NONE:
        return m, side
    edge = rules.on_side[f, axis]
    return (edge - 1 - m) if m < 0 else (2 * n - 1 - edge - m), side


@cell
def beyond(rules, f, axis, side, value):
    """Return the value of a halo element from an interior value, beyond a side of an axis; side 2 means no side."""
    if side == 2:
        return value
    kind = rules.kind[f, axis, side]
    if kind == ODD:
        return -value
    if kind == VALUE:
        return real(2.0) * rules.value[f, axis, side] - value
    return value


@cell
def fill_one(field, rules, f, k, j, i):
    """Fill element (k, j, i) of field f if it is a halo element and the sides have rules."""
    if k < field.shape[0] and j < field.shape[1] and i < field.shape[2]:
        up, side_z = inside_of(rules, f, 0, k)
        row, side_y = inside_of(rules, f, 1, j)
        column, side_x = inside_of(rules, f, 2, i)
        ruled = side_z < 2 or side_y < 2 or side_x < 2
        ruled = ruled and (side_z == 2 or rules.kind[f, 0, side_z] != NONE)
        ruled = ruled and (side_y == 2 or rules.kind[f, 1, side_y] != NONE)
        ruled = ruled and (side_x == 2 or rules.kind[f, 2, side_x] != NONE)
        if ruled:
            value = field[rules.first[f, 0] + up, rules.first[f, 1] + row, rules.first[f, 2] + column]
            value = beyond(rules, f, 2, side_x, value)
            value = beyond(rules, f, 1, side_y, value)
            field[k, j, i] = beyond(rules, f, 0, side_z, value)


@cell
def fill_halo(i, arrays, rules, slabs):
    """Fill element i of the slabs that contain all halo elements.

    slabs : (slabs, 7), first element and size along z, y and x, and the number of elements of the previous slabs.
    """
    s = 0
    while s + 1 < slabs.shape[0] and slabs[s + 1, 6] <= i:
        s += 1
    m = np.int64(i) - slabs[s, 6]
    x = slabs[s, 2] + m % slabs[s, 5]
    m = m // slabs[s, 5]
    y = slabs[s, 1] + m % slabs[s, 4]
    z = slabs[s, 0] + m // slabs[s, 4]
    fill_one(arrays.field_0, rules, 0, z, y, x)
    if FIELDS > 1:
        fill_one(arrays.field_1, rules, 1, z, y, x)
    if FIELDS > 2:
        fill_one(arrays.field_2, rules, 2, z, y, x)
    if FIELDS > 3:
        fill_one(arrays.field_3, rules, 3, z, y, x)


class HaloField(NamedTuple):
    """Field with a halo: location and rules by side. Halo elements beyond a side without a rule stay unchanged."""

    location: str
    sides: Mapping[str, Side]


class HaloFill:
    """Halo fill of fields with a common layout.

    Parameters
    ----------
    layout : Layout
        Layout with the halo widths `before` and `after`. A field at faces has one halo element less after its last
        point.
    fields : sequence of HaloField
        Up to FIELDS_AT_ONCE fields, filled by one launch.
    device : Device
    precision : {"single", "double"}

    Attributes
    ----------
    rules : Rules
        `rules.value` is stored on the device: a run can change the values at faces.

    Raises
    ------
    InputError
        For an unknown rule, a periodic side with a non-periodic opposite side, or a halo wider than the field.
    """

    def __init__(self, layout: Layout, fields: Sequence[HaloField], device: Device, precision: str) -> None:
        if not 1 <= len(fields) <= FIELDS_AT_ONCE:
            raise InputError(
                f"{len(fields)} fields", allowed=f"1 to {FIELDS_AT_ONCE} fields",
                problem="The number of fields of a halo fill is not supported.",
            )  # fmt: skip
        self.layout, self.device, self.precision = layout, device, precision
        self._count = len(fields)
        shape, axes = (1,) * (3 - len(layout.cells)) + layout.shape, range(-3, 0)
        first = np.array([[*(0,) * (3 - len(layout.cells)), *layout.leading]] * len(fields))
        points = np.ones((len(fields), 3), np.int64)
        points[:, 3 - len(layout.cells) :] = [points_at(field.location, layout.cells) for field in fields]
        kind, value = np.zeros((len(fields), 3, 2), np.int64), np.zeros((len(fields), 3, 2))
        for f, field in enumerate(fields):
            _check(field, layout, dict(zip(axes, points[f], strict=True)))
            for axis, low in product(axes, range(2)):
                side = field.sides.get(SIDES_OF_AXIS[axis][low], Side("none"))
                kind[f, axis, low], value[f, axis, low] = KINDS[side.kind], side.value
        on_side = np.array([[axis in STAGGERED[field.location] for axis in axes] for field in fields], np.int64)
        on_side[kind[..., 0] == PERIODIC] = 0
        real_type = np.dtype("float32" if precision == "single" else "float64")
        arrays = (kind, value.astype(real_type), first.astype(np.int64), points, on_side)
        self.rules = Rules(*(device.array(array) for array in arrays))
        slabs = _slabs(shape, first, points)
        self._slabs = device.array(slabs)
        self._elements = int(slabs[-1, 6] + slabs[-1, 3:6].prod())
        self._program = device.loop(fill_halo, precision, {"FIELDS": len(fields)})

    def launches(self, *fields: Any) -> list[Launch]:
        """Return the launches that fill the halos of these arrays, in the order of the declared fields."""
        if len(fields) != self._count:
            raise InputError(
                f"{len(fields)} arrays", allowed=f"{self._count} arrays",
                problem="The number of arrays differs from the number of fields of the halo fill.",
            )  # fmt: skip
        views = [field[(None,) * (3 - field.ndim)] for field in fields]
        arrays = Arrays(*views, *[views[-1]] * (FIELDS_AT_ONCE - len(views)))
        return [self.device.over(self._program, (self._elements,), (arrays, self.rules, self._slabs))]


def _check(field: HaloField, layout: Layout, points: Mapping[int, int]) -> None:
    """Raise `InputError` for invalid rules."""
    known = [side for axis in range(-len(layout.cells), 0) for side in SIDES_OF_AXIS[axis]]
    for name, side in field.sides.items():
        if name not in known:
            raise InputError(f"side {name!r}", allowed=", ".join(known), problem="The field has no such side.")
        if side.kind not in KINDS:
            raise InputError(
                f"{side.kind!r} on the {name} side", allowed=", ".join(KINDS), problem="The halo rule is unknown."
            )
    width_after = layout.trailing or layout.leading
    for axis in range(-len(layout.cells), 0):
        pair = [field.sides.get(name, Side("none")).kind for name in SIDES_OF_AXIS[axis]]
        if pair.count("periodic") == 1:
            names = " and ".join(SIDES_OF_AXIS[axis])
            raise InputError(
                f"one periodic side of {names}", allowed="both periodic, or neither",
                problem="A periodic side needs a periodic opposite side.",
            )  # fmt: skip
        extra = points[axis] - layout.cells[axis]
        if extra and pair[0] == "periodic":
            raise InputError(
                f"a field at {field.location} on a periodic axis", allowed="a location without points on both sides",
                problem="Fields with points on both sides of a periodic axis are not supported.",
            )  # fmt: skip
        widest = max(layout.leading[axis], width_after[axis] - extra)
        if pair != ["none"] * 2 and widest > points[axis] - (axis in STAGGERED[field.location]):
            raise InputError(
                f"a halo of {widest} around {points[axis]} points", allowed="at most as wide as the field",
                problem="The halo is wider than the field.",
            )  # fmt: skip


def _slabs(shape: Sequence[int], first: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return disjoint boxes with all array elements except those in the interior of every field."""
    low, high = first.max(axis=0), (first + points).min(axis=0)
    inner = [(0, int(n)) for n in shape]
    boxes, offset = [], 0
    for axis in range(3):
        for start, stop in ((0, int(low[axis])), (int(high[axis]), int(shape[axis]))):
            box = [*inner]
            box[axis] = (start, stop)
            sizes = [b - a for a, b in box]
            if min(sizes) > 0:
                boxes.append([*(a for a, _ in box), *sizes, offset])
                offset += int(np.prod(sizes))
        inner[axis] = (int(low[axis]), int(high[axis]))
    if not boxes:
        raise InputError(
            "a halo width of 0 on all sides", allowed="before and after of 1 or more", problem="The layout has no halo."
        )
    return np.array(boxes, np.int64)
