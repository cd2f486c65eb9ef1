"""Checks of what the anelastic model is given."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.anelastic.inputs import checked_levels, checked_side_sponges

GRID = Grid.from_points(4, 4, 300.0, 300.0)


@pytest.mark.parametrize("levels", [5, np.int64(5), np.array(5)])
def test_a_number_of_levels_is_whole(levels):
    np.testing.assert_allclose(checked_levels(levels, 100.0, None, GRID, False).height, [0.0, 25.0, 50.0, 75.0, 100.0])


@pytest.mark.parametrize(("levels", "fix"), [(17.0, "levels = 17"), ("17", "levels = 41"), (None, "levels = 41")])
def test_other_numbers_of_levels_are_refused(levels, fix):
    with pytest.raises(InputError, match="a whole number of levels, or their heights") as error:
        checked_levels(levels, 100.0, None, GRID, False)
    assert error.value.fix == fix


def test_where_layers_at_sides_meet_the_larger_rate_counts():
    """sin^2 from a layer's inner edge, half of the rate in its middle; x layers two spacings deep, y layers three."""
    grid = Grid.from_points(7, 9, 600.0, 800.0)
    rates = checked_side_sponges({"x": (200.0, 0.04), "y": (300.0, 0.01)}, grid)
    along = np.array([1.0, 0.75, 0.25, 0.0, 0.0, 0.0, 0.25, 0.75, 1.0])
    expected = np.maximum(0.04 * np.array([1.0, 0.5, 0.0, 0.0, 0.0, 0.5, 1.0]), 0.01 * along[:, None])
    np.testing.assert_allclose(rates, expected, rtol=0, atol=1e-16)
