"""Boundary pass: one kernel fills all ghost cells of a state from a table of segments.

A *tail* follows the ghosts (`TAIL`, a function of `eagre.stepping.clock`). It also evaluates the forcing at the end of
the next step. On a GPU the ghosts and the tail are one launch, so that a stage requires two launches. On a CPU they are
separate launches, so that the ghost kernel is not compiled for every tail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import (
    cell,
    cuda,
    entry,
    grid_dependency_wait,
    launch_dependents,
    real,
    serial_entry,
    switch,
)
from eagre.boundaries.base import GhostCell
from eagre.boundaries.conditions.wall import mirror
from eagre.boundaries.sides import FaceRange
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.kernels.elevation import base
from eagre.local_rows import Sides
from eagre.stepping.clock import DT, SPLIT, T, evaluate_series, open_gate, start_batch
from eagre.stepping.substeps import evaluate_series_of_stage

LAYERS = 2
# Columns of the segment table: index (j, i) of the first ghost cell, of the cell that it copies and of the boundary
# cell; then index increments along the side, from one ghost layer to the next and from one copied cell to the next.
GHOST_J, GHOST_I, COPY_J, COPY_I, FIRST_J, FIRST_I = 0, 1, 2, 3, 4, 5
ALONG_J, ALONG_I, OUT_J, OUT_I, STEP_J, STEP_I = 6, 7, 8, 9, 10, 11
LENGTH, KIND, NORMAL, SIGN, ELEVATIONS = 12, 13, 14, 15, 16
COLUMNS = 17
# Columns of a table of faces: the cell on the high side of a face, 1 across x and 2 across y, the sign of inflow.
FACE_J, FACE_I, ACROSS, INWARD = 0, 1, 2, 3

TAIL = switch("TAIL", start_batch)
SERIES = switch("SERIES", True)  # whether any series changes with time
FILL = switch("FILL", 1)  # when ghosts are filled: 0 never, 1 always, 2 if the previous stage has run
GHOST_0 = switch("GHOST_0", mirror)
GHOST_1 = switch("GHOST_1", mirror)
GHOST_2 = switch("GHOST_2", mirror)
GHOST_3 = switch("GHOST_3", mirror)
GHOST_4 = switch("GHOST_4", mirror)
GHOST_5 = switch("GHOST_5", mirror)


class Segments(NamedTuple):
    """Segments of the sides: their table, and the time-dependent and the constant number of each condition."""

    table: Any
    forcing: Any
    levels: Any


@cell
def ghost_of_kind(kind, cell_data, value, level, p):
    """Return the ghost state of the condition with the number `kind` in this model."""
    if kind == 1:
        return GHOST_1(cell_data, value, level, p)
    if kind == 2:
        return GHOST_2(cell_data, value, level, p)
    if kind == 3:
        return GHOST_3(cell_data, value, level, p)
    if kind == 4:
        return GHOST_4(cell_data, value, level, p)
    if kind == 5:
        return GHOST_5(cell_data, value, level, p)
    return GHOST_0(cell_data, value, level, p)


@cell
def corner_mean(bed, j, i):
    """Bed of cell (j, i), m: mean of its four corners."""
    return real(0.25) * ((bed[j, i] + bed[j + 1, i]) + (bed[j, i + 1] + bed[j + 1, i + 1]))


@cell
def face_bed(bed, j, i, across, sign):
    """Bed of the low (sign 1) or the high (-1) face of cell (j, i) across x (1) or y (2), m: mean of two corners."""
    if across == 1:
        i += 0 if sign > 0 else 1
        return real(0.5) * (bed[j, i] + bed[j + 1, i])
    j += 0 if sign > 0 else 1
    return real(0.5) * (bed[j, i] + bed[j, i + 1])


@cell
def ghost_cell(q, bed, segments, p, s, m, k):
    """Fill the ghost cell of layer k at cell m of segment s."""
    table, forcing, levels = segments
    along_j = m * table[s, ALONG_J]
    along_i = m * table[s, ALONG_I]
    j = table[s, GHOST_J] + along_j + k * table[s, OUT_J]
    i = table[s, GHOST_I] + along_i + k * table[s, OUT_I]
    cj = table[s, COPY_J] + along_j + k * table[s, STEP_J]
    ci = table[s, COPY_I] + along_i + k * table[s, STEP_I]
    fj = table[s, FIRST_J] + along_j
    fi = table[s, FIRST_I] + along_i
    across = table[s, NORMAL]
    along = 3 - across
    sign = real(table[s, SIGN])
    sj = fj + table[s, STEP_J]
    si = fi + table[s, STEP_I]
    bed_k, bed_1, bed_2 = corner_mean(bed, j, i), corner_mean(bed, fj, fi), corner_mean(bed, sj, si)
    level = base(bed_k)  # reference of all elevations, so that the result is eta of the ghost
    eta, n, t = ghost_of_kind(
        table[s, KIND],
        GhostCell(
        (q[0, fj, fi] + (base(bed_1) - level), sign * q[across, fj, fi], q[along, fj, fi]),
        (q[0, sj, si] + (base(bed_2) - level), sign * q[across, sj, si], bed_2 - level),
        (q[0, cj, ci] + (base(corner_mean(bed, cj, ci)) - level), sign * q[across, cj, ci], q[along, cj, ci]),
        bed_1 - level, bed_k - level, face_bed(bed, fj, fi, across, table[s, SIGN]) - level, real(k + 1)),
        real(forcing[s]) - real(table[s, ELEVATIONS] & 1) * level,
        levels[s] - real(table[s, ELEVATIONS] >> 1) * level, p,
    )  # fmt: skip
    q[0, j, i] = eta
    q[across, j, i] = sign * n
    q[along, j, i] = t


@cell
def fills(clock, parity):
    """Return whether this pass fills ghosts.

    Ghosts belong to the time of their state, and every tail advances the forcing. A pass after a skipped stage must
    leave the ghosts unchanged; otherwise they would receive the values of the next step.
    """
    if FILL == 2:
        return open_gate(clock, parity)
    return FILL == 1


@cell
def tail(forcing, clock, rates, series, parity):
    """Run the tail after a boundary pass and evaluate the forcing."""
    TAIL(clock, rates, parity)
    if SERIES and SPLIT > 0:
        evaluate_series_of_stage(forcing, series, clock)
    elif SERIES:
        evaluate_series(forcing, series, clock[T], clock[DT])


@serial_entry
def ghosts_cpu(q, bed, segments, p, clock, parity):
    """Fill all ghost cells."""
    count = segments.table.shape[0] if fills(clock, parity) else 0
    for s in range(count):
        for k in range(LAYERS):
            for m in range(segments.table[s, LENGTH]):
                ghost_cell(q, bed, segments, p, s, m, k)


@serial_entry
def tail_cpu(forcing, clock, rates, series, parity):
    """Run the tail."""
    tail(forcing, clock, rates, series, parity)


@entry
def boundary_pass_cuda(q, bed, segments, p, clock, rates_and_series, parity, arrived):
    """Fill all ghost cells, then run the tail; grid (blocks along a side, segments).

    The tail replaces the forcing that the ghosts read. With time series the last block to finish runs the tail. Without
    time series the first block runs it at once.
    """
    launch_dependents()
    grid_dependency_wait()
    s, (rates, series) = cuda.blockIdx.y, rates_and_series
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    m = thread // LAYERS
    if m < segments.table[s, LENGTH] and fills(clock, parity):
        ghost_cell(q, bed, segments, p, s, m, thread - m * LAYERS)
    if SERIES:
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            blocks = cuda.gridDim.x * cuda.gridDim.y
            cuda.threadfence()
            if cuda.atomic.inc(arrived, 0, np.uint32(blocks - 1)) == blocks - 1:
                cuda.threadfence()
                tail(segments.forcing, clock, rates, series, parity)
    elif thread == cuda.gridDim.x * cuda.blockDim.x - 1 and s == 0:
        tail(segments.forcing, clock, rates, series, parity)


def segment_table(segments: Sequence[FaceRange], grid: Grid) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the table of `segments` on `grid`, and the switches that bind its kinds of condition.

    Raises
    ------
    InputError
        If the number of kinds of condition exceeds the capacity of the pass.
    """
    kinds: list[Any] = []
    table = np.zeros((len(segments), COLUMNS), np.int64)
    for row, segment in zip(table, segments, strict=True):
        ghost = type(segment.condition).ghost
        if ghost not in kinds:
            kinds.append(ghost)
        along_x = segment.side in ("south", "north")
        low = segment.side in ("west", "south")
        cells = grid.ny if along_x else grid.nx
        copy = cells + 1 if low == segment.condition.periodic else 2
        inward = 1 if low else -1
        step = (-inward if segment.condition.periodic else inward) if cells > 1 else 0
        across = {"ghost": 1 if low else cells + 2, "copy": copy, "first": 2 if low else cells + 1}
        axis = 0 if along_x else 1  # axis normal to the side
        for name, column in (("ghost", GHOST_J), ("copy", COPY_J), ("first", FIRST_J)):
            row[column + axis] = across[name]
            row[column + 1 - axis] = segment.first + 2
        row[ALONG_J + 1 - axis] = 1
        row[OUT_J + axis] = -inward
        row[STEP_J + axis] = step
        row[LENGTH] = segment.last - segment.first
        row[KIND], row[NORMAL], row[SIGN] = kinds.index(ghost), 2 if along_x else 1, inward
        row[ELEVATIONS] = segment.condition.elevations
    if len(kinds) > 6:
        raise InputError(
            f"{len(kinds)} kinds of boundary condition", allowed="at most 6 per model",
            problem="The model has too many kinds of boundary condition.",
        )  # fmt: skip
    return table, {f"GHOST_{k}": ghost for k, ghost in enumerate(kinds)}


def faces_of(row: np.ndarray) -> np.ndarray:
    """Return the table of the boundary faces of a segment, (LENGTH, 4); row : row of the segment in `segment_table`."""
    m = np.arange(row[LENGTH])
    j, i = (FIRST_J, FIRST_I) if row[SIGN] > 0 else (GHOST_J, GHOST_I)
    faces = np.empty((m.size, 4), np.int64)
    faces[:, FACE_J], faces[:, FACE_I] = row[j] + m * row[ALONG_J], row[i] + m * row[ALONG_I]
    faces[:, ACROSS], faces[:, INWARD] = row[NORMAL], row[SIGN]
    return faces


def check_periodic_bed(bed: Sides, relief: float, periodic_x: bool, periodic_y: bool) -> None:
    """Raise `InputError` if the bed elevations of two periodic sides differ; relief : range of the bed, m."""
    along_y, along_x = bed.along_y, bed.along_x
    sides = (
        ("west and east", periodic_x, along_y[:, 0], along_y[:, -1]),
        ("south and north", periodic_y, along_x[0], along_x[-1]),
    )
    for names, joined, low, high in sides:
        step = np.abs(high - low)
        if joined and step.max() > 1e-6 * max(1.0, relief):
            raise InputError(
                f"a maximum difference of {step.max():.4g} m between the beds of the {names} sides",
                allowed="the same bed elevation at the corners of both sides",
                problem=f"The bed elevations of the periodic {names} sides differ.",
            )


def padded_bed_of_rows(
    bed: np.ndarray, ny: int, periodic: tuple[bool, bool], segments: Sequence[FaceRange], first: int
) -> np.ndarray:
    """Return `padded_bed` of a slab of a domain of `ny` rows, from the corners of the slab and of neighbouring rows.

    bed : rows first - 2 .. of the corners, of the domain or repeated across its periodic sides.
    """
    low = first - LAYERS if periodic[1] else max(first - LAYERS, 0)
    high = low + bed.shape[0] - 1
    clipped = []
    for segment in segments:
        if segment.side in ("west", "east"):
            start, stop = max(segment.first, low), min(segment.last, high)
            clipped += [replace(segment, first=start - low, last=stop - low)] if start <= stop else []
        elif not segment.condition.periodic and (low == 0 if segment.side == "south" else high == ny):
            clipped.append(segment)
    start = first - low
    padded = padded_bed(bed, periodic[0], False, clipped)
    return padded[start : padded.shape[0] - (0 if high == ny and not periodic[1] else LAYERS)]


def padded_bed(bed: np.ndarray, periodic_x: bool, periodic_y: bool, segments: Sequence[FaceRange] = ()) -> np.ndarray:
    """Return the bed at the corners with two ghost rows and columns: mirrored at walls, repeated at periodic sides.

    At open segments the bed is extrapolated with the slope of the last cell, as is the surface of a uniform flow. With
    `Condition.level_ghosts` it is level where it would rise, so that the ghosts are wet where the face is.

    bed : (ny + 1, nx + 1), m. Returns (ny + 5, nx + 5), m.
    """

    def index(n: int, periodic: bool) -> np.ndarray:
        k = np.arange(-LAYERS, n + 1 + LAYERS)
        if periodic:
            return k % n
        k = k % (2 * n)
        return np.minimum(k, 2 * n - k)

    ny, nx = bed.shape[0] - 1, bed.shape[1] - 1
    padded = np.ascontiguousarray(bed[np.ix_(index(ny, periodic_y), index(nx, periodic_x))])
    for segment in segments:
        if segment.condition.closed:
            continue
        along_x = segment.side in ("south", "north")
        view = padded if along_x else padded.T
        view = view if segment.side in ("south", "west") else view[::-1]
        extent = slice(segment.first + LAYERS, segment.last + LAYERS + 1)
        edge, slope = view[LAYERS, extent], view[LAYERS, extent] - view[LAYERS + 1, extent]
        slope = np.minimum(slope, 0.0) if segment.condition.level_ghosts else slope
        for k in range(1, LAYERS + 1):
            view[LAYERS - k, extent] = edge + k * slope
    return padded
