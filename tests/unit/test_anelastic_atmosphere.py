"""Reference and ambient profiles of the anelastic model, against closed forms and quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from eagre.errors import InputError
from eagre.models.anelastic.base.atmosphere import Atmosphere, check_height
from eagre.models.anelastic.base.vertical_profiles import ExponentialProfile, LinearProfile, TableProfile, slope

G, CP, RD = 9.81, 1004.0, 287.0


def test_isentropic_density_is_the_closed_form():
    z = np.linspace(0.0, 10000.0, 7)
    exner = 1.0 - G * z / (CP * 300.0)
    expected = 1e5 / (RD * 300.0) * exner ** (CP / RD - 1.0)
    np.testing.assert_allclose(Atmosphere.anelastic(theta=300.0).density(z), expected, rtol=1e-14)


def test_stratified_density_is_the_closed_form_of_the_literature():
    z, s, theta = np.linspace(0.0, 15000.0, 7), 1e-4 / G, 290.0
    rho_0 = 1e5 / (RD * theta)
    bracket = 1.0 - G * (1.0 - np.exp(-s * z)) / (CP * theta * s)
    expected = rho_0 * np.exp(-s * z) * bracket ** (CP / RD - 1.0)
    air = Atmosphere.anelastic(theta=theta, reference_frequency=0.01)
    np.testing.assert_allclose(air.density(z), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "profile",
    [
        ExponentialProfile(300.0, 1e-5),
        ExponentialProfile(280.0),
        LinearProfile(300.0, 1e-5),
        TableProfile(np.array([0.0, 500.0, 2000.0]), np.array([300.0, 300.0, 309.0])),
        TableProfile(np.array([100.0, 500.0, 2000.0]), np.array([300.0, 301.0, 309.0])),
    ],
)
def test_the_integral_of_the_inverse(profile):
    for z in (0.0, 50.0, 700.0, 1999.0):
        expected = quad(lambda s: 1.0 / float(profile(np.array(s))), 0.0, z, points=[100.0, 500.0], epsrel=1e-12)[0]
        np.testing.assert_allclose(profile.inverse_integral(np.array(z)), expected, rtol=1e-11, atol=1e-15)


def test_the_pressure_of_the_density_is_hydrostatic():
    table = TableProfile(np.array([0.0, 500.0, 2000.0, 9000.0]), np.array([300.0, 300.0, 309.0, 340.0]))
    air = Atmosphere.from_sounding(table.heights, table.values, reference="sounding", surface_pressure=9.5e4)
    z = np.linspace(0.0, 8000.0, 4001)
    pressure = 1e5 * air.density.exner(z) ** (CP / RD)
    np.testing.assert_allclose(pressure[0], 9.5e4)
    middle = 0.5 * (z[1:] + z[:-1])
    np.testing.assert_allclose(np.diff(pressure) / np.diff(z), -G * air.density(middle), rtol=1e-5)


def test_stability_is_that_asked_for():
    z = np.linspace(0.0, 3000.0, 5)
    np.testing.assert_allclose(Atmosphere.boussinesq(buoyancy_frequency=0.01).stability(z, 50.0), 1e-4, rtol=1e-9)
    air = Atmosphere.anelastic(buoyancy_frequency=0.012, reference_frequency=0.012)
    np.testing.assert_allclose(air.stability(z, 50.0), 1.44e-4, rtol=1e-6)
    assert not Atmosphere.incompressible().stability(z, 50.0).any()


def test_the_slope_of_a_table_is_a_mean_over_a_level():
    table = TableProfile(np.array([0.0, 100.0, 200.0]), np.array([300.0, 300.0, 302.0]))
    np.testing.assert_allclose(slope(table, np.array([50.0, 100.0, 150.0]), 40.0), [0.0, 0.01, 0.02], atol=1e-12)


def test_implausible_air_is_refused_with_the_likely_mistake():
    """Plausible values are in tests/unit/test_plausible.py."""
    z = np.array([0.0, 1000.0, 2000.0, 12_000.0])
    theta = np.array([300.0, 303.0, 306.0, 350.0])
    wind = np.array([5.0, -9999.0, 10.0, 12.0])
    for give, what in (
        (lambda: Atmosphere.from_sounding(z, theta, wind), "fill value"),
        (lambda: Atmosphere.from_sounding(z, theta, v=wind), "fill value"),
        (lambda: Atmosphere.from_sounding(z, theta, surface_pressure=1000.0), "hPa"),
        (lambda: Atmosphere.from_sounding(z, 288.0 - 6.5e-3 * z), "temperature, not potential temperature"),
        (
            lambda: Atmosphere.from_sounding(np.array([0.0, 3000.0]), np.array([300.0, 271.0])),
            "temperature, not potential",
        ),
        (lambda: Atmosphere.anelastic(wind=(1000.0, 0.0)), "wind = 1000"),
        (lambda: Atmosphere.boussinesq(wind=(0.0, -9999.0)), "fill value"),
        (lambda: Atmosphere.anelastic(surface_pressure=1000.0), "hPa"),
        (lambda: Atmosphere.anelastic(buoyancy_frequency=-0.01), "below 0"),
        (lambda: Atmosphere.boussinesq(buoyancy_frequency=-0.01), "below 0"),
        (lambda: Atmosphere.anelastic(reference_frequency=-0.01), "below 0(.|\n)*reference_frequency"),
        (lambda: Atmosphere.boussinesq(theta=27.0), "degrees Celsius"),
    ):
        with pytest.raises(InputError, match=what):
            give()
    mixed = np.array([305.0, 303.0, 303.0, 350.0])  # a superadiabatic surface layer
    Atmosphere.from_sounding(z, mixed)
    Atmosphere.from_sounding(np.array([0.0, 100.0]), np.array([302.0, 300.0]))


def test_errors():
    with pytest.raises(InputError, match="increasing heights"):
        Atmosphere.from_sounding(np.array([0.0, 0.0]), np.array([300.0, 301.0]))
    with pytest.raises(InputError, match="at least two values"):
        Atmosphere.from_sounding(np.array([0.0]), np.array([300.0]))
    with pytest.raises(InputError, match="degrees Celsius"):
        Atmosphere.from_sounding(np.array([0.0, 10.0]), np.array([-3.0, 20.0]))
    with pytest.raises(InputError, match="end of the reference atmosphere"):
        check_height(Atmosphere.anelastic(theta=300.0), 31000.0)
    with pytest.raises(InputError, match=r"degrees Celsius[\s\S]*theta = 27 K[\s\S]*write:   theta = 300.15"):
        Atmosphere.anelastic(theta=27.0)
    with pytest.raises(InputError, match="up to 10 m"):
        check_height(Atmosphere.from_sounding(np.array([0.0, 10.0]), np.array([300.0, 301.0])), 20.0)
    check_height(Atmosphere.anelastic(theta=300.0, reference_frequency=0.02, buoyancy_frequency=0.02), 40000.0)
