"""Advecting fluxes on a CPU: one kernel for the lower, south and west faces of a row of points."""

from typing import Any, NamedTuple

from eagre.backend.compilation.cells import cell, entry, prange, switch
from eagre.models.anelastic.step_kernels import PERIODIC, mass_flux, outer_face, upward_mass_flux

ALONG_X = switch("ALONG_X", True)  # True for an axis with more than one point
ALONG_Y = switch("ALONG_Y", True)
ALONG_Z = switch("ALONG_Z", True)


class Weights(NamedTuple):
    """Extrapolation weights of an axis (see `kernels.Extrapolation`), and its boundary condition."""

    current: Any
    previous: Any
    kind: Any


@cell
def outer(inner, side, other, kind):
    """Return the flux of the outer face, from the next face and the fluxes of both end points."""
    return other + side if kind == PERIODIC else outer_face(side, inner, kind)


@cell
def row_of_x(k, j, u_n, u_nm1, h, x, out):
    """Compute v1 of a row."""
    n = u_n.shape[2]
    for i in range(n - 1):
        out[k, j, i + 1] = mass_flux(k, j, i, u_n, u_nm1, h, x) + mass_flux(k, j, i + 1, u_n, u_nm1, h, x)
    first, last = mass_flux(k, j, 0, u_n, u_nm1, h, x), mass_flux(k, j, n - 1, u_n, u_nm1, h, x)
    low, high = out[k, j, 1], out[k, j, n - 1]
    out[k, j, 0] = outer(low, first, last, x.kind)
    out[k, j, n] = outer(high, last, first, x.kind) if x.kind != PERIODIC else outer(low, first, last, x.kind)


@cell
def row_of_y(k, j, v_n, v_nm1, h, y, out):
    """Compute v2 south of a row; the first row includes the outer faces."""
    n = v_n.shape[1]
    for i in range(v_n.shape[2]):
        if j > 0:
            out[k, j, i] = mass_flux(k, j - 1, i, v_n, v_nm1, h, y) + mass_flux(k, j, i, v_n, v_nm1, h, y)
        else:
            first, second = mass_flux(k, 0, i, v_n, v_nm1, h, y), mass_flux(k, 1, i, v_n, v_nm1, h, y)
            last, second_last = mass_flux(k, n - 1, i, v_n, v_nm1, h, y), mass_flux(k, n - 2, i, v_n, v_nm1, h, y)
            low = outer(first + second, first, last, y.kind)
            out[k, 0, i] = low
            out[k, n, i] = low if y.kind == PERIODIC else outer(second_last + last, last, first, y.kind)


@cell
def row_of_z(k, j, wind_n, wind_nm1, h, g, z, out):
    """Compute v3 below a row; the lowest level includes the outer faces."""
    n = wind_n.u.shape[0]
    for i in range(wind_n.u.shape[2]):
        here = upward_mass_flux(k, j, i, wind_n, wind_nm1, h, g, z)
        if k > 0:
            out[k, j, i] = upward_mass_flux(k - 1, j, i, wind_n, wind_nm1, h, g, z) + here
        else:
            second, last = (
                upward_mass_flux(1, j, i, wind_n, wind_nm1, h, g, z),
                upward_mass_flux(n - 1, j, i, wind_n, wind_nm1, h, g, z),
            )
            second_last = upward_mass_flux(n - 2, j, i, wind_n, wind_nm1, h, g, z)
            low = outer(here + second, here, last, z.kind)
            out[0, j, i] = low
            out[n, j, i] = low if z.kind == PERIODIC else outer(second_last + last, last, here, z.kind)


@entry
def faces_cpu(wind_n, wind_nm1, h, g, x, y, z, faces):
    """Compute all faces; x, y, z : `Weights`; faces : v1, v2, v3."""
    (nz, ny, _), v1, v2, v3 = wind_n.u.shape, faces[0], faces[1], faces[2]
    for row in prange(nz * ny):
        k = row // ny
        j = row - k * ny
        if ALONG_X:
            row_of_x(k, j, wind_n.u, wind_nm1.u, h, x, v1)
        if ALONG_Y:
            row_of_y(k, j, wind_n.v, wind_nm1.v, h, y, v2)
        if ALONG_Z:
            row_of_z(k, j, wind_n, wind_nm1, h, g, z, v3)
