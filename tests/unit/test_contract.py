"""Every kind of model keeps `eagre.contract.Model`; pyright checks the types, these tests the behaviour."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.contract import Model, field_type
from eagre.models.anelastic.atmosphere import boussinesq
from eagre.models.registry import KINDS


def small(kind, precision="double"):
    """A model of the kind, 12 x 10 points, in motion."""
    options = {"device": "cpu", "precision": precision}
    if kind == "barotropic":
        grid = eagre.Grid.of_points(12, 10, 3.0, 2.0)
        return eagre.BarotropicVorticity(grid, time_step=0.01, wind_curl=np.sin(grid.mesh()[1]), **options)
    if kind == "potential-waves":
        grid = eagre.Grid.of_points(12, 10, 1.1, 0.9)
        hump = 0.02 * np.cos(np.pi * grid.x / 1.1) * np.cos(np.pi * grid.y / 0.9)[:, None]
        return eagre.PotentialWaves(grid, 0.3, surface_elevation=hump, order=2, layers=4, **options)
    if kind == "anelastic":
        grid = eagre.Grid.of_points(12, 10, 1200.0, 1000.0, periodic=(True, True))
        warm = 0.1 * np.cos(2 * np.pi * grid.x / 1200.0) * np.ones((6, 10, 1))
        air = boussinesq(buoyancy_frequency=0.01, wind=(5.0, 0.0))
        return eagre.AnelasticFlow(grid, 6, height=500.0, atmosphere=air, theta=warm, time_step=4.0, **options)
    grid = eagre.Grid(12, 10, 100.0, 100.0)
    hump = np.exp(-((grid.mesh()[0] - 600.0) ** 2) / 1e5)
    if kind == "shallow-water":
        return eagre.ShallowWater(grid, -5.0, surface_elevation=hump, **options)
    assert kind == "shallow-water-adi"
    return eagre.ShallowWaterADI(grid, -5.0, 8.0, surface_elevation=hump, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_members(kind):
    model = small(kind)
    members = {name for name in dir(Model) if not name.startswith("_")}
    assert {"advance", "unchecked_steps", "remarks", "facts", "bytes_per_step"} <= members
    assert not {name for name in members if not hasattr(model, name)}
    assert type(model) is KINDS[kind].model_class() and model.kind == kind
    assert {"steps", "dt_min", "dt_max"} <= set(model.statistics())
    assert all(isinstance(remark, str) for remark in model.remarks)
    assert all(isinstance(text, str) for row in model.facts for text in row)
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
def test_unchecked_steps_are_the_steps_of_advance(kind):
    """The same state, and a run can go on from there."""
    model, checked = small(kind), small(kind)
    model.field(next(iter(model.variables)))  # may be kept: later steps must not give it again
    make = model.unchecked_steps(3)
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
