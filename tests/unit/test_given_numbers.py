"""Numbers, names and times of callers that other types or magnitudes once changed."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre import Maps
from eagre.boundaries import Boundaries, BoundarySegment, Discharge, InternalLine, Wall
from eagre.errors import InputError
from eagre.sweeps.running import _array_task


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint8, np.float32])
def test_spacings_of_numpy_do_not_overflow(kind):
    grid, plain = eagre.Grid(100, 100, kind(100), kind(100), kind(1)), eagre.Grid(100, 100, 100.0, 100.0, 1.0)
    assert (grid.cell_area, grid.extent, grid.dx**3) == (plain.cell_area, plain.extent, plain.dx**3)
    assert type(grid.dx) is float


@pytest.mark.parametrize("value", [True, np.complex64(1.0), "10", None])
def test_spacings_of_other_types_are_refused(value):
    with pytest.raises(InputError, match="dx"):
        eagre.Grid(10, 10, value, 1.0)


@pytest.mark.parametrize("crs", [32629, "32629"])
def test_a_number_is_no_coordinate_system(crs):
    with pytest.raises(InputError, match='crs = "EPSG:32629"'):
        eagre.Grid(10, 10, 1.0, 1.0, crs=crs)


@pytest.mark.parametrize("value", ["off", "no", 2, 0.5, None])
def test_a_text_is_no_truth_value(value):
    grid = eagre.Grid.from_points(9, 9, 900.0, 900.0)
    with pytest.raises(InputError, match="nonoscillatory"):
        eagre.AnelasticFlow(grid, 9, top_height=800.0, time_step=1.0, device="cpu", nonoscillatory=value)


def test_records_since_1970_are_those_since_0():
    grid = eagre.Grid(10, 10, 1.0, 1.0)
    x, _ = grid.mesh()
    times = {}
    for start in (0.0, 1.7e9):
        model = eagre.ShallowWater(grid, 0.0, depth=1.0 + 0.1 * np.sin(x), device="cpu", start_time=start)
        data = model.run(until=start + 4.0, output_interval=0.5, gauges={"a": (5.0, 5.0)}, gauge_interval=0.25)
        times[start] = [np.asarray(data[name], float) - start for name in data.coords if "time" in name]
    for ours, theirs in zip(times[1.7e9], times[0.0], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_types_of_arguments_are_checked():
    grid = eagre.Grid(10, 10, 1.0, 1.0)
    with pytest.raises(InputError, match="arrival_depths"):
        Maps(["max_depth"], arrival_depths=0.3)
    with pytest.raises(InputError, match="arrival_depths"):
        Maps(["max_depth"], arrival_depths=["1 cm"])
    with pytest.raises(InputError, match="segment"):
        sides = Boundaries(west=[BoundarySegment(float("nan"), 1.0, Wall())])
        eagre.ShallowWater(grid, 0.0, depth=1.0, boundaries=sides, device="cpu")
    with pytest.raises(InputError, match="cross_sections"):
        eagre.ShallowWater(grid, 0.0, depth=1.0, cross_sections=[[(0.0, 0.0), (1.0, 1.0)]], device="cpu")


@pytest.mark.parametrize(("name", "text"), [("ID", "abc"), ("STEP", "0")])
def test_tasks_of_an_array_are_numbers(name, text):
    with pytest.raises(InputError, match=f"SLURM_ARRAY_TASK_{name}"):
        _array_task({"SLURM_ARRAY_TASK_ID": "3", f"SLURM_ARRAY_TASK_{name}": text})


@pytest.mark.parametrize("kind", [eagre.ShallowWater, eagre.ShallowWaterADI])
def test_an_internal_discharge_has_a_name_of_its_own(kind):
    grid = eagre.Grid(16, 12, 10.0, 7.0)
    more = () if kind is eagre.ShallowWater else (2.0,)
    sides = Boundaries(west=Discharge(10.0), internal=[InternalLine([(80.0, 40.0)], Discharge(3.0), name="west")])
    with pytest.raises(InputError, match="'west', which is an open boundary"):
        kind(grid, -2.0, *more, surface_elevation=0.0, boundaries=sides, device="cpu")
