"""A stage as one plain cell: what the marches and the tiles must equal, and what runs where there is nothing faster.

A new option lands here first. A cell makes the fluxes through its four faces anew, so each is made twice.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import cell, real
from eagre.boundaries.edges import EAST, NORTH, SOUTH, WEST, let_through
from eagre.kernels.bits import to_bits
from eagre.kernels.central_upwind import central_upwind
from eagre.kernels.limiters import scaled_difference
from eagre.kernels.roots import larger
from eagre.models.shallow_water.kernels import (
    FACES,
    PRIMITIVE,
    base,
    bed_centre,
    bed_south,
    bed_west,
    depth,
    manning_of,
    noise_of,
    over_depth,
    rise,
    seed_of,
    updated,
    with_terms,
)
from eagre.stepping.clock import DT, open_gate
from eagre.terms.compose import TERM_FACTORS, TERMS


@cell
def cell_of_line(q, bed, j, i, across, p):
    """eta, velocity across and along the face as the model reconstructs them, and bed of a cell."""
    b = bed_centre(bed, j, i)
    over_h = over_depth(depth(q[0, j, i], b), p)
    return q[0, j, i], PRIMITIVE(q[across, j, i], over_h), PRIMITIVE(q[3 - across, j, i], over_h), b


@cell
def low_bed(bed, j, i, across):
    """Bed at the face of a cell that is low in the direction `across`, 1 for x and 2 for y, m."""
    return bed_west(bed, j, i) if across == 1 else bed_south(bed, j, i)


@cell
def both_faces(before, own, behind, b_low, b_high, p):
    """y, h, u, v at both faces of the middle one of three cells of a line, and its rise."""
    eta, u, v, b = own
    return FACES(
        eta, rise(before[0], before[3], eta, b, p), rise(eta, b, behind[0], behind[3], p),
        u, scaled_difference(before[1], u, p), scaled_difference(u, behind[1], p),
        v, scaled_difference(before[2], v, p), scaled_difference(v, behind[2], p),
        depth(eta, b), b_low - base(b), b_high - base(b), p,
    )  # fmt: skip


@cell
def faces_of_cell(q, bed, j, i, across, p):
    """`both_faces` of cell (j, i) in the direction `across`."""
    dj, di = across - 1, 2 - across
    before = cell_of_line(q, bed, j - dj, i - di, across, p)
    own = cell_of_line(q, bed, j, i, across, p)
    behind = cell_of_line(q, bed, j + dj, i + di, across, p)
    return both_faces(before, own, behind, low_bed(bed, j, i, across), low_bed(bed, j + dj, i + di, across), p)


@cell
def low_flux(q, bed, j, i, across, p):
    """Flux through the low face of cell (j, i): see `eagre.kernels.central_upwind.central_upwind`."""
    dj, di = across - 1, 2 - across
    _, _, _, _, y_l, h_l, u_l, v_l, _ = faces_of_cell(q, bed, j - dj, i - di, across, p)
    y_r, h_r, u_r, v_r, _, _, _, _, _ = faces_of_cell(q, bed, j, i, across, p)
    return central_upwind(y_l, h_l, u_l, v_l, y_r, h_r, u_r, v_r, p.g)


@cell
def divergence(q, bed, edges, row, column, across, p):
    """Net fluxes into an interior cell in one direction: mass, momentum across and along; and the largest rate, s-1.

    The pressure of the cell's own side and its bed slope are g h times the rise of its surface between its faces.
    """
    j, i = row + 2, column + 2
    dj, di = across - 1, 2 - across
    low, high = (WEST, EAST) if across == 1 else (SOUTH, NORTH)
    n, k, m = (q.shape[2] - 4, column, row) if across == 1 else (q.shape[1] - 4, row, column)
    mass_l, _, own_l, along_l, speed_l = low_flux(q, bed, j, i, across, p)
    mass_h, own_h, _, along_h, speed_h = low_flux(q, bed, j + dj, i + di, across, p)
    if k == 0:
        mass_l = let_through(edges, low, m, mass_l)
    if k == n - 1:
        mass_h = let_through(edges, high, m, mass_h)
    _, _, _, _, _, _, _, _, steep = faces_of_cell(q, bed, j, i, across, p)
    over = p.over_dx if across == 1 else p.over_dy
    gh = p.g * depth(q[0, j, i], bed_centre(bed, j, i))
    rate = larger(speed_l, speed_h) * over
    return over * (mass_l - mass_h), over * (own_l - own_h - gh * steep), over * (along_l - along_h), rate


@cell
def stage(j, i, q, old, out, bed, manning, terms, edges, rates, p, clock, turn):
    """New state of interior cell (j, i) in the stage that SECOND names, and its largest rate, s-1, as a bit pattern."""
    if open_gate(clock, turn):
        mass_x, hu_x, hv_x, rate_x = divergence(q, bed, edges, np.int64(j), np.int64(i), 1, p)
        mass_y, hv_y, hu_y, rate_y = divergence(q, bed, edges, np.int64(j), np.int64(i), 2, p)
        r_h, r_u, r_v = mass_x + mass_y, hu_x + hu_y, hv_x + hv_y
        row, column = j + 2, i + 2
        eta, hu, hv = q[0, row, column], q[1, row, column], q[2, row, column]
        eta_n, hu_n, hv_n = old[0, row, column], old[1, row, column], old[2, row, column]
        h = depth(eta, bed_centre(bed, row, column))
        over_h = over_depth(h, p)
        u, v = PRIMITIVE(hu, over_h), PRIMITIVE(hv, over_h)
        if TERMS:
            r_h, r_u, r_v = with_terms(r_h, r_u, r_v, h, hu, hv, (terms, TERM_FACTORS(terms, 0)), j, i)
        g_n2, dt = manning_of(manning, j, i, p), real(clock[DT])
        out[0, row, column], out[1, row, column], out[2, row, column] = updated(
            eta,
            hu,
            hv,
            eta_n,
            hu_n,
            hv_n,
            h,
            over_h,
            u,
            v,
            r_h,
            r_u,
            r_v,
            g_n2,
            p,
            dt,
            noise_of(seed_of(clock), j, i, p),
        )
        rates[j * (q.shape[2] - 4) + i] = to_bits(larger(rate_x, rate_y))
