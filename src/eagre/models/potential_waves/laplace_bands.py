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
from eagre.backend.exchange import LocalTransport, Message
from eagre.backend.group import BARRIER, Group, Stage, in_turn
from eagre.models.potential_waves import reference
from eagre.models.potential_waves.laplace import (
    ENOUGH,
    SMALLEST_SCREENING,
    check_depth,
    factors_of,
    is_large,
    points_of,
)
from eagre.models.potential_waves.laplace_base import MAX_ITERATIONS, Laplace
from eagre.models.potential_waves.laplace_part import LaplacePart
from eagre.models.potential_waves.stencils import Vertical
from eagre.models.potential_waves.zones import Strip
from eagre.several import DeviceMesh, DistributedArray, part_of
from eagre.solvers.multigrid.bands import MultigridBands, cut_of
from eagre.solvers.multigrid.plan import Choices, plan_of
from eagre.stepping.until import THREADS, StopTest


class SharedTest:
    """Stop test of all devices: each device tests the sums of squares of all, so that all devices stop together."""

    def __init__(self, tests: list[StopTest]) -> None:
        self.control, self.partials, self.norms = (
            DistributedArray([getattr(test, name) for test in tests], getattr(tests[0], name).shape, None)
            for name in ("control", "partials", "norms")
        )
        self.launch = [[test.launch] for test in tests]


class LaplaceBands(Laplace):
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
        modes, q = vertical.modes(), SMALLEST_SCREENING / float(h.max()) ** 2
        plan = plan_of(h.shape, spacing, modes.decay.tolist(), periodic, Choices(**choices), ENOUGH)
        cut = cut_of(plan, q, group, vertical.order, correction or precision, periodic[0])
        self.device = DeviceMesh(group, cut.rows)
        known = (plan, q, cut, self.device, correction or precision, plain)
        self.multigrid = MultigridBands(*known, paired=is_large(h.shape, vertical) and bool(factors))
        self.parts = [
            LaplacePart(
                self.device.local_values(h, rank), spacing, vertical, modes, (False, periodic[1]), member,
                precision, linear,
                plain, self.multigrid.fine[rank], self.device.inside(rank),
            )
            for rank, member in enumerate(group.members)
        ]  # fmt: skip
        self.real = self.parts[0].real
        self.points = points or points_of(h, spacing)
        self.fields, self.psi, self.w = self._of("fields", 2), self._of("psi", vertical.nz + 1), self._of("w", 1)
        self.eta, self.phi = self.fields[:1], self.fields[1:]
        self.geometry = self._of("geometry", reference.FIELDS)
        lines: Any = [
            DistributedArray(each, (), None) for each in zip(*(part.lines for part in self.parts), strict=True)
        ]
        self.lines = reference.Lines(*lines)
        self._transport = LocalTransport(group)
        self._publish()
        self._begin()

    def _of(self, name: str, layers: int) -> DistributedArray:
        """Return the distributed array of an array of the parts."""
        return DistributedArray([getattr(part, name) for part in self.parts], (layers, *self.shape), -2)

    def _publish(self) -> None:
        """Create the stop test and define the exchanged arrays and messages."""
        counts = [int(np.prod(part.squares_of(part.shape[0])[0])) for part in self.parts]
        whole, axis = self.parts[0].squares_of(self.shape[0])
        whole = (sum(counts),) if axis is None else whole
        for rank, (part, count) in enumerate(zip(self.parts, counts, strict=True)):
            part.test = StopTest(part.device, int(np.prod(whole)), self.max_iterations)
            part.squares = part.device.zeros((count,), np.float64)
            shape = part.squares_of(part.shape[0])[0]
            arrays = {
                "fields": part.fields, "psi": part.psi[1 : self.vertical.nz], "squares": part.squares.reshape(shape),
                "all squares": part.test.partials.reshape(whole),
            }  # fmt: skip
            for name, array in arrays.items():
                self._transport.publish(rank, name, array)
        self.test = SharedTest([part.test for part in self.parts])
        rows, exchange = self.device.rows, self._transport.exchange
        self._fields = exchange(rows.messages({"fields": "centre"}))
        # Contiguous arrays have separate launches: copies in one launch cover the size of the largest one.
        self._corrected = in_turn(exchange(rows.messages({"psi": "centre"})), exchange(self._squares(counts, axis)))

    def _squares(self, counts: list[int], axis: int | None) -> list[Message]:
        """Return messages that distribute all sums of squares to every device, in the order of one device."""
        found, behind = [], np.cumsum(counts).tolist()
        for source in range(len(self.parts)):
            if axis is None:
                there, here = (slice(None),), (slice(behind[source] - counts[source], behind[source]),)
            else:
                before = (slice(None),) * axis
                there, here = (*before, self.device.inside(source)), (*before, self.device.owned(source))
            found += [
                Message("squares", source, target, there, here, "all squares") for target in range(len(self.parts))
            ]
        return found

    # -- launches ------------------------------------------------------------------------------

    def plane(self, name: str, *arguments: Any) -> Stage:
        return self.device.over(self.parts[0].loops[name], self.shape, arguments)

    def volume(self, name: str, layers: int, *arguments: Any) -> Stage:
        return self.device.over(self.parts[0].loops[name], (layers, *self.shape), arguments)

    def start(self) -> list[Stage]:
        """Start with the halos of the surface, because the surface was changed in own rows only."""
        surface = [part.take_up() for part in self.parts]
        return [BARRIER, self._fields, surface, *self.multigrid.screening_launches()]

    def defect(self) -> list[Stage]:
        return [[part.defect() for part in self.parts]]

    def correction(self, weight: float = 1.0) -> list[Stage]:
        return [[part.correct(weight) for part in self.parts], BARRIER, self._corrected]

    def end(self) -> list[Stage]:
        return [[part.end() for part in self.parts]]

    def rates(self, rates: DistributedArray, gravity: float) -> list[Stage]:
        return [[part.rates(own, gravity) for part, own in zip(self.parts, rates.parts, strict=True)]]

    # -- sums and strips -----------------------------------------------------------------------

    def strip(self, rows: slice, columns: slice) -> StripBands:
        return StripBands(self, rows, columns)

    def largest(self, array: DistributedArray) -> float:
        found = []
        for rank, (part, own) in enumerate(zip(self.parts, array.parts, strict=True)):
            with part.device.joined():
                found.append(float(own[0, self.device.inside(rank)].max()))
        return max(found) if np.isfinite(found).all() else float(np.sum(found))

    def on_each(self, program: Any, *arguments: Any) -> Stage:
        ranks = range(len(self.parts))
        return [[Launch(program, part_of(arguments, rank), (1,), (THREADS,))] for rank in ranks]

    def rows_of_all(self, count: int) -> tuple[DistributedArray, DistributedArray, list[Stage]]:
        shape, ranks = (count, self.shape[0], 1), range(len(self.parts))
        own, whole = self.device.field_zeros(shape, np.float64), self.device.zeros(shape, np.float64)
        transport, layers = LocalTransport(self.device.group), slice(None)
        for rank in ranks:
            transport.publish(rank, "own", own.parts[rank])
            transport.publish(rank, "whole", whole.parts[rank])
        messages = [
            Message("own", of, to, (layers, self.device.inside(of)), (layers, self.device.owned(of)), "whole")
            for of in ranks
            for to in ranks
        ]
        return own, whole, [BARRIER, transport.exchange(messages)]

    def halos(self, array: DistributedArray) -> list[Stage]:
        transport = LocalTransport(self.device.group)
        for rank, rows in enumerate(array.parts):
            transport.publish(rank, "surface", rows)
        return [BARRIER, transport.exchange(self.device.rows.messages({"surface": "centre"}))]

    def _bottom_squares(self) -> np.ndarray:
        found = [part.bottom_squares()[self.device.inside(rank)] for rank, part in enumerate(self.parts)]
        return np.concatenate(found)


class StripBands:
    """`Strip` on several devices, each with the part in its own rows."""

    def __init__(self, laplace: LaplaceBands, rows: slice, columns: slice) -> None:
        device = laplace.device
        self._strips: list[tuple[slice, Strip] | None] = []
        for rank, (part, member) in enumerate(zip(laplace.parts, device.members, strict=True)):
            own, first = device.owned(rank), device.held(rank)[0]
            low, high = max(own.start, rows.start), min(own.stop, rows.stop)
            strip = Strip(member, part.fields, slice(low - first, high - first), columns) if low < high else None
            self._strips.append(strip and (slice(low - rows.start, high - rows.start), strip))
        self.launches: list[Stage] = [[one[1].launches if one else [] for one in self._strips]]

    def keep(self, values: np.ndarray) -> None:
        """See `Strip`."""
        for one in self._strips:
            if one:
                one[1].keep(values[one[0]])

    def target(self, values: np.ndarray) -> None:
        """See `Strip`."""
        for one in self._strips:
            if one:
                one[1].target(values[:, one[0]])
