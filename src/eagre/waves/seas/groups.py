"""Focused wave groups."""

from __future__ import annotations

import numpy as np

from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.waves.checked import number, positive, whole
from eagre.waves.linear import LinearWaves
from eagre.waves.seas.sea import checked_band, discretised
from eagre.waves.seas.spectra import Spectrum
from eagre.waves.seas.spreading import DirectionalSpectrum, Spreading


class FocusedGroup(LinearWaves):
    """Focused wave group (NewWave): the most probable shape of an extreme crest, in phase at one point and time.

    Parameters
    ----------
    spectrum : Spectrum
        Spectrum; only its shape is used.
    depth : float, m
        Water depth, or ``math.inf``.
    crest_height : float, m
        Linear elevation at the focus; negative for a trough.
    x, y, t : float, m and s
        Position and time of the focus.
    spreading : Spreading, optional
        Directional spreading of a short-crested group, with `direction_count` directions at each frequency.
    mean_direction : float, rad
        Direction of travel of the group.
    count, direction_count : int
        Numbers of frequencies and directions. The group repeats after count / bandwidth.
    band : tuple of float, Hz, optional
        Lowest and highest frequency; see `Sea`.
    gravity, stretching
        See `LinearWaves`.

    Notes
    -----
    Amplitudes are proportional to the variance of the bins: P. S. Tromans, A. R. Anaturk and P. Hagemeijer (1991),
    A new model for the kinematics of large ocean waves, ISOPE, volume 3, 64-71. The theory is
    of first order; in a nonlinear model the group focuses at another position and slightly later.
    """

    def __init__(
        self, spectrum: Spectrum, depth: float, *, crest_height: float, x: float = 0.0, y: float = 0.0, t: float = 0.0,
        spreading: Spreading | None = None, mean_direction: float = 0.0, count: int = 200, direction_count: int = 31,
        band: tuple[float, float] | None = None, gravity: float = GRAVITY, stretching: str = "wheeler",
    ) -> None:  # fmt: skip
        crest = number("crest_height", crest_height, "m", 1.0)
        count, many = whole("count", count, 1, 1_000_000), whole("direction_count", direction_count, 1, 10_000)
        if isinstance(spectrum, DirectionalSpectrum):
            raise InputError(
                "a DirectionalSpectrum for a focused group", allowed="a spectrum by frequency and a spreading"
            )
        frequency, variance = discretised(spectrum, checked_band(spectrum, band), count, "equal_frequency")
        angles = np.array([0.0])
        if spreading is not None:
            angles = spreading.quantile((np.arange(many) + 0.5) / many)
        omega, direction = np.meshgrid(2.0 * np.pi * frequency, mean_direction + angles, indexing="ij")
        amplitude = np.repeat(crest * variance / variance.sum() / angles.size, angles.size)
        super().__init__(
            amplitude=amplitude, angular_frequency=omega.ravel(), direction=direction.ravel(), depth=depth,
            gravity=positive("gravity", gravity, "m s-2", GRAVITY), stretching=stretching,
        )  # fmt: skip
        self.energy_fraction = min(1.0, float(variance.sum()) / spectrum.variance)
        self.focus = (number("x", x), number("y", y), number("t", t))
        along = self.focus[0] * np.cos(self.direction) + self.focus[1] * np.sin(self.direction)
        self.phase = self.angular_frequency * self.focus[2] - self.wave_number * along
