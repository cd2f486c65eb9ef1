"""Sources against what the equations say by hand: rotation, wind, air pressure, rain."""

from __future__ import annotations

import math

import numpy as np
import pytest

import eagre
from eagre.terms.collect import terms_of

ROUND = eagre.Boundaries(*(eagre.Periodic() for _ in range(4)))


def box(device, source, boundaries=ROUND, nx=7, ny=5, size=1000.0, depth=10.0, bed=0.0, **options):
    """A small box of still water, 10 m deep and the same everywhere, in double precision."""
    return eagre.ShallowWater(
        eagre.Grid(nx, ny, size, size), bed, depth=depth, sources=[source], boundaries=boundaries,
        device=device, precision="double", **options,
    )  # fmt: skip


@pytest.mark.parametrize(("latitude", "sense"), [(45.0, -1.0), (-45.0, 1.0)])
def test_a_current_turns_with_the_inertial_period(latitude, sense, light_device):
    """To the right in the north: after a quarter of 2 pi / f an eastward current flows south."""
    model = box(light_device, eagre.Coriolis(latitude=latitude), nx=1, ny=1, velocity_x=1.0)
    f = 2.0 * 7.292115e-5 * math.sin(math.radians(45.0))
    model.advance(0.5 * math.pi / f)
    assert model.field("velocity_x") == pytest.approx(0.0, abs=1e-5)
    assert model.field("velocity_y") == pytest.approx(sense, rel=1e-5)
    assert model.diagnostics()["volume_error"] == 0.0  # known: only rain and open sides bring water


def test_beta_plane(light_device):
    model = box(light_device, eagre.Coriolis(f=1e-4, beta=2e-11), velocity_x=1.0, time_step=1.0)
    model.advance(1.0)
    f = 1e-4 + 2e-11 * np.array([-2000.0, -1000.0, 0.0, 1000.0, 2000.0])
    assert model.field("velocity_y")[:, 3] == pytest.approx(-f, rel=1e-5)


def test_wind_drives_the_whole_depth(light_device):
    """hu = t tau / rho, and the pattern multiplies it."""
    gust = eagre.Series(np.array([0.0, 1000.0]), np.array([0.0, 1.2]), "gust")
    model = box(light_device, eagre.WindStress(0.1, gust, pattern=np.full((5, 7), 2.0)))
    model.advance(500.0)
    assert model.field("discharge_x") == pytest.approx(2.0 * 0.1 * 500.0 / 1000.0, rel=1e-12)
    assert model.field("discharge_y") == pytest.approx(2.0 * 0.5 * 0.6 * 500.0 / 1000.0, rel=1e-12)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_sea_is_an_inverse_barometer(axis, light_device):
    """Surface and pressure balance at eta = -p / (rho g): 1 hPa is 1 cm. Unbalanced, it moves."""
    nx, ny = (40, 1) if axis == 0 else (1, 40)
    grid = eagre.Grid(nx, ny, 1000.0, 1000.0)
    low = -2000.0 * np.cos(math.pi * grid.mesh()[axis] / 40e3)
    speeds = []
    for balanced in (True, False):
        depth = 10.0 - (0.5 * low / (1000.0 * 9.81) if balanced else 0.0)
        air = eagre.AtmosphericPressure(low, factor=0.5)
        model = box(light_device, air, eagre.Boundaries(), nx, ny, depth=depth, gravity=9.81)
        model.advance(2000.0)
        speeds.append(model.diagnostics()["max_speed"])
    assert speeds[0] < 0.03 * speeds[1] and speeds[1] > 0.05


@pytest.mark.parametrize("axis", [0, 1])
def test_air_pressure_has_a_gradient_of_second_order_at_the_sides(axis):
    """A parabola, p = x^2 Pa m-2: its gradient is exact in every cell, those beside a side too."""
    nx, ny = (6, 2) if axis == 0 else (2, 6)
    grid = eagre.Grid(nx, ny, 2.0, 3.0)
    along = grid.mesh()[axis]
    terms = terms_of([eagre.AtmosphericPressure(along**2)], grid)
    depth = np.full(grid.shape, 3.0)
    forces = [terms.force(name, 0.0, depth, depth, depth) for name in "xy"]
    assert forces[axis] == pytest.approx(-6.0 * along / 1000.0, rel=1e-12)
    assert not forces[1 - axis].any()


@pytest.mark.parametrize("along", ["x", "y"])
def test_periodic_air_pressure_drives_no_mean_current(along, light_device):
    """The gradient is a central difference across the periodic sides too, so that its sum is 0."""
    nx, ny = (12, 3) if along == "x" else (3, 12)
    grid = eagre.Grid(nx, ny, 1000.0, 1000.0)
    axis = "xy".index(along)
    pressure = 2000.0 * np.sin(2.0 * math.pi * (grid.mesh()[axis] / 12e3) + 0.7)
    sides = ("west", "east") if along == "x" else ("south", "north")
    periodic = eagre.Boundaries(**{side: eagre.boundaries.Periodic() for side in sides})
    model = box(light_device, eagre.AtmosphericPressure(pressure), periodic, nx, ny, depth=10.0)
    model.advance(2000.0)
    moved = model.field(f"discharge_{along}")
    assert np.abs(moved).max() > 0.1
    assert abs(moved.mean()) < 0.02 * np.abs(moved).max()


def test_rain_cannot_be_negative():
    for rain in (eagre.Rain(-1e-5), eagre.Rain(1e-5, pattern=np.full((5, 7), -1.0))):
        with pytest.raises(eagre.InputError, match="rain"):
            box("cpu", rain)


def test_the_pattern_of_rain_bounds_the_time_step_on_dry_ground():
    """A pattern in mm/h times a rate of 1 mm/h is the rain that the plain rate is."""
    steps = []
    for rate, pattern in ((1e-3, None), (1e-6, np.full((5, 7), 1e3)), (1.0, np.full((5, 7), 1e-3))):
        model = box("cpu", eagre.Rain(rate, pattern), eagre.Boundaries(), depth=0.0)
        steps.append(model.time_step)
    assert steps[1:] == pytest.approx(2 * steps[:1])


def test_rain_is_integrated_exactly(light_device):
    """On water and on dry ground, with a pattern, while the rate grows."""
    rng = np.random.default_rng(5)
    grid = eagre.Grid(13, 9, 10.0, 10.0)
    pattern = rng.uniform(0.0, 2.0, grid.shape)
    rate = eagre.Series(np.array([0.0, 1000.0]), np.array([1e-5, 5e-5]), "rain")
    bed = rng.uniform(-1.0, 1.0, grid.shape_of("corner"))
    model = eagre.ShallowWater(
        grid, bed, surface_elevation=0.0, sources=[eagre.Rain(rate, pattern)], device=light_device, precision="double"
    )
    first = model.diagnostics()["volume"]
    model.advance(60.0)
    fallen = pattern.sum() * 100.0 * 60.0 * (1e-5 + 0.5 * 60.0 * 4e-8)
    assert model.diagnostics()["volume"] - first == pytest.approx(fallen, rel=1e-11)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("scheme", ["rk2", "ds2", "implicit"])
def test_rain_by_zone_is_integrated_exactly_and_goes_on(scheme, precision, light_device):
    """Each zone by its own series, over a restart with the same bits; constants are one map."""
    rng = np.random.default_rng(6)
    grid = eagre.Grid(13, 9, 10.0, 10.0)
    zone = rng.integers(0, 4, grid.shape)
    shares = np.stack([zone == k for k in range(4)]).astype(float)
    rates = [eagre.Series(np.array([0.0, 1000.0]), np.array(ends), "rain") for ends in ((1e-5, 5e-5), (4e-5, 0.0))]
    source = eagre.ZoneRain([*rates, 2e-5, 3e-5], shares)

    def made():
        options = {"depth": 0.5, "sources": [source], "device": light_device, "precision": precision}
        if scheme == "implicit":
            return eagre.ShallowWaterADI(grid, 0.0, 1.0, **options)
        return eagre.ShallowWater(grid, 0.0, scheme=scheme, boundaries=ROUND, time_step=1.0, **options)

    tolerance = {"single": 2e-3, "double": 1e-11}[precision]  # 0.1 mm of rain on 0.5 m
    model, other = made(), made()
    first = model.diagnostics()["volume"]
    model.advance(12.0)
    mean = np.array([1e-5 + 0.5 * 12.0 * 4e-8, 4e-5 - 0.5 * 12.0 * 4e-8, 2e-5, 3e-5])
    fallen = 100.0 * 12.0 * (np.bincount(zone.ravel()) * mean).sum()
    assert model.diagnostics()["volume"] - first == pytest.approx(fallen, rel=tolerance)
    assert model.diagnostics()["volume_rain"] == pytest.approx(fallen, rel={"single": 1e-6, "double": 1e-11}[precision])
    assert abs(model.diagnostics()["volume_error"]) < {"single": 1e-6, "double": 1e-13}[precision]
    other.advance(5.0)
    state, other = other.state(), made()
    other.restore(state)
    other.advance(12.0)
    whole = made()
    whole.advance(5.0)
    whole.advance(12.0)
    np.testing.assert_array_equal(other.field("depth"), whole.field("depth"))
    assert other.diagnostics()["volume_rain"] == whole.diagnostics()["volume_rain"]
