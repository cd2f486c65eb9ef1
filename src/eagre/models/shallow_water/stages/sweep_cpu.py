"""Stage of a sweep along x or y on the CPU, for the split schemes: row streaming of tiles in one direction.

See `row_streaming_cpu`. Along x the rows are independent. Along y the scratch of the tile stores the data for the next
row.
"""

from typing import NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real
from eagre.boundaries.edges import NORTH, SOUTH
from eagre.kernels.bits import to_bits
from eagre.kernels.elevation import depth, noise_of, surface
from eagre.models.shallow_water.kernels import (
    FRICTION,
    LEAVES,
    PART,
    PRIMITIVE,
    SKIP_DRY,
    TAKES_UP,
    Stage,
    Water,
    bed_centre,
    first_of_sweep,
    first_update,
    friction_duration,
    fully_wet,
    kept_momentum,
    manning_of,
    over_depth,
    second_of_sweep,
    second_update,
    seed_of_part,
    with_friction_across,
    with_terms,
    with_terms_of_sweep,
)
from eagre.models.shallow_water.stages.row_streaming_cpu import (
    COVERED,
    DRY,
    FACE_L,
    FACE_M,
    FACE_R,
    FACE_T,
    NORTH_B,
    NORTH_M,
    NORTH_T,
    OVER0,
    RISE0,
    RISE_X,
    SCRATCH,
    SHORES,
    SOUTH_M,
    SOUTH_N,
    SOUTH_T,
    U0,
    V0,
    W0,
    WIDTH,
    RowCells,
    Tile,
    apply_friction,
    close_ends,
    close_y,
    fluxes_x,
    fluxes_y,
    row_class,
    velocities,
)
from eagre.stepping.clock import ACCEPTED, DT, open_gate
from eagre.stepping.substeps import stage_of
from eagre.terms.compose import TERM_FACTORS, TERMS

ETA_N, HU_N, HV_N = SCRATCH, SCRATCH + WIDTH, SCRATCH + 2 * WIDTH  # a row of the state before the sweep
SWEEP_SCRATCH = SCRATCH + 3 * WIDTH


class Role(NamedTuple):
    """Task of a launch: the stage with its gate, the direction of a sweep, and whether it is a second stage."""

    phase: int
    across: int  # 1 along x, 2 along y
    second: bool


@cell
def row_of_sweep(q, bed, s, j, i0, n, p):
    """Compute surface, velocities and 1/h of row j."""
    for i in range(n):
        b = bed_centre(bed, j, i0 + i)
        over_h = over_depth(depth(q[0, j, i0 + i], b), p)
        s[W0 + i] = surface(q[0, j, i0 + i], b)
        s[OVER0 + i] = over_h
        s[U0 + i] = PRIMITIVE(q[1, j, i0 + i], over_h)
        s[V0 + i] = PRIMITIVE(q[2, j, i0 + i], over_h)


@cell
def row_class_along_x(bed, s, j, i0, n, p):
    """Classify row j for fluxes in x only; see `row_streaming_cpu.row_class`."""
    uncovered = 0
    for i in range(n):
        c = i0 + i
        w = s[W0 + 1 + i]
        high = max(max(bed[j, c + 1], bed[j, c + 2]), max(bed[j + 1, c + 1], bed[j + 1, c + 2]))
        uncovered += 0 if fully_wet(min(w, min(s[W0 + i], s[W0 + 2 + i])) - high, w, p) else 1
    if uncovered == 0:
        return COVERED
    wet = 0
    for i in range(n):
        wet += 1 if s[OVER0 + 1 + i] > real(0.0) else 0
    return DRY if SKIP_DRY and wet == 0 else SHORES


@cell
def keep_before(old, s, j, i0, n):
    """Copy row j of the state before the sweep, because `out` can be the same array."""
    for i in range(n):
        s[ETA_N + i] = old[0, j, i0 + 2 + i]
        s[HU_N + i] = old[1, j, i0 + 2 + i]
        s[HV_N + i] = old[2, j, i0 + 2 + i]


@cell
def update_of_sweep(buffers, domain, forcing, s, cells, across, second, stage):
    """Compute cells of an interior row of the new state."""
    q, out, bed = buffers.q, buffers.out, domain.bed
    row, i0, n = cells
    p, dt, seed = stage
    j = row + 2
    for i in range(n):
        c = i0 + i + 2
        h = depth(q[0, j, c], bed_centre(bed, j, c))
        gh = p.g * h
        if across == 1:
            water = Water(q[0, j, c], q[1, j, c], q[2, j, c], h, s[U0 + i + 2], s[V0 + i + 2])
            r_h = p.over_dx * (s[FACE_M + i] - s[FACE_M + i + 1])
            r_m = p.over_dx * (s[FACE_R + i] - s[FACE_L + i + 1] - gh * s[RISE_X + i + 1])
            r_t = p.over_dx * (s[FACE_T + i] - s[FACE_T + i + 1])
            state_n = s[ETA_N + i], s[HU_N + i], s[HV_N + i]
        else:
            water = Water(q[0, j, c], q[2, j, c], q[1, j, c], h, s[V0 + i + 2], s[U0 + i + 2])
            r_h = p.over_dy * (s[SOUTH_M + i] - s[NORTH_M + i])
            r_m = p.over_dy * (s[SOUTH_N + i] - s[NORTH_B + i] - gh * s[RISE0 + i])
            r_t = p.over_dy * (s[SOUTH_T + i] - s[NORTH_T + i])
            state_n = s[ETA_N + i], s[HV_N + i], s[HU_N + i]
        rates, noise = (r_h, r_m, r_t), noise_of(seed, row, i0 + i)
        if TERMS:
            rates = with_terms_of_sweep(rates, water, across, forcing, row, i0 + i)
        m, t = kept_momentum(h, water.hu, water.u, p), kept_momentum(h, water.hv, water.v, p)
        if second:
            eta, m, t = second_of_sweep(water.eta, m, t, state_n, rates, noise, dt)
        else:
            eta, m, t = first_of_sweep(water.eta, m, t, rates, noise, dt)
        out[0, j, c] = eta
        out[across, j, c] = m
        out[3 - across, j, c] = t


@cell
def apply_friction_across(q, out, domain, s, cells, across, second, stage):
    """Apply bed friction to the normal momentum after a stage of a sweep from q; see `apply_friction`."""
    if FRICTION != 0:
        row, i0, n = cells
        p, j, dt = stage.p, row + 2, friction_duration(stage.dt, second)
        across_row, along_row = (U0, V0) if across == 1 else (V0, U0)
        for i in range(n):
            c = i0 + i + 2
            b, g_n2 = bed_centre(domain.bed, j, c), manning_of(domain.manning, row, i0 + i, p)
            h = depth(q[0, j, c], b)
            m = kept_momentum(h, q[across, j, c], s[across_row + i + 2], p)
            t = kept_momentum(h, q[3 - across, j, c], s[along_row + i + 2], p)
            out[across, j, c] = with_friction_across(out[across, j, c], m, t, depth(out[0, j, c], b), g_n2, dt, p)


@cell
def leave_row(out, bed, q, s, cells, p):
    """Store the tendencies along x of cells of an interior row."""
    row, i0, n = cells
    j = row + 2
    for i in range(n):
        c = i0 + i + 2
        gh = p.g * depth(q[0, j, c], bed_centre(bed, j, c))
        out[0, j, c] = p.over_dx * (s[FACE_M + i] - s[FACE_M + i + 1])
        out[1, j, c] = p.over_dx * (s[FACE_R + i] - s[FACE_L + i + 1] - gh * s[RISE_X + i + 1])
        out[2, j, c] = p.over_dx * (s[FACE_T + i] - s[FACE_T + i + 1])


@cell
def take_up_row(buffers, domain, forcing, s, cells, second, stage):
    """Compute cells of an interior row of the new state from the tendencies along x in `left` and those along y."""
    q, out, left = buffers.q, buffers.out, buffers.left
    row, i0, n = cells
    p, dt, seed = stage
    j = row + 2
    for i in range(n):
        c = i0 + i + 2
        eta = q[0, j, c]
        h = depth(eta, bed_centre(domain.bed, j, c))
        r_h = left[0, j, c] + p.over_dy * (s[SOUTH_M + i] - s[NORTH_M + i])
        r_u = left[1, j, c] + p.over_dy * (s[SOUTH_T + i] - s[NORTH_T + i])
        r_v = left[2, j, c] + p.over_dy * (s[SOUTH_N + i] - s[NORTH_B + i] - p.g * h * s[RISE0 + i])
        water, rates = Water(eta, q[1, j, c], q[2, j, c], h, s[U0 + i + 2], s[V0 + i + 2]), (r_h, r_u, r_v)
        if TERMS:
            rates = with_terms(rates, water, forcing, row, i0 + i)
        noise = noise_of(seed, row, i0 + i)
        if second:
            eta, hu, hv = second_update(water, (s[ETA_N + i], s[HU_N + i], s[HV_N + i]), rates, noise, p, dt)
        else:
            eta, hu, hv = first_update(water, rates, noise, p, dt)
        out[0, j, c] = eta
        out[1, j, c] = hu
        out[2, j, c] = hv


@cell
def update_row(buffers, domain, forcing, s, cells, across, second, stage):
    """Run the update selected by PART; each stage has its own loop without branches per cell."""
    q, out = buffers.q, buffers.out
    if PART == LEAVES:
        leave_row(out, domain.bed, q, s, cells, stage.p)
    elif PART == TAKES_UP:
        if second:
            keep_before(buffers.old, s, cells.j + 2, cells.i0, cells.n)
            take_up_row(buffers, domain, forcing, s, cells, True, stage)
        else:
            take_up_row(buffers, domain, forcing, s, cells, False, stage)
        apply_friction(out, domain, cells, second, stage)
    else:
        if second:
            keep_before(buffers.old, s, cells.j + 2, cells.i0, cells.n)
            update_of_sweep(buffers, domain, forcing, s, cells, across, True, stage)
        else:
            update_of_sweep(buffers, domain, forcing, s, cells, across, False, stage)
        apply_friction_across(q, out, domain, s, cells, across, second, stage)


@cell
def tile_along_x(buffers, domain, terms, s, tile, second, stage):
    """Compute a stage along x on one tile; return its maximum rate as bits."""
    q, p = buffers.q, stage.p
    rate, nx = real(0.0), q.shape[2] - 4
    j0, i0, rows, columns = tile
    forcing = (terms, TERM_FACTORS(terms, 0))
    for r in range(rows):
        j, row = j0 + r + 2, j0 + r
        row_of_sweep(q, domain.bed, s, j, i0, columns + 4, p)
        kind = row_class_along_x(domain.bed, s, j, i0, columns + 2, p)
        rate = max(rate, fluxes_x(q, domain, s, RowCells(j, i0, columns), kind, p) * p.over_dx)
        close_ends(domain.edges, s, row, i0, columns, nx)
        update_row(buffers, domain, forcing, s, RowCells(row, i0, columns), 1, second, stage)
    return to_bits(rate)


@cell
def tile_along_y(buffers, domain, terms, s, tile, second, stage):
    """Compute a stage along y on one tile; see `tile_along_x`."""
    for k in range(SWEEP_SCRATCH):
        s[k] = real(0.0)
    q, p, bed = buffers.q, stage.p, domain.bed
    rate, ny = real(0.0), q.shape[1] - 4
    j0, i0, rows, columns = tile
    forcing = (terms, TERM_FACTORS(terms, 0))
    kind, above = SHORES, SHORES
    for r in range(rows + 4):
        velocities(q, bed, s, j0 + r, i0, columns + 4, p)
        if r >= 2:
            kind, above = above, row_class(bed, s, j0 + (r - 2), i0, columns + 2, p)
            met = fluxes_y(q, domain, s, RowCells(j0 + (r - 2), i0, columns), kind, above, p)
            rate = max(rate, met * p.over_dy) if r >= 3 else rate  # the first rows have no row below
        if r == 3 and j0 == 0:
            close_y(domain.edges, s, SOUTH, i0, columns)
        if r >= 4:
            row = j0 + (r - 4)  # of the new state
            if row == ny - 1:
                close_y(domain.edges, s, NORTH, i0, columns)
            update_row(buffers, domain, forcing, s, RowCells(row, i0, columns), 2, second, stage)
    return to_bits(rate)


@entry
def sweep_cpu(buffers, domain, terms, work, p, clock, role):
    """Compute one stage of a sweep from q into out over all tiles, or the PART of a stage.

    buffers : `SplitBuffers`; `out` can be `old`, which is read one row before it is written. work : `TileWork`; role :
    `Role`
    """
    phase, across, second = role.phase, role.across, role.second
    scratch, tiles, rates = work.scratch, work.tiles, buffers.rates
    dt, seed, count = real(clock[DT]), seed_of_part(clock, stage_of(phase), second, p), tiles.shape[0]
    runs = open_gate(clock, phase) and (PART == 0 or not second or clock[ACCEPTED] > 0.0)
    workers = min(count, scratch.shape[0]) if runs else 0
    for worker in prange(workers):
        s, stage, max_rate = scratch[worker], Stage(p, dt, seed), to_bits(real(0.0))
        for k in range(worker, count, workers):
            tile = Tile(tiles[k, 0], tiles[k, 1], np.int64(tiles[k, 2]), np.int64(tiles[k, 3]))
            if PART == LEAVES or (PART == 0 and across == 1):
                rate = tile_along_x(buffers, domain, terms, s, tile, second, stage)
            else:
                rate = tile_along_y(buffers, domain, terms, s, tile, second, stage)
            max_rate = max(max_rate, rate)
        rates[worker] = max(max_rate, rates[worker]) if PART == TAKES_UP else max_rate
