"""Fused MPDATA step on the CPU with one corrective pass: fields are read once and written once.

A tile of columns and rows streams upwards. When plane p of the field is loaded, the donor cell gives plane p - 1, the
corrective fluxes follow for the faces at p - 1 and for plane p - 2, the limiter for p - 2, and plane p - 3 is complete.
Intermediate values are stored in three frames of the scratch array: frame 0 of two planes before, 1, and 2 of this
plane. The frames slide along the scratch array, so that strides are constant and loops vectorise
(decision 0002); at its end the frames in use are copied to its beginning.

Column c of a row of the scratch array is point i0 - EDGE + c, and row r is row j0 - EDGE + r. Loops start at column 1,
the first of a cache line. Values that are read once, by their own point, are stored in two additional planes. Rows of
the next plane are prefetched: copies to the scratch array spent half of the time waiting for memory.

Third-order terms at a face depend on the donor cell one plane above the two that the face separates. Corrective fluxes
and everything after them are then computed one plane later, with EDGE = 4: planes p - 3 and p - 4 take the place of
p - 2 and p - 3, and there is a fourth frame, of plane p, after the three frames of the correction.

`FusedPlan` is the step as a launch: tiles, scratch array, switches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from eagre.advection import scratch_cpu
from eagre.advection.plan import (
    DIVISION_FLOOR,
    Advector,
    Options,
    StagedPlan,
    corrective_flux,
    donor_flux,
    inflow,
    limiter,
    magnitude,
    pseudo_velocity,
    ratio_of_four,
    share_of,
    third_across,
    third_along,
    third_corners,
)
from eagre.advection.scratch_cpu import (
    A1,
    A2,
    AXIS_X,
    AXIS_Y,
    AXIS_Z,
    DOWN,
    EAST,
    EDGE,
    F3,
    FRAME,
    HIGH,
    LINE,
    LOW,
    NORTH,
    ONE,
    PASSABLE,
    PLANE,
    ROW,
    SLIDE,
    STRIDE,
    SUM,
    TWO,
    UP,
    VARIABLE_H,
    H,
    P,
    TileExtent,
    U,
    W,
    X,
    Y,
    Z,
    load,
    prefetch_row,
    slide,
)  # fmt: skip
from eagre.backend.compilation.cells import Cell, cell, entry, prange, real, switch
from eagre.backend.device import CpuDevice, Device, Launch, Work

LIMITED = switch("LIMITED", True)


# -- the first pass -------------------------------------------------------------------------------


@cell
def flux_north(s, offset, full):
    """Compute the flux through the south faces of a row, for the first one of a plane."""
    one, two = ONE + (EDGE - 3) * FRAME, TWO + (EDGE - 3) * FRAME
    for i in range(full):
        s[offset + i + (NORTH * PLANE + ROW + 1)] = donor_flux(
            s[offset + i + ((one + X) * PLANE + 1)], s[offset + i + ((one + X) * PLANE + ROW + 1)],
            s[offset + i + ((two + Y) * PLANE + ROW + 1)],
        )  # fmt: skip


@cell
def advect_row(s, t, offset, row, full):
    """Compute the donor cell: P of plane p - 1, and the maximum and minimum of it and the field."""
    one, two = ONE + (EDGE - 3) * FRAME, TWO + (EDGE - 3) * FRAME
    for i in range(full):
        s[offset + i + (EAST * PLANE + ROW + 1)] = donor_flux(
            s[offset + i + ((one + X) * PLANE + ROW)], s[offset + i + ((one + X) * PLANE + ROW + 1)],
            s[offset + i + ((two + U) * PLANE + ROW + 1)],
        )  # fmt: skip
    for i in range(full):
        x = s[offset + i + ((one + X) * PLANE + ROW + 1)]
        north = donor_flux(
            x, s[offset + i + ((one + X) * PLANE + 2 * ROW + 1)], s[offset + i + ((two + Y) * PLANE + 2 * ROW + 1)]
        )
        top = donor_flux(
            x, s[offset + i + ((two + X) * PLANE + ROW + 1)], s[offset + i + ((two + W) * PLANE + ROW + 1)]
        )
        net = s[offset + i + (EAST * PLANE + ROW + 2)] - s[offset + i + (EAST * PLANE + ROW + 1)]
        net += north - s[offset + i + (NORTH * PLANE + ROW + 1)]
        net += top - t[row + i + (F3 * PLANE + ROW + 1)]
        s[offset + i + (NORTH * PLANE + 2 * ROW + 1)] = north
        t[row + i + (F3 * PLANE + ROW + 1)] = top
        if VARIABLE_H:
            net /= s[offset + i + ((two + H) * PLANE + ROW + 1)]
        updated = x - net
        s[offset + i + ((two + P) * PLANE + ROW + 1)] = updated
        if LIMITED:
            s[offset + i + ((two + HIGH) * PLANE + ROW + 1)] = max(x, updated)
            s[offset + i + ((two + LOW) * PLANE + ROW + 1)] = min(x, updated)


# -- corrective fluxes ----------------------------------------------------------------------------


@cell
def size(s, n):
    """Return the quantity whose differences define pseudo velocities."""
    return magnitude(s[n])


@cell
def two(s, n, m):
    """Return the sum of two values."""
    return magnitude(s[n]) + magnitude(s[m])


@cell
def four(s, a, b, c, d):
    """Return the sum of four faces."""
    return (s[a] + s[b]) + (s[c] + s[d])


@cell
def over_mean(s, n, m):
    """Return the inverse of the mean h of two points."""
    return real(2.0) / (s[n] + s[m]) if VARIABLE_H else real(1.0)


@cell
def third_order(s, here, u, over_r, sums, strides):
    """Return the third-order terms at the face before point `here` of P; strides : of its axis and of two others."""
    (b, m, n), (s_m, s_n) = strides, sums
    v = third_along(u, over_r, size(s, here + b), size(s, here), size(s, here - b), size(s, here - 2 * b))
    v += third_across(
        u, over_r, s_m, size(s, here + m), size(s, here + m - b), size(s, here - m), size(s, here - m - b)
    )
    v += third_across(
        u, over_r, s_n, size(s, here + n), size(s, here + n - b), size(s, here - n), size(s, here - n - b)
    )
    same = two(s, here + m + n, here + m + n - b) + two(s, here - m - n, here - m - n - b)
    opposite = two(s, here + m - n, here + m - n - b) + two(s, here - m + n, here - m + n - b)
    return v + third_corners(u, over_r, s_m, s_n, same, opposite)


@cell
def flux_up(s, n, passable):
    """Return the corrective flux between planes p - 2 and p - 1; n : one column before, one row below."""
    here, p1, p2 = n + (ROW + 1), n + ((ONE + P) * PLANE), n + ((TWO + P) * PLANE)
    u1, u2 = n + ((ONE + U) * PLANE + ROW + 1), n + ((TWO + U) * PLANE + ROW + 1)
    y1, y2 = n + ((ONE + Y) * PLANE + 1), n + ((TWO + Y) * PLANE + 1)
    w, over_r = s[here + (ONE + W) * PLANE], over_mean(s, here + (ONE + H) * PLANE, here + (TWO + H) * PLANE)
    s_m, s_n = four(s, u1, u1 + 1, u2, u2 + 1), four(s, y1 + ROW, y1 + 2 * ROW, y2 + ROW, y2 + 2 * ROW)
    v = pseudo_velocity(
        w, over_r, size(s, p1 + (ROW + 1)), size(s, p2 + (ROW + 1)),
        s_m, ratio_of_four(two(s, p1 + (ROW + 2), p2 + (ROW + 2)), two(s, p1 + ROW, p2 + ROW)),
        s_n, ratio_of_four(two(s, p1 + (2 * ROW + 1), p2 + (2 * ROW + 1)), two(s, p1 + 1, p2 + 1)),
    )  # fmt: skip
    if EDGE > 3:
        v += third_order(s, p2 + (ROW + 1), w, over_r, (s_m, s_n), (FRAME * PLANE, 1, ROW))
    return corrective_flux(s[p1 + (ROW + 1)], s[p2 + (ROW + 1)], passable * v)


@cell
def flux_east(s, n):
    """Return the corrective flux through the western face of a point of plane p - 2."""
    p0, p1, p2 = n + (P * PLANE + ROW), n + ((ONE + P) * PLANE), n + ((TWO + P) * PLANE + ROW)
    w0, w1 = n + (W * PLANE + ROW), n + ((ONE + W) * PLANE + ROW)
    y1, h1 = n + ((ONE + Y) * PLANE), n + ((ONE + H) * PLANE + ROW)
    u, over_r = s[n + ((ONE + U) * PLANE + ROW + 1)], over_mean(s, h1, h1 + 1)
    s_m = four(s, y1 + ROW, y1 + (ROW + 1), y1 + 2 * ROW, y1 + (2 * ROW + 1))
    s_n = four(s, w0, w0 + 1, w1, w1 + 1)
    v = pseudo_velocity(
        u, over_r, size(s, p1 + ROW), size(s, p1 + (ROW + 1)),
        s_m, ratio_of_four(two(s, p1 + 2 * ROW, p1 + (2 * ROW + 1)), two(s, p1, p1 + 1)),
        s_n, ratio_of_four(two(s, p2, p2 + 1), two(s, p0, p0 + 1)),
    )  # fmt: skip
    if EDGE > 3:
        v += third_order(s, p1 + (ROW + 1), u, over_r, (s_m, s_n), (1, ROW, FRAME * PLANE))
    return corrective_flux(s[p1 + ROW], s[p1 + (ROW + 1)], v)


@cell
def flux_south(s, n):
    """Return the corrective flux through the southern face of a point of plane p - 2."""
    p0, p1, p2 = n + (P * PLANE + 1), n + ((ONE + P) * PLANE), n + ((TWO + P) * PLANE + 1)
    w0, w1 = n + (W * PLANE + 1), n + ((ONE + W) * PLANE + 1)
    u1, h1 = n + ((ONE + U) * PLANE + 1), n + ((ONE + H) * PLANE + 1)
    y, over_r = s[n + ((ONE + Y) * PLANE + ROW + 1)], over_mean(s, h1, h1 + ROW)
    s_m, s_n = four(s, u1, u1 + 1, u1 + ROW, u1 + (ROW + 1)), four(s, w0, w0 + ROW, w1, w1 + ROW)
    v = pseudo_velocity(
        y, over_r, size(s, p1 + 1), size(s, p1 + (ROW + 1)),
        s_m, ratio_of_four(two(s, p1 + 2, p1 + (ROW + 2)), two(s, p1, p1 + ROW)),
        s_n, ratio_of_four(two(s, p2, p2 + ROW), two(s, p0, p0 + ROW)),
    )  # fmt: skip
    if EDGE > 3:
        v += third_order(s, p1 + (ROW + 1), y, over_r, (s_m, s_n), (ROW, 1, FRAME * PLANE))
    return corrective_flux(s[p1 + 1], s[p1 + (ROW + 1)], v)


@cell
def fluxes_row(s, offset, full, passable):
    """Compute corrective fluxes of a row: vertical ones through the faces at p - 1, and along x in plane p - 2."""
    for i in range(full):
        s[offset + i + ((TWO + Z) * PLANE + ROW + 1)] = flux_up(s, offset + i, passable)
    for i in range(full):
        s[offset + i + (A1 * PLANE + ROW + 1)] = flux_east(s, offset + i)


@cell
def south_row(s, offset, full):
    """Compute corrective fluxes along y in plane p - 2, through the southern faces of a row."""
    for i in range(full):
        s[offset + i + (A2 * PLANE + ROW + 1)] = flux_south(s, offset + i)


@cell
def clear_row(s, offset, full):
    """Set the corrective fluxes along y to zero."""
    for i in range(full):
        s[offset + i + (A2 * PLANE + ROW + 1)] = real(0.0)


# -- the limiter and the second pass --------------------------------------------------------------


@cell
def shares_row(s, offset, full):
    """Compute UP and DOWN of plane p - 2: the allowed fractions of inflow and outflow of each point."""
    for i in range(full):
        n = offset + i
        f1, f2, z1, z2 = n + (A1 * PLANE + ROW + 1), n + (A2 * PLANE + ROW + 1), (ONE + Z) * PLANE, (TWO + Z) * PLANE
        below, above = s[n + (z1 + ROW + 1)], s[n + (z2 + ROW + 1)]
        west, east, south, north = s[f1], s[f1 + 1], s[f2], s[f2 + ROW]
        high0, high1, high2 = n + (HIGH * PLANE), n + ((ONE + HIGH) * PLANE), n + ((TWO + HIGH) * PLANE)
        low0, low1, low2 = n + (LOW * PLANE), n + ((ONE + LOW) * PLANE), n + ((TWO + LOW) * PLANE)
        high = max(max(s[high1 + ROW], s[high1 + (ROW + 1)]), s[high1 + (ROW + 2)])
        high = max(
            max(high, max(s[high1 + 1], s[high1 + (2 * ROW + 1)])), max(s[high0 + (ROW + 1)], s[high2 + (ROW + 1)])
        )
        low = min(min(s[low1 + ROW], s[low1 + (ROW + 1)]), s[low1 + (ROW + 2)])
        low = min(min(low, min(s[low1 + 1], s[low1 + (2 * ROW + 1)])), min(s[low0 + (ROW + 1)], s[low2 + (ROW + 1)]))
        x = s[n + ((ONE + P) * PLANE + ROW + 1)]
        h = s[n + ((ONE + H) * PLANE + ROW + 1)] if VARIABLE_H else real(1.0)
        enters = inflow(west, east) + inflow(south, north) + inflow(below, above)
        leaves = inflow(-west, -east) + inflow(-south, -north) + inflow(-below, -above)
        s[n + ((TWO + UP) * PLANE + ROW + 1)] = share_of((high - x) * h, enters)
        s[n + ((TWO + DOWN) * PLANE + ROW + 1)] = share_of((x - low) * h, leaves)


@cell
def limited_east(s, n):
    """Return the limited flux through the western face in plane p - 2; n : one column before, one row below."""
    f = s[n + (A1 * PLANE + ROW + 1)]
    if LIMITED:
        up, down = n + ((TWO + UP) * PLANE + ROW), n + ((TWO + DOWN) * PLANE + ROW)
        f *= limiter(f, s[up], s[down], s[up + 1], s[down + 1])
    return f


@cell
def limited_south(s, n):
    """Return the limited flux through its southern face."""
    f = s[n + (A2 * PLANE + ROW + 1)]
    if LIMITED:
        up, down = n + ((TWO + UP) * PLANE + 1), n + ((TWO + DOWN) * PLANE + 1)
        f *= limiter(f, s[up], s[down], s[up + ROW], s[down + ROW])
    return f


@cell
def limited_up(s, n):
    """Return the limited flux through its lower face."""
    f = s[n + ((ONE + Z) * PLANE + ROW + 1)]
    if LIMITED:
        up, down = n + ((ONE + UP) * PLANE + ROW + 1), n + ((ONE + DOWN) * PLANE + ROW + 1)
        f *= limiter(f, s[up], s[down], s[up + FRAME * PLANE], s[down + FRAME * PLANE])
    return f


@cell
def limit_south(s, offset, full):
    """Compute the limited fluxes through the southern faces of a row, for the first one of a plane."""
    for i in range(full):
        s[offset + i + (NORTH * PLANE + ROW + 1)] = limited_south(s, offset + i)


@cell
def correct_row(s, t, offset, row, out, k, j, extent):
    """Corrective pass: row j of plane k = p - 3 is completed; plane p - 2 lacks the flux through its top."""
    for i in range(extent.full):
        s[offset + i + (EAST * PLANE + ROW + 1)] = limited_east(s, offset + i)
    i0 = np.uint32(extent.i0)
    for i in range(extent.columns):
        n = offset + i + (EDGE - 1)
        north, below = limited_south(s, n + ROW), limited_up(s, n)
        net = s[n + (EAST * PLANE + ROW + 2)] - s[n + (EAST * PLANE + ROW + 1)]
        net += north - s[n + (NORTH * PLANE + ROW + 1)]
        net -= below
        if VARIABLE_H:
            net /= s[n + ((ONE + H) * PLANE + ROW + 1)]
            below /= s[n + (H * PLANE + ROW + 1)]
        s[n + (NORTH * PLANE + 2 * ROW + 1)] = north
        out[k, j, i0 + i] = t[row + i + (SUM * PLANE + ROW + EDGE)] - below
        t[row + i + (SUM * PLANE + ROW + EDGE)] = s[n + ((ONE + P) * PLANE + ROW + 1)] - net


# -- a tile ---------------------------------------------------------------------------------------


@cell
def first_pass(s, t, b, p, arrays, extent):
    """Compute the donor cell in plane p - 1."""
    edge = 1 if ROW > 0 else 0
    flux_north(s, np.uint32(b), extent.full)
    for r in range(extent.rows + 2 * (EDGE - 1) * edge):
        prefetch_row(arrays[0], p + 1, r, extent)
        prefetch_row(arrays[1], p + 1, r, extent)
        advect_row(s, t, np.uint32(b + r * STRIDE), np.uint32(LINE - 1 + r * STRIDE), extent.full)


@cell
def correction(s, b, p, arrays, sides, extent):
    """Compute corrective fluxes, and the fractions of them that points allow."""
    edge, passable = 1 if ROW > 0 else 0, sides.numbers[AXIS_Z, PASSABLE, 0, p + 2]
    first, end = (EDGE - 2) * edge, extent.rows + EDGE * edge
    west = sides.numbers[AXIS_X, PASSABLE, 0, extent.i0 + EDGE]
    east = sides.numbers[AXIS_X, PASSABLE, 0, extent.i0 + extent.columns + EDGE]
    for r in range(first, end):
        offset = np.uint32(b + r * STRIDE)
        prefetch_row(arrays[2], p, r, extent)
        prefetch_row(arrays[3], p, r, extent)
        fluxes_row(s, offset, extent.full, passable)
        s[offset + np.uint32(A1 * PLANE + ROW + EDGE)] *= west
        s[offset + np.uint32(A1 * PLANE + ROW + EDGE + extent.columns)] *= east
    for r in range(first, end + edge):
        offset = np.uint32(b + r * STRIDE)
        if edge == 1 and sides.numbers[AXIS_Y, PASSABLE, 0, extent.j0 + r + 1] > real(0.0):
            south_row(s, offset, extent.full)
        else:
            clear_row(s, offset, extent.full)
    if LIMITED:
        for r in range(first, end):
            if VARIABLE_H:
                prefetch_row(arrays[4], p, r, extent)
            shares_row(s, np.uint32(b + r * STRIDE), extent.full)


@cell
def second_pass(s, t, b, out, k, extent):
    """Complete plane k = p - EDGE, whose values are arbitrary before the first plane of a tile."""
    edge = EDGE - 1 if ROW > 0 else 0
    limit_south(s, np.uint32(b + edge * STRIDE), extent.full)
    for r in range(extent.rows):
        offset, row = np.uint32(b + (r + edge) * STRIDE), np.uint32(LINE - 1 + r * STRIDE)
        correct_row(s, t, offset, row, out, np.uint32(k), np.uint32(extent.j0 + r), extent)


@cell
def stream_planes(s, t, arrays, out, sides, extent, k0, k1):
    """Compute planes k0 to k1 - 1 of a tile."""
    frame = 0
    for p in range(k0 - EDGE, k1 + EDGE):
        b = LINE - 1 + frame * (FRAME * PLANE)
        load(s, b + (EDGE - 3) * (FRAME * PLANE), p, arrays, sides, extent)
        first_pass(s, t, b, p, arrays, extent)
        if p >= k0 + EDGE - 3:
            correction(s, b, p, arrays, sides, extent)
            second_pass(s, t, b, out, max(p - EDGE, k0), extent)
        frame += 1
        if frame == SLIDE:
            slide(s)
            frame = 0


@entry
def step_cpu(x, out, v, h, sides, scratch, extra, counts):
    """Make one step, x to out; v : `eagre.advection.plan.Advector`.

    scratch, extra : (chunks, numbers); counts : tiles along z, y and x.
    """
    nz, ny, nx = x.shape
    tiles_z, tiles_y, tiles_x = counts
    tiles, chunks = tiles_z * tiles_y * tiles_x, scratch.shape[0]
    for chunk in prange(chunks):
        s, t, arrays = scratch[chunk], extra[chunk], (x, v.v3, v.v1, v.v2, h)
        for tile in range(chunk * tiles // chunks, (chunk + 1) * tiles // chunks):
            n = tile // tiles_x
            tk, tj, ti = n // tiles_y, n - n // tiles_y * tiles_y, tile - n * tiles_x
            i0, i1 = ti * nx // tiles_x, (ti + 1) * nx // tiles_x
            j0, j1 = tj * ny // tiles_y, (tj + 1) * ny // tiles_y
            full = (i1 - i0 + 2 * EDGE - 2 + LINE) // LINE * LINE
            extent = TileExtent(i0, j0, i1 - i0, j1 - j0, full)
            stream_planes(s, t, arrays, out, sides, extent, tk * nz // tiles_z, (tk + 1) * nz // tiles_z)


COLUMNS = 145  # maximum columns per tile, including ghost points
ROWS = {"single": 24, "double": 16}
PLANES = 24  # minimum planes per tile when the grid is split for more threads
LINE_VALUES = {"single": 16, "double": 8}  # values per cache line


def serves(device: Device, options: Options) -> bool:
    """Return whether the fused step supports these options."""
    return isinstance(device, CpuDevice) and options.passes == 2


class FusedPlan(StagedPlan):
    """Fused steps with one corrective pass, in one sweep through memory."""

    device: CpuDevice

    @cached_property
    def _packed(self) -> dict[tuple[bool, bool, bool], scratch_cpu.Sides]:
        return {}

    @cached_property
    def _tiles(self) -> tuple[int, int, int]:
        """Return the tiles along z, y and x: maximum for the scratch array, and four per thread if possible."""
        nz, ny, nx = self.shape
        across = -(-ny // ROWS[self.precision]), -(-nx // (COLUMNS - 2 * self.depth))
        splits = -(-4 * self.device.threads // (across[0] * across[1])) if self.device.threads > 1 else 1
        return max(1, min(splits, nz // PLANES)), *across

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """Return STRIDE, ROW and PLANE of the scratch array; one program serves all grids."""
        line = LINE_VALUES[self.precision]
        stride = -(-(COLUMNS - 1) // line) * line + line
        if self.shape[1] == 1:
            return {"STRIDE": stride, "ROW": 0, "PLANE": stride}
        return {"STRIDE": stride, "ROW": stride, "PLANE": stride * (ROWS[self.precision] + 2 * self.depth)}

    @cached_property
    def _scratch(self) -> Any:
        frames = scratch_cpu.SLIDE.default + self.depth - 1
        return self._lines(frames * scratch_cpu.FRAME)

    @cached_property
    def _extra(self) -> Any:
        return self._lines(2)

    def _lines(self, planes: int) -> Any:
        """Return planes of the scratch array for each thread, aligned to a cache line."""
        line, tiles = LINE_VALUES[self.precision], self._tiles[0] * self._tiles[1] * self._tiles[2]
        chunks, numbers = min(self.device.threads, tiles), planes * self._sizes["PLANE"] + 2 * line
        # Ones, so that divisions in the vector padding beyond the tile are valid.
        buffer = np.ones(chunks * numbers + line, self.dtype)
        first = -buffer.ctypes.data % 64 // buffer.itemsize
        return buffer[first : first + chunks * numbers].reshape(chunks, numbers)

    def _program(self, entry: Cell, variable: bool) -> Any:
        key = (entry, variable)
        if key not in self._programs:
            switches = {"GAUGE": self.options.gauge, "LIMITED": self.options.nonoscillatory, "VARIABLE_H": variable}
            switches |= {"MIN_DIVISOR": DIVISION_FLOOR[self.precision], "LINE": LINE_VALUES[self.precision]}
            switches |= {"EDGE": self.depth, **self._sizes}
            self._programs[key] = self.device.program(entry, self.precision, switches)
        return self._programs[key]

    @cached_property
    def _still(self) -> Advector:
        """Return zero fluxes: for axes of one point."""
        nz, ny, nx = self.shape
        shapes = ((nz, ny, nx + 1), (nz, ny + 1, nx), (nz + 1, ny, nx))
        one = [n == 1 for n in reversed(self.shape)]
        zeros = self.device.zeros
        return Advector(
            *(zeros(shape, self.dtype) if still else None for shape, still in zip(shapes, one, strict=True))
        )

    def _sides(self, odd: tuple[bool, bool, bool]) -> scratch_cpu.Sides:
        """Return the tables as two arrays."""
        if odd not in self._packed:
            longest = max(self.padded)
            index, numbers = np.zeros((3, 5, longest), np.int32), np.zeros((3, 5, 2, longest), self.dtype)
            for axis, (*tables, passable) in enumerate(self.tables(odd)):
                for kind, table in enumerate(tables):
                    index[axis, kind, : table.indices.size] = table.indices
                    numbers[axis, kind, 0, : table.indices.size] = table.factor
                    numbers[axis, kind, 1, : table.indices.size] = table.outside
                numbers[axis, scratch_cpu.PASSABLE, 0, : passable.size] = passable
            self._packed[odd] = scratch_cpu.Sides(index, numbers)
        return self._packed[odd]

    def together(self, transported: Sequence[tuple[Any, Any, tuple[bool, bool, bool]]], v: Advector) -> list[Work]:
        return [self._launch(*one, v) for one in transported]

    def _launch(self, x: Any, out: Any, odd: tuple[bool, bool, bool], v: Advector) -> Launch:
        faces = (still if still is not None else a for still, a in zip(self._still[:3], v[:3], strict=True))
        program = self._program(step_cpu, v.h is not None)
        h = x if v.h is None else v.h
        workspace = (self._sides(odd), self._scratch, self._extra, self._tiles)
        return Launch(program, (x, out, Advector(*faces), h, *workspace))
