"""Projection on several devices, each with a subdomain, a slab of rows; see `projection`.

Data that a device reads from another device are written before the last barrier, and overwritten after the next barrier
at the earliest. Flat terrain: direct solution, on CPUs bitwise identical to one device. Orography: GCR with the direct
solver as preconditioner. Its sums are formed per device, so that iterates differ from one device by rounding errors.

Direct solver: transforms along x use the row decomposition. Transforms along y and z and the column systems use a
decomposition by modes of x, with all rows and levels of a mode on one device. Two all-to-all exchanges change the
decomposition; the second one includes halo rows. The order of the transforms is the order of `spectral`. For transforms
along y on a GPU, the exchanges transpose the rows of a mode to contiguous memory.

A subdomain has the configuration, metric and base state of its rows and halo rows. At an internal interface a subdomain
ends as at a wall (or an open boundary). The resulting errors do not reach interior rows within a step: the halo has
`halo_rows` rows, which are exchanged after every step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.backend.device import Device, HostCall, Work, array_module, check_precision, fourier_module
from eagre.backend.group import BARRIER, Message, Stage
from eagre.decomposition import equal_parts
from eagre.device_mesh import DeviceMesh, DistributedArray
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.preconditioners.spectral import Cosines, GridModes, Modes, complex_of, options_of, solved
from eagre.models.anelastic.pressure import operator as cells
from eagre.models.anelastic.pressure.operator_launches import PressureOperator, means_of
from eagre.models.anelastic.pressure.projection import Balance, Projected, add, balanced, guess_source, stretch, swap
from eagre.models.anelastic.pressure.separable import FlatKernels, is_separable
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.stages import Fields, Stages
from eagre.solvers.gcr.distributed import DistributedGcr, DistributedResidualTest
from eagre.solvers.gcr.iteration import Weights
from eagre.stepping.convergence_loop import ConvergenceLoop

Array = np.ndarray
HALO_ROWS = 4  # halo rows: 3 for MPDATA and 1 for the divergence


def halo_rows(setup: Setup) -> int:
    """Return the number of halo rows on which a row of the next state depends."""
    mixed = 2 if setup.closure is not None else int(setup.viscous)
    return HALO_ROWS + int(setup.advection.third_order) + mixed


def rows_of(values: Array, rows: Sequence[int]) -> Array:
    """Return rows of a field (.., ny, nx); profiles (nz, 1, 1) are unchanged."""
    return values if values.shape[-2] == 1 else values.take(rows, axis=-2)


def subdomain_setup(setup: Setup, rows: Sequence[int], first: int) -> Setup:
    """Return the configuration of rows from row `first` on, negative across a periodic boundary."""
    grid, levels, surface = setup.grid, setup.levels, setup.surface
    if surface is not None:
        rough = surface.roughness
        surface = replace(
            surface, pattern=rows_of(surface.pattern, rows), roughness=None if rough is None else rows_of(rough, rows)
        )
    sponges, kinds, terrain = setup.side_sponges, setup.boundaries, levels.terrain_height
    return replace(
        setup,
        grid=replace(grid, ny=len(rows), y0=grid.y0 + first * grid.dy),
        levels=levels if terrain is None else replace(levels, terrain_height=rows_of(terrain, rows)),
        boundaries=(kinds[0], "wall" if kinds[1] == "periodic" else kinds[1], kinds[2]),
        side_sponges=None if sponges is None else rows_of(sponges, rows),
        surface=surface,
        forcing_rates=None if setup.forcing_rates is None else setup.forcing_rates.take(rows, axis=-1),
    )


def rows_held(device: Device, rows: Sequence[int]) -> Sequence[int]:
    """Return the rows of three-dimensional host fields of a device: one row for devices of other processes."""
    return rows[:1] if device.is_remote else rows


def subdomain_metric(metric: Metric, rows: Sequence[int], held: Sequence[int]) -> Metric:
    """Return the metric of rows, with the derivatives of the global grid; held : rows of fields, see `rows_held`."""
    subdomain, sides = copy.copy(metric), metric.sides
    subdomain.shape = (metric.shape[0], len(rows), metric.shape[2])
    subdomain.sides = (sides[0], "wall" if sides[1] == "periodic" else sides[1], sides[2])
    for name in ("hill", "slope_x", "slope_y", "depth_fraction"):
        setattr(subdomain, name, rows_of(getattr(metric, name), rows))
    subdomain.limit_fields(len(held))
    return subdomain


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
        self._along_y = Cosines(device, precision, spectral_basis.cosines, self.modes.numbers, (1,))

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
        f = solved(self._device, self._along_y, self.modes, f.view(self._real) if is_complex else f)
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
        self._devices, self._precision, self._real = devices, precision, check_precision(precision)
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
        transport = self._devices.group.transport()
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
            there.append(forward)
            back.append(backward)
        return [there, BARRIER, self._there, [slab.work for slab in self._slabs], BARRIER, self._back, back]

    def _along_x(self, rank: int, device: Device, right: Any, out: Any) -> tuple[list[Work], list[Work]]:
        """Transform all rows of a device along x."""
        rows = self._rows[rank]
        if self._is_complex:
            if rank not in self._transforms:
                self._transforms[rank] = device.real_transforms(right, rows, out, (2,))
            forward, backward = self._transforms[rank]
            return [forward._replace(arguments=(right,))], [backward._replace(arguments=(out,))]
        if rank not in self._transforms:
            self._transforms[rank] = Cosines(device, self._precision, self._basis.cosines, tuple(rows.shape), (2,))
        cosines = self._transforms[rank]
        return cosines.launches(2, right, rows), cosines.launches(2, rows, out, inverse=True)


MAX_ITERATIONS = 500  # maximum number of iterations


@cell
def clear_halo(k, j, i, a, low, high):
    """Set a to 0 on halo rows, before `low` and from `high` on; region (nz, halo rows, nx)."""
    a[k, j if j < low else j + high - low, i] = real(0.0)


class DistributedProjection:
    """Projection of velocities on several devices.

    Parameters
    ----------
    devices : DeviceMesh
    precision : str
    metric : Metric
        Metric of the global grid.
    density_at_ends : callable
        Returns rho_b, kg/m^3, in the planes at both ends of axis 1, y, or 2, x; see `balanced`.
    stages, metrics : sequences
        Stages and metrics of each device.
    fields : Fields
        Fields of all devices.
    tolerance : float
        Maximum of dt max |div v|.

    Attributes
    ----------
    phi, older, provisional, steps, bound
        See `Projection`.
    final : list of stages
        Last stages of a solution: the velocity from phi.
    """

    def __init__(
        self, devices: DeviceMesh, precision: str, metric: Metric, density_at_ends: Callable[[int], Array],
        stages: Sequence[Stages], metrics: Sequence[Metric], fields: Fields, tolerance: float,
    ) -> None:  # fmt: skip
        self._devices, self._precision, self.metric = devices, precision, metric
        self._density_at_ends = density_at_ends
        self._metrics, self._stages, self.tolerance = metrics, stages, tolerance
        self._real = stages[0].fields.velocity.u.dtype.type
        self.phi, self._r, self._b = (devices.field_zeros(metric.shape, self._real) for _ in range(3))
        self.older = devices.field_zeros(metric.shape, self._real) if metric.terrain else None
        self._is_free = stages[0].is_free
        self.provisional = fields.forces if self._is_free else fields.velocity
        self.steps, self.bound = (0.0, 0.0), 0
        self._normal: list[cells.Normal | None] = [None] * len(stages)
        self._operators: list[PressureOperator] = []
        one = [np.ones((metric.shape[0], 1, 1))] * len(stages)
        self.set_coefficients(one, [0.0 * one[0]] * len(stages), one)

    # -- what may change -------------------------------------------------------------------------

    def set_coefficients(self, *entries: Sequence[Array]) -> None:
        """Set c11, c12 and c33, each on every device, (nz, 1, 1) or (nz, rows, nx)."""
        each, operators = list(zip(*entries, strict=True)), self._operators
        if not operators:
            self._bind(each)
            return
        if all(self._devices.group.each(lambda rank: operators[rank].holds(*each[rank]))):  # in all processes
            return
        updated = [operator.update(*one) for operator, one in zip(operators, each, strict=True)]
        if not all(updated) or self._direct != self._is_direct():
            self._bind(each)
            return
        for operator, flat in zip(operators, self._flat, strict=False):
            flat.refill(operator)
        self._refresh()

    def _is_direct(self) -> bool:
        """Return whether the direct solution is exact."""
        return self._operators[0].is_exact(self.metric)

    def set_normal(self, x: Any = None, y: Any = None) -> Balance:
        """Set balanced normal velocities at open boundaries; x (2, nz, ny), y (2, nz, nx), m/s; see `Projection`."""
        metric, density = self.metric, self._density_at_ends
        normals, balance = balanced(metric, lambda axis: metric.at_ends(density(axis), axis), (x, y, None))
        for rank, device in enumerate(self._devices.devices):
            rows = self._rows(rank)
            values = normals[0].take(rows, axis=-1), normals[1], rows_of(normals[2], rows)
            self._normal[rank] = cells.Normal(*(device.array(one.astype(self._real)) for one in values))
        self._bind([(one.c11, one.c12, one.c33) for one in self._operators])
        return balance

    def _rows(self, rank: int) -> list[int]:
        """Return the rows of a device, including halo rows."""
        return [row % self.metric.shape[1] for row in range(*self._devices.held(rank))]

    # -- solution --------------------------------------------------------------------------------

    @property
    def exact(self) -> bool:
        """True if the direct solution is exact for the coefficients."""
        return self._direct

    @property
    def launches(self) -> list[Any]:
        """Launches of a solution, for `Device.prepare`."""
        return [*self._until.launches, *self.final]

    def solve(self, dt: float) -> Projected:
        """Project u, v, w; see `Projection.solve`.

        Raises
        ------
        ConvergenceError
            If the tolerance is not reached.
        """
        result = self.find(dt)
        self.correct()
        return result

    def correct(self) -> None:
        """Compute u, v, w of the current phi, as the last part of `solve`."""
        self._devices.run(self.final)

    def find(self, dt: float) -> Projected:
        """Solve for phi, without the stages `final`."""
        guess, source, factor = guess_source(self.phi, self.older, self.steps, dt)
        if not self._direct and (factor != 1.0 or guess is not source):
            self._devices.run([self._loop(stretch, guess, source, self._real(factor))])
        self.steps = (dt, self.steps[0])
        result = self._until.run(self.tolerance / dt, MAX_ITERATIONS)
        return Projected(result.iterations, result.norm * dt)

    def _bind(self, each: Sequence[Sequence[Array]]) -> None:
        """Create the launches for the kinds of coefficients: c11, c12 and c33 of every device."""
        devices, self.bound = self._devices, self.bound + 1
        self._operators = [
            PressureOperator(
                device, self._precision, self._metrics[rank], self._stages[rank].base.density, *each[rank],
                normal=self._normal[rank],
            )
            for rank, device in enumerate(devices.devices)
        ]  # fmt: skip
        self._direct = self._is_direct()
        self._spectral = DistributedSpectral(devices, self._precision, self.metric, -1.0 if self._direct else 1.0)
        self._refresh()
        self._flat = self._flat_kernels()
        self.final = [self._each(self._wind)]
        if self._direct:
            self._until = self._direct_solution()
            return
        swapped = [] if self.older is None else [self._loop(swap, self.phi, self.older)]
        first: list[Stage] = [*swapped, self._each(self._residual), self._cleared(self._r)]
        edges = [0.5 if n > 1 and side != "periodic" else 1.0 for n, side in self._axes()]
        weights = [Weights(one.medium.density, (edges[0], edges[1], edges[2])) for one in self._operators]
        known_to_all = (devices, self._precision, self.phi, self._r, first)
        num_directions = 3 if self._operators[0].turning else 1
        self._until = DistributedGcr(*known_to_all, self._apply, self._precondition, weights, num_directions).until

    def _flat_kernels(self) -> list[FlatKernels]:
        """Return the GPU kernels of each device for flat terrain, or None."""
        devices, operators = self._devices, self._operators
        if devices.kind != "cuda" or not self._direct or not all(map(is_separable, operators)):
            return []
        ranks = enumerate(devices.devices)
        return [FlatKernels(one, self._precision, operators[rank], devices.inside(rank)) for rank, one in ranks]

    def _direct_solution(self) -> ConvergenceLoop:
        """Return the direct solution; kernels for flat terrain test interior rows only, r is arbitrary on halo rows."""
        devices, r, spectral = self._devices, self._r, self._spectral
        blocks = [one.tiles.blocks for one in self._flat] or None
        test = DistributedResidualTest(devices, self._precision, r, blocks=blocks)
        clear = [] if self._flat else [self._cleared(r)]
        judged: list[Any] = [self._each(lambda rank: self._residual(rank, test)), *clear, *test.measured]
        adds = self._loop(add, self.phi, self._b, test.control)
        again: list[Any] = [*spectral.launches(r, self._b), adds, *judged]
        ends = [[flat.ends(self._provisional(rank)) for rank, flat in enumerate(self._flat)]] if self._flat else []
        begin: list[Any] = [*ends, self._each(self._begun), *clear, *spectral.launches(r, self.phi)]
        return ConvergenceLoop(devices, test, again, [*begin, *judged], iterations_per_check=1, start_counts=True)

    def _axes(self) -> Any:
        return zip(self.metric.shape, self.metric.sides, strict=True)

    def _refresh(self) -> None:
        """Factorise for the current coefficients."""
        sums = self._devices.group.each(lambda rank: self._operators[rank].sums(self._devices.inside(rank)))
        density, across, up = means_of(sums, self.metric.shape)
        self._spectral.set_coefficients(across, up, np.ones_like(density) if self._by_point else density)

    @property
    def _by_point(self) -> bool:
        return self.metric.terrain

    def _wind(self, rank: int) -> list[Any]:
        fields, kernels = self._stages[rank].fields, self._flat or self._operators
        return kernels[rank].wind(self.phi.parts[rank], fields.velocity, fields.forces, not self._is_free)

    def _provisional(self, rank: int) -> tuple[Any, Any, Any]:
        u, v, w = (one.parts[rank] for one in self.provisional)
        return u, v, w

    def _residual(self, rank: int, test: DistributedResidualTest | None = None) -> Any:
        arguments = self.phi.parts[rank], self._provisional(rank), self._r.parts[rank]
        if self._flat and test is not None:
            return [self._flat[rank].residual(*arguments, test.control.parts[rank], test.partials.local[rank])]
        return self._operators[rank].residual(*arguments)

    def _begun(self, rank: int) -> Any:
        arguments = self._provisional(rank), self._r.parts[rank]
        return [self._flat[rank].divergence(*arguments)] if self._flat else self._operators[rank].start(*arguments)

    def _apply(self, q: DistributedArray, out: DistributedArray) -> list[Stage]:
        applied = self._each(lambda rank: self._operators[rank].apply(q.parts[rank], out.parts[rank]))
        return [applied, self._cleared(out)]

    def _precondition(self, r: DistributedArray, q: DistributedArray) -> list[Stage]:
        if not self._by_point:
            return self._spectral.launches(r, q)
        weighed = self._each(lambda rank: self._operators[rank].weighed(r.parts[rank], self._b.parts[rank]))
        return [weighed, *self._spectral.launches(self._b, q)]

    def _each(self, launch: Callable[[int], Any]) -> Stage:
        """Return a stage of a launch, or of several, per device."""
        works = (launch(rank) for rank in range(len(self._stages)))
        return [work if isinstance(work, list) else [work] for work in works]

    def _loop(self, one: Any, *arguments: Any) -> Stage:
        """Return a stage of a loop over all points of the devices."""
        return self._devices.over(self._devices.loop(one, self._precision), self.metric.shape, arguments)

    def _cleared(self, a: DistributedArray) -> Stage:
        """Return a stage that sets `a` to 0 on halo rows."""
        (nz, _, nx), stage = self.metric.shape, []
        for rank, (device, array) in enumerate(zip(self._devices.devices, a.parts, strict=True)):
            inside = self._devices.inside(rank)
            loop, rows = device.loop(clear_halo, self._precision), array.shape[1] - inside.stop + inside.start
            stage.append([device.over(loop, (nz, rows, nx), (array, inside.start, inside.stop))])
        return stage
