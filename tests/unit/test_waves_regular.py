"""Regular waves: published values, the equations of the surface, orders of expansions, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.waves import AiryWave, FixedPoints, RegularWave, StokesWave, StreamFunctionWave, highest_wave

DEEP = math.inf
DIFFERENCES = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # central, order 8


def derivative(f, step: float):
    """f'(0) of a function of one shift."""
    return sum(weight * (f(n * step) - f(-n * step)) for n, weight in DIFFERENCES.items()) / step


def surface_residuals(wave: RegularWave, step: float = 0.0015) -> tuple[float, float]:
    """What is left of the two equations of the surface, over c k H and g H, from public functions only.

    eta_t = -grad eta . grad phi~ + w~ (1 + |grad eta|^2),
    phi~_t = -g eta - (|grad phi~|^2 - w~^2 (1 + |grad eta|^2)) / 2.
    """
    rng = np.random.default_rng(7)
    x, y = wave.length * rng.uniform(-1.0, 1.0, (2, 60))
    t = wave.period * rng.uniform(-1.0, 1.0, 60)
    dl, dt = step * wave.length, step * wave.period
    eta_x = derivative(lambda d: wave.elevation(x + d, y, t), dl)
    eta_y = derivative(lambda d: wave.elevation(x, y + d, t), dl)
    eta_t = derivative(lambda d: wave.elevation(x, y, t + d), dt)
    phi_x = derivative(lambda d: wave.surface_potential(x + d, y, t), dl)
    phi_y = derivative(lambda d: wave.surface_potential(x, y + d, t), dl)
    phi_t = derivative(lambda d: wave.surface_potential(x, y, t + d), dt)
    eta = wave.elevation(x, y, t)
    w = wave.velocity(x, y, eta, t)[2]
    slope = 1.0 + eta_x**2 + eta_y**2
    kinematic = eta_t + eta_x * phi_x + eta_y * phi_y - w * slope
    dynamic = phi_t + wave.gravity * eta + 0.5 * (phi_x**2 + phi_y**2 - w**2 * slope)
    scales = wave.celerity * wave.wave_number * wave.height, wave.gravity * wave.height
    return float(np.abs(kinematic).max() / scales[0]), float(np.abs(dynamic).max() / scales[1])


@pytest.mark.parametrize(
    ("steepness", "celerity", "tolerance"),
    [
        (0.09, 1.00405823316635, 1e-13), (0.10, 1.00501255943798, 1e-13), (0.20, 1.02020299589287, 1e-13),
        (0.30, 1.04601599556757, 1e-13), (0.35, 1.0630233382760, 1e-12), (0.40, 1.0822249505, 3e-10),
    ],
)  # fmt: skip
def test_celerity_in_deep_water(steepness, celerity, tolerance):
    wave = StreamFunctionWave(2 * steepness, DEEP, length=2 * math.pi, gravity=1.0, eulerian_current=0.0)
    assert abs(wave.celerity - celerity) < tolerance
    assert abs(wave.potential_rate) < 1e-14
    again = StreamFunctionWave(2 * steepness, DEEP, period=wave.period, gravity=1.0, eulerian_current=0.0)
    assert again.length == pytest.approx(2 * math.pi, rel=1e-12)


@pytest.mark.parametrize(
    ("steepness", "crest", "trough"),
    [(0.20, 0.221158779080, -0.178841220920), (0.30, 0.351670566416, -0.248329433584)],
)
def test_crest_and_trough_in_deep_water(steepness, crest, trough):
    wave = StreamFunctionWave(2 * steepness, DEEP, length=2 * math.pi, gravity=1.0, eulerian_current=0.0)
    assert (wave.crest, wave.trough) == (pytest.approx(crest, abs=2e-12), pytest.approx(trough, abs=2e-12))
    assert wave.elevation(0.0, 0.0, 0.0) == pytest.approx(wave.crest, rel=1e-14)


@pytest.mark.parametrize("given", ["length", "period"])
@pytest.mark.parametrize(
    ("height", "length", "gravity", "eulerian", "stokes", "crest", "trough"),
    [
        (0.08, 1.0, 9.82, 1.2902737383148, 1.2842325935752, 0.045512723461, -0.034487276539),
        (0.2, 2 * math.pi, 9.81, 2.7648548305022, 2.7472763091226, 0.113645889523, -0.086354110477),
    ],
)
def test_both_conventions_of_the_current(given, height, length, gravity, eulerian, stokes, crest, trough):
    for name, celerity in (("eulerian_current", eulerian), ("stokes_current", stokes)):
        size = {"length": length} if given == "length" else {"period": length / celerity}
        wave = StreamFunctionWave(height, 1.0, gravity=gravity, **size, **{name: 0.0})
        assert abs(wave.celerity - celerity) < 1e-12
        assert wave.length == pytest.approx(length, rel=1e-12)
        assert getattr(wave, name) == pytest.approx(0.0, abs=1e-15)
        assert abs(wave.crest - crest) < 1e-12 and abs(wave.trough - trough) < 1e-12


@pytest.mark.parametrize(
    ("height", "depth", "period", "length"),
    [
        (0.02, 0.4, 2.01, 3.72025),
        (0.015, 0.4572, 2.0, 3.91121),
        (0.0464, 0.45, 1.0, 1.50556),
        (0.048, 0.4572, 1.3, 2.26638),
    ],
)
def test_lengths_of_the_waves_of_experiments(height, depth, period, length):
    wave = StreamFunctionWave(height, depth, period=period, eulerian_current=0.0)
    assert wave.length == pytest.approx(length, abs=6e-6)


CASES = [
    {"height": 0.1, "depth": 0.5, "length": 3.0, "eulerian_current": 0.0},
    {"height": 0.08, "depth": 1.0, "period": 0.78, "stokes_current": 0.0},
    {"height": 0.25, "depth": 0.6, "length": 8.0, "eulerian_current": 0.0},
    {"height": 0.12, "depth": DEEP, "length": 1.0, "eulerian_current": 0.0},
    {"height": 0.1, "depth": 0.5, "period": 1.5, "eulerian_current": -0.3},
    {"height": 0.1, "depth": 0.5, "period": 1.5, "stokes_current": 0.4},
]


@pytest.mark.parametrize("case", CASES)
def test_stream_function_waves_solve_the_equations_of_the_surface(case):
    wave = StreamFunctionWave(**case, direction=0.6, phase=0.3)
    kinematic, dynamic = surface_residuals(wave)
    assert kinematic < 1e-9 and dynamic < 1e-9


@pytest.mark.parametrize("case", CASES)
def test_potential_drifts_only_by_the_pressure_at_the_bed(case):
    wave = StreamFunctionWave(**case)
    x = np.linspace(0.0, wave.length, 64, endpoint=False)
    change = wave.surface_potential(x, 0.0, wave.period) - wave.surface_potential(x, 0.0, 0.0)
    assert np.allclose(change, wave.potential_rate * wave.period, rtol=0.0, atol=1e-12)
    bed = np.array([1.0]) * wave.eulerian_current if wave.depth == DEEP else wave.velocity(x, 0.0, -wave.depth, 0.0)[0]
    assert wave.potential_rate == pytest.approx(-0.5 * np.mean(bed**2), abs=1e-13)


@pytest.mark.parametrize("kind", [StreamFunctionWave, StokesWave])
def test_wave_beside_still_water_has_no_drift(kind):
    options = {"period": 1.4, "stokes_current": 0.0, "direction": 0.4}
    wave, plain = kind.over_still_water(0.1, 0.5, **options), kind(0.1, 0.5, **options)
    bed = plain.velocity(np.linspace(0.0, plain.length / math.cos(0.4), 200, endpoint=False), 0.0, -0.5, 0.0)
    assert wave.mean_level == pytest.approx(-np.mean(bed[0] ** 2 + bed[1] ** 2) / (2 * 9.81), rel=0.05)
    assert (wave.depth, wave.height, wave.period) == (pytest.approx(0.5), 0.1, pytest.approx(1.4))
    x = np.linspace(0.0, wave.length / math.cos(0.4), 128, endpoint=False)
    assert np.mean(wave.elevation(x, 0.0, 0.3)) == pytest.approx(wave.mean_level, abs=1e-14)
    assert wave.crest == pytest.approx(np.max(wave.elevation(x, 0.0, 0.0)), abs=1e-14)
    assert np.allclose(wave.velocity(x, 0.0, -0.5, 0.0)[2], 0.0, atol=1e-14)
    if kind is StreamFunctionWave:
        assert max(surface_residuals(wave)) < 1e-9
        phi = [
            wave.surface_potential(x, 0.0, n * wave.period) - wave.eulerian_current * x * math.cos(0.4) for n in (0, 50)
        ]
        assert np.allclose(phi[1], phi[0], rtol=0.0, atol=1e-12)
        eta = wave.elevation(x, 0.0, 0.3)
        assert np.allclose(wave.dynamic_pressure(x, 0.0, eta, 0.3), 9810.0 * eta, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_means_of_the_velocity_are_the_currents(case):
    wave = StreamFunctionWave(**case, direction=math.pi / 2)
    y = np.linspace(0.0, wave.length, 400, endpoint=False)
    low = 1.1 * wave.trough
    assert np.mean(wave.velocity(0.0, y, low, 0.0)[1]) == pytest.approx(wave.eulerian_current, abs=1e-12)
    if wave.depth != DEEP:
        nodes, weights = np.polynomial.legendre.leggauss(60)
        depth = wave.depth + wave.elevation(0.0, y, 0.0)
        z = -wave.depth + 0.5 * depth * (nodes[:, None] + 1.0)
        flux = 0.5 * depth * (weights @ wave.velocity(0.0, y, z, 0.0)[1])
        assert np.mean(flux) / wave.depth == pytest.approx(wave.stokes_current, abs=1e-12)


@pytest.mark.parametrize("wave", [
    StreamFunctionWave(0.1, 0.5, length=3.0, eulerian_current=0.1, direction=2.0),
    StokesWave(0.05, DEEP, length=1.0, eulerian_current=0.0, direction=-0.5),
    AiryWave(0.02, 0.4, period=1.2, eulerian_current=0.2, direction=0.4),
])  # fmt: skip
def test_kinematics_are_derivatives_of_the_potential(wave, rng):
    x, y, t = rng.uniform(-2.0, 2.0, (3, 20))
    z = rng.uniform(-0.35, 0.0, 20)
    d = 2e-3
    u, v, w = wave.velocity(x, y, z, t)
    assert np.allclose(u, derivative(lambda s: wave.potential(x + s, y, z, t), d), atol=1e-11)
    assert np.allclose(v, derivative(lambda s: wave.potential(x, y + s, z, t), d), atol=1e-11)
    assert np.allclose(w, derivative(lambda s: wave.potential(x, y, z + s, t), d), atol=1e-11)
    local = [derivative(lambda s, k=k: wave.velocity(x, y, z, t + s)[k], d) for k in range(3)]
    assert np.allclose(wave.acceleration(x, y, z, t), local, atol=1e-10)
    moved = [derivative(lambda s, k=k: wave.velocity(x + s * u, y + s * v, z + s * w, t + s)[k], d) for k in range(3)]
    assert np.allclose(wave.material_acceleration(x, y, z, t), moved, atol=1e-10)
    if wave.depth != DEEP:
        assert np.allclose(wave.velocity(x, y, -wave.depth, t)[2], 0.0, atol=1e-15)


@pytest.mark.parametrize("case", CASES)
def test_pressure_at_the_surface_is_that_of_the_air(case):
    wave = StreamFunctionWave(**case)
    x = np.linspace(0.0, wave.length, 37)
    eta = wave.elevation(x, 0.0, 0.2)
    pressure = wave.dynamic_pressure(x, 0.0, eta, 0.2)
    assert np.allclose(pressure, 1000.0 * wave.gravity * eta, rtol=0.0, atol=1e-8 * wave.height * 1e4)
    d, z = 1e-3, -0.2
    rate = derivative(lambda s: wave.potential(x, 0.0, z, 0.2 + s), d)
    u, _, w = wave.velocity(x, 0.0, z, 0.2)
    assert np.allclose(wave.dynamic_pressure(x, 0.0, z, 0.2), -1000.0 * (rate + 0.5 * (u**2 + w**2)), atol=1e-6)


def test_energies_by_integration():
    wave = StreamFunctionWave(0.1, 0.5, length=3.0, eulerian_current=0.0)
    x = np.linspace(0.0, 3.0, 200, endpoint=False)
    eta = wave.elevation(x, 0.0, 0.0)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    z = -0.5 + 0.5 * (0.5 + eta) * (nodes[:, None] + 1.0)
    u, _, w = wave.velocity(x, 0.0, z, 0.0)
    kinetic = np.mean(0.5 * (0.5 + eta) * (weights @ (0.5 * (u**2 + w**2)))) * 1000.0
    assert wave.kinetic_energy() == pytest.approx(kinetic, rel=1e-12)
    assert wave.potential_energy() == pytest.approx(500.0 * wave.gravity * np.mean(eta**2), rel=1e-12)


# -- expansions ------------------------------------------------------------------------------------


def test_coefficients_of_fenton():
    """Table 1 of Fenton (1985), k h = 0.753982, as corrected in 1990; printed to 6 decimals for k h to 6 digits."""
    from eagre.waves.stokes import stokes_series

    kd = 0.753982
    series = stokes_series(kd, 5)
    c0 = series.mean_speed[0]
    a = {
        (1, 1): 1.208490, (2, 2): 0.799840, (3, 1): -9.105340, (3, 3): 0.368275, (4, 2): -12.196150,
        (4, 4): 0.058723, (5, 1): 108.46831725, (5, 3): -6.941756, (5, 5): -0.074979,
    }  # fmt: skip
    b = {
        (2, 2): 2.502414,
        (3, 1): -5.731666,
        (4, 2): -32.407508,
        (4, 4): 14.033758,
        (5, 3): -103.445042,
        (5, 5): 37.200027,
    }
    for (i, j), value in a.items():
        assert series.potential[i, j] / (c0 * np.cosh(j * kd)) == pytest.approx(value, rel=1e-5)
    for (i, j), value in b.items():
        assert series.elevation[i, j] == pytest.approx(value, rel=1e-5)
    assert series.mean_speed[[0, 2, 4]] == pytest.approx([0.798448, 1.940215, -12.970403], rel=1e-5)
    assert series.transport[[2, 4]] == pytest.approx([0.626215, -3.257104], rel=1e-5)
    assert series.bernoulli[[2, 4]] == pytest.approx([1.781926, -11.573657], rel=1e-5)


@pytest.mark.parametrize("depth", [DEEP, 1.0 / 3.0])
@pytest.mark.parametrize("order", [1, 2, 3, 5, 7])
def test_residual_of_an_expansion_falls_with_its_order(order, depth):
    """The equations of the surface are left with (k H / 2)^(order + 1), over k H here: one power less."""
    left = []
    for steepness in (0.02, 0.01):
        wave = StokesWave(steepness, depth, length=1.0, eulerian_current=0.0, order=order, direction=0.3)
        left.append(surface_residuals(wave))
    rates = np.log2(np.array(left[0]) / np.array(left[1]))
    assert (rates > order - 0.2).all()


def test_fifth_order_waves_tend_to_stream_function_waves():
    errors = []
    for height in (0.06, 0.03):
        args = {"height": height, "depth": 0.4, "period": 0.8, "stokes_current": 0.0}
        errors.append(abs(StokesWave(**args).length / StreamFunctionWave(**args).length - 1.0))
    assert errors[0] < 2e-4 and errors[0] / errors[1] > 2**5.5


def test_small_waves_are_airy_waves():
    args = {"height": 1e-5, "depth": 0.7, "period": 1.3, "eulerian_current": 0.25}
    airy = AiryWave(**args)
    k, omega = airy.wave_number, 2 * math.pi / 1.3
    assert (omega - 0.25 * k) ** 2 == pytest.approx(9.81 * k * math.tanh(0.7 * k), rel=1e-13)
    full = StreamFunctionWave(**args)
    assert airy.length == pytest.approx(full.length, rel=1e-9)
    x, z = np.linspace(0.0, 3.0, 31), -0.3
    assert np.allclose(airy.velocity(x, 0.0, z, 0.4), full.velocity(x, 0.0, z, 0.4), atol=1e-9)
    assert np.allclose(airy.dynamic_pressure(x, 0.0, z, 0.4), full.dynamic_pressure(x, 0.0, z, 0.4), atol=1e-4)
    assert airy.stokes_transport == pytest.approx(full.stokes_transport, rel=1e-4)


def test_airy_wave_solves_the_linear_equations():
    wave = AiryWave(0.3, 2.0, period=3.0, direction=1.0)
    x, t, d = np.linspace(-4.0, 4.0, 21), 0.7, 1e-2
    eta_t = derivative(lambda s: wave.elevation(x, 0.5, t + s), d)
    phi_t = derivative(lambda s: wave.surface_potential(x, 0.5, t + s), d)
    assert np.allclose(eta_t, wave.velocity(x, 0.5, 0.0, t)[2], atol=1e-10)
    assert np.allclose(phi_t, -9.81 * wave.elevation(x, 0.5, t), atol=1e-10)
    eta = wave.elevation(x, 0.5, t)
    assert np.allclose(wave.surface_potential(x, 0.5, t, at="surface"), wave.potential(x, 0.5, eta, t))
    with pytest.raises(InputError, match="still water"):
        wave.surface_potential(x, 0.5, t, at="bottom")


# -- steep and long waves, and errors ----------------------------------------------------------------


@pytest.mark.parametrize(("length", "share"), [(1.0, 0.9), (5.0, 0.9), (20.0, 0.9), (50.0, 0.7)])
def test_steep_and_long_waves(length, share):
    wave = StreamFunctionWave(share * highest_wave(length, 1.0), 1.0, length=length, eulerian_current=0.0)
    assert wave.residual < 1e-10 * wave.height
    kinematic, dynamic = surface_residuals(wave, 1e-4)
    assert max(kinematic, dynamic) < 1e-8
    x = np.linspace(0.0, length / 2, 301)
    assert (np.diff(wave.elevation(x, 0.0, 0.0)) < 0.0).all()


def test_low_waves():
    wave = StreamFunctionWave(1e-5, 1.0, period=3.0, stokes_current=0.0)
    assert wave.length == pytest.approx(AiryWave(1e-5, 1.0, period=3.0).length, rel=1e-9)
    for size in ({"length": 20.0}, {"period": 3.0}):
        with pytest.raises(InputError, match=r"AiryWave\(\.\.\.\)"):
            StreamFunctionWave(1e-6, 1.0, stokes_current=0.0, **size)


def test_a_given_number_of_modes_is_kept():
    wave = StreamFunctionWave(0.08, 1.0, length=1.0, eulerian_current=0.0, gravity=9.82, order=6)
    assert wave.order == wave.potential_coefficients.size == 6
    assert 1e-9 < abs(wave.celerity - 1.2902737383148) < 1e-5


def test_highest_wave():
    """Values printed by Fenton's own program for L/h = 8 and 1.6526."""
    assert highest_wave(8.0, 1.0) == pytest.approx(0.678, abs=5e-4)
    assert highest_wave(1.6526, 1.0) == pytest.approx(0.234, abs=5e-4)
    assert highest_wave(2.0, DEEP) == pytest.approx(0.282126)


@pytest.mark.parametrize(
    ("wave", "close"),
    [
        (AiryWave(0.05, depth=0.5, period=1.5, direction=2.0), 1e-13),
        (StokesWave(0.05, depth=math.inf, length=1.5, eulerian_current=0.2), 1e-12),
        (StreamFunctionWave.over_still_water(height=0.1, depth=0.4, period=2.0, stokes_current=0.1, phase=0.3), 1e-12),
        (StreamFunctionWave(0.95 * highest_wave(4.0, 0.5), depth=0.5, length=4.0, eulerian_current=0.0), 1e-11),
    ],
)
def test_at_fixed_points(wave, close):
    """Elevation and potential of the surface are sums of harmonics that travel, level, current and rate beside them."""
    x, y = np.linspace(-3.0, 9.0, 29), np.array([[-0.4], [1.3]])
    fixed = FixedPoints(wave, x, y)
    for t in (0.0, 0.3, 17.123):
        eta, phi = fixed.surface(t)
        expected = wave.surface_potential(x, y, t)
        assert eta.shape == phi.shape == (2, 29)
        assert np.abs(eta - wave.elevation(x, y, t)).max() < close * wave.height
        assert np.abs(phi - expected).max() < close * np.abs(expected).max()


@pytest.mark.parametrize(
    ("wave", "words"),
    [
        (lambda: StreamFunctionWave(0.6, 1.0, length=4.0, eulerian_current=0.0), ["H/L = 0.15", "limit", "H/h = 0.6"]),
        (lambda: StreamFunctionWave(0.5, 1.0, period=1.2, eulerian_current=0.0), ["H/L", "height = 0.35"]),
        (lambda: StreamFunctionWave(0.2, DEEP, length=1.0, eulerian_current=0.0), ["limit 0.14106"]),
        (lambda: StreamFunctionWave(0.1, 1.0, length=4.0), ["eulerian_current = 0.0", "stokes_current = 0.0"]),
        (lambda: StreamFunctionWave(0.1, 1.0, length=4.0, eulerian_current=0, stokes_current=0), ["exactly one"]),
        (lambda: StreamFunctionWave(0.1, DEEP, length=4.0, stokes_current=0), ["infinite", "eulerian_current = 0"]),
        (lambda: StreamFunctionWave(0.1, 1.0, eulerian_current=0.0), ["length", "period = 2.5"]),
        (lambda: StreamFunctionWave(-0.1, 1.0, length=4.0, eulerian_current=0.0), ["height = -0.1", "> 0"]),
        (lambda: StreamFunctionWave(0.1, "deep", length=4.0, eulerian_current=0.0), ["depth = 'deep'", "math.inf"]),
        (lambda: StreamFunctionWave(0.1, 1.0, period=2.0, eulerian_current=-3.0), ["a current of -3 m/s", "slower"]),
        (
            lambda: StreamFunctionWave(0.1, 1.0, length=3.0, eulerian_current=-5.0),
            ["carries the wave backwards", "against a wave of 3 m"],
        ),
        (lambda: StreamFunctionWave(0.1, 1.0, length=1e5, eulerian_current=0.0), ["L/h = 1e+05", "length = 50"]),
        (lambda: StreamFunctionWave(0.1, 1.0, length=2.0, eulerian_current=0.0, order=1), ["order = 1", "from 2 to"]),
        (lambda: StokesWave(0.2, 1.0, length=20.0, eulerian_current=0.0), ["H L^2 / h^3 = 80", "StreamFunctionWave"]),
        (lambda: AiryWave(0.9, 1.0, length=4.0), ["H/h = 0.9"]),
        (lambda: AiryWave(0.1, 1.0, length=4.0, direction=math.nan), ["direction = nan", "rad"]),
    ],
)  # fmt: skip
def test_errors_say_what_to_write(wave, words):
    with pytest.raises(InputError) as caught:
        wave()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("current", [{"eulerian_current": 0.0}, {"eulerian_current": -0.8}, {"stokes_current": 0.0}])
@pytest.mark.parametrize(("height", "depth", "period"), [(9.5, 10.0, 12.0), (3.5, 10.0, 3.5), (3.5, 1000.0, 3.5)])
def test_waves_of_a_period_above_the_highest_are_rejected_at_once(monkeypatch, height, depth, period, current):
    """No continuation and no secant iteration: the longest wave of the period bounds the height."""

    def fail(*_):
        raise AssertionError("the iteration began")

    monkeypatch.setattr("eagre.waves.stream_function.solve", fail)
    monkeypatch.setattr("eagre.waves.stokes.stokes_series", fail)
    for theory in (StreamFunctionWave, StokesWave):
        with pytest.raises(InputError, match="waves below the highest one"):
            theory(height, depth, period=period, **current)


@pytest.mark.parametrize(
    ("length", "current"),
    [(5.0, {"eulerian_current": 0.0}), (30.0, {"stokes_current": 0.0}), (60.0, {"eulerian_current": -0.5})],
)
def test_steep_waves_of_a_period_are_not_rejected(length, current):
    """The bound of the length exceeds that of the solution at 97 % of the highest wave."""
    height = 0.97 * highest_wave(length, 10.0)
    wave = StreamFunctionWave(height, 10.0, length=length, **current)
    again = StreamFunctionWave(height, 10.0, period=wave.period, **current)
    assert again.length == pytest.approx(length, rel=1e-6)
