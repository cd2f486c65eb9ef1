"""How kernels read records on nodes, as plain Python: against bilinear interpolation and its slopes."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.terms.base import node_below, node_slope_x, node_slope_y, node_value
from eagre.terms.compose import table_step, table_value

pytestmark = pytest.mark.nojit
STEP_Y, STEP_X = 0.25, 0.5  # nodes every fourth row and every second column
FIRST_Y, FIRST_X = 0.125, 1.25  # places of cell (0, 0), in nodes


@pytest.fixture
def record(rng):
    return rng.standard_normal((4, 6))


def bilinear(record, y, x):
    m, n = int(y), int(x)
    b, a = y - m, x - n
    weights = np.outer([1.0 - b, b], [1.0 - a, a])
    return float((weights * record[m : m + 2, n : n + 2]).sum())


@pytest.mark.parametrize(("row", "column"), [(0, 0), (3, 1), (4, 4), (10, 6)])
def test_values_and_slopes_between_nodes(record, row, column):
    y, x = FIRST_Y + STEP_Y * row, FIRST_X + STEP_X * column
    places = (row, column, STEP_Y, FIRST_Y, STEP_X, FIRST_X)
    assert node_value(record, *places) == pytest.approx(bilinear(record, y, x), rel=1e-12)
    m, n = int(y), int(x)
    along = bilinear(record, y, n + 1.0) - bilinear(record, y, n) if n < 4 else None
    if along is not None:
        assert node_slope_x(record, *places, 3.0) == pytest.approx(3.0 * along, rel=1e-12)
    across = bilinear(record, m + 1.0 - 1e-13, x) - bilinear(record, m, x)
    assert node_slope_y(record, *places, 3.0) == pytest.approx(3.0 * across, rel=1e-9)


def test_equal_nodes_have_no_slope():
    even = np.full((4, 6), 0.1)
    places = (3, 1, STEP_Y, FIRST_Y, STEP_X, FIRST_X)
    assert node_slope_x(even, *places, 1e9) == 0.0 and node_slope_y(even, *places, 1e9) == 0.0
    assert node_value(even, *places) == 0.1


def test_tables_of_rows_of_nodes(rng):
    table = rng.standard_normal((2, 5, 7))
    for row, place in ((0, 0.125), (6, 1.625), (15, 3.875)):
        m, b = int(place), place - int(place)
        found = table_value(table, 1, row, 4, STEP_Y, FIRST_Y)
        assert found == pytest.approx((1.0 - b) * table[1, m, 4] + b * table[1, m + 1, 4], rel=1e-12)
        assert table_step(table, 1, row, 4, STEP_Y, FIRST_Y) == table[1, m, 4]
    assert table_value(table, 1, 16, 4, STEP_Y, 0.0) == pytest.approx(table[1, 4, 4], rel=1e-12)  # the last node


def test_a_place_behind_the_last_node_belongs_to_the_node_before():
    assert [int(node_below(place, 5)) for place in (-0.5, 0.0, 2.9, 3.0, 4.0, 7.0)] == [0, 0, 2, 3, 3, 3]
