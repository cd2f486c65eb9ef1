"""Direct inverse of the flat pressure operator on several devices.

Transforms along x use the row decomposition. Transforms along y and z and the column systems use a decomposition by
modes of x, with all rows and levels of a mode on one device. Two all-to-all exchanges change the decomposition; the
second one includes halo rows. The order of the transforms is the order of `spectral`. For transforms along y on a GPU,
the exchanges transpose the rows of a mode to contiguous memory.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from eagre.backend.arrays import array_module, fourier_module
from eagre.backend.device import Device, HostCall, Work, check_precision
from eagre.backend.exchange import LocalTransport, Message
from eagre.backend.group import BARRIER
from eagre.decomposition import equal_parts
from eagre.device_mesh import DeviceMesh, DistributedArray
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.preconditioners.modes import GridModes, Modes
from eagre.models.anelastic.preconditioners.spectral import complex_of, options_of, solved


class ModeSlab:
    """Modes of x on a device.

    Parameters
    ----------
    device : Device
    precision : str
    spectral_basis : Basis
        Modes of the global grid.
    mode_range : slice
        Modes of x on this device.
    reached : bool
        True if kernels read the memory of other GPUs.
    dz, sign
        See `Modes`.

    Attributes
    ----------
    is_transposed : bool
        True for transforms along y on a GPU: memory order (nz, n, ny).
    numbers : (nz, ny, n)
        Values of the modes; complex if `is_transposed`, otherwise real.
    """

    def __init__(
        self, device: Device, precision: str, spectral_basis: GridModes, mode_range: slice, reached: bool, dz: float,
        sign: float,
    ) -> None:  # fmt: skip
        z, y, x = spectral_basis.symbols
        self._device, self._real = device, check_precision(precision)
        self._is_complex = 2 in spectral_basis.waves
        self._waves = tuple(k for k in spectral_basis.waves if k < 2)
        nz, ny, n = *spectral_basis.shape[:2], mode_range.stop - mode_range.start
        self.is_transposed = reached and device.kind == "cuda" and self._is_complex and 1 in spectral_basis.waves
        x = x[mode_range]
        self._basis = spectral_basis._replace(symbols=(z, x, y) if self.is_transposed else (z, y, x))
        self.modes = Modes(device, precision, self._basis, dz, sign)
        dtype = complex_of(self._real) if self._is_complex else self._real
        self.spectrum = device.zeros((nz, n, ny) if self.is_transposed else (nz, ny, n), dtype)
        self.numbers = self.spectrum.transpose(0, 2, 1) if self.is_transposed else self.spectrum.view(self._real)

    @property
    def work(self) -> list[Work]:
        """Solve for the modes in place; for periodic x and y a CUDA graph can contain it."""
        if not self.is_transposed:
            return [HostCall(self._solve, ())]
        forward, backward = self._device.complex_transforms(self.spectrum, (0, 2) if 0 in self._waves else (2,))
        return [forward, self.modes.launch(self.spectrum.view(self._real)), backward]

    def _solve(self) -> None:
        a, fft, waves = self.spectrum, fourier_module(self.spectrum), self._waves
        if waves:
            a = (fft.fftn if self._is_complex else fft.rfftn)(a.copy(), axes=waves, **options_of(a))
        is_complex = self._is_complex or bool(waves)
        f = array_module(a).ascontiguousarray(a)
        f = solved(self._device, self._basis, self.modes, f.view(self._real) if is_complex else f)
        if is_complex:
            f = f.view(complex_of(self._real))
        if waves and self._is_complex:
            f = fft.ifftn(f, axes=waves, norm="forward", **options_of(f))
        elif waves:
            sizes = [self._basis.shape[k] for k in waves]
            f = fft.irfftn(f, s=sizes, axes=waves, norm="forward", **options_of(f))
        if f is not self.spectrum:
            self.spectrum[...] = f


class DistributedSpectral:
    """Solver q = P^-1 r of the flat operator; q is valid on all rows of a device, including halo rows.

    Parameters
    ----------
    devices : DeviceMesh
    precision : str
    metric : Metric
        Metric of the global grid.
    sign : float
        1.0, or -1.0 for q = -P^-1 r.
    """

    def __init__(self, devices: DeviceMesh, precision: str, metric: Metric, sign: float = 1.0) -> None:
        self._devices, self._real = devices, check_precision(precision)
        self._basis = spectral_basis = GridModes.of(metric, devices.devices[0])
        ends = np.cumsum([0, *equal_parts(spectral_basis.symbols[2].size, len(devices.devices))]).tolist()
        self._modes = [slice(*pair) for pair in pairwise(ends)]
        ranges = zip(devices.devices, self._modes, strict=True)
        known = devices.graphs or devices.target == "simulator", metric.spacing[0], sign
        self._slabs = [ModeSlab(device, precision, spectral_basis, mode_range, *known) for device, mode_range in ranges]
        nz = spectral_basis.shape[0]
        self._is_complex = 2 in spectral_basis.waves
        complex_ = complex_of(self._real) if self._is_complex else self._real
        self._rows = [
            device.zeros((nz, high - low, spectral_basis.symbols[2].size), complex_)
            for device, (low, high) in zip(devices.devices, map(devices.held, range(len(ends) - 1)), strict=True)
        ]
        self._publish()
        self._transforms: dict[int, Any] = {}

    def _publish(self) -> None:
        transport = LocalTransport(self._devices.group)
        for rank, (rows, slab) in enumerate(zip(self._rows, self._slabs, strict=True)):
            transport.publish(rank, "rows", rows if slab.is_transposed else rows.view(self._real))
            transport.publish(rank, "modes", slab.numbers)
        ranks, there, back = range(len(self._rows)), [], []
        for rank_from in ranks:
            inside, interior, all_ = self._devices.inside(rank_from), self._devices.owned(rank_from), slice(None)
            for other in ranks:
                modes = self._numbers(other)
                there.append(Message("rows", rank_from, other, (all_, inside, modes), (all_, interior, all_), "modes"))
                back += [
                    Message("modes", other, rank_from, (all_, of, all_), (all_, here, modes), "rows")
                    for here, of in self._held(rank_from)
                ]
        self._there, self._back = transport.exchange(there), transport.exchange(back)

    def _numbers(self, rank: int) -> slice:
        """Return the range of the modes of a device in a row."""
        factor, modes = 2 if self._is_complex and not self._slabs[rank].is_transposed else 1, self._modes[rank]
        return slice(factor * modes.start, factor * modes.stop)

    def _held(self, rank: int) -> list[tuple[slice, slice]]:
        """Return ranges of the rows of a device: local and global."""
        (low, high), ny, ranges = self._devices.held(rank), self._basis.shape[1], []
        row = low
        while row < high:
            end = min(high, (row // ny + 1) * ny)
            ranges.append((slice(row - low, end - low), slice(row % ny, row % ny + end - row)))
            row = end
        return ranges

    def set_coefficients(self, across: np.ndarray, up: np.ndarray, scale: np.ndarray) -> None:
        """See `Modes`."""
        for slab in self._slabs:
            slab.modes.set_coefficients(across, up, scale)

    def launches(self, right: DistributedArray, out: DistributedArray) -> list[Any]:
        """Return stages of out = P^-1 right."""
        there, back = [], []
        for rank, device in enumerate(self._devices.devices):
            forward, backward = self._along_x(rank, device, right.parts[rank], out.parts[rank])
            there.append([forward])
            back.append([backward])
        return [there, BARRIER, self._there, [slab.work for slab in self._slabs], BARRIER, self._back, back]

    def _along_x(self, rank: int, device: Device, right: Any, out: Any) -> tuple[HostCall, HostCall]:
        """Transform all rows of a device along x."""
        rows = self._rows[rank]
        if self._is_complex:
            if rank not in self._transforms:
                self._transforms[rank] = device.real_transforms(right, rows, out, (2,))
            forward, backward = self._transforms[rank]
            return forward._replace(arguments=(right,)), backward._replace(arguments=(out,))
        cosines = self._basis.cosines[2]

        def forward_cosines() -> None:
            rows[...] = cosines.forward(right, 2)

        def backward_cosines() -> None:
            out[...] = cosines.backward(rows, 2)

        return HostCall(forward_cosines, ()), HostCall(backward_cosines, ())
