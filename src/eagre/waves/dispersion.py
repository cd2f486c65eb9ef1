"""Dispersion relation of linear waves for constant depth, and waves on a current."""

from __future__ import annotations

import math

import numpy as np

from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.waves.checked import exactly_one, number

_STEPS = 30


def wave_number(angular_frequency: np.ndarray | float, depth: float, gravity: float = GRAVITY) -> np.ndarray:
    """Return the wave number k of omega^2 = g k tanh(k h), to rounding error.

    Parameters
    ----------
    angular_frequency : array, rad/s
        Angular frequency omega, >= 0.
    depth : float, m
        Water depth h; ``math.inf`` gives omega^2 / g.
    gravity : float, m s-2

    Returns
    -------
    array, rad/m
        Wave numbers, with the shape of `angular_frequency`.

    Notes
    -----
    Newton's method from Eckart's approximation, k h = a / sqrt(tanh a) with a = omega^2 h / g: R. G. Dean and
    R. A. Dalrymple (1991), Water Wave Mechanics, doi:10.1142/1232, equation 3.34.
    """
    omega = np.asarray(angular_frequency, dtype=np.float64)
    deep = omega * omega / gravity
    if np.isinf(depth):
        return deep
    a = np.maximum(deep * depth, 1e-300)
    kh = a / np.sqrt(np.tanh(a))
    for _ in range(_STEPS):
        t = np.tanh(kh)
        change = (kh * t - a) / (t + kh * (1.0 - t * t))
        kh = kh - change
        if (np.abs(change) <= 4e-16 * kh).all():
            break
    return np.where(omega == 0.0, 0.0, kh / depth)


def angular_frequency(wave_number: np.ndarray | float, depth: float, gravity: float = GRAVITY) -> np.ndarray:
    """Return the angular frequency sqrt(g k tanh(k h)), rad/s, of a wave number, rad/m; depth in m or ``math.inf``."""
    k = np.asarray(wave_number, dtype=np.float64)
    return np.sqrt(gravity * k * tanh_kh(k, depth))


def group_velocity(wave_number: np.ndarray | float, depth: float, gravity: float = GRAVITY) -> np.ndarray:
    """Return the group velocity d omega / d k, m/s, of a wave number > 0, rad/m; depth in m or ``math.inf``."""
    k = np.asarray(wave_number, dtype=np.float64)
    celerity = angular_frequency(k, depth, gravity) / k
    if np.isinf(depth):
        return 0.5 * celerity
    twice = np.minimum(2.0 * k * depth, 700.0)
    return 0.5 * celerity * (1.0 + twice / np.sinh(twice))


def tanh_kh(wave_number: np.ndarray, depth: float) -> np.ndarray:
    """Return tanh(k h); 1 for infinite depth."""
    return np.ones_like(wave_number) if np.isinf(depth) else np.tanh(wave_number * depth)


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
