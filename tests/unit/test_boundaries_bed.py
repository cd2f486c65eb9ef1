"""The bed beyond the domain: mirrored at walls, wrapped if periodic, going on with its slope where open."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.boundaries import Boundaries, BoundarySegment, Discharge, Inflow, Outflow, Periodic, Stage
from eagre.boundaries.ghosts import padded_bed

GRID = eagre.Grid(6, 5, 1.0, 1.0)


@pytest.fixture
def bed(rng):
    return rng.standard_normal(GRID.shape_of("corner"))


def padded(bed, boundaries, periodic_x=False):
    return padded_bed(bed, periodic_x, False, boundaries.segments(GRID))


def test_bed_behind_walls_is_mirrored(bed):
    found = padded(bed, Boundaries())
    assert found.shape == (10, 11)
    np.testing.assert_array_equal(found[2:-2, 2:-2], bed)
    for k in (1, 2):
        np.testing.assert_array_equal(found[2:-2, 2 - k], bed[:, k])
        np.testing.assert_array_equal(found[2:-2, -3 + k], bed[:, -1 - k])
        np.testing.assert_array_equal(found[2 - k, 2:-2], bed[k])
        np.testing.assert_array_equal(found[-3 + k, 2:-2], bed[-1 - k])


def test_bed_goes_round_periodic_sides(bed):
    bed[:, -1] = bed[:, 0]
    found = padded(bed, Boundaries(west=Periodic(), east=Periodic()), periodic_x=True)
    for k in (1, 2):
        np.testing.assert_array_equal(found[2:-2, 2 - k], bed[:, -1 - k])
        np.testing.assert_array_equal(found[2:-2, -3 + k], bed[:, k])


def test_bed_beside_an_open_part_goes_on_with_its_slope(bed):
    found = padded(bed, Boundaries(east=[BoundarySegment(1.0, 3.0, Outflow())]))
    slope = bed[1:4, -1] - bed[1:4, -2]
    for k in (1, 2):
        assert found[3:6, -3 + k] == pytest.approx(bed[1:4, -1] + k * slope)
        np.testing.assert_array_equal(found[6:8, -3 + k], bed[4:, -1 - k])


@pytest.mark.parametrize("condition", [Stage(0.5), Discharge(1.0), Inflow(9.0, 0.5)])
def test_bed_beside_a_prescribed_level_or_discharge_does_not_rise(bed, condition):
    found = padded(bed, Boundaries(north=condition))
    fall = np.minimum(bed[-1] - bed[-2], 0.0)
    assert (fall < 0.0).any() and (fall == 0.0).any()
    for k in (1, 2):
        assert found[-3 + k, 2:-2] == pytest.approx(bed[-1] + k * fall)


def test_bed_of_a_single_cell_is_mirrored_twice():
    """Two ghost cells need more than one cell has: the mirror image is mirrored again."""
    one = eagre.Grid(1, 1, 1.0, 1.0)
    bed = np.array([[0.0, 1.0], [2.0, 5.0]])
    found = padded_bed(bed, False, False, Boundaries().segments(one))
    np.testing.assert_array_equal(found[2], [0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(found[:, 3], [1.0, 5.0, 1.0, 5.0, 1.0, 5.0])


@pytest.mark.parametrize("sides", [("west", "east"), ("south", "north")])
def test_periodic_sides_need_one_bed(bed, sides):
    """A slope that goes on for ever cannot be said so: the last corners are the first ones."""
    with pytest.raises(
        eagre.InputError, match=f"bed elevations of the periodic {sides[0]} and {sides[1]} sides differ"
    ):
        eagre.ShallowWater(
            GRID, bed, depth=1.0, boundaries=Boundaries(**{side: Periodic() for side in sides}), device="cpu"
        )


@pytest.mark.parametrize("axis", [0, 1])
def test_one_bed_at_both_sides_is_enough(bed, axis):
    """Whatever it is between them."""
    lines = bed if axis == 0 else bed.T
    lines[-1] = lines[0]
    found = padded_bed(bed, axis == 1, axis == 0)
    wrapped = found[:, 2:-2] if axis == 0 else found[2:-2].T
    np.testing.assert_array_equal(wrapped, np.concatenate([lines[-3:-1], lines, lines[1:3]]))


def test_coordinates_in_messages_keep_their_digits():
    grid = eagre.Grid(5, 5, 1.0, 1.0, 512345.0, 4612345.0)
    with pytest.raises(eagre.InputError, match=r"4612344\.5\) *\n.*4612345, 4612350"):
        grid.cell_of(512346.0, 4612344.5)
    with pytest.raises(eagre.InputError, match=r"4612345 \.\. 4612350 m \(y of the domain\)"):
        Boundaries(west=[BoundarySegment(0.0, 1.0, Outflow())]).segments(grid)
