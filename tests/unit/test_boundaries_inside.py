"""Lines inside the domain on cells: which faces a wall closes, and what share of a discharge each cell has."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.boundaries import Boundaries, BoundarySegment, Discharge, InternalArea, InternalLine, Outflow, Periodic, Wall
from eagre.boundaries.internal import SOUTH_FACE, WEST_FACE, cells_in_area, closed_faces, length_in_cells, placed_inside
from eagre.errors import InputError
from eagre.terms.collect import Terms

GRID = eagre.Grid(17, 13, 2.0, 1.5, x0=-4.0, y0=10.0)


def placed(*lines, grid=GRID, land=None, **sides):
    boundaries = Boundaries(internal=list(lines), **sides)
    return placed_inside(boundaries.internal, boundaries.segments(grid), Terms(grid), land)


def reached(closed, start):
    """Cells that water comes to from one through open faces, cell by cell."""
    ny, nx = closed.shape
    found, left = np.zeros((ny, nx), bool), [start]
    while left:
        j, i = left.pop()
        if found[j, i]:
            continue
        found[j, i] = True
        if i > 0 and not closed[j, i] & WEST_FACE:
            left.append((j, i - 1))
        if i + 1 < nx and not closed[j, i + 1] & WEST_FACE:
            left.append((j, i + 1))
        if j > 0 and not closed[j, i] & SOUTH_FACE:
            left.append((j - 1, i))
        if j + 1 < ny and not closed[j + 1, i] & SOUTH_FACE:
            left.append((j + 1, i))
    return found


def polygon(rng, snapped):
    """A star-shaped polygon; snapped : with its corners on centres, edges and corners of cells."""
    angles = np.sort(rng.uniform(0.0, 2.0 * np.pi, rng.integers(3, 9)))
    radii = rng.uniform(0.3, 1.0, angles.size)
    x, y = 13.0 + 14.0 * radii * np.cos(angles), 19.0 + 8.0 * radii * np.sin(angles)
    if snapped:
        x, y = np.round(x), 10.0 + 0.75 * np.round((y - 10.0) / 0.75)
    return np.stack([x, y], axis=1)


@pytest.mark.nojit
@pytest.mark.parametrize("snapped", [False, True])
def test_no_path_crosses_a_ring(rng, snapped):
    """What a ring holds is what the polygon holds, which counts as a little further east where it meets a centre."""
    enclosed, nudge = 0, np.array([1e-5, 1e-8] if snapped else [0.0, 0.0])
    for _ in range(300):
        points = polygon(rng, snapped)
        ring = np.concatenate([points, points[:1]])
        closed = closed_faces(ring, GRID)
        inside = cells_in_area(ring + nudge, GRID) > 0
        assert not (reached(closed, (0, 0)) & inside).any()
        assert ((inside[:, 1:] != inside[:, :-1]) <= (closed[:, 1:] & WEST_FACE != 0)).all()
        assert ((inside[1:] != inside[:-1]) <= (closed[1:] & SOUTH_FACE != 0)).all()
        enclosed += int(inside.sum())
    assert enclosed > 1000


@pytest.mark.nojit
def test_line_from_side_to_side_separates(rng):
    for k in range(300):
        x = rng.uniform(-4.0, 30.0, 4) if k % 2 else rng.integers(-4, 30, 4).astype(float)
        y = np.array([10.0, 14.0, 20.0, 29.5])
        closed = closed_faces(np.stack([x, y], axis=1), GRID)
        west = reached(closed, (0, 0)) if x[0] > -2.9 else None
        if west is not None and x[0] < 28.9:
            assert not west[0, -1] and not west[:, -1].all()


@pytest.mark.nojit
def test_faces_of_lines_along_edges_and_through_centres():
    closed = closed_faces(np.array([(6.0, 10.0), (6.0, 29.5)]), GRID)
    assert (closed[:, 5] == WEST_FACE).all() and closed.sum() == 13
    closed = closed_faces(np.array([(7.0, 10.0), (7.0, 29.5)]), GRID)  # through centres: one face a row
    assert ((closed != 0).sum(axis=1) == 1).all()
    closed = closed_faces(np.array([(-4.0, 16.0), (8.0, 16.0)]), GRID)
    assert (closed[4, :6] == SOUTH_FACE).all() and closed.sum() == 6 * SOUTH_FACE


@pytest.mark.nojit
def test_shares_of_a_line_are_its_lengths(rng):
    points = np.array([(-3.0, 11.0), (8.0, 17.0), (8.0, 29.0), (20.0, 29.0)])
    share = length_in_cells(points, GRID)
    lengths = np.hypot(*np.diff(points, axis=0).T)
    assert share.sum() == pytest.approx(lengths.sum(), rel=1e-13)
    # By sampling: many points on the line, each of them counted where it lies.
    t = (np.arange(200_000) + 0.5) / 200_000
    sampled = np.zeros(GRID.shape)
    for a, b, length in zip(points[:-1], points[1:], lengths, strict=True):
        x, y = (a + t[:, None] * (b - a)).T
        np.add.at(sampled, (((y - 10.0) / 1.5).astype(int), ((x + 4.0) / 2.0).astype(int)), length / t.size)
    np.testing.assert_allclose(share, sampled, atol=1e-3)
    point = length_in_cells(np.array([(0.5, 13.2)]), GRID)
    assert point[2, 2] == 1.0 and point.sum() == 1.0


@pytest.mark.nojit
def test_discharge_is_spread_over_its_cells():
    terms, walls = placed(
        InternalLine([(0.5, 13.2)], Discharge(3.0)),
        InternalArea([(2.0, 13.0), (10.0, 13.0), (10.0, 22.0)], Discharge(2.0), name="field"),
    )
    assert walls is None and terms.source_names == ["internal 1", "field"]
    for part, rate in zip(terms.water, (3.0, 2.0), strict=True):
        [quantity] = part.quantities
        poured = quantity.map(GRID).sum() * GRID.cell_area * quantity.series(0.0)
        assert poured == pytest.approx(rate, rel=1e-14)
    land = np.zeros(GRID.shape, bool)
    land[:, 4:] = True
    terms, _ = placed(InternalLine([(0.5, 13.2), (10.0, 13.2)], Discharge(3.0)), land=land)
    rates = terms.water[0].quantities[0].map(GRID)
    assert rates[:, 4:].max() == 0.0 and rates.sum() * GRID.cell_area == pytest.approx(1.0, rel=1e-14)


WALL_LINE = InternalLine([(6.0, 10.0), (6.0, 20.0)], Wall())


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("lines", "sides", "what", "allowed"),
    [
        ([InternalLine([(6.0, 9.0), (6.0, 20.0)], Wall())],
         {}, r"the point \(6, 9\) of internal 1", r"y in \[10, 29.5\]"),
        ([WALL_LINE, InternalLine([(40.0, 12.0)], Discharge(1.0), name="pump")],
         {}, r"point \(40, 12\) of pump", "the domain"),
        ([InternalLine([(6.0, 10.0)], Wall())], {}, "points = ", "2 or more pairs"),
        ([InternalArea([(6.0, 10.0), (8.0, 20.0)], Wall())], {}, "points = ", "3 or more pairs"),
        ([InternalLine([(6.1, 10.1), (6.2, 10.2)], Wall())], {}, "between no two cell centres", "longer than a cell"),
        ([InternalLine([(6.0, 10.0), (6.0, 20.0)], Outflow())], {}, "Outflow on internal 1", r"Wall\(\) or Discharge"),
        ([InternalLine([(6.0, 10.0), (6.0, 20.0)], Periodic())],
         {}, "Periodic on internal 1", r"Wall\(\) or Discharge"),
        ([InternalLine([(6.0, 10.0)], Discharge(-1.0))], {}, "discharge of -1 m3/s on internal 1", "0 or more"),
        ([InternalArea([(6.0, 11.0), (6.1, 11.0), (6.0, 11.1)], Discharge(1.0))],
         {}, "with no cell centre inside", "an area"),
        ([WALL_LINE, InternalLine([(1.0, 12.0)], Discharge(1.0), name="internal 1")],
         {}, "'internal 1'", "a unique name for each"),
        ([WALL_LINE, "wall"], {}, "internal = ", "a list of InternalLine"),
        ([InternalLine([(-2.0, 10.0), (-2.0, 20.0)], Wall())], {"west": Outflow()}, "along the west side", "two cells"),
        ([InternalLine([(28.0, 10.0), (28.0, 20.0)], Wall())], {"east": Outflow()}, "along the east side", "two cells"),
        ([InternalLine([(4.0, 28.0), (9.0, 28.0)], Wall())],
         {"north": [BoundarySegment(5.0, 7.0, Outflow())]}, "the north side", "two"),
        ([InternalLine([(4.0, 11.5), (9.0, 11.5)], Wall())],
         {"south": [BoundarySegment(5.0, 7.0, Outflow())]}, "the south side", "two"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(lines, sides, what, allowed):
    with pytest.raises(InputError, match=what) as caught:
        placed(*lines, **sides)
    assert pytest.importorskip("re").search(allowed, caught.value.allowed)


@pytest.mark.nojit
def test_wall_beside_the_closed_part_of_an_open_side_is_allowed():
    _, walls = placed(InternalLine([(4.0, 28.0), (9.0, 28.0)], Wall()), north=[BoundarySegment(15.0, 20.0, Outflow())])
    assert walls is not None and (walls != 0).any()


@pytest.mark.nojit
def test_walls_two_cells_from_open_sides_are_allowed():
    lines = [
        ((-2.0, 12.0), (-2.0, 28.0)),
        ((28.0, 12.0), (28.0, 28.0)),
        ((2.0, 11.5), (9.0, 11.5)),
        ((2.0, 28.0), (9.0, 28.0)),
    ]
    for number, side in enumerate(("west", "east", "south", "north")):
        others = [InternalLine(ends, Wall()) for k, ends in enumerate(lines) if k != number]
        _, walls = placed(*others, **{side: Outflow()})
        assert walls is not None


@pytest.mark.nojit
def test_walls_on_grids_of_one_or_two_cells():
    """What an open side lacks is the second cell inside; where there is one cell only, none is looked for."""
    for sides, grid, line in (
        ({"west": Outflow(), "east": Outflow()}, eagre.Grid(2, 3, 1.0, 1.0), [(1.0, 0.0), (1.0, 3.0)]),
        ({"south": Outflow(), "north": Outflow()}, eagre.Grid(3, 2, 1.0, 1.0), [(0.0, 1.0), (3.0, 1.0)]),
        ({"south": Outflow()}, eagre.Grid(1, 3, 1.0, 1.0), [(0.0, 1.0), (1.0, 1.0)]),
        ({"west": Outflow()}, eagre.Grid(3, 1, 1.0, 1.0), [(1.0, 0.0), (1.0, 1.0)]),
    ):
        with pytest.raises(InputError, match=r"two cells|one cell before"):
            placed(InternalLine(line, Wall()), grid=grid, **sides)
    for sides, grid, line in (
        ({"west": Outflow(), "east": Outflow()}, eagre.Grid(1, 3, 1.0, 1.0), [(0.0, 1.0), (1.0, 1.0)]),
        ({"south": Outflow(), "north": Outflow()}, eagre.Grid(3, 1, 1.0, 1.0), [(1.0, 0.0), (1.0, 1.0)]),
    ):
        assert placed(InternalLine(line, Wall()), grid=grid, **sides)[1].sum() > 0


@pytest.mark.nojit
@pytest.mark.parametrize("scale", [0.125, 8.0])
def test_faces_and_shares_of_cells_of_any_size(rng, scale):
    """A line and a grid `scale` times as large: the same faces, and lengths `scale` times as long."""
    grid = eagre.Grid(17, 13, 2.0 * scale, 1.5 * scale, x0=-4.0 * scale, y0=10.0 * scale)
    for _ in range(20):
        points = polygon(rng, False)
        np.testing.assert_array_equal(closed_faces(scale * points, grid), closed_faces(points, GRID))
        np.testing.assert_allclose(length_in_cells(scale * points, grid), scale * length_in_cells(points, GRID))


@pytest.mark.nojit
def test_lines_along_the_edges_of_the_domain_and_points_given_twice():
    assert (WEST_FACE, SOUTH_FACE) == (1, 2), "bits, which restarts keep"
    for column, x in ((0, -4.0), (16, 30.0)):
        share = length_in_cells(np.array([(x, 10.0), (x, 29.5)]), GRID)
        assert share[:, column] == pytest.approx(1.5) and share.sum() == pytest.approx(19.5)
    for row, y in ((0, 10.0), (12, 29.5)):
        share = length_in_cells(np.array([(-4.0, y), (30.0, y)]), GRID)
        assert share[row] == pytest.approx(2.0) and share.sum() == pytest.approx(34.0)
    twice = length_in_cells(np.array([(0.5, 13.2), (0.5, 13.2)]), GRID)
    assert twice[2, 2] == 1.0 and twice.sum() == 1.0
    corners = [(-4.0, 10.0), (30.0, 10.0), (30.0, 29.5), (-4.0, 29.5)]
    terms, _ = placed(InternalArea(corners, Discharge(1.0)))
    assert (terms.water[0].quantities[0].map(GRID) > 0.0).all()


@pytest.mark.nojit
def test_an_area_is_closed_once():
    """A triangle none of whose sides is level: cells whose centres lie within, by the signs of three products."""
    triangle = np.array([(0.1, 11.0), (25.0, 16.0), (9.0, 28.0)])
    x, y = GRID.mesh()
    turns = []
    for (x_a, y_a), (x_b, y_b) in zip(triangle, np.roll(triangle, -1, axis=0), strict=True):
        turns.append((x_b - x_a) * (y - y_a) - (y_b - y_a) * (x - x_a) > 0.0)
    terms, _ = placed(InternalArea(triangle, Discharge(1.0)))
    np.testing.assert_array_equal(terms.water[0].quantities[0].map(GRID) > 0.0, turns[0] & turns[1] & turns[2])
