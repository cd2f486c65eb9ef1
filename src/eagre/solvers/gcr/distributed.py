"""GCR(k) on several devices with row slabs: partial sums are gathered, and every device computes the totals.

Each device runs the kernels of a single device on all rows of its slab. Residuals and images of directions are zero in
halo rows, which therefore do not contribute to sums. Each of the three sums per iteration has separate arrays, as a
device may still read the parts of one sum when others write the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.backend.group import BARRIER, Message, Stage
from eagre.device_mesh import DeviceMesh, DistributedArray
from eagre.solvers.gcr import kernels
from eagre.solvers.gcr.iteration import Weights, arrived, one_block
from eagre.stepping.convergence_loop import SIZE, THREADS, ConvergenceLoop

Steps = Callable[[Any, Any], Sequence[Stage]]
SHARED = {"ALONE": False}


class PartialSums:
    """Rows of partial sums: `local` from the kernels of each device, and `all` of them on every device.

    blocks : number of blocks of each GPU's kernels, if different from `kernels`
    """

    def __init__(
        self, devices: DeviceMesh, fields: DistributedArray, rows: int, blocks: Sequence[int] | None = None
    ) -> None:
        ranks, on_gpu = devices.devices, devices.kind == "cuda"
        axis, pairs = 2 if on_gpu else 1, list(zip(ranks, fields.parts, strict=True))
        if on_gpu:
            shapes = [(1, count) for count in blocks or [_blocks(*pair) for pair in pairs]]
        else:
            shapes = [(array.shape[0], array.shape[2]) for array in fields.parts]
        counts = [shape[axis - 1] for shape in shapes]
        whole = (rows, 1, sum(counts)) if on_gpu else (rows, sum(counts), shapes[0][1])
        self.local = [device.zeros((rows, *shape), np.float64) for device, shape in zip(ranks, shapes, strict=True)]
        self.all = [device.zeros(whole, np.float64) for device in ranks]
        transport, ends, messages = devices.group.transport(), np.cumsum([0, *counts]).tolist(), []
        for rank, (one, every) in enumerate(zip(self.local, self.all, strict=True)):
            transport.publish(rank, "local", one)
            transport.publish(rank, "all", every)
        for source, (low, high) in enumerate(pairwise(ends)):
            here = (*(slice(None),) * axis, slice(low, high))
            messages += [
                Message("local", source, target, (slice(None),) * 3, here, "all") for target in range(len(ranks))
            ]
        self.exchange: list[Stage] = [BARRIER, transport.exchange(messages)]


def _blocks(device: Device, field: Any) -> int:
    return min(-(-int(field.size) // THREADS), device.multiprocessors * device.properties.threads // THREADS)


class DistributedResidualTest:
    """`ResidualTest` on several devices, with the same result on all; r is zero in halo rows.

    Attributes
    ----------
    control : float64 (SIZE,), on each device
    launch : stage
    measured : stages

    blocks : number of blocks of each GPU's kernel that computes r and its partial sums; `measured` then only gathers
    """

    def __init__(
        self,
        devices: DeviceMesh,
        precision: str,
        r: DistributedArray,
        rows: int = 2,
        blocks: Sequence[int] | None = None,
    ) -> None:
        self.control, self.partials = devices.zeros((SIZE,), np.float64), PartialSums(devices, r, rows, blocks)
        measure: list[list[Launch]] = []
        self.launch: Any = []
        for rank, device in enumerate(devices.devices):
            local, every, control = self.partials.local[rank], self.partials.all[rank], self.control.parts[rank]
            rank_r = r.parts[rank]
            if device.kind == "cuda":
                program = device.program(kernels.measure_cuda, precision, SHARED)
                arguments = (rank_r.reshape(-1), local, control, arrived(device))
                measure.append([Launch(program, arguments, (local.shape[2],), (THREADS,))])
                self.launch.append([one_block(device, kernels.check_residual_cuda, every, control)])
            else:
                measure.append([Launch(device.program(kernels.measure_cpu, precision), (rank_r, local))])
                self.launch.append([Launch(device.program(kernels.check_residual_cpu, "double"), (every, control))])
        self.measured: list[Stage] = [*([measure] if blocks is None else []), *self.partials.exchange]


class Sums(NamedTuple):
    """Partial sums of an iteration."""

    products: PartialSums
    steps: PartialSums


class DistributedGcr:
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
        precondition: Steps, weights: Sequence[Weights], num_directions: int = 1,
    ) -> None:  # fmt: skip
        real = check_precision(precision)
        self._devices, self._precision = devices, precision
        self._weights, self._num_directions = weights, num_directions
        self.test = DistributedResidualTest(devices, precision, r)
        self._scalars = devices.zeros((kernels.NUMBERS + 2 * num_directions,), np.float64)
        p, images = (devices.field_zeros((num_directions, *r.shape), real) for _ in range(2))
        q, image = (devices.field_zeros(r.shape, real) for _ in range(2))
        begin = kernels.begin_cuda if devices.kind == "cuda" else kernels.begin
        pairs = zip(devices.devices, self._scalars.parts, strict=True)
        reset = [[one_block(device, begin, scalars, float(num_directions))] for device, scalars in pairs]
        iteration: list[Any] = [*precondition(r, q), *apply(q, image), *self._sums(phi, r, q, image, p, images)]
        first: list[Any] = [*start, reset, *self.test.measured]
        self.until = ConvergenceLoop(devices, self.test, iteration, first, iterations_per_check=1)

    def _sums(self, *fields: DistributedArray) -> list[Stage]:
        sums = Sums(*(PartialSums(self._devices, fields[1], max(2, self._num_directions)) for _ in range(2)))
        launches = self._launches_cuda if self._devices.kind == "cuda" else self._launches_cpu
        stages: list[Stage] = [
            list(stage)
            for stage in zip(
                *(launches(rank, sums, *(one.parts[rank] for one in fields)) for rank in range(len(self._weights))),
                strict=True,
            )
        ]
        products, coefficients, combine, step, advance = stages
        first, second, last = sums.products.exchange, sums.steps.exchange, self.test.partials.exchange
        return [products, *first, coefficients, combine, *second, step, advance, *last]

    def _launches_cpu(
        self, rank: int, sums: Sums, phi: Any, r: Any, q: Any, image: Any, p: Any, images: Any
    ) -> list[list[Launch]]:
        weight, edges, known, switches = self._known(rank, r)
        scalars, control = known

        def on(entry: Any, *arguments: Any, precision: str = self._precision) -> list[Launch]:
            return [Launch(self._devices.devices[rank].program(entry, precision, switches), arguments)]

        return [
            on(kernels.products_cpu, image, images, weight, edges, *known, sums.products.local[rank]),
            on(kernels.shares_cpu, sums.products.all[rank], edges, scalars, control, precision="double"),
            on(kernels.combine_cpu, q, image, p, images, r, weight, edges, *known, sums.steps.local[rank]),
            on(kernels.step_cpu, sums.steps.all[rank], edges, scalars, control, precision="double"),
            on(kernels.advance_cpu, phi, r, p, images, *known, self.test.partials.local[rank]),
        ]

    def _launches_cuda(
        self, rank: int, sums: Sums, phi: Any, r: Any, q: Any, image: Any, p: Any, images: Any
    ) -> list[list[Launch]]:
        weight, edges, known, switches = self._known(rank, r)
        device, shape = self._devices.devices[rank], tuple(map(int, r.shape))
        phi, r, q, image = (one.reshape(-1) for one in (phi, r, q, image))
        p, images = (one.reshape(one.shape[0], -1) for one in (p, images))

        def on(entry: Any, local: Any, *arguments: Any) -> list[Launch]:
            program = device.program(entry, self._precision, {**switches, **SHARED})
            return [Launch(program, (*arguments, *known, local, arrived(device)), (local.shape[2],), (THREADS,))]

        first, second = sums.products, sums.steps
        return [
            on(kernels.products_cuda, first.local[rank], image, images, weight, edges, shape),
            [one_block(device, kernels.shares_cuda, first.all[rank], *known)],
            on(kernels.combine_cuda, second.local[rank], q, image, p, images, r, weight, edges, shape),
            [one_block(device, kernels.step_cuda, second.all[rank], *known)],
            on(kernels.advance_cuda, self.test.partials.local[rank], phi, r, p, images),
        ]

    def _known(self, rank: int, r: Any) -> tuple[Any, Any, tuple[Any, Any], dict[str, Any]]:
        """Return weights, fractions of boundary points, scalars and control data, and switches."""
        weights, device = self._weights[rank], self._devices.devices[rank]
        by_point = tuple(weights.field.shape) == tuple(r.shape)
        edges = device.array(np.array(weights.edges, check_precision(self._precision)))
        known = (self._scalars.parts[rank], self.test.control.parts[rank])
        return weights.field, edges, known, {"WEIGHT": kernels.of_point if by_point else kernels.of_level}
