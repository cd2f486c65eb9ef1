"""Waves on currents: Eulerian and Stokes currents, and wave lengths in a current."""

from __future__ import annotations

import math

from eagre.errors import InputError
from eagre.waves.checked import exactly_one, number
from eagre.waves.dispersion import angular_frequency, group_velocity, wave_number


def checked_current(eulerian: float | None, stokes: float | None, depth: float) -> tuple[float, str]:
    """Return the current, m/s, and its kind, ``"eulerian"`` or ``"stokes"``.

    Exactly one must be given; a Stokes current requires a finite depth.
    """
    name = exactly_one(
        {"eulerian_current": eulerian, "stokes_current": stokes},
        "eulerian_current = 0.0 (open sea), or stokes_current = 0.0 (closed flume)",
    )
    if name == "stokes_current" and math.isinf(depth):
        raise InputError(
            f"stokes_current = {stokes} in infinite depth", allowed="a mean over a finite depth, or eulerian_current",
            fix=f"eulerian_current = {stokes}",
        )  # fmt: skip
    return number(name, eulerian if stokes is None else stokes, "m/s"), name.removesuffix("_current")


def eulerian_from(current: float, kind: str, transport: float, unit: float, depth: float, gravity: float) -> float:
    """Return the mean Eulerian velocity, m/s, for 1/k = `unit`, m, and a `transport` in units of sqrt(g / k^3)."""
    if kind == "eulerian":
        return current
    return current - transport * math.sqrt(gravity * unit) * unit / depth


def small_wave_number(period: float, depth: float, gravity: float, current: float) -> float:
    """Return the wave number, rad/m, of a linear wave of a period, s, on a parallel current, m/s.

    omega - k U = sqrt(g k tanh(k h)), by Newton's method from the wave number without a current.

    Raises
    ------
    InputError
        If an opposing current blocks the wave.
    """
    omega = 2.0 * math.pi / period
    k = float(wave_number(omega, depth, gravity))
    for _ in range(60):
        slope = current + float(group_velocity(k, depth, gravity))
        if slope <= 0.0:
            break
        change = (k * current + float(angular_frequency(k, depth, gravity)) - omega) / slope
        k -= max(min(change, 0.5 * k), -0.5 * k)
        if abs(change) < 1e-13 * k:
            return k
    raise InputError(
        f"a current of {current:g} m/s against a wave of period {period:g} s",
        allowed="opposing currents slower than the group velocity", fix="a longer period, or a weaker current",
    )  # fmt: skip


def longest_wave(period: float, depth: float, gravity: float, current: float) -> float:
    """Return an upper bound of the length, m, of a steady wave of a period, s, for any height.

    The wave at 97 % of the limiting height is faster than a linear wave of the same length. `StreamFunctionWave` gives
    the ratio of the squared celerities: 1.193 in deep water, 1.205 at kh = 1, 1.267 at kh = 0.63 and 1.54 at kh = 0.13.
    The formula below exceeds these values by 0.015 or more, and 1.674 for a solitary wave. The formula falls with kh,
    so that the iteration from kh = 0 approaches the bound from above.
    """
    k = 0.0 if math.isfinite(depth) else 1.0
    for _ in range(4):
        squared = 1.21 + 0.5 * math.exp(-2.2 * k * depth)
        k = small_wave_number(period, depth, squared * gravity, current)
    return 2.0 * math.pi / k
