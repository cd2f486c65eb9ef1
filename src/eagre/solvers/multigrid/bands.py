"""A multigrid over several devices: its fine grids in bands of rows, its coarse ones whole on every device.

A band holds as many rows of its neighbours as the cycle on fine grids reaches over, so that nothing is exchanged on the
way down or up. Where grids have become small, the right sides of all bands are put together on every device, which goes
on alone: what it takes then is less than waiting for others on every grid would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, HostCall, Launch, check_precision
from eagre.backend.exchange import LocalTransport, Message
from eagre.backend.group import BARRIER, Group, Stage
from eagre.decomposition import Decomposition, bands, equal_parts
from eagre.several import Banded, SeveralDevices
from eagre.solvers.multigrid.grids import Grid
from eagre.solvers.multigrid.plan import Plan
from eagre.solvers.multigrid.plan_cuda import REST, CudaCycle
from eagre.solvers.multigrid.solver import Multigrid

GATHERED = 8 * 2**20
"""Bytes of right sides that are put together on every device at most: 20 to 40 us over the links of a host, which is
what the halo of one more grid in bands and its launches take."""


class Fine(Multigrid):
    """The grids of a multigrid that are in bands, on one device; cycles leave `REST` where coarser ones follow."""

    def __init__(
        self, plan: Plan, used: Sequence[int], device: Device, precision: str, plain: bool, paired: bool = False
    ) -> None:
        self.device, self.precision, self.real = device, precision, check_precision(precision)
        self.used, self._coarsest_sweeps = list(used), 0
        self._assemble(plan, plain or device.target == "cpu", paired)

    def _cuda_cycle(self) -> CudaCycle:
        known = (self.device, self.precision, self.grids, self._points, self._s)
        return CudaCycle(*known, is_open=True, sweeps=(self.pre, self.post))

    def _cycle(self, level: int, cycle: str) -> list[Launch]:
        return [REST] if level + 1 == len(self.grids) else super()._cycle(level, cycle)

    def at_end(self) -> tuple[Any, Any, Any]:
        """u, f and the screening of the coarsest grid in bands."""
        return self._u[-1], self._f[-1], self._q[-1]


class Rest(Multigrid):
    """The other grids, whole, for the layers that visit them."""

    def __init__(self, plan: Plan, q: float, first: int, device: Device, precision: str, plain: bool) -> None:
        self.device, self.precision, self.real = device, precision, check_precision(precision)
        used = [count - first for count in plan.used(q) if count > first]
        self.used, self._coarsest_sweeps = used, plan.coarsest_sweeps(q)
        self._assemble(plan._replace(grids=plan.grids[first:], layers=plan.layers[: len(used)]), plain)


class Cut:
    """How the points of a grid are cut into bands, and how many of its grids with it.

    Parameters
    ----------
    plan : Plan
    used : sequence of int
        Grids that each layer visits.
    count : int
        Bands.
    order : int
        Of the differences of the residual: it is taken of `order` rows on each side, half of them for the layer below
        the bottom.
    word : int
        Bytes of a number.
    most : int
        Grids in bands at most.
    periodic : bool
        Along y.

    Attributes
    ----------
    first : int
        The finest grid that is whole on every device.
    ratio : int
        Rows of the finest grid to one of that grid.
    rows : Decomposition
    """

    def __init__(
        self, plan: Plan, used: Sequence[int], count: int, order: int, word: int, most: int, periodic: bool
    ) -> None:
        self._plan, self._order, self._periodic = plan, order, periodic
        sizes = [sum(n > level for n in used) * np.prod(grid.shape) * word for level, grid in enumerate(plan.grids)]
        small = next((level for level, size in enumerate(sizes) if size <= GATHERED), len(sizes) - 1)
        first = min(small, most) if plan.choices.cycle == "V" and plan.choices.pre and plan.choices.post else 0
        while first and not self._fits(first, count):
            first -= 1
        self.first, self.ratio, self.halo = first, self._ratio(first), self._halo(first)
        (ny, nx), closed = plan.grids[0].shape, int(not periodic)
        step = self._step(first)
        heights = [step * n for n in equal_parts((ny - closed) // step, count)]
        heights[-1] += ny - sum(heights)
        self.rows: Decomposition = bands(
            ny, nx, heights, halo=(self.halo, 0), before=(0, 0), overlap=True, periodic=(periodic, False),
            behind=(int(self.ratio > 1), 0),
        )  # fmt: skip

    def _ratio(self, first: int) -> int:
        return int(np.prod([grid.step_y for grid in self._plan.grids[:first]], dtype=int))

    def _fits(self, first: int, count: int) -> bool:
        """Whether every band has as many rows as another needs of it."""
        rows, step = self._plan.grids[0].shape[0] - (not self._periodic), self._step(first)
        return rows // step // count * step >= self._halo(first)

    def _step(self, first: int) -> int:
        """Rows of which bands and halos are multiples: grids nest, and each begins with an even row, of its colours."""
        return max(self._ratio(first), 2 * self._ratio(first - 1)) if first else 1

    def _halo(self, first: int) -> int:
        """Rows held of a neighbour: those from which own rows of the correction are made."""
        choices, grids = self._plan.choices, self._plan.grids
        down, up = 2 * choices.pre + 1, 2 * (choices.pre + choices.post) - 1  # rows of f beyond that are read
        corrections = [0]  # rows beyond the own ones in which each grid's solution is asked for
        for grid in grids[:first]:
            corrections.append((corrections[-1] + 2 * choices.post) // grid.step_y + grid.step_y - 1)
        needed = 0
        for grid, wanted in zip(reversed(grids[:first]), reversed(corrections[:first]), strict=True):
            needed = max(wanted + up, grid.step_y * needed + down)
        step = self._step(first)
        return -(-(needed + self._order) // step) * step

    def grids(self, rank: int) -> list[Grid]:
        """The grids in bands of a rank, and of the next one the rows that it makes."""
        low, high = self.rows.held(rank)[0]
        found, left = [], high - low
        for grid in self._plan.grids[: self.first + 1]:
            found.append(grid._replace(y=grid.y._replace(points=left, periodic=False)))
            left = (left - 1) // grid.step_y + 1
        return found

    def coarse(self, row: int) -> int:
        """The first row of the first whole grid at a row of the finest one or behind it."""
        return -(-row // self.ratio)


class MultigridBands:
    """A `Multigrid` from zero over several devices, as a preconditioner.

    Parameters
    ----------
    plan : Plan
        Of the whole.
    q : float
        The smallest screening.
    cut : Cut
    device : SeveralDevices
    precision : {"single", "double"}
    plain, paired : bool
        As of `Multigrid`.

    Attributes
    ----------
    u, f : Banded
        u is right in the rows that are a band's own.
    """

    def __init__(
        self, plan: Plan, q: float, cut: Cut, device: SeveralDevices, precision: str, plain: bool,
        paired: bool = False,
    ) -> None:  # fmt: skip
        self.device, self.precision, self.real, self.cut = device, precision, check_precision(precision), cut
        used, ranks = plan.used(q), range(len(device.members))
        self.visiting = sum(count > cut.first for count in used)
        self.fine = [
            Fine(plan._replace(grids=cut.grids(rank)), used, device.members[rank], precision, plain, paired)
            for rank in ranks
        ]
        rest = ranks if self.visiting else ()
        self.rest = [Rest(plan, q, cut.first, device.members[rank], precision, plain) for rank in rest]
        self._shape = plan.grids[0].shape
        self.u, self.f, self.screening = (self._of(name) for name in ("u", "f", "screening"))
        self._transport = LocalTransport(device.group)
        for rank, (fine, one) in enumerate(zip(self.fine, self.rest, strict=False)):
            _, f, q_band = fine.at_end()
            fields = {"f": f[: self.visiting], "whole f": one.f, "q": q_band, "whole q": one.screening}
            for name, array in fields.items():
                self._transport.publish(rank, name, array)
        self._together = {name: self._transport.exchange(self._messages(name)) for name in ("f", "q")}
        self._back = [self._to_band(rank) for rank in ranks]

    def _of(self, name: str) -> Banded:
        """An array of the finest grid."""
        parts = [getattr(one, name) for one in self.fine]
        return Banded(parts, (parts[0].shape[0], *self._shape), -2)

    def separate(self) -> None:
        """As of `Multigrid`."""
        for one in self.fine:
            one.separate()
        self.u, self.f = self._of("u"), self._of("f")

    def _own(self, rank: int) -> tuple[int, int]:
        """A band's own rows of the first whole grid."""
        own = self.device.own(rank)
        return self.cut.coarse(own.start), self.cut.coarse(own.stop)

    def _messages(self, name: str) -> list[Message]:
        found = []
        for target in range(len(self.rest)):
            for source in range(len(self.rest)):
                low, high = self._own(source)
                start = self.cut.coarse(self.device.held(source)[0])
                there, here = (slice(None), slice(low - start, high - start)), (slice(None), slice(low, high))
                found.append(Message(name, source, target, there, here, f"whole {name}"))
        return found

    def _to_band(self, rank: int) -> list[Launch | HostCall]:
        """What brings the solution of the first whole grid to the rows that a band holds."""
        if not self.rest:
            return []
        u, whole = self.fine[rank].at_end()[0], self.rest[rank].u
        start, ny = self.cut.coarse(self.device.held(rank)[0]), whole.shape[1]
        pairs, row = [], 0
        while row < u.shape[1]:
            at = (start + row) % ny
            count = min(u.shape[1] - row, ny - at)
            pairs.append((u[: self.visiting, row : row + count], whole[:, at : at + count]))
            row += count
        return self.device.group.copies(self.device.members[rank], pairs)

    def screening_launches(self) -> list[Stage]:
        """Take up the screening that was written into `screening`, right as far as the residual is."""
        down = [fine.screening_launches(from_zero=True) for fine in self.fine]
        if not self.rest:
            return [down]
        return [down, BARRIER, self._together["q"], [one.screening_launches(from_zero=True) for one in self.rest]]

    def cycle_launches(self, from_zero: bool = True, control: Any = None) -> list[Stage]:
        """A cycle from zero; there is a barrier in it."""
        down, up = [], []
        for rank, fine in enumerate(self.fine):
            own = None if control is None else control.parts[rank]
            launches = fine.cycle_launches(from_zero=True, control=own)
            at = next((n for n, launch in enumerate(launches) if launch is REST), len(launches))
            down.append(launches[:at])
            up.append(launches[at + 1 :])
        if not self.rest:
            return [down, BARRIER, up]
        rest = [
            one.cycle_launches(from_zero=True, control=None if control is None else control.parts[rank])
            for rank, one in enumerate(self.rest)
        ]
        return [down, BARRIER, self._together["f"], rest, self._back, up]


def cut_of(
    plan: Plan, q: float, group: Group, order: int, precision: str, periodic: bool, most: int | None = None
) -> Cut:
    """Bands for a group's devices; most : grids in bands, without it as many as are worth it on GPUs, none on CPUs."""
    if most is None:
        most = len(plan.grids) - 1 if group.kind == "cuda" else 0
    word = np.dtype(check_precision(precision)).itemsize
    return Cut(plan, plan.used(q), len(group.members), order, word, most, periodic)
