"""One stage on a GPU: each warp marches north over a strip of 28 columns, 32 with its halo.

A lane holds one column. What the next row needs stays in registers, neighbours in x come by
shuffle, and every flux is computed once a strip. Nothing but the state, the bed and the new state
touches device memory: 7 words a cell, 10 in the second stage.
"""

import numpy as np

from eagre.backend.cells import Switch, cell, cuda, entry, real
from eagre.backend.warp import from_lane_above, from_lane_below, raise_maximum
from eagre.kernels.bits import to_bits
from eagre.kernels.central_upwind import central_upwind
from eagre.models.shallow_water.kernels import (
    FACES,
    PRIMITIVE,
    SOURCES,
    depth,
    manning_of,
    updated,
    with_sources,
)
from eagre.stepping.clock import DT, open_gate

ROWS = Switch("ROWS", 32)  # rows that a warp marches
STRIP = 28  # columns that a warp updates
WIDTH = 32
FULL_WARPS = 132 * 16  # warps that keep an H100 or H200 busy


@cell
def load_row(q, bed, j, i, b_sw, b_se, p):
    """Row j of a lane's column: w, hu, hv, h, u, v, and the bed corners to its north."""
    b_nw = bed[j + 1, i]
    b_ne = bed[j + 1, i + 1]
    w = q[0, j, i]
    hu = q[1, j, i]
    hv = q[2, j, i]
    h = depth(w, real(0.25) * ((b_sw + b_nw) + (b_se + b_ne)))
    return w, hu, hv, h, PRIMITIVE(h, hu, p), PRIMITIVE(h, hv, p), b_nw, b_ne


@cell
def flux_x(w, u, v, h, b_west, b_east, p):
    """Flux through the west face of a lane's cell, and the rise of its surface in x."""
    w_l, z_l, u_l, v_l, w_h, z_h, u_h, v_h = FACES(
        from_lane_below(w), w, from_lane_above(w),
        from_lane_below(u), u, from_lane_above(u),
        from_lane_below(v), v, from_lane_above(v),
        h, b_west, b_east, p,
    )  # fmt: skip
    mass, left, right, along, speed = central_upwind(
        from_lane_below(w_h), from_lane_below(z_h), from_lane_below(u_h), from_lane_below(v_h), w_l, z_l, u_l, v_l, p.g
    )
    return mass, left, right, along, speed, w_h - w_l


@entry
def stage_cuda(q, q_n, out, bed, manning, sources, rates, p, clock):
    """One stage; block (32, warps), grid over strips of 28 columns and ROWS x warps rows."""
    if not open_gate(clock):
        return
    lane = np.uint32(cuda.threadIdx.x)
    ny = np.uint32(q.shape[1] - 4)
    nx = np.uint32(q.shape[2] - 4)
    column = np.uint32(cuda.blockIdx.x * STRIP + lane)
    i = min(column, np.uint32(nx + 3))
    j0 = np.uint32((cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y) * ROWS)
    if j0 >= ny:
        return
    rows = min(np.uint32(ROWS), np.uint32(ny - j0))
    inside = lane >= 2 and lane < 30 and column < nx + 2
    faced = lane >= 2 and lane < 31 and column < nx + 3
    dt = real(clock[DT])

    b_w = bed[j0, i]
    b_e = bed[j0, i + 1]
    w_a, hu_m, hv_m, h_m, u_a, v_a, b_w, b_e = load_row(q, bed, j0, i, b_w, b_e, p)
    b_s = real(0.5) * (b_w + b_e)
    w_b, hu_m, hv_m, h_b, u_b, v_b, b_w, b_e = load_row(q, bed, j0 + 1, i, b_w, b_e, p)
    b_n = real(0.5) * (b_w + b_e)
    b_sw = b_w
    b_se = b_e
    w_m, hu_m, hv_m, h_m, u_m, v_m, b_w, b_e = load_row(q, bed, j0 + 2, i, b_w, b_e, p)
    _, _, _, _, top_w, top_z, top_v, top_u = FACES(w_a, w_b, w_m, v_a, v_b, v_m, u_a, u_b, u_m, h_b, b_s, b_n, p)
    b_s = b_n
    b_n = real(0.5) * (b_w + b_e)
    b_nw = b_w
    b_ne = b_e
    w_n, hu_n, hv_n, h_n, u_n, v_n, b_w, b_e = load_row(q, bed, j0 + 3, i, b_w, b_e, p)
    low_w, low_z, low_v, low_u, high_w, high_z, high_v, high_u = FACES(
        w_b, w_m, w_n, v_b, v_m, v_n, u_b, u_m, u_n, h_m, b_s, b_n, p
    )
    s_mass, _, s_above, s_along, s_speed = central_upwind(
        top_w, top_z, top_v, top_u, low_w, low_z, low_v, low_u, p.g
    )
    top_w, top_z, top_v, top_u = high_w, high_z, high_v, high_u
    rise = high_w - low_w
    fastest = s_speed * p.over_dy if inside else real(0.0)

    for row in range(rows):
        j = j0 + np.uint32(row)
        # the row two to the north, and the flux through the north face
        b_s = b_n
        b_n = real(0.5) * (b_w + b_e)
        north_w = b_w
        north_e = b_e
        w_t, hu_t, hv_t, h_t, u_t, v_t, b_w, b_e = load_row(q, bed, j + 4, i, b_w, b_e, p)
        low_w, low_z, low_v, low_u, high_w, high_z, high_v, high_u = FACES(
            w_m, w_n, w_t, v_m, v_n, v_t, u_m, u_n, u_t, h_n, b_s, b_n, p
        )
        n_mass, n_below, n_above, n_along, n_speed = central_upwind(
            top_w, top_z, top_v, top_u, low_w, low_z, low_v, low_u, p.g
        )
        # the flux through the west face; the lane above has the east one
        mass, left, right, along, speed, rise_x = flux_x(
            w_m, u_m, v_m, h_m, real(0.5) * (b_sw + b_nw), real(0.5) * (b_se + b_ne), p
        )
        e_mass = from_lane_above(mass)
        e_left = from_lane_above(left)
        e_along = from_lane_above(along)
        if faced:
            fastest = max(fastest, speed * p.over_dx)
        if inside:
            fastest = max(fastest, n_speed * p.over_dy)
            gh = p.g * h_m
            r_w = p.over_dx * (mass - e_mass) + p.over_dy * (s_mass - n_mass)
            r_u = p.over_dx * (right - e_left - gh * rise_x) + p.over_dy * (s_along - n_along)
            r_v = p.over_dx * (along - e_along) + p.over_dy * (s_above - n_below - gh * rise)
            if SOURCES:
                r_w, r_u, r_v = with_sources(r_w, r_u, r_v, h_m, hu_m, hv_m, sources, j, i - 2)
            w_new, hu_new, hv_new = updated(
                w_m, hu_m, hv_m, q_n[0, j + 2, i], q_n[1, j + 2, i], q_n[2, j + 2, i],
                h_m, u_m, v_m, r_w, r_u, r_v, manning_of(manning, j, i - 2, p), p, dt,
            )  # fmt: skip
            out[0, j + 2, i] = w_new
            out[1, j + 2, i] = hu_new
            out[2, j + 2, i] = hv_new
        # move north
        w_m, hu_m, hv_m, h_m, u_m, v_m = w_n, hu_n, hv_n, h_n, u_n, v_n
        w_n, hu_n, hv_n, h_n, u_n, v_n = w_t, hu_t, hv_t, h_t, u_t, v_t
        b_sw, b_se, b_nw, b_ne = b_nw, b_ne, north_w, north_e
        top_w, top_z, top_v, top_u = high_w, high_z, high_v, high_u
        s_mass, s_above, s_along = n_mass, n_above, n_along
        rise = high_w - low_w
    raise_maximum(rates, to_bits(fastest))


def shape_of(ny: int, nx: int) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Grid, block and rows a warp marches: long marches where there are warps enough to fill the card."""
    strips = -(-nx // STRIP)
    warps = 4
    rows = 64
    while rows > 4 and strips * (-(-ny // rows)) < FULL_WARPS:
        rows //= 2
    return (strips, -(-ny // (rows * warps))), (WIDTH, warps), rows
