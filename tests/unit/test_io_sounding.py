"""Soundings from files."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.io.tables.sounding import read_heights, read_sounding

WRF = """\
1000.0  300.0  14.0   ! surface
 250.0  301.0  13.0  -5.0  1.0
 750.0  302.5  12.0  -4.0  0.0
"""


def written(tmp_path, text, name="input_sounding"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_an_input_sounding_has_the_surface_as_its_lowest_level(tmp_path):
    found = read_sounding(written(tmp_path, WRF))
    np.testing.assert_array_equal(found.z, [0.0, 250.0, 750.0])
    np.testing.assert_array_equal(found.theta, [300.0, 301.0, 302.5])
    np.testing.assert_allclose(found.humidity, [0.014, 0.013, 0.012])
    np.testing.assert_array_equal(found.u, [-5.0, -5.0, -4.0])
    assert found.surface_pressure == 1e5
    np.testing.assert_allclose(found.virtual.theta[0], 300.0 * (1.0 + 0.61 * 0.014))
    assert not found.virtual.humidity.any()


def test_many_levels(tmp_path):
    levels = "".join(f"{10.0 * k} {300.0 + 0.01 * k} 0 0 0\n" for k in range(1, 1201))
    assert read_sounding(written(tmp_path, "1000 300 0\n" + levels)).z.size == 1201


@pytest.mark.parametrize(
    ("text", "humidity"),
    [("z,theta,qv\n0,300,10\n100,301,8\n", [0.01, 0.008]), ("z (km);theta (K)\n0;300\n0.1;301\n", [0.0, 0.0])],
)
def test_tables_with_units(tmp_path, text, humidity):
    found = read_sounding(written(tmp_path, text, "air.csv"))
    np.testing.assert_allclose(found.z, [0.0, 100.0])
    np.testing.assert_allclose(found.humidity, humidity)
    assert not found.u.any() and found.surface_pressure is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1000 300 14\n250 301 13 -5\n", "(?s)line 2.*5 numbers"),
        ("1000 300 14\n250 301 13 -5 1\n200 302 13 -5 1\n", "200 m after 250 m"),
        ("100000 300 14\n250 301 13 -5 1\n", "hPa"),
        ("1000 26 14\n250 27 13 -5 1\n", "kelvin"),
        ("1000 300 14\n", "one line"),
        ("z,temperature\n0,300\n10,301\n", "theta"),
        ("z,theta\nnone\n", r"no row of numbers\n.*one row a level\n.*z,theta,u,v\n +0,300,5,0"),
        ("z (ft),theta\n0,300\n10,301\n", "z in 'ft'"),
    ],
)
def test_errors_say_the_line(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_sounding(written(tmp_path, text))


@pytest.mark.parametrize(("unit", "metres"), [("", 1.0), (" (m)", 1.0), (" (km)", 1000.0), (" (ft)", 0.3048)])
def test_values_at_heights_have_units(tmp_path, unit, metres):
    path = written(tmp_path, f"z{unit},u (kn)\n0,1\n2,3\n", "heights.csv")
    heights, values = read_heights(path, scale=lambda of: {"kn": 2.0}[of])
    np.testing.assert_allclose(heights, [0.0, 2.0 * metres])
    np.testing.assert_array_equal(values, [2.0, 6.0])
