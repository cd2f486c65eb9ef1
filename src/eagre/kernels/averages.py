"""Means, variances, covariances and extremes over time that a run gathers step by step.

To take a state up is to add it to the sums. It counts for the time since the one that was taken up before it. So it may
be taken up any number of times: the second time it weighs nothing, nor changes an extreme, and a step that is refused
and made again needs no care. Sums are kept in double precision in either precision of a run: of millions of steps each
changes a mean by a millionth of its deviation.

D. H. D. West, Updating mean and variance estimates: an improved method, Commun. ACM 22, 532-535 (1979),
doi:10.1145/359146.359153; products of two variables likewise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import Cell, cell, written
from eagre.kernels.roots import root

SINCE, LAST, TOTAL, WEIGHT, SHARE, EVERY, COUNT, SEEN, NUMBERS = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Places in the array `numbers`, whose times are in s: averages begin at SINCE; LAST is the time of the last state that
counted; TOTAL is the sum of all weights, s; WEIGHT is that of the present state, s, and SHARE its part of TOTAL; every
EVERY-th state counts, and COUNT have come since the last that did; SEEN is the time of the last one, counted or not."""

UNSET = 1e300  # stands for a smallest value or a time that is not there yet, -UNSET for a largest value


class Quantities(NamedTuple):
    """What a model can average: cells ``quantity(j, i, fields..)`` by the names of its variables."""

    fields: str  # the arguments' names: "psi, q"
    cells: Mapping[str, Cell]
    place: str = "j, i"  # or "k, j, i"


class Water(NamedTuple):
    """The water of a place: m; unit discharge, m2 s-1; m s-1."""

    surface_elevation: Any
    depth: Any
    discharge_x: Any
    discharge_y: Any
    velocity_x: Any
    velocity_y: Any


@cell
def size(u, v):
    """Length of a vector."""
    return root(u * u + v * v)


def quantity(fields: str, formula: str, place: str = "j, i", **parts: Any) -> Cell:
    """The cell ``quantity(j, i, fields..)`` of a formula; in it ``NAME()`` is the quantity of a cell of `parts`."""
    text = formula.replace("()", f"({place}, {fields})")
    return written(f"def quantity({place}, {fields}):\n    return {text}\n", parts)


def speed_of(fields: str, velocity_x: Cell, velocity_y: Cell, place: str = "j, i") -> Cell:
    """The speed of two velocities."""
    return quantity(fields, "size(x(), y())", place, size=size, x=velocity_x, y=velocity_y)


def quantities_of_water(fields: str, water: Cell) -> Quantities:
    """All of `Water` and the speed, where `water` finds the former: ``water(j, i, fields..)``."""
    cells = {name: quantity(fields, f"water().{name}", water=water) for name in Water._fields}
    return Quantities(fields, cells | {"speed": speed_of(fields, cells["velocity_x"], cells["velocity_y"])})


@cell
def weigh_after(numbers, now, steps):
    """Weigh the state of the time `now`, s, which is `steps` steps after the one before; see `weigh`."""
    weight = 0.0
    if now > numbers[SEEN]:
        numbers[SEEN] = now
        numbers[COUNT] += steps
        if numbers[COUNT] >= numbers[EVERY]:
            weight = max(0.0, now - max(numbers[LAST], numbers[SINCE]))
            numbers[LAST] = now
            numbers[COUNT] = 0.0
    numbers[TOTAL] += weight
    numbers[WEIGHT] = weight
    numbers[SHARE] = 0.0
    if weight > 0.0:
        numbers[SHARE] = weight / numbers[TOTAL]


@cell
def weigh(numbers, now):
    """Weigh the state of the time `now`, s; that of a time before SINCE, or not the EVERY-th, weighs nothing."""
    weigh_after(numbers, now, 1.0)


@cell
def weigh_moment(i, numbers, moment):
    """Weigh the state of the time moment[0], s, to which moment[1] steps led."""
    weigh_after(numbers, moment[0], moment[1])


class Planes(NamedTuple):
    """What is kept of each place, in this order; all are names of quantities.

    names : means. pairs : weighted sums of products of deviations, the same name twice for a variance. largest,
    smallest : values. timed : times of the largest value, s, of some of `largest`.
    """

    names: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    largest: tuple[str, ...] = ()
    smallest: tuple[str, ...] = ()
    timed: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of planes."""
        return sum(map(len, self))

    @property
    def sums(self) -> int:
        """Number of planes that are means or products."""
        return len(self.names) + len(self.pairs)

    @property
    def extremes(self) -> tuple[str, ...]:
        """Quantities of which extremes are kept."""
        return tuple(dict.fromkeys((*self.largest, *self.smallest)))

    @property
    def quantities(self) -> tuple[str, ...]:
        """Quantities that have to be computed at each place."""
        return tuple(dict.fromkeys((*self.names, *self.extremes)))

    def start(self) -> list[float]:
        """What each plane begins with."""
        later = [-UNSET] * len(self.largest) + [UNSET] * (len(self.smallest) + len(self.timed))
        return [0.0] * self.sums + later


def averaged(quantities: Quantities, planes: Planes) -> Cell:
    """The cell that takes a state up: ``averaged(j, i, fields.., sums, numbers)``.

    Notes
    -----
    sums : (planes, ny, nx), float64. Extremes are of all states from SINCE on, whatever their weight.
    """
    place, names, extremes = quantities.place, planes.names, planes.extremes
    call = f"({place}, {quantities.fields})"
    lines = [f"def averaged({place}, {quantities.fields}, sums, numbers):"]
    wanted = planes.quantities
    values = [f"        value_{n} = np.float64(of_{name}{call})" for n, name in enumerate(wanted)]
    if extremes:
        lines += ["    if numbers[SEEN] >= numbers[SINCE]:", *values, *_extremes(place, planes, wanted), ""]
        lines += ["        weight = numbers[WEIGHT]", *_means(place, planes, "        ")] if names else []
    else:
        lines += ["    weight = numbers[WEIGHT]", *_means(place, planes, "    ", values)]
    scope = {"np": np, "WEIGHT": WEIGHT, "SHARE": SHARE, "SEEN": SEEN, "SINCE": SINCE}
    scope |= {f"of_{name}": quantities.cells[name] for name in wanted}
    return written("\n".join(lines) + "\n", scope)


def _means(place: str, planes: Planes, indent: str, values: Sequence[str] = ()) -> list[str]:
    """Lines that take values up in means and products."""
    lines = [f"{indent}if weight > 0.0:", *values, f"{indent}    share = numbers[SHARE]"]
    for n in range(len(planes.names)):
        lines += [
            f"{indent}    off_{n} = value_{n} - sums[{n}, {place}]",
            f"{indent}    mean_{n} = sums[{n}, {place}] + share * off_{n}",
            f"{indent}    sums[{n}, {place}] = mean_{n}",
        ]
    for k, (one, other) in enumerate(planes.pairs, len(planes.names)):
        a, b = planes.names.index(one), planes.names.index(other)
        lines.append(f"{indent}    sums[{k}, {place}] += weight * off_{a} * (value_{b} - mean_{b})")
    return lines


def _extremes(place: str, planes: Planes, wanted: Sequence[str]) -> list[str]:
    """Lines that take values up in extremes and their times."""
    lines, first = [], planes.sums
    times = first + len(planes.largest) + len(planes.smallest)
    for k, name in enumerate((*planes.largest, *planes.smallest), first):
        n, sign = wanted.index(name), ">" if k < first + len(planes.largest) else "<"
        lines += [
            f"        if value_{n} {sign} sums[{k}, {place}]:",
            f"            sums[{k}, {place}] = value_{n}",
        ]
        if sign == ">" and name in planes.timed:
            lines.append(f"            sums[{times + planes.timed.index(name)}, {place}] = numbers[SEEN]")
    return lines
