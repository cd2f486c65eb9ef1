"""Piston wavemakers: conservation of volume, and the flow beside the paddle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from eagre import Grid, InputError, PotentialWaves, Series, SpongeLayer, Wavemaker

GRAVITY, DEPTH, LENGTH, PERIOD, AMPLITUDE = 9.81, 0.4, 6.0, 1.5, 0.02
OMEGA = 2.0 * math.pi / PERIOD
TIMES = np.arange(0.0, 40.0 * PERIOD, PERIOD / 40.0)
OPPOSITE = {"west": "east", "east": "west", "south": "north", "north": "south"}


def regular(t):
    """Position of a paddle that starts smoothly, m."""
    share = np.clip(t / (2.0 * PERIOD), 0.0, 1.0)
    return AMPLITUDE * share**2 * (3.0 - 2.0 * share) * np.sin(OMEGA * t)


def irregular(t):
    """Position with three incommensurate frequencies, m."""
    parts = (0.5, 1.0, 0.3), (0.6, 0.83, 1.31), (0.3, 1.9, 4.1)
    return regular(t) * 0.2 + 0.6 * AMPLITUDE * np.clip(t / (2.0 * PERIOD), 0.0, 1.0) ** 2 * sum(
        a * np.sin(f * OMEGA * t + phase) for a, f, phase in zip(*parts, strict=True)
    )


def flume(side="west", move=regular, given="position", across=1, length=LENGTH, **options):
    """A flume with a piston, a sponge on the opposite side and the position of the paddle as a function of time."""
    spline = CubicSpline(TIMES, move(TIMES))
    series = Series(TIMES, spline(TIMES, 0 if given == "position" else 1))
    options_of_paddle: Any = {given: series}
    count, along = round(8.0 * length) + 1, side in ("west", "east")
    points = (count, across) if along else (across, count)
    widths = (length, 0.3) if along else (0.3, length)
    model = PotentialWaves(
        Grid.from_points(*points, *widths), DEPTH,
        wavemakers=[Wavemaker(side, **options_of_paddle)], sponges=[SpongeLayer(OPPOSITE[side], length - 3.5, PERIOD)],
        **{"device": "cpu", "precision": "double", "order": 4, "vertical_points": 6, **options},
    )  # fmt: skip
    return model, lambda t: float(spline(t) - spline(0.0))


def biesel(frequency, depth=DEPTH):
    """Wave number and evanescent wave numbers, 1/m, by bisection of the dispersion relations."""

    def root(f, low, high):
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if f(low) * f(middle) > 0.0 else (low, middle)
        return 0.5 * (low + high)

    q = frequency**2 / GRAVITY
    k = root(lambda k: q - k * math.tanh(k * depth), 1e-9, 1e3)
    ends = [((n + 0.5) * math.pi / depth, (n + 1.0) * math.pi / depth) for n in range(60)]
    return k, np.array([root(lambda k: q * math.cos(k * depth) + k * math.sin(k * depth), *end) for end in ends])


def height_per_stroke(kh):
    """Biesel's transfer function of a piston, H / S."""
    return 4.0 * math.sinh(kh) ** 2 / (math.sinh(2.0 * kh) + 2.0 * kh)


def excess(model, position):
    """Volume above that at the start and the displaced volume X (h + eta), m3 per metre of width; the surface."""
    eta = model.field("surface_elevation")
    ny, nx = model.grid.shape
    side = model.setup.wavemakers[0].side
    edge = {"west": eta[:, 0], "east": eta[:, -1], "south": eta[0], "north": eta[-1]}[side]
    weights = [np.r_[0.5, np.ones(n - 2), 0.5] if n > 1 else np.ones(1) for n in (ny, nx)]
    along, across = (weights[1], weights[0]) if side in ("west", "east") else (weights[0], weights[1])
    spacing = LENGTH / (along.size - 1)
    volume = spacing * (weights[0] @ eta @ weights[1]) / across.sum()
    return volume - position(model.time) * (DEPTH + across @ edge / across.sum())


@pytest.mark.parametrize(
    ("side", "move", "given", "across", "precision"),
    [
        ("west", regular, "position", 1, "double"),
        ("east", regular, "velocity", 1, "single"),
        ("south", irregular, "velocity", 1, "double"),
        ("north", irregular, "position", 1, "single"),
        ("west", regular, "position", 5, "double"),
    ],
)
def test_a_piston_displaces_its_volume_and_no_more(side, move, given, across, precision):
    """The volume of the basin is that at the start and X (h + eta); X' (h + eta) alone adds a(omega X) a(eta) / 2."""
    model, position = flume(side, move, given, across, precision=precision)
    start = 2.0 * PERIOD
    pumped = 0.5 * AMPLITUDE**2 * OMEGA * height_per_stroke(biesel(OMEGA)[0] * DEPTH)  # m2/s
    found = []
    for time in start + PERIOD * np.array([0.0, 2.3, 5.1, 8.6, 12.0]):
        model.advance(float(time))
        found.append(excess(model, position))
    assert np.abs(found).max() < 0.02 * pumped * 12.0 * PERIOD, found


def test_linear_waves_displace_the_depth_of_still_water():
    model, position = flume(linear=True)
    model.advance(4.3 * PERIOD)
    eta = model.field("surface_elevation")[0]
    volume = LENGTH / 48 * (eta.sum() - 0.5 * (eta[0] + eta[-1]))
    assert volume == pytest.approx(position(model.time) * DEPTH, rel=5e-3)


def test_a_velocity_that_adds_up_is_a_flow_through_the_side():
    """Water that flows in at U (h + eta) stays: U h t of a small U; a number is a flow as well."""
    for velocity in (Series(TIMES, 0.02 * np.clip(TIMES, 0.0, 1.0)), 0.02):
        model = PotentialWaves(Grid.from_points(49, 1, LENGTH, 1.0), DEPTH, wavemakers=[Wavemaker("west", velocity)],
                               device="cpu", precision="double", order=4, vertical_points=6)  # fmt: skip
        assert "wavemaker in the west: flux inlet" in model.notes
    model, _ = flume()
    assert "wavemaker in the west: piston, displacement -0.02 to 0.02 m" in model.notes


def test_a_paddle_that_moves_by_more_than_the_depth_is_rejected():
    with pytest.raises(InputError, match="moves by more than the depth"):
        flume(move=lambda t: 0.5 * np.sin(OMEGA * t))


def flow_of_biesel(x, z, t):
    """Velocity, (2, n), m/s, its rate, m/s2, and pressure, Pa, of linear waves of a piston at A sin(omega t)."""
    k, evanescent = biesel(OMEGA)
    up, speed, theta = z + DEPTH, AMPLITUDE * OMEGA, k * x - OMEGA * t
    c = 4.0 * speed * math.sinh(k * DEPTH) / (math.sinh(2.0 * k * DEPTH) + 2.0 * k * DEPTH)
    u, w = c * np.cosh(k * up) * np.cos(theta), c * np.sinh(k * up) * np.sin(theta)
    u_t, w_t = OMEGA * c * np.cosh(k * up) * np.sin(theta), -OMEGA * c * np.sinh(k * up) * np.cos(theta)
    p = 1000.0 * OMEGA / k * u
    for m in evanescent:
        c = 4.0 * speed * math.sin(m * DEPTH) / (math.sin(2.0 * m * DEPTH) + 2.0 * m * DEPTH)
        near_u, near_w = (c * f(m * up) * np.exp(-m * x) for f in (np.cos, np.sin))
        u, w = u + near_u * math.cos(OMEGA * t), w + near_w * math.cos(OMEGA * t)
        u_t, w_t = u_t - OMEGA * near_u * math.sin(OMEGA * t), w_t - OMEGA * near_w * math.sin(OMEGA * t)
        p = p - 1000.0 * OMEGA / m * near_u * math.sin(OMEGA * t)
    return np.stack([u, w]), np.stack([u_t, w_t]), p


@pytest.mark.parametrize("side", ["west", "north"])
def test_the_flow_beside_a_paddle_is_that_of_biesel(side):
    """Linear waves: at the paddle u is that of the paddle; within 3 % of its speed from the bed up."""
    model, _ = flume(side, linear=True, order=6, vertical_points=9, length=9.0)
    away, z = (a.ravel() for a in np.meshgrid([0.0, 0.05, 0.1, 0.3], [-0.4, -0.3, -0.2, -0.1]))
    place = (away, 0.0) if side == "west" else (0.0, 9.0 - away)
    row, sign = (0, 1.0) if side == "west" else (1, -1.0)
    for time in (7.0 * PERIOD, 7.3 * PERIOD):
        model.advance(time)
        found = model.kinematics(*place, z=z)
        velocity, rate, pressure = flow_of_biesel(away, z, time)
        speed = AMPLITUDE * OMEGA
        got = np.stack([sign * found.velocity[row], found.velocity[2]])
        assert np.abs(got - velocity).max() < 0.03 * speed
        got = np.stack([sign * found.local_acceleration[row], found.local_acceleration[2]])
        assert np.abs(got - rate).max() < 0.03 * speed * OMEGA
        assert np.abs(found.dynamic_pressure - pressure).max() < 0.04 * np.abs(pressure).max()
        at_paddle = away == 0.0
        exact = speed * math.cos(OMEGA * time)
        assert found.velocity[row, at_paddle] == pytest.approx(sign * exact, abs=4e-3 * speed)


def test_the_surface_beside_a_paddle_moves_with_it():
    """Fields and their averages: u of the surface at the paddle is the paddle's; inside it is that of probes."""
    from eagre.stepping.averages import TimeStatistics

    model, _ = flume(linear=True, time_statistics=TimeStatistics(mean=["velocity_x"], maximum=["velocity_x"]))
    model.advance(7.0 * PERIOD)
    speed = AMPLITUDE * OMEGA
    assert model.field("velocity_x")[0, 0] == pytest.approx(speed, rel=1e-3)
    x = model.grid.x[1:6]
    found = model.kinematics(x, sigma=1.0)
    for component, name in ((0, "velocity_x"), (2, "velocity_z")):
        assert model.field(name)[0, 1:6] == pytest.approx(found.velocity[component], abs=5e-3 * speed)
    assert model.maps is not None
    highest = model.maps.sample()["max_velocity_x"]
    assert highest[0, 0] == pytest.approx(speed, rel=0.01)


def test_the_pressure_of_the_surface_is_that_of_the_air_beside_a_paddle():
    model, _ = flume()
    model.advance(4.3 * PERIOD)
    found = model.kinematics(np.array([0.0, 0.1, 0.5]), below=0.0)
    assert np.abs(found.pressure).max() < 0.02 * 1000.0 * GRAVITY * AMPLITUDE


def test_local_acceleration_is_the_change_of_velocity_beside_a_paddle_and_a_sponge():
    model, _ = flume(linear=True, time_step=PERIOD / 100.0)
    x = np.array([0.0, 0.2, 4.3, 5.5])
    model.advance(4.0 * PERIOD)
    found = []
    for n in range(3):
        model.advance(4.0 * PERIOD + n * PERIOD / 100.0)
        found.append(model.kinematics(x, z=-0.1))
    change = (found[2].velocity - found[0].velocity) / (2.0 * PERIOD / 100.0)
    scale = np.abs(change).max(axis=0)
    assert (np.abs(change - found[1].local_acceleration) < 5e-3 * scale).all()
