"""Stokes expansion of a steady wave in powers of its steepness, for any depth."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from eagre.waves.nonlinear.steady import Array, Profile


class StokesSeries(NamedTuple):
    """Coefficients of powers of epsilon = k H / 2, in units of 1/k and gravity; row i belongs to epsilon^i.

    Parameters
    ----------
    elevation, potential : (order + 1, order + 1) arrays
        Column j belongs to cos(j theta), and to cosh(j (z + h)) / cosh(j h) sin(j theta).
    mean_speed, transport, bernoulli : (order + 1,) arrays
        See `Profile`.
    """

    elevation: Array
    potential: Array
    mean_speed: Array
    transport: Array
    bernoulli: Array

    def evaluate(self, epsilon: float) -> Profile:
        """Return the wave of a steepness epsilon."""
        powers = epsilon ** np.arange(self.mean_speed.size)
        speed = float(powers @ self.mean_speed)
        return Profile(
            (powers @ self.elevation)[1:], (powers @ self.potential)[1:], speed,
            float(powers @ self.transport), float(powers @ self.bernoulli),
        )  # fmt: skip


@lru_cache(maxsize=256)
def stokes_series(depth: float, order: int) -> StokesSeries:
    """The expansion for a depth k h.

    In each order the conditions at the surface are linear in its new coefficients, with the lower ones on the right.
    Harmonic 1 leaves one equation for the mean speed of the order before. The expansion parameter is that of
    J. D. Fenton (1985), doi:10.1061/(ASCE)0733-950X(1985)111:2(216), and so are the coefficients up to order 5: his
    B_ij are these elevations, his A_ij these potentials over C_0 cosh(j k h).
    """
    p = order
    elevation, potential = np.zeros((2, p + 1, p + 1))
    speed, stream, head = np.zeros((3, p + 1))
    tanh = np.tanh(np.arange(p + 1) * depth) if np.isfinite(depth) else np.ones(p + 1)
    first = speed[0] = np.sqrt(tanh[1])
    elevation[1, 1], potential[1, 1] = 1.0, 1.0 / first
    for i in range(2, p + 1):
        k, d = _residuals(elevation, potential, speed, tanh, i)
        stream[i], head[i] = -k[0], d[0]
        for j in range(2, i + 1):
            matrix = np.array([[-first, tanh[j]], [1.0, -j * first]])
            elevation[i, j], potential[i, j] = np.linalg.solve(matrix, [-k[j], -d[j]])
        elevation[i, 1] = -elevation[i, 3::2].sum()  # crest to trough is 2 epsilon
        matrix = np.array([[tanh[1], -1.0], [-first, -1.0 / first]])
        right = [first * elevation[i, 1] - k[1], -elevation[i, 1] - d[1]]
        potential[i, 1], speed[i - 1] = np.linalg.solve(matrix, right)
    bernoulli = head + 0.5 * np.convolve(speed, speed)[: p + 1]
    return StokesSeries(elevation, potential, speed, -stream, bernoulli)


def _residuals(elevation: Array, potential: Array, speed: Array, tanh: Array, i: int) -> tuple[Array, Array]:
    """Harmonics 0 .. i of the terms of epsilon^i at the surface: streamfunction; pressure less mean_speed^2 / 2."""
    count = 2 * i + 2
    theta = 2.0 * np.pi * np.arange(count) / count
    j = np.arange(elevation.shape[1])[:, None]
    cosines, sines = np.cos(j * theta), np.sin(j * theta)
    eta = elevation[: i + 1] @ cosines
    u, w, stream = np.zeros((3, i + 1, count))
    once = _exponential(eta), _exponential(-eta)
    up, down = once
    for m in range(1, i):
        if m > 1:
            up, down = _product(up, once[0]), _product(down, once[1])
        cosh, sinh = 0.5 * (up + down), 0.5 * (up - down)
        b = potential[: i + 1, m : m + 1] * np.ones(count)
        even, odd = _product(b, cosh + tanh[m] * sinh), _product(b, sinh + tanh[m] * cosh)
        stream += odd * cosines[m]
        u += m * even * cosines[m]
        w += m * odd * sines[m]
    mean = speed[: i + 1, None] * np.ones(count)
    stream -= _product(mean, eta)
    u -= mean
    head = 0.5 * (_product(u, u) + _product(w, w) - _product(mean, mean)) + eta
    weights = np.cos(np.outer(np.arange(i + 1), theta)) * (2.0 / count)
    weights[0] *= 0.5
    return weights @ stream[i], weights @ head[i]


def _product(a: Array, b: Array) -> Array:
    """Product of two series; axis 0 holds the powers."""
    out = np.zeros_like(a)
    for i in range(a.shape[0]):
        out[i:] += a[i] * b[: a.shape[0] - i]
    return out


def _exponential(a: Array) -> Array:
    """exp of a series without a constant term."""
    out = np.zeros_like(a)
    out[0] = 1.0
    for n in range(1, a.shape[0]):
        out[n] = sum(m * a[m] * out[n - m] for m in range(1, n + 1)) / n
    return out
