"""Reference implementation of a stage, with one point function per cell: it runs on every device.

The fast kernels must give equal results. New options are implemented here first. Each cell computes the fluxes through
its four faces, so that each flux is computed twice.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.boundaries.edges import EAST, NORTH, SOUTH, WEST, flux_if_open
from eagre.kernels.bits import to_bits
from eagre.kernels.central_upwind import central_upwind
from eagre.kernels.elevation import depth, noise_of, surface
from eagre.kernels.limiters import scaled_difference
from eagre.kernels.roots import larger
from eagre.models.shallow_water.kernels import (
    FACES,
    LEAVES,
    PART,
    PRIMITIVE,
    SECOND,
    WALLS,
    bed_centre,
    bed_south,
    bed_west,
    manning_of,
    over_depth,
    seed_of_stage,
    seed_of_sweep,
    updated,
    updated_in_sweep,
    with_terms,
    with_terms_of_sweep,
)
from eagre.stepping.clock import DT, open_gate
from eagre.stepping.substeps import across_of, is_second, stage_of
from eagre.terms.compose import TERM_FACTORS, TERMS


@cell
def cell_of_line(q, bed, j, i, across, p):
    """Return w, the reconstructed normal and tangential velocities, and the depth of a cell."""
    eta, b = q[0, j, i], bed_centre(bed, j, i)
    h = depth(eta, b)
    over_h = over_depth(h, p)
    return surface(eta, b), PRIMITIVE(q[across, j, i], over_h), PRIMITIVE(q[3 - across, j, i], over_h), h


@cell
def low_bed(bed, j, i, across):
    """Return the bed at the low face of a cell in the direction `across`, 1 for x and 2 for y, m."""
    return bed_west(bed, j, i) if across == 1 else bed_south(bed, j, i)


@cell
def both_faces(low, centre, high, b_low, b_high, p):
    """Return y, h, u, v at both faces of the middle one of three cells of a line, and its rise; see `FACES`."""
    w, u, v, h = centre
    return FACES(
        w, scaled_difference(low[0], w, p), scaled_difference(w, high[0], p),
        u, scaled_difference(low[1], u, p), scaled_difference(u, high[1], p),
        v, scaled_difference(low[2], v, p), scaled_difference(v, high[2], p),
        h, b_low, b_high, p,
    )  # fmt: skip


@cell
def faces_of_cell(q, bed, j, i, across, p):
    """Return `both_faces` of cell (j, i) in the direction `across`."""
    dj, di = across - 1, 2 - across
    low = cell_of_line(q, bed, j - dj, i - di, across, p)
    centre = cell_of_line(q, bed, j, i, across, p)
    high = cell_of_line(q, bed, j + dj, i + di, across, p)
    return both_faces(low, centre, high, low_bed(bed, j, i, across), low_bed(bed, j + dj, i + di, across), p)


@cell
def low_flux(q, bed, j, i, across, p):
    """Return the flux through the low face of cell (j, i); see `eagre.kernels.central_upwind.central_upwind`."""
    dj, di = across - 1, 2 - across
    _, _, _, _, y_l, h_l, u_l, v_l, _ = faces_of_cell(q, bed, j - dj, i - di, across, p)
    y_r, h_r, u_r, v_r, _, _, _, _, _ = faces_of_cell(q, bed, j, i, across, p)
    return central_upwind(y_l, h_l, u_l, v_l, y_r, h_r, u_r, v_r, p.g)


@cell
def is_closed(walls, j, i, across):
    """Return whether the low face of cell (j, i) in the direction `across` is closed.

    See `eagre.boundaries.internal`.
    """
    return (walls[j, i] & across) != 0


@cell
def mirrored(inside):
    """Return the mirror state behind a closed face: the same water with the opposite normal velocity."""
    return inside[0], -inside[1], inside[2], inside[3]


@cell
def faces_between_walls(q, bed, walls, j, i, across, p):
    """Return `faces_of_cell` with mirror states behind closed faces."""
    dj, di = across - 1, 2 - across
    low = cell_of_line(q, bed, j - dj, i - di, across, p)
    centre = cell_of_line(q, bed, j, i, across, p)
    high = cell_of_line(q, bed, j + dj, i + di, across, p)
    if is_closed(walls, j, i, across):
        low = mirrored(centre)
    if is_closed(walls, j + dj, i + di, across):
        high = mirrored(centre)
    return both_faces(low, centre, high, low_bed(bed, j, i, across), low_bed(bed, j + dj, i + di, across), p)


@cell
def flux_between_walls(q, bed, walls, j, i, across, is_high, p):
    """Return `low_flux` for the high or the low cell of the face; a closed face is a mirror without mass flux."""
    dj, di = across - 1, 2 - across
    _, _, _, _, y_l, h_l, u_l, v_l, _ = faces_between_walls(q, bed, walls, j - dj, i - di, across, p)
    y_r, h_r, u_r, v_r, _, _, _, _, _ = faces_between_walls(q, bed, walls, j, i, across, p)
    if is_closed(walls, j, i, across):
        if is_high:
            y_l, h_l, u_l, v_l = y_r, h_r, -u_r, v_r
        else:
            y_r, h_r, u_r, v_r = y_l, h_l, -u_l, v_l
        _, normal_l, normal_r, along, speed = central_upwind(y_l, h_l, u_l, v_l, y_r, h_r, u_r, v_r, p.g)
        return real(0.0), normal_l, normal_r, along, speed
    return central_upwind(y_l, h_l, u_l, v_l, y_r, h_r, u_r, v_r, p.g)


@cell
def water_flux(q, bed, walls, j, i, across, p):
    """Return the water flux through the low face of cell (j, i), m2 s-1."""
    if WALLS:
        return flux_between_walls(q, bed, walls, j, i, across, True, p)[0]
    return low_flux(q, bed, j, i, across, p)[0]


@cell
def divergence(q, bed, edges, walls, row, column, across, p):
    """Return the net fluxes into an interior cell in one direction, and the maximum rate, s-1.

    The fluxes are those of mass and of normal and tangential momentum. The pressure of the cell's own side and its bed
    slope are g h times the rise of its surface between its faces.
    """
    j, i = row + 2, column + 2
    dj, di = across - 1, 2 - across
    low, high = (WEST, EAST) if across == 1 else (SOUTH, NORTH)
    n, k, m = (q.shape[2] - 4, column, row) if across == 1 else (q.shape[1] - 4, row, column)
    if WALLS:
        mass_l, _, normal_l, along_l, speed_l = flux_between_walls(q, bed, walls, j, i, across, True, p)
        mass_h, normal_h, _, along_h, speed_h = flux_between_walls(q, bed, walls, j + dj, i + di, across, False, p)
        _, _, _, _, _, _, _, _, rise = faces_between_walls(q, bed, walls, j, i, across, p)
    else:
        mass_l, _, normal_l, along_l, speed_l = low_flux(q, bed, j, i, across, p)
        mass_h, normal_h, _, along_h, speed_h = low_flux(q, bed, j + dj, i + di, across, p)
        _, _, _, _, _, _, _, _, rise = faces_of_cell(q, bed, j, i, across, p)
    if k == 0:
        mass_l = flux_if_open(edges, low, m, mass_l)
    if k == n - 1:
        mass_h = flux_if_open(edges, high, m, mass_h)
    over = p.over_dx if across == 1 else p.over_dy
    gh = p.g * depth(q[0, j, i], bed_centre(bed, j, i))
    rate = larger(speed_l, speed_h) * over
    return over * (mass_l - mass_h), over * (normal_l - normal_h - gh * rise), over * (along_l - along_h), rate


@cell
def stage(j, i, q, old, out, bed, manning, terms, edges, walls, rates, p, clock, phase):
    """Compute the new state of interior cell (j, i) in the stage selected by SECOND; update its maximum rate."""
    if open_gate(clock, phase):
        mass_x, hu_x, hv_x, rate_x = divergence(q, bed, edges, walls, np.int64(j), np.int64(i), 1, p)
        mass_y, hv_y, hu_y, rate_y = divergence(q, bed, edges, walls, np.int64(j), np.int64(i), 2, p)
        r_h, r_u, r_v = mass_x + mass_y, hu_x + hu_y, hv_x + hv_y
        row, column = j + 2, i + 2
        eta, hu, hv = q[0, row, column], q[1, row, column], q[2, row, column]
        eta_n, hu_n, hv_n = old[0, row, column], old[1, row, column], old[2, row, column]
        h = depth(eta, bed_centre(bed, row, column))
        over_h = over_depth(h, p)
        u, v = PRIMITIVE(hu, over_h), PRIMITIVE(hv, over_h)
        if TERMS:
            r_h, r_u, r_v = with_terms(r_h, r_u, r_v, h, hu, hv, (terms, TERM_FACTORS(terms, 0)), j, i)
        g_n2, noise, dt = manning_of(manning, j, i, p), noise_of(seed_of_stage(clock, SECOND, p), j, i), real(clock[DT])
        out[0, row, column], out[1, row, column], out[2, row, column] = updated(
            eta, hu, hv, eta_n, hu_n, hv_n, h, u, v, r_h, r_u, r_v, g_n2, noise, p, dt
        )
        rates[j * (q.shape[2] - 4) + i] = to_bits(larger(rate_x, rate_y))


@cell
def partial_stage(j, i, q, old, out, left, bed, manning, terms, edges, walls, rates, p, clock, phase):
    """Compute a `stage` in two parts, selected by PART: tendencies along x into `out`, or the new state."""
    if open_gate(clock, phase):
        row, column, number = j + 2, i + 2, j * (q.shape[2] - 4) + i
        fields = (q, bed, edges, walls, np.int64(j), np.int64(i))
        if PART == LEAVES:
            mass, hu, hv, rate = divergence(*fields, 1, p)
            out[0, row, column], out[1, row, column], out[2, row, column] = mass, hu, hv
            rates[number] = to_bits(rate)
        else:
            mass, hv_y, hu_y, rate = divergence(*fields, 2, p)
            r_h, r_u, r_v = left[0, row, column] + mass, left[1, row, column] + hu_y, left[2, row, column] + hv_y
            eta, hu, hv = q[0, row, column], q[1, row, column], q[2, row, column]
            h = depth(eta, bed_centre(bed, row, column))
            over_h = over_depth(h, p)
            if TERMS:
                r_h, r_u, r_v = with_terms(r_h, r_u, r_v, h, hu, hv, (terms, TERM_FACTORS(terms, 0)), j, i)
            noise = noise_of(seed_of_stage(clock, SECOND, p), j, i)
            out[0, row, column], out[1, row, column], out[2, row, column] = updated(
                eta, hu, hv, old[0, row, column], old[1, row, column], old[2, row, column],
                h, PRIMITIVE(hu, over_h), PRIMITIVE(hv, over_h), r_h, r_u, r_v,
                manning_of(manning, j, i, p), noise, p, real(clock[DT]),
            )  # fmt: skip
            rates[number] = max(rates[number], to_bits(rate))


@cell
def sweep(j, i, q, old, out, bed, manning, terms, edges, walls, rates, p, clock, phase):
    """Compute the new state of interior cell (j, i) in the stage of a sweep selected by `phase`; update its rate.

    A sweep has the fluxes, the bed slope, the forces and the friction of one direction, and half of the mass sources.
    So a steady flow along x or y, and a geostrophic flow, stay steady in each sweep.
    """
    if open_gate(clock, phase):
        stage_number = stage_of(phase)
        across = across_of(stage_number)
        r_h, r_m, r_t, rate = divergence(q, bed, edges, walls, np.int64(j), np.int64(i), across, p)
        row, column = j + 2, i + 2
        eta, m, t = q[0, row, column], q[across, row, column], q[3 - across, row, column]
        h = depth(eta, bed_centre(bed, row, column))
        over_h = over_depth(h, p)
        u_m, u_t = PRIMITIVE(m, over_h), PRIMITIVE(t, over_h)
        if TERMS:
            forcing = (terms, TERM_FACTORS(terms, 0))
            r_h, r_m = with_terms_of_sweep(r_h, r_m, h, m, t, across, forcing, j, i)
        noise, dt = noise_of(seed_of_sweep(clock, stage_number, p), j, i), real(clock[DT])
        out[0, row, column], out[across, row, column], out[3 - across, row, column] = updated_in_sweep(
            eta, m, t, old[0, row, column], old[across, row, column], old[3 - across, row, column],
            h, u_m, u_t, r_h, r_m, r_t, manning_of(manning, j, i, p), noise, is_second(stage_number), p, dt,
        )  # fmt: skip
        rates[j * (q.shape[2] - 4) + i] = to_bits(rate)
