"""Operations of a GCR(k) iteration on device fields, with device scalars.

Fields (nz, ny, nx); directions p and their images L p: (k, nz, ny, nx). Sums use double precision.
"""

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real, serial_entry, switch
from eagre.stepping.convergence_loop import ITERATING, check_convergence, is_iterating

BETA = 0  # step along the newest direction
COUNT = 1  # number of stored directions
SLOT = 2  # index of the newest direction
KEPT = 3  # k
NUMBERS = 4  # followed by k squares <L p, L p> and k coefficients alpha
MIN_SQUARE = 1e-300
HUGE = 1e300


@cell
def of_level(w, k, j, i):
    """Return the weight of a level, (nz, 1, 1)."""
    return w[k, 0, 0]


@cell
def of_point(w, k, j, i):
    """Return the weight of a point, (nz, ny, nx)."""
    return w[k, j, i]


weight_at = switch("WEIGHT", of_level)


@cell
def share_of(edge, n, i):
    """Return the fraction of a cell that point i of n owns along an axis."""
    return edge if i == 0 or i == n - 1 else real(1.0)


@cell
def next_slot(scalars):
    """Return the index of the next direction: index 0 when all are in use."""
    return np.int64(scalars[COUNT]) if scalars[COUNT] < scalars[KEPT] else np.int64(0)


@serial_entry
def begin(scalars, num_directions):
    """Start without directions."""
    scalars[COUNT] = 0.0
    scalars[KEPT] = num_directions
    scalars[BETA] = 0.0


@cell
def set_shares(scalars, n, total):
    """Set alpha_n = -<L q, L p_n> / <L p_n, L p_n>."""
    num_directions = np.int64(scalars[KEPT])
    scalars[NUMBERS + num_directions + n] = -total / max(scalars[NUMBERS + n], MIN_SQUARE)


@cell
def set_step(scalars, control, along, square):
    """Set beta = -<r, L p> / <L p, L p>; stop for a direction that the operator maps to zero."""
    slot = next_slot(scalars)
    scalars[NUMBERS + slot] = square
    if square > MIN_SQUARE:
        scalars[BETA] = -along / square
    else:
        scalars[BETA] = 0.0
        control[ITERATING] = 0.0
    scalars[SLOT] = slot
    scalars[COUNT] = slot + 1.0


@cell
def check_residual(control, maximum, squares):
    """Check the maximum residual, or the sum of squares if the maximum is not finite."""
    check_convergence(control, maximum * maximum if squares < HUGE else squares)


@entry
def measure_cpu(r, partials):
    """Compute max |r| and the sum of r^2 of each column of a level; partials (2, nz, nx)."""
    nz, ny, nx = r.shape
    for k in prange(nz):
        for i in range(nx):
            partials[0, k, i] = 0.0
            partials[1, k, i] = 0.0
        for j in range(ny):
            for i in range(nx):
                a = float(abs(r[k, j, i]))
                partials[0, k, i] = a if a > partials[0, k, i] else partials[0, k, i]
                partials[1, k, i] += a * a


@entry
def advance_cpu(phi, r, directions, images, scalars, control, partials):
    """Set phi += beta p, r += beta L p, and the results of `measure_cpu`."""
    nz, ny, nx = r.shape
    for k in prange(nz):
        if is_iterating(control):
            beta, slot = real(scalars[BETA]), np.uint32(scalars[SLOT])
            for i in range(nx):
                partials[0, k, i] = 0.0
                partials[1, k, i] = 0.0
            for j in range(ny):
                for i in range(nx):
                    phi[k, j, i] += beta * directions[slot, k, j, i]
                for i in range(nx):
                    r[k, j, i] += beta * images[slot, k, j, i]
                    a = float(abs(r[k, j, i]))
                    partials[0, k, i] = a if a > partials[0, k, i] else partials[0, k, i]
                    partials[1, k, i] += a * a


@entry
def products_cpu(image, images, weight, edges, scalars, control, partials):
    """Compute <L q, L p_n> of all stored directions; partials (k, nz, nx); edges: cell fractions of boundary points."""
    nz, ny, nx = image.shape
    for k in prange(nz):
        if is_iterating(control):
            for n in range(np.int64(scalars[COUNT])):
                for i in range(nx):
                    partials[n, k, i] = 0.0
                for j in range(ny):
                    fraction = share_of(edges[0], nz, k) * share_of(edges[1], ny, j)
                    for i in range(nx):
                        one = weight_at(weight, k, j, i) * fraction * image[k, j, i] * images[np.uint32(n), k, j, i]
                        partials[n, k, i] += float(one)


@cell
def combine_row(k, j, q, image, directions, images, scalars):
    """Compute the new direction of a row; the oldest direction may be stored at the same index."""
    slot, count, num_directions = np.uint32(next_slot(scalars)), np.int64(scalars[COUNT]), np.int64(scalars[KEPT])
    first = real(scalars[NUMBERS + num_directions]) if count > 0 else real(0.0)
    for i in range(q.shape[2]):
        directions[slot, k, j, i] = q[k, j, i] + first * directions[0, k, j, i]
        images[slot, k, j, i] = image[k, j, i] + first * images[0, k, j, i]
    for n in range(1, count):
        alpha, m = real(scalars[NUMBERS + num_directions + n]), np.uint32(n)
        for i in range(q.shape[2]):
            directions[slot, k, j, i] += alpha * directions[m, k, j, i]
            images[slot, k, j, i] += alpha * images[m, k, j, i]


@entry
def combine_cpu(q, image, directions, images, r, weight, edges, scalars, control, partials):
    """Combine q and L q with coefficients alpha, store them, and compute <r, L q> and <L q, L q>."""
    nz, ny, nx = r.shape
    for k in prange(nz):
        if is_iterating(control):
            slot = np.uint32(next_slot(scalars))
            for i in range(nx):
                partials[0, k, i] = 0.0
                partials[1, k, i] = 0.0
            for j in range(ny):
                fraction = share_of(edges[0], nz, k) * share_of(edges[1], ny, j)
                combine_row(k, j, q, image, directions, images, scalars)
                for i in range(nx):
                    one = weight_at(weight, k, j, i) * fraction * images[slot, k, j, i]
                    partials[0, k, i] += float(one * r[k, j, i])
                    partials[1, k, i] += float(one * images[slot, k, j, i])


@cell
def row_sum(partials, n, edge):
    """Return the sum of row n in order, with the cell fractions of boundary points along x."""
    total = 0.0
    for k in range(partials.shape[1]):
        nx = partials.shape[2]
        for i in range(nx):
            total += partials[n, k, i]
        total += (edge - 1.0) * (partials[n, k, 0] + partials[n, k, nx - 1])
    return total


@serial_entry
def check_residual_cpu(partials, control):
    """Check convergence with all partial results of `advance_cpu`."""
    maximum, squares = 0.0, 0.0
    for k in range(partials.shape[1]):
        for i in range(partials.shape[2]):
            maximum = max(maximum, partials[0, k, i])
            squares += partials[1, k, i]
    check_residual(control, maximum, squares)


@serial_entry
def shares_cpu(partials, edges, scalars, control):
    """Set all alpha."""
    if is_iterating(control):
        for n in range(int(scalars[COUNT])):
            set_shares(scalars, n, row_sum(partials, n, edges[2]))


@serial_entry
def step_cpu(partials, edges, scalars, control):
    """Set beta."""
    if is_iterating(control):
        set_step(scalars, control, row_sum(partials, 0, edges[2]), row_sum(partials, 1, edges[2]))
