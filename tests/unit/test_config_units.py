"""Quantities with units: numbers, and what is said about wrong ones."""

from __future__ import annotations

import datetime
import math

import pytest

from eagre.config.problems import Problems
from eagre.config.section import check
from eagre.config.values.units import DIMENSIONS, UNITS, is_quantity, parse_quantity, unit_factor
from eagre.config.water.sections import CoriolisSection
from eagre.errors import InputError
from eagre.models.anelastic import config as anelastic
from eagre.models.anelastic import config as anelastic_numerics
from eagre.models.anelastic.case.physics_sections import AtmosphereSection
from eagre.models.barotropic import config as barotropic


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("2 h", "time", 7200.0),
        ("60 s", "time", 60.0),
        ("60s", "time", 60.0),
        ("10 min", "time", 600.0),
        ("3 d", "time", 259200.0),
        ("2 weeks", "time", 14 * 24 * 3600.0),
        ("1 week", "time", 7 * 24 * 3600.0),
        ("1.5e3 ms", "time", 1.5),
        ("1 h 30 min", "time", 5400.0),
        ("1 d, 2 h, 3 min", "time", 86400.0 + 7200.0 + 180.0),
        ("20 mm/h", "rain", 20e-3 / 3600),
        ("20 mm h-1", "rain", 20e-3 / 3600),
        ("24 mm/d", "rain", 24e-3 / 86400),
        ("6 mm/3h", "rain", 2e-3 / 3600),
        ("6 mm/3 h", "rain", 2e-3 / 3600),
        ("20 mm h**-1", "rain", 20e-3 / 3600),
        ("20 mm hour-1", "rain", 20e-3 / 3600),
        ("10 m s**-1", "speed", 10.0),
        ("36 kt", "speed", 18.52),
        ("1013 millibars", "pressure", 101300.0),
        ("0.5 m3/s", "discharge", 0.5),
        ("0.5 m^3/s", "discharge", 0.5),
        ("0.5 m**3 / s", "discharge", 0.5),
        ("0.5 m3 s-1", "discharge", 0.5),
        ("-3 l/s", "discharge", -0.003),
        ("1013 hPa", "pressure", 101300.0),
        ("1 bar", "pressure", 1e5),
        ("0.1 N/m2", "stress", 0.1),
        ("0.1 Pa", "stress", 0.1),
        ("36 km/h", "speed", 10.0),
        ("1 kn", "speed", 1852 / 3600),
        ("2 km", "length", 2000.0),
        ("3 cm", "length", 0.03),
        ("2 ft", "length", 0.6096),
        ("5 ft3/s", "discharge", 5 * 0.3048**3),
        ("2 in/h", "rain", 0.0508 / 3600),
        ("1 nmi", "length", 1852.0),
        ("1e-4 1/s", "rate", 1e-4),
        ("1e-4 rad/s", "rate", 1e-4),
        ("2 1/d", "rate", 2.0 / 86400.0),
        ("0.1 Hz", "frequency", 0.1),
        ("0.1 1/s", "frequency", 0.1),
        ("477 mHz", "frequency", 0.477),
        ("2 kHz", "frequency", 2000.0),
        ("6 1/min", "frequency", 0.1),
        ("3 rad/s", "frequency", 0.477464829275686),
        ("3 rad s-1", "frequency", 0.477464829275686),
        ("36 deg/s", "frequency", 0.1),
        ("2e-11 m-1 s-1", "beta", 2e-11),
        ("9.81 m/s/s", "acceleration", 9.81),
        ("0.1 K m/s", "kinematic heat flux", 0.1),
        ("12 K cm s-1", "kinematic heat flux", 0.12),
        ("0.12 kW/m2", "heat flux", 120.0),
        ("120 W m-2", "heat flux", 120.0),
        ("-2 K/d", "heating", -2.0 / 86400.0),
        ("5 %", "number", 0.05),
        ("0.5", "number", 0.5),
        (3, "time", 3.0),
        (2.5, "length", 2.5),
    ],
)
def test_value(text, dimension, value):
    assert parse_quantity(text, dimension) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("name", DIMENSIONS)
def test_example_of_every_dimension_can_be_read(name):
    assert math.isfinite(parse_quantity(DIMENSIONS[name].example, name))


@pytest.mark.parametrize(
    ("value", "dimension", "words"),
    [
        ("2 hous", "time", ('the unknown unit "hous"\n', "ms, s, min, h, d", 'end_time = "2 h"')),
        ("5 feeet", "length", ('the unknown unit "feeet"\n', 'end_time = "10 m"')),
        ("20 mm/3m", "rain", ('"mm/3m"', "mm/h, mm/d", 'end_time = "20 mm/h"')),
        ("1,5 m", "length", ("decimal comma", 'end_time = "1.5 m"')),
        ("0.025 s", "number", ("not a unit of number", "end_time = 0.025")),
        ("-0,03", "number", ("decimal comma", 'end_time = "-0.03"')),
        ("1,500,000 m", "length", ('"1,500,000 m"',)),
        (math.nan, "number", ("allowed: a finite number\nwrite:   end_time = 0.5",)),
        ("2 m", "time", ('"2 m"', "not a unit of time", 'end_time = "2 min"')),
        ("1h30m", "time", ('"1h30m"', "not a unit of time", 'end_time = "1h30 min"')),
        ("01:30:05", "time", ('"01:30:05"', 'end_time = "1 h 30 min 5 s"')),
        ("00:20", "time", ('end_time = "20 min"',)),
        ("00:00:00", "time", ('end_time = "0 s"',)),
        ("PT6H", "time", ('"PT6H"', 'end_time = "6 h"')),
        ("P1W2DT3M0.5S", "time", ('end_time = "1 week 2 d 3 min 0.5 s"',)),
        ("PT", "time", ('end_time = "2 h"',)),
        ("2026-02-01T06:00", "time", ('"2026-02-01T06:00", a date', "start_date", 'end_time = "2 h"')),
        (datetime.date(2026, 2, 1), "time", ("a date", 'end_time = "2 h"')),
        (datetime.time(6, 30), "time", ('end_time = "6 h 30 min"',)),
        (datetime.time(6, 30), "length", ("06:30:00", 'end_time = "10 m"')),
        ("20 hPa", "rain", ("not a unit of rain", "mm/h")),
        ("1e-4 Hz", "rate", ("counts cycles per second", '"Hz"', "1/s, 1/h, 1/d, rad/s")),
        ("20", "time", ("without a unit", 'end_time = "2 h"', "without quotes")),
        ("soon", "time", ('"soon"', 'such as "2 h"')),
        ("2 h 3", "time", ('"2 h 3"',)),
        ("1 m3/s)", "discharge", ("m3/s",)),
        (True, "time", ("true",)),
        (None, "time", ("None",)),
        (math.inf, "time", ("inf", "finite")),
        ([1], "time", ("[1]",)),
    ],
)
def test_message(value, dimension, words):
    with pytest.raises(InputError) as caught:
        parse_quantity(value, dimension, "end_time")
    for word in words:
        assert word in str(caught.value)


EVERY_UNIT = {  # in SI, written out by hand
    "number": {"1": 1.0, "%": 0.01, "rad": 1.0} | dict.fromkeys(("deg", "degree", "degrees"), 0.017453292519943295),
    "length": {"mm": 0.001, "cm": 0.01, "km": 1000.0, "mi": 1609.344, "nmi": 1852.0}
    | dict.fromkeys(("ft", "feet", "foot"), 0.3048)
    | dict.fromkeys(("in", "inch", "inches"), 0.0254)
    | dict.fromkeys(("m", "metre", "metres", "meter", "meters"), 1.0),
    "time": {"ms": 0.001}
    | dict.fromkeys(("s", "sec", "second", "seconds"), 1.0)
    | dict.fromkeys(("min", "minute", "minutes"), 60.0)
    | dict.fromkeys(("h", "hr", "hour", "hours"), 3600.0)
    | dict.fromkeys(("d", "day", "days"), 86400.0)
    | dict.fromkeys(("week", "weeks"), 604800.0),
    "speed": dict.fromkeys(("kn", "kt", "kts", "knot", "knots"), 0.5144444444444445),
    "discharge": {"l/s": 0.001, "L/s": 0.001, "cfs": 0.028316846592},
    "pressure": {"Pa": 1.0, "hPa": 100.0, "mbar": 100.0, "kPa": 1000.0, "bar": 100000.0, "N/m2": 1.0}
    | dict.fromkeys(("mb", "millibar", "millibars"), 100.0)
    | {"kg/m/s2": 1.0, "g/m/s2": 0.001},
    "frequency": {"Hz": 1.0, "mHz": 1e-3, "kHz": 1e3},
    "temperature": {"K": 1.0},
    "heat flux": {"W/m2": 1.0, "kW/m2": 1000.0, "N/m/s": 1.0},
}


def test_every_unit():
    names = set()
    for dimension, units in EVERY_UNIT.items():
        for unit, factor in units.items():
            assert unit_factor(unit, dimension) == pytest.approx(factor, rel=1e-15), unit
            names.add(unit.split("/")[0])
    assert names == set(UNITS)


def test_unit_factor_refuses_another_dimension():
    assert unit_factor("l/s", "discharge") == pytest.approx(1e-3)
    with pytest.raises(InputError, match="not a unit of discharge"):
        unit_factor("m/s", "discharge")


@pytest.mark.parametrize("text", ["2 h", "0.5", "1.5 m", "20 mm/h", "1e-4 1/s", "-2.5e-3 m3 s-1"])
def test_quantities_are_told_from_expressions(text):
    assert is_quantity(text)


@pytest.mark.parametrize("text", ["0.1 * x", "x", "1 - 0.5", "2*sin(x)", "where(x < 1, 2, 3)", "1 + 2", "3 apples", ""])
def test_expressions_are_told_from_quantities(text):
    assert not is_quantity(text)


def test_coriolis_parameters_buoyancy_frequencies_and_rates_are_not_counted_in_cycles():
    """Their plain numbers are radians per second or rates; hertz would be wrong by 2 pi or have no meaning."""
    sections = {
        CoriolisSection: ("f",), barotropic.PhysicsSection: ("bottom_friction",),
        barotropic.TopographySection: ("coriolis",), anelastic.SpongeSection: ("rate", "side_rate"),
        anelastic_numerics.NumericsSection: ("coriolis",),
        AtmosphereSection: ("buoyancy_frequency", "reference_frequency"),
    }  # fmt: skip
    for section, keys in sections.items():
        for key in keys:
            with pytest.raises(Problems) as caught:
                check(section, {key: "1 Hz"}, {})
            assert any("Hz counts cycles per second" in problem.problem for problem in caught.value.problems), key
            with pytest.raises(Problems) as caught:  # "none" is no key of any of them
                check(section, {key: "1e-4 rad/s", "none": 1}, {})
            assert not any("1e-4" in problem.what for problem in caught.value.problems), key
