"""Stokes waves: waves of moderate height in deep and intermediate water."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.waves.checked import exactly_one, positive, whole
from eagre.waves.dispersion import checked_current, eulerian_from, longest_wave, small_wave_number
from eagre.waves.steady import Array, Profile, RegularWave, check_height, too_high


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


MAX_URSELL = 40.0
"""Largest valid Ursell number H L^2 / h^3: T. S. Hedges (1995), doi:10.1680/iwtme.1995.27656."""


class StokesWave(RegularWave):
    """Steady wave by the Stokes expansion, of fifth order by default.

    Parameters
    ----------
    height, depth, length, period, eulerian_current, stokes_current, gravity, direction, phase
        See `StreamFunctionWave`.
    order : int
        Order of the expansion in k H / 2, 1 to 9.

    Raises
    ------
    InputError
        If the wave is higher than the highest steady wave, or too long for the expansion (H L^2 / h^3 > 40).

    Notes
    -----
    J. D. Fenton (1985), doi:10.1061/(ASCE)0733-950X(1985)111:2(216). The coefficients are computed for the
    depth and not taken from the published tables. The error of the surface conditions is of order
    (k H / 2)^(order + 1).

    Good values: H / L below 0.08. Limits: at order 5 the error of the celerity is 1e-4 at H / L = 0.1 in deep water and
    larger in shallow water; `StreamFunctionWave` has no such error.
    """

    def __init__(
        self, height: float, depth: float, *, length: float | None = None, period: float | None = None,
        eulerian_current: float | None = None, stokes_current: float | None = None, gravity: float = GRAVITY,
        direction: float = 0.0, phase: float = 0.0, order: int = 5,
    ) -> None:  # fmt: skip
        height, depth = positive("height", height, "m"), positive("depth", depth, "m", infinite=True)
        gravity = positive("gravity", gravity, "m s-2", GRAVITY)
        self.order = whole("order", order, 1, 9)
        current, kind = checked_current(eulerian_current, stokes_current, depth)

        def profile(k: float) -> Profile:
            return stokes_series(k * depth, self.order).evaluate(0.5 * k * height)

        if exactly_one({"length": length, "period": period}, "length = 10.0, or period = 2.5") == "length":
            k = 2.0 * math.pi / positive("length", length, "m")
        else:
            k = _of_period(profile, positive("period", period, "s"), height, depth, gravity, current, kind)
        length = 2.0 * math.pi / k
        check_height(height, length, depth)
        ursell = height * length**2 / depth**3
        if ursell > MAX_URSELL:
            raise InputError(
                f"H L^2 / h^3 = {ursell:.4g} of a wave of height {height:g} m and length {length:.6g} m",
                allowed=f"up to {MAX_URSELL:g} for the Stokes expansion",
                fix='StreamFunctionWave(...); kind = "stream_function" in a case file',
            )  # fmt: skip
        series = profile(k)
        super().__init__(
            series, height=height, depth=depth, gravity=gravity, wave_number=k, direction=direction, phase=phase,
            eulerian_current=eulerian_from(current, kind, series.transport, 1.0 / k, depth, gravity),
        )  # fmt: skip


def _of_period(
    profile: Callable[[float], Profile], period: float, height: float, depth: float, gravity: float,
    current: float, kind: str,
) -> float:  # fmt: skip
    """Return the wave number, rad/m, for a period, s, by the secant method from the linear wave."""

    def excess(k: float) -> float:
        series = profile(k)
        eulerian = eulerian_from(current, kind, series.transport, 1.0 / k, depth, gravity)
        return k * (series.mean_speed * math.sqrt(gravity / k) + eulerian) * period / (2.0 * math.pi) - 1.0

    a = small_wave_number(period, depth, gravity, current)
    check_height(height, longest_wave(period, depth, gravity, current), depth)
    b, f_a = 0.98 * a, excess(a)
    for _ in range(40):
        f_b = excess(b)
        if abs(f_b) < 1e-14 or f_b == f_a:
            return b
        a, b, f_a = b, b - max(min(f_b * (b - a) / (f_b - f_a), 0.3 * b), -0.3 * b), f_b
        if abs(b - a) < 1e-15 * b:
            return b
    raise too_high(height, 2.0 * math.pi / b, depth)
