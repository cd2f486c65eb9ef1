"""Heat and drag of the ground in the anelastic model: budgets, and the wind that drag leads to."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from eagre import Forcing, Nudging, Smagorinsky, Surface
from eagre.backend.device import CpuDevice
from eagre.errors import InputError, MemoryNeededError
from eagre.grid import Grid
from eagre.laboratory.cases.atmosphere import convective_boundary_layer
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.vertical_profiles import TableProfile
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.sampling.outputs import mass_weights
from eagre.time_varying.series import Series

ON = {"device": "cpu", "precision": "double"}


def heated(nx, ny, count, height, **options):
    """Neutral air with a little noise over warm ground, 50 m between points."""
    grid = Grid.from_points(nx, ny, 50.0 * nx, 50.0 * ny, periodic=(True, True))
    noise = 0.1 * np.random.default_rng(5).standard_normal((count, ny, nx))
    chosen = {
        "atmosphere": Atmosphere.boussinesq(),
        "theta_perturbation": noise - noise.mean(),
        "time_step": 2.0,
        "tolerance": 1e-8,
    }
    return AnelasticFlow(grid, count, top_height=height, **(chosen | options), **ON)


def heat_of(model):
    """Integral of rho theta' over the domain, K kg."""
    return float((mass_weights(model.engine) * model.field("theta_perturbation")).sum())


def test_mean_theta_rises_by_what_comes_from_the_ground():
    """Flux times time over height, in convection: to 1e-6."""
    model = heated(8, 6, 13, 600.0, surface=Surface(0.24))
    first = heat_of(model)
    model.advance(300.0)
    rise = (heat_of(model) - first) / mass_weights(model.engine).sum()
    assert abs(rise / (0.24 * 300.0 / 600.0) - 1.0) < 1e-6
    assert model.diagnostics()["max_w"] > 0.1


def test_heat_of_a_map_over_a_hill():
    """Per horizontal area, where the density falls with height and the flux varies: to 1e-6."""
    x = 50.0 * np.arange(8) - 200.0
    hill, pattern = 100.0 / (1.0 + (x / 80.0) ** 2)[None], (1.0 + np.sin(x / 100.0))[None]
    model = heated(
        8, 1, 13, 600.0, terrain_height=hill, atmosphere=Atmosphere.anelastic(), surface=Surface(0.1, pattern)
    )
    first = heat_of(model)
    model.advance(100.0)
    density = model.engine.base_state.density[0, 0]
    expected = 0.1 * 100.0 * float((density * pattern[0]).sum()) * 50.0 * 50.0
    assert abs((heat_of(model) - first) / expected - 1.0) < 1e-6


def test_heat_follows_a_series():
    """A flux that rises and falls over an hour: its integral, with the error of second order in the step."""
    series = Series(np.linspace(0.0, 3600.0, 61), 0.1 * np.sin(np.pi * np.linspace(0.0, 1.0, 61)), "flux")
    errors = []
    for dt in (120.0, 60.0):
        model = heated(1, 1, 5, 1000.0, surface=Surface(series), time_step=dt, theta_perturbation=0.0)
        model.advance(3600.0)
        expected = np.trapezoid(series.values, series.times) / 1000.0
        errors.append(
            abs(model.field("theta_perturbation")[:, 0, 0] @ [0.125, 0.25, 0.25, 0.25, 0.125] / expected - 1.0)
        )
    assert errors[1] < 1e-3 and errors[0] / errors[1] > 2.5, errors


def test_the_column_loses_what_the_ground_takes():
    """One step from a wind that turns with height: momentum falls by u*^2 dt along the wind of the first level."""
    grid = Grid.from_points(3, 3, 300.0, 300.0, periodic=(True, True))
    z = np.linspace(0.0, 200.0, 6)[:, None, None]
    u, v = 4.0 + 0.02 * z, -3.0 + 0.01 * z
    model = AnelasticFlow(
        grid,
        6,
        top_height=200.0,
        velocity=(u, v, 0.0),
        surface=Surface(roughness=0.1),
        time_step=1.0,
        tolerance=1e-12,
        **ON,
    )
    before = [model.field(name) for name in "uv"]
    model.advance(1.0)
    weights = np.array([0.5, 1.0, 1.0, 1.0, 1.0, 0.5])[:, None, None] * 40.0
    first = np.array([4.8, -2.6])
    friction = 0.4 * np.hypot(*first) / np.log(40.0 / 0.1)
    for one, name, along in zip(before, "uv", first / np.hypot(*first), strict=True):
        lost = (weights * (one - model.field(name))).sum(0)
        np.testing.assert_allclose(lost, friction**2 * along, rtol=1e-12)


def test_the_wind_at_the_ground_is_that_of_the_log_law():
    """Below a level that is held: two friction velocities over kappa less."""
    grid = Grid.from_points(1, 1, 100.0, 100.0, periodic=(True, True))
    held = TableProfile(np.array([0.0, 1.0, 20.0]), np.array([1e15, 1e15, 10.0]))
    model = AnelasticFlow(
        grid, 2, top_height=20.0, velocity=(8.0, 0.0, 0.0), surface=Surface(roughness=0.1),
        forcing=Forcing(nudging=Nudging(held, u=8.0)), time_step=2.0, tolerance=1e-12, **ON,
    )  # fmt: skip
    model.advance(2000.0)
    ground, first = model.field("u")[:, 0, 0]
    assert ground == pytest.approx(first - 2.0 * first / np.log(20.0 / 0.1), rel=1e-6)


def test_what_is_refused():
    for surface, more, words in (
        (Surface(0.1), {"atmosphere": None}, "incompressible"),
        (Surface(roughness=10.0), {}, "m with the first level at 50 m"),
        (Surface(roughness=0.0), {}, "roughness = 0"),
        (Surface(0.1, pattern=np.ones(3)), {}, "pattern of shape"),
        (Surface(0.1), {"boundaries": {"z": "periodic"}}, "without a bottom wall"),
    ):
        with pytest.raises(InputError, match=words):
            heated(4, 1, 13, 600.0, surface=surface, **({"theta_perturbation": 0.0} | more))


def test_a_mixed_layer_grows_as_its_heat_says():
    """After an hour of convection: well mixed, as high as sqrt(1 + 2 A) of encroachment with A = 0.1 to 0.3."""
    model = convective_boundary_layer(16, **ON)
    model.advance(3600.0)
    z, w = model.levels.height, model.field("w")
    theta = model.engine.base_state.theta + model.field("theta_perturbation")
    mean = theta.mean((1, 2))
    lapse = 300.0 * 1e-4 / 9.81
    encroached = np.sqrt(2.0 * 0.1 * 3600.0 / lapse)
    middle = (z > 0.25 * encroached) & (z < 0.75 * encroached)
    assert np.ptp(mean[middle]) < 0.3 * lapse * np.ptp(z[middle])
    flux = (w * (theta - mean[:, None, None])).mean((1, 2))
    half_level = 0.5 * z[1] / encroached
    assert np.sqrt(1.2) - half_level < z[flux.argmin()] / encroached < np.sqrt(1.6) + half_level
    assert 0.03 < -flux.min() / 0.1 < 0.3


@pytest.mark.parametrize(
    ("hill", "precision"),
    [
        (0.0, "double"),
        pytest.param(0.0, "single", marks=pytest.mark.slow),
        pytest.param(100.0, "single", marks=pytest.mark.slow),
        pytest.param(100.0, "double", marks=pytest.mark.slow),
    ],
)
def test_memory_that_is_asked_for_is_what_a_run_takes(hill, precision, monkeypatch):
    """All arrays of the host at one time, of a run that drives and mixes the air and of one that does not."""
    grid = Grid.from_points(64, 64, 3200.0, 3200.0, periodic=(True, True))
    ground = hill * np.exp(-(((grid.x - 1600.0) / 500.0) ** 2)) * np.ones((64, 1))
    more = {"surface": Surface(0.1), "closure": Smagorinsky(), "scalars": {"dye": 1.0}, "coriolis": 1e-4}
    for options in ({}, more if hill else {"surface": Surface(0.1)}):

        def run(options=options):
            air = Atmosphere.boussinesq(buoyancy_frequency=0.01)
            known = {
                "top_height": 1000.0,
                "atmosphere": air,
                "terrain_height": ground,
                "device": "cpu",
                "precision": precision,
            }
            AnelasticFlow(grid, 64, **known, **options).advance(60.0, max_steps=2)

        run()  # which compiles
        tracemalloc.start()
        run()
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        with monkeypatch.context() as patch, pytest.raises(MemoryNeededError) as refused:
            patch.setattr(CpuDevice, "free_memory", lambda self: 0)
            run()
        assert 0.95 <= refused.value.needed / taken <= 1.3


def test_steps_are_as_short_as_drag_over_thin_levels_wants():
    """The wind at the ground fell and rose to 58 m/s where a step was ten times what the lowest levels bear."""
    grid = Grid.from_points(4, 4, 32e3, 32e3, periodic=(True, True))
    levels = np.concatenate([[0.0, 10.0, 25.0, 45.0, 75.0], np.linspace(115.0, 1500.0, 15)])
    known = {"atmosphere": Atmosphere.boussinesq(wind=(10.0, 0.0)), "surface": Surface(roughness=0.1), "device": "cpu"}
    with pytest.raises(InputError, match=r"up to 9.59 s with this viscosity, forcing, surface drag and grid spacing"):
        AnelasticFlow(grid, levels, time_step=100.0, **known)
    model, winds = AnelasticFlow(grid, levels, **known), [10.0]
    for _ in range(60):
        model.advance(1e9, 1)
        winds.append(float(model.field("u")[0, 0, 0]))
    assert model.time_step > 9.0 and max(np.diff(winds)) < 0.01, winds
