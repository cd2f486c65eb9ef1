"""Multigrid on several devices: fine grids in row slabs, coarse grids replicated on every device.

The halo of a slab is as wide as the stencil of the cycle on the fine grids, so that no exchange is needed within a
cycle. On small grids every device receives the right-hand sides of all slabs and continues alone: this takes less
time than waiting for other devices on every grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, HostCall, Launch, check_precision
from eagre.backend.group import BARRIER, Group, Message, Stage
from eagre.decomposition import Decomposition, bands, equal_parts
from eagre.device_mesh import DeviceMesh, DistributedArray
from eagre.solvers.multigrid.plan import Grid, Plan
from eagre.solvers.multigrid.plan_cuda import REST, CudaCycle
from eagre.solvers.multigrid.solver import Multigrid

GATHERED = 8 * 2**20
"""Maximum size of replicated right-hand sides, bytes: 20 to 40 us over NVLink, as long as the halo and launches of
one more decomposed grid.
"""


class Fine(Multigrid):
    """Decomposed grids of a multigrid on one device; cycles contain `REST` at the position of the coarser grids."""

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
        """Arrays u, f and the screening of the coarsest decomposed grid."""
        return self._u[-1], self._f[-1], self._q[-1]


class ReplicatedGrids(Multigrid):
    """Replicated coarse grids, for the layers that visit them."""

    def __init__(self, plan: Plan, q: float, first: int, device: Device, precision: str, plain: bool) -> None:
        self.device, self.precision, self.real = device, precision, check_precision(precision)
        used = [count - first for count in plan.used(q) if count > first]
        self.used, self._coarsest_sweeps = used, plan.coarsest_sweeps(q)
        self._assemble(plan._replace(grids=plan.grids[first:], layers=plan.layers[: len(used)]), plain)


class GridDecomposition:
    """Decomposition of a grid into row slabs, and the number of decomposed grids.

    Parameters
    ----------
    plan : Plan
    used : sequence of int
        Number of grids that each layer visits.
    count : int
        Number of slabs.
    order : int
        Order of the differences of the residual, which reads `order` rows on each side, half of them for the layer
        below the bottom.
    word : int
        Size of a value, bytes.
    max_level : int
        Maximum number of decomposed grids.
    periodic : bool
        Whether the y axis is periodic.

    Attributes
    ----------
    first : int
        Finest replicated grid.
    ratio : int
        Rows of the finest grid per row of that grid.
    rows : Decomposition
    """

    def __init__(
        self, plan: Plan, used: Sequence[int], count: int, order: int, word: int, max_level: int, periodic: bool
    ) -> None:
        self._plan, self._order, self._periodic = plan, order, periodic
        sizes = [sum(n > level for n in used) * np.prod(grid.shape) * word for level, grid in enumerate(plan.grids)]
        coarse_level = next((level for level, size in enumerate(sizes) if size <= GATHERED), len(sizes) - 1)
        choices = plan.choices
        first = min(coarse_level, max_level) if choices.cycle == "V" and choices.pre and choices.post else 0
        while first and not self._fits(first, count):
            first -= 1
        self.first, self.ratio, self.halo = first, self._ratio(first), self._halo(first)
        (ny, nx), closed = plan.grids[0].shape, int(not periodic)
        step = self._step(first)
        heights = [step * n for n in equal_parts((ny - closed) // step, count)]
        heights[-1] += ny - sum(heights)
        self.rows: Decomposition = bands(
            ny, nx, heights, halo=(self.halo, 0), leading=(0, 0), overlap=True, periodic=(periodic, False),
            trailing=(int(self.ratio > 1), 0),
        )  # fmt: skip

    def _ratio(self, first: int) -> int:
        return int(np.prod([grid.step_y for grid in self._plan.grids[:first]], dtype=int))

    def _fits(self, first: int, count: int) -> bool:
        """Return whether every slab has as many rows as another slab needs of it."""
        rows, step = self._plan.grids[0].shape[0] - (not self._periodic), self._step(first)
        return rows // step // count * step >= self._halo(first)

    def _step(self, first: int) -> int:
        """Return the row multiple of slabs and halos: grids are nested, and each starts with an even row."""
        return max(self._ratio(first), 2 * self._ratio(first - 1)) if first else 1

    def _halo(self, first: int) -> int:
        """Return the halo width: the rows that determine the owned rows of the correction."""
        choices, grids = self._plan.choices, self._plan.grids
        down, up = 2 * choices.pre + 1, 2 * (choices.pre + choices.post) - 1  # additional rows of f that are read
        corrections = [0]  # halo rows in which the solution of each grid is needed
        for grid in grids[:first]:
            corrections.append((corrections[-1] + 2 * choices.post) // grid.step_y + grid.step_y - 1)
        needed = 0
        for grid, correction_rows in zip(reversed(grids[:first]), reversed(corrections[:first]), strict=True):
            needed = max(correction_rows + up, grid.step_y * needed + down)
        step = self._step(first)
        return -(-(needed + self._order) // step) * step

    def grids(self, rank: int) -> list[Grid]:
        """Return the decomposed grids of a rank, and the rows of the next grid that it computes."""
        low, high = self.rows.held(rank)[0]
        local_grids, left = [], high - low
        for grid in self._plan.grids[: self.first + 1]:
            local_grids.append(grid._replace(y=grid.y._replace(points=left, periodic=False)))
            left = (left - 1) // grid.step_y + 1
        return local_grids

    def coarse(self, row: int) -> int:
        """Return the first row of the first replicated grid at or after a row of the finest grid."""
        return -(-row // self.ratio)


class DistributedMultigrid:
    """`Multigrid` with a zero initial guess on several devices, as a preconditioner.

    Parameters
    ----------
    plan : Plan
        Plan of the global problem.
    q : float
        Minimum screening.
    decomposition : GridDecomposition
    device : DeviceMesh
    precision : {"single", "double"}
    plain, paired : bool
        See `Multigrid`.

    Attributes
    ----------
    u, f : DistributedArray
        u is valid in the owned rows of a slab.
    """

    def __init__(
        self, plan: Plan, q: float, decomposition: GridDecomposition, device: DeviceMesh, precision: str,
        plain: bool, paired: bool = False,
    ) -> None:  # fmt: skip
        self.device, self.precision, self.real = device, precision, check_precision(precision)
        self.decomposition = decomposition
        used, ranks = plan.used(q), range(len(device.devices))
        self.visiting = sum(count > decomposition.first for count in used)
        self.fine = [
            Fine(plan._replace(grids=decomposition.grids(rank)), used, device.devices[rank], precision, plain, paired)
            for rank in ranks
        ]
        self.replicated = [
            ReplicatedGrids(plan, q, decomposition.first, device.devices[rank], precision, plain)
            for rank in (ranks if self.visiting else ())
        ]
        self._shape = plan.grids[0].shape
        self.u, self.f, self.screening = (self._of(name) for name in ("u", "f", "screening"))
        self._transport = device.group.transport()
        for rank, (fine, one) in enumerate(zip(self.fine, self.replicated, strict=False)):
            _, f, q_slab = fine.at_end()
            fields = {"f": f[: self.visiting], "whole f": one.f, "q": q_slab, "whole q": one.screening}
            for name, array in fields.items():
                self._transport.publish(rank, name, array)
        self._together = {name: self._transport.exchange(self._messages(name)) for name in ("f", "q")}
        self._back = [self._to_slab(rank) for rank in ranks]

    def _of(self, name: str) -> DistributedArray:
        """Return an array of the finest grid."""
        arrays = [getattr(one, name) for one in self.fine]
        return DistributedArray(arrays, (arrays[0].shape[0], *self._shape), -2)

    def separate(self) -> None:
        """See `Multigrid`."""
        for one in self.fine:
            one.separate()
        self.u, self.f = self._of("u"), self._of("f")

    def _interior_rows(self, rank: int) -> tuple[int, int]:
        """Return the owned rows of a slab on the first replicated grid."""
        interior = self.device.owned(rank)
        return self.decomposition.coarse(interior.start), self.decomposition.coarse(interior.stop)

    def _messages(self, name: str) -> list[Message]:
        messages = []
        for target in range(len(self.replicated)):
            for source in range(len(self.replicated)):
                low, high = self._interior_rows(source)
                start = self.decomposition.coarse(self.device.held(source)[0])
                there, here = (slice(None), slice(low - start, high - start)), (slice(None), slice(low, high))
                messages.append(Message(name, source, target, there, here, f"whole {name}"))
        return messages

    def _to_slab(self, rank: int) -> list[Launch | HostCall]:
        """Return the launches that copy the solution of the first replicated grid to the rows held by a slab."""
        if not self.replicated:
            return []
        u, whole = self.fine[rank].at_end()[0], self.replicated[rank].u
        start, ny = self.decomposition.coarse(self.device.held(rank)[0]), whole.shape[1]
        pairs, row = [], 0
        while row < u.shape[1]:
            start_row = (start + row) % ny
            count = min(u.shape[1] - row, ny - start_row)
            pairs.append((u[: self.visiting, row : row + count], whole[:, start_row : start_row + count]))
            row += count
        return self.device.group.copies(self.device.devices[rank], pairs)

    def screening_launches(self) -> list[Stage]:
        """Return launches that restrict the values in `screening`, which must be valid as far as the residual is."""
        down = [fine.screening_launches(from_zero=True) for fine in self.fine]
        if not self.replicated:
            return [down]
        return [down, BARRIER, self._together["q"], [one.screening_launches(from_zero=True) for one in self.replicated]]

    def cycle_launches(self, from_zero: bool = True, control: Any = None) -> list[Stage]:
        """Return a cycle with a zero initial guess; it contains a barrier."""
        down, up = [], []
        for rank, fine in enumerate(self.fine):
            local_control = None if control is None else control.parts[rank]
            launches = fine.cycle_launches(from_zero=True, control=local_control)
            split = next((n for n, launch in enumerate(launches) if launch is REST), len(launches))
            down.append(launches[:split])
            up.append(launches[split + 1 :])
        if not self.replicated:
            return [down, BARRIER, up]
        coarse = [
            one.cycle_launches(from_zero=True, control=None if control is None else control.parts[rank])
            for rank, one in enumerate(self.replicated)
        ]
        return [down, BARRIER, self._together["f"], coarse, self._back, up]


def decompose_grids(
    plan: Plan, q: float, group: Group, order: int, precision: str, periodic: bool, max_level: int | None = None
) -> GridDecomposition:
    """Return the slabs for a group; max_level : maximum number of decomposed grids, default by size (CPUs: 0)."""
    if max_level is None:
        max_level = len(plan.grids) - 1 if group.kind == "cuda" else 0
    word = np.dtype(check_precision(precision)).itemsize
    return GridDecomposition(plan, plan.used(q), len(group.devices), order, word, max_level, periodic)
