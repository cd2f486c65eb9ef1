"""CPU kernel of the update: tendency and Adams-Bashforth, row by row."""

from __future__ import annotations

from eagre.backend.compilation.cells import cell, entry, prange, real, switch
from eagre.models.barotropic.kernels import FORCING, HISTORY, advanced, stencil, stencil_tendency

COPY = switch("COPY", True)  # whether `target` is another array than `new`
TERMS = switch("TERMS", False)  # whether `curl` is a `kernels.Forcing`


@cell
def row_tendency(psi, zeta, curl, c, j, f):
    """Store F of interior row j + 1 in f."""
    if TERMS:  # two loops: with all fields in one, the compiler has too many possible overlaps to rule out
        for i in range(psi.shape[1] - 2):
            f[i] = FORCING(curl, j + 1, i + 1)
        for i in range(psi.shape[1] - 2):
            f[i] = stencil_tendency(psi, zeta, j, i, f[i], c)
    else:
        for i in range(psi.shape[1] - 2):
            f[i] = stencil_tendency(psi, zeta, j, i, FORCING(curl, j + 1, i + 1), c)


@cell
def row_advance(zeta, new, older, oldest, weights, c, j, f):
    """Set new = `kernels.advanced` in row j + 1; F replaces the oldest tendency."""
    w = (weights[0], weights[1], weights[2])
    # One output array per loop: with more, the compiler has too many possible overlaps to rule out.
    if HISTORY == 2:
        for i in range(f.shape[0]):
            new[j + 1, i + 1] = advanced(stencil(zeta, j, i), f[i], older[j + 1, i + 1], oldest[j + 1, i + 1], w, c)
        for i in range(f.shape[0]):
            oldest[j + 1, i + 1] = f[i]
    else:
        for i in range(f.shape[0]):
            new[j + 1, i + 1] = advanced(stencil(zeta, j, i), f[i], older[j + 1, i + 1], real(0.0), w, c)
        for i in range(f.shape[0]):
            older[j + 1, i + 1] = f[i]


@entry
def update_cpu(fields, curl, weights, c, scratch):
    """Set new = zeta + dt F at interior points, and with COPY copy new to `target`, which the solver overwrites.

    fields : `LayerFields`; scratch : (chunks, mx).
    """
    psi, zeta, new = fields.psi, fields.q, fields.new
    target, older, oldest = fields.target, fields.older, fields.oldest
    rows = psi.shape[0] - 2
    chunks = scratch.shape[0]
    for chunk in prange(chunks):
        for j in range(chunk * rows // chunks, (chunk + 1) * rows // chunks):
            row_tendency(psi, zeta, curl, c, j, scratch[chunk])
            row_advance(zeta, new, older, oldest, weights, c, j, scratch[chunk])
            if COPY:
                for i in range(psi.shape[1] - 2):
                    target[j + 1, i + 1] = new[j + 1, i + 1]
