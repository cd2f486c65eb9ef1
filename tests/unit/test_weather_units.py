"""Units of weather files: the spellings in use, with factors written out by hand."""

from __future__ import annotations

import pytest

from eagre.errors import InputError
from eagre.io.weather.records import PRESSURE, RAIN, SPEED, STRESS, Read, read_unit

MM_PER_HOUR = 0.001 / 3600


@pytest.mark.parametrize(
    "text", ["mm/h", "mm h-1", "mm h**-1", "mm h^-1", "mm hour-1", "mm/hr", "mm per hour", "mm.h-1", "mm*h-1", "mm/1h"]
)
def test_every_spelling_of_millimetres_per_hour(text):
    assert read_unit(text, RAIN, "rain") == pytest.approx(Read(MM_PER_HOUR), rel=1e-14)


@pytest.mark.parametrize("text", ["kg m-2 s-1", "kg/m2/s", "kg m**-2 s**-1", "kg m^-2 s^-1", "kg/(m2 s)", "kg/m^2/s"])
def test_every_spelling_of_a_mass_flux(text):
    """1 kg of rain on a square metre is 1 mm."""
    assert read_unit(text, RAIN, "rain") == pytest.approx(Read(0.001), rel=1e-14)


@pytest.mark.parametrize("text", ["mm/3h", "mm/3 h", "mm/3hr", "mm / (3 hours)"])
def test_amounts_of_three_hours_are_means_over_three_hours(text):
    assert read_unit(text, RAIN, "rain") == pytest.approx(Read(MM_PER_HOUR / 3, is_mean=True), rel=1e-14)


@pytest.mark.parametrize(
    ("text", "units", "factor", "is_amount"),
    [
        ("m", RAIN, 1.0, True),
        ("kg m**-2", RAIN, 0.001, True),
        ("kg/m2", RAIN, 0.001, True),
        ("mm day-1", RAIN, MM_PER_HOUR / 24, False),
        ("m s**-1", SPEED, 1.0, False),
        ("kt", SPEED, 1852 / 3600, False),
        ("knots", SPEED, 1852 / 3600, False),
        ("km h-1", SPEED, 1 / 3.6, False),
        ("hPa", PRESSURE, 100.0, False),
        ("millibars", PRESSURE, 100.0, False),
        ("N m**-2 s", STRESS, 1.0, True),
        ("Pa s", STRESS, 1.0, True),
        ("kg m-1 s-2", STRESS, 1.0, False),
    ],
)
def test_factor_and_kind(text, units, factor, is_amount):
    assert read_unit(text, units, "it") == pytest.approx(Read(factor, is_amount), rel=1e-14)


@pytest.mark.parametrize(
    ("text", "units"), [("", RAIN), ("mm/3m", RAIN), ("mm/h2", RAIN), ("psi", PRESSURE), ("degC", RAIN), ("m", SPEED)]
)
def test_another_unit_is_refused_without_a_suggestion(text, units):
    """A unit that only looks alike would change the values: "mm/h" for "mm/3m"."""
    with pytest.raises(InputError) as caught:
        read_unit(text, units, "file.nc: tp")
    assert caught.value.fix == "" and "write:" not in str(caught.value) and units.examples in str(caught.value)
