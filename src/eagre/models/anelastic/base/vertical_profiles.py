"""Vertical profiles: values, slope, and the integral of the inverse for hydrostatic pressure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from eagre.arguments import array_copy
from eagre.errors import InputError

Array = np.ndarray


class Profile(Protocol):
    """A quantity as a function of height z, m."""

    @property
    def top(self) -> float:
        """Maximum height of the profile, m; infinite for a formula."""
        ...

    def __call__(self, z: Array) -> Array:
        """Return values at heights of any shape."""
        ...

    def inverse_integral(self, z: Array) -> Array:
        """The integral of 1 / value from 0 to z."""
        ...


@dataclass(frozen=True)
class ExponentialProfile:
    """``surface e^(rate z)``; with rate 0 a constant."""

    surface: float
    rate: float = 0.0  # 1/m

    @property
    def top(self) -> float:
        """Infinite, m."""
        return np.inf

    def __call__(self, z: Array) -> Array:
        return self.surface * np.exp(self.rate * np.asarray(z, np.float64))

    def inverse_integral(self, z: Array) -> Array:
        """The integral of 1 / value from 0 to z."""
        z = np.asarray(z, np.float64)
        return (z if self.rate == 0.0 else -np.expm1(-self.rate * z) / self.rate) / self.surface


@dataclass(frozen=True)
class FormulaProfile:
    """Function of height without an integral: for forcing, not for the base state."""

    function: Callable[[Array], Array]

    @property
    def top(self) -> float:
        """Infinite, m."""
        return np.inf

    def __call__(self, z: Array) -> Array:
        return np.asarray(self.function(np.asarray(z, np.float64)), np.float64)

    def inverse_integral(self, z: Array) -> Array:
        """Raise `NotImplementedError`."""
        raise NotImplementedError


@dataclass(frozen=True)
class LinearProfile:
    """``surface (1 + rate z)``."""

    surface: float
    rate: float  # 1/m

    @property
    def top(self) -> float:
        """Infinite, m."""
        return np.inf

    def __call__(self, z: Array) -> Array:
        return self.surface * (1.0 + self.rate * np.asarray(z, np.float64))

    def inverse_integral(self, z: Array) -> Array:
        """The integral of 1 / value from 0 to z."""
        return np.log1p(self.rate * np.asarray(z, np.float64)) / (self.surface * self.rate)


@dataclass(frozen=True)
class TableProfile:
    """Linear interpolation between values at heights; constant below the first height.

    Parameters
    ----------
    heights : (n,), m, rising
    values : (n,)

    Raises
    ------
    InputError
        For less than two values, or heights that are not increasing.
    """

    heights: Array = field(repr=False)
    values: Array = field(repr=False)
    name: str = "a profile"

    def __post_init__(self) -> None:
        heights, values = array_copy(f"heights of {self.name}", self.heights), array_copy(self.name, self.values)
        if heights.ndim != 1 or heights.shape != values.shape or heights.size < 2:
            raise InputError(
                f"{self.name} of shape {values.shape} at heights of shape {heights.shape}",
                allowed="at least two values, and one height per value",
                problem=f"The numbers of heights and values of {self.name} differ, or are below 2.",
            )
        if not (np.isfinite(heights).all() and np.isfinite(values).all()):
            raise InputError(
                f"{self.name} with values that are not finite",
                allowed="finite numbers",
                problem=f"The profile {self.name} is not finite.",
            )
        if (falls := np.flatnonzero(np.diff(heights) <= 0.0)).size:
            k = int(falls[0])
            raise InputError(
                f"{self.name}: a height of {heights[k + 1]:g} m after {heights[k]:g} m",
                allowed="increasing heights",
                problem=f"The heights of {self.name} do not increase.",
            )
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "values", values)

    @property
    def top(self) -> float:
        """Last height of the table, m."""
        return float(self.heights[-1])

    def __call__(self, z: Array) -> Array:
        return np.interp(z, self.heights, self.values)

    def inverse_integral(self, z: Array) -> Array:
        """The integral of 1 / value from 0 to z."""
        z = np.asarray(z, np.float64)
        knots = np.concatenate([[min(0.0, self.heights[0])], self.heights])
        values = np.concatenate([[self.values[0]], self.values])
        steps = _layers(np.diff(knots), values[:-1], values[1:])
        below = np.concatenate([[0.0], np.cumsum(steps)])

        def from_first(heights: Array) -> Array:
            layer = np.clip(np.searchsorted(knots, heights, "right") - 1, 0, knots.size - 2)
            return below[layer] + _layers(heights - knots[layer], values[layer], self(heights))

        return from_first(z) - from_first(np.zeros(()))


def _layers(thickness: Array, low: Array, high: Array) -> Array:
    """Integrate 1 / value over layers in which the value is linear from `low` to `high`."""
    ratio = high / low - 1.0
    is_uniform = np.abs(ratio) < 1e-6
    mean = np.where(is_uniform, 1.0 - 0.5 * ratio, np.log1p(ratio) / np.where(is_uniform, 1.0, ratio))
    return thickness / low * mean


Layers = float | tuple[Array, Array]
"""Thickness of layers around z, m, or heights of the lower and of the upper bounds of the layers, m."""


def slope(profile: Profile, z: Array, layers: Layers) -> Array:
    """Return the mean slope over layers around z, per m; of a table, over the part of each layer within its heights."""
    if isinstance(layers, tuple):
        low, high = layers
        thickness = high - low
    else:
        low, high, thickness = z - 0.5 * layers, z + 0.5 * layers, layers
    if isinstance(profile, TableProfile):
        below, above = np.maximum(profile.heights[0] - low, 0.0), np.maximum(high - profile.top, 0.0)
        within = below + above < thickness
        low, high = low + np.where(within, below, 0.0), high - np.where(within, above, 0.0)
        thickness = thickness - np.where(within, below + above, 0.0)
    return (profile(high) - profile(low)) / thickness


def check_tops(profiles: Sequence[tuple[str, Profile]], height: float) -> None:
    """Raise `InputError` for profiles that end below the domain top, m."""
    for name, profile in profiles:
        if profile.top < height:
            raise InputError(
                f"{name} up to {profile.top:g} m for a domain height of {height:g} m",
                allowed="a profile up to the domain top",
                fix=f"top_height = {profile.top:g}",
                problem=f"The profile {name} ends below the domain top.",
            )
