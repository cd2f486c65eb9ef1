"""Time series of boundary conditions and source terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np

from eagre.arguments import array_copy, check_series_fill
from eagre.errors import InputError
from eagre.names import nearest
from eagre.time_varying import tides
from eagre.time_varying.sampling import check_resolved


@dataclass(frozen=True, eq=False)
class Series:
    """Time series with linear interpolation.

    Parameters
    ----------
    times : (n,) array, s
        Strictly increasing model times.
    values : (n,) array
        Values at `times`, in the unit of the forced quantity.
    name : str
        Source of the series, for error messages (a file name).

    Notes
    -----
    A series is not extrapolated: a run that needs times outside [times[0], times[-1]] raises `InputError` before its
    first step (`covers`).

    Examples
    --------
    >>> hydrograph = Series([0.0, 3600.0, 7200.0], [5.0, 80.0, 20.0])
    >>> hydrograph(1800.0)
    42.5
    """

    times: np.ndarray
    values: np.ndarray
    name: str = "series"

    def __post_init__(self) -> None:
        if np.asarray(self.times).dtype.kind == "M":
            raise InputError(
                f"{self.name}: dates",
                allowed="times in s since model time 0",
                fix='Series.from_dates(dates, values, start="2026-01-31")',
                problem="The times of the series are dates, but seconds are required.",
            )
        times = array_copy(f"{self.name}: times", self.times)
        values = array_copy(f"{self.name}: values", self.values)
        if times.ndim != 1 or times.shape != values.shape or times.size == 0:
            raise InputError(
                f"{self.name}: times of shape {times.shape} and values of shape {values.shape}",
                allowed="two 1-D arrays of the same length >= 1",
                problem="The times and values of the series do not match.",
            )
        if not np.isfinite(times).all() or not np.isfinite(values).all():
            bad = int(np.argmin(np.isfinite(times) & np.isfinite(values)))
            raise InputError(
                f"{self.name}: row {bad} is not finite (t = {times[bad]:g} s, value {values[bad]:g})",
                allowed="finite numbers; omit rows without a value, they are interpolated linearly",
                fix="keep = np.isfinite(values); Series(times[keep], values[keep])" if self.name == "series" else "",
                problem="The series has missing values.",
            )
        if times.size > 1 and (np.diff(times) <= 0).any():
            bad = int(np.argmax(np.diff(times) <= 0)) + 1
            raise InputError(
                f"{self.name}: time {times[bad]:g} s in row {bad} after {times[bad - 1]:g} s",
                allowed="strictly increasing times",
                problem="The times of the series do not increase.",
            )
        check_series_fill(times, values, self.name)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    @classmethod
    def constant(cls, value: float, name: str = "constant") -> Series:
        """Return a series with a constant value."""
        return cls(np.array([0.0]), np.array([float(value)]), name)

    @classmethod
    def of(cls, value: float | Series, name: str = "constant") -> Series:
        """Return `value` if it is a series, otherwise a constant series; raise `InputError` if it is not a number."""
        if isinstance(value, Series):
            return value
        try:
            return cls.constant(value, name)
        except (TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{value!r}", allowed="a number in SI units, or a Series", fix="Series(times, values)",
                problem="The value is not a number or a series.",
            ) from None  # fmt: skip

    @classmethod
    def from_dates(
        cls, dates: Iterable[object], values: np.ndarray, start: str | date | np.datetime64, name: str = "series"
    ) -> Series:
        """Return a series of values at dates, such as the index of a pandas series or an xarray coordinate.

        Parameters
        ----------
        dates : (n,) of datetime64, datetimes or ISO strings
            Dates with a time zone are converted to UTC; dates without a time zone are UTC.
        values : (n,) array
            Values at `dates`.
        start : str or datetime
            Date of model time 0: `start_date` of a case.
        name : str
            Name of the series, for error messages.

        Raises
        ------
        InputError
            If a date is invalid, or dates do not increase.
        """
        if np.asarray(dates).ndim != 1:
            raise InputError(
                f"{name}: dates of shape {np.asarray(dates).shape}", allowed="dates along one axis",
                problem="The dates are not a one-dimensional array.",
            )  # fmt: skip
        zero = _utc(start, f"{name}: start")
        moments = [_utc(moment, f"{name}: row {row}") for row, moment in enumerate(np.asarray(dates))]
        times = [(moment - zero) / np.timedelta64(1, "s") for moment in moments]
        return cls(np.array(times, dtype=float), values, name)

    @classmethod
    def sampled(
        cls, function: Callable[[float], float], end: float, every: float, start: float = 0.0, name: str = "function"
    ) -> Series:
        """Return a series of samples of a function every `every` s from `start` to `end`.

        Raises
        ------
        InputError
            If `end` or `every` is invalid, the function returns a value that is not finite, or the error of linear
            interpolation exceeds 2 % of the range of the function (`eagre.time_varying.sampling`).

        Examples
        --------
        >>> tide = Series.sampled(lambda t: 1.5 * math.sin(2 * math.pi * t / 44712.0), end=86400.0, every=300.0)
        >>> len(tide.times)
        289
        """
        times = _instants(start, end, every, name, "sampled(function, ")

        def function_at(moments: np.ndarray) -> np.ndarray:
            return np.array([function(float(moment)) for moment in moments])

        series = cls(times, function_at(times), name)
        check_resolved(function_at, series.times, series.values, name)
        return series

    @classmethod
    def from_tides(
        cls,
        constituents: Mapping[str, Sequence[float]],
        end: float,
        *,
        phases: str | date | np.datetime64,
        start_date: str | date | np.datetime64 | None = None,
        mean: float = 0.0,
        every: float = 60.0,
        start: float = 0.0,
        name: str = "tides",
    ) -> Series:
        """Return a tide as a sum of constituents, sampled every `every` s from `start` to `end`.

        Parameters
        ----------
        constituents : dict of str to (amplitude, phase lag)
            Names of `time_varying.tides.NAMES`, such as M2; amplitudes in the unit of the forced quantity, lags in
            degrees.
        end : float
            Model time, s.
        phases : "greenwich", "start" or a date
            Reference of the phase lags. "greenwich": Greenwich phase lags, as given by harmonic analyses and tidal
            atlases; f A cos(V + u - lag) is summed (`eagre.time_varying.tides`). "start": A cos(speed t - lag), with t
            from model time 0. A date, UTC: the same with t from this date.
        start_date : date
            Date of model time 0, UTC; required unless `phases` is "start".
        mean : float
            Mean level, added to the sum.
        every, start : float
            Sampling interval and first time, s. The interval is at most 1/20 of the shortest period. The error of
            linear interpolation with 60 s is 0.01 mm for an M2 of 1 m and 0.14 mm for an M8 of 1 m.
        name : str
            Name of the series, for error messages.

        Raises
        ------
        InputError
            If a constituent is unknown, a value is not a number, the date of model time 0 is required and missing, or
            `every` is too long for a constituent.

        Examples
        --------
        >>> tide = Series.from_tides({"M2": (1.0, 90.0)}, end=44714.2, phases="start")
        >>> round(tide(0.25 * 44714.2), 3)
        1.0
        """
        times = _instants(start, end, every, name, "from_tides(constituents, phases='start', ")
        selected = tides.checked(constituents)
        tides.check_step(selected, every, name)
        zero, later = _phases(phases, start_date, name)
        return cls(times, mean + tides.heights(selected, times + later, zero), name)

    @property
    def is_constant(self) -> bool:
        """True if the series has one row, and so the same value at all times."""
        return self.times.size == 1

    def __call__(self, time: float) -> float:
        """Return the value at `time`, s, by linear interpolation; constant outside the range of times."""
        return float(np.interp(time, self.times, self.values))

    def mean(self, start: float, end: float) -> float:
        """Return the exact mean of the interpolated series from `start` to a later `end`, s."""
        first, last = np.searchsorted(self.times, start, "right"), np.searchsorted(self.times, end, "left")
        times = np.concatenate([[start], self.times[first:last], [end]])
        values = np.interp(times, self.times, self.values)
        return float((0.5 * (values[1:] + values[:-1]) * np.diff(times)).sum() / (end - start))

    def covers(self, start: float, end: float) -> None:
        """Raise `InputError` unless the series covers the interval from `start` to `end`, s."""
        if self.is_constant:
            return
        if start < self.times[0] or end > self.times[-1] * (1 + 1e-12) + 1e-12:
            first, last = float(self.times[0]), float(self.times[-1])
            a, b, c, d = told_apart(first, last, start, end)
            subject = "The series" if self.name == "series" else f"The series {self.name}"
            raise InputError(
                f"{self.name} from {a} s to {b} s for a run from {c} s to {d} s",
                allowed="a series that covers the whole run",
                fix=f"a series that begins at {c} s, or earlier"
                if start < first
                else f"end_time = {last!r}, or a longer series",
                problem=f"{subject} begins after the run." if start < first else f"{subject} ends before the run.",
            )


def told_apart(*values: float) -> list[str]:
    """Format numbers so that different numbers have different strings: 6 digits, or more where needed."""
    formatted: list[str] = []
    for digits in range(6, 18):
        formatted = [f"{value:.{digits}g}" for value in values]
        if len(set(formatted)) == len(set(values)):
            break
    return formatted


def _instants(start: float, end: float, every: float, name: str, call: str) -> np.ndarray:
    """Return times from `start` to `end` or the next sample after it, s; `call` precedes the correction in messages."""
    if not (0.0 < every < math.inf and start < end < math.inf):
        raise InputError(
            f"{name}: every {every} s from {start} s to {end} s",
            allowed="a step > 0 and an end after the start",
            fix=f"Series.{call}end=86400.0, every=60.0)",
            problem="The sampling interval or the end of the series is not valid.",
        )
    return start + every * np.arange(math.ceil((end - start) / every * (1.0 - 1e-12)) + 1)


def _phases(
    phases: str | date | np.datetime64, start_date: str | date | np.datetime64 | None, name: str
) -> tuple[np.datetime64 | None, float]:
    """Return the date of model time 0 for Greenwich phase lags, otherwise None and the offset from `phases`, s."""
    if isinstance(phases, str) and phases == "start":
        return None, 0.0
    if isinstance(phases, str) and (near := nearest(phases, ("greenwich", "start"))) not in (None, phases):
        got = f"{name}: phases = {phases!r}"
        problem = "The reference of the phase lags is unknown."
        raise InputError(got, allowed='"greenwich", "start" or a date', fix=f'phases="{near}"', problem=problem)
    if start_date is None:
        got = f"{name}: phases = {str(phases)!r} without a date of model time 0"
        problem = "The date of model time 0 is required for these phase lags."
        raise InputError(got, allowed='start_date, or phases="start"', fix='start_date="2026-01-31"', problem=problem)
    zero = _utc(start_date, f"{name}: start_date")
    if isinstance(phases, str) and phases == "greenwich":
        return zero, 0.0
    return None, float((zero - _utc(phases, f"{name}: phases")) / np.timedelta64(1, "s"))


def _utc(moment: object, what: str) -> np.datetime64:
    """Return a date in UTC with a resolution of a microsecond."""
    try:
        if isinstance(moment, str):
            moment = datetime.fromisoformat(moment)
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        if isinstance(moment, date):
            moment = np.datetime64(moment.isoformat())
        if isinstance(moment, np.datetime64) and not np.isnat(moment):
            return moment.astype("datetime64[us]")
    except (ValueError, OverflowError):
        pass
    raise InputError(
        f"{what}: {str(moment)!r} as a date", allowed="a date", fix='"2026-01-31T12:00:00"',
        problem="The value is not a date.",
    )  # fmt: skip
