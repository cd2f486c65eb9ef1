"""Velocities of the implicit model at dry fronts and in smooth flow."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.contract import Recording

DEEP = 10.0  # m
RITTER = 2.0 * (9.81 * DEEP) ** 0.5  # m/s, the front of a frictionless dam break; friction slows it


def dam_break(along, step, **options):
    """10 m of water that runs onto flat dry ground with n = 0.03, along x or y."""
    shape = (100, 3) if along == "x" else (3, 100)
    grid = eagre.Grid(*shape, 10.0, 10.0)
    at = grid.mesh()[0 if along == "x" else 1]
    return eagre.ShallowWaterADI(
        grid, 0.0, step, depth=np.where(at < 500.0, DEEP, 0.0), manning=0.03, device="cpu",
        maps=eagre.Maps(("max_speed", "max_depth", "max_hazard_rating")), **options,
    )  # fmt: skip


@pytest.mark.parametrize("along", ["x", "y"])
@pytest.mark.parametrize("step", [0.1, 0.02])
def test_no_water_at_a_dry_front_is_faster_than_ritters_front(along, step):
    """Speeds of maps, averages, fields and samples are at most 2 sqrt(g h0), and so is the hazard they give."""
    model = dam_break(along, step, time_statistics=eagre.TimeStatistics(("speed",), maximum=("velocity",)))
    points = [(1, i) if along == "x" else (i, 1) for i in range(100)]
    seen = []
    for _ in range(5):
        model.advance(model.time + 4.0)
        seen.append(model.sample(["speed"], points)["speed"])
        field = model.field("speed")
        np.testing.assert_array_equal(seen[-1], [field[point] for point in points])
    maps = model.maps.sample()
    assert np.nanmax(maps["max_speed"]) <= RITTER
    assert np.max(seen) <= RITTER and np.nanmax(maps["mean_speed"]) <= RITTER
    assert np.nanmax(maps["max_hazard_rating"] / maps["max_depth"]) <= RITTER + 0.5
    assert max(np.nanmax(maps["max_velocity_x"]), np.nanmax(maps["max_velocity_y"])) <= RITTER
    front = np.ravel(maps["max_speed"][1] if along == "x" else maps["max_speed"][:, 1])
    reached = front[50:70]
    assert reached.min() > 5.0  # the explicit model has 7.6 to 10.3


def waves(cells, along):
    """A fast smooth flow over a smooth bed, in which no cell is dry."""
    shape = (cells, 4) if along == "x" else (4, cells)
    grid = eagre.Grid(*shape, 1000.0 / cells, 1000.0 / cells)
    at, corner = (grid.mesh(where)[0 if along == "x" else 1] * 2.0 * np.pi / 1000.0 for where in ("centre", "corner"))
    bed, surface = np.sin(2.0 * corner), 5.0 + 0.5 * np.sin(at + 1.0)
    flow = {f"velocity_{along}": 10.0 / (surface - np.sin(2.0 * at))}
    return eagre.ShallowWaterADI(grid, bed, 1e-3, surface_elevation=surface, precision="double", device="cpu", **flow)


@pytest.mark.parametrize("along", ["x", "y"])
def test_velocity_is_discharge_over_depth_to_second_order_in_smooth_flow(along):
    """The limit of velocities differs from discharge over depth by at most terms of second order in the cell size."""
    apart = []
    for cells in (40, 80, 160):
        model = waves(cells, along)
        inside = np.s_[1:-1] if along == "y" else np.s_[:, 1:-1]
        exact = (model.field(f"discharge_{along}") / model.field("depth"))[inside]
        apart.append(np.abs(model.field(f"velocity_{along}")[inside] - exact).max() / np.abs(exact).max())
    assert apart[0] < 1e-2 and max(apart[1] / apart[0], apart[2] / apart[1]) < 0.3


@pytest.mark.parametrize("drying", ["on", "off"])
def test_every_output_has_the_same_velocity(drying):
    """Fields, samples, averages, maps and the sums over the domain have one speed for one state."""
    rng = np.random.default_rng(3)
    grid = eagre.Grid(12, 9, 5.0, 5.0)
    depth = 0.5 + rng.random(grid.shape) if drying == "off" else np.maximum(rng.random(grid.shape) - 0.4, 0.0)
    model = eagre.ShallowWaterADI(
        grid, 0.0, 0.05, depth=depth, velocity_x=rng.standard_normal(grid.shape), drying=drying, device="cpu",
        velocity_y=rng.standard_normal(grid.shape), maps=eagre.Maps(("max_speed",)),
        time_statistics=eagre.TimeStatistics(maximum=("velocity",)), precision="double",
    )  # fmt: skip
    speed, maps = model.field("speed"), model.maps.sample()
    points = [(j, i) for j in range(9) for i in range(12)]
    np.testing.assert_array_equal(model.sample(["speed"], points)["speed"], speed.ravel())
    for name in ("speed", "velocity_x", "velocity_y"):
        assert np.nan_to_num(maps[f"max_{name}"]) == pytest.approx(model.field(name), rel=1e-12, abs=1e-14)


def limited_by_faces(z, bed, flux, dry):
    """Equation 15 along the last axis in plain NumPy: discharge over depth, at most the larger of two face speeds."""
    found = np.zeros(z.shape)
    n = z.shape[1]
    for j, i in np.ndindex(z.shape):
        h, limit = z[j, i] - bed[j, i], 0.0
        for face, other in ((i, i - 1), (i + 1, i + 1)):
            k = other if 0 <= other < n else i
            beyond = max(z[j, k] - bed[j, k], 0.0)
            ridge = max(z[j, i], z[j, k]) - max(bed[j, i], bed[j, k])
            if ridge > dry:
                deep = (max(h, 0.0) ** 2 + beyond**2) / max(max(h, 0.0) + beyond, 1e-6)
                limit = max(limit, abs(flux[j, face]) / max(min(deep, ridge), dry))
        if h > dry:
            found[j, i] = np.clip(0.5 * (flux[j, i] + flux[j, i + 1]) / h, -limit, limit)
    return found


def velocities_of(state, bed, dry):
    """Limited velocities of a state along x and y, and the discharge over the depth alone."""
    z, p = state["z"], state["p"]
    q = 0.5 * (state["q_before"] + state["q_after"])
    u, v = limited_by_faces(z, bed, p, dry), limited_by_faces(z.T, bed.T, q.T, dry).T
    h = np.where(z - bed > dry, z - bed, np.inf)
    raw = np.hypot(0.5 * (p[:, 1:] + p[:, :-1]) / h, 0.5 * (q[1:] + q[:-1]) / h)
    return u, v, raw


@pytest.mark.parametrize("device", ["cpu", pytest.param("simulated", marks=pytest.mark.simulator)])
def test_every_output_limits_the_velocity_at_a_dry_front(device):
    """Maps, hazard, averages, fields, samples, gauges and sums against equation 15 in plain NumPy, on each device."""
    if device == "simulated":
        from eagre.backend.simulated import SimulatedDevice

        device = SimulatedDevice()
    grid = eagre.Grid(6, 5, 10.0, 10.0)
    x, y = grid.mesh()
    model = eagre.ShallowWaterADI(
        grid, 0.0, 0.1, depth=np.where((x < 30.0) & (y < 20.0), DEEP, 0.0), manning=0.03, device=device,
        maps=eagre.Maps(("max_speed", "max_hazard_rating")), precision="double", dry_depth=1e-3,
        time_statistics=eagre.TimeStatistics(("speed",), maximum=("velocity",)),
    )  # fmt: skip
    points, names = [(j, i) for j in range(5) for i in range(6)], ["velocity_x", "velocity_y", "speed"]
    recorded = []

    def instants(after, until, most):
        return [time for time in (0.2, 0.4) if after < time <= until]

    model.start_sampling(
        Recording(names, points, instants, lambda times, batch: recorded.extend(batch()["speed"].copy()))
    )
    states, before = [], model.state()
    for _ in range(4):
        states.append(before)
        model.advance(model.time + model.time_step)
        before = model.state()
    u, v, _ = velocities_of(before, np.zeros(grid.shape), 1e-3)
    speed = np.hypot(u, v)
    sampled = model.sample(names, points)
    for name, values in zip(names, (u, v, speed), strict=True):
        np.testing.assert_allclose(model.field(name), values, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(sampled[name], values.ravel(), rtol=1e-12, atol=1e-13)
    for values, state in zip(recorded, (states[2], before), strict=True):
        of_state = np.hypot(*velocities_of(state, np.zeros(grid.shape), 1e-3)[:2])
        np.testing.assert_allclose(values, of_state.ravel(), rtol=1e-12, atol=1e-13)
    deep = before["z"] > 2e-3
    assert model.diagnostics()["max_speed"] == pytest.approx(speed[deep].max(), rel=1e-12)
    every = [velocities_of(one, np.zeros(grid.shape), 1e-3) for one in (*states, before)]
    speeds = np.array([np.hypot(*one[:2]) for one in every])
    assert np.max([one[2] for one in every]) > 4.0 * speeds.max() > 4.0
    depths = np.array([np.maximum(one["z"], 0.0) for one in (*states, before)])
    maps = {name: np.nan_to_num(values) for name, values in model.maps.sample().items()}
    np.testing.assert_allclose(maps["max_speed"], speeds.max(axis=0), rtol=1e-9, atol=1e-9)
    rating = np.where(depths > 1e-3, depths * (speeds + 0.5), 0.0).max(axis=0)
    np.testing.assert_allclose(maps["max_hazard_rating"], rating, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(maps["mean_speed"], speeds[1:].mean(axis=0), rtol=1e-9, atol=1e-9)
    for number, name in enumerate(("max_velocity_x", "max_velocity_y")):
        np.testing.assert_allclose(maps[name], np.max([one[number] for one in every], axis=0), rtol=1e-9, atol=1e-9)
