"""Time series that drive boundaries and sources."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eagre.errors import InputError
from eagre.given import own_array


@dataclass(frozen=True, eq=False)
class Series:
    """Values at increasing times, linear in between.

    Parameters
    ----------
    times : (n,) array, s
        Strictly increasing model times.
    values : (n,) array
        Values at `times`, in the units of what they drive.
    name : str
        Where the series comes from, for error messages (a file name).

    Notes
    -----
    A run that asks for a time outside [times[0], times[-1]] is refused before it starts
    (`covers`): a series that ends early is an input error, never extended silently.
    """

    times: np.ndarray
    values: np.ndarray
    name: str = "series"

    def __post_init__(self) -> None:
        times = own_array(f"{self.name}: times", self.times)
        values = own_array(f"{self.name}: values", self.values)
        if times.ndim != 1 or times.shape != values.shape or times.size == 0:
            raise InputError(
                f"{self.name}: times of shape {times.shape} and values of shape {values.shape}",
                allowed="two 1-D arrays of the same length >= 1",
            )
        if not np.isfinite(times).all() or not np.isfinite(values).all():
            bad = int(np.argmin(np.isfinite(times) & np.isfinite(values)))
            raise InputError(f"{self.name}: row {bad} is not finite", allowed="finite numbers only")
        if times.size > 1 and (np.diff(times) <= 0).any():
            bad = int(np.argmax(np.diff(times) <= 0)) + 1
            raise InputError(
                f"{self.name}: time {times[bad]:g} s in row {bad} after {times[bad - 1]:g} s",
                allowed="strictly increasing times",
            )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    @classmethod
    def constant(cls, value: float, name: str = "constant") -> Series:
        """The same value at all times."""
        return cls(np.array([0.0]), np.array([float(value)]), name)

    @classmethod
    def of(cls, value: float | Series, name: str = "constant") -> Series:
        """`value` itself if it is a series, else a constant one; refuses what is no number."""
        if isinstance(value, Series):
            return value
        try:
            return cls.constant(value, name)
        except (TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{value!r}", allowed="a number in SI units, or a Series", fix="Series(times, values)"
            ) from None

    @property
    def is_constant(self) -> bool:
        """True if the series holds one row, and so any time."""
        return self.times.size == 1

    def __call__(self, time: float) -> float:
        """Value at `time`, s, linear between rows, held at the ends."""
        return float(np.interp(time, self.times, self.values))

    def mean(self, start: float, end: float) -> float:
        """Mean from `start` to a later `end`, s: the integral of the lines between the rows."""
        inside = self.times[(self.times > start) & (self.times < end)]
        times = np.concatenate([[start], inside, [end]])
        values = np.interp(times, self.times, self.values)
        return float((0.5 * (values[1:] + values[:-1]) * np.diff(times)).sum() / (end - start))

    def covers(self, start: float, end: float) -> None:
        """Raise `InputError` unless the series reaches from `start` to `end`, s."""
        if self.is_constant:
            return
        if start < self.times[0] or end > self.times[-1] * (1 + 1e-12) + 1e-12:
            raise InputError(
                f"{self.name} from {self.times[0]:g} s to {self.times[-1]:g} s for a run from {start:g} s to {end:g} s",
                allowed="a series that covers the whole run",
                fix=f"end_time = {self.times[-1]:g}, or a longer series",
            )
