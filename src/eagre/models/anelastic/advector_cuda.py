"""Advecting fluxes on a GPU, and the maximum outflow Courant number per block.

Over flat terrain one kernel computes all faces and the Courant numbers; over orography there is one kernel per axis.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, flat_load, real
from eagre.backend.cuda.warp import thread
from eagre.models.anelastic.step_kernels import (
    ALONG_X,
    ALONG_Y,
    ALONG_Z,
    PERIODIC,
    Extrapolation,
    mass_flux,
    outer_face,
    profile_at,
    upward_mass_flux,
)
from eagre.solvers.gcr.fused_cuda import BLOCK, LANES, ROWS, block_number, level
from eagre.stepping.convergence_loop import max_over_block


@cell
def previous_index(i, n):
    """Return the index before i on a periodic axis."""
    return np.uint32(i - np.uint32(1)) if i > np.uint32(0) else np.uint32(n - 1)


@cell
def face_x(k, j, i, velocity, h, numbers, kind, out):
    """Compute v1 west of a point, and east of the last point; velocity : current and past u."""
    u_n, u_nm1 = velocity
    x = Extrapolation(numbers[ALONG_X], numbers[ALONG_X + 1])
    n = u_n.shape[2]
    low, here = mass_flux(k, j, previous_index(i, n), u_n, u_nm1, h, x), mass_flux(k, j, i, u_n, u_nm1, h, x)
    face = low + here
    if i == 0 and kind != PERIODIC:
        face = outer_face(here, here + mass_flux(k, j, np.uint32(1), u_n, u_nm1, h, x), kind)
    out[k, j, i] = face
    if i == n - 1:
        other = mass_flux(k, j, np.uint32(0), u_n, u_nm1, h, x)
        out[k, j, np.uint32(n)] = here + other if kind == PERIODIC else outer_face(here, face, kind)


@cell
def face_y(k, j, i, velocity, h, numbers, kind, out):
    """Compute v2 south of a point, and north of the last point; velocity : current and past v."""
    v_n, v_nm1 = velocity
    y = Extrapolation(numbers[ALONG_Y], numbers[ALONG_Y + 1])
    n = v_n.shape[1]
    low, here = mass_flux(k, previous_index(j, n), i, v_n, v_nm1, h, y), mass_flux(k, j, i, v_n, v_nm1, h, y)
    face = low + here
    if j == 0 and kind != PERIODIC:
        face = outer_face(here, here + mass_flux(k, np.uint32(1), i, v_n, v_nm1, h, y), kind)
    out[k, j, i] = face
    if j == n - 1:
        other = mass_flux(k, np.uint32(0), i, v_n, v_nm1, h, y)
        out[k, np.uint32(n), i] = here + other if kind == PERIODIC else outer_face(here, face, kind)


@cell
def face_z(k, j, i, winds, medium, numbers, kind, out):
    """Compute v3 below a point, and above the last point.

    winds : current and past velocity; medium : density times the Jacobian, and `Slopes`
    """
    (wind_n, wind_nm1), (h, g) = winds, medium
    z = Extrapolation(numbers[ALONG_Z], numbers[ALONG_Z + 1])
    n = h.shape[0]
    low = upward_mass_flux(previous_index(k, n), j, i, wind_n, wind_nm1, h, g, z)
    here = upward_mass_flux(k, j, i, wind_n, wind_nm1, h, g, z)
    face = low + here
    if k == 0 and kind != PERIODIC:
        second = upward_mass_flux(np.uint32(1), j, i, wind_n, wind_nm1, h, g, z)
        face = outer_face(here, here + second, kind)
    out[k, j, i] = face
    if k == n - 1:
        other = upward_mass_flux(np.uint32(0), j, i, wind_n, wind_nm1, h, g, z)
        out[np.uint32(n), j, i] = here + other if kind == PERIODIC else outer_face(here, face, kind)


@cell
def leaving_by(first, second):
    """Return the outflow through two faces of a point."""
    return max(second, real(0.0)) - min(first, real(0.0))


@cell
def half_step_velocity(q_n, q_nm1, start, index, weights):
    """Return a velocity at t + dt/2, times dt/2 divided by the grid spacing."""
    return weights.current * flat_load(q_n, start, index) + weights.previous * flat_load(q_nm1, start, index)


@cell
def outer_faces(low, here, high, i, n, kind):
    """Return the fluxes of both faces of point i of n, from the fluxes of three points."""
    first, second = low + here, here + high
    if kind != PERIODIC and i == 0:
        first = outer_face(here, second, kind)
    if kind != PERIODIC and i == n - 1:
        second = outer_face(here, first, kind)
    return first, second


@entry
def faces_cuda(winds, h, stretch, numbers, kinds, tiles, faces, partial_maxima):
    """Compute all faces over flat terrain, and the maxima of `outflow_cuda`; kinds: boundary conditions of z, y and x.

    winds : current and past velocity; tiles : levels of a block, and the rows of the maxima; faces : v1, v2, v3.
    An axis of one point has no faces.
    """
    (wind_n, wind_nm1), (planes, rows), (v1, v2, v3) = winds, tiles, faces
    tree = cuda.shared.array(BLOCK, np.float64)
    nz, ny, nx = wind_n.u.shape
    i = np.uint32(cuda.blockIdx.x * LANES + cuda.threadIdx.x)
    j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
    x = Extrapolation(numbers[ALONG_X], numbers[ALONG_X + 1])
    y = Extrapolation(numbers[ALONG_Y], numbers[ALONG_Y + 1])
    z = Extrapolation(numbers[ALONG_Z], numbers[ALONG_Z + 1])
    max_outflow, bottom = real(0.0), cuda.blockIdx.z * planes
    if i < nx and j < ny:
        size, row = ny * nx, np.uint32(j * np.uint32(nx))
        here, round_z = np.uint32(row + i), kinds[0] == PERIODIC
        west = np.uint32(row + previous_index(i, nx))
        east = np.uint32(row + (i + np.uint32(1) if i < nx - 1 else np.uint32(0)))
        south = np.uint32(previous_index(j, ny) * np.uint32(nx) + i)
        north = np.uint32((j + np.uint32(1) if j < ny - 1 else np.uint32(0)) * np.uint32(nx) + i)
        up_low = half_step_velocity(wind_n.w, wind_nm1.w, level(bottom - 1, nz, size, round_z), here, z)
        up = half_step_velocity(wind_n.w, wind_nm1.w, level(bottom, nz, size, round_z), here, z)
        up_low *= rises(h, stretch, bottom - 1, nz, round_z)
        up *= rises(h, stretch, bottom, nz, round_z)
        for m in range(bottom, min(nz, bottom + planes)):
            k = np.uint32(m)
            start, density = np.uint32(k * np.uint32(size)), h[k, 0, 0]
            up_high = half_step_velocity(wind_n.w, wind_nm1.w, level(m + 1, nz, size, round_z), here, z)
            u_west = half_step_velocity(wind_n.u, wind_nm1.u, start, west, x)
            u_here = half_step_velocity(wind_n.u, wind_nm1.u, start, here, x)
            u_east = half_step_velocity(wind_n.u, wind_nm1.u, start, east, x)
            v_south = half_step_velocity(wind_n.v, wind_nm1.v, start, south, y)
            v_here = half_step_velocity(wind_n.v, wind_nm1.v, start, here, y)
            v_north = half_step_velocity(wind_n.v, wind_nm1.v, start, north, y)
            up_high *= rises(h, stretch, m + 1, nz, round_z)
            leaving = real(0.0)
            if nx > 1:
                first, second = outer_faces(density * u_west, density * u_here, density * u_east, i, nx, kinds[2])
                leaving += leaving_by(first, second)
                v1[k, j, i] = first
                if i == nx - 1:
                    v1[k, j, np.uint32(nx)] = second
            if ny > 1:
                first, second = outer_faces(density * v_south, density * v_here, density * v_north, j, ny, kinds[1])
                leaving += leaving_by(first, second)
                v2[k, j, i] = first
                if j == ny - 1:
                    v2[k, np.uint32(ny), i] = second
            if nz > 1:
                first, second = outer_faces(up_low, up, up_high, k, nz, kinds[0])
                leaving += leaving_by(first, second)
                v3[k, j, i] = first
                if k == nz - 1:
                    v3[np.uint32(nz), j, i] = second
            if rows[0] <= j and j < rows[1]:
                max_outflow = max(max_outflow, leaving / density)
            up_low, up = up, up_high
    max_over_block(tree, thread(), BLOCK, float(max_outflow))
    if thread() == 0:
        partial_maxima[block_number()] = tree[0]


@cell
def rises(h, stretch, k, nz, periodic):
    """Return h d zeta / dz of a level, from -1 to nz."""
    if k < 0:
        k = nz - 1 if periodic else 0
    if k > nz - 1:
        k = 0 if periodic else nz - 1
    return h[np.uint32(k), 0, 0] * stretch[np.uint32(k)]


@entry
def outflow_cuda(v1, v2, v3, h, planes, rows, partial_maxima):
    """Compute the maximum outflow Courant number of each block, for some rows; partial_maxima: (blocks,).

    grid: tiles of LANES x ROWS columns by `planes` levels
    """
    tree = cuda.shared.array(BLOCK, np.float64)
    nz, nx = v3.shape[0] - 1, v3.shape[2]
    i = np.uint32(cuda.blockIdx.x * LANES + cuda.threadIdx.x)
    j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
    max_outflow, bottom = real(0.0), cuda.blockIdx.z * planes
    if i < nx and rows[0] <= j and j < rows[1]:
        below = v3[np.uint32(bottom), j, i]
        for m in range(bottom, min(nz, bottom + planes)):
            k = np.uint32(m)
            above = v3[np.uint32(k + np.uint32(1)), j, i]
            leaving = leaving_by(v1[k, j, i], v1[k, j, np.uint32(i + np.uint32(1))]) + leaving_by(below, above)
            leaving += leaving_by(v2[k, j, i], v2[k, np.uint32(j + np.uint32(1)), i])
            max_outflow = max(max_outflow, leaving / profile_at(h, k, j, i))
            below = above
    max_over_block(tree, thread(), BLOCK, float(max_outflow))
    if thread() == 0:
        partial_maxima[block_number()] = tree[0]
