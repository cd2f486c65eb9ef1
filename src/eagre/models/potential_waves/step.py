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

from eagre.backend.cells import cell
from eagre.models.potential_waves.forcing import Forcing
from eagre.models.potential_waves.laplace_base import Laplace
from eagre.models.potential_waves.reference import keep
from eagre.models.potential_waves.zones import RelaxationZone
from eagre.stepping.until import Prologue

STAGES = (
    (1.0 / 6.0, 0.5),
    (1.0 / 3.0, 0.5),
    (1.0 / 3.0, 1.0),
    (1.0 / 6.0, 0.0),
)  # weight in the sum; fraction of dt to the next stage
BEGINS = (0.0, 0.5, 0.5, 1.0)  # start times of the stages, in steps
FURTHER = (1, 3)  # stages that begin half a step after the previous one


@cell
def guess_further(k, j, i, psi, before):
    """Extrapolate Psi linearly in time from `before`, and store the previous Psi in `before`."""
    here = psi[k, j, i]
    psi[k, j, i] = here + (here - before[k, j, i])
    before[k, j, i] = here


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
    small : float
        Absolute tolerance of `Laplace.solve`, m2/s; may be changed between steps.
    zones : sequence of RelaxationZone
        Relaxation zones, applied in this order.
    forcing : sequence of Forcing
        Terms added to the rates in every stage.

    Attributes
    ----------
    time : float
        Model time, s; may be changed between steps.
    ahead : int or None
        Iterations of the first Laplace solve of the next step, if `look` has already done it.
    before : array on the device, (nz + 1, ny, nx)
        Psi in the middle of the last step, for linear extrapolation of the initial guess half a step later.
    last : float
        Length of the last step, s; 0 before the first step.
    taken : callable
        Called with the time, s, at the start of each step, when the vertical velocity is known.
    """

    def __init__(
        self, laplace: Laplace, gravity: float, small: float, zones: Sequence[RelaxationZone] = (),
        forcing: Sequence[Forcing] = (),
    ) -> None:  # fmt: skip
        self.laplace, self.small, self._zones, self.time = laplace, small, zones, 0.0
        self._forcing = forcing
        self.taken: Callable[[float], None] = lambda time: None
        self.ahead: int | None = None
        self.before, self.last = laplace.zeros(laplace.vertical.nz + 1), 0.0
        self._start, self._total, self._rates = (laplace.surface_zeros(2) for _ in range(3))
        device, set_rates = laplace.device, laplace.rates(self._rates, float(gravity))
        self._stages, self._filled_for = device.zeros((len(STAGES), 2), np.float64), 0.0
        precision = "single" if laplace.real is np.float32 else "double"
        guess, whole = (laplace.psi, self.before), laplace.psi.shape
        self._parts: dict[Any, list[Any]] = {
            "begin": [device.over(device.loop(keep, "double"), laplace.fields.shape, (laplace.fields, self._start))],
            "start": laplace.start(),
            "end": laplace.end(),
            "rates": set_rates,
            "guess": [device.over(device.loop(keep, precision), whole, guess)],
            "guess further": [device.over(device.loop(guess_further, precision), whole, guess)],
            **{stage: [self._to_next(stage)] for stage in range(len(STAGES))},
        }
        device.prepare([*laplace.launches(), *(one for part in self._parts.values() for one in part)])
        self._waiting: list[Any] = []
        self._graphs: dict[tuple[Any, ...], Any] = {}
        self._kept_for = 0.0  # time step for which the weights of the zones are set, s
        self._strips = [self._strip(zone) for zone in zones]
        self._parts |= {("zone", n): strip.launches for n, (*_, strip) in enumerate(self._strips)}
        self._made: list[np.ndarray] = []  # targets of the zones, their time, and the time of those on the device
        self._made_for = self._given_for = math.nan

    def look(self, time: float | None = None) -> None:
        """Compute the vertical velocity at the present surface, which the next step reuses.

        time : time of the next stage, s; the targets of zones at this time are computed during the solve.
        """
        if self.ahead is None:
            self.ahead = self.laplace.solve(self.small, meanwhile=self._making(time)).iterations

    def step(self, dt: float) -> int:
        """Advance by dt seconds; return the total iterations of the four Laplace solves."""
        device = self.laplace.device
        self.look(self.time + STAGES[0][1] * dt)
        iterations, self.ahead = self.ahead or 0, None
        self.taken(self.time)
        self._waiting = ["begin"]
        if dt != self._filled_for:
            device.fill(self._stages, dt * np.array(STAGES))
            self._filled_for = dt
        for stage, (_, share) in enumerate(STAGES):
            if stage in FURTHER:  # linear extrapolation if `before` is half a step earlier
                self._waiting.append("guess further" if stage > 1 or dt == self.last else "guess")
            if stage > 0:
                iterations += self._solve(self.time + (share or 1.0) * dt)
            self._waiting.append("rates")
            for forcing in self._forcing:
                self._catch_up()
                forcing.add(self.time + BEGINS[stage] * dt, dt, stage, self._rates)
            self._waiting.append(stage)
            self._apply_zones(self.time + (share or 1.0) * dt, dt)
        self._catch_up()
        self.time += dt
        self.last = dt
        return iterations

    def _solve(self, time: float) -> int:
        """Run the queue and a Laplace solve, whose last launches are queued; `time` is that of the next stage, s."""
        self._waiting.append("start")
        lead = Prologue(tuple(self._waiting), self._launches(), self._making(time))
        found = self.laplace.iterate(self.small, lead)
        self._waiting = ["end"]
        return found.iterations

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
        return self.laplace.volume("next_stage", 2, *arrays, self._stages, stage)

    def _strip(self, zone: RelaxationZone) -> tuple[Any, ...]:
        """Return rows and columns of a zone, the function that computes its target, and its relaxation launches."""
        x, y = self.laplace.points
        rows, columns = zone.strip(x, y)
        return rows, columns, zone.maker(x[columns], y[rows]), self.laplace.strip(rows, columns)

    def _making(self, time: float | None) -> Callable[[], None] | None:
        return None if time is None or not self._zones else lambda: self._make(time)

    def _make(self, time: float) -> None:
        """Compute the targets of the zones at a time, s."""
        if time != self._made_for:
            self._made = [made(time) for *_, made, _ in self._strips]
            self._made_for = time

    def _apply_zones(self, time: float, dt: float) -> None:
        x, y = self.laplace.points
        self._make(time)
        for n, (zone, (rows, columns, _, strip)) in enumerate(zip(self._zones, self._strips, strict=True)):
            if dt != self._kept_for:
                strip.keep(zone.keep(x, y, dt)[rows, columns])
            if zone.waves is not None and time != self._given_for:
                strip.target(self._made[n])
            self._waiting.append(("zone", n))
        self._kept_for, self._given_for = dt, time
