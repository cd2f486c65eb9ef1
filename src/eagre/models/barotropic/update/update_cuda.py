"""GPU kernel of the update, fused with the sine transform along x.

A step has three kernels: `update_cuda` (tendency, Adams-Bashforth, sine transform of the rows of the new vorticity),
`eagre.solvers.poisson.columns_cuda` (tridiagonal systems along y) and `eagre.solvers.poisson.rows_cuda` (inverse
transform to psi). Without TRANSFORM, `update_cuda` updates a tracer. `update_layers_cuda` updates two layers.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import (
    cell,
    cplx,
    cuda,
    entry,
    flat_load,
    load_four,
    load_two,
    real,
    store_four,
    store_two,
    switch,
    word,
)
from eagre.models.barotropic.kernels import (
    BIHARMONIC,
    HISTORY,
    advanced,
    five_points,
    other_layer,
    stencil,
    tendency,
    wind_at,
)
from eagre.solvers.poisson.rows_cuda import (
    ROW,
    THREADS,
    R,
    begin,
    clear_ends,
    finish,
    put_row,
    transform_rows,
    write_pair,
)

VECTOR = switch("VECTOR", 4)  # columns per thread: 16 bytes
SPAN = switch("SPAN", 6)  # VECTOR + 2, as a compile-time constant
TRANSFORM = switch("TRANSFORM", True)  # whether the rows are transformed
WIND_BELOW = switch("WIND_BELOW", 0)  # forcing of the lower layer: 0 none, 2 a field of x and y


@cell
def load_columns(field, index, into, row, start):
    """Load VECTOR columns from flat index `index` into into[row, start ..]."""
    if VECTOR == 4:
        a, b, c, d = load_four(field, index, 0)
        into[row, start], into[row, start + 1], into[row, start + 2], into[row, start + 3] = a, b, c, d
    else:
        a2, b2 = load_two(field, index, 0)
        into[row, start], into[row, start + 1] = a2, b2


@cell
def store_columns(field, index, values, row):
    """Store VECTOR columns of values[row] at flat index `index`."""
    if VECTOR == 4:
        store_four(field, index, 0, (values[row, 0], values[row, 1], values[row, 2], values[row, 3]))
    else:
        store_two(field, index, 0, (values[row, 0], values[row, 1]))


@cell
def load_neighbours(field, start, west, east, into, row):
    """Load columns m - 1 .. m + VECTOR; `start` is the flat index of column m."""
    into[row, 0] = flat_load(field, start - west, 0)
    load_columns(field, start, into, row, 1)
    into[row, SPAN - 1] = flat_load(field, start + east, 0)


@cell
def load_history(older, oldest, start, into, row):
    """Load the stored tendencies of a row."""
    load_columns(older, start, into, row, 0)
    if HISTORY == 2:
        load_columns(oldest, start, into, row + 2, 0)


@cell
def store_history(older, oldest, start, values, row):
    """Replace the oldest tendency by the new one."""
    if HISTORY == 2:
        store_columns(oldest, start, values, row)
    else:
        store_columns(older, start, values, row)


@cell
def load_wind(curl, start, j, m, width, into, row):
    """Load the forcing of columns m .. m + VECTOR - 1 of row j; `start` is the flat index of column m."""
    for n in range(VECTOR):
        into[row, n] = wind_at(curl, j, min(m + np.uint64(n), width - np.uint64(1)))


@cell
def subtract_biharmonic(forcing, j, m, into, row):
    """Subtract B Lap Lap zeta in columns m .. m + VECTOR - 1 of row j.

    Values beyond the ends of a row contribute to walls only. There is no row after the last one, a wall.
    """
    lap = cuda.local.array((3, SPAN), real)
    pitch = np.uint64(forcing.lap.shape[1])
    start = min(j, np.uint64(forcing.lap.shape[0] - 2)) * pitch + m
    load_columns(forcing.lap, start - pitch, lap, 0, 1)
    load_neighbours(forcing.lap, start, np.uint64(1), np.uint64(VECTOR), lap, 1)
    load_columns(forcing.lap, start + pitch, lap, 2, 1)
    for n in range(VECTOR):
        south, north = lap[0, n + 1], lap[2, n + 1]
        west, here, east = lap[1, n], lap[1, n + 1], lap[1, n + 2]
        into[row, n] -= five_points(south, west, here, east, north, forcing.over_dx2, forcing.over_dy2)


@cell
def load_terms(forcing, start, j, m, width, into, row):
    """Load the forcing with the biharmonic term; forcing : `kernels.Forcing`."""
    load_wind(forcing.curl, start, j, m, width, into, row)
    subtract_biharmonic(forcing, j, m, into, row)


LOAD_FORCING = switch("LOAD_FORCING", load_wind)  # or `load_terms`


@cell
def computed(p, z, row, previous, forcing, numbers, m, result):
    """Store the new vorticity and tendency of the row after `row` in result[2 row], result[2 row + 1].

    Both are zero on walls and outside the grid. numbers : weights, and `Coefficients`
    """
    w, c = numbers
    width = np.uint64(ROW + 1)
    for n in range(VECTOR):
        here = stencil(z, row, n)
        f = tendency(stencil(p, row, n), here, forcing[row, n], c)
        long_before = real(0.0)
        if HISTORY == 2:
            long_before = previous[row + 2, n]
        value = advanced(here, f, previous[row, n], long_before, w, c)
        inside = m + np.uint64(n) > np.uint64(0) and m + np.uint64(n + 1) < width
        result[row + row, n] = value if inside else real(0.0)
        result[row + row + 1, n] = f if inside else real(0.0)


@cell
def load_stored(psi, zeta, low, m, ny, p, z):
    """Load psi and zeta of rows low .. low + 3."""
    pitch = np.uint64(zeta.shape[1])
    west = np.uint64(1) if m > np.uint64(0) else np.uint64(0)
    east = np.uint64(VECTOR) if m + np.uint64(VECTOR) < pitch else np.uint64(0)
    for row in range(4):
        start = min(low + np.uint64(row), ny) * pitch + m
        load_neighbours(psi, start, west, east, p, row)
        load_neighbours(zeta, start, west, east, z, row)


@cell
def put_columns(result, shared, table, m):
    """Store the new vorticity of both rows in shared memory, without wall points."""
    for n in range(VECTOR):
        j = m + np.uint64(n)
        if j > np.uint64(0) and j < np.uint64(ROW):
            put_row(shared, table, j, complex(result[0, n], result[2, n]))


@cell
def update_columns(fields, curl, numbers, shared, table, low, m):
    """Update rows low + 1, low + 2, columns m .. m + VECTOR - 1, and copy the new vorticity to shared memory."""
    psi, zeta, new, _, older, oldest = fields
    ny = np.uint64(psi.shape[0] - 1)
    p = cuda.local.array((4, SPAN), real)
    z = cuda.local.array((4, SPAN), real)
    previous = cuda.local.array((4, VECTOR), real)
    forcing = cuda.local.array((2, VECTOR), real)
    result = cuda.local.array((4, VECTOR), real)
    pitch, width = np.uint64(psi.shape[1]), np.uint64(ROW + 1)
    first = (low + np.uint64(1)) * pitch + m
    second = first + pitch
    # All loads precede the first store, because the compiler does not move loads across stores.
    load_stored(psi, zeta, low, m, ny, p, z)
    load_history(older, oldest, first, previous, 0)
    load_history(older, oldest, second, previous, 1)
    LOAD_FORCING(curl, first, low + np.uint64(1), m, width, forcing, 0)
    LOAD_FORCING(curl, second, low + np.uint64(2), m, width, forcing, 1)
    computed(p, z, 0, previous, forcing, numbers, m, result)
    computed(p, z, 1, previous, forcing, numbers, m, result)
    store_columns(new, first, result, 0)
    store_history(older, oldest, first, result, 1)
    if low + np.uint64(2) < ny:
        store_columns(new, second, result, 2)
        store_history(older, oldest, second, result, 3)
    if TRANSFORM:
        put_columns(result, shared, table, m)


@cell
def update_rows(fields, curl, weights, c, shared, table, t, low):
    """Update rows low + 1 and low + 2, and copy the new vorticity to shared memory."""
    w = (weights[np.uint64(0)], weights[np.uint64(1)], weights[np.uint64(2)])
    for chunk in range((ROW - 1) // (VECTOR * THREADS) + 1):
        m = np.uint64(VECTOR) * (t + np.uint64(chunk * THREADS))
        if m < np.uint64(ROW):
            update_columns(fields, curl, (w, c), shared, table, low, m)
    if TRANSFORM:
        clear_ends(shared, t)
        cuda.syncthreads()


@entry
def update_cuda(fields, curl, weights, c, spectrum, table):
    """Set new = `kernels.advanced` in interior rows and spectrum = sine transform of new along x; two rows per block.

    fields : `LayerFields` (ny + 1, nx + 1), rows aligned to 16 bytes, with zero padding; `target` is not used;
    spectrum : stored in tiles (`rows_cuda.first_index`); with HISTORY = 1 `oldest` is not used, without TRANSFORM
    `spectrum`.
    """
    shared = cuda.shared.array(0, word)
    v = cuda.local.array(R, cplx)
    t = np.uint64(cuda.threadIdx.x)
    begin()
    ny = np.uint64(fields.psi.shape[0] - 1)
    low = np.uint64(2) * np.uint64(cuda.blockIdx.x)
    update_rows(fields, curl, weights, c, shared, table, t, low)
    if TRANSFORM:
        active = transform_rows(shared, table, v, t)
        finish()
        if active:
            write_pair(spectrum, spectrum, v, t, low + np.uint64(1), low + np.uint64(2), ny)


@cell
def load_stencils(psi, zeta, start, m, p, z):
    """Load psi and zeta of a row and of both adjacent rows; `start` is the flat index of its column m."""
    pitch = np.uint64(zeta.shape[1])
    west = np.uint64(1) if m > np.uint64(0) else np.uint64(0)
    east = np.uint64(VECTOR) if m + np.uint64(VECTOR) < pitch else np.uint64(0)
    first = start - pitch
    for row in range(3):
        load_neighbours(psi, first + np.uint64(row) * pitch, west, east, p, row)
        load_neighbours(zeta, first + np.uint64(row) * pitch, west, east, z, row)


@cell
def computed_layer(stencils, others, previous, forcing, wind, numbers, j, m, start, result):
    """Store the new vorticity and tendency of row j in result[0], result[1]; others : stencils of the other layer."""
    p, z = stencils
    other_p, other_z = others
    if BIHARMONIC:
        subtract_biharmonic(forcing, j, m, wind, 0)
    for n in range(VECTOR):
        wind[0, n] -= other_layer(other_p[1, n + 1], other_z[1, n + 1], forcing)
    computed(p, z, 0, previous, wind, numbers, m, result)


@cell
def update_layer_columns(upper, lower, weights, shared, table, j, m):
    """Update row j, columns m .. m + VECTOR - 1 of both layers, and copy the new vorticity to shared memory."""
    fields, forcing, c = upper
    lower_fields, lower_forcing, lower_c = lower
    p = cuda.local.array((3, SPAN), real)
    z = cuda.local.array((3, SPAN), real)
    lower_p = cuda.local.array((3, SPAN), real)
    lower_z = cuda.local.array((3, SPAN), real)
    previous = cuda.local.array((4, VECTOR), real)
    lower_previous = cuda.local.array((4, VECTOR), real)
    wind = cuda.local.array((2, VECTOR), real)
    result = cuda.local.array((4, VECTOR), real)
    lower_result = cuda.local.array((2, VECTOR), real)
    width = np.uint64(ROW + 1)
    start = j * np.uint64(fields.psi.shape[1]) + m
    # All loads precede the first store, because the compiler does not move loads across stores.
    load_stencils(fields.psi, fields.q, start, m, p, z)
    load_stencils(lower_fields.psi, lower_fields.q, start, m, lower_p, lower_z)
    load_history(fields.older, fields.oldest, start, previous, 0)
    load_history(lower_fields.older, lower_fields.oldest, start, lower_previous, 0)
    load_wind(forcing.curl, start, j, m, width, wind, 0)
    computed_layer((p, z), (lower_p, lower_z), previous, forcing, wind, (weights, c), j, m, start, result)
    for n in range(VECTOR):
        wind[0, n] = real(0.0)
        if WIND_BELOW == 2:
            wind[0, n] = lower_forcing.curl[j, min(m + np.uint64(n), width - np.uint64(1))]
    numbers = (weights, lower_c)
    computed_layer((lower_p, lower_z), (p, z), lower_previous, lower_forcing, wind, numbers, j, m, start, lower_result)
    store_columns(fields.new, start, result, 0)
    store_history(fields.older, fields.oldest, start, result, 1)
    store_columns(lower_fields.new, start, lower_result, 0)
    store_history(lower_fields.older, lower_fields.oldest, start, lower_result, 1)
    for n in range(VECTOR):
        result[2, n] = lower_result[0, n]
    put_columns(result, shared, table, m)


@entry
def update_layers_cuda(fields, forcing, weights, c, lower_fields, lower_forcing, lower_c, spectra, table):
    """Apply `update_cuda` to two layers, one row of each per block; spectra : `LayerPair` of vertical modes.

    fields, forcing, c : of the upper layer, with `kernels.Forcing`.
    """
    shared = cuda.shared.array(0, word)
    v = cuda.local.array(R, cplx)
    t = np.uint64(cuda.threadIdx.x)
    begin()
    w = (weights[np.uint64(0)], weights[np.uint64(1)], weights[np.uint64(2)])
    row = np.uint64(cuda.blockIdx.x) + np.uint64(1)
    for chunk in range((ROW - 1) // (VECTOR * THREADS) + 1):
        m = np.uint64(VECTOR) * (t + np.uint64(chunk * THREADS))
        if m < np.uint64(ROW):
            upper, lower = (fields, forcing, c), (lower_fields, lower_forcing, lower_c)
            update_layer_columns(upper, lower, w, shared, table, row, m)
    clear_ends(shared, t)
    cuda.syncthreads()
    active = transform_rows(shared, table, v, t)
    finish()
    if active:
        write_pair(spectra, spectra.first, v, t, row, row, np.uint64(fields.psi.shape[0] - 1))
