"""Every kind of model keeps `eagre.contract.Model`; pyright checks the types, these tests the behaviour."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from eagre.contract import Model, field_type
from eagre.errors import InputError
from eagre.io import FieldWriter, GaugeWriter
from eagre.models.registry import KINDS
from small_models import small


@pytest.mark.parametrize("kind", KINDS)
def test_members(kind):
    model = small(kind)
    members = {name for name in dir(Model) if not name.startswith("_")}
    assert {"advance", "steps_without_checks", "notes", "summary_rows", "bytes_per_step"} <= members
    assert not {name for name in members if not hasattr(model, name)}
    assert type(model) is KINDS[kind].model_class() and model.kind == kind
    assert {"steps", "dt_min", "dt_max"} <= set(model.statistics())
    assert all(isinstance(note, str) for note in model.notes)
    assert all(isinstance(text, str) for row in model.summary_rows for text in row)
    assert model.particle_positions.shape == (0, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", ["single", "double"])
def test_fields_have_their_type_and_shape(kind, precision):
    model = small(kind, precision)
    for name, variable in model.variables.items():
        field = model.field(name)
        levels = (model.levels.height.size,) if variable.levels else ()
        assert field.shape == (*levels, *model.grid.shape_of(variable.location)), name
        assert field.dtype == field_type(model), name


@pytest.mark.parametrize("kind", KINDS)
def test_steps_without_checks_are_the_steps_of_advance(kind):
    """The same state, and a run can go on from there."""
    model, checked = small(kind), small(kind)
    model.field(next(iter(model.variables)))  # may be kept: later steps must not give it again
    make = model.steps_without_checks(3)
    for _ in range(2):
        before = model.steps
        make()
        assert model.steps - before >= 3
    checked.advance(1e6, max_steps=model.steps)
    assert model.time == pytest.approx(checked.time, rel=1e-12)
    for name in model.variables:
        np.testing.assert_array_equal(model.field(name), checked.field(name), err_msg=name)
    later = model.time + 3 * model.time_step
    for each in (model, checked):
        each.advance(later)
    assert model.steps == checked.steps > 6


@pytest.mark.parametrize("kind", KINDS)
def test_files_take_a_velocity_for_its_components(kind, tmp_path):
    model = small(kind)
    both, upward = ["velocity_x", "velocity_y"], {"potential-waves": ["velocity_z"]}
    names = ["u", "v", "w"] if kind == "anelastic" else both + upward.get(kind, [])
    with FieldWriter(tmp_path / "fields.nc", model, ["velocity"]) as fields:
        fields.write(model)
    assert list(model.run(2.0 * model.time_step, variables=["velocity"])[names].data_vars) == names
    with xr.open_dataset(tmp_path / "fields.nc", decode_times=False) as found:
        assert [name for name in found.data_vars if "time" in found[name].dims] == names
    point = {"pier": (float(model.grid.x[2]), float(model.grid.y[0]))}
    if kind == "anelastic":  # whose gauges show fields without levels
        assert "gauge_w_max" in model.run(3.0 * model.time_step, gauges=point)
        with pytest.raises(InputError, match='"velocity"'):
            GaugeWriter(tmp_path / "gauges.nc", model, point, ["velocity"])
        assert not (tmp_path / "gauges.nc").exists()
        return
    with GaugeWriter(tmp_path / "gauges.nc", model, point, ["velocity", "velocity_y"]) as gauges:
        gauges.write(model)
    with xr.open_dataset(tmp_path / "gauges.nc", decode_times=False) as found:
        assert [name for name in found.data_vars if "time" in found[name].dims] == names


def test_a_run_of_any_model_has_a_type():
    """For editors and checkers: of `load_case(...).build()` they know no more than the contract."""
    assert Model.run.__annotations__["return"] == "xarray.Dataset"
