"""Column systems of the pressure on a GPU: one thread per decoupled system, with loads of four points in flight.

See `columns.solve_column`. The two systems of a column, and real and imaginary parts, have separate threads, because a
grid has few columns and each step of the recursion waits for memory.
"""

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, load_two, real, store_two
from eagre.models.anelastic.preconditioners.columns import PARTS, coupling_at, factor_of

LANES = 32
SYSTEMS = 2
ROWS = 8  # modes per block of the kernel that divides modes
AHEAD = 4  # points with loads in flight, in `down_four` and `up_four`


@cell
def inside(k, last):
    """Return a level, limited to the last level of its system."""
    return np.uint32(min(k, last))


@cell
def down(x, b, over, coupling, scale, k, last, j, i):
    """Return the unknown of level k from the level below, x; beyond the last level return x."""
    if k > last:
        return x
    below = coupling_at(coupling, np.uint32(max(k - 2, 0)), j, i)
    return (below * x - scale[np.uint32(k)] * b) * over


@cell
def store(f, k, last, j, m, x):
    """Store the unknown of a valid level."""
    if k <= last:
        f[np.uint32(k), j, m] = x


@cell
def down_four(x, f, inverse, coupling, scale, k, last, j, m):
    """Eliminate four levels, from level k upwards."""
    i = np.uint32(m // PARTS)
    k0, k1, k2, k3 = inside(k, last), inside(k + 2, last), inside(k + 4, last), inside(k + 6, last)
    b0, b1, b2, b3 = f[k0, j, m], f[k1, j, m], f[k2, j, m], f[k3, j, m]
    o0, o1, o2, o3 = inverse[k0, j, i], inverse[k1, j, i], inverse[k2, j, i], inverse[k3, j, i]
    x = down(x, b0, o0, coupling, scale, k, last, j, i)
    store(f, k, last, j, m, x)
    x = down(x, b1, o1, coupling, scale, k + 2, last, j, i)
    store(f, k + 2, last, j, m, x)
    x = down(x, b2, o2, coupling, scale, k + 4, last, j, i)
    store(f, k + 4, last, j, m, x)
    x = down(x, b3, o3, coupling, scale, k + 6, last, j, i)
    store(f, k + 6, last, j, m, x)
    return x


@cell
def up(x, b, over, coupling, k, j, i):
    """Return the unknown of level k from the level above, x; below the first level return x."""
    if k < 0:
        return x
    return b + coupling_at(coupling, np.uint32(k), j, i) * over * x


@cell
def store_up(f, k, j, m, x):
    """Store the unknown of a valid level."""
    if k >= 0:
        f[np.uint32(k), j, m] = x


@cell
def up_four(x, f, inverse, coupling, k, system, j, m):
    """Back-substitute four levels, from level k downwards."""
    i = np.uint32(m // PARTS)
    k0, k1 = np.uint32(max(k, system)), np.uint32(max(k - 2, system))
    k2, k3 = np.uint32(max(k - 4, system)), np.uint32(max(k - 6, system))
    b0, b1, b2, b3 = f[k0, j, m], f[k1, j, m], f[k2, j, m], f[k3, j, m]
    o0, o1, o2, o3 = inverse[k0, j, i], inverse[k1, j, i], inverse[k2, j, i], inverse[k3, j, i]
    x = up(x, b0, o0, coupling, k, j, i)
    store_up(f, k, j, m, x)
    x = up(x, b1, o1, coupling, k - 2, j, i)
    store_up(f, k - 2, j, m, x)
    x = up(x, b2, o2, coupling, k - 4, j, i)
    store_up(f, k - 4, j, m, x)
    x = up(x, b3, o3, coupling, k - 6, j, i)
    store_up(f, k - 6, j, m, x)
    return x


@entry
def column_systems_cuda(f, inverse, coupling, scale):
    """Solve in place; grid: (tiles of LANES numbers of a row, rows), block: (LANES, SYSTEMS)."""
    m = np.uint32(cuda.blockIdx.x * LANES + cuda.threadIdx.x)
    system, j = cuda.threadIdx.y, np.uint32(cuda.blockIdx.y)
    nz = f.shape[0]
    last = system + 2 * ((nz - 1 - system) // 2)  # last level of the system
    if m < f.shape[2] and system < nz:
        x = real(0.0)
        for k in range(system, nz, 2 * AHEAD):
            x = down_four(x, f, inverse, coupling, scale, k, last, j, m)
        for back in range(0, last - system, 2 * AHEAD):
            x = up_four(x, f, inverse, coupling, last - 2 - back, system, j, m)


@cell
def multiply(f, offset, number, tables, k, j, i):
    """Multiply a loaded complex mode by its factor and store it."""
    factor = factor_of(tables, k, j, i)
    store_two(f, offset, 0, (number[0] * factor, number[1] * factor))


@entry
def divide_cuda(f, tables):
    """Apply `columns.divide` to complex numbers; AHEAD levels per thread. Grid: tiles of LANES x ROWS modes, levels."""
    i = np.uint32(cuda.blockIdx.x * LANES + cuda.threadIdx.x)
    j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
    nz, ny, n = f.shape[0], f.shape[1], f.shape[2] // 2
    if i < n and j < ny:
        last, k = np.uint32(nz - 1), np.uint32(cuda.blockIdx.z * AHEAD)
        k1, k2, k3 = np.uint32(k + 1), np.uint32(k + 2), np.uint32(k + 3)
        step, row = np.uint32(np.uint32(2 * ny) * np.uint32(n)), np.uint32(2) * (j * np.uint32(n) + i)
        offset, offset1 = np.uint32(k * step + row), np.uint32(min(k1, last) * step + row)
        offset2, offset3 = np.uint32(min(k2, last) * step + row), np.uint32(min(k3, last) * step + row)
        zero, one = load_two(f, offset, 0), load_two(f, offset1, 0)
        two, three = load_two(f, offset2, 0), load_two(f, offset3, 0)
        multiply(f, offset, zero, tables, k, j, i)
        if k1 <= last:
            multiply(f, offset1, one, tables, k1, j, i)
        if k2 <= last:
            multiply(f, offset2, two, tables, k2, j, i)
        if k3 <= last:
            multiply(f, offset3, three, tables, k3, j, i)
