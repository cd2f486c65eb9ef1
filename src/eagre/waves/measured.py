"""Waves from a measured record of the surface, for instance to drive a model."""

from __future__ import annotations

import math

import numpy as np

from eagre.arguments import array_copy
from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.waves.checked import number
from eagre.waves.linear import LinearWaves
from eagre.waves.nonlinear.steady import Array, Field


class MeasuredWaves(LinearWaves):
    """First-order waves that reproduce a record of the surface at one point.

    Parameters
    ----------
    times : (n,) array, s
        Evenly spaced times.
    surface : (n,) array, m
        Elevation at `times`; the mean is subtracted.
    depth : float, m
        Water depth, or ``math.inf``.
    x, y : float, m
        Position of the gauge.
    direction : float, rad
        Direction of travel of all waves, which one gauge cannot determine.
    band : tuple of float, Hz, optional
        Frequencies to keep, with a sharp cutoff; default: all from 1 / duration to below half the sampling rate.
    taper : float
        Fraction of the record, 0 to 0.5, over which a cosine taper is applied at each end.
    gravity, stretching
        See `LinearWaves`.

    Attributes
    ----------
    mean_level : float
        Mean of the record, which was subtracted, m.
    duration : float
        Period after which the waves repeat, n times the interval, s.

    Notes
    -----
    At the gauge, without `band` and `taper`, the waves reproduce the record to rounding error. The record is treated as
    periodic: a difference between its first and last elevation appears at high frequencies. Elsewhere each wave travels
    in one direction by the linear dispersion relation, so a record that contains reflected waves gives wrong waves.
    """

    def __init__(
        self, times: Field, surface: Field, depth: float, *, x: float = 0.0, y: float = 0.0, direction: float = 0.0,
        band: tuple[float, float] | None = None, taper: float = 0.0, gravity: float = GRAVITY,
        stretching: str = "wheeler",
    ) -> None:  # fmt: skip
        times, eta, interval = checked_record(times, surface)
        self.mean_level, self.duration = float(eta.mean()), eta.size * interval
        modes = np.fft.rfft((eta - self.mean_level) * tapering(eta.size, taper)) * (2.0 / eta.size)
        frequency = np.arange(modes.size) / self.duration
        selected = (frequency > 0.0) & (2 * np.arange(modes.size) < eta.size)
        if band is not None:
            selected &= (frequency >= band[0]) & (frequency <= band[1])
        if not selected.any():
            raise InputError(
                f"band = {band}", allowed=f"a band within {1 / self.duration:.4g} to {0.5 / interval:.4g} Hz",
                fix=f"band = ({1 / self.duration:.4g}, {0.25 / interval:.4g})",
            )  # fmt: skip
        direction = number("direction", direction, "rad")
        super().__init__(
            amplitude=np.abs(modes[selected]), angular_frequency=2.0 * np.pi * frequency[selected], direction=direction,
            phase=0.0, depth=depth, gravity=gravity, stretching=stretching,
        )  # fmt: skip
        self.energy_fraction = float(np.sum(np.abs(modes[selected]) ** 2) / max(np.sum(np.abs(modes) ** 2), 1e-300))
        along = number("x", x) * math.cos(direction) + number("y", y) * math.sin(direction)
        self.phase = self.angular_frequency * float(times[0]) - np.angle(modes[selected]) - self.wave_number * along


def checked_record(times: Field, surface: Field) -> tuple[Array, Array, float]:
    """Return times, elevations and the interval, s, of a record with even spacing.

    Raises
    ------
    InputError
        If the arrays differ in shape, are shorter than 4, not finite, or the times are not evenly spaced.
    """
    t, eta = array_copy("times", times), array_copy("surface", surface)
    if t.ndim != 1 or t.shape != eta.shape or t.size < 4 or not (np.isfinite(t) & np.isfinite(eta)).all():
        raise InputError(
            f"times of shape {t.shape} and a surface of shape {eta.shape}",
            allowed="two 1-D arrays of the same length, 4 or more, of finite numbers",
        )
    interval = (t[-1] - t[0]) / (t.size - 1)
    worst = np.abs(t - t[0] - interval * np.arange(t.size)).max()
    if not interval > 0.0 or worst > 0.01 * interval:
        raise InputError(
            f"times that deviate from even spacing by up to {worst:.3g} s", allowed="evenly spaced, increasing times",
            fix="even = np.arange(times[0], times[-1], interval); surface = np.interp(even, times, surface)",
        )  # fmt: skip
    return t, eta, float(interval)


def tapering(count: int, fraction: float) -> Array:
    """Return a cosine taper, (count,), that rises and falls over a fraction `fraction` of the record at its ends."""
    if not 0.0 <= fraction <= 0.5:
        raise InputError(f"taper = {fraction!r}", allowed="a number from 0 to 0.5", fix="taper = 0.05")
    position = (np.arange(count) + 0.5) / count
    edge = np.minimum(position, 1.0 - position)
    return np.where(edge < fraction, 0.5 - 0.5 * np.cos(np.pi * edge / max(fraction, 1e-12)), 1.0)
