"""`validate potential-waves`: the short cases always, the long ones with the slow tests."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

from eagre.laboratory.cases.ow3d_reference import BAR, WHALIN, read_table
from eagre.laboratory.validation import validate
from eagre.laboratory.validation.measures import draw_harmonics
from eagre.laboratory.validation.potential_waves import CurvedBed, bar_checks, bar_depth, draw_bar, harmonics
from eagre.laboratory.validation.registry import validations

SHORT = ("steady-wave-numbers", "dispersion", "linear-standing-waves", "nonlinear-standing-wave", "manufactured")


@pytest.mark.parametrize("name", SHORT)
def test_short_cases_pass(name):
    results = validate("potential-waves", [name], device="cpu", precision="double")
    assert results and [r.row() for r in results if not r.passed] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", validations("potential-waves"))
def test_every_case_passes(name, tmp_path, device):
    results = validate("potential-waves", [name], tmp_path, device)
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


def test_reference_tables_are_package_data():
    """Shapes, first and last values of the files, and the positions of gauges and points."""
    whalin, bar = read_table(WHALIN), read_table(BAR)
    assert whalin is not None and whalin.shape == (257, 4) and bar is not None and bar.shape == (501, 10)
    assert whalin[:, 0] == pytest.approx(np.linspace(0.0, 35.0, 257), abs=1e-5)
    assert whalin[0].tolist() == [0.0, 7.493028e-03, 2.398656e-04, 6.964919e-06]
    assert bar[[0, -1], 0] == pytest.approx([40.4, 50.5]) and bar[0, 1] == 9.529168e-03
    assert read_table("nowhere") is None
    for name in (WHALIN, BAR):
        text = (files("eagre.laboratory.cases.ow3d_reference") / f"{name}.csv").read_text()
        assert "OceanWave3D-Fortran90" in text.splitlines()[0] and "not measurements" in text.splitlines()[0]


def bar_series():
    """Ten equal periods, of which the last five are those of the table."""
    table = read_table(BAR)
    assert table is not None
    return np.concatenate([table[:500, 1:], table[:500, 1:]]), table


def test_a_bar_that_differs_from_the_reference_fails():
    series, table = bar_series()
    checks = list(bar_checks(series, table))
    compared = [one for one in checks if "difference" in one.quantity]
    assert [one.value for one in compared] == pytest.approx([0.0] * 4, abs=1e-9)
    assert [one.limit for one in compared] == pytest.approx([0.2, 0.3, 0.5, 0.9])
    other = [one for one in bar_checks(1.1 * series, table) if "difference" in one.quantity]
    assert other[0].value > 0.2 and other[0].value == pytest.approx(0.1 * checks[1].value, rel=0.01)


def test_without_the_reference_the_harmonics_are_reported():
    series, table = bar_series()
    found = list(bar_checks(series, None))
    assert [one.quantity for one in found] == [f"harmonic {n}, maximum, mm" for n in (1, 2, 3, 4)]
    assert found == [one for one in bar_checks(series, table) if "difference" not in one.quantity]


def test_the_reference_is_drawn_where_it_is_known(tmp_path):
    series, table = bar_series()
    late = {f"{n}": values for n, values in enumerate(series[500:].T)}
    draw_bar(tmp_path / "bar.png", "bar", table[:500, 0], late)
    whalin = read_table(WHALIN)
    assert whalin is not None
    known = whalin[:, 1:].T
    for number, reference in enumerate((known, None)):
        draw_harmonics(tmp_path / f"{number}.png", "axis", whalin[:, 0], known, reference, "reference")
    assert all(path.stat().st_size > 1000 for path in tmp_path.iterdir()) and len(list(tmp_path.iterdir())) == 3


def test_each_row_of_the_manufactured_flow_has_a_name_of_its_own(monkeypatch):
    monkeypatch.setattr(
        "eagre.laboratory.validation.potential_waves.curved_bed_errors", lambda n, *rest: (n**-8.0, n**-8.0)
    )
    results = validate("potential-waves", ["manufactured"], device="cpu", precision="double")
    names = [result.quantity for result in results]
    assert len(set(names)) == len(names) == 20
    assert "order of w~ at order 4, bed curved along diagonal, 24 and 48 columns" in names
