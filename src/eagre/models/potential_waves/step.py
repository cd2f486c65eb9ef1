"""A step of the potential-flow waves: the classical Runge-Kutta method of order 4, a Laplace problem a stage.

    Lap Phi = 0 under (eta, phi~)  ->  w~
    eta_t  = -grad eta . grad phi~ + w~ (1 + |grad eta|^2)
    phi~_t = -g eta - (|grad phi~|^2 - w~^2 (1 + |grad eta|^2)) / 2
    x_1 = x_n + dt/2 k_1,   x_2 = x_n + dt/2 k_2,   x_3 = x_n + dt k_3
    x_{n+1} = x_n + dt (k_1 + 2 k_2 + 2 k_3 + k_4) / 6
    relaxation zones draw x_1, x_2, x_3 and x_{n+1} to their targets

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
from eagre.stepping.until import Lead

STAGES = ((1.0 / 6.0, 0.5), (1.0 / 3.0, 0.5), (1.0 / 3.0, 1.0), (1.0 / 6.0, 0.0))  # weight, share to the next
BEGINS = (0.0, 0.5, 0.5, 1.0)  # times of the stages, in steps
FURTHER = (1, 3)  # stages that begin half a step after the one before


@cell
def guess_further(k, j, i, psi, before):
    """Psi goes on in time as it came from `before`, which becomes what it was."""
    here = psi[k, j, i]
    psi[k, j, i] = here + (here - before[k, j, i])
    before[k, j, i] = here


class Steps:
    """Steps of a surface in time.

    What a stage does between two Laplace problems waits until somebody needs it, and is then one graph on a GPU,
    together with the first iterations of the next problem.

    Parameters
    ----------
    laplace : Laplace
        Its `fields` are the state.
    gravity : float
        m/s2.
    small : float
        As in `Laplace.solve`, m2/s; may be changed between steps.
    zones : sequence of RelaxationZone
        Applied one after the other.
    forcing : sequence of Forcing
        What adds to the rates in every stage.

    Attributes
    ----------
    time : float
        s; may be changed between steps.
    ahead : int or None
        Iterations of the next step's first Laplace problem, if `look` has solved it already.
    before : array on the device, (nz + 1, ny, nx)
        Psi of the middle of the last step: solutions half a step later begin on the line through both.
    last : float
        Length of the last step, s; 0 if there was none.
    taken : callable
        Told the time, s, of each state that a step begins from, when its vertical velocity is there.
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
        self._kept_for = 0.0  # the time step of what the zones keep, s
        self._strips = [self._strip(zone) for zone in zones]
        self._parts |= {("zone", n): strip.launches for n, (*_, strip) in enumerate(self._strips)}
        self._made: list[np.ndarray] = []  # what zones make, at the time for which they did, and for which it is there
        self._made_for = self._given_for = math.nan

    def look(self, time: float | None = None) -> None:
        """Find the vertical velocity of the present surface, which the next step begins with.

        time : of the next stage, s, for which zones may make what they make meanwhile.
        """
        if self.ahead is None:
            self.ahead = self.laplace.solve(self.small, meanwhile=self._making(time)).iterations

    def step(self, dt: float) -> int:
        """Make a step of dt seconds; returns the iterations of its four Laplace problems."""
        device = self.laplace.device
        self.look(self.time + STAGES[0][1] * dt)
        iterations, self.ahead = self.ahead or 0, None
        self.taken(self.time)
        self._waiting = ["begin"]
        if dt != self._filled_for:
            device.fill(self._stages, dt * np.array(STAGES))
            self._filled_for = dt
        for stage, (_, share) in enumerate(STAGES):
            if stage in FURTHER:  # on a straight line if `before` is of half a step before
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
        """A Laplace problem after all that waits; its end waits then. The next stage is one of `time`, s."""
        self._waiting.append("start")
        lead = Lead(tuple(self._waiting), self._launches(), self._making(time))
        found = self.laplace.iterate(self.small, lead)
        self._waiting = ["end"]
        return found.iterations

    def _catch_up(self) -> None:
        """Run all that waits."""
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
        """Rows and columns of a zone, what makes its target there, and the strip of the fields."""
        x, y = self.laplace.points
        rows, columns = zone.strip(x, y)
        return rows, columns, zone.maker(x[columns], y[rows]), self.laplace.strip(rows, columns)

    def _making(self, time: float | None) -> Callable[[], None] | None:
        return None if time is None or not self._zones else lambda: self._make(time)

    def _make(self, time: float) -> None:
        """What zones draw to at a time."""
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
