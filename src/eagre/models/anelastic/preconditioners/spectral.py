"""Direct inverse of the flat pressure operator: transforms along x and y, column systems along z.

For coefficients that are fields, horizontal means are used (preconditioner). Modes: `Modes`.

If rho*, C and the stretching depend on height alone, modes exp(i kappa x) of x and y decouple, with the symbol
-sin^2(kappa d) / d^2 of centred differences over two grid spacings. Axes between walls use cosines through the
outermost points. A periodic z with constant coefficients is also transformed on a GPU. A CPU solves periodic columns:

    (e + 2 c) q_k - c (q_(k+2) + q_(k-2)) = -scale b_k
    (1 - r S)(1 - r S^-1) q = -(scale r / c) b,    r + 1 / r = 2 + e / c,  0 < r < 1

where S shifts along a system of N points. Each factor is a recursion with the periodic initial value
y_0 = sum_n r^n b_(-n) / (1 - r^N). For e = 0 the system is singular: the mean of its solution is set to 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real
from eagre.backend.device import Device, HostCall, Launch, Work, array_module, check_precision, fourier_module, on_gpu
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.preconditioners.column_sweeps import Symbols, column_solver, factor_modes, mode_divider
from eagre.solvers.poisson.axes import Axis, WallTransforms, workers


class PeriodicFactors(NamedTuple):
    """Factors of modes, (ny, m) each: -scale r / c, factor of b; r, 0 for e = 0; 1 / (1 - r^N)."""

    factor: Any
    ratio: Any
    closing: Any


def periodic_factors(e: np.ndarray, coupling: float, scale: float, nz: int) -> PeriodicFactors:
    """Return the factors of modes in double precision; e : (ny, m), at least 0; coupling : c, positive."""
    size = nz if nz % 2 else nz // 2
    half = e / (2.0 * coupling)
    ratio = np.where(e > 0.0, 1.0 / (1.0 + half + np.sqrt(half * (2.0 + half))), 0.0)
    factor = -scale / coupling * np.where(e > 0.0, ratio, 1.0)
    return PeriodicFactors(factor, ratio, 1.0 / (1.0 - ratio**size))


@cell
def close_column(f, j, i, first, count):
    """Replace b by the solution for e = 0: its differences are sums of b; both have mean 0."""
    nz, mean = f.shape[0], real(0.0)
    for n in range(count):
        mean += f[(first + 2 * n) % nz, j, i]
    mean /= real(count)
    total, every = real(0.0), real(0.0)
    for n in range(count):
        k = (first + 2 * n) % nz
        total += f[k, j, i] - mean
        f[k, j, i] = total
        every += total
    mean, total, every = every / real(count), real(0.0), real(0.0)
    for n in range(count):
        k = (first + 2 * n) % nz
        fall = f[k, j, i] - mean
        f[k, j, i] = total
        every += total
        total -= fall
    mean = every / real(count)
    for n in range(count):
        f[(first + 2 * n) % nz, j, i] -= mean


@cell
def sweep_periodic(f, factors, carried, j, first, count, back):
    """Evaluate y_n = r y_(n-1) + b_n along a system in one direction, with periodic initial value from `carried`."""
    nz, _, m = f.shape
    for i in range(m):
        carried[j, i] *= factors.closing[j, i]
    for n in range(count):
        k = (first + 2 * (count - 1 - n if back else n)) % nz
        for i in range(m):
            y = factors.ratio[j, i] * carried[j, i] + f[k, j, i]
            f[k, j, i] = y
            carried[j, i] = y


@cell
def up(f, factors, carried, j, first, count):
    """Apply (1 - r S)^-1 to b times its factor."""
    nz, _, m = f.shape
    for i in range(m):
        carried[j, i] = real(0.0)
    for n in range(count):
        k = (first + 2 * n) % nz
        for i in range(m):
            b = factors.factor[j, i] * f[k, j, i]
            f[k, j, i] = b
            carried[j, i] = factors.ratio[j, i] * carried[j, i] + b
    sweep_periodic(f, factors, carried, j, first, count, False)


@cell
def down(f, factors, carried, j, first, count):
    """Apply (1 - r S^-1)^-1."""
    nz, _, m = f.shape
    for i in range(m):
        carried[j, i] = real(0.0)
    for n in range(count):
        k = (first + 2 * (count - 1 - n)) % nz
        for i in range(m):
            carried[j, i] = factors.ratio[j, i] * carried[j, i] + f[k, j, i]
    sweep_periodic(f, factors, carried, j, first, count, True)


@entry
def solve_periodic_cpu(f, factors, carried):
    """Solve in place; f (nz, ny, m): b, real numbers of modes; carried (ny, m): scratch."""
    nz, ny, m = f.shape
    systems = 1 if nz % 2 else 2
    count = nz // systems
    for j in prange(ny):
        for first in range(systems):
            up(f, factors, carried, j, first, count)
            down(f, factors, carried, j, first, count)
            for i in range(m):
                if factors.ratio[j, i] == real(0.0):
                    close_column(f, j, i, first, count)


ROUNDING_LIMIT = 1e-14  # symbols below this are rounding errors of sin(pi)


def wave_numbers(n: int, d: float, periodic: bool) -> tuple[np.ndarray, Axis | None]:
    """Return sin^2(kappa d) / d^2 of the modes of an axis, and its cosines for walls."""
    if n == 1:
        return np.zeros(1), None
    axis = Axis(n, d, "periodic" if periodic else "neumann", "points")
    sine = np.sin(axis.angles)
    return np.where(np.abs(sine) < ROUNDING_LIMIT, 0.0, (sine / d) ** 2), None if periodic else axis


class GridModes(NamedTuple):
    """Modes of a grid.

    waves : periodic, transformed axes (of z, y, x); the last one has half of its modes
    cosines : cosines of the axes between walls or open boundaries
    symbols : symbols along z, y, x
    """

    shape: tuple[int, int, int]
    waves: tuple[int, ...]
    cosines: dict[int, Axis]
    symbols: tuple[np.ndarray, np.ndarray, np.ndarray]
    periodic_z: bool

    @classmethod
    def of(cls, metric: Metric, device: Device) -> GridModes:
        """Return the modes of a grid on a device."""
        shape, periodic_z = metric.shape, metric.sides[0] == "periodic" and metric.shape[0] > 1
        numbers = [
            wave_numbers(n, d, side == "periodic")
            for n, d, side in zip(shape, metric.spacing, metric.sides, strict=True)
        ]
        cosines = {k: axis for k, (_, axis) in enumerate(numbers) if k > 0 and axis is not None}
        transforms_z = periodic_z and device.kind == "cuda"
        waves = tuple(k for k in range(0 if transforms_z else 1, 3) if shape[k] > 1 and k not in cosines)
        symbols = [symbol for symbol, _ in numbers]
        if waves:
            symbols[waves[-1]] = symbols[waves[-1]][: shape[waves[-1]] // 2 + 1]
        z = symbols[0] if transforms_z else np.zeros(shape[0])
        return cls(shape, waves, cosines, (z, symbols[1], symbols[2]), periodic_z)

    @property
    def has_periodic_columns(self) -> bool:
        """True if the columns of a periodic z are solved as periodic systems."""
        return self.periodic_z and 0 not in self.waves

    @property
    def reals_per_mode(self) -> int:
        """Number of real numbers per mode."""
        return 2 if self.waves else 1

    @property
    def points(self) -> int:
        """Factor of a forward and inverse transform."""
        return int(np.prod([self.shape[k] for k in self.waves]))


class Modes:
    """Column systems of modes on a device.

    Parameters
    ----------
    device : Device
    precision : str
    modes : GridModes
        Modes of this device.
    dz : float
        Vertical spacing, m.
    sign : float
        1.0 or -1.0, sign of the solution.

    Attributes
    ----------
    shape : (z, y, x)
        Shape of the modes.
    numbers : (z, y, x)
        Shape of the modes as real numbers.
    """

    def __init__(self, device: Device, precision: str, modes: GridModes, dz: float, sign: float = 1.0) -> None:
        self._device, self._real, self._sign = device, check_precision(precision), sign
        self._modes, self._dz = modes, dz
        nz = modes.shape[0]
        wall = nz > 1 and not modes.periodic_z
        self._w = np.array([0.5 if wall and k in (0, nz - 1) else 1.0 for k in range(nz)])
        self.shape = tuple(map(len, modes.symbols))
        self.numbers = (*self.shape[:2], self.shape[2] * modes.reals_per_mode)
        self._inverse = None if modes.periodic_z else device.zeros(self.shape, self._real)
        self._coupling = device.zeros((nz, 1, 1), self._real)
        self._tables, self._wide = self._symbols_in(self._real), self._symbols_in(np.float64)
        self._factor = device.loop(factor_modes, "double")
        self._solve = column_solver(device, precision, {"PARTS": modes.reals_per_mode})
        self._divide = mode_divider(device, precision, modes.reals_per_mode)
        row, closes = (self.shape[1], modes.reals_per_mode * self.shape[2]), modes.has_periodic_columns
        arrays = (device.zeros(row, self._real) for _ in PeriodicFactors._fields)
        self._periodic_systems = PeriodicFactors(*arrays) if closes else None
        self._carried = device.zeros(row if closes else (1, 1), self._real)
        self._close = device.program(solve_periodic_cpu, precision) if closes else None

    def _symbols_in(self, real: Any) -> Symbols:
        """Return tables of symbols on the device in a precision, without coefficients."""
        along_y, along_x = (self._device.array(one.astype(real)) for one in self._modes.symbols[1:])
        across, along_z, scale = (self._device.zeros(self.shape[:1], real) for _ in range(3))
        return Symbols(across, along_z, along_y, along_x, scale)

    def set_coefficients(self, across: np.ndarray, up: np.ndarray, scale: np.ndarray) -> None:
        """Factorise the column systems.

        Parameters
        ----------
        across : (nz,)
            Mean of rho* c11.
        up : (nz,)
            Mean of rho* G3 . C G3.
        scale : (nz,)
            Factor of r: rho*, or 1 if r is already multiplied by rho*.
        """
        nz, device, count = self._modes.shape[0], self._device, self.shape[0]
        for tables in (self._tables, self._wide):
            scaled = self._sign * self._w * scale / self._modes.points
            tables_and_values = ((tables.across, (self._w * across)[:count]), (tables.scale, scaled[:count]))
            for array, values in (*tables_and_values, (tables.along_z, up[0] * self._modes.symbols[0])):
                device.fill(array, values.astype(array.dtype))
        if self._periodic_systems is not None:
            flat = self._modes.symbols[1][:, None] + np.repeat(self._modes.symbols[2], self._modes.reals_per_mode)
            b = float(self._sign * scale[0]) / self._modes.points
            systems = periodic_factors(float(across[0]) * flat, float(up[0]) / (4.0 * self._dz**2), b, nz)
            for array, values in zip(self._periodic_systems, systems, strict=True):
                device.fill(array, values.astype(self._real))
        if self._inverse is None:
            return
        coupling = np.zeros(nz)
        coupling[: nz - 2] = up[1 : nz - 1] / (4.0 * self._dz**2)
        device.fill(self._coupling, coupling[:, None, None].astype(self._real))
        arguments = (self._inverse, self._wide, device.array(coupling))
        device.run([device.over(self._factor, self.shape[1:], arguments)])

    def launch(self, f: Any) -> Launch:
        """Return a launch that solves in place; f : real numbers, last axis times `GridModes.reals_per_mode`."""
        if self._close is not None:
            return Launch(self._close, (f, self._periodic_systems, self._carried))
        if self._modes.periodic_z:
            return self._divide(f, self._tables)
        return self._solve((f, self._inverse, self._coupling, self._tables.scale))


class Cosines:
    """Cosine transforms along axes of arrays of one shape; launches on a GPU.

    Parameters
    ----------
    device : Device
    precision : str
    axes : mapping
        Axes between walls or open boundaries, by number.
    shape : (nz, ny, m)
        Shape of the real arrays.
    numbers : sequence of int
        Axes to transform, if they are in `axes`.
    """

    def __init__(
        self, device: Device, precision: str, axes: Mapping[int, Axis], shape: tuple[int, ...], numbers: Sequence[int]
    ) -> None:
        self._device, self._axes = device, {n: axes[n] for n in numbers if n in axes}
        self._walls = WallTransforms(device, precision, shape, self._axes) if device.kind == "cuda" else None

    def __contains__(self, axis: int) -> bool:
        return axis in self._axes

    def launches(self, axis: int, source: Any, out: Any, inverse: bool = False) -> list[Work]:
        """Return launches of out = transform of source along an axis, or its inverse; out may be source."""
        if self._walls is not None:
            return self._walls.launches(axis, source, out, inverse)

        def transform() -> None:
            out[...] = self._of_library(axis, source, inverse)

        return [HostCall(transform, ())]

    def _of_library(self, axis: int, x: Any, inverse: bool) -> Any:
        one = self._axes[axis]
        return one.backward(x, axis) if inverse else one.forward(x, axis)

    def apply(self, axis: int, x: Any, inverse: bool = False) -> Any:
        """Return the transform of x along an axis, or its inverse, as a new array."""
        if self._walls is None:
            return self._of_library(axis, x, inverse)
        x = array_module(x).ascontiguousarray(x)
        out = array_module(x).empty_like(x)
        self._device.run(self._walls.launches(axis, x, out, inverse))
        return out


class Spectral:
    """Solver q = P^-1 r of the flat operator.

    Parameters
    ----------
    device : Device
    precision : str
    metric : Metric
    sign : float
        1.0, or -1.0 for q = -P^-1 r.
    """

    def __init__(self, device: Device, precision: str, metric: Metric, sign: float = 1.0) -> None:
        self._device, self._real = device, check_precision(precision)
        self._basis = spectral_basis = GridModes.of(metric, device)
        self._modes = Modes(device, precision, spectral_basis, metric.spacing[0], sign)
        self.set_coefficients = self._modes.set_coefficients
        waves, cosines = spectral_basis.waves, spectral_basis.cosines
        self._has_last_waves = bool(waves) and waves == tuple(range(3))[-len(waves) :] and not cosines
        known = device, precision, cosines
        self._along_x = Cosines(*known, spectral_basis.shape, (2,) if waves else (2, 1))
        self._along_y = Cosines(*known, self._modes.numbers, (1,)) if waves else self._along_x
        self._has_walls_alone = bool(cosines) and not waves
        self._launches: tuple[Any, ...] = ()

    def launches(self, right: Any, out: Any) -> list[Work]:
        """Return launches of out = P^-1 right, both (nz, ny, nx)."""
        if self._device.kind == "cuda" and self._has_walls_alone:
            return self._between_walls(right, out)
        if self._device.kind != "cuda" or not self._has_last_waves:
            return [HostCall(self._apply, (right, out))]
        if not self._launches:
            spectrum = self._device.zeros(self._modes.shape, complex_of(self._real))
            forward, backward = self._device.real_transforms(right, spectrum, out, self._basis.waves)
            self._launches = forward, self._modes.launch(spectrum.view(self._real)), backward
        forward, columns, backward = self._launches
        return [forward._replace(arguments=(right,)), columns, backward._replace(arguments=(out,))]

    def _between_walls(self, right: Any, out: Any) -> list[Work]:
        """Return launches without a periodic axis."""
        if not self._launches:
            self._launches = (self._device.zeros(self._modes.shape, self._real),)
        (f,) = self._launches
        first, *others = [axis for axis in (2, 1) if axis in self._basis.cosines]
        there, back = self._along_x.launches(first, right, f), self._along_x.launches(first, f, out, inverse=True)
        for axis in others:
            there += self._along_x.launches(axis, f, f)
            back = [*self._along_x.launches(axis, f, f, inverse=True), *back]
        return [*there, self._modes.launch(f), *back]

    def _apply(self, right: Any, out: Any) -> None:
        """Transform along x and y, solve the columns and transform back, in the same order as on several devices."""
        spectral_basis, fft = self._basis, fourier_module(right)
        is_untransformed = not (spectral_basis.cosines or spectral_basis.waves)
        if 2 in self._along_x:
            right = self._along_x.apply(2, right)
        if spectral_basis.waves:
            spectrum = fft.rfftn(right, axes=spectral_basis.waves, **options_of(right))
            right = array_module(spectrum).ascontiguousarray(spectrum).view(self._real)
        solution = solved(self._device, self._along_y, self._modes, right.copy() if is_untransformed else right)
        if spectral_basis.waves:
            sizes = [spectral_basis.shape[k] for k in spectral_basis.waves]
            spectrum = solution.view(complex_of(self._real))
            solution = fft.irfftn(spectrum, s=sizes, axes=spectral_basis.waves, norm="forward", **options_of(solution))
        if 2 in self._along_x:
            solution = self._along_x.apply(2, solution, inverse=True)
        out[...] = solution


def solved(device: Device, along_y: Cosines, modes: Modes, f: Any) -> Any:
    """Return the solved columns of modes, with cosine transforms along y; f is overwritten."""
    if 1 in along_y:
        f = along_y.apply(1, f)
    f = array_module(f).ascontiguousarray(f)
    device.run([modes.launch(f)])
    if 1 in along_y:
        f = array_module(f).ascontiguousarray(along_y.apply(1, f, inverse=True))
    return f


def complex_of(real: Any) -> Any:
    """Return the complex type of a precision."""
    return np.complex64 if real == np.float32 else np.complex128


def options_of(a: Any) -> dict[str, Any]:
    """Return options of the transforms of an array: on a CPU the number of threads, and in-place operation."""
    return {} if on_gpu(a) else {"workers": workers(), "overwrite_x": True}
