"""Means, variances and covariances over time that a run gathers step by step.

A state counts for the time since the one that was taken up before it. So it may be taken up any number of times: the
second time it weighs nothing, and a step that is refused and made again needs no care. Sums are kept in double
precision in either precision of a run: of millions of steps each changes a mean by a millionth of its deviation.

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
"""Of the numbers: when averages begin and the last state came, s; all weights, s; the last one, s, and its share; of
how many states one counts, how many came since, and the time of the last of them, s."""


class Quantities(NamedTuple):
    """What a model can average: cells ``quantity(j, i, fields..)`` by the names of its variables."""

    fields: str  # the arguments' names: "psi, q"
    cells: Mapping[str, Cell]


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
    """Of a vector."""
    return root(u * u + v * v)


def quantity(fields: str, formula: str, **parts: Any) -> Cell:
    """The cell ``quantity(j, i, fields..)`` of a formula; in it ``NAME()`` is the quantity of a cell of `parts`."""
    text = formula.replace("()", f"(j, i, {fields})")
    return written(f"def quantity(j, i, {fields}):\n    return {text}\n", parts)


def speed_of(fields: str, velocity_x: Cell, velocity_y: Cell) -> Cell:
    """The speed of two velocities."""
    return quantity(fields, "size(x(), y())", size=size, x=velocity_x, y=velocity_y)


def quantities_of_water(fields: str, water: Cell) -> Quantities:
    """All of `Water` and the speed, where `water` finds the former: ``water(j, i, fields..)``."""
    cells = {name: quantity(fields, f"water().{name}", water=water) for name in Water._fields}
    return Quantities(fields, cells | {"speed": speed_of(fields, cells["velocity_x"], cells["velocity_y"])})


@cell
def weigh(numbers, now):
    """Weigh the state of the time `now`, s; that of a time before SINCE, or not the EVERY-th, weighs nothing."""
    weight = 0.0
    if now > numbers[SEEN]:
        numbers[SEEN] = now
        numbers[COUNT] += 1.0
        if numbers[COUNT] >= numbers[EVERY]:
            weight = max(0.0, now - max(numbers[LAST], numbers[SINCE]))
            numbers[LAST] = now
            numbers[COUNT] = 0.0
    numbers[TOTAL] += weight
    numbers[WEIGHT] = weight
    numbers[SHARE] = 0.0
    if weight > 0.0:
        numbers[SHARE] = weight / numbers[TOTAL]


def averaged(fields: str, quantities: Mapping[str, Cell], pairs: Sequence[tuple[str, str]]) -> Cell:
    """The cell that takes a state up: ``averaged(j, i, fields.., sums, numbers)``.

    Parameters
    ----------
    fields : str
        What the quantities are computed from, as the rest of their arguments: ``"psi, q"``.
    quantities : mapping
        Cells ``quantity(j, i, fields..)`` of what is averaged.
    pairs : sequence
        Of quantities, the same twice for a variance.

    Notes
    -----
    sums : (quantities + pairs, ny, nx), float64: means, then the weighted sums of products of deviations.
    """
    names = list(quantities)
    lines = [f"def averaged(j, i, {fields}, sums, numbers):", "    weight = numbers[WEIGHT]", "    if weight > 0.0:"]
    lines.append("        share = numbers[SHARE]")
    for n, name in enumerate(names):
        lines += [
            f"        value_{n} = np.float64(of_{name}(j, i, {fields}))",
            f"        off_{n} = value_{n} - sums[{n}, j, i]",
            f"        mean_{n} = sums[{n}, j, i] + share * off_{n}",
            f"        sums[{n}, j, i] = mean_{n}",
        ]
    for k, (one, other) in enumerate(pairs, len(names)):
        a, b = names.index(one), names.index(other)
        lines.append(f"        sums[{k}, j, i] += weight * off_{a} * (value_{b} - mean_{b})")
    scope = {"np": np, "WEIGHT": WEIGHT, "SHARE": SHARE} | {f"of_{name}": own for name, own in quantities.items()}
    return written("\n".join(lines) + "\n", scope)
