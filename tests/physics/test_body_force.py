"""A body force in both shallow-water models: what it does to a basin and to a current, and its section."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.config.water.sections import SourcesSection

GRID = eagre.Grid(24, 5, 50.0, 40.0)


def explicit(grid, **options):
    return eagre.ShallowWater(grid, -4.0, surface_elevation=options.pop("surface", 0.0), precision="double", **options)


def implicit(grid, **options):
    surface = options.pop("surface", 0.0)
    return eagre.ShallowWaterADI(grid, -4.0, 2.0, surface_elevation=surface, precision="double", **options)


@pytest.mark.parametrize(("make", "part"), [(explicit, 0.1), (implicit, 1e-9)])
@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_basin_rests_with_the_slope_of_the_force(make, part, axis, light_device):
    """eta = a s / g; with the other sign the water moves. At a wall the explicit model limits the slope."""
    grid = GRID if axis == "x" else eagre.Grid(5, 24, 40.0, 50.0)
    along = grid.mesh()[axis == "y"]
    speeds = []
    for sign in (1.0, -1.0):
        surface = sign * 2e-3 / 9.81 * (along - 600.0)
        force = eagre.BodyForce(**{axis: 2e-3})
        model = make(grid, surface=surface, sources=[force], gravity=9.81, device=light_device)
        model.advance(60.0)
        speeds.append(model.diagnostics()["max_speed"])
    assert speeds[0] < part * speeds[1]
    assert speeds[1] > 0.05


def test_a_current_is_driven_whatever_its_depth(light_device):
    """du/dt = a, from a series: u = (1/2) 2e-3 t^2 / 100 after 100 s is 0.1 m/s."""
    ring = eagre.Boundaries(west=eagre.Periodic(), east=eagre.Periodic())
    push = eagre.Series(np.array([0.0, 100.0]), np.array([0.0, 2e-3]))
    model = explicit(GRID, sources=[eagre.BodyForce(x=push)], boundaries=ring, device=light_device)
    model.advance(100.0)
    assert model.field("velocity_x") == pytest.approx(0.1, rel=1e-9)


def test_what_cannot_be_is_refused():
    with pytest.raises(eagre.InputError, match="10 m/s2"):
        explicit(GRID, sources=[eagre.BodyForce(x=20.0)], device="cpu")


def test_the_section_of_a_case_file():
    found = SourcesSection.model_validate({"body_force": {"x": "1e-6 m/s2"}})
    assert found.body_force is not None
    assert found.body_force.x.resolve(0.0, 1.0, None) == 1e-6
