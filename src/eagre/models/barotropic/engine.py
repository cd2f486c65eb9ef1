"""The engine of the barotropic model: steps on a device.

A step goes from one set of buffers to the other, so that two lists of launches alternate; on a GPU many
pairs of steps are one graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.models.barotropic import sums
from eagre.models.barotropic.inversion import CpuBox, CudaBox, General
from eagre.models.barotropic.passes import Passes
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.state import State
from eagre.solvers.poisson.box_cuda import Box

GRAPH_STEPS = (200, 20, 2)  # steps of the graphs that a GPU replays


def inversion_for(setup: Setup, device: Device, precision: str) -> CpuBox | CudaBox | General:
    """The way from vorticity to the streamfunction that serves a basin on a device."""
    grid = setup.grid
    size = (grid.nx - 1, grid.ny - 1, grid.dx, grid.dy)
    if setup.basin == "box" and device.kind == "cpu":
        return CpuBox(device, precision, check_precision(precision), *size)
    if setup.basin == "box" and Box.serves(*size[:2], precision):
        return CudaBox(Box(device, precision, *size), 1 if setup.layers is None else 2)
    kinds = ["periodic" if wrap else "dirichlet" for wrap in setup.periodic]
    return General(setup.inner, (grid.dy, grid.dx), (kinds[1], kinds[0]))


class Stepping:
    """How steps are taken: one at a time while there is no history yet, then many pairs of steps at once."""

    setup: Setup
    device: Any
    steps: int
    at: Any
    set_weights: Callable[[], None]

    def prepare(self, even: list[Any], odd: list[Any]) -> None:
        """Take up the launches of a step from buffers 0 and of one from buffers 1."""
        self._rounds: dict[int, Callable[[], None]] = {}
        self._alternate = [even, odd]

    def advance(self, count: int) -> None:
        """Make `count` steps."""
        while count > 0:
            made = self._some(count)
            self.steps += made
            count -= made

    def _some(self, count: int) -> int:
        """Some of `count` steps at once; returns how many."""
        starting = self.steps < self.setup.order
        if starting:
            self.set_weights()
        if not starting and self.at == 0 and count >= GRAPH_STEPS[-1]:
            size = next(size for size in GRAPH_STEPS if size <= count) if self.device.graphs else 2
            if size not in self._rounds:
                pair = [*self._alternate[0], *self._alternate[1]]
                self._rounds[size] = self.device.repeated(pair, size // 2)
            self._rounds[size]()
            return size
        self.device.run(self._alternate[self.at])
        return 1


class Engine(Stepping, State):
    """Arrays and programs of one run on one device."""

    def __init__(self, setup: Setup, device: Device, precision: str) -> None:
        inversion = inversion_for(setup, device, precision)
        # The CPU and general basins find psi where the new vorticity was left, so they need two.
        boxed = isinstance(inversion, CudaBox)
        super().__init__(setup, device, precision, boxed, summed=boxed and sums.kept_for(setup, precision))
        self._passes = Passes(self, inversion)
        self.set_weights()
        self.prepare(self._passes.step(0), self._passes.step(1))

    def set_state(self, q: list[np.ndarray], tracer: np.ndarray | None, particles: np.ndarray | None) -> None:
        """Start from vorticities at points, (ny, nx): psi follows."""
        self.steps = 0
        for layer, values in enumerate(q):
            padded = np.pad(self.with_rims(values)[1:-1, 1:-1], 1)
            self.fill(self.q[layer][0], padded)
            if not self.boxed:
                self.device.copy(self.psi[layer][0], self.q[layer][0])
        launches = self._passes.invert(0, fused=False)
        for layer in range(self.count):
            launches += self._passes.rims(self.psi[layer][0], self.q[layer][0])
        if tracer is not None:
            self.fill(self.tracer[0], self.with_rims(tracer))
            launches += self._passes.tracer_rims(0)
        if particles is not None:
            self.device.fill(self.particles, particles)
        self.device.run(launches)
        self.forget()
        self.set_weights()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state of `state`."""
        super().restore(state)
        self.set_weights()
