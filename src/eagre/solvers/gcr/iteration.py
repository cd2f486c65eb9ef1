"""GCR(k) as launches: fields and scalars stay on the device, and the exit test too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.solvers.gcr import kernels, kernels_cuda
from eagre.stepping.until import SIZE, THREADS, Until

Steps = Callable[[Any, Any], Sequence[Work]]


class Weights(NamedTuple):
    """Of the inner product: `field` (nz, ny, nx) or (nz, 1, 1), above 0, times the shares of points on sides.

    edges : (z, y, x)
        0.5 where the outermost points of an axis lie on sides and own half a cell, else 1.
    """

    field: Any
    edges: tuple[float, float, float]


class ResidualTest:
    """Stops an iteration where max |r| is small.

    Parameters
    ----------
    device : Device
    precision : str
    r : array (nz, ny, nx)
    rows : int
        Sums that are made at a time.
    blocks : int, optional
        Of a kernel on a GPU that leaves its parts in place of `measured`.

    Attributes
    ----------
    control : float64 (SIZE,), on the device
        As of `eagre.stepping.until.StopTest`.
    launch : Launch or None
        Judges by what `measured` or an iteration has found; None on a GPU, where these judge themselves.
    measured : Launch
        Looks at the whole residual.
    """

    def __init__(self, device: Device, precision: str, r: Any, rows: int = 2, blocks: int = 0) -> None:
        nz, _, nx = r.shape
        self.control = device.zeros((SIZE,), np.float64)
        if device.kind == "cuda":
            own = min(-(-r.size // THREADS), device.multiprocessors * device.facts.threads // THREADS)
            blocks = blocks or own
            self.partials = device.zeros((rows, 1, blocks), np.float64)
            self.launch: Launch | None = None
            arguments = (r.reshape(-1), self.partials, self.control, arrived(device))
            self.measured = Launch(
                device.program(kernels_cuda.measure_cuda, precision), arguments, (blocks,), (THREADS,)
            )
        else:
            self.partials = device.zeros((rows, nz, nx), np.float64)
            self.launch = Launch(device.program(kernels.judge_cpu, "double"), (self.partials, self.control))
            self.measured = Launch(device.program(kernels.measure_cpu, precision), (r, self.partials))


def arrived(device: Device) -> Any:
    """What counts the blocks of a kernel that have left their parts."""
    return device.zeros((1,), np.uint32)


def one_block(device: Device, entry: Any, *arguments: Any) -> Launch:
    """A launch of a single block, in double precision."""
    return Launch(device.program(entry, "double"), arguments, (1,), (THREADS,))


class GcrIteration:
    """Iterations of GCR(k) for a field phi with the residual r = L(phi) - f, all on a device.

    Parameters
    ----------
    device : Device
    precision : str
    phi, r : arrays (nz, ny, nx)
    start : sequence of launches
        Set r from phi.
    apply : function of (q, image)
        Launches that set image = L q.
    precondition : function of (r, q), or None
        Launches that set q = P r; without it P = 1.
    weights : Weights
    kept : int
        k.
    test : ResidualTest, optional
        Of r, with as many rows as there are directions, and two at the least; else its own.
    look_every : int
        Iterations between looks of the host at a GPU; what `apply` and `precondition` launch is run up to so often
        in vain.

    Attributes
    ----------
    until : Until
        ``until.run(small, most)`` solves.
    """

    def __init__(
        self,
        device: Device,
        precision: str,
        phi: Any,
        r: Any,
        start: Sequence[Work],
        apply: Steps,
        precondition: Steps | None,
        weights: Weights,
        kept: int = 1,
        look_every: int = 4,
        test: ResidualTest | None = None,
    ) -> None:
        real = check_precision(precision)
        self._device, self._precision, self._weights = device, precision, weights
        self.test = test or ResidualTest(device, precision, r, max(2, kept))
        self._scalars = device.zeros((kernels.NUMBERS + 2 * kept,), np.float64)
        p, images = (device.zeros((kept, *r.shape), real) for _ in range(2))
        q, image = (r if precondition is None else device.zeros(r.shape, real)), device.zeros(r.shape, real)
        begin = kernels_cuda.begin_cuda if device.kind == "cuda" else kernels.begin
        reset = one_block(device, begin, self._scalars, float(kept))
        sums = self._sums_cuda if device.kind == "cuda" else self._sums_cpu
        before = precondition(r, q) if precondition else ()
        iteration = [*before, *apply(q, image), *sums(phi, r, q, image, p, images)]
        self.until = Until(device, self.test, iteration, [*start, reset, self.test.measured], look_every)

    def _known(self, r: Any) -> tuple[Any, dict[str, Any], tuple[Any, ...]]:
        """Weights and shares, switches, and what is the same for all kernels."""
        weights, real = self._weights, check_precision(self._precision)
        by_point = tuple(weights.field.shape) == tuple(r.shape)
        switches = {"WEIGHT": kernels.of_point if by_point else kernels.of_level}
        common = (self._scalars, self.test.control, self.test.partials)
        return (weights.field, self._device.array(np.array(weights.edges, real))), switches, common

    def _sums_cpu(self, phi: Any, r: Any, q: Any, image: Any, p: Any, images: Any) -> list[Launch]:
        (weight, edges), switches, common = self._known(r)
        control, partials = self.test.control, self.test.partials

        def on(entry: Any, *arguments: Any, precision: str = self._precision) -> Launch:
            return Launch(self._device.program(entry, precision, switches), arguments)

        return [
            on(kernels.products_cpu, image, images, weight, edges, *common),
            on(kernels.shares_cpu, partials, edges, self._scalars, control, precision="double"),
            on(kernels.combine_cpu, q, image, p, images, r, weight, edges, *common),
            on(kernels.step_cpu, partials, edges, self._scalars, control, precision="double"),
            on(kernels.advance_cpu, phi, r, p, images, *common),
        ]

    def _sums_cuda(self, phi: Any, r: Any, q: Any, image: Any, p: Any, images: Any) -> list[Launch]:
        (weight, edges), switches, common = self._known(r)
        partials, device = self.test.partials, self._device
        shape = tuple(map(int, r.shape))
        phi, r, q, image = (one.reshape(-1) for one in (phi, r, q, image))
        p, images = (one.reshape(one.shape[0], -1) for one in (p, images))

        def on(entry: Any, *arguments: Any) -> Launch:
            program = device.program(entry, self._precision, switches)
            return Launch(program, (*arguments, arrived(device)), (partials.shape[2],), (THREADS,))

        return [
            on(kernels_cuda.products_cuda, image, images, weight, edges, shape, *common),
            on(kernels_cuda.combine_cuda, q, image, p, images, r, weight, edges, shape, *common),
            on(kernels_cuda.advance_cuda, phi, r, p, images, *common),
        ]
