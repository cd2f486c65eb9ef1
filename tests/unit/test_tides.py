"""Tides of constituents: speeds, phases at dates, sums, case files, and both shallow-water models."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pytest

import eagre
from eagre.config.problems import ConfigError
from eagre.errors import InputError
from eagre.models.shallow_water.config import ShallowWaterCase
from eagre.models.shallow_water_adi.config import ShallowWaterADICase
from eagre.time_varying import tides
from eagre.time_varying.series import Series

SPEEDS = {  # degrees an hour, as the tables of the United States' National Ocean Service have them
    "M2": 28.984104, "S2": 30.0, "N2": 28.43973, "K1": 15.041069, "M4": 57.96821, "O1": 13.943035, "M6": 86.95232,
    "MK3": 44.025173, "S4": 60.0, "MN4": 57.423832, "NU2": 28.512583, "MU2": 27.968208, "2N2": 27.895355,
    "OO1": 16.139101, "J1": 15.585443, "MM": 0.5443747, "SSA": 0.0821373, "MF": 1.0980331, "Q1": 13.398661,
    "T2": 29.958933, "P1": 14.958931, "K2": 30.082138, "M8": 115.93642, "MS4": 58.984104, "2MS6": 87.968208,
}  # fmt: skip
ARGUMENTS = {  # V + u in degrees and f at 1995-03-07T03:20 and 2026-01-31T00:00, by pyTMD 3.0.9 with the f and u of FES
    "SSA": (328.77, 1.000, 260.47, 1.000), "MM": (162.80, 1.102, 38.63, 0.879), "MF": (117.58, 0.717, 213.02, 1.429),
    "Q1": (33.52, 0.860, 332.19, 1.175), "O1": (196.32, 0.860, 10.82, 1.175), "P1": (335.61, 1.000, 319.76, 1.000),
    "K1": (130.61, 0.914, 42.81, 1.108), "J1": (296.70, 0.878, 82.47, 1.159), "OO1": (251.47, 0.598, 256.85, 1.737),
    "2N2": (4.61, 1.030, 337.40, 0.965), "MU2": (199.12, 1.030, 108.59, 0.965), "N2": (167.42, 1.030, 16.02, 0.965),
    "NU2": (1.92, 1.030, 147.22, 0.965), "M2": (330.22, 1.030, 54.65, 0.965), "T2": (38.47, 1.000, 333.15, 1.000),
    "S2": (100.00, 1.000, 0.00, 1.000), "K2": (80.37, 0.799, 265.92, 1.299), "MK3": (100.83, 0.941, 97.46, 1.070),
    "MN4": (137.63, 1.060, 70.68, 0.932), "M4": (300.44, 1.060, 109.31, 0.932), "MS4": (70.22, 1.030, 54.65, 0.965),
    "S4": (200.00, 1.000, 0.00, 1.000), "M6": (270.66, 1.092, 163.96, 0.899), "2MS6": (40.44, 1.060, 109.31, 0.932),
    "M8": (240.87, 1.124, 218.62, 0.868),
}  # fmt: skip
DATES = np.array(["1995-03-07T03:20", "2026-01-31T00:00"], "datetime64[us]")


def test_speeds():
    assert set(SPEEDS) == set(tides.NAMES)
    for name, expected in SPEEDS.items():
        assert tides.speed(name.lower()) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", tides.NAMES)
def test_arguments_at_dates(name):
    """To 0.15 degrees, 20 s of an M2, and 0.4 % of the amplitude, against another program."""
    angle, factor = tides.argument(name, DATES)
    expected = ARGUMENTS[name]
    assert np.abs((angle - expected[::2] + 180.0) % 360.0 - 180.0).max() < 0.15
    np.testing.assert_allclose(factor, expected[1::2], atol=0.004)


@pytest.mark.parametrize("name", tides.NAMES)
def test_arguments_turn_with_their_speed(name):
    """But for the node, whose terms turn them by less than 0.1 degrees in two days."""
    dates = DATES[1] + np.array([0, 48], "timedelta64[h]")
    (first, last), _ = tides.argument(name, dates)
    assert last - first == pytest.approx(48.0 * tides.speed(name), abs=0.1)


def test_lags_from_the_start_are_a_sum_of_cosines():
    made = {"M2": (1.2, 143.0), "s2": (0.4, -20.0)}
    series = Series.from_tides(made, 7200.0, phases="start", every=600.0, start=-600.0, mean=0.3)
    np.testing.assert_array_equal(series.times, np.arange(-600.0, 7201.0, 600.0))
    t, turn = series.times / 3600.0, math.pi / 180.0
    m2, s2 = 1.2 * np.cos((28.9841042 * t - 143.0) * turn), 0.4 * np.cos((30.0 * t + 20.0) * turn)
    np.testing.assert_allclose(series.values, 0.3 + m2 + s2, atol=1e-8)


@pytest.mark.parametrize(
    "since", ["2026-01-31T07:00:00+01:00", datetime.date(2026, 1, 31), np.datetime64("2026-01-31")]
)
def test_lags_from_a_date(since):
    """The run starts twelve hours after midnight, UTC."""
    later = 6.0 if isinstance(since, str) else 12.0
    series = Series.from_tides({"M2": (1.0, 10.0)}, 3600.0, phases=since, start_date="2026-01-31T12:00:00")
    expected = np.cos(np.radians(28.9841042 * (later + series.times / 3600.0) - 10.0))
    np.testing.assert_allclose(series.values, expected, atol=1e-7)


def test_lags_behind_greenwich():
    """f A cos(V + u - lag): of the reference values of the second date, and half an hour on."""
    series = Series.from_tides({"M2": (2.0, 30.0)}, 1800.0, phases="greenwich", start_date="2026-01-31", every=900.0)
    degrees = 54.65 + 28.9841042 * np.array([0.0, 0.25, 0.5]) - 30.0
    np.testing.assert_allclose(series.values, 0.965 * 2.0 * np.cos(np.radians(degrees)), atol=3e-3)


@pytest.mark.parametrize(
    ("made", "options", "words"),
    [
        ({}, {}, ["no constituents"]),
        ({"M9": (1.0, 0.0)}, {}, ["'M9'", "SSA, MM"]),
        ({"MM2": (1.0, 0.0)}, {}, ["did you mean"]),
        ({"M2": 1.0}, {}, ["M2: 1.0", "M2: (1.2, 143.0)"]),
        ({"M2": (1.0, 0.0, 2.0)}, {}, ["an amplitude"]),
        ({"M2": (-1.0, 0.0)}, {}, ["0 or more"]),
        ({"M2": (1.0, math.nan)}, {}, ["phase lag"]),
        ({"M2": (1.0, 0.0), "m2": (1.0, 0.0)}, {}, ["M2 twice"]),
        ({"M2": (1.0, 0.0)}, {"phases": "greenwich"}, ["'greenwich' without a date", 'start_date="2026']),
        ({"M2": (1.0, 0.0)}, {"phases": "Greenwich"}, ["phases = 'Greenwich'", 'phases="greenwich"']),
        ({"M2": (1.0, 0.0)}, {"phases": "2026-13-01", "start_date": "2026-01-01"}, ["as a date"]),
        ({"M2": (1.0, 0.0)}, {"end": 0.0}, ["Series.from_tides(constituents, phases='start', end="]),
        ({"M2": (1.0, 0.0)}, {"every": 0.0}, ["a step > 0"]),
    ],
)
def test_what_is_refused(made, options, words):
    with pytest.raises(InputError) as caught:
        Series.from_tides(made, **{"end": 60.0, "phases": "start", **options})
    assert all(word in str(caught.value) for word in words), str(caught.value)


CASE = """\
model = "{model}"
[run]
end_time = "2 h"
device = "cpu"
precision = "double"
{start}
[grid]
nx = 6
ny = 5
dx = 20.0
[bed]
value = -20.0
[boundaries.west]
kind = "stage"
[boundaries.west.level]
{level}
"""
LEVEL = 'constituents = {M2 = ["120 cm", 100.0], K1 = [0.5, 20]}\nphases = "start"\nmean = "10 cm"'


def text(level=LEVEL, model="shallow-water", start=""):
    numerics = "\n[numerics]\ntime_step = 10.0\n" if model == "shallow-water-adi" else ""
    return CASE.format(model=model, level=level, start=start) + numerics


@pytest.mark.parametrize(
    ("kind", "case"), [("shallow-water", ShallowWaterCase), ("shallow-water-adi", ShallowWaterADICase)]
)
def test_a_tide_at_a_side(kind, case):
    """A basin of 120 m that starts at the level of the tide follows it: but for a seiche, a sum of cosines."""

    def level(time):
        m2 = 1.2 * math.cos(math.radians(28.9841042 * time / 3600.0 - 100.0))
        return 0.1 + m2 + 0.5 * math.cos(math.radians(15.0410686 * time / 3600.0 - 20.0))

    model = case.loads(text(model=kind) + f"[initial]\nsurface_elevation = {level(0.0)}\n").build()
    for time in (1200.0, 3600.0, 7200.0):
        model.advance(time)
        np.testing.assert_allclose(model.field("surface_elevation"), level(time), atol=2e-3)
    assert abs(level(7200.0) - level(0.0)) > 0.5


def test_a_case_with_dates():
    level = 'constituents.M2 = [1.0, 30.0]\nphases = "greenwich"\nevery = "5 min"'
    series = ShallowWaterCase.loads(text(level, start="start_date = 2026-01-31")).build()
    series = series.boundaries.west.level
    made = eagre.Series.from_tides(
        {"M2": (1.0, 30.0)}, 7200.0, phases="greenwich", start_date="2026-01-31", every=300.0
    )
    np.testing.assert_array_equal(series.times, made.times)
    np.testing.assert_array_equal(series.values, made.values)
    level = level.replace('"greenwich"', "2026-01-30")
    series = ShallowWaterCase.loads(text(level, start="start_date = 2026-01-31")).build().boundaries.west.level
    assert series.values[0] == pytest.approx(math.cos(math.radians(28.9841042 * 24.0 - 30.0)), abs=1e-6)


@pytest.mark.parametrize(
    ("level", "words"),
    [
        (LEVEL.replace('"start"', '"greenwich"'), ["start_date in [run]", "start_date = 2026-01-31"]),
        (LEVEL.replace('"start"', "2026-01-31"), ["phases = 2026-01-31", "start_date = 2026-01-31"]),
        (LEVEL.replace('"start"', '"Start"'), ['phases = "Start"', 'phases = "start"']),
        (LEVEL.replace('"start"', '"noon"'), ['phases = "noon"', "greenwich, start or a date"]),
        (LEVEL.replace('phases = "start"', ""), ["phases", "Missing required key.", 'phases = "greenwich"']),
        (LEVEL.replace('["120 cm", 100.0]', "1.2"), ["M2 = 1.2", "M2 = [1.21, 143.0]"]),
        (LEVEL.replace("100.0]", '"100 deg"]'), ["a number in degrees"]),
        (LEVEL.replace("120 cm", "120 l"), ['"120 l"', "not a unit of length"]),
        (LEVEL.replace("10 cm", "10 kg"), ['"10 kg"', "not a unit of length"]),
        (LEVEL.replace("K1", "K9"), ["the constituent 'K9'"]),
        (LEVEL.replace('"10 cm"', '"10 cm"\nevery = 1e-9'), ["7200000000000 samples"]),
    ],
)
def test_mistakes_in_cases(level, words):
    with pytest.raises(ConfigError) as caught:
        ShallowWaterCase.loads(text(level)).build()
    assert all(word in str(caught.value) for word in ["boundaries.west.level", *words]), str(caught.value)
