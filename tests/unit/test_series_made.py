"""Series made in Python: of dates, of functions, and what is refused."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import eagre
from eagre.errors import InputError
from eagre.time_varying.series import Series

HOURS = ["2026-01-31T23:00:00", "2026-02-01T00:30:00"]


@pytest.mark.parametrize(
    "dates",
    [
        HOURS,
        np.array(HOURS, "datetime64[s]"),
        pd.DatetimeIndex(HOURS),
        pd.DatetimeIndex(HOURS).tz_localize("UTC").tz_convert("Europe/Berlin"),
        [datetime.datetime.fromisoformat(text) for text in HOURS],
        ["2026-02-01T00:00:00+01:00", "2026-02-01T00:30:00Z"],
        xr.DataArray(np.array(HOURS, "datetime64[ns]"), dims="time"),
    ],
    ids=["texts", "numpy", "pandas", "pandas with a zone", "datetimes", "zones", "xarray"],
)
@pytest.mark.parametrize("start", ["2026-01-31", datetime.date(2026, 1, 31), np.datetime64("2026-01-31")])
def test_values_at_dates(dates, start):
    series = Series.from_dates(dates, [1.0, 2.0], start)
    np.testing.assert_array_equal(series.times, [82800.0, 88200.0])
    np.testing.assert_array_equal(series.values, [1.0, 2.0])


@pytest.mark.parametrize(
    ("dates", "message"),
    [
        (["2026-01-31", "soon"], "row 1: 'soon' as a date"),
        ([pd.Timestamp("2026-01-31"), pd.NaT], "row 1: 'NaT' as a date"),
        (np.array(["2026-01-31", "NaT"], "datetime64[s]"), "row 1: .* as a date"),
        ([0.0, 60.0], "row 0: .* as a date"),
        ("2026-01-31", r"dates of shape \(\)"),
        (HOURS[::-1], "strictly increasing"),
    ],
)
def test_dates_that_are_none(dates, message):
    with pytest.raises(InputError, match=message):
        Series.from_dates(dates, [1.0, 2.0], "2026-01-31")


def test_dates_where_times_belong_name_the_way():
    with pytest.raises(InputError, match=r"Series\.from_dates\("):
        Series(np.array(HOURS, "datetime64[s]"), [1.0, 2.0])


@pytest.mark.parametrize(("end", "rows"), [(100.0, 11), (95.0, 11), (101.0, 12)])
def test_a_function_is_taken_to_the_end(end, rows):
    series = Series.sampled(lambda t: math.sin(t / 50.0), end=end, every=10.0)
    assert series.times.size == rows
    series.covers(0.0, end)
    assert series(20.0) == math.sin(0.4)
    assert series(25.0) == pytest.approx(0.5 * (math.sin(0.4) + math.sin(0.6)))


def test_a_function_from_a_start_on():
    times = Series.sampled(lambda t: 2 * t, end=0.7, every=0.1, start=0.1).times
    np.testing.assert_allclose(times, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], rtol=1e-14)


@pytest.mark.parametrize(("end", "every"), [(0.0, 1.0), (10.0, 0.0), (10.0, -1.0), (math.inf, 1.0), (math.nan, 1.0)])
def test_times_that_make_no_series(end, every):
    with pytest.raises(InputError, match="an end after the start"):
        Series.sampled(lambda t: t, end=end, every=every)
    with pytest.raises(InputError, match="row 0 is not finite"):
        Series.sampled(lambda t: math.nan, end=1.0, every=1.0)


@pytest.mark.parametrize(
    ("value", "line"),
    [(lambda t: t, "Stage(level=Series.sampled("), (np.arange(3.0), "Stage(level=Series(times, values))")],
)
def test_conditions_name_the_way_to_a_series(value, line):
    with pytest.raises(InputError) as error:
        eagre.Stage(value)
    assert error.value.fix.startswith(line)


def test_a_series_that_begins_late_or_ends_early_says_which():
    series = Series([10.0, 20.0], [0.0, 1.0])
    with pytest.raises(InputError, match="begins at 0 s"):
        series.covers(0.0, 15.0)
    with pytest.raises(InputError, match=r"end_time = 20\.0, or a longer series"):
        series.covers(10.0, 30.0)
