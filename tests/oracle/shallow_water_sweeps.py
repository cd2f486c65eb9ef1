"""Plain NumPy float64 reference of the schemes that split a step into sweeps along x and along y.

"ds1": Y(dt) X(dt), forward Euler. "ds2": X(dt) Y(dt) Y(dt) X(dt), SSP-RK2, two steps made as one. The step is `part`
of what the one before it allowed; a sweep that allows less discards it, and "ds2" then halves. The first step is
unsplit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracle.shallow_water import ShallowWaterOracle, speed_left

TINY = 1e-300


@dataclass
class SweepsOracle(ShallowWaterOracle):
    """The reference model with a split scheme."""

    part: float = 0.95
    redone: int = 0
    free: float = np.inf

    def one_direction(self, q, across):
        """dQ/dt by the fluxes and the bed's slope of one direction (1 x, 2 y), and what time step it allows, s."""
        sweep = {"hydrostatic": self.sweep_hydrostatic, "kurganov-petrova": self.sweep_kurganov_petrova}[self.wet_dry]
        w, hu, hv = self.pad(q)
        inner = slice(2, -2)
        if across == 1:
            (h, m, t), speed = sweep(w[inner], hu[inner], hv[inner], self.face_x[inner], self.centre[inner])
            return np.stack([h, m, t]) / self.dx, self.cfl * self.dx / max(speed, TINY)
        columns = [a[:, inner].T for a in (w, hv, hu, self.face_y, self.centre)]
        (h, m, t), speed = sweep(*columns)
        return np.stack([h.T, t.T, m.T]) / self.dy, self.cfl * self.dy / max(speed, TINY)

    def rubbed(self, base, q, rate, dt, across):
        """As `stage`, with friction of the momentum across the faces alone.

        The momentum along them takes part as what friction by the speed of q would leave as it is in q.
        """
        new = base + dt * rate
        a, along = dt * self.friction(new), q[3 - across]
        along = along * (1.0 + a * np.hypot(q[1], q[2]))
        new[across] /= 1.0 + a * speed_left(np.hypot(new[across], along), a)
        low = self.bed_centre - new[0]
        self.clamped = max(self.clamped, float(low.max()))
        new[0] = np.maximum(new[0], self.bed_centre)
        return new

    def sweep(self, q, across, dt):
        """State after a sweep, or None if it allows less than dt, and what it allows, s."""
        rate, limit = self.one_direction(q, across)
        if dt > limit * (1.0 + 1e-12):
            return None, limit
        base = self.reset(q)
        new = self.rubbed(base, base, rate, dt, across)
        if self.scheme == "ds2":
            rate, later = self.one_direction(new, across)
            base = self.reset(new)
            new = self.rubbed(0.5 * (q + base), base, rate, 0.5 * dt, across)
            limit = min(limit, later)
        return new, limit

    def step(self, q, until=np.inf, fixed_dt=None):
        """State one step later, two with "ds2"."""
        if self.steps == 0:
            return self.unsplit(q, until, fixed_dt)
        order, count = ((1, 2), 1) if self.scheme == "ds1" else ((1, 2, 2, 1), 2)
        while True:
            dt = min(self.free if fixed_dt is None else fixed_dt, (until - self.time) / count)
            last = count * dt >= until - self.time
            new, allowed = q, np.inf
            for across in order:
                new, limit = self.sweep(new, across, dt)
                allowed = min(allowed, limit)
                if new is None:
                    break
            self.free = min(self.part * allowed, self.max_dt)
            if new is not None:
                self.time, self.steps = until if last else self.time + count * dt, self.steps + count
                return new
            self.redone += 1
            self.free *= 0.5 if count == 2 else 1.0

    def unsplit(self, q, until, fixed_dt):
        """State after the first step, by RK2."""
        scheme, cfl = self.scheme, self.cfl
        self.scheme, self.cfl = "rk2", self.part * cfl
        new = super().step(q, until, fixed_dt)
        base = self.reset(q)
        _, later = self.residual(super().stage(base, self.residual(q)[0], self.time))
        self.free = min(self.cfl * later, self.max_dt)
        self.scheme, self.cfl = scheme, cfl
        return new
