"""Multigrid cycle on the CPU: each thread processes layers sequentially in a scratch array that stays in its cache.

A row of a grid is stored as two rows, with points of even and of odd x, and one more point beyond either end.
Neighbours of one colour of a red-black sweep are then contiguous, and only points of that colour are computed. After a
sweep the residual is zero at black points, and the next sweep starts with red points, independent of their values.
Therefore only red residuals are restricted, and corrections are added to black points only. Cycles without pre- or
post-smoothing use `kernels`; the results agree except for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real
from eagre.backend.device import Device, Launch
from eagre.kernels.neighbour_indices import neighbour
from eagre.solvers.multigrid.kernels import Screening
from eagre.solvers.multigrid.plan import Grid

MARGIN = 8  # padding before the first point of a row: one vector
START, RED, BLACK, DOWN, UP = range(5)  # half sweep from zero, half sweeps, restriction, prolongation
COLUMNS = 13  # values per grid in the table: points, offsets of its arrays, axes
NY, NX, PITCH, U, F, INVERSE, DIAGONAL, R, Q, STEP_Y, STEP_X, PERIODIC_Y, PERIODIC_X = range(COLUMNS)


@cell
def grid_of(table, level):
    """Return a row of the table as scalars."""
    t = table[level]
    return t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12]


@cell
def row(grid, start, parity, j):
    """Return the offset of the points of a parity of row j in the array at start, after the padding."""
    return np.uint32(start + (parity * grid[NY] + j) * grid[PITCH])


@cell
def lanes(count):
    """Return a number of points rounded up to full vectors."""
    return (count + MARGIN - 1) // MARGIN * MARGIN


@cell
def close_row(a, offset, parity, grid):
    """Set the points beyond the ends of a row: mirrored at a wall, or wrapped."""
    last = np.int64(offset) + MARGIN + (grid[NX] + 1 - parity) // 2 - 1
    if grid[PERIODIC_X]:
        a[offset + (MARGIN - 1)] = a[last]
        a[last + 1] = a[offset + MARGIN] if parity == 0 else a[last]
    else:
        a[offset + (MARGIN - 1)] = a[offset + MARGIN]
        a[last + 1] = a[last]


@cell
def sides(grid, start, parity, j, other):
    """Return the rows south and north of a row; for a grid of one row another row, with zero weight."""
    ny, periodic = grid[NY], grid[PERIODIC_Y]
    if ny == 1:
        return other, other
    south, north = neighbour(j, -1, ny, periodic), neighbour(j, 1, ny, periodic)
    return row(grid, start, parity, south), row(grid, start, parity, north)


@cell
def half_sweep(a, grid, over, colour, from_zero):
    """Relax u at the points of a colour, 0 or 1; over : 1 / dx^2 and 1 / dy^2."""
    cx, cy = over[0], over[1]
    for j in range(grid[NY]):
        parity = (j + colour) & 1
        count = lanes((grid[NX] + 1 - parity) // 2)
        u_row, f, inverse = (
            row(grid, grid[U], parity, j),
            row(grid, grid[F], parity, j),
            row(grid, grid[INVERSE], parity, j),
        )
        if from_zero:
            for i in range(count):
                a[u_row + i + MARGIN] = -a[f + i + MARGIN] * a[inverse + i + MARGIN]
        else:
            west = np.uint32(row(grid, grid[U], 1 - parity, j) + parity)
            south, north = sides(grid, grid[U], parity, j, west)
            for i in range(count):
                total = cx * (a[west + i + (MARGIN - 1)] + a[west + i + MARGIN]) - a[f + i + MARGIN]
                total += cy * (a[south + i + MARGIN] + a[north + i + MARGIN])
                a[u_row + i + MARGIN] = total * a[inverse + i + MARGIN]
        close_row(a, u_row, parity, grid)


@cell
def set_residual(a, grid, over):
    """Compute the residual at red points."""
    cx, cy = over[0], over[1]
    for j in range(grid[NY]):
        parity = j & 1
        u_row, f, to = row(grid, grid[U], parity, j), row(grid, grid[F], parity, j), row(grid, grid[R], 0, j)
        diagonal = row(grid, grid[DIAGONAL], 0, j)
        west = np.uint32(row(grid, grid[U], 1 - parity, j) + parity)
        south, north = sides(grid, grid[U], parity, j, west)
        for i in range(lanes((grid[NX] + 1 - parity) // 2)):
            total = a[f + i + MARGIN] - cx * (a[west + i + (MARGIN - 1)] + a[west + i + MARGIN])
            total -= cy * (a[south + i + MARGIN] + a[north + i + MARGIN])
            a[to + i + MARGIN] = total + a[diagonal + i + MARGIN] * a[u_row + i + MARGIN]
        close_row(a, to, parity, grid)


@cell
def weigh_row(a, grid, j, n, line):
    """Compute the full weighting of the residual along x for n points of the coarser row at row j."""
    to, r_row = np.uint32(line), row(grid, grid[R], 0, j)
    if grid[STEP_Y] == 2:
        south, north = sides(grid, grid[R], 0, j, r_row)
        for i in range(n):
            total = (a[south + i + (MARGIN - 1)] + a[south + i + MARGIN]) + (
                a[north + i + (MARGIN - 1)] + a[north + i + MARGIN]
            )
            a[to + i + MARGIN] = real(0.25) * a[r_row + i + MARGIN] + real(0.0625) * total
    elif j & 1:
        for i in range(n):
            a[to + i + MARGIN] = real(0.25) * (a[r_row + i + (MARGIN - 1)] + a[r_row + i + MARGIN])
    else:
        for i in range(n):
            a[to + i + MARGIN] = real(0.5) * a[r_row + i + MARGIN]


@cell
def restrict(a, grid, coarser, line):
    """Restrict the residual, zero at black points, to the right-hand side of the coarser grid; line : work row."""
    nx = coarser[NX]
    for j in range(coarser[NY]):
        even, odd, fine = row(coarser, coarser[F], 0, j), row(coarser, coarser[F], 1, j), j * grid[STEP_Y]
        if grid[STEP_X] == 2:
            weigh_row(a, grid, fine, nx, line)
            offset = np.uint32(line)
            for i in range((nx + 1) // 2):
                a[even + i + MARGIN] = a[offset + 2 * i + MARGIN]
            for i in range(nx // 2):
                a[odd + i + MARGIN] = a[offset + 2 * i + (MARGIN + 1)]
        else:
            r_row = row(grid, grid[R], 0, fine)
            south, north = sides(grid, grid[R], 0, fine, r_row)
            for i in range((nx + 1) // 2):
                a[even + i + MARGIN] = real(0.5) * a[r_row + i + MARGIN]
            for i in range(nx // 2):
                a[odd + i + MARGIN] = real(0.25) * (a[south + i + MARGIN] + a[north + i + MARGIN])


@cell
def join_row(a, coarser, j, next_j, line):
    """Compute half the sum of two rows of the coarser grid, with contiguous points and the point beyond the end."""
    to, nx = np.uint32(line), coarser[NX]
    even, odd = row(coarser, coarser[U], 0, j), row(coarser, coarser[U], 1, j)
    even_next, odd_next = row(coarser, coarser[U], 0, next_j), row(coarser, coarser[U], 1, next_j)
    for i in range((nx + 1) // 2):
        a[to + 2 * i + MARGIN] = real(0.5) * (a[even + i + MARGIN] + a[even_next + i + MARGIN])
    for i in range(nx // 2):
        a[to + 2 * i + (MARGIN + 1)] = real(0.5) * (a[odd + i + MARGIN] + a[odd_next + i + MARGIN])
    a[np.int64(to) + MARGIN + nx] = a[to + MARGIN]


@cell
def prolong(a, grid, coarser, line):
    """Add the bilinear interpolation of the coarser u to u at black points; line : work row."""
    for j in range(grid[NY]):
        parity, offset = 1 - (j & 1), np.uint32(line)
        count, u_row, from_row = (grid[NX] + 1 - parity) // 2, row(grid, grid[U], parity, j), j // grid[STEP_Y]
        between = grid[STEP_Y] == 2 and (j & 1) == 1
        next_row = neighbour(from_row, 1, coarser[NY], coarser[PERIODIC_Y]) if between else from_row
        if grid[STEP_X] == 2:
            join_row(a, coarser, from_row, next_row, line)
            if parity == 1:
                for i in range(count):
                    a[u_row + i + MARGIN] += real(0.5) * (a[offset + i + MARGIN] + a[offset + i + (MARGIN + 1)])
            else:
                for i in range(count):
                    a[u_row + i + MARGIN] += a[offset + i + MARGIN]
        else:
            first, second = row(coarser, coarser[U], parity, from_row), row(coarser, coarser[U], parity, next_row)
            for i in range(count):
                a[u_row + i + MARGIN] += real(0.5) * (a[first + i + MARGIN] + a[second + i + MARGIN])
        close_row(a, u_row, parity, grid)


@cell
def set_diagonals(a, grid, over, s, q):
    """Set the negative diagonal at red points, and its inverse at all points; zero beyond the ends."""
    centre = real(2.0) * (over[0] + over[1])
    for j in range(grid[NY]):
        for parity in range(2):
            to, q_row = row(grid, grid[INVERSE], parity, j), row(grid, grid[Q], parity, j)
            for i in range((grid[NX] + 1 - parity) // 2):
                a[to + i + MARGIN] = real(1.0) / (centre + s * q[q_row + i + MARGIN])
        to, q_row = row(grid, grid[DIAGONAL], 0, j), row(grid, grid[Q], j & 1, j)
        for i in range((grid[NX] + 1 - (j & 1)) // 2):
            a[to + i + MARGIN] = centre + s * q[q_row + i + MARGIN]


@cell
def load(a, grid, start, v, k):
    """Copy a layer of v, (layers, ny, nx), to the scratch array."""
    half = grid[NX] // 2
    for j in range(grid[NY]):
        even, odd = row(grid, start, 0, j), row(grid, start, 1, j)
        for i in range(half):
            a[even + i + MARGIN] = v[k, j, 2 * i]
            a[odd + i + MARGIN] = v[k, j, 2 * i + 1]
        if grid[NX] & 1:
            a[even + half + MARGIN] = v[k, j, 2 * half]
        close_row(a, even, 0, grid)
        close_row(a, odd, 1, grid)


@cell
def store(a, grid, u, k):
    """Copy layer k of u from the scratch array."""
    half = grid[NX] // 2
    for j in range(grid[NY]):
        even, odd = row(grid, grid[U], 0, j), row(grid, grid[U], 1, j)
        for i in range(half):
            u[k, j, 2 * i] = a[even + i + MARGIN]
            u[k, j, 2 * i + 1] = a[odd + i + MARGIN]
        if grid[NX] & 1:
            u[k, j, 2 * half] = a[even + half + MARGIN]


@cell
def add_weighed(q, a, grid, j, weight, n, line):
    """Add a fraction of row j, weighted along x, to n points of the coarser row."""
    to, even, odd = np.uint32(line), row(grid, grid[Q], 0, j), row(grid, grid[Q], 1, j)
    if grid[STEP_X] == 2:
        for i in range(n):
            neighbours = q[odd + i + (MARGIN - 1)] + q[odd + i + MARGIN]
            a[to + i + MARGIN] += weight * (real(0.25) * neighbours + real(0.5) * q[even + i + MARGIN])
    else:
        for i in range((n + 1) // 2):
            a[to + 2 * i + MARGIN] += weight * q[even + i + MARGIN]
        for i in range(n // 2):
            a[to + 2 * i + (MARGIN + 1)] += weight * q[odd + i + MARGIN]


@cell
def part_row(v, offset, q, grid, j):
    """Copy contiguous values v from `offset` on to row j of the screening of a grid."""
    even, odd = row(grid, grid[Q], 0, j), row(grid, grid[Q], 1, j)
    for i in range((grid[NX] + 1) // 2):
        q[even + i + MARGIN] = v[offset + 2 * i]
    for i in range(grid[NX] // 2):
        q[odd + i + MARGIN] = v[offset + 2 * i + 1]
    close_row(q, even, 0, grid)
    close_row(q, odd, 1, grid)


@entry
def screen_cpu(finest, q, table, level, scratch):
    """Store the screening of a grid in q, for all grids: `finest`, (ny * nx,), or full weighting of the finer one."""
    chunks, ny = scratch.shape[0], table[level, NY]
    for chunk in prange(chunks):
        a, grid, finer = scratch[chunk], grid_of(table, level), grid_of(table, max(level - 1, 0))
        line = np.int64(a.shape[0] - 2 * (table[0, NX] + 2 * MARGIN))
        offset = np.uint32(line + MARGIN)
        for j in range(chunk * ny // chunks, (chunk + 1) * ny // chunks):
            if level == 0:
                part_row(finest, np.uint32(j * grid[NX]), q, grid, j)
            else:
                for i in range(grid[NX]):
                    a[offset + i] = real(0.0)
                if finer[STEP_Y] == 2:
                    for side in range(-1, 2):
                        from_row = neighbour(2 * j, side, finer[NY], finer[PERIODIC_Y])
                        add_weighed(q, a, finer, from_row, real(0.5) if side == 0 else real(0.25), grid[NX], line)
                else:
                    add_weighed(q, a, finer, j, real(1.0), grid[NX], line)
                part_row(a, offset, q, grid, j)


@entry
def cycle_cpu(u, f, screening, grids, operations, scratch):
    """Compute one cycle on each layer of u and f, (layers, ny, nx).

    screening : factor of each layer, and field on all grids as stored by `screen_cpu`; grids : (grids, COLUMNS) table,
    and (grids, 2) values of 1 / dx^2 and 1 / dy^2; scratch : (chunks, numbers), initially 0; operations : (n, 2),
    operation and grid, then (layers, 3), first and last operation of a layer and its number of grids, then whether the
    initial guess is 0
    """
    (s, q), (table, over), (work, ranges, from_zero) = screening, grids, operations
    chunks, layers = scratch.shape[0], u.shape[0]
    for chunk in prange(chunks):
        a, finest = scratch[chunk], grid_of(table, 0)
        line = a.shape[0] - 2 * (finest[NX] + 2 * MARGIN)
        for k in range(chunk * layers // chunks, (chunk + 1) * layers // chunks):
            load(a, finest, finest[F], f, k)
            if not from_zero:
                load(a, finest, finest[U], u, k)
            for level in range(ranges[k, 2]):
                set_diagonals(a, grid_of(table, level), (over[level, 0], over[level, 1]), s[k], q)
            for n in range(ranges[k, 0], ranges[k, 1]):
                what, level = work[n, 0], work[n, 1]
                grid, weights = grid_of(table, level), (over[level, 0], over[level, 1])
                if what <= BLACK:
                    half_sweep(a, grid, weights, int(what == BLACK), what == START)
                elif what == DOWN:
                    set_residual(a, grid, weights)
                    restrict(a, grid, grid_of(table, level + 1), line)
                else:
                    prolong(a, grid, grid_of(table, level + 1), line)
            store(a, finest, u, k)


def table_of(grids: Sequence[Grid]) -> tuple[np.ndarray, int, int]:
    """Return the table of `cycle_cpu.cycle_cpu`, the size of the scratch array, and of the screening of all grids."""
    table, end, end_of_q = np.zeros((len(grids), COLUMNS), np.int64), 0, 0
    for row, grid in zip(table, grids, strict=True):
        ny, nx = grid.shape
        pitch = MARGIN + -(-((nx + 1) // 2) // MARGIN) * MARGIN
        plane = ny * pitch
        row[[NY, NX, PITCH, Q]] = ny, nx, pitch, end_of_q
        row[[U, F, INVERSE, DIAGONAL, R]] = end + plane * np.array([0, 2, 4, 6, 7])
        row[[STEP_Y, STEP_X]] = grid.step_y, grid.step_x
        row[[PERIODIC_Y, PERIODIC_X]] = grid.y.periodic, grid.x.periodic
        end, end_of_q = end + 8 * plane + MARGIN, end_of_q + 2 * plane
    return table, end + 2 * (grids[0].shape[1] + 2 * MARGIN), end_of_q + MARGIN


def work_of(used: int, grids: int, cycle: str, pre: int, post: int, coarsest: int, from_zero: bool) -> np.ndarray:
    """Return the operations of a cycle on the first `used` grids, (n, 2): operation, and grid."""

    def sweeps(level: int, count: int, zero: bool) -> list[tuple[int, int]]:
        operations = [(RED, level), (BLACK, level)] * count
        return [(START, level), *operations[1:]] if zero and operations else operations

    def cycle_from(level: int, cycle: str, zero: bool) -> list[tuple[int, int]]:
        if level == used - 1:
            return sweeps(level, coarsest if used == grids else pre + post, zero)
        operations = [*sweeps(level, pre, zero), (DOWN, level), *cycle_from(level + 1, cycle, True)]
        if cycle != "V" and level + 2 < grids:
            operations += cycle_from(level + 1, "W" if cycle == "W" else "V", False)
        return [*operations, (UP, level), *sweeps(level, post, False)]

    return np.array(cycle_from(0, cycle, from_zero), np.int64)


class CpuCycle:
    """CPU cycles of a `Multigrid`: one thread per layer at most, each with its own scratch array.

    Parameters
    ----------
    device : Device
    precision : {"single", "double"}
    grids : sequence of Grid
    layers : int
    over : (grids, 2)
        1 / dx^2 and 1 / dy^2, 0 along an axis of one point.
    """

    def __init__(self, device: Device, precision: str, grids: Sequence[Grid], layers: int, over: np.ndarray) -> None:
        real = np.float32 if precision == "single" else np.float64
        self._program, self._screen = (device.program(one, precision) for one in (cycle_cpu, screen_cpu))
        self._table, size, size_of_q = table_of(grids)
        self._q = device.zeros((size_of_q,), real)
        self._over = over.astype(real)
        self._scratch = device.zeros((min(layers, getattr(device, "threads", 1)), size), real)

    def launch(self, u: Any, f: Any, s: Any, used: Sequence[int], from_zero: bool, **cycle: Any) -> Launch:
        """Return a cycle; used : number of grids of each layer; cycle : arguments of `work_of`."""
        each = [work_of(count, len(self._table), from_zero=from_zero, **cycle) for count in used]
        ends = np.cumsum([len(one) for one in each])
        ranges = np.stack([ends - [len(one) for one in each], ends, np.array(used)], axis=1)
        work = np.concatenate(each)
        grids, operations = (self._table, self._over), (work, np.ascontiguousarray(ranges), from_zero)
        return Launch(self._program, (u, f, Screening(s, self._q), grids, operations, self._scratch))

    def screening_launches(self, q: Any, grids: int) -> list[Launch]:
        """Return launches that restrict the screening, (1, ny, nx), to `grids` grids."""
        known = (q.reshape(-1), self._q, self._table)
        return [Launch(self._screen, (*known, level, self._scratch)) for level in range(grids)]
