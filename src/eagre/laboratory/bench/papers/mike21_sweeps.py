"""Versions of a sweep of Aackermann and Dinesen Pedersen (2012) for comparison with the model, on one core or a GPU.

P. E. Aackermann and P. J. Dinesen Pedersen, BSc thesis IMM-B.Sc.-2012-29, Technical University of Denmark (2012),
chapter 8. GPU versions: S1N (one thread per line, rows stored), S1N2 (the sweep along x with transposes), S14 (mass
rows folded in), rows on the fly, and S24 (one block per line, parallel cyclic reduction, at most 1023 cells per line).

Closed basin, all cells wet, uniform Manning friction. ``of(a, line, k, across)`` is field a at place k along a line
(cells and low faces 0 .. n - 1, the last face n) on the line `across` lines further. `system` has vectors (kind, place,
worker); a worker is a line on a GPU, or a set of lines on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, flat_load, flat_store, prange, real, switch, word
from eagre.backend.device import Device, Launch
from eagre.errors import EagreError
from eagre.kernels.roots import power_seven_sixths
from eagre.laboratory.cases.mike21 import pool
from eagre.models.shallow_water_adi.kernels import BEYOND, face_row
from eagre.models.shallow_water_adi.memory_layout import layout_of
from eagre.models.shallow_water_adi.step import Sweep

ALONG_X = switch("ALONG_X", True)
FOLDED = switch("FOLDED", False)  # mass rows eliminated during the computation of the rows: 5 vectors instead of 10
SOLVED = switch("SOLVED", True)  # if false, the rows are computed but the systems are not solved
PADDING = 32
TILE = 32
PADDED_TILE = TILE * (TILE + 1)  # values of a tile in shared memory
# vectors of the stored system: mass row, and momentum row with the two fluxes beyond its neighbours
A_MASS, B_MASS, C_MASS, D_MASS, FAR_LOW, A, B, C, FAR_HIGH, D = range(10)
VECTORS = 10


@cell
def of(field, line, k, across):
    """Return a field at place k of a line, or of the line `across` lines further."""
    if ALONG_X:
        return field[line + across + 1, PADDING + k]
    return field[k + 1, PADDING + line + across]


@cell
def put(field, line, k, value):
    """Set a field at place k of a line."""
    if ALONG_X:
        field[line + 1, PADDING + k] = value
    else:
        field[k + 1, PADDING + line] = value


@cell
def mean_corner_speed(z, d, qn, line, k, across):
    """Return the velocity across at the low (`across` 0) or high (1) corner of face k: new fluxes over mean depth."""
    depths = real(0.0)
    for c in range(2):
        low = of(z, line, k - 1 + c, across - 1) - of(d, line, k - 1 + c, across - 1)
        depths += low + of(z, line, k - 1 + c, across) - of(d, line, k - 1 + c, across)
    return real(2.0) * (of(qn, line, k - 1, across) + of(qn, line, k, across)) / depths


@cell
def mass_side(z, flux, qo, qn, line, k, p):
    """Return the right-hand side of the mass row of a cell (section 4.5.3, multiplied by 2 dx)."""
    across = (of(qn, line, k, 1) - of(qn, line, k, 0)) + (of(qo, line, k, 1) - of(qo, line, k, 0))
    return of(flux, line, k, 0) - of(flux, line, k + 1, 0) - p.w_across / p.w * across + of(z, line, k, 0) / p.w


@cell
def momentum_terms(z, d, flux, qo, qn, line, k, p):
    """Return FAR_LOW, A, B, C, FAR_HIGH, D of the face between cells k - 1 and k (section 4.5.4, multiplied by dt)."""
    h_l, h_r = of(z, line, k - 1, 0) - of(d, line, k - 1, 0), of(z, line, k, 0) - of(d, line, k, 0)
    here = of(flux, line, k, 0)
    far_low = -p.w * (of(flux, line, k - 1, 0) + here) / h_l
    far_high = p.w * (of(flux, line, k + 1, 0) + here) / h_r
    q = real(0.0)
    for c in range(2):
        for side in range(2):
            q += of(qo, line, k - 1 + c, side) + of(qn, line, k - 1 + c, side)
    q *= real(0.125)
    s = (h_l * h_l + h_r * h_r) / (real(2.0) * h_l * h_l * h_r * h_r)
    drag = s ** real(7.0 / 6.0)
    if FOLDED:
        drag = power_seven_sixths(s)
    b = real(1.0) + p.friction * (here * here + q * q) ** real(0.5) * drag + far_high + far_low
    low = (of(flux, line, k, -1) + here) * mean_corner_speed(z, d, qn, line, k, 0)
    high = (of(flux, line, k, 1) + here) * mean_corner_speed(z, d, qn, line, k, 1)
    e = here + real(2.0) * p.w_across * (low - high)
    gravity = p.push * (h_l + h_r)
    return far_low, -gravity, b, gravity, far_high, e


@cell
def build_line(fields, system, w, line, n, p):
    """Store the rows of a line."""
    z, d, flux, qo, qn, _, _ = fields
    over = real(1.0) / p.w
    for k in range(n):
        system[D_MASS, k, w] = mass_side(z, flux, qo, qn, line, k, p)
        if not FOLDED:
            system[A_MASS, k, w] = real(-1.0)
            system[B_MASS, k, w] = over
            system[C_MASS, k, w] = real(1.0)
    for k in range(1, n):
        far_low, a, b, c, far_high, e = momentum_terms(z, d, flux, qo, qn, line, k, p)
        if FOLDED:
            e += far_low * system[D_MASS, k - 1, w] - far_high * system[D_MASS, k, w]
            a, b, c = a + over * far_low, b + far_low + far_high, c - over * far_high
        else:
            system[FAR_LOW, k, w] = far_low
            system[FAR_HIGH, k, w] = far_high
        system[A, k, w] = a
        system[B, k, w] = b
        system[C, k, w] = c
        system[D, k, w] = e


@cell
def eliminate_line(system, w, n):
    """Eliminate the two far fluxes of each momentum row with the adjacent mass rows: five diagonals become three."""
    for k in range(1, n):
        low, high = system[FAR_LOW, k, w], system[FAR_HIGH, k, w]
        system[A, k, w] += system[B_MASS, k - 1, w] * low
        system[B, k, w] += low + high
        system[C, k, w] -= system[B_MASS, k, w] * high
        system[D, k, w] += low * system[D_MASS, k - 1, w] - high * system[D_MASS, k, w]


@cell
def solve_line(system, z_out, flux_out, w, line, n, p):
    """Solve for the interleaved unknowns z_0, P_1, z_1 ..; c and d are overwritten."""
    upper, value = real(0.0), real(0.0)
    for k in range(n):
        if k > 0:
            a = system[A, k, w]
            over = real(1.0) / (system[B, k, w] - a * upper)
            upper, value = system[C, k, w] * over, (system[D, k, w] - a * value) * over
            system[C, k, w] = upper
            system[D, k, w] = value
        low = real(-1.0) if FOLDED else system[A_MASS, k, w]
        diagonal = real(1.0) / p.w if FOLDED else system[B_MASS, k, w]
        high = real(1.0) if FOLDED else system[C_MASS, k, w]
        over = real(1.0) / (diagonal - low * upper)
        upper, value = high * over, (system[D_MASS, k, w] - low * value) * over
        system[C_MASS, k, w] = upper
        system[D_MASS, k, w] = value
    here = value
    put(z_out, line, n - 1, here)
    put(flux_out, line, 0, real(0.0))
    put(flux_out, line, n, real(0.0))
    for back in range(1, n):
        k = n - back
        here = system[D, k, w] - system[C, k, w] * here
        put(flux_out, line, k, here)
        here = system[D_MASS, k - 1, w] - system[C_MASS, k - 1, w] * here
        put(z_out, line, k - 1, here)


@cell
def row_of(fields, line, k, p):
    """Return A, B, C, D of face k with the mass rows eliminated, and r of its high cell, as in the model."""
    z, d, flux, qo, qn, _, _ = fields
    z8 = (
        of(z, line, k - 1, -1), of(z, line, k, -1), of(z, line, k - 1, 0), of(z, line, k, 0),
        of(z, line, k - 1, 1), of(z, line, k, 1), of(z, line, k - 2, 0), of(z, line, k + 1, 0),
    )  # fmt: skip
    d8 = (
        of(d, line, k - 1, -1), of(d, line, k, -1), of(d, line, k - 1, 0), of(d, line, k, 0),
        of(d, line, k - 1, 1), of(d, line, k, 1), of(d, line, k - 2, 0), of(d, line, k + 1, 0),
    )  # fmt: skip
    flux5 = (
        of(flux, line, k - 1, 0), of(flux, line, k, 0), of(flux, line, k + 1, 0), of(flux, line, k, -1),
        of(flux, line, k, 1),
    )  # fmt: skip
    qo4 = (of(qo, line, k - 1, 0), of(qo, line, k, 0), of(qo, line, k - 1, 1), of(qo, line, k, 1))
    qn4 = (of(qn, line, k - 1, 0), of(qn, line, k, 0), of(qn, line, k - 1, 1), of(qn, line, k, 1))
    return face_row(z8, d8, flux5, (qo4, qn4), p.friction, real(0.0), (real(0.0), real(0.0)), p)


@cell
def solve_on_the_fly(fields, system, w, line, n, p):
    """Compute and eliminate row after row; one vector of the system, c, is stored."""
    z_out, flux_out = fields.z_new, fields.flux_new
    upper, value = real(0.0), real(0.0)
    for k in range(n + 1):
        a, b, c, e, r = row_of(fields, line, k, p)
        over = real(1.0) / (b - a * upper)
        upper, value = c * over, (e - a * value) * over
        system[0, k, w] = upper
        put(flux_out, line, k, value)
        if k < n:
            put(z_out, line, k, r)
    x_high = real(0.0)
    for back in range(n + 1):
        k = n - back
        here = of(flux_out, line, k, 0) - system[0, k, w] * x_high
        put(flux_out, line, k, here)
        if back > 0:
            put(z_out, line, k, of(z_out, line, k, 0) - p.w * (x_high - here))
        x_high = here


@entry
def stored_cpu(fields, system, lines, n, p):
    """Line by line with stored rows, as the C program of Aackermann and Dinesen Pedersen (2012)."""
    workers = system.shape[2]
    for w in prange(workers):
        for line in range(w, lines, workers):
            build_line(fields, system, w, line, n, p)
            if SOLVED:
                if not FOLDED:
                    eliminate_line(system, w, n)
                solve_line(system, fields.z_new, fields.flux_new, w, line, n, p)


@entry
def on_the_fly_cpu(fields, system, lines, n, p):
    """Line by line with rows computed on the fly."""
    workers = system.shape[2]
    for w in prange(workers):
        for line in range(w, lines, workers):
            solve_on_the_fly(fields, system, w, line, n, p)


@entry
def transpose_cpu(source, target, rows, columns):
    """Set target[c, r] = source[r, c] for cells and faces -1 .. rows, -1 .. columns, in tiles."""
    for tile in prange((rows + 2 + TILE - 1) // TILE):
        first = tile * TILE
        for c0 in range(0, columns + 2, TILE):
            for r in range(first, min(first + TILE, rows + 2)):
                for c in range(c0, min(c0 + TILE, columns + 2)):
                    target[c, PADDING - 1 + r] = source[r, PADDING - 1 + c]


@entry
def build_cuda(fields, system, lines, n, p):
    """Store the rows, one thread per line."""
    line = cuda.grid(1)
    if line < lines:
        build_line(fields, system, line, line, n, p)


@entry
def solve_cuda(fields, system, lines, n, p):
    """Solve the stored systems, one thread per line."""
    line = cuda.grid(1)
    if line < lines:
        if not FOLDED:
            eliminate_line(system, line, n)
        solve_line(system, fields.z_new, fields.flux_new, line, line, n, p)


@entry
def on_the_fly_cuda(fields, system, lines, n, p):
    """Solve with rows computed on the fly, one thread per line."""
    line = cuda.grid(1)
    if line < lines:
        solve_on_the_fly(fields, system, line, line, n, p)


@entry
def reduced_cuda(fields, system, lines, n, p):
    """Parallel cyclic reduction in shared memory, one block per line, one thread per face; at most 1024 faces."""
    shared = cuda.shared.array(0, word)
    k, size, line = np.int32(cuda.threadIdx.x), np.int32(cuda.blockDim.x), np.int32(cuda.blockIdx.x)
    a, b, c, e, r = real(0.0), real(1.0), real(0.0), real(0.0), real(0.0)
    if k <= n:
        a, b, c, e, r = row_of(fields, line, k, p)
    step = np.int32(1)
    while step <= n:
        flat_store(shared, np.uint32(k), 0, a)
        flat_store(shared, np.uint32(k + size), 0, b)
        flat_store(shared, np.uint32(k + 2 * size), 0, c)
        flat_store(shared, np.uint32(k + 3 * size), 0, e)
        cuda.syncthreads()
        if k >= step:
            low = np.uint32(k - step)
            ratio = a / flat_load(shared, np.uint32(low + size), 0)
            a = -ratio * flat_load(shared, low, 0)
            b -= ratio * flat_load(shared, np.uint32(low + 2 * size), 0)
            e -= ratio * flat_load(shared, np.uint32(low + 3 * size), 0)
        if k + step < size:
            high = np.uint32(k + step)
            ratio = c / flat_load(shared, np.uint32(high + size), 0)
            c = -ratio * flat_load(shared, np.uint32(high + 2 * size), 0)
            b -= ratio * flat_load(shared, high, 0)
            e -= ratio * flat_load(shared, np.uint32(high + 3 * size), 0)
        cuda.syncthreads()
        step = np.int32(2 * step)
    here = e / b
    flat_store(shared, np.uint32(k), 0, here)
    cuda.syncthreads()
    if k <= n:
        put(fields.flux_new, line, k, here)
        if k < n:
            put(fields.z_new, line, k, r - p.w * (flat_load(shared, np.uint32(k + 1), 0) - here))


@entry
def transpose_cuda(source, target, rows, columns):
    """Transpose through tiles in shared memory, one value in 33 is unused; block (32, 8), see `transpose_cpu`."""
    tile = cuda.shared.array(PADDED_TILE, word)
    x, y = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    r0, c0 = np.int32(cuda.blockIdx.y * TILE), np.int32(cuda.blockIdx.x * TILE)
    for slab in range(4):
        r, c = r0 + y + 8 * slab, c0 + x
        if r < rows + 2 and c < columns + 2:
            tile[(y + 8 * slab) * (TILE + 1) + x] = source[r, PADDING - 1 + c]
    cuda.syncthreads()
    for slab in range(4):
        c, r = c0 + y + 8 * slab, r0 + x
        if r < rows + 2 and c < columns + 2:
            target[c, PADDING - 1 + r] = tile[x * (TILE + 1) + y + 8 * slab]


MAX_DIFFERENCE = {"single": 1e-4, "double": 1e-11}
THREADS = 64
LONGEST_BLOCK = 1023  # cells per line
EXTRA = 8  # cells per row more than rows


class Version(NamedTuple):
    """Kernels of a version, the sweep with transposes ("x", "y" or none), and whether mass rows are folded in."""

    kernels: tuple[Any, ...]
    transposed: str = ""
    folded: bool = False


CPU = {
    "rows stored": Version((stored_cpu,)),
    "transposed": Version((stored_cpu,), "y"),
    "folded": Version((stored_cpu,), "y", folded=True),
    "on the fly": Version((on_the_fly_cpu,), "y"),
}
GPU = {
    "S1N": Version((build_cuda, solve_cuda)),
    "S1N2": Version((build_cuda, solve_cuda), "x"),
    "S14": Version((build_cuda, solve_cuda), "x", folded=True),
    "on the fly": Version((on_the_fly_cuda,), "x"),
    "S24": Version((reduced_cuda,), "y"),
}
"""Versions by name."""


class Sweeps:
    """Arrays and launches of all versions for one model, on n x (n + 8) cells."""

    def __init__(self, device: Device, precision: str, n: int) -> None:
        self.device, self.precision, self.n = device, precision, n
        model = pool((n, n + EXTRA), device, precision, "mike21")
        model.advance((10 if device.target != "simulator" else 1) * model.time_step)  # flow in both directions
        self.engine = engine = model._engine
        self.model_launches = engine.launches(engine.parity, 0)
        self.out = [device.zeros(engine.z[0].shape, engine.real) for _ in range(2)]
        transposed = layout_of((n + EXTRA, n)).shape
        self.transposed = [device.zeros(transposed, engine.real) for _ in range(7)]
        device.fill(self.transposed[1], np.full(transposed, BEYOND, engine.real))
        workers = n + EXTRA if device.kind == "cuda" else 1
        self.system = device.zeros((VECTORS, n + EXTRA + 1, workers), engine.real)

    def launches(self, version: Version, which: int, threads: int = THREADS, **switches: Any) -> list[Launch]:
        """Return the launches of a sweep (0 along x, 1 along y) of a version; switches as in ``SOLVED=False``."""
        lines, cells = (self.n, self.n + EXTRA) if which == 0 else (self.n + EXTRA, self.n)
        fields, out, around = self._fields(which)[:5], self.out, ([], [])
        along_x = which == 0
        if version.transposed == "xy"[which]:
            rows, columns = self.n, self.n + EXTRA
            into, back = zip(fields, self.transposed[:5], strict=True), zip(self.transposed[5:], out, strict=True)
            around = (
                [self._transpose(a, b, rows, columns) for a, b in into],
                [self._transpose(a, b, columns, rows) for a, b in back],
            )
            fields, out, along_x = self.transposed[:5], self.transposed[5:], not along_x
        switches = {**self.engine.switches, "ALONG_X": along_x, "FOLDED": version.folded, **switches}
        arguments = (Sweep(*fields, *out), self.system, lines, cells, self.engine.numbers[which])
        kernels = [self.device.program(kernel, self.precision, switches) for kernel in version.kernels]
        if version.kernels[0] is reduced_cuda:
            block = 32 * -(-(cells + 1) // 32)
            shape = ((lines,), (block,), 4 * block * np.dtype(self.engine.real).itemsize)
        else:
            shape = ((-(-lines // threads),), (threads,), 0)
        return [*around[0], *(Launch(program, arguments, *shape) for program in kernels), *around[1]]

    def _fields(self, which: int) -> tuple[Any, ...]:
        """Return the fields of a sweep of the model."""
        return self.model_launches[which].arguments[0]

    def _transpose(self, source: Any, target: Any, rows: int, columns: int) -> Launch:
        kernel = transpose_cuda if self.device.kind == "cuda" else transpose_cpu
        program = self.device.program(kernel, self.precision, {})
        grid = (-(-(columns + 2) // TILE), -(-(rows + 2) // TILE))
        return Launch(program, (source, target, rows, columns), grid, (TILE, 8))

    def difference(self, version: Version) -> float:
        """Return the maximum difference of surface and flux from the model, relative to the maximum of the model.

        Raises `EagreError` for a difference that is not due to rounding.
        """
        maximum = 0.0
        for which in (0, 1):
            self.device.run([self.model_launches[which]])
            self.device.run(self.launches(version, which))
            for array, expected in zip(self.out, self._fields(which)[5:7], strict=True):
                inside = np.s_[1 : self.n + 1, PADDING : PADDING + self.n + EXTRA]
                a, b = self.device.host(array)[inside].astype(float), self.device.host(expected)[inside].astype(float)
                maximum = max(maximum, float(np.abs(a - b).max() / np.abs(b).max()))
        if not maximum <= MAX_DIFFERENCE[self.precision]:
            names = ", ".join(kernel.__name__ for kernel in version.kernels)
            raise EagreError(f"The sweep of {names} differs from the model by {maximum:.2g} ({self.precision}).")
        return maximum

    def work(self, version: Version | None, times: int = 1, **options: Any) -> Callable[[], None]:
        """Return both sweeps of a version, or of the model, a number of times; options as in `launches`."""
        if version is None:
            return self.device.repeated(self.model_launches, times)
        launches = [launch for which in (0, 1) for launch in self.launches(version, which, **options)]
        return self.device.repeated(launches, times)
