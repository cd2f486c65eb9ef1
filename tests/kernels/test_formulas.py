"""Formulas as plain Python: values worked out by hand or with NumPy (spec rows F3 to F6)."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.kernels.bits import from_bits, magnitude_bits, to_bits
from eagre.kernels.central_upwind import central_upwind, desingularised_inverse
from eagre.kernels.limiters import half_slope, limited, scaled_difference
from eagre.kernels.roots import power_four_thirds
from eagre.models.shallow_water.kernels import Slopes, hydrostatic_faces, kurganov_petrova_faces

pytestmark = pytest.mark.nojit
G = 9.81


def parameters(theta=1.3, kappa=1e-2):
    """The numbers that cells read."""
    return SimpleNamespace(theta=0.5 * theta, central=0.5 / theta, kappa=kappa, kappa4=kappa**4, dry=1e-3 * kappa, g=G)


def minmod(*numbers):
    """The textbook definition."""
    if min(numbers) > 0:
        return min(numbers)
    return max(numbers) if max(numbers) < 0 else 0.0


@pytest.mark.parametrize("theta", [1.0, 1.3, 2.0])
def test_half_slope_is_the_generalized_minmod(theta, rng):
    p = parameters(theta)
    for low, mid, high in rng.standard_normal((200, 3)):
        expected = 0.5 * minmod(theta * (mid - low), 0.5 * (high - low), theta * (high - mid))
        got = half_slope(scaled_difference(low, mid, p), scaled_difference(mid, high, p), p)
        assert got == pytest.approx(expected, abs=1e-15)


def test_limiter_vanishes_at_extremes_and_on_flats():
    assert limited(1.0, 0.1, -1.0) == 0.0
    assert limited(0.0, 0.5, 1.0) == 0.0
    assert limited(-2.0, -1.5, -1.0) == -1.0


def test_desingularised_inverse_is_exact_above_kappa_and_bounded_below():
    for h in (0.01, 0.5, 4000.0):
        assert desingularised_inverse(h, 1e-2**4) == pytest.approx(1.0 / h, rel=1e-15)
    heights = np.geomspace(1e-12, 1e-2, 50)
    assert all(desingularised_inverse(h, 1e-2**4) <= 1.01 / 1e-2 for h in heights)
    assert desingularised_inverse(0.0, 1e-2**4) == 0.0


def test_flux_of_equal_sides_is_the_physical_flux(rng):
    for w, z, u, v in rng.uniform([0.5, -1.0, -3.0, -3.0], [3.0, 0.4, 3.0, 3.0], (50, 4)):
        h = w - z
        mass, left, right, along, speed = central_upwind(h, h, u, v, h, h, u, v, G)
        assert mass == pytest.approx(h * u, abs=1e-13)
        assert left == right == pytest.approx(h * u * u, abs=1e-13)  # less the pressure of either side
        assert along == pytest.approx(h * u * v, abs=1e-13)
        assert speed == pytest.approx(max(0.0, abs(u) + np.sqrt(G * h)))


def test_flux_of_two_sides_is_the_textbook_formula(rng):
    for w_l, u_l, v_l, w_r, u_r, v_r in rng.uniform([1, -1, -1] * 2, [3, 1, 1] * 2, (50, 6)):
        z = 0.3
        h_l, h_r = w_l - z, w_r - z
        a_p = max(0, u_l + np.sqrt(G * h_l), u_r + np.sqrt(G * h_r))
        a_m = min(0, u_l - np.sqrt(G * h_l), u_r - np.sqrt(G * h_r))

        def flux(h, u, v):
            return np.array([h * u, h * u * u + G * h * h / 2, h * u * v])

        jump = np.array([h_r - h_l, h_r * u_r - h_l * u_l, h_r * v_r - h_l * v_l])
        expected = (a_p * flux(h_l, u_l, v_l) - a_m * flux(h_r, u_r, v_r) + a_p * a_m * jump) / (a_p - a_m)
        mass, left, right, along, _ = central_upwind(h_l, h_l, u_l, v_l, h_r, h_r, u_r, v_r, G)
        assert [mass, along] == pytest.approx(list(expected[[0, 2]]))
        assert left + G * h_l**2 / 2 == pytest.approx(expected[1])
        assert right + G * h_r**2 / 2 == pytest.approx(expected[1])


def test_no_water_gives_no_flux():
    assert central_upwind(1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, G) == (0.0, 0.0, 0.0, 0.0, 0.0)


def test_a_flux_lets_no_more_water_through_than_there_is():
    """A film of 1e-9 m at a bed 1000 m above that of the face, in single precision: y - h is 1000 m to rounding."""
    h, y, zero = np.float32(1e-9), np.float32(1000.0), np.float32(0.0)
    _, left, _, _, speed = central_upwind(y, h, zero, zero, zero, zero, zero, zero, np.float32(G))
    assert speed == pytest.approx(np.sqrt(G * 1e-9), rel=1e-6)
    assert left == pytest.approx(-G * 1e-9 * 1000.0, rel=1e-5)  # the weight of the fall


def cells_of(rng, datum):
    """Bed at two faces and depth of random cells, and what the model makes of them: eta and the bed over the base."""
    for _ in range(300):
        b_low, b_high = rng.uniform(-1, 1, 2)
        h = max(0.0, rng.uniform(-0.3, 1.0))
        b = 0.5 * (b_low + b_high)
        base = max(b, datum)
        yield b, h, b + h - base, b_low - base, b_high - base


@pytest.mark.parametrize("datum", [-2.0, 0.0, 2.0])
@pytest.mark.parametrize("faces", [hydrostatic_faces, kurganov_petrova_faces])
def test_faces_keep_the_mean_and_are_never_negative(faces, datum, rng):
    p = parameters()
    for _, h, eta, o_low, o_high in cells_of(rng, datum):
        d = rng.uniform(-1, 1, (3, 2))
        _, h_low, _, _, _, h_high, _, _, _ = faces(Slopes(eta, *d[0], 0.1, *d[1], 0.2, *d[2]), h, o_low, o_high, p)
        assert h_low >= -1e-15
        assert h_high >= -1e-15
        assert h_low + h_high == pytest.approx(2 * h, abs=1e-14)


@pytest.mark.parametrize("faces", [hydrostatic_faces, kurganov_petrova_faces])
def test_rise_is_that_of_the_surface(faces, rng):
    p = parameters()
    for _, h, eta, o_low, o_high in cells_of(rng, 0.0):
        d = rng.uniform(-1, 1, 2)
        y_low, h_low, _, _, y_high, h_high, _, _, rise = faces(
            Slopes(eta, d[0], d[1], 0.1, 0.0, 0.0, 0.2, 0.0, 0.0), h, o_low, o_high, p
        )
        if max(h_low, h_high) > 0.0:
            assert rise == pytest.approx((y_high + o_high) - (y_low + o_low), abs=1e-14)


def test_level_water_stays_level_at_every_face(rng):
    p = parameters()
    for _, h, eta, o_low, o_high in cells_of(rng, 0.0):
        y_low, _, _, _, y_high, _, _, _, rise = hydrostatic_faces(Slopes(eta, *[0] * 8), h, o_low, o_high, p)
        assert rise == 0.0 and (y_low, y_high) == (eta - o_low, eta - o_high)


def test_bits_order_like_numbers_and_keep_nan():
    values = [0.0, 1e-300, 1e-3, 1.0, 1e300, np.inf, np.nan]
    patterns = [int(to_bits(value)) for value in values]
    assert patterns == sorted(patterns)
    assert from_bits(to_bits(3.25)) == 3.25
    assert magnitude_bits(-2.0) == magnitude_bits(2.0)
    assert magnitude_bits(np.float64("-inf")) > magnitude_bits(1e300)


@pytest.mark.parametrize(("precision", "tolerance"), [("single", 2e-6), ("double", 5e-15)])
def test_power_four_thirds_on_the_cpu(precision, tolerance):
    from kernels.programs import power_row

    real = np.float32 if precision == "single" else np.float64
    x = np.geomspace(1e-6, 1e9, 400).astype(real)[None, :]
    out = np.zeros_like(x)
    device = select("cpu")
    device.run([device.over(device.loop(power_row, precision), x.shape, (x, out))])
    exact = x.astype(np.float64) ** (4.0 / 3.0)
    assert abs(out / exact - 1).max() < tolerance
    assert power_four_thirds(8.0) == pytest.approx(16.0)
