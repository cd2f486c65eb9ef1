"""Time step of the potential-flow waves: classical Runge-Kutta method of order 4, one Laplace solve per stage.

    Lap Phi = 0 under (eta, phi~)  ->  w~
    eta_t  = -grad eta . grad phi~ + w~ (1 + |grad eta|^2)
    phi~_t = -g eta - (|grad phi~|^2 - w~^2 (1 + |grad eta|^2)) / 2
    x_1 = x_n + dt/2 k_1,   x_2 = x_n + dt/2 k_2,   x_3 = x_n + dt k_3
    x_{n+1} = x_n + dt (k_1 + 2 k_2 + 2 k_3 + k_4) / 6
    relaxation zones relax x_1, x_2, x_3 and x_{n+1} towards their targets

Source: A. P. Engsig-Karup, H. B. Bingham, O. Lindberg, J. Comput. Phys. 228, 2100-2118 (2009),
doi:10.1016/j.jcp.2008.11.028, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.laplace.base import Laplace
from eagre.models.potential_waves.surface.forcing import Forcing
from eagre.models.potential_waves.surface.reference_kernels import keep
from eagre.stepping.convergence_loop import Prologue

STAGES = (
    (1.0 / 6.0, 0.5),
    (1.0 / 3.0, 0.5),
    (1.0 / 3.0, 1.0),
    (1.0 / 6.0, 0.0),
)  # weight in the sum; fraction of dt to the next stage
BEGINS = (0.0, 0.5, 0.5, 1.0)  # start times of the stages, in steps
FURTHER = (1, 3)  # stages that begin half a step after the previous one


@cell
def extrapolate_guess(k, j, i, psi, previous):
    """Extrapolate Psi linearly in time from `previous`, and store the previous Psi in `previous`."""
    here = psi[k, j, i]
    psi[k, j, i] = here + (here - previous[k, j, i])
    previous[k, j, i] = here


class Steps:
    """Time integration of the surface.

    Launches between two Laplace solves are queued. On a GPU they form one graph together with the first iterations of
    the next solve.

    Parameters
    ----------
    laplace : Laplace
        Laplace solver; its `fields` are the state.
    gravity : float
        Acceleration of gravity, m/s2.
    tolerance : float
        Absolute tolerance of `Laplace.solve`, m2/s; may be changed between steps.
    zones : sequence of RelaxationZone
        Relaxation zones, applied in this order.
    forcing : sequence of Forcing
        Terms added to the rates in every stage.

    Attributes
    ----------
    time : float
        Model time, s; may be changed between steps.
    first_iterations : int or None
        Iterations of the first Laplace solve of the next step, if `compute_w` has already run it.
    psi_mid : array on the device, (nz + 1, ny, nx)
        Psi in the middle of the last step, for linear extrapolation of the initial guess half a step later.
    last : float
        Length of the last step, s; 0 before the first step.
    on_step_start : callable
        Called with the time, s, at the start of each step, when the vertical velocity is known.
    """

    def __init__(
        self, laplace: Laplace, gravity: float, tolerance: float, zones: Sequence[RelaxationZone] = (),
        forcing: Sequence[Forcing] = (),
    ) -> None:  # fmt: skip
        self.laplace, self.tolerance, self._zones, self.time = laplace, tolerance, zones, 0.0
        self._forcing = forcing
        self.on_step_start: Callable[[float], None] = lambda time: None
        self.first_iterations: int | None = None
        self.psi_mid, self.last = laplace.zeros(laplace.vertical.nz + 1), 0.0
        self._start, self._total, self._rates = (laplace.surface_zeros(2) for _ in range(3))
        device, set_rates = laplace.device, laplace.rates(self._rates, float(gravity))
        self._stages, self._filled_for = device.zeros((len(STAGES), 2), np.float64), 0.0
        precision = "single" if laplace.real is np.float32 else "double"
        guess, whole = (laplace.psi, self.psi_mid), laplace.psi.shape
        self._parts: dict[Any, list[Any]] = {
            "begin": [device.over(device.loop(keep, "double"), laplace.fields.shape, (laplace.fields, self._start))],
            "start": laplace.start(),
            "end": laplace.end(),
            "rates": set_rates,
            "guess": [device.over(device.loop(keep, precision), whole, guess)],
            "extrapolated guess": [device.over(device.loop(extrapolate_guess, precision), whole, guess)],
            **{stage: [self._to_next(stage)] for stage in range(len(STAGES))},
            **{("forcing", n): one.launches(self._rates) for n, one in enumerate(forcing)},
            **{("detection", n): one.detection(self._rates) for n, one in enumerate(forcing)},
        }
        device.prepare([*laplace.launches(), *(one for launches in self._parts.values() for one in launches)])
        self._waiting: list[Any] = []
        self._graphs: dict[tuple[Any, ...], Any] = {}
        self._kept_for = 0.0  # time step for which the weights of the zones are set, s
        self._zone_data = [self._data_of(zone) for zone in zones]
        self._parts |= {("zone", n): relaxation.launches for n, (*_, relaxation) in enumerate(self._zone_data)}
        self._targets: list[np.ndarray] = []  # targets of the zones, their time, and the time of those on the device
        self._targets_time = self._device_targets_time = math.nan

    def compute_w(self, time: float | None = None) -> None:
        """Compute the vertical velocity at the present surface, which the next step reuses.

        time : time of the next stage, s; the targets of zones at this time are computed during the solve.
        """
        if self.first_iterations is None:
            self.first_iterations = self.laplace.solve(self.tolerance, host_task=self._target_task(time)).iterations

    def step(self, dt: float) -> int:
        """Advance by dt seconds; return the total iterations of the four Laplace solves."""
        device = self.laplace.device
        self.compute_w(self.time + STAGES[0][1] * dt)
        iterations, self.first_iterations = self.first_iterations or 0, None
        self.on_step_start(self.time)
        self._waiting = ["begin"]
        if dt != self._filled_for:
            device.fill(self._stages, dt * np.array(STAGES))
            self._filled_for = dt
        for stage, (_, fraction) in enumerate(STAGES):
            if stage in FURTHER:  # linear extrapolation if `psi_mid` is half a step earlier
                self._waiting.append("extrapolated guess" if stage > 1 or dt == self.last else "guess")
            if stage > 0:
                iterations += self._solve(self.time + (fraction or 1.0) * dt)
            self._waiting.append("rates")
            self._add_forcing(self.time + BEGINS[stage] * dt, dt, stage)
            self._waiting.append(stage)
            self._apply_zones(self.time + (fraction or 1.0) * dt, dt)
        self._catch_up()
        self.time += dt
        self.last = dt
        return iterations

    def _add_forcing(self, time: float, dt: float, stage: int) -> None:
        """Queue the forcing of a stage at a time, s; stage 0 runs the queue before the host reads a detection."""
        for n, forcing in enumerate(self._forcing):
            if stage == 0 and self._parts["detection", n]:
                self._waiting.append(("detection", n))
                self._catch_up()
            if forcing.begin_stage(time, dt, stage):
                self._waiting.append(("forcing", n))

    def _solve(self, time: float) -> int:
        """Run the queue and a Laplace solve, whose last launches are queued; `time` is that of the next stage, s."""
        self._waiting.append("start")
        prologue = Prologue(tuple(self._waiting), self._launches(), self._target_task(time))
        solution = self.laplace.iterate(self.tolerance, prologue)
        self._waiting = ["end"]
        return solution.iterations

    def _catch_up(self) -> None:
        """Run the queued launches."""
        name = tuple(self._waiting)
        if name and name not in self._graphs:
            self._graphs[name] = self.laplace.device.repeated(self._launches(), 1)
        if name:
            self._graphs[name]()
        self._waiting = []

    def _launches(self) -> list[Any]:
        return [one for name in self._waiting for one in self._parts[name]]

    def _to_next(self, stage: int) -> Any:
        arrays = (self.laplace.fields, self._start, self._total, self._rates)
        return self.laplace.volume("next_stage", 2, *arrays, (self._stages, stage))

    def _data_of(self, zone: RelaxationZone) -> tuple[Any, ...]:
        """Return rows and columns of a zone, the function that computes its target, and its relaxation launches."""
        x, y = self.laplace.points
        rows, columns = zone.slices(x, y)
        return rows, columns, zone.maker(x[columns], y[rows]), self.laplace.zone_relaxation(rows, columns)

    def _target_task(self, time: float | None) -> Callable[[], None] | None:
        return None if time is None or not self._zones else lambda: self._compute_targets(time)

    def _compute_targets(self, time: float) -> None:
        """Compute the targets of the zones at a time, s."""
        if time != self._targets_time:
            self._targets = [target_at(time) for *_, target_at, _ in self._zone_data]
            self._targets_time = time

    def _apply_zones(self, time: float, dt: float) -> None:
        x, y = self.laplace.points
        self._compute_targets(time)
        for n, (zone, (rows, columns, _, relaxation)) in enumerate(zip(self._zones, self._zone_data, strict=True)):
            if dt != self._kept_for:
                relaxation.keep(zone.keep(x, y, dt)[rows, columns])
            if zone.waves is not None and time != self._device_targets_time:
                relaxation.target(self._targets[n])
            self._waiting.append(("zone", n))
        self._kept_for, self._device_targets_time = dt, time
