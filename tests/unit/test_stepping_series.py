"""Series on the device: looked up between rows, forwards and backwards, at the end of a step or over all of it."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.stepping.clock import evaluate_series, series_table
from eagre.time_varying.series import Series

TIMES = np.array([0.0, 1.0, 3.0, 4.0])
TIDE = Series(TIMES, np.array([0.0, 2.0, -2.0, 5.0]), "tide")
RAIN = Series(np.array([0.0, 10.0]), np.array([1.0, 21.0]), "rain")


def found(table, now, dt=0.0):
    """Forcing of [tide, constant, rain], where the rain belongs to a source."""
    forcing = np.array([np.nan, 7.0, np.nan])
    evaluate_series(forcing, table, now, dt)
    assert forcing[1] == 7.0  # constants are not touched
    return forcing[0], forcing[2]


@pytest.fixture
def table():
    return series_table([TIDE, Series.constant(7.0), RAIN], boundaries=2)


def test_linear_between_rows_in_any_order(table):
    for time in (0.0, 0.5, 2.0, 3.5, 4.0, 1.0, 3.0, 0.25, 3.9, 0.1):
        assert found(table, time) == pytest.approx((np.interp(time, TIMES, TIDE.values), 1.0 + 2.0 * time)), time


@pytest.mark.parametrize(("start", "end"), [(0.0, 4.0), (0.2, 0.7), (0.5, 3.5), (-2.0, 1.0), (3.0, 9.0), (5.0, 6.0)])
def test_mean_of_a_series(start, end):
    fine = np.linspace(start, end, 200_001)
    values = np.interp(fine, TIMES, TIDE.values)
    assert TIDE.mean(start, end) == pytest.approx(np.trapezoid(values, fine) / (end - start), abs=1e-8)


def test_bits_do_not_depend_on_where_the_search_comes_from():
    """v_0 + 1 (v_1 - v_0) is not v_1 to the last bit."""
    series = Series(np.array([0.0, 1.0, 2.0]), np.array([-0.4, 1.2, 0.7]), "stage")
    found = []
    for before in (0.0, 2.0):
        table, forcing = series_table([series], boundaries=1), np.zeros(1)
        for time in (before, 1.0):
            evaluate_series(forcing, table, time, 0.0)
        found.append(forcing[0])
    assert found[0] == found[1]


def test_ends_are_held(table):
    assert found(table, -3.0) == pytest.approx((0.0, 1.0))
    assert found(table, 99.0) == pytest.approx((5.0, 21.0))


def test_boundaries_look_to_the_end_of_the_step_and_sources_over_all_of_it(table):
    assert found(table, 1.0, 0.5) == pytest.approx((1.0, 1.0 + 2.0 * 1.25))


@pytest.mark.parametrize("dt", [0.0, 0.1, 0.7, 2.5, 9.0])
@pytest.mark.parametrize("now", [-1.5, 0.0, 0.4, 1.0, 2.9, 3.5, 6.0])
def test_mean_over_a_step_is_exact(now, dt):
    """However many rows the step passes, also where it begins before the first row or ends behind the last."""
    table = series_table([TIDE], boundaries=0)
    for first in (now, 0.0, 3.9):  # from any row that was looked up before
        forcing = np.zeros(1)
        evaluate_series(forcing, table, first, 0.0)
        evaluate_series(forcing, table, now, dt)
        at = np.unique(np.clip(np.append(TIMES, [now, now + dt]), now, now + dt))
        values = np.interp(at, TIMES, TIDE.values)
        expected = np.trapezoid(values, at) / dt if dt > 0.0 else values[0]
        assert forcing[0] == pytest.approx(expected, abs=1e-14)


def test_nothing_changes_without_series():
    forcing = np.array([3.0])
    evaluate_series(forcing, series_table([Series.constant(3.0)], boundaries=1), 5.0, 1.0)
    assert forcing.tolist() == [3.0]
