"""The advector on a GPU: faces axis by axis, and the largest Courant number of a block's points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell, cuda, entry, real
from eagre.backend.warp import thread
from eagre.models.anelastic.kernels import PERIODIC, at, mass_flux, outer_face, upward_mass_flux
from eagre.solvers.gcr.fused_cuda import BLOCK, LANES, ROWS, block_number
from eagre.stepping.until import largest_of


class Weights(NamedTuple):
    """Of the velocities of an axis, as of `kernels.Extrapolation`, and the kind of its ends."""

    now: Any
    then: Any
    kind: Any


@cell
def before(i, n):
    """The point before point i, round the axis."""
    return np.uint32(i - np.uint32(1)) if i > np.uint32(0) else np.uint32(n - 1)


@cell
def face_x(k, j, i, now, then, h, x, out):
    """v1 west of a point, and of the last one east of it."""
    n = now.shape[2]
    low, here = mass_flux(k, j, before(i, n), now, then, h, x), mass_flux(k, j, i, now, then, h, x)
    face = low + here
    if i == 0 and x.kind != PERIODIC:
        face = outer_face(here, here + mass_flux(k, j, np.uint32(1), now, then, h, x), x.kind)
    out[k, j, i] = face
    if i == n - 1:
        other = mass_flux(k, j, np.uint32(0), now, then, h, x)
        out[k, j, np.uint32(n)] = here + other if x.kind == PERIODIC else outer_face(here, face, x.kind)


@cell
def face_y(k, j, i, now, then, h, y, out):
    """v2 south of a point, and of the last one north of it."""
    n = now.shape[1]
    low, here = mass_flux(k, before(j, n), i, now, then, h, y), mass_flux(k, j, i, now, then, h, y)
    face = low + here
    if j == 0 and y.kind != PERIODIC:
        face = outer_face(here, here + mass_flux(k, np.uint32(1), i, now, then, h, y), y.kind)
    out[k, j, i] = face
    if j == n - 1:
        other = mass_flux(k, np.uint32(0), i, now, then, h, y)
        out[k, np.uint32(n), i] = here + other if y.kind == PERIODIC else outer_face(here, face, y.kind)


@cell
def face_z(k, j, i, now, then, h, g, z, out):
    """v3 below a point, and of the last one above it."""
    n = h.shape[0]
    low = upward_mass_flux(before(k, n), j, i, now, then, h, g, z)
    here = upward_mass_flux(k, j, i, now, then, h, g, z)
    face = low + here
    if k == 0 and z.kind != PERIODIC:
        second = upward_mass_flux(np.uint32(1), j, i, now, then, h, g, z)
        face = outer_face(here, here + second, z.kind)
    out[k, j, i] = face
    if k == n - 1:
        other = upward_mass_flux(np.uint32(0), j, i, now, then, h, g, z)
        out[np.uint32(n), j, i] = here + other if z.kind == PERIODIC else outer_face(here, face, z.kind)


@cell
def leaving_by(first, second):
    """What leaves a point through two faces."""
    return max(second, real(0.0)) - min(first, real(0.0))


@entry
def outflow_cuda(v1, v2, v3, h, planes, most):
    """The largest share of its mass that a point of a block loses; most: (blocks,).

    grid: tiles of LANES x ROWS columns by `planes` levels
    """
    tree = cuda.shared.array(BLOCK, np.float64)
    nz, ny, nx = v3.shape[0] - 1, v3.shape[1], v3.shape[2]
    i = np.uint32(cuda.blockIdx.x * LANES + cuda.threadIdx.x)
    j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
    largest, bottom = real(0.0), cuda.blockIdx.z * planes
    if i < nx and j < ny:
        below = v3[np.uint32(bottom), j, i]
        for m in range(bottom, min(nz, bottom + planes)):
            k = np.uint32(m)
            above = v3[np.uint32(k + np.uint32(1)), j, i]
            leaving = leaving_by(v1[k, j, i], v1[k, j, np.uint32(i + np.uint32(1))]) + leaving_by(below, above)
            leaving += leaving_by(v2[k, j, i], v2[k, np.uint32(j + np.uint32(1)), i])
            largest = max(largest, leaving / at(h, k, j, i))
            below = above
    largest_of(tree, thread(), BLOCK, float(largest))
    if thread() == 0:
        most[block_number()] = tree[0]
