"""Reference kernels of the potential-flow waves, one per stage; the optimised kernels must give equal results.

The problem is solved for Psi = Phi - phi~, which vanishes at the surface and is resolved by single precision::

    Lap Psi + (Lap sigma) Psi_s + 2 grad sigma . grad Psi_s + (|grad sigma|^2 + 1 / d^2) Psi_ss = -Lap phi~
    (1 + |grad h|^2) / d Psi_s + grad h . grad Psi = -grad h . grad phi~                        at the bottom
    w~ = Psi_s / d                                                                              at the surface

    grad sigma = (grad h - sigma grad d) / d,    Lap sigma = (Lap h - sigma Lap d - 2 grad sigma . grad d) / d

| stage | cell |
|---|---|
| geometry of bed and surface | `set_bed`, `set_surface` |
| right-hand sides from the surface potential | `set_sources` |
| ghost layer below the bed | `set_ghosts` |
| Psi_s | `set_slopes` |
| residual | `residual` |
| preconditioner: transform to modes, `eagre.solvers.multigrid`, transform back | `to_modes`, `correct` |
| w~ | `vertical_velocity` |
| rates of the surface, state of the next Runge-Kutta stage | `set_rates`, `next_stage` |

Arrays are (layers, ny, nx), layer 0 the surface, nz - 1 the bed, nz the ghost layer.

Source: A. P. Engsig-Karup, H. B. Bingham, O. Lindberg, J. Comput. Phys. 228, 2100-2118 (2009),
doi:10.1016/j.jcp.2008.11.028, equations 6 to 9; the form of Lap sigma is equal to its equation 9 and shorter.
"""

from typing import Any, NamedTuple

from eagre.backend.compilation.cells import cell, real, switch
from eagre.kernels.neighbour_indices import neighbour

FIELDS = 7
H_X, H_Y, LAP_H, D, D_X, D_Y, LAP_D = range(FIELDS)  # rows of the geometry: 1, 1, m^-1, m, 1, 1, m^-1
NONLINEAR = switch("NONLINEAR", True)  # otherwise linear waves: eta is 0 in products
POINTS = switch("POINTS", 0)  # points of a difference, for unrolled loops; 0: number of weights
SOURCES = 2
LAP_PHI, BOTTOM = range(SOURCES)  # rows of the sources: Lap phi~, s^-1; grad h . grad phi~, m s^-1


class Lines(NamedTuple):
    """Weights of centred differences, (order + 1,), 0 along an axis of one point; flags of periodic axes, 0 or 1."""

    x: Any
    xx: Any
    y: Any
    yy: Any
    periodic_x: int
    periodic_y: int


class Columns(NamedTuple):
    """Vertical grid: sigma (nz + 1,) and weights of d/dsigma and d2/dsigma2, (nz + 1, nz + 1)."""

    sigma: Any
    first: Any
    second: Any


# -- derivatives ----------------------------------------------------------------------------------


@cell
def along_x(a, k, j, i, w, periodic):
    """Return the x derivative at (j, i) from differences to its value, which avoids cancellation; weights sum to 0."""
    points = POINTS or w.shape[0]
    total, half, here = real(0.0), points // 2, a[k, j, i]
    for m in range(points):
        total += w[m] * (a[k, j, neighbour(i, m - half, a.shape[2], periodic)] - here)
    return total


@cell
def along_y(a, k, j, i, w, periodic):
    """Return the y derivative at (j, i); see `along_x`."""
    points = POINTS or w.shape[0]
    total, half, here = real(0.0), points // 2, a[k, j, i]
    for m in range(points):
        total += w[m] * (a[k, neighbour(j, m - half, a.shape[1], periodic), i] - here)
    return total


@cell
def down(a, k, j, i, w):
    """Return the sigma derivative at layer k, with row k of the weights w."""
    total = real(0.0)
    for m in range(w.shape[1]):
        total += w[k, m] * a[m, j, i]
    return total


@cell
def laplacian(a, k, j, i, lines):
    """Return a_xx + a_yy."""
    return along_x(a, k, j, i, lines.xx, lines.periodic_x) + along_y(a, k, j, i, lines.yy, lines.periodic_y)


# -- the surface ----------------------------------------------------------------------------------


@cell
def set_bed(j, i, h, geometry, lines):
    """Set the derivatives of the still-water depth h, (1, ny, nx)."""
    geometry[H_X, j, i] = along_x(h, 0, j, i, lines.x, lines.periodic_x)
    geometry[H_Y, j, i] = along_y(h, 0, j, i, lines.y, lines.periodic_y)
    geometry[LAP_H, j, i] = laplacian(h, 0, j, i, lines)


@cell
def set_surface(j, i, eta, h, geometry, q, lines):
    """Set the depth d = h + eta, its derivatives, and the coefficient 1 / d^2 of the preconditioner."""
    d, d_x, d_y, lap_d = h[0, j, i], geometry[H_X, j, i], geometry[H_Y, j, i], geometry[LAP_H, j, i]
    if NONLINEAR:
        d += eta[0, j, i]
        d_x += along_x(eta, 0, j, i, lines.x, lines.periodic_x)
        d_y += along_y(eta, 0, j, i, lines.y, lines.periodic_y)
        lap_d += laplacian(eta, 0, j, i, lines)
    geometry[D, j, i] = d
    geometry[D_X, j, i] = d_x
    geometry[D_Y, j, i] = d_y
    geometry[LAP_D, j, i] = lap_d
    q[0, j, i] = real(1.0) / (d * d)


@cell
def set_sources(j, i, phi, geometry, sources, lines):
    """Set the right-hand sides that depend on the surface potential phi~."""
    slope_x = geometry[H_X, j, i] * along_x(phi, 0, j, i, lines.x, lines.periodic_x)
    slope_y = geometry[H_Y, j, i] * along_y(phi, 0, j, i, lines.y, lines.periodic_y)
    sources[LAP_PHI, j, i] = laplacian(phi, 0, j, i, lines)
    sources[BOTTOM, j, i] = slope_x + slope_y


# -- the residual ---------------------------------------------------------------------------------


@cell
def below_bottom(j, i, psi, geometry, sources, columns, lines):
    """Return the part of Psi_s at the bed that the ghost layer must contribute to satisfy the bed condition."""
    bottom = psi.shape[0] - 2
    h_x, h_y = geometry[H_X, j, i], geometry[H_Y, j, i]
    slope = h_x * along_x(psi, bottom, j, i, lines.x, lines.periodic_x) + sources[BOTTOM, j, i]
    slope += h_y * along_y(psi, bottom, j, i, lines.y, lines.periodic_y)
    total = real(0.0)
    for m in range(bottom + 1):
        total += columns.first[bottom, m] * psi[m, j, i]
    required = -geometry[D, j, i] / (real(1.0) + h_x * h_x + h_y * h_y) * slope
    return required - total


@cell
def set_ghosts(j, i, psi, geometry, sources, columns, lines):
    """Set Psi of the ghost layer from the bed condition."""
    ghost = psi.shape[0] - 1
    required = below_bottom(j, i, psi, geometry, sources, columns, lines)
    psi[ghost, j, i] = required / columns.first[ghost - 1, ghost]


@cell
def set_missing(j, i, psi, missing, geometry, sources, columns, lines):
    """Set the residual of the bed condition, with Psi of the ghost layer as an unknown."""
    ghost = psi.shape[0] - 1
    required = below_bottom(j, i, psi, geometry, sources, columns, lines)
    missing[0, j, i] = required - columns.first[ghost - 1, ghost] * psi[ghost, j, i]


@cell
def add_missing(j, i, missing, geometry, r, lowest):
    """Add the residual of the bed condition, times 2 / (lowest d^2), to the equation of the bed layer."""
    d = geometry[D, j, i]
    r[r.shape[0] - 1, j, i] += real(2.0) / (lowest * d * d) * missing[0, j, i]


@cell
def correct_ghost(j, i, change, missing, psi, relaxation, lowest):
    """Correct Psi of the ghost layer: mirror the correction above the bed, remove the residual of the bed condition."""
    above = change[psi.shape[0] - 4, j, i]
    psi[psi.shape[0] - 1, j, i] += above - relaxation * real(2.0) * lowest * missing[0, j, i]


@cell
def set_slopes(k, j, i, psi, slopes, columns):
    """Set Psi_s of layers 0 to nz - 1."""
    slopes[k, j, i] = down(psi, k, j, i, columns.first)


@cell
def residual(k, j, i, potential, out, surface, columns, lines):
    """Set the residual of layer k + 1; `out` has the layers 1 to nz - 1.

    potential : Psi and Psi_s; surface : geometry and sources
    """
    (psi, slopes), (geometry, sources) = potential, surface
    n = k + 1
    sigma, over_d = columns.sigma[n], real(1.0) / geometry[D, j, i]
    d_x, d_y = geometry[D_X, j, i], geometry[D_Y, j, i]
    s_x, s_y = (geometry[H_X, j, i] - sigma * d_x) * over_d, (geometry[H_Y, j, i] - sigma * d_y) * over_d
    lap_s = geometry[LAP_H, j, i] - sigma * geometry[LAP_D, j, i] - real(2.0) * (s_x * d_x + s_y * d_y)
    mixed = s_x * along_x(slopes, n, j, i, lines.x, lines.periodic_x)
    mixed += s_y * along_y(slopes, n, j, i, lines.y, lines.periodic_y)
    total = sources[LAP_PHI, j, i] + laplacian(psi, n, j, i, lines)
    total += lap_s * over_d * slopes[n, j, i] + real(2.0) * mixed
    total += (s_x * s_x + s_y * s_y + over_d * over_d) * down(psi, n, j, i, columns.second)
    out[k, j, i] = -total


@cell
def to_modes(k, j, i, r, f, transform):
    """Set mode k of the residuals of a column."""
    total = real(0.0)
    for m in range(transform.shape[1]):
        total += transform[k, m] * r[m, j, i]
    f[k, j, i] = total


@cell
def correct(k, j, i, u, psi, change, transform, relaxation):
    """Add the correction of layer k + 1 from the modes u, and store it in `change`."""
    total = real(0.0)
    for m in range(transform.shape[1]):
        total += transform[k, m] * u[m, j, i]
    change[k, j, i] = relaxation * total
    psi[k + 1, j, i] += change[k, j, i]


@cell
def vertical_velocity(j, i, psi, geometry, columns, w):
    """Set w~ = Psi_s / d at the surface."""
    w[0, j, i] = down(psi, 0, j, i, columns.first) / geometry[D, j, i]


# -- rates of the surface -------------------------------------------------------------------------


@cell
def set_rates(j, i, eta, phi, w, rates, gravity, lines):
    """Set d eta / dt, m/s, and d phi~ / dt, m2/s2; equations 1 and 2 of the source."""
    if NONLINEAR:
        e_x, e_y = along_x(eta, 0, j, i, lines.x, lines.periodic_x), along_y(eta, 0, j, i, lines.y, lines.periodic_y)
        u, v = along_x(phi, 0, j, i, lines.x, lines.periodic_x), along_y(phi, 0, j, i, lines.y, lines.periodic_y)
        upward, steep = w[0, j, i], real(1.0) + e_x * e_x + e_y * e_y
        rates[0, j, i] = upward * steep - (e_x * u + e_y * v)
        rates[1, j, i] = -gravity * eta[0, j, i] - real(0.5) * (u * u + v * v - upward * upward * steep)
    else:
        rates[0, j, i] = w[0, j, i]
        rates[1, j, i] = -gravity * eta[0, j, i]


@cell
def next_stage(k, j, i, fields, start, total, rates, scheme):
    """Add weight times the rates to the total; set the fields to start + fraction times the rates, or start + total.

    scheme : (4, 2) weight and fraction of each stage, s, and the stage; a fraction of 0 marks the last stage.
    Field 0 is eta, field 1 phi~.
    """
    stages, stage = scheme
    weight, fraction = stages[stage, 0], stages[stage, 1]
    previous = real(0.0) if stage == 0 else total[k, j, i]
    total[k, j, i] = previous + weight * rates[k, j, i]
    if fraction == real(0.0):
        fields[k, j, i] = start[k, j, i] + total[k, j, i]
    else:
        fields[k, j, i] = start[k, j, i] + fraction * rates[k, j, i]


@cell
def keep(k, j, i, a, target):
    """Copy a to kept."""
    target[k, j, i] = a[k, j, i]
