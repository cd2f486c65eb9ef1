"""Open sides take their defaults from the initial water at any altitude; contradictions are refused or reported."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre import Absorbing, Boundaries, BoundarySegment, InputError, Stage

SIDES = ("west", "east", "south", "north")
MODELS = {
    "explicit": eagre.ShallowWater,
    "implicit": lambda *given, **options: eagre.ShallowWaterADI(*given, 2.0, **options),
}
GRID = eagre.Grid(12, 10, 20.0, 25.0)


def model_of(kind, boundaries, bed=300.0, **options):
    chosen = {"depth": 2.0, "device": "cpu", "precision": "double", **options}
    return MODELS[kind](GRID, bed, boundaries=boundaries, **chosen)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("bed", [300.0, -430.0, 0.0])
def test_still_water_stays_at_an_absorbing_side_at_any_altitude(kind, side, bed):
    model = model_of(kind, Boundaries(**{side: Absorbing()}), bed)
    model.advance(1200.0)
    np.testing.assert_allclose(model.field("depth"), 2.0, rtol=0.0, atol=1e-11)
    assert list(model.notes) == []


@pytest.mark.parametrize("kind", MODELS)
def test_parts_of_a_side_have_levels_of_their_own(kind):
    """Two basins at 4 and 6 m between land, each with a part of the western side."""
    y = GRID.mesh()[1]
    yc = GRID.mesh("corner")[1]
    bed = np.where((yc > 100.0) & (yc < 150.0), 20.0, 0.0)
    parts = [BoundarySegment(0.0, 75.0, Absorbing()), BoundarySegment(175.0, 250.0, Absorbing())]
    surface = np.where(y < 125.0, 4.0, 6.0)
    model = model_of(kind, Boundaries(west=parts), bed, depth=None, surface_elevation=surface)
    before = model.field("surface_elevation")
    model.advance(600.0)
    np.testing.assert_allclose(model.field("surface_elevation"), before, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("side", SIDES)
def test_a_dry_absorbing_side_brings_no_water(kind, side):
    model = model_of(kind, Boundaries(**{side: Absorbing()}), 300.0, depth=0.0)
    model.advance(600.0)
    assert model.field("depth").max() == 0.0


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("side", SIDES)
def test_a_level_below_the_bed_of_a_wet_side_is_refused(kind, side):
    with pytest.raises(InputError, match="lies below the bed") as caught:
        model_of(kind, Boundaries(**{side: Absorbing(level=0.0)}))
    assert caught.value.fix == "level = 302"


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("side", SIDES)
def test_a_stage_far_from_the_initial_water_is_reported(kind, side):
    series = eagre.Series([0.0, 1e5], [1.0, 2.0])
    (note,) = model_of(kind, Boundaries(**{side: Stage(series)})).notes
    assert note.startswith(f"{side}: The stage is 1 m") and "302 m" in note
    assert list(model_of(kind, Boundaries(**{side: Stage(302.5)})).notes) == []


@pytest.mark.parametrize("kind", MODELS)
def test_uneven_water_along_an_absorbing_side_is_reported(kind):
    surface = 304.0 + 0.02 * GRID.mesh()[1]
    (note,) = model_of(kind, Boundaries(east=Absorbing()), depth=None, surface_elevation=surface).notes
    assert note.startswith("east: The initial surface along this absorbing boundary varies between 304.25 and 308.75 m")
