"""Kernel formulas of time statistics: means, variances, covariances and extrema, updated at every step.

Accumulating a state adds it to the sums with a weight equal to the time since the previous accumulated state. A state
can be accumulated repeatedly: the second time its weight is 0 and no extremum changes, so rejected and repeated steps
need no special treatment. Sums use double precision in all runs: each of millions of steps changes a mean by a
millionth of its deviation.

D. H. D. West, Updating mean and variance estimates: an improved method, Commun. ACM 22, 532-535 (1979),
doi:10.1145/359146.359153; extended to products of two variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import Cell, cell, written
from eagre.kernels.roots import root

SINCE, LAST, TOTAL, WEIGHT, FRACTION, EVERY, COUNT, SEEN, NUMBERS = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Indices of the array `numbers`; times in s. SINCE: start. LAST: time of the last counted state. TOTAL: sum
of all weights, s. WEIGHT: weight of the current state, s, and FRACTION its fraction of TOTAL. EVERY: number of states
per counted state, and COUNT those since the last counted one. SEEN: time of the last state, counted or not.
"""

UNSET = 1e300  # initial value of minima and times; -UNSET for maxima


class Quantities(NamedTuple):
    """Quantities that a model can average: kernel functions ``quantity(j, i, fields..)`` by variable name."""

    fields: str  # names of the arguments: "psi, q"
    cells: Mapping[str, Cell]
    indices: str = "j, i"  # or "k, j, i"


class Water(NamedTuple):
    """State of the water at a point: depth, m; unit discharge, m2 s-1; velocity, m s-1."""

    surface_elevation: Any
    depth: Any
    discharge_x: Any
    discharge_y: Any
    velocity_x: Any
    velocity_y: Any


@cell
def size(u, v):
    """Return the length of a vector."""
    return root(u * u + v * v)


def quantity(fields: str, formula: str, indices: str = "j, i", **quantities: Any) -> Cell:
    """Return the kernel function ``quantity(j, i, fields..)`` of a formula; ``NAME()`` calls `quantities`."""
    text = formula.replace("()", f"({indices}, {fields})")
    return written(f"def quantity({indices}, {fields}):\n    return {text}\n", quantities)


def speed_of(fields: str, velocity_x: Cell, velocity_y: Cell, indices: str = "j, i") -> Cell:
    """Return the kernel function of the speed for two velocity components."""
    return quantity(fields, "size(x(), y())", indices, size=size, x=velocity_x, y=velocity_y)


def quantities_of_water(fields: str, water: Cell) -> Quantities:
    """Return the quantities of `Water` and the speed; ``water(j, i, fields..)`` computes the state of the water."""
    cells = {name: quantity(fields, f"water().{name}", water=water) for name in Water._fields}
    return Quantities(fields, cells | {"speed": speed_of(fields, cells["velocity_x"], cells["velocity_y"])})


@cell
def weigh_after(numbers, time, steps):
    """Set the weight of the state at time `time`, s, `steps` steps after the previous one; see `weigh`."""
    weight = 0.0
    if time > numbers[SEEN]:
        numbers[SEEN] = time
        numbers[COUNT] += steps
        if numbers[COUNT] >= numbers[EVERY]:
            weight = max(0.0, time - max(numbers[LAST], numbers[SINCE]))
            numbers[LAST] = time
            numbers[COUNT] = 0.0
    numbers[TOTAL] += weight
    numbers[WEIGHT] = weight
    numbers[FRACTION] = 0.0
    if weight > 0.0:
        numbers[FRACTION] = weight / numbers[TOTAL]


@cell
def weigh(numbers, time):
    """Set the weight of the state at time `time`, s; it is 0 before SINCE and for states that are not counted."""
    weigh_after(numbers, time, 1.0)


@cell
def weigh_moment(i, numbers, moment):
    """Set the weight of the state at time moment[0], s, moment[1] steps after the previous one."""
    weigh_after(numbers, moment[0], moment[1])


class Planes(NamedTuple):
    """Accumulated arrays, in this order; all are names of quantities.

    names : means. pairs : weighted sums of products of deviations, the same name twice for a variance. maxima,
    minima : extrema. timed : times of the maximum, s, for some of `maxima`.
    """

    names: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    maxima: tuple[str, ...] = ()
    minima: tuple[str, ...] = ()
    timed: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of arrays."""
        return sum(map(len, self))

    @property
    def sums(self) -> int:
        """Number of arrays of means and products."""
        return len(self.names) + len(self.pairs)

    @property
    def extremes(self) -> tuple[str, ...]:
        """Quantities with extrema."""
        return tuple(dict.fromkeys((*self.maxima, *self.minima)))

    @property
    def quantities(self) -> tuple[str, ...]:
        """Quantities that must be computed at each point."""
        return tuple(dict.fromkeys((*self.names, *self.extremes)))

    def start(self) -> list[float]:
        """Return the initial value of each array."""
        later = [-UNSET] * len(self.maxima) + [UNSET] * (len(self.minima) + len(self.timed))
        return [0.0] * self.sums + later


def averaged(quantities: Quantities, planes: Planes) -> Cell:
    """Return the kernel function that accumulates a state: ``averaged(j, i, fields.., sums, numbers)``.

    Notes
    -----
    sums : (planes, ny, nx), float64. Extrema include all states from SINCE on, independent of their weight.
    """
    indices, names, extremes = quantities.indices, planes.names, planes.extremes
    call = f"({indices}, {quantities.fields})"
    lines = [f"def averaged({indices}, {quantities.fields}, sums, numbers):"]
    computed = planes.quantities
    values = [f"        value_{n} = np.float64(of_{name}{call})" for n, name in enumerate(computed)]
    if extremes:
        lines += ["    if numbers[SEEN] >= numbers[SINCE]:", *values, *_extremes(indices, planes, computed), ""]
        lines += ["        weight = numbers[WEIGHT]", *_means(indices, planes, "        ")] if names else []
    else:
        lines += ["    weight = numbers[WEIGHT]", *_means(indices, planes, "    ", values)]
    scope = {"np": np, "WEIGHT": WEIGHT, "FRACTION": FRACTION, "SEEN": SEEN, "SINCE": SINCE}
    scope |= {f"of_{name}": quantities.cells[name] for name in computed}
    return written("\n".join(lines) + "\n", scope)


def _means(indices: str, planes: Planes, indent: str, values: Sequence[str] = ()) -> list[str]:
    """Return source lines that accumulate means and products."""
    lines = [f"{indent}if weight > 0.0:", *values, f"{indent}    fraction = numbers[FRACTION]"]
    for n in range(len(planes.names)):
        lines += [
            f"{indent}    off_{n} = value_{n} - sums[{n}, {indices}]",
            f"{indent}    mean_{n} = sums[{n}, {indices}] + fraction * off_{n}",
            f"{indent}    sums[{n}, {indices}] = mean_{n}",
        ]
    for k, (one, other) in enumerate(planes.pairs, len(planes.names)):
        a, b = planes.names.index(one), planes.names.index(other)
        lines.append(f"{indent}    sums[{k}, {indices}] += weight * off_{a} * (value_{b} - mean_{b})")
    return lines


def _extremes(indices: str, planes: Planes, computed: Sequence[str]) -> list[str]:
    """Return source lines that update extrema and their times."""
    lines, first = [], planes.sums
    times = first + len(planes.maxima) + len(planes.minima)
    for k, name in enumerate((*planes.maxima, *planes.minima), first):
        n, sign = computed.index(name), ">" if k < first + len(planes.maxima) else "<"
        lines += [
            f"        if value_{n} {sign} sums[{k}, {indices}]:",
            f"            sums[{k}, {indices}] = value_{n}",
        ]
        if sign == ">" and name in planes.timed:
            lines.append(f"            sums[{times + planes.timed.index(name)}, {indices}] = numbers[SEEN]")
    return lines
