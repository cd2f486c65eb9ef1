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
from eagre.kernels.roots import larger
from eagre.models.shallow_water.kernels import (
    FACES,
    LEAVES,
    PART,
    PRIMITIVE,
    SECOND,
    WALLS,
    Water,
    bed_centre,
    bed_south,
    bed_west,
    manning_of,
    over_depth,
    seed_of_stage,
    seed_of_sweep,
    slopes_of,
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
    return FACES(slopes_of(low, centre, high, p), centre[3], b_low, b_high, p)


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
def divergence(q, domain, row, column, across, p):
    """Return the net fluxes into an interior cell in one direction, and the maximum rate, s-1.

    The fluxes are those of mass and of normal and tangential momentum. The pressure of the cell's own side and its bed
    slope are g h times the rise of its surface between its faces.
    """
    j, i = row + 2, column + 2
    dj, di = across - 1, 2 - across
    bed, edges, walls = domain.bed, domain.edges, domain.walls
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
def water_of_cell(q, bed, row, column, across, p):
    """Return `Water` of cell (row, column) of the arrays with ghosts; across : 1, or 2 for faces normal to y."""
    eta, m, t = q[0, row, column], q[across, row, column], q[3 - across, row, column]
    h = depth(eta, bed_centre(bed, row, column))
    over_h = over_depth(h, p)
    return Water(eta, m, t, h, PRIMITIVE(m, over_h), PRIMITIVE(t, over_h))


@cell
def stage(j, i, buffers, domain, terms, p, clock, phase):
    """Compute the new state of interior cell (j, i) in the stage selected by SECOND; update its maximum rate."""
    if open_gate(clock, phase):
        q, old, out, rates = buffers
        mass_x, hu_x, hv_x, rate_x = divergence(q, domain, np.int64(j), np.int64(i), 1, p)
        mass_y, hv_y, hu_y, rate_y = divergence(q, domain, np.int64(j), np.int64(i), 2, p)
        change = mass_x + mass_y, hu_x + hu_y, hv_x + hv_y
        row, column = j + 2, i + 2
        water = water_of_cell(q, domain.bed, row, column, 1, p)
        state_n = old[0, row, column], old[1, row, column], old[2, row, column]
        if TERMS:
            change = with_terms(change, water, (terms, TERM_FACTORS(terms, 0)), j, i)
        g_n2, noise = manning_of(domain.manning, j, i, p), noise_of(seed_of_stage(clock, SECOND, p), j, i)
        out[0, row, column], out[1, row, column], out[2, row, column] = updated(
            water, state_n, change, g_n2, noise, p, real(clock[DT])
        )
        rates[j * (q.shape[2] - 4) + i] = to_bits(larger(rate_x, rate_y))


@cell
def partial_stage(j, i, buffers, domain, terms, p, clock, phase):
    """Compute a `stage` in two parts, selected by PART: tendencies along x into `out`, or the new state."""
    if open_gate(clock, phase):
        q, old, out, left, rates = buffers
        row, column, number = j + 2, i + 2, j * (q.shape[2] - 4) + i
        if PART == LEAVES:
            mass, hu, hv, rate = divergence(q, domain, np.int64(j), np.int64(i), 1, p)
            out[0, row, column], out[1, row, column], out[2, row, column] = mass, hu, hv
            rates[number] = to_bits(rate)
        else:
            mass, hv_y, hu_y, rate = divergence(q, domain, np.int64(j), np.int64(i), 2, p)
            change = left[0, row, column] + mass, left[1, row, column] + hu_y, left[2, row, column] + hv_y
            water = water_of_cell(q, domain.bed, row, column, 1, p)
            state_n = old[0, row, column], old[1, row, column], old[2, row, column]
            if TERMS:
                change = with_terms(change, water, (terms, TERM_FACTORS(terms, 0)), j, i)
            g_n2, noise = manning_of(domain.manning, j, i, p), noise_of(seed_of_stage(clock, SECOND, p), j, i)
            out[0, row, column], out[1, row, column], out[2, row, column] = updated(
                water, state_n, change, g_n2, noise, p, real(clock[DT])
            )
            rates[number] = max(rates[number], to_bits(rate))


@cell
def sweep(j, i, buffers, domain, terms, p, clock, phase):
    """Compute the new state of interior cell (j, i) in the stage of a sweep selected by `phase`; update its rate.

    A sweep has the fluxes, the bed slope, the forces and the friction of one direction, and half of the mass sources.
    So a steady flow along x or y, and a geostrophic flow, stay steady in each sweep.
    """
    if open_gate(clock, phase):
        q, old, out, rates = buffers
        stage_number = stage_of(phase)
        across, second = across_of(stage_number), is_second(stage_number)
        r_h, r_m, r_t, rate = divergence(q, domain, np.int64(j), np.int64(i), across, p)
        row, column, change = j + 2, i + 2, (r_h, r_m, r_t)
        water = water_of_cell(q, domain.bed, row, column, across, p)
        state_n = old[0, row, column], old[across, row, column], old[3 - across, row, column]
        if TERMS:
            forcing = (terms, TERM_FACTORS(terms, 0))
            change = with_terms_of_sweep(change, water, across, forcing, j, i)
        g_n2, noise = manning_of(domain.manning, j, i, p), noise_of(seed_of_sweep(clock, stage_number, p), j, i)
        out[0, row, column], out[across, row, column], out[3 - across, row, column] = updated_in_sweep(
            water, state_n, change, g_n2, noise, second, p, real(clock[DT])
        )
        rates[j * (q.shape[2] - 4) + i] = to_bits(rate)
