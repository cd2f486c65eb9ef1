"""Fields on levels in NetCDF, over flat ground and over a hill."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.fields import Variable
from eagre.grid import Grid, Levels
from eagre.io import FieldWriter
from eagre.models.base import run_to_dataset

VARIABLES = {
    one.name: one
    for one in (
        Variable("w", "m s-1", "upward velocity", "upward_air_velocity", levels=True),
        Variable("column_maximum", "m s-1", "largest upward velocity of a column"),
        Variable("density", "kg m-3", "reference density", levels=True, static=True),
    )
}


class Air(SimpleNamespace):
    """As much of a model as the files read."""

    kind, precision, device, variables, wall_points = "air", "double", "cpu", VARIABLES, None

    def __init__(self, levels):
        super().__init__(grid=Grid(4, 3, 10.0, 10.0), levels=levels, time=0.0, steps=0, time_step=1.0)

    def settings(self):
        return {}

    def diagnostics(self):
        return {}

    def field(self, name):
        values = np.arange(60.0).reshape(5, 3, 4) + self.time
        return values.max(axis=0) if name == "column_maximum" else values

    def advance(self, until, max_steps=None):
        self.time, self.steps = until, self.steps + 1

    def statistics(self):
        return {"steps": self.steps, "dt_min": 1.0, "dt_max": 1.0}


def over(hill):
    height, ground = np.linspace(0.0, 400.0, 5), 50.0 * np.ones((3, 4)) if hill else None
    return Levels(height, 1.0 - height / 400.0 if hill else None, ground)


@pytest.mark.parametrize("hill", [False, True])
def test_fields_on_levels_are_read_back_with_their_heights(tmp_path, hill):
    import xarray

    air = Air(over(hill))
    with FieldWriter(tmp_path / "out.nc", air, ["w", "column_maximum"]) as writer:
        writer.write(air)
        air.time = 2.0
        writer.write(air)
    with xarray.open_dataset(tmp_path / "out.nc", decode_times=False) as found:
        assert found["w"].dims == ("time", "z", "y", "x") and found["column_maximum"].dims == ("time", "y", "x")
        assert found["density"].dims == ("z", "y", "x")
        np.testing.assert_array_equal(found["w"][1], air.field("w"))
        assert found["z"].attrs["axis"] == "Z" and found["z"].attrs["positive"] == "up"
        terms = found["z"].attrs.get("formula_terms")
        assert terms == ("a: height_a b: height_b orog: surface_altitude" if hill else None)
        if hill:
            z = found["height_a"] + found["height_b"] * found["surface_altitude"]
            np.testing.assert_allclose(z.values, air.levels.z)


def test_a_file_of_other_levels_is_not_gone_on_with(tmp_path):
    air = Air(over(False))
    with FieldWriter(tmp_path / "out.nc", air, ["w"]) as writer:
        writer.write(air)
    other = Air(Levels(np.linspace(0.0, 500.0, 5)))
    with pytest.raises(InputError, match="z differs"):
        FieldWriter(tmp_path / "out.nc", other, ["w"], append=True)


def test_a_run_in_memory_has_levels():
    found = run_to_dataset(Air(over(False)), 3.0, output_interval=1.0)
    assert found["w"].dims == ("time", "z", "y", "x") and found["w"].shape == (4, 5, 3, 4)
    assert found["density"].dims == ("z", "y", "x") and found["column_maximum"].shape == (4, 3, 4)
