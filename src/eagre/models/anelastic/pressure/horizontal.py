"""Point functions of the horizontal part of the pressure operator, and of the preconditioners."""

from eagre.backend.compilation.cells import cell, real
from eagre.models.anelastic.base.grid_lines import centre, lower, upper
from eagre.models.anelastic.pressure.operator import c11_at, density_at, residual_of, tensor_at


@cell
def across(q, medium, z, y, x):
    """Return rho* c11 times the derivative of q along x at a point, 0 at a boundary."""
    weight = density_at(medium.density, z.here, y.here, x.here) * c11_at(medium.c11, z.here, y.here, x.here)
    return real(0.0) if x.on else weight * (q[z.here, y.here, x.high] - q[z.here, y.here, x.low]) * x.over


@cell
def along(q, medium, z, y, x):
    """Return the same along y."""
    weight = density_at(medium.density, z.here, y.here, x.here) * c11_at(medium.c11, z.here, y.here, x.here)
    return real(0.0) if y.on else weight * (q[z.here, y.high, x.here] - q[z.here, y.low, x.here]) * y.over


@cell
def horizontal_of(q, medium, z, y, x):
    """Return H q: the horizontal divergence of rho* c11 times the horizontal derivatives, without coordinate slopes."""
    zc, yc, xc = centre(z), centre(y), centre(x)
    total = (across(q, medium, zc, yc, upper(x)) - across(q, medium, zc, yc, lower(x))) * x.over
    return total + (along(q, medium, zc, upper(y), xc) - along(q, medium, zc, lower(y), xc)) * y.over


@cell
def set_horizontal(q, inputs, out, medium, normal, z, y, x):
    """Compute nablaCnablax: H q / rho*."""
    k, j, i = z.here, y.here, x.here
    out.x[k, j, i] = horizontal_of(q, medium, z, y, x) / density_at(medium.density, k, j, i)


@cell
def stiffness(medium, k, j, i):
    """Return rho* c11."""
    return density_at(medium.density, k, j, i) * c11_at(medium.c11, k, j, i)


@cell
def diagonal_of(medium, z, y, x):
    """Return -(diagonal of H)."""
    k, j, i = z.here, y.here, x.here
    east = real(0.0) if x.on_high else stiffness(medium, k, j, x.high) * x.over_high
    west = real(0.0) if x.on_low else stiffness(medium, k, j, x.low) * x.over_low
    north = real(0.0) if y.on_high else stiffness(medium, k, y.high, i) * y.over_high
    south = real(0.0) if y.on_low else stiffness(medium, k, y.low, i) * y.over_low
    return (east + west) * x.over + (north + south) * y.over


@cell
def set_line_system(q, inputs, out, medium, normal, z, y, x):
    """Compute d, w d and the coupling of a column; normal.x (1, 1, 1): 1 / beta, or 0 for the diagonal of H."""
    k, j, i = z.here, y.here, x.here
    over_beta = normal.x[0, 0, 0]
    d = diagonal_of(medium, z, y, x)
    if over_beta > real(0.0):
        d = density_at(medium.density, k, j, i) * over_beta
    out.x[k, j, i] = d
    out.y[k, j, i] = real(0.5) * d if z.on else d
    t = tensor_at(medium, z.high, j, i)
    through = (t.g13 * t.g13 + t.g23 * t.g23) * t.c11 + t.g33 * t.g33 * t.c33
    inner = z.on_high == 0 and z.high != k
    over = z.over_high * z.over_high if inner else real(0.0)
    out.z[k, j, i] = density_at(medium.density, z.high, j, i) * through * over


@cell
def set_line_right(q, inputs, out, medium, normal, z, y, x):
    """Compute rho* r - H q - d q; inputs: r and d."""
    k, j, i = z.here, y.here, x.here
    total = density_at(medium.density, k, j, i) * inputs.x[k, j, i] - horizontal_of(q, medium, z, y, x)
    out.x[k, j, i] = total - inputs.y[k, j, i] * q[k, j, i]


@cell
def set_weighed(q, inputs, out, medium, normal, z, y, x):
    """Compute rho* q."""
    k, j, i = z.here, y.here, x.here
    out.x[k, j, i] = density_at(medium.density, k, j, i) * q[k, j, i]


@cell
def set_sweep(q, inputs, out, medium, normal, z, y, x):
    """Compute a q + b L q + c r; inputs: r, and a, b, c as (1, 1, 3)."""
    k, j, i = z.here, y.here, x.here
    total = inputs.y[0, 0, 0] * q[k, j, i] + inputs.y[0, 0, 1] * residual_of(q, inputs, medium, normal, z, y, x)
    out.x[k, j, i] = total + inputs.y[0, 0, 2] * inputs.x[k, j, i]
