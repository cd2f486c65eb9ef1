"""Update between two transforms on slabs of rows: the streamfunction is made where it is used, and not stored.

A block goes through its slab by pairs of rows. It brings rows 2 i + 1, 2 i + 2 of psi back from their spectrum into
shared memory, where the pair before lies already, makes the new vorticity of rows 2 i, 2 i + 1 from both pairs, and
transforms it. The pair before its first it makes twice, as the block beside it does.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import anew, ask_for, ask_for_piece, cell, cplx, cuda, entry, real, switch, word
from eagre.backend.warp import anywhere
from eagre.models.barotropic.vectors_cuda import (
    HISTORY,
    SPAN,
    VECTOR,
    computed,
    load_beside,
    load_columns,
    load_history,
    load_wind,
    share_neighbours,
    store_columns,
    store_history,
)
from eagre.solvers.poisson.rows_cuda import (
    ROW,
    WIDTH,
    begin,
    clear_ends,
    finish,
    put_outputs,
    put_row,
    read_pair,
    write_pair,
)
from eagre.solvers.poisson.sine_cuda import THREADS, R, get, passes, put, slot

RING = switch("RING", 64)  # where the pair of rows before begins in shared memory, words
PITCH = switch("PITCH", 20)  # from its first row to its second
EDGES = switch("EDGES", 128)  # where columns beside warps are kept: 4 rows, 2 sides, warps, turns
ASKING = switch("ASKING", 0)  # whether rows are asked for ahead: 1 those of the update, 2 those of the spectrum too


@cell
def edge_place(t, turn, closes):
    """Where the psi of four rows beside this warp lies."""
    warp = t // np.uint64(32) + np.uint64(turn * ((THREADS + 31) // 32))
    return np.uint64(EDGES) + np.uint64(8) * warp + (np.uint64(4) if closes else np.uint64(0))


@cell
def columns_of(t, asked):
    """First column of this thread, and one that it loads beside its warp; whether its warp begins, ends with it."""
    lane = t % np.uint64(32)
    opens, closes = lane == np.uint64(0), lane == np.uint64(31) or t == np.uint64(THREADS - 1)
    end = np.uint64(ROW // VECTOR * VECTOR)
    m, base = min(asked, end), min(asked - np.uint64(VECTOR) * lane, end)
    outer = min(m + np.uint64(VECTOR), np.uint64(ROW)) if closes else base - min(base, np.uint64(1))
    return m, outer, opens, closes


@cell
def copy_pair(shared, psi, t, row, ny):
    """Stored rows `row` and the next into shared memory."""
    for turn in range((ROW - 1) // THREADS + 1):
        j = t + np.uint64(turn * THREADS)
        if j > np.uint64(0) and j < np.uint64(ROW):
            put(shared, slot(j), complex(psi[row, j], psi[min(row + np.uint64(1), ny), j]))


@cell
def transform_back(shared, table, t):
    """The pair of rows in shared memory from its spectrum there."""
    v = cuda.local.array(R, cplx)  # here and not for both transforms, or it would live as long as the loop
    active = passes(shared, table, v, t)
    cuda.syncthreads()
    if active:
        put_outputs(shared, v, t)


@cell
def transform_forth(shared, table, spectrum, t, low, ny, last):
    """The spectrum of the pair of rows in shared memory; `last` : no more of this block follow."""
    v = cuda.local.array(R, cplx)
    active = passes(shared, table, v, t)
    if last:
        finish()
    if active:
        write_pair(spectrum, v, t, low, ny)
    cuda.syncthreads()


@cell
def make_psi(psi, waves, stored, shared, table, t, row, ny):
    """Streamfunction of rows `row` and the next in shared memory, from its spectrum or as it is stored."""
    if stored > 0:
        copy_pair(shared, psi, t, row, ny)
    else:
        read_pair(shared, waves, table, t, row, ny)
        transform_back(shared, table, t)
    clear_ends(shared, t)
    cuda.syncthreads()


@cell
def keep_pair(shared, t, there, second):
    """The pair of rows in shared memory becomes the pair before; `there`, `second`: rows that are no walls."""
    p = cuda.local.array((2, VECTOR), real)
    for turn in range(ROW // (VECTOR * THREADS) + 1):
        m = np.uint64(VECTOR) * (t + np.uint64(turn * THREADS))
        if m <= np.uint64(ROW):
            for n in range(VECTOR):
                z = get(shared, slot(m + np.uint64(n)))
                p[0, n] = z.real if there else real(0.0)
                p[1, n] = z.imag if second else real(0.0)
            store_columns(shared, np.uint64(RING) + m, p, 0)
            store_columns(shared, np.uint64(RING + PITCH) + m, p, 1)
    cuda.syncthreads()


@cell
def save_edges(shared, t, second):
    """Keep psi of the four rows beside each warp, which its neighbours are going to overwrite."""
    for turn in range(ROW // (VECTOR * THREADS) + 1):
        _m, outer, opens, closes = columns_of(t, np.uint64(VECTOR) * (t + np.uint64(turn * THREADS)))
        if opens or closes:
            place, z = edge_place(t, turn, closes), get(shared, slot(outer))
            shared[place] = shared[np.uint64(RING) + outer]
            shared[place + np.uint64(1)] = shared[np.uint64(RING + PITCH) + outer]
            shared[place + np.uint64(2)] = z.real
            shared[place + np.uint64(3)] = z.imag if second else real(0.0)
    cuda.syncthreads()


@cell
def load_psi(shared, p, t, turn, m, closes, second):
    """Four rows of psi, columns m .. m + VECTOR - 1, and the column beside the warp."""
    load_columns(shared, np.uint64(RING) + m, p, 0, 1)
    load_columns(shared, np.uint64(RING + PITCH) + m, p, 1, 1)
    for n in range(VECTOR):
        z = get(shared, slot(m + np.uint64(n)))
        p[2, n + 1] = z.real
        p[3, n + 1] = z.imag if second else real(0.0)
    place = edge_place(t, turn, closes)
    for row in range(4):
        p[row, 0] = shared[place + np.uint64(row)]


@cell
def keep_psi(shared, p, m):
    """The newer two rows of psi take the place of the older two."""
    kept = cuda.local.array((2, VECTOR), real)
    for row in range(2):
        for n in range(VECTOR):
            kept[row, n] = p[row + 2, n + 1]
    store_columns(shared, np.uint64(RING) + m, kept, 0)
    store_columns(shared, np.uint64(RING + PITCH) + m, kept, 1)


@cell
def march_columns(zeta, new, older, oldest, curl, w, c, shared, table, t, turn, low, asked, ny):
    """New vorticity of rows low, low + 1 and columns asked .. asked + VECTOR - 1, in place of the newer psi.

    Every thread of a warp takes part, for its neighbours; those beyond the last columns repeat them and store nothing.
    """
    p = cuda.local.array((4, SPAN), real)
    z = cuda.local.array((4, SPAN), real)
    before = cuda.local.array((4, VECTOR), real)
    forcing = cuda.local.array((2, VECTOR), real)
    found = cuda.local.array((4, VECTOR), real)
    one = np.uint64(1)
    pitch, width = np.uint64(zeta.shape[1]), np.uint64(ROW + 1)
    m, outer, opens, closes = columns_of(t, asked)
    # Every load stands before the first store, past which the compiler would not move it.
    for row in range(4):
        load_beside(zeta, (min(max(low + np.uint64(row), one), ny + one) - one) * pitch, m, outer, z, row)
    first = low * pitch + m
    second = first + pitch
    load_history(older, oldest, first, before, 0)
    load_history(older, oldest, second, before, 1)
    load_wind(curl, low, m, width, forcing, 0)
    load_wind(curl, low + one, m, width, forcing, 1)
    load_psi(shared, p, t, turn, m, closes, low + np.uint64(2) < ny)
    for row in range(4):
        share_neighbours(p, row, opens, closes)
        share_neighbours(z, row, opens, closes)
    computed(p, z, 0, before, forcing, w, c, m, width, found)
    computed(p, z, 1, before, forcing, w, c, m, width, found)
    if asked <= np.uint64(ROW):
        if low > np.uint64(0):
            store_columns(new, first, found, 0)
            store_history(older, oldest, first, found, 1)
        if low + one < ny:
            store_columns(new, second, found, 2)
            store_history(older, oldest, second, found, 3)
        keep_psi(shared, p, m)
        for n in range(VECTOR):
            j = m + np.uint64(n)
            if j > np.uint64(0) and j < np.uint64(ROW):
                put_row(shared, table, j, complex(found[0, n], found[2, n]))


@cell
def march_rows(zeta, new, older, oldest, curl, weights, c, shared, table, t, low, ny):
    """New vorticity of rows low and low + 1 in shared memory, and their psi in the place of the pair before."""
    w = (weights[np.uint64(0)], weights[np.uint64(1)], weights[np.uint64(2)], weights[np.uint64(3)])
    save_edges(shared, t, low + np.uint64(2) < ny)
    for turn in range(ROW // (VECTOR * THREADS) + 1):
        m = np.uint64(VECTOR) * (t + np.uint64(turn * THREADS))
        if anywhere(m <= np.uint64(ROW)):
            march_columns(zeta, new, older, oldest, curl, w, c, shared, table, t, turn, low, m, ny)
    cuda.syncthreads()


@cell
def ask_for_rows(zeta, older, oldest, t, low, ny):
    """Ask for the rows that the update of rows low, low + 1 is the first to read."""
    pitch = np.uint64(zeta.shape[1])
    if t == np.uint64(0):
        count = np.uint64(2) if low + np.uint64(1) < ny else np.uint64(1)
        ask_for_piece(zeta, (low + np.uint64(1)) * pitch, count * pitch)
        ask_for_piece(older, low * pitch, count * pitch)
        if HISTORY == 2:
            ask_for_piece(oldest, low * pitch, count * pitch)


@cell
def ask_for_waves(waves, t, row):
    """Ask for rows `row` and the next of a spectrum."""
    tiles = np.uint64(waves.shape[0])
    for turn in range((ROW - 1) // (WIDTH * THREADS) + 1):
        tile = t + np.uint64(turn * THREADS)
        if tile < tiles and row < np.uint64(waves.shape[1]):
            ask_for(waves, (tile * np.uint64(waves.shape[1]) + row - np.uint64(1)) * np.uint64(WIDTH), 0)


@entry
def march_cuda(stored, psi, waves, zeta, new, older, oldest, curl, weights, c, spectrum, table, pairs):
    """Interior rows: new = zeta + dt F, spectrum = its sine transform along x; a slab of pairs of rows a block.

    psi : (ny + 1, nx + 1), read if `stored`; else it is transformed back from `waves`. spectrum, waves : in tiles
    (`rows_cuda.first_place`), two arrays; the rest as of `passes_cuda.update_cuda`; pairs : (ny + 1) / 2.
    """
    shared = cuda.shared.array(0, word)
    begin()
    ny, two = np.uint64(zeta.shape[0] - 1), np.uint64(2)
    start = cuda.blockIdx.x * pairs // cuda.gridDim.x
    stop = (cuda.blockIdx.x + 1) * pairs // cuda.gridDim.x
    for pair in range(start - 1, stop):
        low = two * np.uint64(max(pair, 0))
        t = anew(np.uint64(cuda.threadIdx.x))  # else the compiler keeps every address of the loop in a register
        if ASKING > 0 and pair >= start:
            ask_for_rows(zeta, older, oldest, t, low, ny)
        if pair >= 0:
            make_psi(psi, waves, stored, shared, table, t, low + np.uint64(1), ny)
        if pair < start:
            keep_pair(shared, t, pair >= 0, pair >= 0 and low + two < ny)
        else:
            t = anew(t)
            march_rows(zeta, new, older, oldest, curl, weights, c, shared, table, t, low, ny)
            t = anew(t)
            if ASKING > 1 and pair + 1 < stop and stored == 0:
                ask_for_waves(waves, t, low + np.uint64(3))
            transform_forth(shared, table, spectrum, t, low, ny, pair + 1 == stop)
