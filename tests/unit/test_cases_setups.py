"""Ready-made cases: shapes, initial water, exact solutions that start there."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.laboratory.cases import (
    Water,
    amundsen2014,
    basins,
    cell_centres,
    cell_means,
    channels,
    dam_breaks,
    lakes,
    monai,
    waves,
)

CASES = {
    "lake-bump": lakes.lake_over_bump,
    "lake-island": lakes.lake_with_island,
    "lake-rough": lakes.rough_shores,
    "ritter": dam_breaks.dam_break,
    "stoker": lambda: dam_breaks.dam_break(50, 1.0, 0.2),
    "stoker along y": lambda: dam_breaks.dam_break(50, 1.0, 0.2, along="y"),
    "circular": lambda: dam_breaks.circular_dam(40),
    "planar": basins.planar_bowl,
    "radial": basins.radial_bowl,
    "subcritical": channels.macdonald,
    "transcritical": lambda: channels.macdonald(50, "transcritical"),
    "supercritical": lambda: channels.macdonald(50, "supercritical"),
    "jump": lambda: channels.macdonald(50, "jump"),
    "uniform": channels.uniform_flow,
    "standing": waves.small_standing_wave,
    "travelling": waves.travelling_wave,
    "travelling along y": lambda: waves.travelling_wave(along="y"),
    "vortex": waves.travelling_vortex,
    "5.1": lambda: amundsen2014.circular_dam_dry(40),
    "5.2": lambda: amundsen2014.circular_dam_wet(40),
    "5.4": lambda: amundsen2014.gaussian_peak(39),
    "5.5": lambda: amundsen2014.sine(64),
    "5.6": lambda: amundsen2014.circular_dam_big(40),
}


@pytest.mark.parametrize("name", CASES)
def test_case_is_consistent(name):
    case = CASES[name]()
    assert case.bed_elevation.shape == case.grid.shape_of("corner") and np.isfinite(case.bed_elevation).all()
    water = case.initial
    for values in (water.depth, water.discharge_x, water.discharge_y, water.velocity_x, case.surface_elevation):
        assert values.shape == case.grid.shape and np.isfinite(values).all()
    assert (water.depth >= 0).all() and water.depth.sum() > 0 and case.end_time > 0
    if case.exact is not None:
        start, end = case.exact(0.0), case.exact(case.end_time)
        assert np.abs(start.depth - water.depth).max() < 1e-12
        assert np.abs(start.discharge_x - water.discharge_x).max() < 1e-12
        assert end.depth.shape == case.grid.shape and (end.depth >= 0).all()


def test_cell_means_are_exact_for_polynomials():
    grid = Grid(3, 2, 0.5, 2.0, 1.0, -1.0)
    water = cell_means(grid, lambda x, y: (x**4, y**2 / np.maximum(x, 1), 0 * x))
    x = grid.x_corner
    assert water.depth[0] == pytest.approx(np.diff(x**5 / 5) / 0.5)
    linear = cell_means(grid, lambda x, y: (2 + x + y, 1 + 0 * x, 0 * x))
    assert linear.depth == pytest.approx(cell_centres(grid, lambda x, y: (2 + x + y, 0 * x, 0 * x)).depth)


def test_dry_water_has_no_velocity():
    water = Water(np.array([[0.0, 2.0]]), np.array([[0.0, 1.0]]), np.array([[0.0, -4.0]]))
    assert water.velocity_x.tolist() == [[0.0, 0.5]] and water.velocity_y.tolist() == [[0.0, -2.0]]


def test_flume_along_y_is_the_transposed_one():
    x, y = dam_breaks.dam_break(40, 1.0, 0.1), dam_breaks.dam_break(40, 1.0, 0.1, along="y")
    assert x.exact is not None and y.exact is not None
    a, b = x.exact(1.0), y.exact(1.0)
    assert np.array_equal(a.depth, b.depth.T) and np.array_equal(a.discharge_x, b.discharge_y.T)


@pytest.fixture
def monai_data():
    try:
        return monai.find_data()
    except InputError:
        pytest.skip("no Monai Valley data: set EAGRE_DATA")


def test_monai_valley_lies_where_the_run_up_was_measured(monai_data):
    case = monai.monai_valley(monai_data)
    assert case.grid.shape == (243, 392) and case.grid.dx == 0.014
    across = case.bed_elevation[125:147, 368]  # y = 1.75 .. 2.04 m at x = 5.15 m
    assert case.grid.y_corner[125 + int(np.argmin(across))] == pytest.approx(1.88, abs=0.03)
    assert case.initial.depth[0, 0] == pytest.approx(0.135, abs=1e-3)
    measured = monai.read_measurement(monai_data)
    assert list(measured.elevation) == list(monai.GAUGES) and measured.times[-1] == pytest.approx(22.5)
    assert max(e.max() for e in measured.elevation.values()) == pytest.approx(0.04535)
    assert monai.monai_valley(monai_data, coarsen=3).grid.shape == (81, 130)


def test_monai_without_data_says_what_to_write(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"Benchmark_2_Bathymetry\.asc"):
        monai.find_data(tmp_path)
    monkeypatch.setenv("EAGRE_DATA", str(tmp_path))
    with pytest.raises(InputError, match="EAGRE_DATA="):
        monai.monai_valley()


def test_monai_with_an_unknown_incident_side(monai_data):
    with pytest.raises(InputError, match="absorbing"):
        monai.monai_valley(monai_data, incident="wall")
