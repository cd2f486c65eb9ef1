"""Fields of the weather on a GPU, which reads them from nodes: as on the CPU, which has them as maps."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.models.shallow_water import schedules
from weather_fields import field

pytestmark = pytest.mark.gpu
TOLERANCE = {"single": 1e-4, "double": 1e-12}
GRID, TIMES = eagre.Grid(171, 200, 100.0, 120.0), [0.0, 100.0, 250.0, 400.0]


def wave(low, high, shift):
    """Smooth, and travelling."""
    return lambda x, y, t: 0.5 * (low + high) + 0.5 * (high - low) * np.sin((x + 0.3 * y) / 3e3 + shift + t / 300.0)


def made(kernel, device, precision):
    rain = field(GRID, TIMES, wave(0.0, 1e-5, 0.0), "rain", 800.0)
    winds = [field(GRID, TIMES, wave(-10.0, 25.0, shift), f"wind {shift}", 800.0) for shift in (1.0, 2.0)]
    pressure = field(GRID, TIMES, wave(9.9e4, 1.02e5, 3.0), "pressure", 800.0)
    sources = [eagre.WeatherRain(rain), eagre.WeatherWind(*winds), eagre.WeatherPressure(pressure)]
    options = {"surface_elevation": 0.0, "manning": 0.03, "sources": sources, "device": device, "precision": precision}
    if kernel == "implicit":
        return eagre.ShallowWaterADI(GRID, -20.0, 10.0, **options)
    return eagre.ShallowWater(GRID, -20.0, **options)


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("kernel", ["march", "tiles", "implicit"])
def test_a_gpu_does_what_the_cpu_does_and_goes_on_bit_for_bit(kernel, precision, monkeypatch):
    if kernel == "march":
        monkeypatch.setattr(schedules.Tiles, "serve", staticmethod(lambda setup, device: False))
    ours, again, theirs = (made(kernel, device, precision) for device in ("cuda", "cuda", "cpu"))
    for model in (ours, theirs):
        model.advance(180.0)
    again.restore(ours.state())
    for model in (ours, again, theirs):
        model.advance(300.0)
    for name in ("surface_elevation", "velocity_x", "velocity_y"):
        expected = theirs.field(name)
        np.testing.assert_allclose(
            ours.field(name), expected, rtol=0, atol=TOLERANCE[precision] * np.abs(expected).max()
        )
        np.testing.assert_array_equal(ours.field(name), again.field(name))
    assert abs(ours.diagnostics()["volume_error"]) < 1e-8
