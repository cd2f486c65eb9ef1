"""GCR(k) as launches: fields and scalars stay on the device, and the exit test too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.solvers.gcr import kernels
from eagre.stepping.until import SIZE, Until


class Weights(NamedTuple):
    """Of the inner product: `field` (nz, ny, nx) or (nz, 1, 1), above 0, times the shares of points on sides.

    edges : (z, y, x)
        0.5 where the outermost points of an axis lie on sides and own half a cell, else 1.
    """

    field: Any
    edges: tuple[float, float, float]


class ResidualTest:
    """Stops an iteration where max |r| is small.

    Attributes
    ----------
    control : float64 (SIZE,), on the device
        As of `eagre.stepping.until.StopTest`.
    launch : Launch
        Judges by what `measured` or `GcrIteration` has found.
    """

    def __init__(self, device: Device, precision: str, r: Any, rows: int = 2) -> None:
        nz, _, nx = r.shape
        self.control = device.zeros((SIZE,), np.float64)
        self.partials = device.zeros((rows, nz, nx), np.float64)
        self.launch = Launch(device.program(kernels.judge_cpu, "double"), (self.partials, self.control))
        self._measure = Launch(device.program(kernels.measure_cpu, precision), (r, self.partials))

    @property
    def measured(self) -> Launch:
        """Looks at the whole residual."""
        return self._measure


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
    precondition : function of (r, q)
        Launches that set q = P r.
    weights : Weights
    kept : int
        k.
    look_every : int
        Iterations between looks of the host at a GPU.
    """

    def __init__(
        self,
        device: Device,
        precision: str,
        phi: Any,
        r: Any,
        start: Sequence[Work],
        apply: Any,
        precondition: Any,
        weights: Weights,
        kept: int = 1,
        look_every: int = 4,
    ) -> None:
        real, self.kept = check_precision(precision), kept
        self.test = ResidualTest(device, precision, r, max(2, kept))
        self._scalars = device.zeros((kernels.NUMBERS + 2 * kept,), np.float64)
        p, images = (device.zeros((kept, *r.shape), real) for _ in range(2))
        q, image = (device.zeros(r.shape, real) for _ in range(2))
        edges = device.array(np.array(weights.edges, real))
        by_point = tuple(weights.field.shape) == tuple(r.shape)
        switches = {"WEIGHT": kernels.of_point if by_point else kernels.of_level}
        control, partials, scalars = self.test.control, self.test.partials, self._scalars
        known = (weights.field, edges, scalars, control, partials)

        def on(entry: Any, *arguments: Any) -> Launch:
            return Launch(device.program(entry, precision, switches), arguments)

        def alone(entry: Any, *arguments: Any) -> Launch:
            return Launch(device.program(entry, "double"), arguments)

        begin = [*start, alone(kernels.begin, scalars, float(kept)), self.test.measured]
        iteration = [
            *precondition(r, q),
            *apply(q, image),
            on(kernels.products_cpu, image, images, *known),
            alone(kernels.shares_cpu, partials, edges, scalars, control),
            on(kernels.combine_cpu, q, image, p, images, r, *known),
            alone(kernels.step_cpu, partials, edges, scalars, control),
            on(kernels.advance_cpu, phi, r, p, images, scalars, control, partials),
        ]
        self.until = Until(device, self.test, iteration, begin, look_every)  # type: ignore[arg-type]
