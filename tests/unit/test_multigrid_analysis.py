"""Local Fourier analysis of smoothers: published factors, closed formulas, and sweeps over a mode."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.solvers.multigrid.analysis import Smoother

CUBE = (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("spacing", "weight", "factor"),
    [((1.0,), 2.0 / 3.0, 1.0 / 3.0), ((1.0, 1.0), 4.0 / 5.0, 3.0 / 5.0), (CUBE, 6.0 / 7.0, 5.0 / 7.0)],
)
def test_the_best_weight_of_jacobi(spacing, weight, factor):
    """Trottenberg, Oosterlee and Schueller (2001), section 2.1; Madsen (2010), equations 2.104 and 2.105."""
    assert Smoother("jacobi", spacing).best_weight() == pytest.approx((weight, factor), abs=1e-7)
    assert Smoother("jacobi", spacing, weight=weight).smoothing_factor().factor == pytest.approx(factor, abs=1e-12)


@pytest.mark.parametrize(("order", "factor"), [(4, 0.392), (6, 0.428), (8, 0.453)])
def test_higher_central_orders(order, factor):
    assert Smoother("jacobi", order=order).best_weight()[1] == pytest.approx(factor, abs=1e-3)


@pytest.mark.parametrize(("order", "factor"), [(4, 0.29), (6, 4.8), (8, 674.0)])
def test_differences_off_centre_diverge_above_order_4(order, factor):
    """The centre is the second point of each difference; weight 2/3."""
    smoother = Smoother("jacobi", order=order, points_before=1, weight=2.0 / 3.0)
    assert smoother.smoothing_factor().factor == pytest.approx(factor, rel=5e-3)


def test_lexicographic_gauss_seidel():
    """0.50 in two dimensions, 0.567 in three at (0.11, 0.11, 0.5) pi."""
    assert Smoother("gauss-seidel", (1.0, 1.0)).smoothing_factor().factor == pytest.approx(0.5, abs=1e-3)
    smoother = Smoother("gauss-seidel", CUBE)
    assert smoother.gain(np.pi * np.array([0.11, 0.11, 0.5])) == pytest.approx(0.567, abs=5e-4)
    factor, theta = smoother.smoothing_factor()
    assert factor == pytest.approx(0.567, abs=1e-3) and sorted(theta / np.pi) == pytest.approx(
        [0.1, 0.1, 0.5], abs=0.02
    )


@pytest.mark.parametrize(("dimensions", "factor"), [(1, 1 / 8), (2, 1 / 4), (3, 4 / 9)])
def test_red_black_gauss_seidel(dimensions, factor):
    """Known for one sweep: 1/8, 1/4 and 4/9."""
    found = Smoother("red-black", CUBE[:dimensions]).smoothing_factor(samples=49)
    assert found.factor == pytest.approx(factor, abs=1e-3)


@pytest.mark.parametrize("depth", [0.1, 1.0, 3.0])
def test_lines_smooth_at_any_ratio_of_spacings(depth):
    """Zebra lines 1/4; Jacobi lines 3/5 at the weight 4/5."""
    spacing = (1.0, 1.0, depth)
    assert Smoother("red-black", spacing, line=2).smoothing_factor(samples=33).factor == pytest.approx(0.25, abs=1e-9)
    assert Smoother("jacobi", spacing, line=2).best_weight() == pytest.approx((0.8, 0.6), abs=1e-7)


@pytest.mark.parametrize("ratio", [0.2, 1.0, 5.0])
def test_gains_by_direction(ratio):
    """Madsen (2010), equations 2.96 and 2.130."""
    theta, spacing, e = np.linspace(0.1, np.pi, 7), (1.0, 1.0, ratio), ratio**2
    line = Smoother("jacobi", spacing, line=2).directional_gain(2, theta)
    assert line == pytest.approx(2.0 * e / (2.0 * e + 1.0 - np.cos(theta)), rel=1e-12)
    point = Smoother("jacobi", spacing, weight=0.8).directional_gain(2, theta)
    ends = [abs(0.2 + 0.8 * (sign * 2.0 * e + np.cos(theta)) / (2.0 * e + 1.0)) for sign in (-1.0, 1.0)]
    assert point == pytest.approx(np.maximum(*ends), rel=1e-12)


@pytest.mark.parametrize("method", ["jacobi", "gauss-seidel", "red-black"])
@pytest.mark.parametrize("options", [{}, {"line": 0}, {"line": 2}, {"order": 4}, {"order": 4, "points_before": 1}])
def test_a_sweep_has_the_gain_of_the_symbol(method, options):
    smoother, mode, points = Smoother(method, (1.0, 0.8, 0.5), weight=0.9, **options), (3, 5, 2), 16
    gain = float(smoother.gain(2.0 * np.pi / points * np.array(mode)))
    assert smoother.measured_gain(mode, points) == pytest.approx(gain, rel=1e-5) and gain != 1.0


def test_a_sweep_in_one_dimension_by_hand():
    """Gauss-Seidel: e_j = (new e_(j - 1) + e_(j + 1)) / 2, point after point."""
    error = np.exp(0.5j * np.pi * np.arange(64))
    for j in range(62):
        error[j] = 0.5 * (error[j - 1] + error[j + 1])
    assert Smoother("gauss-seidel").measured_gain([16], 64) == pytest.approx(abs(error[60]), rel=1e-9)
    assert abs(error[60]) == pytest.approx(1.0 / abs(2.0 - np.exp(-0.5j * np.pi)), rel=1e-9)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"method": "sor"}, "method"), ({"spacing": ()}, "spacing"), ({"spacing": (1.0, -1.0)}, "spacing"),
        ({"order": 3}, "order"), ({"points_before": 0}, "points_before"),
        ({"line": 1}, "line"), ({"weight": 3}, "weight"),
    ],
)  # fmt: skip
def test_arguments_out_of_range(wrong, name):
    with pytest.raises(InputError, match=name):
        Smoother(**{"method": "jacobi", **wrong})


def test_only_jacobi_has_a_weight():
    with pytest.raises(InputError, match="best weight"):
        Smoother("red-black").best_weight()
