"""`validate potential-waves`: the short cases always, the long ones with the slow tests."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.validation import validate
from eagre.validation.potential_waves_beds import bar_depth, harmonics
from eagre.validation.potential_waves_regular import CurvedBed
from eagre.validation.registry import validations

SHORT = ("steady-wave-numbers", "dispersion", "linear-standing-waves", "nonlinear-standing-wave", "manufactured")


@pytest.mark.parametrize("name", SHORT)
def test_short_cases_pass(name):
    results = validate("potential-waves", [name], device="cpu", precision="double")
    assert results and [r.row() for r in results if not r.passed] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", validations("potential-waves"))
def test_every_case_passes(name, tmp_path, device):
    try:
        results = validate("potential-waves", [name], tmp_path, device)
    except InputError as error:
        if "ow3d_reference" not in str(error):
            raise
        pytest.skip("no reference runs: set EAGRE_DATA")
    assert [r.row() for r in results if not r.passed] == []


def test_the_curved_bed_is_a_streamline():
    """phi_z + h_x phi_x = 0 along it, and phi is harmonic."""
    flow, step = CurvedBed(), 1e-4
    x = np.linspace(0.05, 0.95, 19)
    z = -flow.depth(x)
    h_x = (flow.depth(x + step) - flow.depth(x - step)) / (2.0 * step)
    phi_x = (flow.potential(x + step, z) - flow.potential(x - step, z)) / (2.0 * step)
    assert np.abs(flow.upward(x, z) + h_x * phi_x).max() < 1e-5
    assert np.ptp(z) > 0.04
    around = sum(flow.potential(x + a, z + b) for a, b in ((step, 0.0), (-step, 0.0), (0.0, step), (0.0, -step)))
    assert np.abs((around - 4.0 * flow.potential(x, z)) / step**2).max() < 1e-4 * 40.0


def test_harmonics_of_known_series():
    t = np.arange(100) / 20.0  # five periods
    series = np.column_stack(
        [0.3 * np.cos(2.0 * np.pi * t) + 0.1 * np.sin(4.0 * np.pi * t), 0.2 * np.sin(6.0 * np.pi * t)]
    )
    assert harmonics(series, 5, 3) == pytest.approx(np.array([[0.3, 0.0], [0.1, 0.0], [0.0, 0.2]]), abs=1e-12)


def test_the_bar_has_its_slopes():
    assert bar_depth(np.array([0.0, 9.0, 13.0, 15.5, 20.0])) == pytest.approx([0.4, 0.25, 0.1, 0.25, 0.4])


def test_missing_reference_runs_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("EAGRE_DATA", str(tmp_path))
    monkeypatch.setattr("eagre.validation.potential_waves_beds.REFERENCE", "nowhere")
    with pytest.raises(InputError) as refused:
        validate("potential-waves", ["bar"], device="cpu", precision="double")
    assert "EAGRE_DATA" in str(refused.value)
