"""Fields that are computed on reading."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from eagre.errors import InputError
from eagre.plots import FieldFile
from eagre.plots.data.fields import DERIVED, derivation

OVER = ("time", "y", "x")


def fields_of(path, **values) -> FieldFile:
    """A file with uniform fields of one record."""
    data = {name: (OVER, np.full((1, 3, 4), value)) for name, value in values.items()}
    return FieldFile(path, xr.Dataset(data, {"time": [0.0], "y": np.arange(3.0), "x": np.arange(4.0)}))


@pytest.mark.parametrize(
    ("stored", "derivable", "expected"),
    [
        ({"velocity_x": 3.0, "velocity_y": -4.0}, ["speed"], {"speed": 5.0}),
        ({"u": 3.0, "v": 4.0}, ["speed"], {"speed": 5.0}),
        (
            {"velocity_x": 3.0, "velocity_y": 4.0, "depth": 2.0},
            ["speed", "discharge", "froude"],
            {"discharge": 10.0, "froude": 5.0 / np.sqrt(9.81 * 2.0)},
        ),
        (
            {"discharge_x": 6.0, "discharge_y": 8.0, "depth": 2.0},
            ["speed", "discharge", "froude"],
            {"discharge": 10.0, "speed": 5.0},
        ),
        ({"speed": 1.0, "depth": 0.0}, ["discharge", "froude"], {"discharge": 0.0, "froude": np.nan}),
        ({"velocity_x": 1.0, "depth": 1.0}, [], {}),
    ],
)
def test_derived_fields(tmp_path, stored, derivable, expected):
    fields = fields_of(tmp_path / "a.nc", **stored)
    assert fields.derivable == derivable
    for name, value in expected.items():
        np.testing.assert_allclose(fields.values(name, 0), np.full((3, 4), value))
        assert fields.changes(name) and fields.check_variable(name) == name


def test_a_stored_field_is_read(tmp_path):
    fields = fields_of(tmp_path / "a.nc", velocity_x=3.0, velocity_y=4.0, speed=7.0)
    assert fields.derivable == [] and (fields.values("speed", 0) == 7.0).all()


def test_units_and_labels(tmp_path):
    fields = fields_of(tmp_path / "a.nc", velocity_x=3.0, velocity_y=4.0, depth=1.0)
    assert fields.label("speed") == "speed (m s$^{-1}$)" and fields.label("froude") == "Froude number"
    assert fields.attributes("discharge")["units"] == "m2 s-1"


def test_an_unknown_name_lists_stored_and_derivable_names(tmp_path):
    fields = fields_of(tmp_path / "a.nc", velocity_x=3.0, velocity_y=4.0, depth=1.0)
    with pytest.raises(InputError) as caught:
        fields.check_variable("sped")
    words = str(caught.value)
    assert 'The file has no variable "sped".' in words and "--variable speed" in words
    assert "velocity_x, velocity_y, depth; derived: speed, discharge, froude" in words


def test_every_formula_of_the_table_can_be_reached():
    for name, formulas in DERIVED.items():
        for one in formulas:
            assert derivation(name, one.components) is one and one.units and one.long_name
