"""Reference kernels: each stage of a step as one point function.

They define the results of the faster kernels and run where no faster kernel is available.

| stage | function |
|---|---|
| tracer and vorticity: F and Adams-Bashforth | `updated`, `updated_compensated` |
| topography | `set_forcing`, `subtract_topography` |
| Lap zeta for biharmonic viscosity | `laplacian`, `subtract_laplacian` |
| streamfunction: Lap psi - psi / R^2 = q | `PoissonSolver` with library transforms; `to_modes`, `from_modes` |
| walls and periodic axes | `kernels.boundary_x`, `kernels.boundary_y` |
| particles | `kernels.drifted` |

Implement a new option here first.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.models.barotropic.kernels import (
    FORCING,
    HISTORY,
    IMPLICIT,
    JACOBIAN,
    change,
    diffusion,
    five_points,
    stencil,
    stencil_tendency,
)


@cell
def change_of(j, i, fields, curl, weights, c):
    """Return the increment of q in a step at (j + 1, i + 1); the new tendency F replaces the oldest."""
    k, m = j + 1, i + 1
    older, oldest = fields.older, fields.oldest
    f = stencil_tendency(fields.psi, fields.q, j, i, FORCING(curl, k, m), c)
    if HISTORY == 2:
        total = change(f, older[k, m], oldest[k, m], weights)
        oldest[k, m] = f
    else:
        total = change(f, older[k, m], real(0.0), weights)
        older[k, m] = f
    return total


@cell
def updated(j, i, fields, curl, weights, c):
    """Set new = target = `kernels.advanced` at (j + 1, i + 1); fields : `LayerFields`."""
    value = fields.q[j + 1, i + 1] + change_of(j, i, fields, curl, weights, c)
    if IMPLICIT:
        value += diffusion(stencil(fields.q, j, i), c)
    fields.new[j + 1, i + 1] = value
    fields.target[j + 1, i + 1] = value


@cell
def updated_compensated(j, i, fields, curl, weights, c, rounding):
    """Apply `updated` with compensated summation: the rounding error is stored and added in the next step (Kahan 1965).

    The sum is evaluated in double precision, because the compiler may reorder a compensated sum in single precision.
    Source: doi:10.1145/363707.363723.
    """
    added = change_of(j, i, fields, curl, weights, c)
    exact = np.float64(fields.q[j + 1, i + 1]) + (np.float64(added) + np.float64(rounding[j + 1, i + 1]))
    value = real(exact)
    rounding[j + 1, i + 1] = real(exact - np.float64(value))
    fields.new[j + 1, i + 1] = value
    fields.target[j + 1, i + 1] = value


@cell
def set_forcing(j, i, wind, total):
    """Set total = wind forcing at (j + 1, i + 1), the first of the terms summed before the update."""
    total[j + 1, i + 1] = FORCING(wind, j + 1, i + 1)


@cell
def subtract_topography(j, i, psi, bed, total, jacobian):
    """Subtract J(psi, b) from total at (j + 1, i + 1); b : f0 (bed height) / D; jacobian : 1 / (4 dx dy)."""
    advection = jacobian * JACOBIAN(stencil(psi, j, i), stencil(bed, j, i))
    total[j + 1, i + 1] -= advection


@cell
def laplacian(j, i, a, out, over_dx2, over_dy2):
    """Set out = Lap a at (j + 1, i + 1), five-point stencil."""
    k, m = j + 1, i + 1
    out[k, m] = five_points(a[j, m], a[k, i], a[k, m], a[k, i + 2], a[j + 2, m], over_dx2, over_dy2)


@cell
def subtract_laplacian(j, i, a, total, over_dx2, over_dy2):
    """Subtract Lap a from total at (j + 1, i + 1); over_dx2, over_dy2 : 1 / dx^2, 1 / dy^2 times a factor."""
    k, m = j + 1, i + 1
    total[k, m] -= five_points(a[j, m], a[k, i], a[k, m], a[k, i + 2], a[j + 2, m], over_dx2, over_dy2)


@cell
def to_modes(j, i, first, second, fraction):
    """Replace q1, q2 by the barotropic mode fraction q1 + (1 - fraction) q2 and the baroclinic mode q1 - q2.

    fraction : thickness fraction of the upper layer.
    """
    a, b = first[j, i], second[j, i]
    first[j, i] = b + fraction * (a - b)
    second[j, i] = a - b


@cell
def from_modes(j, i, first, second, fraction):
    """Replace the modes by psi1 = barotropic + (1 - fraction) baroclinic, psi2 = barotropic - fraction baroclinic."""
    a, b = first[j, i], second[j, i]
    first[j, i] = a + (real(1.0) - fraction) * b
    second[j, i] = a - fraction * b
