"""The Savitzky-Golay filter of the surface: its transfer function, conservation, and steep waves that it keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.signal import savgol_filter

from eagre import BlowUpError, Grid, InputError, PotentialWaves
from eagre.models.potential_waves.surface.surface_filter import SurfaceFilter
from eagre.waves import StreamFunctionWave


def surface_of(shape, periodic, device="cpu", **options):
    """A model at rest but for noise on its surface, and the noise."""
    ny, nx = shape
    grid = Grid.from_points(nx, ny, float(nx), float(ny), periodic=periodic)
    name = {(False, False): "none", (True, False): "x", (False, True): "y", (True, True): "both"}[periodic]
    noise = np.random.default_rng(4).normal(size=(2, *shape))
    model = PotentialWaves(
        grid, 4.0, surface_elevation=0.01 * noise[0], surface_potential=0.01 * noise[1], periodic=name, device=device,
        precision="double", order=2, vertical_points=4, surface_filter=1, **options,
    )  # fmt: skip
    return model, 0.01 * noise


def by_scipy(values, periodic):
    """13 points, degree 10, along x and then along y."""
    for axis, wraps in ((2, periodic[0]), (1, periodic[1])):
        if values.shape[axis] > 1:
            values = np.asarray(savgol_filter(values, 13, 10, axis=axis, mode="wrap" if wraps else "mirror"))
    return values


@pytest.mark.parametrize(
    ("shape", "periodic"),
    [((1, 32), (True, False)), ((1, 33), (False, False)), ((33, 1), (False, False)), ((16, 33), (False, True)),
     ((17, 32), (True, False)), ((32, 16), (True, True))],
)  # fmt: skip
@pytest.mark.parametrize("parts", [1, 2])
def test_the_filter_is_that_of_savitzky_and_golay(shape, periodic, parts):
    """On one device and on two; a flume of one row stays on one. SciPy's weights are right to 1e-8."""
    device = "cpu" if shape[0] == 1 else ["cpu"] * parts
    model, noise = surface_of(shape, periodic, device)
    SurfaceFilter(model._engine.laplace).apply()
    filtered = model._engine.surface()
    np.testing.assert_allclose(filtered, by_scipy(noise, periodic), rtol=0, atol=1e-9)
    areas = model.setup.areas
    means = [float((areas * field).sum()) for field in (*filtered, *noise)]
    assert means[:2] == pytest.approx(means[2:], abs=1e-14)


def test_resolved_waves_are_kept_and_sawtooth_waves_are_not():
    """The part 1.40 sin^12(k dx / 2) is removed: of order 12."""
    removed = {}
    for points in (2, 8, 16):
        grid = Grid.from_points(32, 1, 32.0, 1.0, periodic=(True, False))
        eta = np.cos(2.0 * np.pi * grid.x / points)[None]
        model = PotentialWaves(grid, 4.0, surface_elevation=0.01 * eta, periodic="x", device="cpu",
                               precision="double", surface_filter=1)  # fmt: skip
        SurfaceFilter(model._engine.laplace).apply()
        removed[points] = 1.0 - float((model.field("surface_elevation") * eta).sum() / (0.01 * (eta**2).sum()))
    factor = 4**6 * math.comb(12, 6) / math.comb(24, 12)
    for points, part in removed.items():
        assert part == pytest.approx(factor * math.sin(math.pi / points) ** 12, rel=1e-4, abs=1e-12)
    assert removed[2] == pytest.approx(1.4, abs=1e-3)


def steep(**options):
    """H/L 0.1, kh pi / 2, 32 points per wave length and 64 steps per period, periodic; the energy at the start."""
    wave = StreamFunctionWave(0.1, 0.25, length=1.0, eulerian_current=0.0)
    grid = Grid.from_points(32, 1, 1.0, 1.0, periodic=(True, False))
    places = grid.x[None], 0.0, 0.0
    model = PotentialWaves(
        grid, 0.25, surface_elevation=wave.elevation(*places), surface_potential=wave.surface_potential(*places),
        periodic="x", device="cpu", precision="double", time_step=wave.period / 64.0, **options,
    )  # fmt: skip
    return model, wave.period, model.diagnostics()["energy"]


def sawtooth(model):
    """Amplitude of the shortest wave of the grid, m."""
    eta = model.field("surface_elevation")[0]
    return abs(float((eta * (-1.0) ** np.arange(eta.size)).mean()))


def test_a_steep_wave_without_a_sawtooth():
    """A sawtooth of 1 % of the height stays without the filter and is gone with it; energy and volume are kept."""
    left = []
    for steps in (0, 10):
        model, period, energy = steep(surface_filter=steps)
        state = model.state()
        state["surface"][0, 0] += 1e-3 * (-1.0) ** np.arange(32)
        model.restore(state)
        model.advance(2.0 * period)
        left.append(sawtooth(model))
    assert left[0] > 1e-3 and left[1] < 1e-4
    assert model.diagnostics()["energy"] == pytest.approx(energy, rel=5e-3)
    assert abs(model.diagnostics()["volume_error"]) < 1e-4


@pytest.mark.slow
def test_a_steep_wave_for_24_periods():
    """The loss of energy is 0.1 %; without the filter the Laplace problem has no solution after 19 periods."""
    with pytest.raises(BlowUpError):
        plain, period, _ = steep()
        plain.advance(24.0 * period)
    model, period, energy = steep(surface_filter=10)
    model.advance(24.0 * period)
    assert model.diagnostics()["energy"] == pytest.approx(energy, rel=2e-3)


def test_a_restart_continues_with_the_same_bits():
    """The steps to the next application are counted from the start of the run, not from the restart."""
    one, other = (steep(surface_filter=4)[0] for _ in range(2))
    step = one.time_step
    one.advance(6.0 * step)
    other.restore(one.state())
    for model in (one, other):
        model.advance(9.0 * step)
    for name, values in one.state().items():
        np.testing.assert_array_equal(values, other.state()[name], err_msg=name)
    plain = steep()[0]
    for until in (6.0, 9.0):
        plain.advance(until * step)
    assert not np.array_equal(plain.field("surface_elevation"), one.field("surface_elevation"))
    assert one.settings()["surface_filter"] == 4 and "surface_filter" not in plain.settings()


@pytest.mark.parametrize("steps", [-1, 2.5, True])
def test_intervals_that_are_rejected(steps):
    with pytest.raises(InputError, match="number of steps between two applications"):
        steep(surface_filter=steps)
