"""The update of a step on a GPU without the transform: for fields that do not fit the cache.

A thread marches north over STRIP rows of VECTOR columns. The next row is on its way while one is computed: the loads
of a row stand before the stores of the row before, past which the compiler would not move them.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import (
    cell,
    cuda,
    entry,
    real,
    start_early,
    streamed_load_four,
    streamed_load_two,
    streamed_store_four,
    streamed_store_two,
    switch,
    wait_for_previous,
)
from eagre.models.barotropic.passes_cuda import DOWN
from eagre.models.barotropic.vectors_cuda import (
    HISTORY,
    SPAN,
    VECTOR,
    computed,
    load_columns,
    load_neighbours,
    load_wind,
    store_columns,
)

PASSING = switch("PASSING", False)  # whether the older tendencies leave the cache for what is read sooner
EARLY = switch("EARLY", 0)  # whether the kernel may start before the kernel before has ended
STRIP = switch("STRIP", 8)
STRIP_THREADS = switch("STRIP_THREADS", 128)


@cell
def load_passing(field, place, into, row):
    """As `load_columns`, of what may leave the cache at once."""
    if not PASSING:
        load_columns(field, place, into, row, 0)
    elif VECTOR == 4:
        a, b, c, d = streamed_load_four(field, place, 0)
        into[row, 0], into[row, 1], into[row, 2], into[row, 3] = a, b, c, d
    else:
        a2, b2 = streamed_load_two(field, place, 0)
        into[row, 0], into[row, 1] = a2, b2


@cell
def store_passing(field, place, values, row):
    """As `store_columns`, of what may leave the cache at once."""
    if not PASSING:
        store_columns(field, place, values, row)
    elif VECTOR == 4:
        streamed_store_four(field, place, 0, (values[row, 0], values[row, 1], values[row, 2], values[row, 3]))
    else:
        streamed_store_two(field, place, 0, (values[row, 0], values[row, 1]))


@cell
def load_ages(older, oldest, start, into, row):
    """The older tendencies of a row."""
    load_passing(older, start, into, row)
    if HISTORY == 2:
        load_passing(oldest, start, into, row + 2)


@cell
def move_on(p, z, before):
    """The row that was loaded last becomes the northern one."""
    for row in range(3):
        for n in range(SPAN):
            p[row, n] = p[row + 1, n]
            z[row, n] = z[row + 1, n]
    for n in range(VECTOR):
        before[0, n] = before[1, n]
        if HISTORY == 2:
            before[2, n] = before[3, n]


@entry
def update_strips_cuda(psi, zeta, new, older, oldest, curl, weights, c, width):
    """Interior points: new = zeta + dt F; F takes the place of the oldest. Columns 1 .. width - 2 are inside.

    Rows of the arrays begin at multiples of 16 bytes. On the walls along y and past them `new` is set to 0.
    """
    p = cuda.local.array((4, SPAN), real)
    z = cuda.local.array((4, SPAN), real)
    before = cuda.local.array((4, VECTOR), real)
    forcing = cuda.local.array((1, VECTOR), real)
    found = cuda.local.array((2, VECTOR), real)
    if EARLY > 0:
        start_early()
        wait_for_previous()
    w = (weights[np.uint64(0)], weights[np.uint64(1)], weights[np.uint64(2)], weights[np.uint64(3)])
    m = np.uint64(VECTOR) * (np.uint64(cuda.blockIdx.x) * np.uint64(STRIP_THREADS) + np.uint64(cuda.threadIdx.x))
    low = np.uint64(cuda.gridDim.y - 1 - cuda.blockIdx.y if DOWN else cuda.blockIdx.y) * np.uint64(STRIP)
    ny, pitch, end = np.uint64(zeta.shape[0] - 1), np.uint64(zeta.shape[1]), np.uint64(width)
    if m < end:
        west = np.uint64(1) if m > np.uint64(0) else np.uint64(0)
        east = np.uint64(VECTOR) if m + np.uint64(VECTOR) < pitch else np.uint64(0)
        for row in range(3):
            start = min(low + np.uint64(row), ny) * pitch + m
            load_neighbours(psi, start, west, east, p, row)
            load_neighbours(zeta, start, west, east, z, row)
        load_ages(older, oldest, (low + np.uint64(1)) * pitch + m, before, 0)
        for step in range(STRIP):
            j = low + np.uint64(1 + step)
            if j < ny:
                start = j * pitch + m
                load_wind(curl, j, m, end, forcing, 0)
                after = min(j + np.uint64(2), ny) * pitch + m
                load_neighbours(psi, after, west, east, p, 3)
                load_neighbours(zeta, after, west, east, z, 3)
                load_ages(older, oldest, start + pitch, before, 1)
                computed(p, z, 0, before, forcing, w, c, m, end, found)
                store_columns(new, start, found, 0)
                if HISTORY == 2:
                    store_passing(oldest, start, found, 1)
                else:
                    store_passing(older, start, found, 1)
                move_on(p, z, before)
