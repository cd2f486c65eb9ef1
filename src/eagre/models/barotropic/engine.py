"""Single-device engine of the barotropic model: arrays, kernels and steps (several devices: `devices.multi_device`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.group import Group
from eagre.models.barotropic.sampling.averaging import StepAverages
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.stages import Stages
from eagre.models.barotropic.state import State
from eagre.models.barotropic.step import step
from eagre.models.barotropic.update.kernel_sets import kernel_set
from eagre.stepping.step_graphs import StepGraphs

PAIR = (2, 1)  # steps per batch without CUDA graphs: a pair that returns to the same buffers, or one


class Steps:
    """Step scheduler: single steps until all tendencies are stored, then batches of step pairs.

    Parameters
    ----------
    device : Device or Group
    states : sequence of State
        Arrays of the run, one `State` per device.
    launches : sequence of two schedules
        Launches of a step from buffers 0 to 1, and of a step from 1 to 0.
    """

    def __init__(self, device: Device | Group, states: Sequence[State], launches: Sequence[list[Any]]) -> None:
        self.states, self.launches = states, launches
        self._order = states[0].setup.order
        sizes = (*device.parameters("barotropic.steps").graphs, 1) if device.graphs else PAIR
        self._step_graphs = StepGraphs(device, self._schedule, sizes)

    def _schedule(self, phase: int, size: int) -> tuple[list[Any], int]:
        first, second = self.launches[phase], self.launches[1 - phase]
        return (list(first), 1) if size == 1 else ([*first, *second], size // 2)

    def advance(self, count: int) -> None:
        """Advance `count` steps."""
        while count > 0:
            state = self.states[0]
            starting = state.steps < self._order
            if starting:
                for state_of_device in self.states:
                    state_of_device.set_weights()
            size = 1 if starting or state.current == 1 else self._step_graphs.size_for(count)
            self._step_graphs.run(state.current, size)
            for state_of_device in self.states:
                state_of_device.steps += size
            count -= size


class Engine:
    """Engine on one device; `devices.multi_device` has the same interface on several."""

    def __init__(self, setup: Setup, device: Device, precision: str) -> None:
        self.setup, self.device = setup, device
        self.kernels = kernel_set(setup, device, precision)
        self.fields = State(setup, device, precision, separate_psi=self.kernels.separate_psi)
        self.real, self.count, self.values_per_update = (
            self.fields.real,
            self.fields.count,
            self.fields.values_per_update,
        )
        self._stages = Stages(self.fields, self.kernels)
        self._averages = StepAverages(self.fields)
        self.launches = [step(self._stages, old) + self._averages.after_step(1 - old) for old in (0, 1)]
        device.prepare(self.launches[0])
        self.advance = Steps(device, [self.fields], self.launches).advance
        # Read access to the state, with the same names as in `MultiDeviceEngine`.
        self.padded, self.points, self.pad = self.fields.padded, self.fields.points, self.fields.pad
        self.integrals, self.speeds, self.state = self.fields.integrals, self.fields.speeds, self.fields.state
        self.use_wind = self.fields.wind.use
        self.maps_state, self.resume_maps = self._averages.state, self._averages.take_over

    @property
    def steps(self) -> int:
        """Number of completed steps."""
        return self.fields.steps

    @property
    def particle_positions(self) -> np.ndarray:
        """Host copy of particle positions x, y in grid units of the padded arrays, (2, particles)."""
        return self.device.host(self.fields.particles)[:, : self.setup.particles]

    def set_state(self, q: list[np.ndarray], tracer: np.ndarray | None, particles: np.ndarray | None) -> None:
        """Set potential vorticities at points, (ny, nx), and compute psi."""
        fields, stages = self.fields, self._stages
        fields.begin([np.pad(fields.pad(values)[1:-1, 1:-1], 1) for values in q])
        launches = stages.streamfunction(0, transformed=False) + stages.boundary(0)
        if tracer is not None:
            fields.fill(fields.tracer[0], fields.pad(tracer))
            launches += stages.tracer_boundary(0)
        if particles is not None:
            self.device.fill(fields.particles, particles)
        self.device.run(launches)
        fields.set_weights()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a state of `state`."""
        self.fields.restore(state)
        self.fields.set_weights()
