"""Fields of the weather in the kernels of a GPU, simulated: what the CPU's programs do with them."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import ShallowWater, ShallowWaterADI, WeatherPressure, WeatherRain, WeatherWind
from eagre.models.shallow_water import schedules
from kernels.conftest import options_of
from weather_fields import field

TOLERANCE = {"single": 2e-5, "double": 1e-12}


def weather(grid, step):
    """Rain, wind and pressure that differ from place to place and record to record, on nodes every so many m."""
    times = [0.0, 0.05, 0.2]

    def noise(low, high):
        return lambda x, y, t: low + (high - low) * (np.sin(1e4 * (x + 1.7 * y + 31.0 * t)) ** 2)

    rain = field(grid, times, noise(0.0, 1e-3), "rain", step)
    winds = [field(grid, times, noise(-30.0, 30.0), f"wind {axis}", step) for axis in "xy"]
    pressure = field(grid, times, noise(1e5, 1e5 + 50.0), "pressure", step)
    return [WeatherRain(rain), WeatherWind(*winds), WeatherPressure(pressure)]


def made(kernel, device, precision, until=0.1):
    options = {**options_of(6, 4, seed=2), "precision": precision, "device": device}
    grid = options["grid"]
    options["sources"] = [*options.get("sources", []), *weather(grid, 2.0 * grid.dx)]
    if kernel == "implicit":
        for name in ("fixed_time_step", "desingularisation_depth"):
            del options[name]
        model = ShallowWaterADI(time_step=0.025, **options)
    else:
        model = ShallowWater(**{**options, "fixed_time_step": None})
    model.advance(until)
    return model


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("kernel", "precision"), [("march", "single"), ("march", "double"), ("tiles", "double"), ("implicit", "double")]
)
def test_simulated_kernels_read_records_as_the_cpu(kernel, precision, monkeypatch):
    from eagre.backend.simulated import SimulatedDevice

    if kernel == "march":
        monkeypatch.setattr(schedules.Tiles, "serve", staticmethod(lambda setup, device: False))
    ours, theirs = (made(kernel, device, precision) for device in (SimulatedDevice(), "cpu"))
    assert ours.steps == theirs.steps >= 2
    for name in ("surface_elevation", "velocity_x", "velocity_y"):
        expected = theirs.field(name)
        np.testing.assert_allclose(ours.field(name), expected, rtol=0, atol=TOLERANCE[precision] * 10, err_msg=name)
    found = ours.diagnostics()
    assert abs(found["volume_error"]) < 100 * TOLERANCE[precision]
