"""Multi-device Laplace solver: the grid is decomposed into row slabs.

An iteration has two barriers: before the right-hand sides of coarse grids are gathered, and before each device reads
the Psi of its neighbours and all sums of squares. Data read from another device were written before the last barrier
and are not overwritten before the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eagre.backend.device import Launch
from eagre.backend.group import BARRIER, Group, Message, Stage, in_sequence
from eagre.device_mesh import DeviceMesh, DistributedArray, part_of
from eagre.models.potential_waves.boundaries.relaxation_zones import ZoneRelaxation
from eagre.models.potential_waves.laplace.arrays import LaplacePart
from eagre.models.potential_waves.laplace.base import MAX_ITERATIONS, Laplace
from eagre.models.potential_waves.laplace.solver import (
    ENOUGH,
    MIN_SCREENING,
    check_depth,
    factors_of,
    is_large,
    points_of,
)
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.surface import reference_kernels
from eagre.solvers.multigrid.distributed import DistributedMultigrid, decompose_grids
from eagre.solvers.multigrid.plan import Choices, plan_of
from eagre.stepping.convergence_loop import THREADS, StopTest


class SharedTest:
    """Stop test of all devices: each device tests the sums of squares of all, so that all devices stop together."""

    def __init__(self, tests: list[StopTest]) -> None:
        self.control, self.partials, self.norms = (
            DistributedArray([getattr(test, name) for test in tests], getattr(tests[0], name).shape, None)
            for name in ("control", "partials", "norms")
        )
        self.launch = [[test.launch] for test in tests]


class DistributedLaplace(Laplace):
    """`LaplaceProblem` on the devices of a group; see there for the parameters.

    Raises
    ------
    InputError
        See `LaplaceProblem`.
    """

    device: DeviceMesh

    def __init__(
        self, h: np.ndarray, spacing: tuple[float, float], vertical: Vertical, periodic: tuple[bool, bool],
        group: Group, precision: str, linear: bool = False, plain: bool = False,
        multigrid: Mapping[str, Any] | None = None, correction: str | None = None,
        points: tuple[np.ndarray, np.ndarray] | None = None, max_iterations: int = MAX_ITERATIONS,
        on_nonconvergence: str = "error",
    ) -> None:  # fmt: skip
        self.max_iterations, self.on_nonconvergence = max_iterations, on_nonconvergence
        self.vertical, self.shape, self.periodic = vertical, h.shape, periodic
        check_depth(h, vertical.order)
        factors = factors_of(h, spacing, vertical.order)
        choices: Any = {**factors, **(multigrid or {})}
        modes, q = vertical.modes(), MIN_SCREENING / float(h.max()) ** 2
        plan = plan_of(h.shape, spacing, modes.decay.tolist(), periodic, Choices(**choices), ENOUGH)
        decomposition = decompose_grids(plan, q, group, vertical.order, correction or precision, periodic[0])
        self.device = DeviceMesh(group, decomposition.rows)
        known = (plan, q, decomposition, self.device, correction or precision, plain)
        self.multigrid = DistributedMultigrid(*known, paired=is_large(h.shape, vertical) and bool(factors))
        self.subdomains = [
            LaplacePart(
                self.device.local_values(h, rank), spacing, vertical, modes, (False, periodic[1]), rank_device,
                precision, linear, plain, self.multigrid.fine[rank], self.device.inside(rank),
            )
            for rank, rank_device in enumerate(group.devices)
        ]  # fmt: skip
        self.real = self.subdomains[0].real
        self.points = points or points_of(h, spacing)
        self.fields, self.psi, self.w = self._of("fields", 2), self._of("psi", vertical.nz + 1), self._of("w", 1)
        self.eta, self.phi = self.fields[:1], self.fields[1:]
        self.geometry = self._of("geometry", reference_kernels.FIELDS)
        all_lines = zip(*(subdomain.lines for subdomain in self.subdomains), strict=True)
        lines: Any = [DistributedArray(each, (), None) for each in all_lines]
        self.lines = reference_kernels.Lines(*lines)
        self._transport = group.transport()
        self._publish()
        self._begin()

    def _of(self, name: str, layers: int) -> DistributedArray:
        """Return the distributed array of an array of the subdomains."""
        return DistributedArray([getattr(subdomain, name) for subdomain in self.subdomains], (layers, *self.shape), -2)

    def _publish(self) -> None:
        """Create the stop test and define the exchanged arrays and messages."""
        counts = [int(np.prod(subdomain.squares_of(subdomain.shape[0])[0])) for subdomain in self.subdomains]
        whole, axis = self.subdomains[0].squares_of(self.shape[0])
        whole = (sum(counts),) if axis is None else whole
        for rank, (subdomain, count) in enumerate(zip(self.subdomains, counts, strict=True)):
            subdomain.test = StopTest(subdomain.device, int(np.prod(whole)), self.max_iterations)
            subdomain.squares = subdomain.device.zeros((count,), np.float64)
            shape = subdomain.squares_of(subdomain.shape[0])[0]
            arrays = {
                "fields": subdomain.fields, "psi": subdomain.psi[1 : self.vertical.nz],
                "squares": subdomain.squares.reshape(shape), "all squares": subdomain.test.partials.reshape(whole),
            }  # fmt: skip
            for name, array in arrays.items():
                self._transport.publish(rank, name, array)
        self.test = SharedTest([subdomain.test for subdomain in self.subdomains])
        rows, exchange = self.device.rows, self._transport.exchange
        self._fields = exchange(rows.messages({"fields": "centre"}))
        # Contiguous arrays have separate launches: copies in one launch cover the size of the largest one.
        self._corrected = in_sequence(exchange(rows.messages({"psi": "centre"})), exchange(self._squares(counts, axis)))

    def _squares(self, counts: list[int], axis: int | None) -> list[Message]:
        """Return messages that distribute all sums of squares to every device, in the order of one device."""
        messages, ends = [], np.cumsum(counts).tolist()
        for source in range(len(self.subdomains)):
            if axis is None:
                there, here = (slice(None),), (slice(ends[source] - counts[source], ends[source]),)
            else:
                leading = (slice(None),) * axis
                there, here = (*leading, self.device.inside(source)), (*leading, self.device.owned(source))
            messages += [
                Message("squares", source, target, there, here, "all squares") for target in range(len(self.subdomains))
            ]
        return messages

    # -- launches ------------------------------------------------------------------------------

    def plane(self, name: str, *arguments: Any) -> Stage:
        return self.device.over(self.subdomains[0].loops[name], self.shape, arguments)

    def volume(self, name: str, layers: int, *arguments: Any) -> Stage:
        return self.device.over(self.subdomains[0].loops[name], (layers, *self.shape), arguments)

    def start(self) -> list[Stage]:
        """Start with the halos of the surface, because only interior rows of the surface were changed."""
        surface = [subdomain.take_up() for subdomain in self.subdomains]
        return [BARRIER, self._fields, surface, *self.multigrid.screening_launches()]

    def defect(self) -> list[Stage]:
        return [[subdomain.defect() for subdomain in self.subdomains]]

    def correction(self, weight: float = 1.0) -> list[Stage]:
        return [[subdomain.correct(weight) for subdomain in self.subdomains], BARRIER, self._corrected]

    def end(self) -> list[Stage]:
        return [[subdomain.end() for subdomain in self.subdomains]]

    def rates(self, rates: DistributedArray, gravity: float) -> list[Stage]:
        pairs = zip(self.subdomains, rates.parts, strict=True)
        return [[subdomain.rates(local_rates, gravity) for subdomain, local_rates in pairs]]

    # -- sums and zones ------------------------------------------------------------------------

    def zone_relaxation(self, rows: slice, columns: slice) -> DistributedRelaxation:
        return DistributedRelaxation(self, rows, columns)

    def on_each(self, program: Any, *arguments: Any) -> Stage:
        ranks = range(len(self.subdomains))
        return [[Launch(program, part_of(arguments, rank), (1,), (THREADS,))] for rank in ranks]

    def rows_of_all(self, count: int, per_row: int = 1) -> tuple[DistributedArray, DistributedArray, list[Stage]]:
        shape, ranks = (count, self.shape[0], per_row), range(len(self.subdomains))
        local_rows, whole = self.device.field_zeros(shape, np.float64), self.device.zeros(shape, np.float64)
        transport, layers = self.device.group.transport(), slice(None)
        for rank in ranks:
            transport.publish(rank, "local", local_rows.parts[rank])
            transport.publish(rank, "whole", whole.parts[rank])
        messages = [
            Message("local", of, to, (layers, self.device.inside(of)), (layers, self.device.owned(of)), "whole")
            for of in ranks
            for to in ranks
        ]
        return local_rows, whole, [BARRIER, transport.exchange(messages)]

    def halos(self, array: DistributedArray) -> list[Stage]:
        transport = self.device.group.transport()
        for rank, rows in enumerate(array.parts):
            transport.publish(rank, "surface", rows)
        return [BARRIER, transport.exchange(self.device.rows.messages({"surface": "centre"}))]

    def _bottom_squares(self) -> np.ndarray:
        def of_rows(rank: int) -> np.ndarray:
            return self.subdomains[rank].bottom_squares()[self.device.inside(rank)]

        return np.concatenate(self.device.group.each(of_rows))


class DistributedRelaxation:
    """`ZoneRelaxation` on several devices, each with the rows of its subdomain."""

    def __init__(self, laplace: DistributedLaplace, rows: slice, columns: slice) -> None:
        device = laplace.device
        self._relaxations: list[tuple[slice, ZoneRelaxation] | None] = []
        for rank, (subdomain, rank_device) in enumerate(zip(laplace.subdomains, device.devices, strict=True)):
            interior, first = device.owned(rank), device.held(rank)[0]
            low, high = max(interior.start, rows.start), min(interior.stop, rows.stop)
            if low < high:
                relaxation = ZoneRelaxation(rank_device, subdomain.fields, slice(low - first, high - first), columns)
                self._relaxations.append((slice(low - rows.start, high - rows.start), relaxation))
            else:
                self._relaxations.append(None)
        self.launches: list[Stage] = [[one[1].launches if one else [] for one in self._relaxations]]

    def keep(self, values: np.ndarray) -> None:
        """See `ZoneRelaxation`."""
        for one in self._relaxations:
            if one:
                one[1].keep(values[one[0]])

    def target(self, values: np.ndarray) -> None:
        """See `ZoneRelaxation`."""
        for one in self._relaxations:
            if one:
                one[1].target(values[:, one[0]])
