"""Single precision, the default: water on high ground keeps its volume, its film and its balance."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from oracle.shallow_water import DepthOracle

GROUND = [0.0, 1000.0]


def volume(model):
    return model.diagnostics()["volume"]


def valley(ground, **options):
    """Water 0.3 m deep on the slopes of a closed valley that falls 50 m."""
    grid = eagre.Grid(30, 20, 10.0, 10.0)
    x, y = grid.mesh("corner")
    bed = ground + x / 6.0 + 2.0 * (y / 100.0 - 1.0) ** 2
    return eagre.ShallowWater(grid, bed, depth=0.3, manning=0.03, device="cpu", precision="single", **options)


@pytest.mark.parametrize("ground", GROUND)
def test_a_valley_that_drains_keeps_its_water(ground):
    """The surface as the unknown won 1.2 % in this hour on 50 m; rounding to the nearest lost 4e-5."""
    model = valley(ground)
    first = volume(model)
    model.advance(3600.0)
    assert model.diagnostics()["max_depth"] > 2.0  # it ran down
    assert model.diagnostics()["min_depth"] >= 0.0
    assert abs(volume(model) / first - 1.0) < 1e-6


@pytest.mark.slow
def test_a_valley_that_drains_keeps_its_water_for_a_day():
    """Rounding is a random walk: 4e-6 of 600 such cells in 3e5 steps, less with more cells or fewer steps."""
    grid = eagre.Grid(60, 40, 100.0, 100.0)
    x, y = grid.mesh("corner")
    bed = 1000.0 + x / 120.0 + 2.0 * (y / 2000.0 - 1.0) ** 2
    model = eagre.ShallowWater(grid, bed, depth=0.3, manning=0.03, device="cpu", precision="single")
    first = volume(model)
    model.advance(24 * 3600.0)
    assert model.diagnostics()["max_depth"] > 2.0
    assert abs(volume(model) / first - 1.0) < 1e-6


@pytest.mark.parametrize("ground", GROUND)
def test_a_film_runs_down_a_slope(ground):
    """It stopped at t = 0: the fourth power of the desingularisation depth was 0 in single precision."""
    grid = eagre.Grid(40, 6, 1.0, 1.0)
    x, _ = grid.mesh("corner")
    model = eagre.ShallowWater(grid, ground + 0.1 * x, depth=1e-6, device="cpu", precision="single")
    first = volume(model)
    model.advance(60.0)
    facts = model.diagnostics()
    assert facts["min_depth"] >= 0.0 and facts["max_depth"] > 1.5e-6
    assert abs(volume(model) / first - 1.0) < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_puddles_on_a_rough_bed(seed):
    """Of 40 of these, 22 stopped at t = 0, or their first step went on for 10 s."""
    rng = np.random.default_rng(seed)
    grid = eagre.Grid(20, 15, 5.0, 5.0)
    depth = np.where(rng.random(grid.shape) < 0.3, 10.0 ** rng.uniform(-8, -4, grid.shape), 0.0)
    bed = 30.0 + rng.standard_normal(grid.shape_of("corner"))
    model = eagre.ShallowWater(grid, bed, depth=depth, device="cpu", precision="single")
    first = volume(model)
    model.advance(60.0)
    facts = model.diagnostics()
    assert facts["min_depth"] >= 0.0 and facts["max_depth"] < 1e-3 and facts["max_speed"] < 20.0
    assert abs(volume(model) / first - 1.0) < 1e-6


@pytest.mark.parametrize(("ground", "slope", "depth", "rain"), [(60.0, 0.05, 0.0, 1e-5), (0.0, 0.0, 1.0, 1e-6)])
def test_rain_is_water(ground, slope, depth, rain):
    """A step's rain is 8e-8 m in the second case, on water whose unit in the last place is 1.2e-7 m: 5e-4 was lost."""
    grid = eagre.Grid(20, 10, 10.0 if slope else 1.0, 10.0 if slope else 1.0)
    x, _ = grid.mesh("corner")
    model = eagre.ShallowWater(
        grid, ground + slope * x, depth=depth, sources=[eagre.Rain(rain)], manning=0.03, device="cpu",
        precision="single",
    )  # fmt: skip
    first = volume(model)
    model.advance(3600.0)
    fallen = rain * 3600.0 * grid.cells * grid.cell_area
    assert (volume(model) - first) / fallen == pytest.approx(1.0, abs=1e-6)


def lakes(levels):
    """A staircase of lakes from 0 to 1000 m with islands, at rest."""
    rng = np.random.default_rng(3)
    grid = eagre.Grid(40, 12, 5.0, 5.0)
    bed = rng.uniform(-3.0, 0.5, grid.shape_of("corner"))
    dams = np.linspace(0, 40, len(levels) + 1).astype(int)
    surface = np.zeros(grid.shape)
    for first, last, level in zip(dams[:-1], dams[1:], levels, strict=True):
        bed[:, first + 1 : last + 1] += level
        surface[:, first:last] = level
    bed[:, dams] = max(levels) + 2.0
    return eagre.ShallowWater(grid, bed, surface_elevation=surface, device="cpu", precision="single")


@pytest.mark.parametrize(("levels", "limit"), [([7.3], 0.0), ([1000.7], 0.0), ([0.1, 251.37, 1000.7], 0.0)])
def test_lakes_stay_at_rest(levels, limit):
    """The lowest exactly; one above the datum to c eps of its depth: 3 m, waves of 5 m/s, 3e-7 m/s and some."""
    model = lakes(levels)
    model.advance(1800.0)
    assert np.abs(model.field("velocity_x")).max() <= limit and np.abs(model.field("velocity_y")).max() <= limit


def test_a_small_wave_on_a_deep_sea_is_not_lost():
    """1 mm on 4000 m, of which depth in single precision has 0.24 mm: as the surface it is stored whole."""
    grid = eagre.Grid(100, 2, 1000.0, 1000.0)
    x, _ = grid.mesh()
    surface = 1e-3 * np.exp(-(((x - 50e3) / 10e3) ** 2))
    runs = [
        eagre.ShallowWater(grid, -4000.0, surface_elevation=surface, device="cpu", precision=precision)
        for precision in ("single", "double")
    ]
    np.testing.assert_allclose(runs[0].field("surface_elevation"), surface, rtol=1e-6, atol=1e-10)
    for run in runs:
        run.advance(120.0)
    single, double = (run.field("surface_elevation") for run in runs)
    assert np.abs(double).max() < 7e-4  # it went apart
    np.testing.assert_allclose(single, double, rtol=0, atol=np.spacing(np.float32(4000.0)))


@pytest.mark.parametrize("ground", GROUND)
def test_films_of_the_model_are_those_of_the_oracle(ground):
    """Depths from 1e-6 to 1e-2 m on a slope with noise, both in single precision, a few steps."""
    rng = np.random.default_rng(8)
    grid = eagre.Grid(24, 9, 2.0, 2.0)
    x, _ = grid.mesh("corner")
    bed = np.round((0.1 * x + 0.02 * rng.standard_normal(x.shape)) * 1024.0) / 1024.0 + ground
    depth = 10.0 ** rng.uniform(-6.0, -2.0, grid.shape)
    reference = DepthOracle(bed, 2.0, 2.0, kappa=1e-4, real=np.float32)
    model = eagre.ShallowWater(
        grid, bed, depth=depth, desingularisation_depth=1e-4, time_step=0.05, device="cpu", precision="single"
    )
    q = np.stack([depth, 0.0 * depth, 0.0 * depth]).astype(np.float32)
    model.advance(0.5)
    q = reference.run(q, 0.5, fixed_dt=0.05)
    np.testing.assert_allclose(model.field("depth"), q[0], rtol=2e-3, atol=2e-7)
    assert model.diagnostics()["min_depth"] >= 0.0


def test_initial_depth_is_not_rounded_with_the_ground():
    """A film of 1.5e-6 m at 1000 m is 1.5e-6 m deep, and comes back so."""
    grid = eagre.Grid(6, 5, 1.0, 1.0)
    bed = 1000.0 + np.random.default_rng(0).standard_normal(grid.shape_of("corner"))
    model = eagre.ShallowWater(grid, bed, depth=1.5e-6, device="cpu", precision="single")
    depth = model.field("depth")
    lowest = np.unravel_index(np.argmin(model.field("bed")), depth.shape)  # its bed is below the datum by its own water
    assert abs(depth[lowest] - 1.5e-6) < 3e-7
    depth[lowest] = 1.5e-6
    np.testing.assert_array_equal(depth, np.float32(1.5e-6))


def test_a_state_of_another_datum_and_an_older_one_are_taken_up():
    """A model that was made dry has another datum; older states have the elevation of the surface, 1e-5 m at 100 m."""
    rng = np.random.default_rng(1)
    grid = eagre.Grid(12, 9, 2.0, 2.0)
    bed = 100.0 + rng.uniform(-2.0, 1.0, grid.shape_of("corner"))
    options = {"device": "cpu", "precision": "single"}
    wet = eagre.ShallowWater(grid, bed, surface_elevation=100.2, **options)
    state = wet.state()
    dry = eagre.ShallowWater(grid, bed, depth=0.0, **options)
    assert dry.setup.datum != wet.setup.datum
    dry.restore(state)
    np.testing.assert_allclose(dry.field("depth"), wet.field("depth"), rtol=0, atol=1e-6)
    np.testing.assert_allclose(dry.field("surface_elevation"), wet.field("surface_elevation"), rtol=0, atol=1e-5)
    assert dry.diagnostics()["volume"] == pytest.approx(wet.diagnostics()["volume"], rel=1e-6)
    old = {name: value for name, value in state.items() if name != "datum"}
    old["q"] = state["q"].copy()
    old["q"][0, 2:-2, 2:-2] = wet.field("surface_elevation")
    dry.restore(old)
    np.testing.assert_allclose(dry.field("depth"), wet.field("depth"), rtol=0, atol=1e-5)
    dry.advance(10.0)
    assert dry.diagnostics()["max_speed"] < 1e-3  # at rest but for the rounding of older states; ghosts too
