"""GCR(k) on several devices with row slabs: partial sums are gathered, and every device computes the totals.

Kernels are those of one device, on all rows that a slab holds. Residuals and images of directions are zero in halo
rows, which therefore do not contribute to sums. Each of the three sums per iteration has separate arrays, as a device
may still read the parts of one sum when others write the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.backend.exchange import LocalTransport, Message
from eagre.backend.group import BARRIER, Stage
from eagre.several import DeviceMesh, DistributedArray
from eagre.solvers.gcr import kernels, kernels_cuda
from eagre.solvers.gcr.iteration import Weights, arrived, one_block
from eagre.stepping.until import SIZE, THREADS, ConvergenceLoop

Steps = Callable[[Any, Any], Sequence[Stage]]
SHARED = {"ALONE": False}


class Parts:
    """Rows of partial sums: `own` from the kernels of each device, and `all` of them on every device.

    blocks : number of blocks of each GPU's kernels, if different from `kernels_cuda`
    """

    def __init__(
        self, devices: DeviceMesh, fields: DistributedArray, rows: int, blocks: Sequence[int] | None = None
    ) -> None:
        members, on_gpu = devices.members, devices.kind == "cuda"
        axis, pairs = 2 if on_gpu else 1, list(zip(members, fields.parts, strict=True))
        if on_gpu:
            shapes = [(1, count) for count in blocks or [_blocks(*pair) for pair in pairs]]
        else:
            shapes = [(part.shape[0], part.shape[2]) for part in fields.parts]
        counts = [shape[axis - 1] for shape in shapes]
        whole = (rows, 1, sum(counts)) if on_gpu else (rows, sum(counts), shapes[0][1])
        self.own = [member.zeros((rows, *shape), np.float64) for member, shape in zip(members, shapes, strict=True)]
        self.all = [member.zeros(whole, np.float64) for member in members]
        transport, ends, messages = LocalTransport(devices.group), np.cumsum([0, *counts]).tolist(), []
        for rank, (one, every) in enumerate(zip(self.own, self.all, strict=True)):
            transport.publish(rank, "own", one)
            transport.publish(rank, "all", every)
        for source, (low, high) in enumerate(pairwise(ends)):
            here = (*(slice(None),) * axis, slice(low, high))
            messages += [
                Message("own", source, target, (slice(None),) * 3, here, "all") for target in range(len(members))
            ]
        self.gathered: list[Stage] = [BARRIER, transport.exchange(messages)]


def _blocks(device: Device, field: Any) -> int:
    return min(-(-int(field.size) // THREADS), device.multiprocessors * device.facts.threads // THREADS)


class ResidualTestBands:
    """`ResidualTest` on several devices, with the same result on all; r is zero in halo rows.

    Attributes
    ----------
    control : float64 (SIZE,), on each device
    launch : stage
    measured : stages

    blocks : number of blocks of each GPU's kernel that computes r and its partial sums; `measured` then only gathers
    """

    def __init__(
        self, devices: DeviceMesh, precision: str, r: DistributedArray, rows: int = 2,
        blocks: Sequence[int] | None = None,
    ) -> None:
        self.control, self.parts = devices.zeros((SIZE,), np.float64), Parts(devices, r, rows, blocks)
        measure: list[list[Launch]] = []
        self.launch: Any = []
        for rank, member in enumerate(devices.members):
            own, every, control = self.parts.own[rank], self.parts.all[rank], self.control.parts[rank]
            part = r.parts[rank]
            if member.kind == "cuda":
                program = member.program(kernels_cuda.measure_cuda, precision, SHARED)
                arguments = (part.reshape(-1), own, control, arrived(member))
                measure.append([Launch(program, arguments, (own.shape[2],), (THREADS,))])
                self.launch.append([one_block(member, kernels_cuda.judge_largest_cuda, every, control)])
            else:
                measure.append([Launch(member.program(kernels.measure_cpu, precision), (part, own))])
                self.launch.append([Launch(member.program(kernels.judge_cpu, "double"), (every, control))])
        self.measured: list[Stage] = [*([measure] if blocks is None else []), *self.parts.gathered]


class Sums(NamedTuple):
    """Partial sums of an iteration."""

    products: Parts
    steps: Parts


class GcrBands:
    """`GcrIteration` on several devices; launches are stages.

    apply : function of (q, image)
        Returns stages that set image = L q, zero in halo rows.
    precondition : function of (r, q)
        Returns stages that set q = P r in all rows held.
    weights : sequence of Weights
        Weights of each device.
    """

    def __init__(
        self, devices: DeviceMesh, precision: str, phi: DistributedArray, r: DistributedArray,
        start: Sequence[Stage], apply: Steps,
        precondition: Steps, weights: Sequence[Weights], kept: int = 1,
    ) -> None:  # fmt: skip
        real = check_precision(precision)
        self._devices, self._precision, self._weights, self._kept = devices, precision, weights, kept
        self.test = ResidualTestBands(devices, precision, r)
        self._scalars = devices.zeros((kernels.NUMBERS + 2 * kept,), np.float64)
        p, images = (devices.field_zeros((kept, *r.shape), real) for _ in range(2))
        q, image = (devices.field_zeros(r.shape, real) for _ in range(2))
        begin = kernels_cuda.begin_cuda if devices.kind == "cuda" else kernels.begin
        pairs = zip(devices.members, self._scalars.parts, strict=True)
        reset = [[one_block(member, begin, scalars, float(kept))] for member, scalars in pairs]
        iteration: list[Any] = [*precondition(r, q), *apply(q, image), *self._sums(phi, r, q, image, p, images)]
        first: list[Any] = [*start, reset, *self.test.measured]
        self.until = ConvergenceLoop(devices, self.test, iteration, first, iterations_per_check=1)

    def _sums(self, *fields: DistributedArray) -> list[Stage]:
        sums = Sums(*(Parts(self._devices, fields[1], max(2, self._kept)) for _ in range(2)))
        made = self._launches_cuda if self._devices.kind == "cuda" else self._launches_cpu
        stages: list[Stage] = [
            list(stage)
            for stage in zip(
                *(made(rank, sums, *(one.parts[rank] for one in fields)) for rank in range(len(self._weights))),
                strict=True,
            )
        ]
        products, shares, combine, step, advance = stages
        first, second, last = sums.products.gathered, sums.steps.gathered, self.test.parts.gathered
        return [products, *first, shares, combine, *second, step, advance, *last]

    def _launches_cpu(
        self, rank: int, sums: Sums, phi: Any, r: Any, q: Any, image: Any, p: Any, images: Any
    ) -> list[list[Launch]]:
        weight, edges, known, switches = self._known(rank, r)
        scalars, control = known

        def on(entry: Any, *arguments: Any, precision: str = self._precision) -> list[Launch]:
            return [Launch(self._devices.members[rank].program(entry, precision, switches), arguments)]

        return [
            on(kernels.products_cpu, image, images, weight, edges, *known, sums.products.own[rank]),
            on(kernels.shares_cpu, sums.products.all[rank], edges, scalars, control, precision="double"),
            on(kernels.combine_cpu, q, image, p, images, r, weight, edges, *known, sums.steps.own[rank]),
            on(kernels.step_cpu, sums.steps.all[rank], edges, scalars, control, precision="double"),
            on(kernels.advance_cpu, phi, r, p, images, *known, self.test.parts.own[rank]),
        ]

    def _launches_cuda(
        self, rank: int, sums: Sums, phi: Any, r: Any, q: Any, image: Any, p: Any, images: Any
    ) -> list[list[Launch]]:
        weight, edges, known, switches = self._known(rank, r)
        device, shape = self._devices.members[rank], tuple(map(int, r.shape))
        phi, r, q, image = (one.reshape(-1) for one in (phi, r, q, image))
        p, images = (one.reshape(one.shape[0], -1) for one in (p, images))

        def on(entry: Any, own: Any, *arguments: Any) -> list[Launch]:
            program = device.program(entry, self._precision, {**switches, **SHARED})
            return [Launch(program, (*arguments, *known, own, arrived(device)), (own.shape[2],), (THREADS,))]

        first, second = sums.products, sums.steps
        return [
            on(kernels_cuda.products_cuda, first.own[rank], image, images, weight, edges, shape),
            [one_block(device, kernels_cuda.shares_cuda, first.all[rank], *known)],
            on(kernels_cuda.combine_cuda, second.own[rank], q, image, p, images, r, weight, edges, shape),
            [one_block(device, kernels_cuda.step_cuda, second.all[rank], *known)],
            on(kernels_cuda.advance_cuda, self.test.parts.own[rank], phi, r, p, images),
        ]

    def _known(self, rank: int, r: Any) -> tuple[Any, Any, tuple[Any, Any], dict[str, Any]]:
        """Return weights, fractions of boundary points, scalars and control data, and switches."""
        weights, member = self._weights[rank], self._devices.members[rank]
        by_point = tuple(weights.field.shape) == tuple(r.shape)
        edges = member.array(np.array(weights.edges, check_precision(self._precision)))
        known = (self._scalars.parts[rank], self.test.control.parts[rank])
        return weights.field, edges, known, {"WEIGHT": kernels.of_point if by_point else kernels.of_level}
