"""A plain transcription of what drives the air by profiles; nothing is taken from the model.

D = S - (x - x_p) / tau - w_s dx/dz - A (x - x_e) for u, v, w and theta'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass
class Drive:
    """Numbers, or arrays that fit (nz, ny, nx)."""

    z: Array
    lapse: Array  # d theta_e / dz
    theta: Array  # theta_e
    ambient: tuple[float, float]  # u_e, v_e
    subsidence: float = 0.0
    heating: float = 0.0
    time_scale: float = np.inf
    wind: tuple[float, float] = (0.0, 0.0)  # that u and v are nudged to
    nudged_theta: Array | float = 0.0
    sides: Array | float = 0.0  # A

    def sink(self, x: Array) -> Array:
        """w_s dx/dz with the difference from above where air sinks, from below where it rises."""
        found, z = np.empty(x.shape), np.broadcast_to(self.z, x.shape)
        top = x.shape[0] - 1
        for k in range(top + 1):
            a, b = (k, k + 1) if self.subsidence < 0.0 else (k - 1, k)
            if b > top:
                a, b = top - 1, top
            if a < 0:
                a, b = 0, 1
            found[k] = self.subsidence * (x[b] - x[a]) / (z[b] - z[a])
        return found

    def __call__(self, fields: list[Array]) -> list[Array]:
        u, v, w, theta = fields
        rate = 1.0 / self.time_scale
        return [
            -rate * (u - self.wind[0]) - self.sink(u) - self.sides * (u - self.ambient[0]),
            -rate * (v - self.wind[1]) - self.sink(v) - self.sides * (v - self.ambient[1]),
            -self.sides * w,
            -rate * (theta + self.theta - self.nudged_theta)
            - self.sink(theta)
            - self.subsidence * self.lapse
            + self.heating
            - self.sides * theta,
        ]


@dataclass
class Surface:
    """Heat flux, K m/s, and drag by the log law over a roughness length, m: column by column."""

    z: Array  # (nz, ny, nx)
    density: Array  # rho_b, (nz, ny, nx)
    thickness: Array  # of a whole cell, (nz, ny, nx), m
    heat: Array  # (ny, nx)
    roughness: float
    mixing: Callable[[list[Array]], Array] | None = None  # K of a closure

    def __call__(self, fields: list[Array]) -> list[Array]:
        found = [np.zeros(one.shape) for one in fields]
        mixed = np.zeros(fields[0].shape) if self.mixing is None else self.mixing(fields)
        for j, i in np.ndindex(fields[0].shape[1:]):
            half, full = 0.5 * self.thickness[0, j, i], self.thickness[1, j, i]
            rho = self.density[:, j, i]
            found[3][0, j, i] = self.heat[j, i] / half
            z1 = self.z[1, j, i] - self.z[0, j, i]
            speed = np.hypot(fields[0][1, j, i], fields[1][1, j, i])
            friction = 0.4 * speed / np.log(z1 / self.roughness)
            wall = max(0.4 * friction * 0.5 * z1 - 0.5 * (mixed[0, j, i] + mixed[1, j, i]), 0.0)
            for one, out in zip(fields[:2], found[:2], strict=True):
                stress = rho[0] * friction**2 * one[1, j, i] / speed
                supply = 0.5 * (rho[0] + rho[1]) * wall * (one[1, j, i] - one[0, j, i]) / z1
                out[0, j, i] = (supply - stress) / (rho[0] * half)
                out[1, j, i] = -supply / (rho[1] * full)
        return found
