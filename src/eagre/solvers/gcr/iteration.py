"""GCR(k) as launches: fields, scalars and the convergence check stay on the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.solvers.gcr import kernels
from eagre.stepping.convergence_loop import SIZE, THREADS, ConvergenceLoop

Steps = Callable[[Any, Any], Sequence[Work]]


class Weights(NamedTuple):
    """Weights of the inner product: `field` (nz, ny, nx) or (nz, 1, 1), above 0, times fractions of boundary cells.

    edges : (z, y, x)
        0.5 if the outermost points of an axis are on boundaries and own half a cell, otherwise 1.
    """

    field: Any
    edges: tuple[float, float, float]


class ResidualTest:
    """Convergence check on max |r|.

    Parameters
    ----------
    device : Device
    precision : str
    r : array (nz, ny, nx)
    rows : int
        Number of simultaneous sums.
    blocks : int, optional
        Number of blocks of a GPU kernel that computes the partial results instead of `measured`.

    Attributes
    ----------
    control : float64 (SIZE,), on the device
        See `eagre.stepping.convergence_loop.StopTest`.
    launch : Launch or None
        Checks the results of `measured` or an iteration; None on a GPU, where these check themselves.
    measured : Launch
        Evaluates the whole residual.
    """

    def __init__(self, device: Device, precision: str, r: Any, rows: int = 2, blocks: int = 0) -> None:
        nz, _, nx = r.shape
        self.control = device.zeros((SIZE,), np.float64)
        if device.kind == "cuda":
            resident = min(-(-r.size // THREADS), device.multiprocessors * device.properties.threads // THREADS)
            blocks = blocks or resident
            self.partials = device.zeros((rows, 1, blocks), np.float64)
            self.launch: Launch | None = None
            arguments = (r.reshape(-1), self.partials, self.control, arrived(device))
            self.measured = Launch(device.program(kernels.measure_cuda, precision), arguments, (blocks,), (THREADS,))
        else:
            self.partials = device.zeros((rows, nz, nx), np.float64)
            self.launch = Launch(device.program(kernels.check_residual_cpu, "double"), (self.partials, self.control))
            self.measured = Launch(device.program(kernels.measure_cpu, precision), (r, self.partials))


def arrived(device: Device) -> Any:
    """Return the counter of blocks that have stored their partial results."""
    return device.zeros((1,), np.uint32)


def one_block(device: Device, entry: Any, *arguments: Any) -> Launch:
    """Return a launch of a single block, in double precision."""
    return Launch(device.program(entry, "double"), arguments, (1,), (THREADS,))


class GcrIteration:
    """GCR(k) iteration for a field phi with the residual r = L(phi) - f, on a device.

    Parameters
    ----------
    device : Device
    precision : str
    phi, r : arrays (nz, ny, nx)
    start : sequence of launches
        Compute r from phi.
    apply : function of (q, image)
        Returns launches that set image = L q.
    precondition : function of (r, q), or None
        Returns launches that set q = P r; None for P = 1.
    weights : Weights
    num_directions : int
        Number of directions k.
    test : ResidualTest, optional
        Convergence check of r with max(k, 2) rows; created by default.
    iterations_per_check : int
        Number of iterations between host synchronisations on a GPU; up to this number of applications of `apply` and
        `precondition` can be unnecessary.

    Attributes
    ----------
    until : ConvergenceLoop
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
        num_directions: int = 1,
        iterations_per_check: int = 4,
        test: ResidualTest | None = None,
    ) -> None:
        real = check_precision(precision)
        self._device, self._precision, self._weights = device, precision, weights
        self.test = test or ResidualTest(device, precision, r, max(2, num_directions))
        self._scalars = device.zeros((kernels.NUMBERS + 2 * num_directions,), np.float64)
        p, images = (device.zeros((num_directions, *r.shape), real) for _ in range(2))
        q, image = (r if precondition is None else device.zeros(r.shape, real)), device.zeros(r.shape, real)
        begin = kernels.begin_cuda if device.kind == "cuda" else kernels.begin
        reset = one_block(device, begin, self._scalars, float(num_directions))
        sums = self._sums_cuda if device.kind == "cuda" else self._sums_cpu
        preconditioning = precondition(r, q) if precondition else ()
        iteration = [*preconditioning, *apply(q, image), *sums(phi, r, q, image, p, images)]
        self.until = ConvergenceLoop(
            device, self.test, iteration, [*start, reset, self.test.measured], iterations_per_check
        )

    def _known(self, r: Any) -> tuple[Any, dict[str, Any], tuple[Any, ...]]:
        """Return weights and cell fractions, switches, and the common arguments of all kernels."""
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
            on(kernels.products_cuda, image, images, weight, edges, shape, *common),
            on(kernels.combine_cuda, q, image, p, images, r, weight, edges, shape, *common),
            on(kernels.advance_cuda, phi, r, p, images, *common),
        ]
