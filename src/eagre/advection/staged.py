"""Stage-by-stage MPDATA: all fields in memory between stages, with ghost points; any device, any option.

Reference of the fused kernels. The fields are in one array, (FIELDS, nz + 2 d + 1, ny + 2 d + 1, nx + 2 d + 1);
position d of an axis is point 0 and the face left of it. `low` is the first position of a stage.
"""

from eagre.backend.compilation.cells import cell, real, switch
from eagre.kernels.mpdata import (
    corrective_flux,
    donor_flux,
    inflow,
    limiter,
    magnitude,
    pseudo_velocity,
    ratio_of_four,
    share_of,
    third_across,
    third_along,
    third_corners,
)

THIRD_ORDER = switch("THIRD_ORDER", False)
NONOSCILLATORY = switch("NONOSCILLATORY", True)

FIRST, X, H, U1, U2, U3, V1, V2, V3, UP, DOWN = range(11)
FIELDS = 11


@cell
def fill(k, j, i, s, field, a, along_k, along_j, along_i):
    """Copy a field with its ghost points; along_k, along_j, along_i : `Table`."""
    value = a[along_k.indices[k], along_j.indices[j], along_i.indices[i]]
    value = along_i.factor[i] * value + along_i.outside[i]
    value = along_j.factor[j] * value + along_j.outside[j]
    s[field, k, j, i] = along_k.factor[k] * value + along_k.outside[k]


@cell
def set_one(k, j, i, s, field):
    """Set 1 everywhere."""
    s[field, k, j, i] = real(1.0)


@cell
def advect(k, j, i, s, low):
    """First pass, donor cell: X from FIRST."""
    k, j, i = k + low, j + low, i + low
    x = s[FIRST, k, j, i]
    net = donor_flux(x, s[FIRST, k, j, i + 1], s[U1, k, j, i + 1])
    net -= donor_flux(s[FIRST, k, j, i - 1], x, s[U1, k, j, i])
    net += donor_flux(x, s[FIRST, k, j + 1, i], s[U2, k, j + 1, i])
    net -= donor_flux(s[FIRST, k, j - 1, i], x, s[U2, k, j, i])
    net += donor_flux(x, s[FIRST, k + 1, j, i], s[U3, k + 1, j, i])
    net -= donor_flux(s[FIRST, k - 1, j, i], x, s[U3, k, j, i])
    s[X, k, j, i] = x - net / s[H, k, j, i]


@cell
def size(s, k, j, i):
    """Return the quantity whose differences define pseudo velocities."""
    return magnitude(s[X, k, j, i])


@cell
def four_faces(s, u, k, j, i, along, back):
    """Return the sum of faces of field u at a point, one further `along` its own axis, and both one `back`."""
    ak, aj, ai = along
    bk, bj, bi = back
    here = s[u, k, j, i] + s[u, k + ak, j + aj, i + ai]
    return here + s[u, k - bk, j - bj, i - bi] + s[u, k + ak - bk, j + aj - bj, i + ai - bi]


@cell
def two(s, k, j, i, back):
    """Return the sum of the values at a point and one `back`."""
    bk, bj, bi = back
    return size(s, k, j, i) + size(s, k - bk, j - bj, i - bi)


@cell
def third_order(s, k, j, i, u, over_r, sums, axes):
    """Return the third-order terms at a face: along its axis, across it along two other axes, and of their corners."""
    (bk, bj, bi), (mk, mj, mi), (nk, nj, ni) = axes
    s_m, s_n = sums
    v = third_along(
        u, over_r, size(s, k + bk, j + bj, i + bi), size(s, k, j, i), size(s, k - bk, j - bj, i - bi),
        size(s, k - 2 * bk, j - 2 * bj, i - 2 * bi),
    )  # fmt: skip
    v += third_across(
        u, over_r, s_m, size(s, k + mk, j + mj, i + mi), size(s, k + mk - bk, j + mj - bj, i + mi - bi),
        size(s, k - mk, j - mj, i - mi), size(s, k - mk - bk, j - mj - bj, i - mi - bi),
    )  # fmt: skip
    v += third_across(
        u, over_r, s_n, size(s, k + nk, j + nj, i + ni), size(s, k + nk - bk, j + nj - bj, i + ni - bi),
        size(s, k - nk, j - nj, i - ni), size(s, k - nk - bk, j - nj - bj, i - ni - bi),
    )  # fmt: skip
    same = two(s, k + mk + nk, j + mj + nj, i + mi + ni, axes[0])
    same += two(s, k - mk - nk, j - mj - nj, i - mi - ni, axes[0])
    opposite = two(s, k + mk - nk, j + mj - nj, i + mi - ni, axes[0])
    opposite += two(s, k - mk + nk, j - mj + nj, i - mi + ni, axes[0])
    return v + third_corners(u, over_r, s_m, s_n, same, opposite)


@cell
def velocity(s, k, j, i, fields, axes):
    """Return the pseudo velocity of a face; axes : its own and two others; fields : the advector along these."""
    (bk, bj, bi), (mk, mj, mi), (nk, nj, ni) = axes
    u = s[fields[0], k, j, i]
    over_r = real(2.0) / (s[H, k, j, i] + s[H, k - bk, j - bj, i - bi])
    s_m = four_faces(s, fields[1], k, j, i, axes[1], axes[0])
    s_n = four_faces(s, fields[2], k, j, i, axes[2], axes[0])
    m = ratio_of_four(two(s, k + mk, j + mj, i + mi, axes[0]), two(s, k - mk, j - mj, i - mi, axes[0]))
    n = ratio_of_four(two(s, k + nk, j + nj, i + ni, axes[0]), two(s, k - nk, j - nj, i - ni, axes[0]))
    v = pseudo_velocity(u, over_r, size(s, k - bk, j - bj, i - bi), size(s, k, j, i), s_m, m, s_n, n)
    if THIRD_ORDER:
        v += third_order(s, k, j, i, u, over_r, (s_m, s_n), axes)
    return v


@cell
def velocities(k, j, i, s, low, passable_k, passable_j, passable_i):
    """Compute V1, V2, V3 of X and the advector."""
    k, j, i = k + low, j + low, i + low
    x, y, z = (0, 0, 1), (0, 1, 0), (1, 0, 0)
    s[V1, k, j, i] = passable_i[i] * velocity(s, k, j, i, (U1, U2, U3), (x, y, z))
    s[V2, k, j, i] = passable_j[j] * velocity(s, k, j, i, (U2, U1, U3), (y, x, z))
    s[V3, k, j, i] = passable_k[k] * velocity(s, k, j, i, (U3, U1, U2), (z, x, y))


@cell
def fluxes(s, k, j, i):
    """Return the corrective fluxes through the faces left of, south of and below a point."""
    x = s[X, k, j, i]
    f1 = corrective_flux(s[X, k, j, i - 1], x, s[V1, k, j, i])
    f2 = corrective_flux(s[X, k, j - 1, i], x, s[V2, k, j, i])
    return f1, f2, corrective_flux(s[X, k - 1, j, i], x, s[V3, k, j, i])


@cell
def bounds(s, k, j, i):
    """Return the maximum and minimum of a point and its neighbours, at the start of the step and now."""
    high = max(s[FIRST, k, j, i], s[X, k, j, i])
    low = min(s[FIRST, k, j, i], s[X, k, j, i])
    for field in (FIRST, X):
        west, east = s[field, k, j, i - 1], s[field, k, j, i + 1]
        south, north = s[field, k, j - 1, i], s[field, k, j + 1, i]
        below, above = s[field, k - 1, j, i], s[field, k + 1, j, i]
        high = max(high, max(max(max(west, east), max(south, north)), max(below, above)))
        low = min(low, min(min(min(west, east), min(south, north)), min(below, above)))
    return high, low


@cell
def allowed_fractions(k, j, i, s, low):
    """Compute UP and DOWN: the allowed fractions of inflow and outflow of a point."""
    k, j, i = k + low, j + low, i + low
    highest, lowest = bounds(s, k, j, i)
    w, south, below = fluxes(s, k, j, i)
    e, north, above = fluxes(s, k, j, i + 1)[0], fluxes(s, k, j + 1, i)[1], fluxes(s, k + 1, j, i)[2]
    h, x = s[H, k, j, i], s[X, k, j, i]
    s[UP, k, j, i] = share_of((highest - x) * h, inflow(w, e) + inflow(south, north) + inflow(below, above))
    s[DOWN, k, j, i] = share_of((x - lowest) * h, inflow(-w, -e) + inflow(-south, -north) + inflow(-below, -above))


@cell
def limited_flux(s, k, j, i, field, back):
    """Return the corrective flux of V1, V2 or V3 through the face between a point and the one `back`, limited."""
    bk, bj, bi = back
    before, x, v = s[X, k - bk, j - bj, i - bi], s[X, k, j, i], s[field, k, j, i]
    if NONOSCILLATORY:
        up, down = s[UP, k - bk, j - bj, i - bi], s[DOWN, k - bk, j - bj, i - bi]
        v *= limiter(corrective_flux(before, x, v), up, down, s[UP, k, j, i], s[DOWN, k, j, i])
    return corrective_flux(before, x, v)


@cell
def correct(k, j, i, s, low, out):
    """Corrective pass; out : (nz, ny, nx)."""
    to_k, to_j, to_i, k, j, i = k, j, i, k + low, j + low, i + low
    x, y, z = (0, 0, 1), (0, 1, 0), (1, 0, 0)
    net = limited_flux(s, k, j, i + 1, V1, x) - limited_flux(s, k, j, i, V1, x)
    net += limited_flux(s, k, j + 1, i, V2, y) - limited_flux(s, k, j, i, V2, y)
    net += limited_flux(s, k + 1, j, i, V3, z) - limited_flux(s, k, j, i, V3, z)
    out[to_k, to_j, to_i] = s[X, k, j, i] - net / s[H, k, j, i]


@cell
def take(k, j, i, s, field, low, out):
    """Copy a field without its ghost points."""
    out[k, j, i] = s[field, k + low, j + low, i + low]


@cell
def outflow(k, j, i, s, low, out):
    """Compute the outflow Courant number of a point: outflow in a step divided by its content; out : (nz, ny, nx)."""
    to_k, to_j, to_i, k, j, i = k, j, i, k + low, j + low, i + low
    total = inflow(-s[U1, k, j, i], -s[U1, k, j, i + 1])
    total += inflow(-s[U2, k, j, i], -s[U2, k, j + 1, i])
    total += inflow(-s[U3, k, j, i], -s[U3, k + 1, j, i])
    out[to_k, to_j, to_i] = total / s[H, k, j, i]
