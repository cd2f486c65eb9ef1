"""GCR(1) without a preconditioner on a GPU: an iteration in two kernels with a traffic of ten values per point.

    direction   phi += beta p of the previous iteration,  p = r + alpha p,  L p = L r + alpha L p;  beta
    advance     r' = r + beta L p;  alpha of the next iteration from L r', computed from r and L p at neighbours

Both kernels recompute L r, so it is never stored. The last block adds the partial sums of all blocks in order, so
results are bitwise reproducible. r alternates between two arrays, as neighbours read the old one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import (
    Entry,
    cell,
    cuda,
    flat_load,
    flat_store,
    load_four,
    load_two,
    load_volatile,
    real,
    store_four,
    store_two,
    switch,
    written,
)
from eagre.backend.compilation.unrolled import unrolled
from eagre.backend.cuda.warp import thread
from eagre.solvers.gcr.kernels import (
    BETA,
    COUNT,
    NUMBERS,
    check_residual,
    set_shares,
    set_step,
    share_of,
    weight_at,
)
from eagre.solvers.gcr.kernels_cuda import is_last
from eagre.stepping.convergence_loop import add_up, is_iterating, max_over_block

LANES, ROWS = 32, 8
BLOCK = LANES * ROWS
VECTOR = switch("VECTOR", 1)  # adjacent points per thread: 1, 2 or 4


class Near(NamedTuple):
    """Column of points: flat indices of it and its horizontal neighbours, and the factors of L."""

    here: Any
    to_east: Any
    to_west: Any
    to_north: Any
    to_south: Any
    east: Any
    west: Any
    north: Any
    south: Any


@cell
def column(stencil, j, i, last, nx):
    """Return the column at (j, i), whose eastern neighbours are those of the point `last`."""
    row = np.uint32(j * np.uint32(nx))
    to_east, to_west = np.uint32(row + stencil.to_east[last]), np.uint32(row + stencil.to_west[i])
    to_north = np.uint32(stencil.to_north[j] * np.uint32(nx) + i)
    to_south = np.uint32(stencil.to_south[j] * np.uint32(nx) + i)
    return Near(
        np.uint32(row + i), to_east, to_west, to_north, to_south,
        stencil.east[i], stencil.west[i], stencil.north[j], stencil.south[j],
    )  # fmt: skip


@cell
def near(stencil, j, i, nx):
    """Return the column at (j, i)."""
    return column(stencil, j, i, np.uint32(i + np.uint32(VECTOR - 2 if VECTOR > 1 else 0)), nx)


@cell
def next_to(first, j, i, nx):
    """Return `near` for an operator with adjacent neighbours: neighbours along x of all points of a thread."""
    return column(first, j, i, np.uint32(i + np.uint32(VECTOR - 1)), nx)


@cell
def level(k, nz, size, periodic):
    """Return the flat index of the first point of level k, -2 to nz + 1: wrapped if periodic, otherwise clipped."""
    if k < 0:
        k = k + nz if periodic else 0
    if k > nz - 1:
        k = k - nz if periodic else nz - 1
    return np.uint32(np.uint32(k) * np.uint32(size))


@cell
def block_number():
    """Return the linear index of this block."""
    return (cuda.blockIdx.z * cuda.gridDim.y + cuda.blockIdx.y) * cuda.gridDim.x + cuda.blockIdx.x


@cell
def store_parts(tree, t, first, second, partials, is_largest):
    """Store the two partial results of a block, the first a sum or maximum, in rows 0 and 1."""
    block, blocks = block_number(), partials.shape[2]
    if is_largest:
        max_over_block(tree, t, BLOCK, first)
    else:
        add_up(tree, t, BLOCK, first)
    if t == 0 and block < blocks:
        partials[0, 0, block] = tree[0]
    cuda.syncthreads()
    add_up(tree, t, BLOCK, second)
    if t == 0 and block < blocks:
        partials[1, 0, block] = tree[0]


@cell
def both_totals(tree, t, partials, is_largest):
    """Return the sum or maximum of the first row and the sum of the second row, by one block."""
    first, second = 0.0, 0.0
    blocks = partials.shape[2]
    for m in range(t, blocks, BLOCK):
        one = load_volatile(partials, m, 0)
        first = max(first, one) if is_largest else first + one
        second += load_volatile(partials, m, blocks)
    if is_largest:
        max_over_block(tree, t, BLOCK, first)
    else:
        add_up(tree, t, BLOCK, first)
    first = tree[0]
    cuda.syncthreads()
    add_up(tree, t, BLOCK, second)
    return first, tree[0]


@cell
def load(array, start, offset):
    """Return VECTOR values from an index."""
    if VECTOR == 4:
        return load_four(array, start, offset)
    if VECTOR == 2:
        return load_two(array, start, offset)
    return (flat_load(array, start, offset),)


@cell
def load_sides(array, start, offset):
    """Return the values next to the points of a thread: two, or one for one point per thread."""
    if VECTOR > 1:
        return load_two(array, start, offset)
    return (flat_load(array, start, offset),)


@cell
def store(array, start, offset, values):
    """Store VECTOR values from an index."""
    if VECTOR == 4:
        store_four(array, start, offset, values)
    elif VECTOR == 2:
        store_two(array, start, offset, values)
    else:
        flat_store(array, start, offset, values[0])


SCOPE: dict[str, Any] = {
    "np": np, "cuda": cuda, "real": real, "thread": thread, "is_iterating": is_iterating, "share_of": share_of,
    "weight_at": weight_at, "near": near, "level": level, "load": load, "load_sides": load_sides, "store": store,
    "store_parts": store_parts, "is_last": is_last, "both_totals": both_totals, "set_step": set_step,
    "set_shares": set_shares, "check_residual": check_residual, "BETA": BETA, "COUNT": COUNT, "NUMBERS": NUMBERS,
    "BLOCK": BLOCK, "LANES": LANES, "ROWS": ROWS,
}  # fmt: skip


def kernel(text: str, vector: int, scope: Mapping[str, Any] = SCOPE, **known: int) -> Entry:
    """Return a kernel of `fused` for `vector` points per thread; scope: called functions; known: constants."""
    side = min(2, vector)
    side_names = {"west", "east", "its_west", "its_east"}
    points = {
        name: "".join(f"{name}[{v}]," for v in range(side if name in side_names else vector))
        for name in re.findall(r"{(\w+)}", text)
    }
    source = unrolled(text.format_map(points), {"VECTOR": vector, "SIDE": side, **known})
    generated: Any = written(source, dict(scope))
    entry = Entry(generated.function)
    entry.source = source
    return entry


@cell
def settle(k, j, i, phi, p, scalars):
    """Set phi += beta p of the last iteration."""
    if scalars[COUNT] > 0.0:
        phi[k, j, i] += real(scalars[BETA]) * p[k, j, i]
