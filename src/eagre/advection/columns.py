"""Stages of MPDATA for GPUs whose threads stream upwards through several levels: fields with ghost points, and V.

A thread keeps values of the previous levels in registers, and computes addresses and ghost points along x and y once.
A level of pseudo velocities needs 23 loads instead of 50. The outermost axis of a region are blocks of levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.advection.plan import (
    U1,
    U2,
    U3,
    V1,
    V2,
    V3,
    StagedPlan,
    Steps,
    density,
    face,
    position,
    size,
    unsigned,
)
from eagre.backend.compilation.cells import cell, real
from eagre.backend.device import Device, Launch

BUSY = 1024  # threads per multiprocessor below which threads have fewer levels


def levels_of(device: Device, region: Sequence[int]) -> int:
    """Return the levels per thread for a region (nz, ny, nx)."""
    nz, ny, nx = map(int, region)
    levels = device.parameters("programs.columns").levels
    return max(1, min(levels, nz * ny * nx // (BUSY * device.multiprocessors)))


@cell
def block_of(k, levels, count):
    """Return the first level of block k, and the level after its last one."""
    return np.uint32(k * levels), min(np.uint32(count), np.uint32((k + 1) * levels))


@cell
def fill_column(k, j, i, s, field, a, tables, extents):
    """Copy level block k of a field with its ghost points, see `plan.fill`.

    tables : `Table` along z, y and x; extents : `Steps`, and levels per block
    """
    (along_k, along_j, along_i), (steps, levels) = tables, extents
    d = unsigned(steps)
    row, point = np.uint32(along_j.indices[j]), np.uint32(along_i.indices[i])
    factor_i, outside_i = along_i.factor[i], along_i.outside[i]
    factor_j, outside_j = along_j.factor[j], along_j.outside[j]
    first, last = block_of(k, levels, along_k.indices.size)
    n = position(first, j, i, 0, d)
    for level in range(first, last):
        m = np.uint32(level)
        value = factor_i * a[np.uint32(along_k.indices[m]), row, point] + outside_i
        value = factor_j * value + outside_j
        s[np.uint32(field), n] = along_k.factor[m] * value + along_k.outside[m]
        n += d.z


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
    first, last = block_of(k, levels, top)
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
        arguments = (self.fields, field, a, tuple(tables), (self._steps, levels))
        return self._loop(fill_column, (-(-nz // levels), ny, nx), *arguments)

    def _velocities(self, first: int, passable: Sequence[Any], unit: bool) -> Launch:
        nz, ny, nx = (n - first - 2 for n in self.padded)
        levels = levels_of(self.device, (nz, ny, nx))
        arguments = (self.fields, first, self._steps, (nz, levels), tuple(passable))
        return self._loop(velocities_column, (-(-nz // levels), ny, nx), *arguments, unit=unit)
