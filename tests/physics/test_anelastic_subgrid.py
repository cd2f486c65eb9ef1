"""What a closure carries and takes, in profiles: against a plain transcription, and against what changes."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import Forcing, Nudging, Smagorinsky, Surface
from eagre.grid import Grid
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.vertical_profiles import TableProfile
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.pressure.projection import Projected, Projection
from eagre.models.anelastic.sampling.mean_profiles import subgrids_of
from oracle import anelastic_stress as oracle

ON = {"device": "cpu", "precision": "double"}
ROUGH, HEAT, PRANDTL = 0.5, 0.2, 0.4


def noisy(hill):
    """Noise in stratified air over warm, rough ground."""
    grid, shape = Grid.from_points(6, 4, 300.0, 200.0, periodic=(True, True)), (7, 4, 6)
    ground = hill * (1.0 + np.cos(2.0 * np.pi * grid.x / 300.0)) * np.ones(grid.shape) if hill else None
    rng = np.random.default_rng(2)
    return AnelasticFlow(
        grid, 7, top_height=240.0, terrain_height=ground,
        velocity=tuple(rng.standard_normal(shape) + m for m in (5.0, 2.0, 0.0)),
        theta_perturbation=rng.standard_normal(shape), scalars={"dye": rng.random(shape)},
        atmosphere=Atmosphere.anelastic(buoyancy_frequency=0.01), closure=Smagorinsky(0.2, PRANDTL),
        surface=Surface(HEAT, roughness=ROUGH), time_step=1.0, **ON,
    )  # fmt: skip


def expected_of(model):
    """Upward fluxes over density by the names of fields, the dissipation and K: (nz, ny, nx)."""
    engine, metric, (dz, dy, dx) = model.engine, model.engine.metric, model.setup.spacing
    shape = model.setup.shape
    full = np.ones(shape)
    fade = (metric.fade if metric.fade.size > 1 else np.zeros(shape[0]))[:, None, None] * full
    g33 = full / metric.jacobian
    g13, g23 = (-fade * slope * g33 for slope in (metric.slope_x, metric.slope_y))
    rho = engine.base_state.density * full
    space = oracle.Space((dz, dy, dx), (True, False, False), rho * metric.jacobian, g13, g23, g33)
    z = model.levels.z + np.zeros(shape)
    n2, over = engine.base_state.stability * full, engine.base_state.buoyancy * full
    closure = oracle.Closure(space, 0.2, PRANDTL, n2, over, engine.base_state.theta * full, z - z[:1], ROUGH)
    u, v, w, theta, dye = (model.field(name) for name in ("u", "v", "w", "theta_perturbation", "dye"))
    k, length2 = closure.mixing([u, v, w, theta]), closure.length2(shape)

    def vertical(f, k):
        faces = 0.5 * ((rho * k * g33)[1:] + (rho * k * g33)[:-1]) * np.diff(f, axis=0) / dz
        flux = np.zeros(shape)
        flux[1:-1] = -0.5 * (faces[1:] + faces[:-1]) / rho[1:-1]
        return flux

    def centred(f, axis, d):
        return (np.roll(f, -1, axis) - np.roll(f, 1, axis)) / (2.0 * d)

    w_z = np.gradient(w, dz, axis=0)
    tilts = {"u": centred(w, 2, dx) + g13 * w_z, "v": centred(w, 1, dy) + g23 * w_z}
    found = {name: vertical(f, k) for name, f in (("u", u), ("v", v))}
    first = z[1] - z[0]
    friction = 0.4 * np.hypot(u[1], v[1]) / np.log(first / ROUGH)
    supply = np.maximum(0.2 * friction - 0.5 * (k[0] + k[1]) / first, 0.0)
    for name, f in (("u", u), ("v", v)):
        found[name][1:-1] -= (k * tilts[name])[1:-1]
        found[name][0] = -(friction**2) * f[1] / np.hypot(u[1], v[1])
        found[name][1] -= 0.5 * supply * (f[1] - f[0]) * 0.5 * (rho[0] + rho[1]) / rho[1]
    found["theta"] = vertical(theta + closure.ambient, k / PRANDTL)
    found["theta"][0] = HEAT
    found["dye"] = vertical(dye, k / PRANDTL)
    found["dissipation"] = k**3 / np.maximum(length2, 1e-30) ** 2
    return found, k


@pytest.mark.parametrize("hill", [pytest.param(0.0, marks=pytest.mark.slow), 25.0])
def test_fluxes_are_those_of_the_transcription(hill, monkeypatch):
    monkeypatch.setattr(Projection, "solve", lambda *_: Projected(0, 0.0))  # fluxes are those of any wind
    model = noisy(hill)
    expected, k = expected_of(model)
    closure = subgrids_of(model.engine)[0]
    closure.set_time(0.0)
    model.engine.device.run(closure.eddies())
    np.testing.assert_allclose(model.engine.steps.stages[0].tendencies.diffusion.mixing, k, rtol=1e-11, atol=1e-12)
    assert closure.names == tuple(expected)
    for name, wanted in expected.items():
        model.engine.device.run(closure.launches(name))
        np.testing.assert_allclose(closure.field, wanted, rtol=0, atol=1e-11 * np.abs(wanted).max(), err_msg=name)


def test_profiles_of_a_closure():
    model = noisy(0.0)
    averages = model.profiles(1)
    model.advance(1.0)
    found, (expected, k) = averages.take(1.0), expected_of(model)
    names = {"u": "subgrid_flux_u_w", "v": "subgrid_flux_v_w", "theta": "subgrid_flux_w_theta",
             "dye": "subgrid_flux_w_dye", "dissipation": "subgrid_dissipation"}  # fmt: skip
    for name, field in (*((names[key], one) for key, one in expected.items()), ("eddy_viscosity", k)):
        np.testing.assert_allclose(found[name], field.mean((1, 2)), rtol=1e-11, atol=1e-14)
    assert set(names.values()) <= {one.name for one in averages.variables}
    plain = AnelasticFlow(model.grid, 7, top_height=240.0, time_step=1.0, **ON).profiles(1)
    assert not {one.name for one in plain.variables} & {*names.values(), "eddy_viscosity"}


@pytest.mark.slow
def test_the_flux_over_rough_ground_is_the_same_at_all_heights():
    """Of a logarithmic wind under a level that is held: -u*^2, that of the ground among them."""
    count, height, grid = 7, 60.0, Grid.from_points(1, 1, 100.0, 100.0, periodic=(True, True))
    z = np.linspace(0.0, height, count)
    wind = 10.0 * np.log(np.maximum(z, 0.135 * z[1]) / 0.1) / np.log(height / 0.1)
    held = TableProfile(np.array([0.0, height - 0.1, height]), np.array([1e15, 1e15, 5.0]))
    model = AnelasticFlow(
        grid, count, top_height=height, velocity=(wind[:, None, None], 0.0, 0.0),
        surface=Surface(roughness=0.1), closure=Smagorinsky(10.0, 1.0, 1e3), tolerance=1e-12, courant_number=0.5,
        forcing=Forcing(nudging=Nudging(held, u=10.0)), **ON,
    )  # fmt: skip
    model.advance(1000.0)
    averages = model.profiles(1)
    model.advance(1010.0)
    flux = averages.take(1010.0)["subgrid_flux_u_w"]
    friction = 0.4 * model.field("u")[1, 0, 0] / np.log(z[1] / 0.1)
    np.testing.assert_allclose(flux[:-1], -(friction**2), rtol=1e-3)


def test_theta_changes_by_the_divergence_of_its_flux():
    """In a column; fluxes of levels are means of two faces: their divergence is a mean of three levels' rates."""
    count, height, step = 11, 200.0, 0.5
    z = np.linspace(0.0, height, count)[:, None, None]
    model = AnelasticFlow(
        Grid.from_points(1, 1, 20.0, 20.0, periodic=(True, True)), count, top_height=height,
        velocity=(0.05 * z, 0.0, 0.0),
        atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.01), surface=Surface(HEAT),
        closure=Smagorinsky(1.0, PRANDTL),
        time_step=step, tolerance=1e-12, **ON,
    )  # fmt: skip
    model.advance(100.0)
    averages, before = model.profiles(1), model.field("theta")[:, 0, 0].copy()
    model.advance(200.0)
    found, rates = averages.take(200.0), (model.field("theta")[:, 0, 0] - before) / 100.0
    assert found["subgrid_flux_w_theta"][0] == pytest.approx(HEAT)
    flux, dz = found["subgrid_flux_w_theta"], height / (count - 1)
    smooth = 0.25 * (rates[2:] + 2.0 * rates[1:-1] + rates[:-2])
    assert np.abs(smooth).max() > 1e-4
    np.testing.assert_allclose(
        -(flux[3:] - flux[1:-2])[:-1] / (2.0 * dz), smooth[1:-1], rtol=0, atol=2e-3 * np.abs(smooth).max()
    )
