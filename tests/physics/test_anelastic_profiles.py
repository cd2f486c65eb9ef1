"""Horizontally averaged profiles of anelastic flow against sums in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.constants import DRY_AIR_GAS_CONSTANT, DRY_AIR_HEAT_CAPACITY, GRAVITY
from eagre.errors import InputError
from eagre.models.anelastic.base.atmosphere import Atmosphere

TIGHT = {"single": 3e-5, "double": 1e-12}


def flow(precision="double", hill=False, boundaries=None, shape=(9, 6, 8), **options):
    """Noise in stratified air."""
    nz, ny, nx = shape
    boundaries = boundaries or {}
    wraps = (boundaries.get("x", "periodic") == "periodic", boundaries.get("y", "periodic") == "periodic")
    grid = eagre.Grid.from_points(nx, ny, 800.0, 600.0, periodic=wraps)
    rng = np.random.default_rng(5)
    wind = tuple(rng.standard_normal(shape) + mean for mean in (10.0, -3.0, 0.0))
    ground = 150.0 * np.exp(-(((grid.x - 400.0) / 150.0) ** 2)) * np.ones(grid.shape) if hill else None
    known = {"atmosphere": Atmosphere.boussinesq(buoyancy_frequency=0.01), "scalars": {"dye": rng.random(shape)}}
    return eagre.AnelasticFlow(
        grid, nz, top_height=800.0, velocity=wind, theta_perturbation=rng.standard_normal(shape), boundaries=boundaries,
        terrain_height=ground, device="cpu", precision=precision, **(known | options),
    )  # fmt: skip


def plane_weights(model):
    found = []
    for n, side in zip(model.setup.shape[1:], model.setup.boundaries[1:], strict=True):
        one = np.ones(n)
        if side == "wall":
            one[0] = one[-1] = 0.5
        found.append(one)
    return found[0][:, None] * found[1][None, :]


def at_heights(model, field, heights):
    """A field at heights, linear between the points of each column; not a number under the ground."""
    z = np.broadcast_to(model.levels.z, field.shape)
    out = np.empty((len(heights), *field.shape[1:]))
    for j in range(field.shape[1]):
        for i in range(field.shape[2]):
            out[:, j, i] = np.interp(heights, z[:, j, i], field[:, j, i], left=np.nan)
    return out


def expected_of(model, heights):
    """Averages of the moment, and the horizontal means."""
    air = {name: at_heights(model, model.field(name).astype(float), heights)
           for name in ("u", "v", "w", "pressure", "theta_perturbation", "dye")}  # fmt: skip
    weights = np.broadcast_to(plane_weights(model), air["u"].shape)

    def mean(field):
        counted = np.where(np.isfinite(field), weights, 0.0)
        area = counted.sum((1, 2))  # 0 for the pressure before the first step, which is missing
        return np.where(counted > 0.0, counted * field, 0.0).sum((1, 2)) / np.where(area > 0.0, area, np.nan)

    means = {name: mean(field) for name, field in air.items()}
    u, v, w, p, theta, dye = (air[name] - means[name][:, None, None] for name in air)
    energy = 0.5 * (u * u + v * v + w * w)
    found = dict(means) | {
        "variance_u": mean(u * u), "variance_v": mean(v * v), "variance_w": mean(w * w),
        "covariance_u_v": mean(u * v), "covariance_u_w": mean(u * w), "covariance_v_w": mean(v * w),
        "third_moment_w": mean(w**3), "turbulent_kinetic_energy": mean(energy),
        "covariance_w_theta": mean(w * theta), "variance_theta": mean(theta**2), "third_moment_theta": mean(theta**3),
        "covariance_w_dye": mean(w * dye), "variance_dye": mean(dye**2), "third_moment_dye": mean(dye**3),
    }  # fmt: skip
    found["theta"] = means["theta_perturbation"] + 300.0 * (1.0 + 1e-4 / GRAVITY * np.asarray(heights))
    return found | {"we": mean(w * energy), "wp": mean(w * p)}


def over_time(model, averages, times):
    """Averages of the moments after steps, by the lengths of the steps, and what `averages` gathers."""
    sums, first = {}, expected_of(model, averages.heights)
    begin = before = model.time
    for _ in range(times):
        model.advance(1e9, max_steps=1)
        now = expected_of(model, averages.heights)
        slopes = {name: gradient(now[name], averages.heights) for name in ("u", "v", "w")}
        fluxes = {"u": "covariance_u_w", "v": "covariance_v_w", "w": "variance_w"}
        now["shear"] = -np.sum([now[fluxes[name]] * slopes[name] for name in slopes], axis=0)
        for name, values in now.items():
            sums[name] = sums.get(name, np.zeros(values.shape)) + (model.time - before) * values
        before = model.time
    length = model.time - begin
    means = {name: values / length for name, values in sums.items()}
    means["tke_storage"] = (now["turbulent_kinetic_energy"] - first["turbulent_kinetic_energy"]) / length
    return means, averages.take(model.time)


def gradient(values, heights):
    """Between neighbours, one-sided at the ends."""
    found = np.empty(values.size)
    found[1:-1] = (values[2:] - values[:-2]) / (heights[2:] - heights[:-2])
    found[0] = (values[1] - values[0]) / (heights[1] - heights[0])
    found[-1] = (values[-1] - values[-2]) / (heights[-1] - heights[-2])
    return found


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize(
    ("boundaries", "hill", "heights"),
    [
        ({}, False, None),
        ({"x": "wall"}, False, None),
        ({"y": "wall"}, False, [0.0, 130.0, 200.0, 799.0]),
        ({"x": "wall", "y": "wall"}, True, None),
        ({}, True, [30.0, 170.0, 300.0, 500.0, 800.0]),
    ],
)
def test_profiles_are_those_of_plain_sums(precision, boundaries, hill, heights):
    model = flow(precision, hill, boundaries, courant_number=0.4)
    averages = model.profiles(1, heights)
    means, found = over_time(model, averages, 4)
    air = averages.share > 0.0
    for name in [one.name for one in averages.variables if not one.name.startswith("tke_")]:
        scale = np.nanmax(np.abs(means[name])) if name != "pressure" else np.nanmax(np.abs(means["wp"]))
        np.testing.assert_allclose(found[name][air], means[name][air], rtol=0, atol=TIGHT[precision] * scale + 1e-12)
    whole = np.isfinite(found["tke_shear"])
    assert whole.sum() >= 3
    if not hill:
        assert whole.all()
    density = 1.0
    rates = {
        "tke_storage": means["tke_storage"],
        "tke_shear": means["shear"],
        "tke_buoyancy": GRAVITY / 300.0 * means["covariance_w_theta"],
        "tke_transport": -gradient(density * means["we"], averages.heights),
        "tke_pressure": -gradient(density * means["wp"], averages.heights),
    }
    for name, rate in rates.items():
        scale = np.nanmax(np.abs(rate[whole])) + 1e-3
        np.testing.assert_allclose(found[name][whole], rate[whole], rtol=0, atol=30 * TIGHT[precision] * scale)
    total = np.sum([found[name] for name in (*rates, "tke_residual") if name != "tke_storage"], axis=0)
    np.testing.assert_allclose(total[whole], found["tke_storage"][whole], rtol=1e-9, atol=1e-12)


def test_the_budget_of_air_whose_density_falls_with_height():
    """Transport and pressure work are divergences of fluxes of mass; g / theta_b is that of each height."""
    n_b, power = 0.03, DRY_AIR_HEAT_CAPACITY / DRY_AIR_GAS_CONSTANT - 1.0
    air = Atmosphere.anelastic(reference_frequency=n_b, buoyancy_frequency=0.01)
    model = flow(shape=(9, 4, 5), atmosphere=air, courant_number=0.4)
    averages = model.profiles(1, [0.0, 130.0, 200.0, 520.0, 799.0])
    means, found = over_time(model, averages, 3)
    z, s = averages.heights, n_b**2 / GRAVITY
    theta_b = 300.0 * np.exp(s * z)
    exner = 1.0 - GRAVITY / DRY_AIR_HEAT_CAPACITY * (1.0 / 300.0 - 1.0 / theta_b) / s
    density = exner**power / theta_b  # times a constant
    rates = {
        "tke_buoyancy": GRAVITY / theta_b * means["covariance_w_theta"],
        "tke_transport": -gradient(density * means["we"], z) / density,
        "tke_pressure": -gradient(density * means["wp"], z) / density,
    }
    for name, rate in rates.items():
        np.testing.assert_allclose(found[name], rate, rtol=0, atol=1e-9 * np.abs(rate).max(), err_msg=name)
    np.testing.assert_allclose(found["theta"], means["theta_perturbation"] + 300.0 * np.exp(1e-4 / GRAVITY * z))


def test_the_budget_of_a_ring_of_heights_goes_round():
    """Between the last level and the first the same distance as between others."""
    grid, rng = eagre.Grid.from_points(5, 4, 500.0, 400.0, periodic=(True, True)), np.random.default_rng(3)
    model = eagre.AnelasticFlow(
        grid, 6, top_height=600.0, velocity=tuple(rng.standard_normal((3, 6, 4, 5))), boundaries={"z": "periodic"},
        courant_number=0.4, device="cpu", precision="double",
    )  # fmt: skip
    averages = model.profiles(1)
    model.advance(1e9, max_steps=1)
    found = averages.take(model.time)
    wind = [model.field(name) for name in "uvw"]
    means = [one.mean((1, 2)) for one in wind]
    u, v, w = (one - mean[:, None, None] for one, mean in zip(wind, means, strict=True))

    def rise(f):
        return (np.roll(f, -1) - np.roll(f, 1)) / 200.0

    shear = -sum((one * w).mean((1, 2)) * rise(mean) for one, mean in zip((u, v, w), means, strict=True))
    np.testing.assert_allclose(found["tke_shear"], shear, rtol=0, atol=1e-12 * np.abs(shear).max())
    transport = -rise((0.5 * w * (u * u + v * v + w * w)).mean((1, 2)))
    np.testing.assert_allclose(found["tke_transport"], transport, rtol=0, atol=1e-12 * np.abs(transport).max())


def test_samples_every_few_steps_count_by_their_time():
    model, twin = flow(courant_number=0.4), flow(courant_number=0.4)
    averages, total, before = model.profiles(3), 0.0, 0.0
    for n in range(8):
        model.advance(1e9, max_steps=1)
        twin.advance(1e9, max_steps=1)
        if n in (2, 5, 7):
            total += (twin.time - before) * twin.field("u").astype(float).mean(axis=(1, 2))
            before = twin.time
    np.testing.assert_allclose(averages.take(model.time)["u"], total / before, rtol=1e-13)


def test_the_same_run_gives_the_same_bits():
    found = []
    for _ in range(2):
        model = flow("single", True)
        averages = model.profiles(2)
        model.advance(1e9, max_steps=6)
        found.append(averages.take(model.time))
    for name, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][name])


def test_a_large_mean_does_not_hide_small_eddies():
    model = flow("single")
    rng, shape = np.random.default_rng(1), model.setup.shape
    small = 1e-2 * rng.standard_normal(shape)
    for array, values in zip(model.engine.steps.fields.velocity, (small + 100.0, small, small), strict=True):
        model.engine.device.fill(array, values.astype(np.float32))
    averages = model.profiles(1)
    fast = model.field("u").astype(float)
    averages.stepped(1.0)
    found = averages.take(1.0)["variance_u"]
    np.testing.assert_allclose(found, fast.var(axis=(1, 2)), rtol=1e-9)


def test_an_interval_goes_on_after_a_restart():
    whole, part, other = (flow(courant_number=0.4) for _ in range(3))
    gathered = [one.profiles(3) for one in (whole, part, other)]
    whole.advance(1e9, max_steps=8)
    part.advance(1e9, max_steps=4)
    other.restore(part.state())
    other.advance(1e9, max_steps=4)
    one, two = gathered[0].take(whole.time), gathered[2].take(other.time)
    for name, values in one.items():
        np.testing.assert_array_equal(values, two[name])


def test_a_state_without_averages_begins_an_interval():
    part, other = flow(courant_number=0.4), flow(courant_number=0.4)
    part.advance(1e9, max_steps=2)
    averages = other.profiles()
    other.restore(part.state())
    assert averages.start == part.time
    part.profiles()
    flow(courant_number=0.4).restore(part.state())


@pytest.mark.parametrize(
    ("heights", "words"), [([-1.0, 10.0], "z = -1"), ([10.0, 900.0], "to 800"), ([20.0, 10.0], "rise"), ([], "rise")]
)
def test_heights_that_are_not_in_the_air_are_refused(heights, words):
    with pytest.raises(InputError, match=words):
        flow().profiles(1, heights)


def test_heights_under_all_ground_are_refused():
    model = flow(hill=True, boundaries={"x": "wall", "y": "wall"})
    lowest = model.levels.terrain_height.min()
    assert lowest > 0.01
    with pytest.raises(InputError, match=r"lowest terrain, .* m, to"):
        model.profiles(1, [0.5 * lowest])
