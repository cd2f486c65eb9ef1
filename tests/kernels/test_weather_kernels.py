"""Fields of the weather in the kernels of a GPU, simulated: what the CPU's programs do with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eagre import Grid, Series, ShallowWater, ShallowWaterADI, WeatherPressure, WeatherRain, WeatherWind, ZoneRain
from eagre.constants import WATER_DENSITY
from eagre.models.shallow_water import schedules
from eagre.terms.collect import terms_of
from eagre.terms.compose import TermArrays, always, bind
from kernels.conftest import options_of
from weather_fields import at_cells, field

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


def zones(grid):
    """Rain that differs from zone to zone, three series and a constant."""
    zone = np.arange(grid.nx * grid.ny).reshape(grid.shape) % 5  # one of them is dry
    rates = [Series(np.array([0.0, 0.2]), np.array(ends), "rain") for ends in ((0.0, 1e-3), (8e-4, 0.0), (1e-3, 5e-4))]
    return [ZoneRain([*rates, 3e-4], np.stack([zone == k for k in range(4)]).astype(float))]


def made(kernel, device, precision, until=0.1, sources=None, **more):
    options = {**options_of(6, 4, seed=2), "precision": precision, "device": device, **more}
    grid = options["grid"]
    options["sources"] = weather(grid, 2.0 * grid.dx) if sources is None else sources(grid)
    if kernel == "implicit":
        for name in ("time_step", "desingularisation_depth"):
            del options[name]
        model = ShallowWaterADI(time_step=0.025, **options)
    else:
        model = ShallowWater(**{**options, "time_step": None})
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


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("kernel", "precision", "more"),
    [
        ("march", "double", {}),
        ("tiles", "single", {}),
        ("sweeps", "double", {"scheme": "ds2"}),
        ("implicit", "double", {}),
    ],
)
def test_simulated_rain_by_zone_is_that_of_the_cpu(kernel, precision, more, monkeypatch):
    from eagre.backend.simulated import SimulatedDevice

    if kernel == "march":
        monkeypatch.setattr(schedules.Tiles, "serve", staticmethod(lambda setup, device: False))
    ours, theirs = (made(kernel, device, precision, sources=zones, **more) for device in (SimulatedDevice(), "cpu"))
    assert ours.steps == theirs.steps >= 2 and ours.settings()["kernels"] == "fast"
    expected = theirs.field("depth")
    np.testing.assert_allclose(ours.field("depth"), expected, rtol=0, atol=TOLERANCE[precision] * 10)
    fallen = ours.diagnostics()["volume_rain"]
    assert fallen == pytest.approx(theirs.diagnostics()["volume_rain"], rel=TOLERANCE[precision]) and fallen > 1e-3


@pytest.mark.simulator
def test_a_band_reads_the_blend_of_its_rows():
    """Nodes two cells apart, a band that begins between them: rain, and slopes of the pressure from face to face."""
    from eagre.backend.simulated import SimulatedDevice

    grid, first, time = Grid(7, 9, 3.0, 2.0), 3, 0.15
    rain, _, pressure = weather(grid, 6.0)
    band = terms_of([rain, pressure], grid).rows(first, grid.ny, replace(grid, ny=6, y0=grid.y0 + 3 * grid.dy))
    band.use(time)
    values = np.array([[one(time) for one in band.series]])
    nowhere = lambda role, values: values  # noqa: E731
    wanted, device = {"WATER": "water", "FORCE_X": "x", "FORCE_Y": "y"}, SimulatedDevice()
    bound = bind(band, wanted, values, 0, np.float64, TermArrays(nowhere, nowhere, device, blended=True))
    device.run(bound.blend.launches("double", None, 0, always))
    falls = at_cells(rain.rate, grid, time)
    west, east = (at_cells(pressure.pressure, grid, time, dx=side) for side in (-1.5, 1.5))
    south, north = (at_cells(pressure.pressure, grid, time, dy=side) for side in (-1.0, 1.0))
    slope_x, slope_y = (east - west) / 3.0, (north - south) / 2.0
    for row in range(6):
        for column in range(7):
            where = (bound.arguments, None), row, (row, column)
            found = [
                bound.switches["WATER"](0.0, *where),
                *(bound.switches[name](0.0, 2.0, 0.0, 0.0, *where) for name in ("FORCE_X", "FORCE_Y")),
            ]
            at = first + row, column
            expected = falls[at], -2.0 / WATER_DENSITY * slope_x[at], -2.0 / WATER_DENSITY * slope_y[at]
            np.testing.assert_allclose(found, expected, rtol=1e-9)
