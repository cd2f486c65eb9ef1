"""The bed beyond the domain: mirrored at walls, wrapped if periodic, going on with its slope where open."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.boundaries import Boundaries, Outflow, Part, Periodic
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
    found = padded(bed, Boundaries(east=[Part(1.0, 3.0, Outflow())]))
    slope = bed[1:4, -1] - bed[1:4, -2]
    for k in (1, 2):
        assert found[3:6, -3 + k] == pytest.approx(bed[1:4, -1] + k * slope)
        np.testing.assert_array_equal(found[6:8, -3 + k], bed[4:, -1 - k])
