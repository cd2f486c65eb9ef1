"""Errors that are predicted before a run, against independent solutions and against what the model does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre import Grid, PotentialWaves, RelaxationZone, Series, Wavemaker
from eagre.models.potential_waves.boundaries.wave_checks import (
    better_layers,
    celerity_error,
    mean_wave_number,
    wavemaker_reflection,
)
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.waves import AiryWave, wave_number


def difference(nodes, at, derivative):
    """Weights by the moments of the Taylor series about `at`."""
    powers = np.arange(nodes.size)
    moments = (nodes - at)[None, :] ** powers[:, None] / np.array([math.factorial(int(n)) for n in powers])[:, None]
    return np.linalg.solve(moments, np.eye(nodes.size)[derivative])


def celerity_by_hand(nz, order, clustered, kh):
    """c over sqrt(g tanh(kh) / k), from a column with one layer below the bottom."""
    up = np.arange(nz) / (nz - 1.0)
    up = np.sin(0.5 * np.pi * up) if clustered else up
    sigma = np.r_[up[::-1], -up[1]]

    def row(k, derivative):
        low = min(max(k - order // 2, 0), nz - order)
        weights = np.zeros(nz + 1)
        weights[low : low + order + 1] = difference(sigma[low : low + order + 1], sigma[k], derivative)
        return weights

    rows = [np.eye(nz + 1)[0]] + [row(k, 2) - kh**2 * np.eye(nz + 1)[k] for k in range(1, nz)] + [row(nz - 1, 1)]
    potential = np.linalg.solve(np.array(rows), np.eye(nz + 1)[0])
    return math.sqrt(row(0, 1) @ potential / (kh * math.tanh(kh)))


@pytest.mark.nojit
@pytest.mark.parametrize("order", [2, 4, 6, 8])
@pytest.mark.parametrize("clustered", [True, False])
def test_the_predicted_celerity_is_that_of_a_direct_solution(order, clustered):
    for nz, kh in ((10, 0.5), (12, 6.0), (13, 40.0)):
        exact = celerity_by_hand(nz, order, clustered, kh) - 1.0
        assert celerity_error(Vertical(nz, order, clustered), kh) == pytest.approx(exact, rel=1e-5, abs=1e-9)


@pytest.mark.nojit
def test_nine_layers_in_deep_water():
    """-2.8 % at kh 40 and -33 % at kh 161; the suggested layers are right to 1 %."""
    assert celerity_by_hand(9, 6, True, 40.0) - 1.0 == pytest.approx(-0.028, abs=5e-4)
    assert celerity_by_hand(9, 6, True, 161.0) - 1.0 == pytest.approx(-0.33, abs=5e-3)
    for kh in (40.0, 161.0):
        better = better_layers(Vertical(9, 6), kh)
        assert better is not None and better.nz < 25
        assert abs(celerity_by_hand(better.nz, 6, True, kh) - 1.0) < 0.01
    assert better_layers(Vertical(9, 6), 1e5) is None


def test_the_model_has_the_predicted_celerity():
    """w of phi = cos kx at z = 0, 64 points per wave: (c / c_exact)^2 k tanh(kh)."""
    wave = AiryWave(0.01, 40.0 / math.pi, length=2.0)
    grid = Grid.from_points(64, 1, 2.0, 1.0, periodic=(True, False))
    k, depth = math.pi, 40.0 / math.pi
    model = PotentialWaves(grid, depth, surface_potential=np.cos(k * grid.x)[None], periodic="x", linear=True,
                           device="cpu", precision="double", tolerance=1e-9, surface_elevation=0.0)  # fmt: skip
    ratio = model.field("velocity_z")[0, 0] / (k * math.tanh(40.0))
    assert math.sqrt(ratio) == pytest.approx(1.0 + celerity_error(Vertical(9, 6), 40.0), abs=1e-4)
    assert wave.wave_number == pytest.approx(model.setup.initial_wave_number, rel=0.01)


def celerity_notes(**options):
    model = PotentialWaves(device="cpu", **options)
    return [note for note in model.notes if "the celerity is" in note]


def test_waves_in_deep_water_are_noted():
    """Waves of zones, of paddles and of the start; not where the layers suffice."""
    grid = Grid.from_points(129, 1, 1200.0, 1.0)
    swell = AiryWave(1.0, 4000.0, period=10.0)
    (note,) = celerity_notes(
        grid=grid, depth=1000.0, relaxation_zones=[RelaxationZone("west", 200.0, 10.0, swell)], vertical_points=7
    )
    assert (
        "relaxation zone in the west" in note
        and "kh 40.2" in note
        and "too low" in note
        and "write vertical_points = " in note
    )
    layers = int(note.partition("write vertical_points = ")[2].split()[0])
    assert not celerity_notes(
        grid=grid, depth=1000.0, relaxation_zones=[RelaxationZone("west", 200.0, 10.0, swell)], vertical_points=layers
    )
    assert not celerity_notes(grid=grid, depth=100.0, relaxation_zones=[RelaxationZone("west", 200.0, 10.0, swell)])
    (note,) = celerity_notes(
        grid=grid, depth=200.0, relaxation_zones=[RelaxationZone("west", 200.0, 10.0)], vertical_clustering=False
    )
    assert "vertical_clustering = true" in note
    ring = Grid.from_points(64, 1, 20.0, 1.0, periodic=(True, False))
    eta = np.cos(2.0 * np.pi * ring.x / 2.5)[None]
    (note,) = celerity_notes(grid=ring, depth=20.0, surface_elevation=0.01 * eta, periodic="x")
    assert "initial waves" in note
    times = np.arange(0.0, 20.0, 0.02)
    paddle = Wavemaker("west", Series(times, 0.01 * np.sin(20.0 * times)))
    (note,) = celerity_notes(grid=Grid.from_points(257, 1, 12.0, 1.0), depth=1.2, wavemakers=[paddle])
    assert "wavemaker in the west" in note


def test_the_wave_number_of_a_surface():
    x, y = np.meshgrid(np.arange(64) / 64.0, np.arange(32) / 32.0)
    phase = 2.0 * np.pi * (5.0 * x + 3.0 * y)
    for surface in (np.stack([np.cos(phase), 0.0 * x]), np.stack([0.0 * x, np.sin(phase)])):
        k = mean_wave_number(surface, (1.0 / 32.0, 1.0 / 64.0))
        assert k == pytest.approx(2.0 * np.pi * math.hypot(5.0, 3.0), rel=0.02)
    assert mean_wave_number(np.zeros((2, 1, 8)), (1.0, 1.0)) == 0.0


@pytest.mark.nojit
def test_reflection_of_an_absorbing_paddle_by_direct_sums():
    """The potential of the wall condition, with the evanescent wave numbers by bisection."""
    for kh in (0.1, 0.3, 1.0, 3.0):
        q = kh * math.tanh(kh)
        local = 0.0
        for n in range(2000):
            low, high = (n + 0.5) * math.pi, (n + 1.0) * math.pi
            for _ in range(60):
                middle = 0.5 * (low + high)
                falls = middle * math.sin(middle) + q * math.cos(middle)
                low, high = (middle, high) if (falls > 0.0) == (n % 2 == 0) else (low, middle)
            local += 4.0 * math.sin(low) ** 2 / (math.sin(2.0 * low) + 2.0 * low)
        made = 4.0 * math.sinh(kh) ** 2 / (math.sinh(2.0 * kh) + 2.0 * kh)
        gain, both = 1.0 / math.sqrt(q), made - 1j * local
        u_over_omega = -2.0 * gain / (1.0 + gain * both)  # U = -sqrt(g / h) (2 a + U (B - i E) / omega)
        assert wavemaker_reflection(kh) == pytest.approx(abs(1.0 + made * u_over_omega), rel=2e-3)
    assert [round(wavemaker_reflection(kh), 2) for kh in (0.3, 1.0, 3.0)] == [0.01, 0.07, 0.24]


def test_absorbing_paddles_that_reflect_are_noted():
    notes = []
    for kh in (0.3, 1.0, 3.0):
        period = 2.0 * math.pi / math.sqrt(9.81 * kh * math.tanh(kh))
        length = 2.0 * math.pi / float(wave_number(2.0 * math.pi / period, 1.0))
        zone = RelaxationZone("west", 2.0 * length, period, AiryWave(0.01, 1.0, period=period))
        grid = Grid.from_points(129, 1, max(6.0 * length, 12.0), 1.0)
        model = PotentialWaves(
            grid,
            1.0,
            relaxation_zones=[zone],
            wavemakers=[Wavemaker("east", 0.0, active_absorption=True)],
            device="cpu",
        )
        notes.append([note for note in model.notes if "reflects about" in note])
    assert not notes[0]
    assert "reflects about 7% of waves" in notes[1][0] and "reflects about 24% of waves" in notes[2][0]
