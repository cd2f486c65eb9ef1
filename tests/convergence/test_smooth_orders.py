"""Observed orders where the solution is smooth: 2 with RK2, 1 with Euler."""

from __future__ import annotations

import itertools

import pytest

from eagre.laboratory.cases import waves
from eagre.laboratory.validation.measures import convergence_study, observed_orders, run_case


@pytest.mark.parametrize("treatment", ["hydrostatic", "kurganov-petrova"])
def test_travelling_wave_is_second_order(treatment, device):
    study = convergence_study(
        waves.travelling_wave, (32, 64, 128), device=device, precision="double", wet_dry=treatment
    )
    assert min(study.depth_orders[-1], study.discharge_orders[-1]) > 1.8
    assert study.depth_errors[-1] < 2e-4


def test_travelling_wave_in_single_precision(device):
    study = convergence_study(waves.travelling_wave, (32, 64, 128), device=device, precision="single")
    assert min(study.depth_orders[-1], study.discharge_orders[-1]) > 1.8


def test_euler_is_first_order(device):
    study = convergence_study(waves.travelling_wave, (32, 64, 128), device=device, precision="double", scheme="euler")
    for order in (study.depth_orders[-1], study.discharge_orders[-1]):
        assert 0.9 < order < 1.4


def test_euler_is_first_order_in_time_alone(device):
    """On one grid the error that halving dt removes halves, for Euler; for RK2 it quarters."""
    for scheme, wanted in (("euler", 1.0), ("rk2", 2.0)):
        case = waves.travelling_wave(128, end_time=4.0)
        runs = [
            run_case(case, device=device, precision="double", scheme=scheme, time_step=dt).water.depth
            for dt in (0.04, 0.02, 0.01)
        ]
        differences = [float(abs(a - b).mean()) for a, b in itertools.pairwise(runs)]
        assert observed_orders(differences)[0] == pytest.approx(wanted, abs=0.25)


def test_vortex_is_second_order(device):
    study = convergence_study(waves.travelling_vortex, (32, 64), device=device, precision="double")
    assert min(study.depth_orders[-1], study.discharge_orders[-1]) > 1.75


@pytest.mark.slow
def test_vortex_is_second_order_on_fine_grids(device):
    study = convergence_study(waves.travelling_vortex, (64, 128, 256), device=device, precision="double")
    assert min(study.depth_orders[-1], study.discharge_orders[-1]) > 1.9


def test_small_standing_wave_between_walls(device):
    errors = []
    for n in (32, 64, 128):
        case = waves.small_standing_wave(n)
        run = run_case(case, device=device, precision="double")
        assert case.exact is not None
        errors.append(float(abs(run.water.depth - case.exact(case.end_time).depth).mean()) / 1e-4)
    assert observed_orders(errors)[-1] > 1.8 and errors[-1] < 1e-2
