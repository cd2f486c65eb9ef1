"""Reference implementation of a sweep, with one point function per stage: it runs on every device.

The fast kernels must give equal results.

| stage | point function |
|---|---|
| equations of a line, (1) to (10) of README.md | `assemble`, by `row_of` and `end_of` |
| unknowns of a line | `solve_line`, Thomas algorithm |
| new surface, equation (1) | `new_surface` |

Along y the same functions are compiled with x and y exchanged (`ALONG_X`). New options are implemented here first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.backend.device import Device, Launch
from eagre.boundaries.base import LineEnd
from eagre.grid import Grid
from eagre.kernels.implicit_lines import FRICTION
from eagre.models.shallow_water_adi.forcing import push_on, water_on
from eagre.models.shallow_water_adi.kernels import (
    ABOVE,
    BELOW,
    HIGH,
    LOW,
    WALL,
    WALLS,
    advection_factors,
    beyond,
    depth,
    end_row,
    face_row,
    over_depth,
    row_or_wall,
)
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.terms.compose import TERM_FACTORS, TERMS

ALONG_X = switch("ALONG_X", True)
OPEN = switch("OPEN", False)  # whether an end of a line is not a wall


@cell
def value_at(a, j, i, along, across):
    """Return a value of a padded field; along, across : offset from cell (j, i) along and across the line."""
    if ALONG_X:
        return a[j + (1 + across), i + (PADDING + along)]
    return a[max(np.int64(j) + (1 + along), 0), i + (PADDING + across)]


@cell
def map_value(array, index):
    """Return a value of a map for a term; index : j, i and the offset along the line."""
    return value_at(array, index[0], index[1], index[2], 0)


@cell
def row_and_column(row, index, pitch):
    """Return row and column of a cell in padded arrays, for `WHERE` and `map_value` of `terms.base`."""
    if ALONG_X:
        return np.int64(row) - 1, np.int64(index[1]) + index[2]
    return np.int64(row) - 1, np.int64(index[1])


@cell
def table_row(j, along):
    """Return the row of a column of values for the cell at an offset along the line from row j."""
    if ALONG_X:
        return np.uint32(j + 1)
    return np.uint32(j + (1 + along))


@cell
def around(a, j, i):
    """Return the eight cells of `face_row` around the low face of cell (j, i)."""
    return (
        value_at(a, j, i, -1, -1), value_at(a, j, i, 0, -1), value_at(a, j, i, -1, 0), value_at(a, j, i, 0, 0),
        value_at(a, j, i, -1, 1), value_at(a, j, i, 0, 1), value_at(a, j, i, -2, 0), value_at(a, j, i, 1, 0),
    )  # fmt: skip


@cell
def beds_between_walls(d, low, high):
    """Return the eight beds of `row_of`, with land beyond every closed face; low, high : closed faces of both cells."""
    return (
        beyond(d[0], low, BELOW), beyond(d[1], high, BELOW), d[2], d[3],
        beyond(d[4], low, ABOVE), beyond(d[5], high, ABOVE), beyond(d[6], low, LOW), beyond(d[7], high, HIGH),
    )  # fmt: skip


@cell
def row_of(fields, forcing, j, i, p):
    """Return A, B, C, D of the low face of cell (j, i), and r of that cell."""
    z, d, flux, qo, qn, _, _, friction = fields
    zs, ds, closed = around(z, j, i), around(d, j, i), 0
    if WALLS:
        closed = value_at(forcing[0][-1], j, i, 0, 0)
        ds = beds_between_walls(ds, value_at(forcing[0][-1], j, i, -1, 0), closed)
    fluxes = (
        value_at(flux, j, i, -1, 0), value_at(flux, j, i, 0, 0), value_at(flux, j, i, 1, 0),
        value_at(flux, j, i, 0, -1), value_at(flux, j, i, 0, 1),
    )  # fmt: skip
    old = (value_at(qo, j, i, -1, 0), value_at(qo, j, i, 0, 0), value_at(qo, j, i, -1, 1), value_at(qo, j, i, 0, 1))
    new = (value_at(qn, j, i, -1, 0), value_at(qn, j, i, 0, 0), value_at(qn, j, i, -1, 1), value_at(qn, j, i, 0, 1))
    factor, forced, rain_l, rain_r = p.friction, real(0.0), real(0.0), real(0.0)
    if FRICTION == 2 or FRICTION == 4:
        factor = p.friction * real(0.5) * (value_at(friction, j, i, -1, 0) + value_at(friction, j, i, 0, 0))
    if TERMS:
        depths = depth(zs[2], ds[2]) + depth(zs[3], ds[3])
        across = (new[0] + new[1]) + (new[2] + new[3])
        forced = push_on(depths, fluxes[1], across, forcing, table_row(j, 0), (j, i, 0), p)
        rain_l = water_on(ds[2], forcing, table_row(j, -1), (j, i, -1), p)
        rain_r = water_on(ds[3], forcing, table_row(j, 0), (j, i, 0), p)
    a, b, c, e, r = face_row(zs, ds, fluxes, (old, new), factor, forced, (rain_l, rain_r), p)
    a, b, c, e = row_or_wall(closed, a, b, c, e)
    return a, b, c, e, r


@cell
def carried_at_end(z, d, flux, j, i, inside, p):
    """Return `advection_factors` of the interior cell at an end of a line, at the low face of cell (j, i).

    The factors are those of the end face and of the other face. inside : 0 at the low end of a line, -1 at the high
    end.
    """
    bed = value_at(d, j, i, inside, 0)
    h = depth(value_at(z, j, i, inside, 0), bed)
    low_neighbour = value_at(z, j, i, inside - 1, 0), value_at(d, j, i, inside - 1, 0)
    high_neighbour = value_at(z, j, i, inside + 1, 0), value_at(d, j, i, inside + 1, 0)
    p_low, p_high = value_at(flux, j, i, inside, 0), value_at(flux, j, i, inside + 1, 0)
    low, high = advection_factors(p_low, p_high, h, over_depth(h, p), bed, low_neighbour, high_neighbour, p)
    return (low, high) if inside == 0 else (high, low)


@cell
def end_of(fields, ends, line, inward, r, j, i, p):
    """Return B, E, D of an end face of a line, the low face of cell (j, i).

    inward : 1 at the low end, where this cell is inside, -1 at the high end
    """
    z, d, flux, friction = fields.z, fields.bed, fields.flux, fields.friction
    inside = 0 if inward > 0 else -1
    kind, slot = (ends.low[line], ends.low_slot[line]) if inward > 0 else (ends.high[line], ends.high_slot[line])
    factor = p.friction
    if FRICTION == 2 or FRICTION == 4:
        factor = factor * value_at(friction, j, i, inside, 0)
    z_in, d_in = value_at(z, j, i, inside, 0), value_at(d, j, i, inside, 0)
    carried = carried_at_end(z, d, flux, j, i, inside, p)
    end = LineEnd(real(inward), z_in, d_in, value_at(flux, j, i, 0, 0), carried, r, factor)
    return end_row(kind, real(ends.values[ends.row, slot]), end, p)


@cell
def assemble(j, i, fields, rows, terms, ends, last, p):
    """Store A, B, C, D of the low face of cell (j, i) in rows, (4, rows, columns), and `known_surface` r in z_new.

    last : last face of a line
    """
    forcing = (terms, TERM_FACTORS(terms, ends.row))
    a, b, c, e, r = row_of(fields, forcing, j, i, p)
    line, face = (j, i) if ALONG_X else (i, j)
    if OPEN:
        if face == 0 and ends.low[line] != WALL:
            b, c, e = end_of(fields, ends, line, 1, r, j, i, p)
        if face == last and ends.high[line] != WALL:
            before_j, before_i = (j, np.uint32(i - 1)) if ALONG_X else (np.uint32(j - 1), i)
            _, _, _, _, r_inside = row_of(fields, forcing, before_j, before_i, p)
            b, a, e = end_of(fields, ends, line, -1, r_inside, j, i, p)
    rows[0, j + 1, i + PADDING] = a
    rows[1, j + 1, i + PADDING] = b
    rows[2, j + 1, i + PADDING] = c
    rows[3, j + 1, i + PADDING] = e
    if face < last:
        fields.z_new[j + 1, i + PADDING] = r


@cell
def solve_line(i, rows, flux_out, last):
    """Solve line i, faces 0 to `last`, by forward elimination and back substitution."""
    c, e = real(0.0), real(0.0)
    for face in range(last + 1):
        j, k = (i + 1, face + PADDING) if ALONG_X else (face + 1, i + PADDING)
        a = rows[0, j, k]
        over = real(1.0) / (rows[1, j, k] - a * c)
        c, e = rows[2, j, k] * over, (rows[3, j, k] - a * e) * over
        rows[2, j, k] = c
        rows[3, j, k] = e
    unknown = real(0.0)
    for back in range(last + 1):
        j, k = (i + 1, last - back + PADDING) if ALONG_X else (last - back + 1, i + PADDING)
        unknown = rows[3, j, k] - rows[2, j, k] * unknown
        flux_out[j, k] = unknown


@cell
def new_surface(j, i, z_out, flux_out, p):
    """Set z = r - w (P_high - P_low) of cell (j, i)."""
    high = flux_out[j + 1, i + (PADDING + 1)] if ALONG_X else flux_out[j + 2, i + PADDING]
    z_out[j + 1, i + PADDING] -= p.w * (high - flux_out[j + 1, i + PADDING])


class ReferenceSweeps:
    """Sweeps of a run with the reference kernels, on any device."""

    method = "reference: tridiagonal elimination (Thomas algorithm) along whole grid lines"

    def __init__(self, device: Device, precision: str, grid: Grid, shape: tuple[int, ...], real: Any) -> None:
        self.device, self.precision, self.grid = device, precision, grid
        self._rows = device.zeros((4, *shape), real)

    def compiled(self, switches: Sequence[Mapping[str, Any]]) -> list[tuple[Any, Any, Any]]:
        """Return the kernels of the sweeps along x and y."""
        stages = (assemble, solve_line, new_surface)
        return [tuple(self.device.loop(stage, self.precision, chosen) for stage in stages) for chosen in switches]  # type: ignore[misc]

    def launches(self, kernels: tuple[Any, Any, Any], which: int, common: tuple[Any, ...], p: Any) -> list[Launch]:
        """Return the launches of a sweep along x (0) or y (1).

        common : `Fields`, arguments of the source terms, and `Ends`
        """
        grid, over = self.grid, self.device.over
        fields, terms, ends = common
        last, lines = (grid.nx, grid.ny) if which == 0 else (grid.ny, grid.nx)
        faces = (grid.ny, grid.nx + 1) if which == 0 else (grid.ny + 1, grid.nx)
        return [
            over(kernels[0], faces, (fields, self._rows, terms, ends, last, p)),
            over(kernels[1], (lines,), (self._rows, fields.flux_new, last)),
            over(kernels[2], grid.shape, (fields.z_new, fields.flux_new, p)),
        ]
