"""Viscosity over terrain and the closure of Smagorinsky and Lilly in the anelastic model."""

from __future__ import annotations

import re

import numpy as np
import pytest

from eagre import Forcing, Nudging, Smagorinsky, Surface
from eagre.backend.device import CpuDevice
from eagre.constants import DRY_AIR_GAS_CONSTANT, DRY_AIR_HEAT_CAPACITY, GRAVITY
from eagre.errors import BlowUpError
from eagre.grid import Grid
from eagre.laboratory.cases.atmosphere import PERIOD, taylor_green
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.base.vertical_profiles import TableProfile
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.pressure.operator import Vector
from eagre.models.anelastic.stability import SAFETY_FACTOR, max_explicit_number, max_stable_courant
from eagre.models.anelastic.subgrid import closure
from eagre.models.anelastic.subgrid.closure import Medium, Mixing

ON = {"device": "cpu", "precision": "double"}


def hill_of(grid, height):
    return height * (1.0 + np.cos(2.0 * np.pi * grid.x / (grid.nx * grid.dx)))[None]


def test_viscosity_between_walls_and_levels_at_any_distance():
    """div(rho nu grad f) / rho of noise by hand: what stands across a wall is odd about it, all else even."""
    grid, levels = Grid.from_points(5, 4, 400.0, 180.0), np.array([0.0, 30.0, 90.0, 240.0, 400.0])
    shape, nu, kappa = (5, 4, 5), 2.0, 0.5
    model = AnelasticFlow(
        grid, levels, atmosphere=Atmosphere.anelastic(), boundaries={"x": "wall", "y": "wall"}, viscosity=nu,
        diffusivity=kappa, scalars={"dye": 0.0}, **ON,
    )  # fmt: skip
    fields, noise = model.engine.steps.fields, np.random.default_rng(2)
    exner = 1.0 - GRAVITY * levels / (DRY_AIR_HEAT_CAPACITY * 300.0)
    density = exner ** (DRY_AIR_HEAT_CAPACITY / DRY_AIR_GAS_CONSTANT - 1.0)
    thick = np.gradient(levels)
    held = {name: noise.standard_normal(shape) for name in fields.drag}
    assert set(held) == {"u", "v", "w", "theta", "dye"}
    for name, values in held.items():
        model.engine.device.fill(fields.present[name], values)
    model.engine.device.run(model.engine.steps.stages[0].tendencies.launches())
    for name, f in held.items():
        expected = np.zeros(shape)
        for axis, odd, spacing in ((2, "u", 100.0), (1, "v", 60.0), (0, "w", None)):
            f_ = np.moveaxis(f, axis, 0)
            beyond = np.pad(f_, ((1, 1), (0, 0), (0, 0)), mode="reflect")
            beyond[[0, -1]] *= -1.0 if name == odd else 1.0
            steps = np.diff(beyond, axis=0)
            if spacing is None:
                weight = np.pad(density / thick, 1, mode="reflect")
                steps *= 0.5 * (weight[1:] + weight[:-1])[:, None, None]
                found = np.diff(steps, axis=0) / (density * thick)[:, None, None]
            else:
                found = np.diff(steps, axis=0) / spacing**2
            expected += (nu if name in "uvw" else kappa) * np.moveaxis(found, 0, axis)
        np.testing.assert_allclose(fields.drag[name], expected, rtol=0, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("hill", [0.0, 40.0])
def test_a_shear_has_the_viscosity_of_its_strain(hill):
    """u = s z, over a hill too: K = (c D)^2 s, D the cube root of the cell; and stable air mixes less."""
    grid, shear = Grid.from_points(12, 4, 600.0, 200.0, periodic=(True, True)), 0.05
    for n2, part in ((0.0, 1.0), (0.5 * 0.4 * shear**2, np.sqrt(0.5)), (0.41 * shear**2, 0.0)):
        model = AnelasticFlow(
            grid, 9, top_height=400.0, terrain_height=hill_of(grid, hill) * np.ones((4, 1)),
            closure=Smagorinsky(0.2, 0.4),
            atmosphere=Atmosphere.boussinesq(buoyancy_frequency=np.sqrt(n2)), time_step=1e-6, tolerance=1e-2, **ON,
        )  # fmt: skip
        engine = model.engine
        z = model.levels.z + np.zeros(model.setup.shape)
        engine.device.fill(engine.steps.fields.velocity.u, shear * z)
        engine.device.run(engine.steps.stages[0].tendencies.launches())
        cell = engine.metric.jacobian * engine.setup.spacing[0] * grid.dx * grid.dy * np.ones(z.shape)
        expected = part * 0.04 * cell ** (2.0 / 3.0) * shear
        np.testing.assert_allclose(engine.steps.stages[0].tendencies.diffusion.mixing, expected, rtol=1e-6, atol=1e-9)


def test_the_stress_over_a_hill_is_of_second_order():
    """Of (sin ax cos bz, cos ax sin bz), whose div 2S is its Laplacian and the gradient of its divergence."""
    a, b, errors = 2.0 * np.pi, 1.5, []
    for n in (16, 32, 64):
        x = np.arange(n) / n
        metric = Metric((n + 1, 1, n), (1.0 / n, 1.0, 1.0 / n), hill=0.1 * np.cos(2.0 * np.pi * x)[None])
        device, z = CpuDevice(), metric.height
        u, w = np.sin(a * x) * np.cos(b * z), np.cos(a * x) * np.sin(b * z)
        medium, grid = Medium(metric.jacobian.copy(), **metric.arrays(device, "double")), metric.grid("double")
        out = Vector(*(np.zeros(z.shape) for _ in range(3)))
        loop = device.loop(closure.stress, "double", {"TERRAIN": True, "CLOSED": False})
        mixing = Mixing(1.0, 1.0, z)
        device.run([device.over(loop, z.shape, (Vector(u, np.zeros(z.shape), w), medium, grid, mixing, out))])
        laplace = -(a**2 + b**2)
        wanted = (laplace - (a + b) * a) * u, (laplace - (a + b) * b) * w
        inside = (slice(n // 8, -n // 8),)
        errors.append(max(np.abs(f - e)[inside].max() for f, e in zip((out.x, out.z), wanted, strict=True)))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (orders > 1.8).all(), (errors, orders)


@pytest.mark.parametrize("options", [{"viscosity": 5.0}, {"closure": Smagorinsky(0.3)}], ids=["viscosity", "closure"])
def test_noise_over_a_hill_loses_energy_and_a_scalar_keeps_its_mass(options):
    grid = Grid.from_points(12, 1, 600.0, 1.0, periodic=(True, True))
    noise = np.random.default_rng(1).standard_normal((2, 9, 1, 12))
    model = AnelasticFlow(
        grid, 9, top_height=400.0, terrain_height=hill_of(grid, 30.0), velocity=(noise[0], 0.0, noise[1]),
        scalars={"dye": noise[0] ** 2}, courant_number=0.4, tolerance=1e-9, **options, **ON,
    )  # fmt: skip
    plain = AnelasticFlow(
        grid, 9, top_height=400.0, terrain_height=hill_of(grid, 30.0), velocity=(noise[0], 0.0, noise[1]),
        courant_number=0.4, tolerance=1e-9, **ON,
    )  # fmt: skip
    first = model.diagnostics()
    spread = np.std(model.field("dye"))
    for one in (model, plain):
        one.advance(100.0)
    last = model.diagnostics()
    assert last["kinetic_energy"] < 0.9 * plain.diagnostics()["kinetic_energy"] < first["kinetic_energy"]
    assert abs(last["total_dye"] / first["total_dye"] - 1.0) < 1e-8
    assert np.std(model.field("dye")) < 0.5 * spread


def test_steps_follow_the_mixing_of_the_closure():
    """Vortices with a closure so strong that the wind's Courant number does not matter."""
    model = taylor_green(12, closure=Smagorinsky(2.0), courant_number=0.4, **ON)
    plain = taylor_green(12, courant_number=0.4, **ON)
    for one in (model, plain):
        one.advance(0.5)
    assert model.statistics()["dt_min"] < 0.2 * plain.statistics()["dt_max"]
    assert 0.9 * SAFETY_FACTOR * 0.4 < model.engine.fastest <= 0.4
    assert model.diagnostics()["mean_kinetic_energy"] < plain.diagnostics()["mean_kinetic_energy"]


def test_mixing_is_held_to_what_a_step_bears_until_steps_are_short_enough():
    """As where a wind rises of a sudden: a step 20 times too long."""
    model = taylor_green(12, closure=Smagorinsky(2.0), courant_number=0.4, **ON)
    model._stepper.time_step *= 20.0
    model.advance(0.5)
    most = max_explicit_number(max_stable_courant(model.setup.shape))
    assert 0.9 * most < model.engine.fastest < most
    assert model.statistics()["dt_min"] < 0.2 * model.statistics()["dt_max"]


@pytest.mark.parametrize("device", ["cpu", ["cpu", "cpu"]], ids=["one", "bands"])
def test_the_first_step_is_half_of_what_the_mixing_of_the_start_bears(device):
    """Vortices, of which K is known: l^2 |S|; a number of half of 0.4 in the fastest decay, 24 K / d^2."""
    model, d = taylor_green(12, closure=Smagorinsky(2.0), courant_number=0.4, **{**ON, "device": device}), PERIOD / 12
    u = model.field("u")[0]
    eddy = (2.0 * d) ** 2 * 2.0 * np.abs(np.roll(u, -1, 1) - np.roll(u, 1, 1)) / (2.0 * d)  # u_y + v_x is 0
    model.advance(1.0, max_steps=1)
    assert model.time == pytest.approx(0.2 / (4.0 * 3.0 * 2.0 * eddy.max() / d**2), rel=1e-3)


def test_mixing_that_is_too_strong_for_equal_steps_is_told_as_that():
    """Vortices, of which K and its place are known: l^2 |S|, at the start; the line that is told holds."""
    given = {"closure": Smagorinsky(2.0), **ON}
    with pytest.raises(BlowUpError) as caught:
        taylor_green(12, time_step=0.1, **given).advance(1.0)
    with pytest.raises(BlowUpError) as in_bands:
        taylor_green(12, time_step=0.1, **{**given, "device": ["cpu", "cpu"]}).advance(1.0)
    assert str(in_bands.value) == str(caught.value)
    text, (k, j, i), model = str(caught.value), caught.value.cell, taylor_green(12, time_step=0.1, **given)
    d, u, v = PERIOD / 12, model.field("u")[0], model.field("v")[0]
    strain = (np.roll(u, -1, 1) - np.roll(u, 1, 1)) / (2.0 * d)  # u_x = -v_y; u_y + v_x is 0
    eddy = (2.0 * d) ** 2 * 2.0 * np.abs(strain)
    number = r"a diffusion number of (\S+), above (\S+) in this wind"
    found = re.search(number + r": .* K = (\S+) m2/s, at x = (\S+) m, y = (\S+) m", text)
    assert found is not None and "Courant number" not in text, text
    number, borne, told, x, y = map(float, found.groups())
    west, south = 0.5 * (u + np.roll(u, 1, 1)), 0.5 * (v + np.roll(v, 1, 0))
    leaving = np.maximum(np.roll(west, -1, 1), 0.0) - np.minimum(west, 0.0)
    leaving += np.maximum(np.roll(south, -1, 0), 0.0) - np.minimum(south, 0.0)
    assert borne == pytest.approx(1.0 - 4.0 / 3.0 * (0.1 * leaving.max() / d) ** 2, abs=1e-3)
    assert told == pytest.approx(eddy.max(), rel=0.02) and eddy[j, i] == pytest.approx(eddy.max(), rel=0.02)
    assert (x, y) == pytest.approx((model.grid.x[i], model.grid.y[j]), rel=1e-4, abs=1e-4) and k == 0
    assert number == pytest.approx(0.1 * told * 4.0 * 3.0 * 2.0 / d**2, rel=0.01)
    line = re.search(r"time_step = (\S+), or courant_number = (\S+) without time_step", caught.value.advice)
    assert line is not None
    model = taylor_green(12, time_step=float(line[1]), **given)
    model.advance(0.1)
    assert model.diagnostics()["mean_kinetic_energy"] < 0.5
    assert "Courant or diffusion number" in dict(model.summary_rows)


def test_the_wind_over_rough_ground_is_logarithmic():
    """Under a level that is held: u = u*/kappa ln(z / z0), one stress at all heights; the length is kappa z."""
    count, height, rough = 13, 60.0, 0.1
    z = np.linspace(0.0, height, count)
    held = TableProfile(np.array([0.0, height - 0.1, height]), np.array([1e15, 1e15, 5.0]))
    model = AnelasticFlow(
        Grid.from_points(1, 1, 100.0, 100.0, periodic=(True, True)), count, top_height=height,
        velocity=(10.0, 0.0, 0.0), surface=Surface(roughness=rough), closure=Smagorinsky(10.0, 1.0, 1e3),
        tolerance=1e-12, courant_number=0.5, forcing=Forcing(nudging=Nudging(held, u=10.0)), **ON,
    )  # fmt: skip
    model.advance(1000.0)
    u = model.field("u")[:, 0, 0]
    friction = 0.4 * u[1] / np.log(z[1] / rough)
    np.testing.assert_allclose(u[1:], friction / 0.4 * np.log(z[1:] / rough), rtol=0.02)
    k = model.engine.steps.stages[0].tendencies.diffusion.mixing[:, 0, 0]
    flux = np.diff(u) / np.diff(z) * 0.5 * (k[1:] + k[:-1])
    np.testing.assert_allclose(flux[1:], friction**2, rtol=1e-3)


def test_a_closure_mixes_theta_itself():
    """Air that is mixed already stays so, whatever the ambient profile that its perturbation is counted from."""
    grid, count, height = Grid.from_points(1, 1, 50.0, 50.0, periodic=(True, True)), 9, 400.0
    z = np.linspace(0.0, height, count)[:, None, None]
    ambient = 300.0 * (1.0 + 1e-4 / 9.81 * z)
    model = AnelasticFlow(
        grid, count, top_height=height, atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.01),
        theta_perturbation=300.0 - ambient,
        velocity=(0.05 * z, 0.0, 0.0), closure=Smagorinsky(1.0), time_step=0.2, tolerance=1e-12, **ON,
    )  # fmt: skip
    model.advance(20.0)
    assert model.engine.steps.stages[0].tendencies.diffusion.mixing.min() > 10.0
    np.testing.assert_allclose(model.field("theta"), 300.0, rtol=0, atol=1e-9)
