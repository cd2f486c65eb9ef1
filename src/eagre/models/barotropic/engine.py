"""The engine of the barotropic model: steps on a device.

A step goes from one set of buffers to the other, so that two lists of launches alternate; on a GPU many
pairs of steps are one graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.backend.group import Group
from eagre.models.barotropic.inversion import CpuBox, CudaBox, General
from eagre.models.barotropic.passes import Passes
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.state import State
from eagre.solvers.poisson.box_cuda import Box
from eagre.stepping.rounds import Rounds

GRAPH_STEPS = (200, 20, 2, 1)  # steps of the graphs that a GPU replays


def inversion_for(setup: Setup, device: Device, precision: str) -> CpuBox | CudaBox | General:
    """The way from vorticity to the streamfunction that serves a basin on a device."""
    grid = setup.grid
    size = (grid.nx - 1, grid.ny - 1, grid.dx, grid.dy)
    if setup.basin == "box" and device.kind == "cpu":
        return CpuBox(device, precision, check_precision(precision), *size)
    if setup.basin == "box" and Box.serves(device, *size[:2], precision):
        return CudaBox(Box(device, precision, *size), 1 if setup.layers is None else 2)
    kinds = ["periodic" if wrap else "dirichlet" for wrap in setup.periodic]
    return General(setup.inner, (grid.dy, grid.dx), (kinds[1], kinds[0]))


class Steps:
    """Steps of a run: one at a time while there is no history yet, then many pairs of steps at once.

    Parameters
    ----------
    device : Device or Group
    parts : sequence of State
        The arrays of the run, one for each device.
    launches : sequence of two schedules
        A step from buffers 0 to 1, and one from 1 to 0.
    """

    def __init__(self, device: Device | Group, parts: Sequence[State], launches: Sequence[list[Any]]) -> None:
        self.parts, self.launches = parts, launches
        self._order = parts[0].setup.order
        self._rounds = Rounds(device, self._schedule, GRAPH_STEPS if device.graphs else GRAPH_STEPS[-2:])

    def _schedule(self, phase: int, size: int) -> tuple[list[Any], int]:
        first, second = self.launches[phase], self.launches[1 - phase]
        return (list(first), 1) if size == 1 else ([*first, *second], size // 2)

    def advance(self, count: int) -> None:
        """Make `count` steps."""
        while count > 0:
            state = self.parts[0]
            starting = state.steps < self._order
            if starting:
                for part in self.parts:
                    part.set_weights()
            size = 1 if starting or state.at == 1 else self._rounds.size_for(count)
            self._rounds.run(state.at, size)
            for part in self.parts:
                part.steps += size
            count -= size


class Engine(State):
    """Arrays and programs of one run on one device."""

    def __init__(self, setup: Setup, device: Device, precision: str) -> None:
        inversion = inversion_for(setup, device, precision)
        # The CPU and general basins find psi where the new vorticity was left, so they need two.
        super().__init__(setup, device, precision, boxed=isinstance(inversion, CudaBox))
        self._passes = Passes(self, inversion)
        self.set_weights()
        self.launches = [self._passes.step(0), self._passes.step(1)]
        self.advance = Steps(device, [self], self.launches).advance

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
