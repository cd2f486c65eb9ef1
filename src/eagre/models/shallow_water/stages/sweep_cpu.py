"""Stage of a sweep along x or y on the CPU, for the split schemes: row streaming of tiles in one direction.

See `row_streaming_cpu`. Along x the rows are independent. Along y the scratch of the tile stores the data for the next
row.
"""

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real
from eagre.boundaries.edges import NORTH, SOUTH
from eagre.kernels.bits import to_bits
from eagre.kernels.elevation import depth, noise_of, surface
from eagre.models.shallow_water.kernels import (
    LEAVES,
    PART,
    PRIMITIVE,
    SKIP_DRY,
    TAKES_UP,
    bed_centre,
    first_of_sweep,
    first_update,
    fully_wet,
    kept_momentum,
    over_depth,
    second_of_sweep,
    second_update,
    seed_of_part,
    with_terms,
    with_terms_of_sweep,
)
from eagre.models.shallow_water.stages.friction_cpu import apply_friction, apply_friction_across
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
def update_of_sweep(q, out, bed, forcing, s, row, i0, n, across, second, seed, p, dt):
    """Compute interior row `row` of the new state."""
    j = row + 2
    for i in range(n):
        c = i0 + i + 2
        h = depth(q[0, j, c], bed_centre(bed, j, c))
        gh = p.g * h
        if across == 1:
            m, t, u_m, u_t = q[1, j, c], q[2, j, c], s[U0 + i + 2], s[V0 + i + 2]
            r_h = p.over_dx * (s[FACE_M + i] - s[FACE_M + i + 1])
            r_m = p.over_dx * (s[FACE_R + i] - s[FACE_L + i + 1] - gh * s[RISE_X + i + 1])
            r_t = p.over_dx * (s[FACE_T + i] - s[FACE_T + i + 1])
            m_n, t_n = s[HU_N + i], s[HV_N + i]
        else:
            m, t, u_m, u_t = q[2, j, c], q[1, j, c], s[V0 + i + 2], s[U0 + i + 2]
            r_h = p.over_dy * (s[SOUTH_M + i] - s[NORTH_M + i])
            r_m = p.over_dy * (s[SOUTH_N + i] - s[NORTH_B + i] - gh * s[RISE0 + i])
            r_t = p.over_dy * (s[SOUTH_T + i] - s[NORTH_T + i])
            m_n, t_n = s[HV_N + i], s[HU_N + i]
        if TERMS:
            r_h, r_m = with_terms_of_sweep(r_h, r_m, h, m, t, across, forcing, row, i0 + i)
        m, t = kept_momentum(h, m, u_m, p), kept_momentum(h, t, u_t, p)
        rates = (r_h, r_m, r_t, noise_of(seed, row, i0 + i), dt)
        if second:
            eta, m, t = second_of_sweep(q[0, j, c], m, t, s[ETA_N + i], m_n, t_n, *rates)
        else:
            eta, m, t = first_of_sweep(q[0, j, c], m, t, *rates)
        out[0, j, c] = eta
        out[across, j, c] = m
        out[3 - across, j, c] = t


@cell
def leave_row(out, bed, q, s, row, i0, n, p):
    """Store the tendencies along x of interior row `row`."""
    j = row + 2
    for i in range(n):
        c = i0 + i + 2
        gh = p.g * depth(q[0, j, c], bed_centre(bed, j, c))
        out[0, j, c] = p.over_dx * (s[FACE_M + i] - s[FACE_M + i + 1])
        out[1, j, c] = p.over_dx * (s[FACE_R + i] - s[FACE_L + i + 1] - gh * s[RISE_X + i + 1])
        out[2, j, c] = p.over_dx * (s[FACE_T + i] - s[FACE_T + i + 1])


@cell
def take_up_row(q, out, left, bed, forcing, s, row, i0, n, second, seed, p, dt):
    """Compute interior row `row` of the new state from the tendencies along x in `left` and those along y."""
    j = row + 2
    for i in range(n):
        c = i0 + i + 2
        eta, hu, hv = q[0, j, c], q[1, j, c], q[2, j, c]
        h = depth(eta, bed_centre(bed, j, c))
        r_h = left[0, j, c] + p.over_dy * (s[SOUTH_M + i] - s[NORTH_M + i])
        r_u = left[1, j, c] + p.over_dy * (s[SOUTH_T + i] - s[NORTH_T + i])
        r_v = left[2, j, c] + p.over_dy * (s[SOUTH_N + i] - s[NORTH_B + i] - p.g * h * s[RISE0 + i])
        if TERMS:
            r_h, r_u, r_v = with_terms(r_h, r_u, r_v, h, hu, hv, forcing, row, i0 + i)
        cell_data = (h, s[U0 + i + 2], s[V0 + i + 2], r_h, r_u, r_v, noise_of(seed, row, i0 + i), p, dt)
        if second:
            eta, hu, hv = second_update(eta, hu, hv, s[ETA_N + i], s[HU_N + i], s[HV_N + i], *cell_data)
        else:
            eta, hu, hv = first_update(eta, hu, hv, *cell_data)
        out[0, j, c] = eta
        out[1, j, c] = hu
        out[2, j, c] = hv


@cell
def update_row(q, old, out, left, bed, manning, forcing, s, row, i0, n, across, second, seed, p, dt):
    """Run the update selected by PART; each stage has its own loop without branches per cell."""
    if PART == LEAVES:
        leave_row(out, bed, q, s, row, i0, n, p)
    elif PART == TAKES_UP:
        if second:
            keep_before(old, s, row + 2, i0, n)
            take_up_row(q, out, left, bed, forcing, s, row, i0, n, True, seed, p, dt)
        else:
            take_up_row(q, out, left, bed, forcing, s, row, i0, n, False, seed, p, dt)
        apply_friction(out, bed, manning, row, i0, n, second, dt, p)
    else:
        if second:
            keep_before(old, s, row + 2, i0, n)
            update_of_sweep(q, out, bed, forcing, s, row, i0, n, across, True, seed, p, dt)
        else:
            update_of_sweep(q, out, bed, forcing, s, row, i0, n, across, False, seed, p, dt)
        if across == 1:
            apply_friction_across(q, out, bed, manning, U0, V0, s, row, i0, n, 1, second, dt, p)
        else:
            apply_friction_across(q, out, bed, manning, V0, U0, s, row, i0, n, 2, second, dt, p)


@cell
def tile_along_x(q, old, out, left, bed, manning, terms, edges, walls, s, j0, i0, rows, columns, second, seed, p, dt):
    """Compute a stage along x on one tile with low corner (j0, i0) of its ghosts; return its maximum rate as bits."""
    rate, nx = real(0.0), q.shape[2] - 4
    forcing = (terms, TERM_FACTORS(terms, 0))
    for r in range(rows):
        j, row = j0 + r + 2, j0 + r
        row_of_sweep(q, bed, s, j, i0, columns + 4, p)
        kind = row_class_along_x(bed, s, j, i0, columns + 2, p)
        rate = max(rate, fluxes_x(q, bed, walls, s, j, i0, columns, kind, p) * p.over_dx)
        close_ends(edges, s, row, i0, columns, nx)
        update_row(q, old, out, left, bed, manning, forcing, s, row, i0, columns, 1, second, seed, p, dt)
    return to_bits(rate)


@cell
def tile_along_y(q, old, out, left, bed, manning, terms, edges, walls, s, j0, i0, rows, columns, second, seed, p, dt):
    """Compute a stage along y on one tile; see `tile_along_x`."""
    for k in range(SWEEP_SCRATCH):
        s[k] = real(0.0)
    rate, ny = real(0.0), q.shape[1] - 4
    forcing = (terms, TERM_FACTORS(terms, 0))
    kind, above = SHORES, SHORES
    for r in range(rows + 4):
        velocities(q, bed, s, j0 + r, i0, columns + 4, p)
        if r >= 2:
            kind, above = above, row_class(bed, s, j0 + (r - 2), i0, columns + 2, p)
            met = fluxes_y(q, bed, walls, s, j0 + (r - 2), i0, columns, kind, above, p)
            rate = max(rate, met * p.over_dy) if r >= 3 else rate  # the first rows have no row below
        if r == 3 and j0 == 0:
            close_y(edges, s, SOUTH, i0, columns)
        if r >= 4:
            row = j0 + (r - 4)  # of the new state
            if row == ny - 1:
                close_y(edges, s, NORTH, i0, columns)
            update_row(q, old, out, left, bed, manning, forcing, s, row, i0, columns, 2, second, seed, p, dt)
    return to_bits(rate)


@entry
def sweep_cpu(
    q, old, out, left, bed, manning, terms, edges, walls, scratch, tiles, rates, p, clock, phase, across, second
):
    """Compute one stage of a sweep from q into out over all tiles (j0, i0, rows, columns), or the PART of a stage.

    `out` can be `old`, which is read one row before it is written.
    """
    dt, seed, count = real(clock[DT]), seed_of_part(clock, stage_of(phase), second, p), tiles.shape[0]
    runs = open_gate(clock, phase) and (PART == 0 or not second or clock[ACCEPTED] > 0.0)
    workers = min(count, scratch.shape[0]) if runs else 0
    for worker in prange(workers):
        s, max_rate = scratch[worker], to_bits(real(0.0))
        for k in range(worker, count, workers):
            j0, i0, rows, columns = tiles[k, 0], tiles[k, 1], np.int64(tiles[k, 2]), np.int64(tiles[k, 3])
            fields = (q, old, out, left, bed, manning, terms, edges, walls)
            if PART == LEAVES or (PART == 0 and across == 1):
                rate = tile_along_x(*fields, s, j0, i0, rows, columns, second, seed, p, dt)
            else:
                rate = tile_along_y(*fields, s, j0, i0, rows, columns, second, seed, p, dt)
            max_rate = max(max_rate, rate)
        rates[worker] = max(max_rate, rates[worker]) if PART == TAKES_UP else max_rate
