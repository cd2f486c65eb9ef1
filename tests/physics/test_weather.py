"""Rain, wind and pressure that change in space and time, in both shallow-water models."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import eagre
from eagre.models.shallow_water_adi.memory_layout import MAX_MARGIN
from eagre.terms.collect import terms_of
from eagre.time_varying.series import Series
from weather_fields import at_cells, field

GRID = eagre.Grid(7, 5, 40.0, 50.0)
TIMES = [0.0, 30.0, 50.0, 100.0]


def explicit(grid, sources, precision="double", **options):
    options = {"surface_elevation": 0.0, **options}
    return eagre.ShallowWater(grid, -4.0, sources=sources, precision=precision, **options)


def implicit(grid, sources, precision="double", **options):
    options = {"time_step": 5.0, "surface_elevation": 0.0, **options}
    return eagre.ShallowWaterADI(grid, -4.0, sources=sources, precision=precision, **options)


MODELS = pytest.mark.parametrize("make", [explicit, implicit])


def shower(grid, spacing=100.0):
    """Another rain at every node and record."""
    return field(grid, TIMES, lambda x, y, t: 1e-4 * np.sin(1e3 * (x + 1.7 * y + 31.0 * t)) ** 2, "rain", spacing)


def storm(grid, spacing=100.0):
    """A wind and a low that pass over."""
    wind_x = field(grid, TIMES, lambda x, y, t: 20.0 + 0.01 * x - 0.1 * t, "wind x", spacing)
    wind_y = field(grid, TIMES, lambda x, y, t: -5.0 + 0.05 * y + 0.0 * x, "wind y", spacing)
    low = field(grid, TIMES, lambda x, y, t: 1e5 - 2000.0 * np.exp(-(((x - t) / 100.0) ** 2)), "pressure", spacing)
    return [eagre.WeatherWind(wind_x, wind_y), eagre.WeatherPressure(low)]


@MODELS
def test_rain_is_integrated_exactly(make, light_device):
    """Over records of different length: the volume that fell, and the balance that says so."""
    rain = shower(GRID)
    model = make(GRID, [eagre.WeatherRain(rain)], device=light_device)
    first = model.diagnostics()["volume"]
    model.advance(80.0)
    fallen = 0.0
    for k in range(len(TIMES)):
        factor = Series(np.array(TIMES), np.eye(len(TIMES))[k]).mean(0.0, 80.0)
        fallen += 80.0 * factor * at_cells(rain, GRID, TIMES[k]).sum() * GRID.cell_area
    found = model.diagnostics()
    assert found["volume"] - first == pytest.approx(fallen, rel=1e-11)
    assert abs(found["volume_error"]) < 1e-14


@MODELS
def test_a_file_of_rain_is_booked_beside_another_rain(make, light_device):
    """Each in its own row of the book behind those of an open side, when records change too."""
    rain, options = eagre.Rain(2e-5), {"boundaries": eagre.Boundaries(west=eagre.Stage(0.0)), "device": light_device}
    alone = make(GRID, [rain], **options)
    file, both = (make(GRID, [*more, eagre.WeatherRain(shower(GRID))], **options) for more in ([], [rain]))
    for model in (alone, file, both):
        model.advance(80.0)
    fallen = [model.diagnostics()["volume_rain"] for model in (alone, file, both)]
    assert fallen[2] == pytest.approx(fallen[0] + fallen[1], rel=1e-12) and min(fallen) > 1.0
    assert abs(both.diagnostics()["volume_error"]) < 1e-13


@MODELS
def test_a_uniform_pressure_and_no_wind_change_no_bit(make, light_device):
    calm = [field(GRID, TIMES, lambda x, y, t: 0.0, f"wind {axis}", 100.0) for axis in "xy"]
    still = field(GRID, TIMES, lambda x, y, t: 1e5 + 10.0 * t, "pressure", 100.0)
    hump = 0.3 * np.exp(-(((GRID.mesh()[0] - 100.0) / 60.0) ** 2))
    for precision in ("single", "double"):
        found = []
        for sources in ([], [eagre.WeatherWind(*calm), eagre.WeatherPressure(still)]):
            model = make(GRID, sources, device=light_device, precision=precision, surface_elevation=hump)
            for time in TIMES[1:]:  # the implicit model's steps are shortened to land there
                model.advance(time)
            found.append(model.field("surface_elevation"))
        assert np.ptp(found[0]) > 0.01
        np.testing.assert_array_equal(found[0], found[1])


@MODELS
def test_a_run_that_is_taken_up_has_the_same_bits(make, light_device):
    """In the middle of an interval and at a record."""
    for first in (40.0, 50.0):
        sources = [eagre.WeatherRain(shower(GRID)), *storm(GRID)]
        whole = make(GRID, sources, device=light_device)
        whole.advance(first)
        state = copy.deepcopy(whole.state())
        whole.advance(90.0)
        again = make(GRID, [eagre.WeatherRain(shower(GRID)), *storm(GRID)], device=light_device)
        again.restore(state)
        again.advance(90.0)
        for name in ("surface_elevation", "velocity_x", "velocity_y"):
            np.testing.assert_array_equal(again.field(name), whole.field(name))
        assert again.diagnostics() == whole.diagnostics()


def test_forces_of_wind_and_pressure_against_the_formulas():
    """At centres, against SciPy's interpolation and a drag by hand; the gradient is that between nodes."""
    sources, time = storm(GRID), 40.0
    terms = terms_of(sources, GRID)
    terms.use(time)
    h = np.full(GRID.shape, 3.0)
    wind, low = sources
    u, v = at_cells(wind.x, GRID, time), at_cells(wind.y, GRID, time)
    speed = np.hypot(u, v)
    drag = np.where(speed < 11.0, 1.2e-3, 0.49e-3 + 0.065e-3 * speed)
    assert speed.min() > 11.0
    nodes = low.pressure.nodes
    p = low.pressure.at(time)
    place = (np.arange(GRID.nx) + 0.5) / nodes.step_x
    n = np.minimum(place.astype(int), nodes.shape[1] - 2)
    slope = (p[0, n + 1] - p[0, n]) / (nodes.step_x * GRID.dx)
    wanted = {"x": 1.225e-3 * drag * speed * u - h * slope / 1000.0, "y": 1.225e-3 * drag * speed * v}
    for along, expected in wanted.items():
        np.testing.assert_allclose(terms.force(along, time, h, h, h), expected, rtol=1e-12)


@pytest.mark.slow
@MODELS
def test_a_wind_sets_a_basin_up(make):
    """g h eta_x = tau / rho: with the volume kept, h^2 = C + 2 tau x / (rho g), a parabola on its side."""
    grid = eagre.Grid(40, 1, 250.0, 250.0)
    calm = field(grid, [0.0, 1e6], lambda x, y, t: 0.0, "wind y")
    wind = field(grid, [0.0, 1e6], lambda x, y, t: 20.0, "wind x")
    model = make(grid, [eagre.WeatherWind(wind, calm, drag=2.0e-3)], manning=0.3, device="cpu", **long_steps(make))
    model.advance(86400.0)
    k = 2.0 * 1.225e-3 * 2.0e-3 * 400.0 / 9.81
    x = np.linspace(0.0, 1e4, 40001)
    low, high = 0.0, 40.0
    for _ in range(60):
        constant = 0.5 * (low + high)
        low, high = (constant, high) if np.sqrt(constant + k * x).mean() < 4.0 else (low, constant)
    exact = np.sqrt(low + k * grid.x) - 4.0
    assert exact[-1] > 0.05
    np.testing.assert_allclose(model.field("surface_elevation")[0], exact, atol=2e-3 * exact[-1])


def long_steps(make):
    return {"time_step": 60.0} if make is implicit else {}


@pytest.mark.slow
@MODELS
def test_the_sea_rises_under_a_low(make):
    """Water at rest comes to rest again as an inverse barometer, eta = (mean p - p) / (rho g): 1 hPa is 1 cm."""
    grid = eagre.Grid(40, 1, 1000.0, 1000.0)

    def low(x, y, t):
        return 1e5 - 2000.0 * np.exp(-(((x - 2e4) / 8e3) ** 2)) * min(t / 3600.0, 1.0)

    pressure = field(grid, [0.0, 3600.0, 1e6], low, "pressure")
    model = make(grid, [eagre.WeatherPressure(pressure)], manning=0.5, device="cpu", **long_steps(make))
    model.advance(2 * 86400.0)
    p = at_cells(pressure, grid, 1e5)
    exact = (p.mean() - p) / (1000.0 * 9.81)
    assert np.ptp(exact) > 0.19
    np.testing.assert_allclose(model.field("surface_elevation"), exact, atol=1e-3)


@pytest.mark.parametrize(("make", "count"), [(explicit, 10), (implicit, 16)])
def test_memory_of_a_cpu_is_checked_with_the_maps_of_the_weather(make, count, monkeypatch):
    """As many arrays as are made: of each record in use, one for each way to read it; sweeps have their own."""
    asked = []
    monkeypatch.setattr("eagre.checks.check_host_memory", asked.append)
    model, plain = make(GRID, []), max(asked)
    made = make(GRID, [eagre.WeatherRain(shower(GRID)), *storm(GRID)])
    padding = (5, 5) if make is explicit else MAX_MARGIN
    assert max(asked) - plain == count * 8 * (GRID.ny + padding[0]) * (GRID.nx + padding[1])
    bound = [made._engine.records] if make is explicit else [one.records for one in made._engine._terms]
    assert len({id(one[2]) for records in bound for one in records._arrays.values()}) == count
    assert model.device.kind == "cpu"
