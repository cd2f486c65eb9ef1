"""Velocity, acceleration and pressure under potential-flow waves, against exact waves and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.errors import InputError
from eagre.io.writers.openfast import SeaStateFiles, SeaStateGrid
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.sampling.kinematics import MEASURED, Flow, Kinematics, _row
from eagre.models.potential_waves.sampling.probes import Probes
from eagre.models.potential_waves.step import Steps
from eagre.solvers.finite_differences import all_weights, weights
from eagre.waves import AiryWave, StreamFunctionWave, morison_force

DEVICE = select("cpu")
GRAVITY, DENSITY = 9.81, 1025.0


def flow_of(wave, shape, lengths, periodic, vertical, linear=False, precision="double", small=1e-12):
    """The flow of a wave at t = 0 in a periodic box over a flat bed 1 m deep, and what probes need."""
    spacing = tuple(length / n for length, n in zip(lengths, shape, strict=True))
    h = np.ones(shape)
    problem = LaplaceProblem(h, spacing, vertical, periodic, DEVICE, precision, linear)
    x, y = problem.points[0][None], problem.points[1][:, None]
    fields = [wave.elevation(x, y, 0.0), wave.surface_potential(x, y, 0.0)]
    DEVICE.fill(problem.fields, np.stack([np.broadcast_to(f, shape) for f in fields]))
    flow = Flow(problem, GRAVITY, small, DENSITY, linear)
    flow.update()
    return flow, (h, problem.points, vertical, periodic), problem


def apart(found, exact, scale):
    return np.nanmax(np.abs(found - exact)) / scale


@pytest.mark.parametrize("kind", ["x", "y", "diagonal"])
def test_the_kinematics_of_a_stream_function_wave(kind):
    """H/L 0.05, kh 2: at places between the points of the grid, at the bed, and close under the surface."""
    length = np.pi
    n, side = 40, np.sqrt(2.0) * length
    shape, lengths, angle = {
        "x": ((1, n), (1.0, length), 0.0),
        "y": ((n, 1), (length, 1.0), 0.5 * np.pi),
        "diagonal": ((n, n), (side, side), 0.25 * np.pi),
    }[kind]
    wave = StreamFunctionWave(0.05 * length, 1.0, length=length, eulerian_current=0.0, direction=angle)
    flow, grid, _ = flow_of(wave, shape, lengths, (kind != "x", kind != "y"), Vertical(13, 6))
    rng = np.random.default_rng(3)
    x = rng.uniform(0.0, lengths[1], 60) if shape[1] > 1 else np.zeros(60)
    y = rng.uniform(0.0, lengths[0], 60) if shape[0] > 1 else np.zeros(60)
    level = np.concatenate([[0.0, 1.0], rng.uniform(0.0, 1.0, 58)])
    found = flow.sample(Probes(*grid, x, y, sigma=level))
    place = x, y, found.z, 0.0
    speed, rate = 0.5 * wave.height * wave.angular_frequency, 0.5 * wave.height * wave.angular_frequency**2
    assert apart(found.elevation, wave.elevation(x, y, 0.0), wave.height) < 2e-5
    assert apart(found.velocity, np.stack(wave.velocity(*place)), speed) < 1e-4
    assert apart(found.local_acceleration, np.stack(wave.acceleration(*place)), rate) < 3e-4
    assert apart(found.acceleration, np.stack(wave.material_acceleration(*place)), rate) < 3e-4
    known = wave.dynamic_pressure(*place, density=DENSITY)
    assert apart(found.dynamic_pressure, known, DENSITY * GRAVITY * wave.height) < 1e-4
    assert found.pressure == pytest.approx(found.dynamic_pressure - DENSITY * GRAVITY * found.z, nan_ok=True)


def test_the_models_flow_on_a_pile_and_in_files_of_openfast(tmp_path):
    """Columns that follow the surface: force and moment, and files of SeaState, are those of the exact wave."""
    wave = StreamFunctionWave(0.05 * np.pi, 1.0, length=np.pi, eulerian_current=0.0)
    flow, grid, _ = flow_of(wave, (1, 40), (1.0, np.pi), (False, True), Vertical(13, 6))
    share = np.linspace(0.0, 1.0, 21)
    column = flow.sample(Probes(*grid, 0.4, 0.0, sigma=share))
    z = (1.0 + float(wave.elevation(0.4, 0.0, 0.0))) * share - 1.0
    exact = (np.stack(f(0.4, 0.0, z, 0.0)[:2]) for f in (wave.velocity, wave.material_acceleration))
    found = morison_force(column.z, column.velocity[:2], column.acceleration[:2], 0.1)
    known = morison_force(z, *exact, 0.1)
    for got, wanted in zip(found, known, strict=True):
        assert wanted[0] > 0.0
        assert np.abs(got - wanted).max() < 5e-4 * wanted[0]
    box, root = SeaStateGrid(0.8, 0.5, 1.0, 3, 2, 5), tmp_path / "sea"
    x, _, z = box.points()
    with SeaStateFiles(root, box, 0.1) as files:
        at = flow.sample(Probes(*grid, 1.5 + x, 0.0, sigma=1.0 + z))
        files.write(at.velocity, at.acceleration, at.dynamic_pressure, at.elevation)
    eta = wave.elevation(1.5 + x, 0.0, 0.0)
    u, _, w = wave.velocity(1.5 + x, 0.0, (1.0 + eta) * (1.0 + z) - 1.0, 0.0)
    speed = 0.5 * wave.height * wave.angular_frequency
    for suffix, values, scale in ((".Vxi", u, speed), (".Vzi", w, speed), (".Elev", eta[:15], wave.height)):
        read = np.loadtxt(root.with_suffix(suffix), comments="!", skiprows=13).reshape(-1)
        assert apart(read, values, scale) < 1e-4


def test_the_kinematics_of_a_small_wave():
    wave = AiryWave(0.01, 1.0, length=np.pi)
    flow, grid, _ = flow_of(wave, (1, 32), (1.0, np.pi), (False, True), Vertical(11, 6), linear=True)
    x, z = np.linspace(0.0, np.pi, 9), np.linspace(-1.0, 0.0, 9)
    found, place = flow.sample(Probes(*grid, x, 0.0, z=z)), (x, 0.0, z, 0.0)
    speed, rate = 0.005 * wave.angular_frequency, 0.005 * wave.angular_frequency**2
    assert apart(found.velocity, np.stack(wave.velocity(*place)), speed) < 2e-5
    assert apart(found.acceleration, np.stack(wave.acceleration(*place)), rate) < 2e-5
    assert np.array_equal(found.acceleration, found.local_acceleration)
    known = wave.dynamic_pressure(*place, density=DENSITY)
    assert apart(found.dynamic_pressure, known, DENSITY * GRAVITY * 0.005) < 2e-5


def test_errors_fall_with_the_order():
    """Twice the points along x, order 4: velocities and accelerations come 2^4 times as close."""
    wave, errors = StreamFunctionWave(0.1, 1.0, length=np.pi, eulerian_current=0.0), []
    for n in (20, 40):
        flow, grid, _ = flow_of(wave, (1, n), (1.0, np.pi), (False, True), Vertical(n // 2 + 5, 4))
        x, level = np.linspace(0.1, 3.0, 41), np.linspace(0.1, 0.95, 41)
        found = flow.sample(Probes(*grid, x, 0.0, sigma=level))
        place = x, 0.0, found.z, 0.0
        errors.append(
            [
                np.abs(found.velocity - np.stack(wave.velocity(*place))).max(),
                np.abs(found.acceleration - np.stack(wave.material_acceleration(*place))).max(),
            ]
        )
    orders = np.log2(errors[0]) - np.log2(errors[1])
    assert (orders > 3.5).all(), orders


def test_a_sloping_bed_and_the_surface():
    """Water runs along the bed, and the pressure of the surface is that of the air."""
    n, periodic = 48, (True, True)
    x, y = np.meshgrid(np.arange(n) / n, np.arange(n) / n)
    wave = 2.0 * np.pi
    h = 0.25 + 0.03 * np.cos(wave * x) * np.cos(wave * y)
    problem = LaplaceProblem(h, (1.0 / n, 1.0 / n), Vertical(13, 6), periodic, DEVICE, "double")
    eta = 0.01 * np.cos(wave * x) + 0.005 * np.sin(wave * y)
    DEVICE.fill(problem.fields, np.stack([eta, 0.02 * np.sin(wave * x) * np.cos(wave * y)]))
    flow = Flow(problem, GRAVITY, 1e-13)
    flow.update()
    at = np.random.default_rng(1).uniform(0.0, 1.0, (2, 30))
    grid = h, problem.points, Vertical(13, 6), periodic
    bed = flow.sample(Probes(*grid, *at, sigma=0.0))
    h_x = -0.03 * wave * np.sin(wave * at[0]) * np.cos(wave * at[1])
    h_y = -0.03 * wave * np.cos(wave * at[0]) * np.sin(wave * at[1])
    for u, v, w in (bed.velocity, bed.local_acceleration):
        assert np.abs(w + u * h_x + v * h_y).max() < 2e-4 * np.abs([u, v]).max()
    top = flow.sample(Probes(*grid, *at, below=0.0))
    assert top.z == pytest.approx(top.elevation)
    assert np.abs(top.pressure).max() < 2e-4 * 1000.0 * GRAVITY * 0.01


def test_local_acceleration_is_the_change_of_the_velocity_in_time():
    wave = StreamFunctionWave(0.1, 1.0, length=np.pi, eulerian_current=0.0)
    flow, grid, problem = flow_of(wave, (1, 40), (1.0, np.pi), (False, True), Vertical(11, 6))
    probes, dt = Probes(*grid, np.linspace(0.0, 3.0, 7), 0.0, z=-0.2), 1e-3
    steps, velocities = Steps(problem, GRAVITY, 1e-12), []
    local = [flow.sample(probes).local_acceleration]
    for _ in range(2):
        velocities.append(flow.sample(probes).velocity)
        steps.step(dt)
        flow.update()
        local.append(flow.sample(probes).local_acceleration)
    velocities.append(flow.sample(probes).velocity)
    assert np.abs((velocities[2] - velocities[0]) / (2.0 * dt) - local[1]).max() < 1e-5 * np.abs(local[1]).max()


def test_probes_change_nothing():
    """Neither the surface nor the guess of the next step: a run with probes has the bits of one without."""
    wave = StreamFunctionWave(0.1, 1.0, length=np.pi, eulerian_current=0.0)
    found = []
    for probed in (False, True):
        flow, _, problem = flow_of(wave, (1, 16), (1.0, np.pi), (False, True), Vertical(8, 4), small=1e-8)
        DEVICE.fill(problem.psi, np.zeros(problem.psi.shape))
        steps = Steps(problem, GRAVITY, 1e-8)
        for _ in range(3):
            steps.step(0.05)
            if probed:
                flow.update()
        found.append([DEVICE.host(a).copy() for a in (problem.fields, problem.psi, problem.w)])
    for without, with_probes in zip(*found, strict=True):
        assert np.array_equal(without, with_probes)


def test_still_water_and_points_without_water():
    h, points, vertical = np.ones((1, 16)), (np.arange(16.0), np.zeros(1)), Vertical(8, 4)
    problem = LaplaceProblem(h, (1.0, 1.0), vertical, (False, False), DEVICE, "double")
    flow = Flow(problem, GRAVITY, 1e-9, DENSITY)
    flow.update()
    found = flow.sample(Probes(h, points, vertical, (False, False), [0.0, 3.3, 15.0], 0.0, z=[0.0, -0.5, 0.01]))
    assert found.pressure[:2] == pytest.approx([0.0, 0.5 * DENSITY * GRAVITY])
    assert not found.velocity[:, :2].any() and not found.acceleration[:, :2].any()
    assert np.isnan(found.velocity[:, 2]).all() and np.isnan(found.pressure[2]) and found.elevation[2] == 0.0


def test_single_precision():
    wave = StreamFunctionWave(0.1, 1.0, length=np.pi, eulerian_current=0.0)
    found = []
    for precision in ("single", "double"):
        flow, grid, _ = flow_of(
            wave, (1, 32), (1.0, np.pi), (False, True), Vertical(9, 6), precision=precision, small=1e-7
        )
        found.append(flow.sample(Probes(*grid, np.linspace(0.1, 3.0, 9), 0.0, z=np.linspace(-0.9, -0.1, 9))))
    assert np.abs(found[0].velocity - found[1].velocity).max() < 1e-5 * np.abs(found[1].velocity).max()
    assert np.abs(found[0].acceleration - found[1].acceleration).max() < 1e-4 * np.abs(found[1].acceleration).max()


def test_what_probes_measure_has_its_names():
    """A row a quantity; velocity and acceleration by components, the acceleration that of the water."""
    z, velocity, total, local, dynamic, pressure, elevation = (n * np.ones((3, 2)) for n in range(1, 8))
    parts = np.arange(3.0)[:, None]
    found = Kinematics(z[0], velocity + 0.1 * parts, total + 0.1 * parts, local, dynamic[0], pressure[0], elevation[0])
    named = {one.name: values[0] for one, values in zip(MEASURED, _row(found), strict=True)}
    assert named == {
        "z": 1.0, "velocity_x": 2.0, "velocity_y": 2.1, "velocity_z": 2.2, "acceleration_x": 3.0,
        "acceleration_y": 3.1, "acceleration_z": 3.2, "dynamic_pressure": 5.0, "pressure": 6.0,
    }  # fmt: skip


@pytest.mark.parametrize("walls", [False, True])
def test_columns_of_water_over_a_bed_and_under_a_surface(walls):
    """sigma = (z + h) / (h + eta), its derivatives at fixed z by small differences of the formula; walls mirror."""
    n, side = (33, 32), 1.0
    x, y = (np.arange(count) * side / 32 for count in (n if walls else (32, 32)))
    k = np.pi if walls else 2.0 * np.pi

    def water(x, y):
        bed = 0.4 + 0.05 * np.cos(k * x) + 0.04 * np.cos(k * y) * np.cos(k * x)
        return bed, 0.02 * np.cos(k * x) * np.cos(2.0 * k * y) + 0.03 * np.cos(k * y)

    if walls:
        y = np.append(y, side)
    h, eta = water(*np.meshgrid(x, y))
    at = np.array([[0.003, 0.21, 0.997, 0.5, 0.98], [0.004, 0.996, 0.33, 0.71, 0.015]])
    z, d = np.array([-0.1, -0.2, -0.3, -0.05, -0.15]), 1e-3
    column = Probes(h, (x, y), Vertical(9, 6), (not walls, not walls), *at, z=z).column(lambda j, i: eta[j, i], False)

    def sigma(a, b):
        bed, surface = water(at[0] + a * d, at[1] + b * d)
        return (z + bed) / (bed + surface)

    here = sigma(0, 0)
    np.testing.assert_allclose(column.sigma, here, rtol=1e-7)
    found = column.s_x, column.s_y, column.s_xx, column.s_yy, column.s_xy
    mixed = sigma(1, 1) - sigma(1, -1) - sigma(-1, 1) + sigma(-1, -1)
    expected = (
        (sigma(1, 0) - sigma(-1, 0)) / (2.0 * d), (sigma(0, 1) - sigma(0, -1)) / (2.0 * d),
        (sigma(1, 0) - 2.0 * here + sigma(-1, 0)) / d**2, (sigma(0, 1) - 2.0 * here + sigma(0, -1)) / d**2,
        mixed / (4.0 * d**2),
    )  # fmt: skip
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-4)
        assert np.abs(other).max() > 0.05


def test_many_places_come_in_parts(monkeypatch):
    wave = StreamFunctionWave(0.1, 1.0, length=np.pi, eulerian_current=0.0)
    flow, grid, _ = flow_of(wave, (1, 16), (1.0, np.pi), (False, True), Vertical(8, 4), small=1e-8)
    x = np.linspace(0.1, 3.0, 11)
    probes = Probes(*grid, np.repeat(x, 3), 0.0, z=np.tile([-0.5, -0.9, -0.1], 11))
    whole = flow.sample(probes)
    monkeypatch.setattr("eagre.models.potential_waves.sampling.probes.MAX_COLUMNS", 4)
    for one, other in zip(whole, flow.sample(probes), strict=True):
        assert np.array_equal(one, other)
    assert whole.velocity[:, 4] == pytest.approx(flow.sample(Probes(*grid, x[1], 0.0, z=-0.9)).velocity[:, 0])


def test_all_weights_are_those_of_each_derivative():
    nodes, at = np.array([[0.0, 0.5, 1.5, 2.0], [1.0, 2.0, 4.0, 5.0]]), np.array([0.7, 3.0])
    found = all_weights(at, nodes, 2)
    for n in range(2):
        for m in range(3):
            assert found[n, :, m] == pytest.approx(weights(at[n], nodes[n], m))
            power = (nodes[n] ** 3 @ found[n, :, m], [1.0, 3.0, 6.0][m] * at[n] ** (3 - m))
            assert power[0] == pytest.approx(power[1])


@pytest.mark.parametrize(
    ("x", "given", "said"),
    [
        (20.0, {"z": 0.0}, "x = 20 m"),
        (1.0, {"z": -1.5}, "z = -1.5"),
        (1.0, {"below": -0.1}, "below = -0.1"),
        (1.0, {"below": 2.0}, "below = 2"),
        (1.0, {"sigma": 1.5}, "sigma = 1.5"),
        (1.0, {"sigma": np.nan}, "sigma = nan"),
        (1.0, {}, "without a level"),
        (1.0, {"z": 0.0, "below": 0.0}, "z and below"),
    ],
)
def test_probes_that_are_refused(x, given, said):
    with pytest.raises(InputError) as refused:
        Probes(np.ones((1, 16)), (np.arange(16.0), np.zeros(1)), Vertical(8, 4), (False, False), x, 0.0, **given)
    assert said in str(refused.value)
