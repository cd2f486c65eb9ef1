"""Diffusion as the gradient of a dissipation: a plain transcription that takes nothing from the model.

Every point is the corner of up to eight boxes. In a box the derivatives are those along the edges that meet at the
point; E = 1/2 sum h K Q / 8 over all corners. D = -(dE/dv) / (w h), w being the share of a cell that the point owns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

Array = np.ndarray


@dataclass
class Space:
    """Arrays fit (nz, ny, nx); walls and spacing along z, y, x."""

    spacing: tuple[float, float, float]
    walls: tuple[bool, bool, bool]
    h: Array
    g13: Array | float = 0.0
    g23: Array | float = 0.0
    g33: Array | float = 1.0


def corner(f: Array, axis: int, sign: int, space: Space) -> tuple[Array, Array]:
    """The derivative along the edge on one side of each point, and 1 where there is such an edge."""
    there = np.ones(f.shape)
    if f.shape[axis] == 1:
        return np.zeros(f.shape), there
    found = sign * (np.roll(f, -sign, axis) - f) / space.spacing[axis]
    if space.walls[axis]:
        end = [slice(None)] * 3
        end[axis] = -1 if sign > 0 else 0
        there[tuple(end)] = 0.0
    return found * there, there


def gradient(f: Array, signs: tuple[int, ...], space: Space) -> tuple[list[Array], Array]:
    """df/dx, df/dy, df/dz in the boxes to one side of each point, and which there are."""
    (fz, a), (fy, b), (fx, c) = (corner(f, axis, signs[axis], space) for axis in range(3))
    return [fx + space.g13 * fz, fy + space.g23 * fz, space.g33 * fz], a * b * c


def dissipation(fields: list[Array], k: Array, space: Space, strain: bool) -> float:
    """E: of gradients of all fields, or of the strain of a velocity."""
    total = 0.0
    for signs in product((1, -1), repeat=3):
        rows = [gradient(f, signs, space) for f in fields]
        there, m = rows[0][1], np.array([row[0] for row in rows])
        q = 0.5 * ((m + m.transpose(1, 0, 2, 3, 4)) ** 2).sum((0, 1)) if strain else (m**2).sum((0, 1))
        total += float((there * space.h * k * q).sum()) / 8.0
    return 0.5 * total


def weights(shape: tuple[int, ...], space: Space) -> Array:
    found = np.ones(shape)
    for axis, wall in enumerate(space.walls):
        if wall and shape[axis] > 1:
            for end in (0, -1):
                where = [slice(None)] * 3
                where[axis] = end
                found[tuple(where)] *= 0.5
    return found


def tendency(fields: list[Array], k: Array, space: Space, strain: bool) -> list[Array]:
    """D of all fields; differences of a quadratic form are its derivatives."""

    def derivative(n: int, point: tuple[int, ...], energy: Callable[[list[Array]], float]) -> float:
        ends = []
        for sign in (1.0, -1.0):
            moved = [one.copy() for one in fields]
            moved[n][point] += sign
            ends.append(energy(moved))
        return 0.5 * (ends[0] - ends[1])

    mass = weights(fields[0].shape, space) * space.h
    found = []
    for n, f in enumerate(fields):
        d = np.zeros(f.shape)
        for point in np.ndindex(f.shape):
            d[point] = -derivative(n, point, lambda v: dissipation(v, k, space, strain)) / mass[point]
        found.append(d)
    return found


def eddy_viscosity(v: list[Array], space: Space, length2: Array, lapse: Array) -> Array:
    """l^2 sqrt(max(0, 2 S:S - lapse)), strain from differences over two spacings, one-sided at walls."""

    def centred(f: Array) -> list[Array]:
        parts = []
        for axis in range(3):
            (a, there), (b, too) = corner(f, axis, 1, space), corner(f, axis, -1, space)
            parts.append((a + b) / (there + too))
        fz, fy, fx = parts
        return [fx + space.g13 * fz, fy + space.g23 * fz, space.g33 * fz]

    m = np.array([centred(one) for one in v])
    square = 0.5 * ((m + m.transpose(1, 0, 2, 3, 4)) ** 2).sum((0, 1))
    return length2 * np.sqrt(np.maximum(square - lapse, 0.0))


@dataclass
class Closure:
    """What a closure makes of u, v, w and theta': explicit tendencies; K of theta is K / Pr."""

    space: Space
    constant: float
    prandtl: float
    stability: Array  # N^2 of the ambient air
    buoyancy: Array  # g / theta_b
    ambient: Array  # theta_e
    height: Array  # over the ground
    roughness: float = 0.0  # with drag: lengths fall towards the ground
    constants: tuple[float, float] = (0.0, 0.0)  # viscosity and diffusivity, beside K and K / Pr

    def length2(self, shape: tuple[int, ...]) -> Array:
        """l^2: of a cell's size, and near ground with drag of the height."""
        dz = self.space.spacing[0] / self.space.g33 * np.ones(shape)
        sizes = [d for d, n in zip((dz, *self.space.spacing[1:]), shape, strict=True) if n > 1]
        free = (self.constant * np.prod(np.broadcast_arrays(*sizes), axis=0) ** (1.0 / len(sizes))) ** 2
        if not self.roughness:
            return free
        wall = (0.4 * self.height) ** 2
        return free * wall / (free + wall)

    def mixing(self, fields: list[Array]) -> Array:
        """K."""
        theta = fields[3]
        lapse = np.gradient(theta, self.space.spacing[0], axis=0) * self.space.g33
        length2 = self.length2(theta.shape)
        k = eddy_viscosity(fields[:3], self.space, length2, (self.stability + self.buoyancy * lapse) / self.prandtl)
        if self.roughness:
            z1 = self.height[1]
            friction = 0.4 * np.hypot(fields[0][1], fields[1][1]) / np.log(z1 / self.roughness)
            k[1] = length2[1] * friction / (0.4 * z1)
        return k

    def __call__(self, fields: list[Array]) -> list[Array]:
        k = self.mixing(fields)
        viscosity, diffusivity = self.constants
        wind = tendency(fields[:3], k + viscosity, self.space, True)
        return [*wind, *tendency([fields[3] + self.ambient], k / self.prandtl + diffusivity, self.space, False)]
