"""Stages of MPDATA for GPUs whose threads stream upwards through several levels: fields with ghost points, and V.

A thread keeps values of the previous levels in registers, and computes addresses and ghost points along x and y once.
A level of pseudo velocities needs 23 loads instead of 50. The outermost axis of a region are blocks of levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.advection.plan import (
    FIRST,
    U1,
    U2,
    U3,
    V1,
    V2,
    V3,
    StagedPlan,
    Steps,
    X,
    density,
    face,
    position,
    size,
    unsigned,
)
from eagre.backend.compilation.cells import cell, real
from eagre.backend.device import Device, Launch, Work
from eagre.kernels.mpdata import donor_flux

BUSY = 1024  # threads per multiprocessor below which threads have fewer levels


def levels_of(device: Device, region: Sequence[int]) -> int:
    """Return the levels per thread for a region (nz, ny, nx)."""
    nz, ny, nx = map(int, region)
    levels = device.parameters("programs.columns").levels
    return max(1, min(levels, nz * ny * nx // (BUSY * device.multiprocessors)))


@cell
def column_at(tables, j, i):
    """Return row, point, factors and offsets of a column, from `Table` along z, y and x."""
    _, along_j, along_i = tables
    row, point = np.uint32(along_j.indices[j]), np.uint32(along_i.indices[i])
    return row, point, along_i.factor[i], along_i.outside[i], along_j.factor[j], along_j.outside[j]


@cell
def value_at(a, along_k, m, column):
    """Return a field at position m of a column of `column_at`, which can be a ghost point."""
    row, point, factor_i, outside_i, factor_j, outside_j = column
    value = factor_i * a[np.uint32(along_k.indices[m]), row, point] + outside_i
    return along_k.factor[m] * (factor_j * value + outside_j) + along_k.outside[m]


@cell
def fill_column(k, j, i, s, field, steps, a, tables, levels):
    """Copy level block k of a field with its ghost points, see `plan.fill`; tables : `Table` along z, y and x."""
    d, here = unsigned(steps), column_at(tables, j, i)
    first, last = np.uint32(k * levels), min(np.uint32(tables[0].indices.size), np.uint32((k + 1) * levels))
    n = position(first, j, i, 0, d)
    for m in range(first, last):
        s[np.uint32(field), n] = value_at(a, tables[0], np.uint32(m), here)
        n += d.z


@cell
def donor_cell_column(k, j, i, s, steps, a, tables, levels):
    """First pass in level block k: FIRST from a and X from FIRST; see `plan.fill` and `plan.advect`."""
    along_k, along_j, along_i = tables
    d = Steps(np.uint64(1), np.uint64(steps.y), np.uint64(steps.z))
    top, end_j, end_i = along_k.indices.size, along_j.indices.size - 1, along_i.indices.size - 1
    inside = 0 < i and i < end_i and 0 < j and j < end_j
    before_j, after_j = np.uint32(j - 1 if j > 0 else 0), np.uint32(j + 1 if j < end_j else end_j)
    before_i, after_i = np.uint32(i - 1 if i > 0 else 0), np.uint32(i + 1 if i < end_i else end_i)
    here, west, east = column_at(tables, j, i), column_at(tables, j, before_i), column_at(tables, j, after_i)
    south, north = column_at(tables, before_j, i), column_at(tables, after_j, i)
    first, last = np.uint32(k * levels), min(np.uint32(top), np.uint32((k + 1) * levels))
    n, x = position(first, j, i, 0, d), value_at(a, along_k, first, here)
    low = donor_flux(value_at(a, along_k, np.uint32(first - 1 if first > 0 else 0), here), x, s[U3, n])
    for level in range(first, last):
        m = np.uint32(level)
        above = value_at(a, along_k, np.uint32(m + 1 if m + 1 < top else m), here)
        if inside and m + 1 < top:
            high = donor_flux(x, above, s[U3, n + d.z])
            net = donor_flux(x, value_at(a, along_k, m, east), s[U1, n + d.x])
            net -= donor_flux(value_at(a, along_k, m, west), x, s[U1, n])
            net += donor_flux(x, value_at(a, along_k, m, north), s[U2, n + d.y])
            net -= donor_flux(value_at(a, along_k, m, south), x, s[U2, n])
            s[X, n] = x - (net + high - low) / density(s, n)
            low = high
        s[FIRST, n] = x
        n += d.z
        x = above


@cell
def level_of(s, n, d):
    """Return the sizes at a point and its neighbours on its level: rows from south to north, each from west to east."""
    south, north = n - d.y, n + d.y
    return (
        size(s, south - d.x), size(s, south), size(s, south + d.x),
        size(s, n - d.x), size(s, n), size(s, n + d.x),
        size(s, north - d.x), size(s, north), size(s, north + d.x),
    )  # fmt: skip


@cell
def mean_h(s, n, back):
    """Return 2 / (h_left + h_right) at a face."""
    return real(2.0) / (density(s, n) + density(s, n - back))


@cell
def velocities_column(k, j, i, s, low, steps, blocks, passable):
    """Compute V1, V2, V3 of X and the advector of level block k.

    blocks : number of levels, and levels per block; passable : along z, y and x, see `eagre.advection.ghosts.Tables`
    """
    (top, levels), (passable_k, passable_j, passable_i) = blocks, passable
    d = Steps(np.uint64(1), np.uint64(steps.y), np.uint64(steps.z))
    first, last = np.uint32(k * levels), min(np.uint32(top), np.uint32((k + 1) * levels))
    n = position(first, j, i, low, d)
    down = n - d.z
    two_below, b, c = size(s, down - d.z), level_of(s, down, d), level_of(s, n, d)
    along_x, along_y = s[U1, down] + s[U1, down + d.x], s[U2, down] + s[U2, down + d.y]
    up, up_west, up_south = s[U3, n], s[U3, n - d.x], s[U3, n - d.y]
    open_x, open_y = passable_i[np.uint32(i + low)], passable_j[np.uint32(j + low)]
    for m in range(first, last):
        a = level_of(s, n + d.z, d)
        u, v, w = s[U1, n], s[U2, n], up
        next_x, next_y = u + s[U1, n + d.x], v + s[U2, n + d.y]
        next_up, next_west, next_south = s[U3, n + d.z], s[U3, n + d.z - d.x], s[U3, n + d.z - d.y]
        across = next_y + (s[U2, n - d.x] + s[U2, n - d.x + d.y]), up + next_up + (up_west + next_west)
        left = b[0], b[3], b[6], c[0], c[3], c[6], a[0], a[3], a[6]
        right = b[1], b[4], b[7], c[1], c[4], c[7], a[1], a[4], a[7]
        v1 = open_x * face(u, mean_h(s, n, d.x), across, (c[5], size(s, n - d.x - d.x)), left, right)
        across = next_x + (s[U1, n - d.y] + s[U1, n - d.y + d.x]), up + next_up + (up_south + next_south)
        left = b[0], b[1], b[2], c[0], c[1], c[2], a[0], a[1], a[2]
        right = b[3], b[4], b[5], c[3], c[4], c[5], a[3], a[4], a[5]
        v2 = open_y * face(v, mean_h(s, n, d.y), across, (c[7], size(s, n - d.y - d.y)), left, right)
        across = next_x + along_x, next_y + along_y
        v3 = passable_k[np.uint32(m + low)] * face(w, mean_h(s, n, d.z), across, (a[4], two_below), b, c)
        s[V1, n] = v1
        s[V2, n] = v2
        s[V3, n] = v3
        two_below, b, c = b[4], c, a
        along_x, along_y, up, up_west, up_south = next_x, next_y, next_up, next_west, next_south
        n += d.z


class ColumnPlan(StagedPlan):
    """`StagedPlan` with the stages of this module, for a GPU."""

    def _filled(self, field: int, a: Any, tables: Sequence[Any]) -> Launch:
        nz, ny, nx = self.padded
        levels = levels_of(self.device, self.padded)
        arguments = (self.fields, field, self._steps, a, tuple(tables), levels)
        return self._loop(fill_column, (-(-nz // levels), ny, nx), *arguments)

    def _donor_cell(self, x: Any, odd: tuple[bool, bool, bool], unit: bool) -> list[Work]:
        nz, ny, nx = self.padded
        levels = levels_of(self.device, self.padded)
        arguments = (self.fields, self._steps, x, tuple(axis.field for axis in self.tables(odd)), levels)
        return [self._loop(donor_cell_column, (-(-nz // levels), ny, nx), *arguments, unit=unit)]

    def _velocities(self, first: int, passable: Sequence[Any], unit: bool) -> Launch:
        nz, ny, nx = (n - first - 2 for n in self.padded)
        levels = levels_of(self.device, (nz, ny, nx))
        arguments = (self.fields, first, self._steps, (nz, levels), tuple(passable))
        registers = self.device.parameters("programs.columns").registers[self.precision]
        region = (-(-nz // levels), ny, nx)
        return self._loop(velocities_column, region, *arguments, unit=unit, REGISTERS=registers)
