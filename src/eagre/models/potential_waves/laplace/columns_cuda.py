"""GPU kernels for residual and correction of whole columns, with one thread per column.

Differences along sigma commute with differences along x and y, so horizontal differences are taken of Psi only. A
column reads each neighbouring Psi once for the first and the second difference::

    Psi_xx + Psi_yy + D1 G + sigma D1 H + K(sigma) D2 Psi = -Lap phi~

    G = 2 (h_x Psi_x + h_y Psi_y) / d + a0 Psi,    H = -2 (d_x Psi_x + d_y Psi_y) / d + a1 Psi
    K = |grad h - sigma grad d|^2 / d^2 + 1 / d^2
    a0 + sigma a1 = (Lap h - sigma Lap d - 2 (grad h - sigma grad d) . grad d / d) / d

Psi of the ghost layer follows from the bed condition. A thread computes it for its column and for the halo point that
it loads, so that it need not be stored in advance.

The loops over layers are unrolled, with the weights of the vertical grid as literals in the generated code. Each
program is valid for one (order, nz); weights outside the band are omitted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.compilation.cells import (
    Cell,
    cell,
    cuda,
    entry,
    flat_load,
    flat_store,
    load_here,
    real,
    switch,
    two_in_word,
    two_of_word,
    word,
    written,
)
from eagre.kernels.neighbour_indices import ends_of, folded, folded_twice
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.surface import reference_kernels
from eagre.solvers.finite_differences import centred
from eagre.stepping.convergence_loop import add_up, is_iterating

ROWS = ("D", "D_X", "D_Y", "H_X", "H_Y", "LAP_D", "LAP_H", "LAP_PHI", "BOTTOM")  # of geometry and sources
SCOPE = {
    "np": np, "cuda": cuda, "real": real, "ends_of": ends_of, "folded": folded, "flat_load": flat_load,
    "flat_store": flat_store, "load_here": load_here, "is_iterating": is_iterating, "two_in_word": two_in_word,
    "two_of_word": two_of_word, **{name: getattr(reference_kernels, name) for name in ROWS},
}  # fmt: skip


def _sum(weights: Any, names: list[str]) -> str:
    """Weights times names, without those whose weight is 0."""
    terms = [f"real({w!r}) * {name}" for w, name in zip(map(float, weights), names, strict=True) if w != 0.0]
    return " + ".join(terms) or "real(0.0)"


# Points of a tile beyond an end of the grid need separate differences: Psi below the bed is computed there too.
PLACES = """
    tx, ty = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    corner_y, corner_x = np.int32(np.int32(cuda.blockIdx.y) * TALL), np.int32(np.int32(cuda.blockIdx.x) * WIDE)
    j, i = np.int32(corner_y + ty), np.int32(corner_x + tx)
    ny, nx = np.int32(psi.shape[1]), np.int32(psi.shape[2])
    layer = np.int64(ny) * nx
    t = np.uint32(ty * WIDE + tx)
    has_halo = t < np.uint32(HALO_Y * WIDE + HALO_X * TALL)
    if t < np.uint32(HALO_Y * WIDE):
        r, c = np.int32(t // np.uint32(WIDE)), np.int32(t % np.uint32(WIDE) + np.uint32(HALF))
        r = np.int32(r if r < HALF else r + TALL)
    else:
        t = np.uint32(t - np.uint32(HALO_Y * WIDE))
        r, c = np.int32(t // np.uint32(HALO_X) + np.uint32(HALF)), np.int32(t % np.uint32(HALO_X))
        c = np.int32(c if c < HALF else c + WIDE)
    centre, halo = np.uint32((ty + HALF) * PITCH + tx + HALF), np.uint32(r * PITCH + c)
    rows, columns = ends_of(ny, round_y), ends_of(nx, round_x)
    last_j, last_i = np.int32(ny - 1 + 2 * HALF), np.int32(nx - 1 + 2 * HALF)
    point = np.uint32(placed(min(j, last_j), rows) * nx + placed(min(i, last_i), columns))
    over = np.int32(placed(min(np.int32(corner_y + r - HALF), last_j), rows))
    across = np.int32(placed(min(np.int32(corner_x + c - HALF), last_i), columns))
    outer = np.uint32(over * nx + across)
    if not has_halo:
        outer = point
"""
COEFFICIENTS = """
    over_d = real(1.0) / flat_load(geometry, D * layer + point, 0)
    h_x = flat_load(geometry, H_X * layer + point, 0) * over_d
    h_y = flat_load(geometry, H_Y * layer + point, 0) * over_d
    d_x = flat_load(geometry, D_X * layer + point, 0) * over_d
    d_y = flat_load(geometry, D_Y * layer + point, 0) * over_d
    both = real(2.0) * (h_x * d_x + h_y * d_y)
    k_0, k_1, k_2 = h_x * h_x + h_y * h_y + over_d * over_d, -both, d_x * d_x + d_y * d_y
    a_0 = flat_load(geometry, LAP_H * layer + point, 0) * over_d - both
    a_1 = real(2.0) * k_2 - flat_load(geometry, LAP_D * layer + point, 0) * over_d
    two_x, two_y = real(2.0) * over_dx, real(2.0) * over_dy
    over_dx2, over_dy2 = over_dx * over_dx, over_dy * over_dy
    g_x, g_y, e_x, e_y = two_x * h_x, two_y * h_y, two_x * d_x, two_y * d_y
    right = flat_load(sources, LAP_PHI * layer + point, 0)
"""
AHEAD = 8  # layers prefetched from memory


def _loads(m: int, last: int) -> list[str]:
    """Return loads of Psi of layer m, in the column and in the halo column of the thread."""
    both = [
        f"    {name}{m} = load_here(psi, {m} * layer + {index}, 0)" for name, index in (("v", "point"), ("w", "outer"))
    ]
    return both if m <= last else []


def _halo_slopes(order: int, plane: bool, inside: bool, exact: bool) -> list[str]:
    """Return first differences of Psi at the bed along x and y, of spacing 1, in the halo, folded if not `inside`."""
    text = ["            p = flat_load(psi, lowest, 0)"] * exact
    for axis, index, ends, step in (("x", "across", "columns", "1"), ("y", "over", "rows", "nx"))[: 1 + plane]:
        near = []
        for s in range(1, order // 2 + 1):
            if inside:
                near.append([f"flat_load(psi, lowest {sign} {s} * np.int64({step}), 0)" for sign in "-+"])
            else:
                there = (f"{step} * (folded({index} {sign} {s}, {ends}) - {index})" for sign in "-+")
                near.append([f"flat_load(psi, lowest + {distance}, 0)" for distance in there])
        lines = _differences(axis, near, order, exact)
        text += [f"        {line}" for line in lines if not line.strip().startswith("l_")]
    return [*text, *([] if plane else ["            f_y = real(0.0)"])]


def _required_slope(name: str) -> list[str]:
    """Return the negative of Psi_s that the bed condition requires, from the values that `_bottom_there` loads."""
    return [
        f"{name} = b_x * over_dx * f_x + b_y * over_dy * f_y + b_s",
        f"{name} *= b_d / (real(1.0) + b_x * b_x + b_y * b_y)",
    ]


def _bottom_there(index: str) -> list[str]:
    """Return loads of the bed slopes, the depth and the source of the bed condition."""
    rows = (
        ("b_x", "geometry", "H_X"),
        ("b_y", "geometry", "H_Y"),
        ("b_d", "geometry", "D"),
        ("b_s", "sources", "BOTTOM"),
    )
    return [f"{name} = load_here({array}, {row} * layer + {index}, 0)" for name, array, row in rows]


def _halo_bottom(vertical: Vertical, plane: bool, exact: bool) -> list[str]:
    """Return the negative of Psi_s that the bed condition requires in the halo."""
    within = "cuda.blockIdx.x > 0 and (cuda.blockIdx.x + 1) * WIDE + 2 * HALF <= nx"
    if plane:
        within += " and cuda.blockIdx.y > 0 and (cuda.blockIdx.y + 1) * TALL + 2 * HALF <= ny"
    indented = ("    " + line for line in (
        f"        if {within}:",
        *_halo_slopes(vertical.order, plane, True, exact),
        "        else:",
        *_halo_slopes(vertical.order, plane, False, exact),
    ))  # fmt: skip
    return [
        "    required_halo = real(0.0)",
        "    if has_halo:",
        f"        lowest = {vertical.nz - 1} * layer + outer",
        *(f"        {line}" for line in _bottom_there("outer")),
        "        f_x, f_y = real(0.0), real(0.0)",
        "        if b_x != real(0.0) or b_y != real(0.0):  # over a level bed no loads are needed",
        *indented,
        *(f"        {line}" for line in _required_slope("required_halo")),
    ]


def _to_bottom(m: int, vertical: Vertical, plane: bool, lines: bool) -> list[str]:
    """Return the part of layer m in the bed condition: Psi of the ghost layer, or its residual for an unknown Psi."""
    nz, first = vertical.nz, vertical.first[vertical.nz - 1].tolist()
    text, start = [], min(k for k in range(1, nz + 1) if first[k] != 0.0)
    if first[m] != 0.0 and (m < nz or lines):
        old = ("", "") if m == start else ("below + ", "below_halo + ")
        text += [f"    below = {old[0]}real({first[m]!r}) * p"]
        text += [] if lines else [f"    below_halo = {old[1]}real({first[m]!r}) * w{m}"]
    if m == max(nz - 3, 1):
        text += [f"    {line}" for line in _bottom_there("point")]
        # Beyond a wall a tile continues as a mirror image, where differences change their sign.
        text += [
            "    b_x = -b_x if i >= nx and round_x == 0 else b_x",
            "    b_y = -b_y if j >= ny and round_y == 0 else b_y",
        ]
    elif m == nz - 1:
        text += [*([] if plane else ["    f_y = real(0.0)"]), *(f"    {line}" for line in _required_slope("required"))]
        if not lines:
            text += [f"    v{nz} = (-required - below) * real({1.0 / first[nz]!r})"]
            text += [f"    w{nz} = (-required_halo - below_halo) * real({1.0 / first[nz]!r})"]
    elif m == nz and lines:
        text += [
            "    lack = -required - below",
            f"    r{nz - 1} -= real({2.0 / vertical.sigma[nz - 2]!r}) * over_d * over_d * lack",
        ]
    return text


def _differences(axis: str, near: list[list[str]], order: int, exact: bool) -> list[str]:
    """First and second difference along an axis, of spacing 1, from pairs of neighbours: f_x and l_x.

    In single precision from differences to the point itself, which lose no digits.
    """
    half = order // 2
    c1, c2 = (centred(order, 1.0, derivative)[half:].tolist() for derivative in (1, 2))
    lines = [] if exact else [f"    l_{axis} = real({c2[0]!r}) * p"]
    for s, (low, high) in enumerate(near, 1):
        lines += [f"    low, high = {low} - p, {high} - p" if exact else f"    low, high = {low}, {high}"]
        lines += [f"    f_{axis} = {f'f_{axis} + ' if s > 1 else ''}real({c1[s]!r}) * (high - low)"]
        lines += [f"    l_{axis} = {'' if exact and s == 1 else f'l_{axis} + '}real({c2[s]!r}) * (high + low)"]
    return lines


def _of_layer(m: int, vertical: Vertical, plane: bool, pitch: int, buffer: int, exact: bool, last: int) -> list[str]:
    """Return code for layer m: Psi, the terms differentiated once along sigma, the horizontal Laplacian: p, g, h, r."""
    nz, half = vertical.nz, vertical.order // 2
    b = (m & 1) * buffer
    lines = [f"    p = v{m}", f"    flat_store(shared, centre, {b}, p)"]
    lines += ["    if has_halo:", f"        flat_store(shared, halo, {b}, w{m})"]
    lines += _loads(m + AHEAD, last)
    lines += ["    cuda.syncthreads()"]
    for axis, step in (("x", 1), ("y", pitch))[: 1 + plane]:
        offsets = [(b - s * step, b + s * step) for s in range(1, half + 1)]
        near = [[f"flat_load(shared, centre, {n})" for n in pair] for pair in offsets]
        lines += _differences(axis, near, vertical.order, exact)
    axes = "xy" if plane else "x"
    lines += ["    g = a_0 * p + " + " + ".join(f"g_{axis} * f_{axis}" for axis in axes)]
    lines += ["    h = a_1 * p - (" + " + ".join(f"e_{axis} * f_{axis}" for axis in axes) + ")"]
    if m < nz:
        lines += [f"    r{m} = right + " + " + ".join(f"over_d{axis}2 * l_{axis}" for axis in axes)]
    return lines


def _to_sums(m: int, vertical: Vertical) -> list[str]:
    """Return the part of layer m in the derivatives along sigma, and the residuals whose layers are then complete."""
    nz, lines = vertical.nz, []
    first, second, sigma = (values.tolist() for values in (vertical.first, vertical.second, vertical.sigma))
    for n in range(1, nz):
        used = [k for k in range(1, nz + 1) if first[n][k] != 0.0 or second[n][k] != 0.0]
        if m not in used:
            continue
        old = (lambda name: "") if m == used[0] else (lambda name: f"{name} + ")
        lines += [f"    sp{n} = {old(f'sp{n}')}real({second[n][m]!r}) * p"]
        lines += [f"    gh{n} = {old(f'gh{n}')}real({first[n][m]!r}) * g + real({sigma[n] * first[n][m]!r}) * h"]
        if m == used[-1]:
            s = f"real({sigma[n]!r})"
            lines += [f"    r{n} += gh{n} + (k_0 + {s} * (k_1 + {s} * k_2)) * sp{n}"]
    return lines


def _last_layer(vertical: Vertical, n: int) -> int:
    return max(k for k in range(vertical.nz + 1) if vertical.first[n][k] != 0.0 or vertical.second[n][k] != 0.0)


def residual_cell(
    vertical: Vertical,
    plane: bool,
    to_modes: np.ndarray,
    tile: tuple[int, int],
    precisions: tuple[str, str],
    ghosts: bool = False,
    short: bool = False,
    paired: bool = False,
) -> Cell:
    """Return the modes of the residuals of a column, as ``residual_of_column(shared, psi, out, ...)``.

    Parameters
    ----------
    vertical : Vertical
    plane : bool
        Whether there are differences along y.
    to_modes : (nz - 1, nz - 1)
    tile : (rows, columns)
    precisions : ({"single", "double"}, {"single", "double"})
        Precision of Psi, and of the modes.
    ghosts : bool
        Whether Psi below the bed is an unknown, loaded like the others; `missing` is then the residual at the bed.
    short : bool
        Whether an axis of more than one point has no more points than twice those on a side of a difference.
    paired : bool
        Whether two modes share a word (`Multigrid.paired`).
    """
    nz, half = vertical.nz, vertical.order // 2
    tall, wide = tile
    pitch = wide + 2 * half
    modes = range(nz - 1)
    names = {"WIDE": wide, "TALL": tall, "HALO_X": 2 * half, "HALO_Y": 2 * half * plane, "HALF": half, "PITCH": pitch}
    parameters = "shared, psi, out, geometry, sources, missing, axes"
    last = nz - (not ghosts)
    lines = [f"def residual_of_column({parameters}):", "    over_dx, over_dy, round_x, round_y = axes"]
    lines += PLACES.strip("\n").splitlines() + COEFFICIENTS.strip("\n").splitlines()
    for m in range(1, AHEAD + 1):
        lines += _loads(m, last)
    lines += [] if ghosts else _halo_bottom(vertical, plane, precisions[0] == "single")
    kind, first = "np.float32" if precisions[1] == "single" else "real", True
    for m in range(1, nz + 1):
        lines += _of_layer(m, vertical, plane, pitch, pitch * (tall + 2 * half), precisions[0] == "single", last)
        lines += _to_sums(m, vertical)
        lines += _to_bottom(m, vertical, plane, ghosts)
        for n in (n for n in range(1, nz) if _last_layer(vertical, n) == m):
            lines += [f"    r = {kind}(r{n})"]
            lines += [f"    q{k} {'=' if first else '+='} {kind}({-float(to_modes[k, n - 1])!r}) * r" for k in modes]
            first = False
    lines += ["    if j < ny and i < nx:"]
    stored = [f"q{k}" for k in modes]
    if paired:
        stored = [f"two_in_word({', '.join([*stored[k : k + 2], 'real(0.0)'][:2])})" for k in modes[::2]]
    lines += [f"        flat_store(out, {k} * layer + point, 0, {value})" for k, value in enumerate(stored)]
    lines += ["        flat_store(missing, point, 0, lack)"] * ghosts
    placed = folded_twice if short else folded
    return written("\n".join(lines) + "\n", {**SCOPE, **names, "placed": placed})


@cell
def residual_of_column(shared, psi, out, geometry, sources, missing, axes):
    """Stands for `residual_cell`."""


COLUMN = switch("COLUMN", residual_of_column)


@entry
def set_residuals(psi, out, geometry, sources, missing, axes, control):
    """The residuals of tiles of columns; axes : 1 / dx and 1 / dy, then whether each axis is periodic."""
    shared = cuda.shared.array(0, word)
    if is_iterating(control):
        COLUMN(shared, psi, out, geometry, sources, missing, axes)


def correction_cell(vertical: Vertical, to_layers: np.ndarray, ghosts: bool = False, paired: bool = False) -> Cell:
    """Return code that adds the correction of a column, as ``corrected(point, layer, u, psi, missing, omega)``.

    ghosts : bool
        Whether Psi below the bed is an unknown: its correction is that of two layers higher, less a term in `missing`.
    paired : bool
        Whether two modes share a word.
    """
    nz, name = vertical.nz, "both" if paired else "u"
    indices = range(-(-(nz - 1) // 2) if paired else nz - 1)
    lines = ["def corrected(point, layer, u, psi, missing, omega):"]
    lines += [f"    {name}{m} = flat_load(u, {m} * layer + point, 0)" for m in indices]
    lines += ["    square = real(0.0)"]
    lines += [f"    p{k} = flat_load(psi, {k} * layer + point, 0)" for k in range(1, nz)]
    lines += [f"    u{2 * m}, u{2 * m + 1} = two_of_word(both{m})" for m in indices if paired]
    for k in range(1, nz):
        lines += [f"    c = omega * ({_sum(to_layers[k - 1], [f'u{m}' for m in range(nz - 1)])})"]
        lines += [f"    p = p{k} + c", f"    flat_store(psi, {k} * layer + point, 0, p)"]
        lines += ["    square += c * c"]
        if ghosts and k == nz - 2:
            lack = f"omega * real({2.0 * vertical.sigma[nz - 2]!r}) * flat_load(missing, point, 0)"
            lines += [f"    ghost = flat_load(psi, {nz} * layer + point, 0) + c - {lack}"]
            lines += [f"    flat_store(psi, {nz} * layer + point, 0, ghost)"]
    lines += ["    return square"]
    return written("\n".join(lines) + "\n", SCOPE)


@cell
def corrected(point, layer, u, psi, missing, omega):
    """Stands for `correction_cell`."""
    return real(0.0)


CORRECTED = switch("CORRECTED", corrected)
LINE = 128  # threads of a block that corrects columns, a power of two


@entry
def correct_columns(u, psi, missing, omega, partials, first, end, control):
    """Psi gets the correction whose modes are u in columns from `first` to `end`; a thread has a column."""
    tree = cuda.shared.array(LINE, np.float64)
    if is_iterating(control):
        t = cuda.threadIdx.x
        layer = np.int64(psi.shape[1]) * psi.shape[2]
        point = np.int64(first) + np.int64(cuda.blockIdx.x) * LINE + t
        square = real(0.0)
        if point < end:
            square = CORRECTED(point, layer, u, psi, missing, omega)
        add_up(tree, t, LINE, square)
        if t == 0:
            partials[cuda.blockIdx.x] = tree[0]


SUMMED = 1024  # threads of the block that adds up the squares of a band, a power of two


@entry
def add_squares(partials, squares, control):
    """squares[0] = the sum of all partial sums; one block, a tree over its threads: the same bits every time."""
    tree = cuda.shared.array(SUMMED, np.float64)
    if is_iterating(control):
        t, total = cuda.threadIdx.x, 0.0
        for k in range(t, partials.shape[0], SUMMED):
            total += partials[k]
        add_up(tree, t, SUMMED, total)
        if t == 0:
            squares[0] = tree[0]
