"""Axis of a Poisson problem: basis, eigenvalues and transforms.

| boundaries | location | basis | unknowns of spacing h | mode numbers | period angle theta |
|---|---|---|---|---|---|
| dirichlet | points | DST-I | interior, walls h outside | k = 1 .. n | k pi / (n + 1) |
| dirichlet | centres | DST-II | walls h / 2 outside | k = 1 .. n | k pi / n |
| neumann | points | DCT-I | first and last on the walls | k = 0 .. n - 1 | k pi / (n - 1) |
| neumann | centres | DCT-II | walls h / 2 outside | k = 0 .. n - 1 | k pi / n |
| periodic | either | FFT | one period | k = 0 .. n - 1 | 2 k pi / n |

On a GPU, cosine and sine transforms of type I use a Fourier transform from half a spectrum. The inverse real transform
of a real half spectrum x_0 .. x_N is an even sequence of 2 N values, and its first half is

    y_m = x_0 + (-1)^m x_N + 2 sum_(0 < k < N) x_k cos(pi k m / N),

the cosine transform of type I. An imaginary half spectrum -i x_k with zeros at both ends gives the sine transform
2 sum x_k sin(pi k m / N). The same transform divided by 2 N is the inverse. Lines along an axis other than the last are
transposed in tiles in shared memory, because the library needs contiguous lines. Traffic: 9 values per point.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, flat_load, flat_store, real, store_two, switch, word
from eagre.backend.device import Device, Launch, Work, array_module, check_precision, fourier_module, on_gpu
from eagre.backend.select import device_of
from eagre.errors import InputError

TILE, ROWS = 32, 8
PITCH = TILE + 1  # row length in shared memory, odd so that columns are in different banks
TRANSPOSED = switch("TRANSPOSED", False)  # True if the axis is not the last one
SINE = switch("SINE", False)
BOUNDARIES = ("dirichlet", "neumann", "periodic")
LOCATIONS = ("points", "centres")
SYMBOLS = ("five-point", "spectral")


@cell
def set_mode(spectrum, line, m, n, value):
    """Store value m of n of a line as a number of its half spectrum."""
    zero = real(0.0)
    if SINE:
        first = np.uint64(2) * line * (n + np.uint64(2))
        store_two(spectrum, first + np.uint64(2) * (m + np.uint64(1)), 0, (zero, -value))
        if m == np.uint64(0):
            store_two(spectrum, first, 0, (zero, zero))
        if m == n - np.uint64(1):
            store_two(spectrum, first + np.uint64(2) * (n + np.uint64(1)), 0, (zero, zero))
    else:
        store_two(spectrum, np.uint64(2) * (line * n + m), 0, (value, zero))


@cell
def first_corner(block, rows, columns):
    """Return the plane of a tile, and its first row and column."""
    across = np.uint32((columns + np.uint32(TILE - 1)) // np.uint32(TILE))
    down = np.uint32((rows + np.uint32(TILE - 1)) // np.uint32(TILE))
    line, column = np.uint32(block // across), np.uint32(block % across)
    plane, row = np.uint32(line // down), np.uint32(line % down)
    return np.uint64(plane), np.uint64(row) * np.uint64(TILE), np.uint64(column) * np.uint64(TILE)


@entry
def spread_cuda(source, rows, columns, spectrum):
    """Store planes of (rows, columns) as half spectra: lines are the rows, or if TRANSPOSED the columns.

    spectrum : real and imaginary parts, n or n + 2 complex numbers per line of n values.
    """
    tile = cuda.shared.array((TILE, PITCH), word)
    plane, first, left = first_corner(np.uint32(cuda.blockIdx.x), np.uint32(rows), np.uint32(columns))
    rows, columns = np.uint64(rows), np.uint64(columns)
    lane, start = np.uint64(cuda.threadIdx.x), np.uint64(cuda.threadIdx.y)
    for batch in range(TILE // ROWS):
        row = start + np.uint64(batch * ROWS)
        if first + row < rows and left + lane < columns:
            value = flat_load(source, (plane * rows + first + row) * columns + left + lane, 0)
            if TRANSPOSED:
                tile[row, lane] = value
            else:
                set_mode(spectrum, plane * rows + first + row, left + lane, columns, value)
    if TRANSPOSED:
        cuda.syncthreads()
        for batch in range(TILE // ROWS):
            row = start + np.uint64(batch * ROWS)
            if left + row < columns and first + lane < rows:
                set_mode(spectrum, plane * columns + left + row, first + lane, rows, tile[lane, row])


@entry
def collect_cuda(values, pitch, rows, columns, factor, out):
    """Store the first values of lines of `pitch` values times a factor in planes of (rows, columns): see `spread_cuda`.

    The first value of a sine transform is at position 1.
    """
    tile = cuda.shared.array((TILE, PITCH), word)
    plane, first, left = first_corner(np.uint32(cuda.blockIdx.x), np.uint32(rows), np.uint32(columns))
    rows, columns, pitch = np.uint64(rows), np.uint64(columns), np.uint64(pitch)
    lane, start = np.uint64(cuda.threadIdx.x), np.uint64(cuda.threadIdx.y)
    skipped = np.uint64(1 if SINE else 0)
    for batch in range(TILE // ROWS):
        row = start + np.uint64(batch * ROWS)
        if TRANSPOSED:
            if left + row < columns and first + lane < rows:
                line = plane * columns + left + row
                tile[lane, row] = factor * flat_load(values, line * pitch + first + lane + skipped, 0)
        elif first + row < rows and left + lane < columns:
            line = plane * rows + first + row
            value = factor * flat_load(values, line * pitch + left + lane + skipped, 0)
            flat_store(out, line * columns + left + lane, 0, value)
    if TRANSPOSED:
        cuda.syncthreads()
        for batch in range(TILE // ROWS):
            row = start + np.uint64(batch * ROWS)
            if first + row < rows and left + lane < columns:
                flat_store(out, (plane * rows + first + row) * columns + left + lane, 0, tile[row, lane])


class WallTransforms:
    """Transforms of type I along axes of an array, with common scratch arrays; for launches in a fixed order.

    Parameters
    ----------
    device : Device
        GPU.
    precision : {"single", "double"}
    shape : tuple of int
        Shape of the real, C-contiguous arrays.
    axes : iterable of int
        Axes to transform.
    sine : bool
        True for sine transforms, False for cosine transforms.
    """

    def __init__(
        self, device: Device, precision: str, shape: tuple[int, ...], axes: Iterable[int], sine: bool = False
    ) -> None:
        self._device, self._shape, self._sine, size = device, shape, sine, prod(shape)
        self._real = check_precision(precision)
        self._modes = {axis: shape[axis] + (2 if sine else 0) for axis in axes}
        values = max((size // shape[axis] * modes for axis, modes in self._modes.items()), default=0)
        self._spectrum, self._lines = device.zeros((2 * values,), self._real), device.zeros((2 * values,), self._real)
        self._programs = {
            (entry.name, transposed): device.program(entry, precision, {"TRANSPOSED": transposed, "SINE": sine})
            for entry in (spread_cuda, collect_cuda)
            for transposed in {prod(shape[axis + 1 :]) > 1 for axis in self._modes}
        }
        self._transforms = {axis: self._transform(axis) for axis in self._modes}

    def _transform(self, axis: int) -> tuple[Any, Any, Work]:
        """Return the half spectrum and the lines of an axis, flat, and the Fourier transform between them."""
        modes, lines = self._modes[axis], prod(self._shape) // self._shape[axis]
        spectrum, values = self._spectrum[: 2 * lines * modes], self._lines[: 2 * lines * (modes - 1)]
        kind = np.complex64 if self._real == np.float32 else np.complex128
        halves = spectrum.view(kind).reshape(lines, modes)
        return spectrum, values, self._device.inverse_real_transform(halves, values.reshape(lines, 2 * (modes - 1)))

    def launches(self, axis: int, source: Any, out: Any, inverse: bool = False) -> list[Work]:
        """Return launches of out = transform of source, or its inverse; out may be source."""
        spectrum, values, fourier = self._transforms[axis]
        n, period = self._shape[axis], 2 * (self._modes[axis] - 1)
        outer, inner = prod(self._shape[:axis]), prod(self._shape[axis + 1 :])
        planes, rows, columns = (outer, n, inner) if inner > 1 else (1, outer, n)
        grid = (planes * -(-rows // TILE) * -(-columns // TILE),)
        spread, collect = (self._programs[name, inner > 1] for name in (spread_cuda.name, collect_cuda.name))
        factor = self._real(1.0 / period if inverse else 1.0)
        return [
            Launch(spread, (source, rows, columns, spectrum), grid, (TILE, ROWS)),
            fourier,
            Launch(collect, (values, period, rows, columns, factor, out), grid, (TILE, ROWS)),
        ]


@lru_cache(maxsize=4)
def _cached(device: Device, precision: str, shape: tuple[int, ...], axis: int, sine: bool) -> WallTransforms:
    return WallTransforms(device, precision, shape, (axis,), sine)


def transformed(device: Device, x: Any, axis: int, sine: bool, inverse: bool) -> Any:
    """Return the DST-I (`sine`) or DCT-I of an array of a GPU along an axis, or its inverse, as a new array."""
    precision = "single" if x.dtype == np.float32 else "double"
    transforms = _cached(device, precision, tuple(map(int, x.shape)), axis % x.ndim, sine)
    with device.joined():
        x = array_module(x).ascontiguousarray(x)
        out = device.zeros(x.shape, x.dtype)
        device.run(transforms.launches(axis % x.ndim, x, out, inverse))
    return out


@dataclass(frozen=True)
class Axis:
    """Axis with n unknowns of spacing h."""

    n: int
    h: float
    boundary: str
    location: str

    def __post_init__(self) -> None:
        if self.boundary not in BOUNDARIES:
            problem = "The boundary condition is unknown."
            raise InputError(
                f"boundary {self.boundary!r}", allowed=", ".join(BOUNDARIES), fix='"dirichlet"', problem=problem
            )
        if self.location not in LOCATIONS:
            problem = "The location of the unknowns is not supported."
            raise InputError(
                f"location {self.location!r}", allowed=", ".join(LOCATIONS), fix='"points"', problem=problem
            )
        min_unknowns = 2 if self.boundary == "neumann" and self.location == "points" else 1
        if self.n < min_unknowns or not 0.0 < self.h < np.inf:
            raise InputError(
                f"{self.n} unknowns of spacing {self.h!r}",
                allowed=f">= {min_unknowns} unknowns ({self.boundary}, on {self.location}), a finite spacing > 0",
                problem="The number of unknowns or the spacing of an axis is not allowed.",
            )

    @property
    def periodic(self) -> bool:
        """Flag for a periodic axis, which has a complex basis."""
        return self.boundary == "periodic"

    @property
    def angles(self) -> np.ndarray:
        """Angles theta of the modes, (n,)."""
        if self.periodic:
            k = np.minimum(np.arange(self.n), self.n - np.arange(self.n))
            return 2.0 * np.pi * k / self.n
        if self.boundary == "dirichlet":
            return np.pi * np.arange(1, self.n + 1) / (self.n + (self.location == "points"))
        return np.pi * np.arange(self.n) / (self.n - (self.location == "points"))

    def eigenvalues(self, symbol: str) -> np.ndarray:
        """Return the eigenvalues of d2/dx2, (n,), double: -(4 / h^2) sin^2(theta / 2), or -(theta / h)^2 if spectral.

        The form -2 + 2 cos(theta) is equivalent, but inaccurate for long waves in single precision.
        """
        if symbol == "five-point":
            return -((2.0 / self.h * np.sin(0.5 * self.angles)) ** 2)
        return -((self.angles / self.h) ** 2)

    def forward(self, x: Any, axis: int) -> Any:
        """Return the transform of an axis that is not periodic."""
        return self._transform(x, axis, inverse=False)

    def backward(self, x: Any, axis: int) -> Any:
        """Return the inverse transform of an axis that is not periodic."""
        return self._transform(x, axis, inverse=True)

    def _transform(self, x: Any, axis: int, inverse: bool) -> Any:
        kind = 1 if self.location == "points" else 2
        if on_gpu(x) and kind == 1:
            return transformed(device_of(x), x, axis, self.boundary == "dirichlet", inverse)
        fft = fourier_module(x)
        name = ("i" if inverse else "") + ("dst" if self.boundary == "dirichlet" else "dct")
        options = {} if on_gpu(x) else {"workers": workers()}
        return getattr(fft, name)(x, type=kind, axis=axis, **options)


def workers() -> int:
    """Return the number of threads for SciPy transforms, equal to that of CPU programs."""
    from eagre.backend.cpu.compiler import threads

    return threads()
