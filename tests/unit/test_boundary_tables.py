"""Which cell beside which side gets what: ghosts of a whole domain, and tables of its faces, cell by cell."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import eagre
import oracle.boundaries as plain
from eagre.backend.device import PlainDevice
from eagre.boundaries import (
    Absorbing,
    Boundaries,
    BoundarySegment,
    Discharge,
    Inflow,
    NormalDepth,
    Outflow,
    Periodic,
    Stage,
    Wall,
)
from eagre.boundaries.edges import CLOSED, edge_levels, edge_table, flux_if_open
from eagre.boundaries.ghosts import FACE_I, faces_of, padded_bed, segment_table
from eagre.boundaries.internal import placed_inside
from eagre.boundaries.open_sides import OpenSides
from eagre.boundaries.subdomain import clip_segments, global_face_numbers, join_sums, slab_sums
from eagre.errors import InputError
from eagre.terms.collect import Terms
from eagre.time_varying.series import Series
from oracle.boundaries import Water

GRID = eagre.Grid(6, 5, 1.0, 1.5, x0=10.0, y0=-3.0)
FIRST = Boundaries(
    west=[BoundarySegment(-3.0, 0.0, Stage(0.4)), BoundarySegment(0.0, 3.0, Discharge(4.0))],
    east=Absorbing(0.1, level=0.2),
    south=[BoundarySegment(12.0, 15.0, Outflow())],
    north=[BoundarySegment(10.0, 11.0, Absorbing(-0.1, level=0.0)), BoundarySegment(13.0, 16.0, Stage(-0.3))],
)
SECOND = Boundaries(
    west=NormalDepth(1e-3, 0.03),
    east=[BoundarySegment(-1.5, 1.5, NormalDepth(4e-3, 0.04))],
    south=Inflow(30.0, 0.8),
    north=[BoundarySegment(10.0, 12.0, Discharge(-2.0)), BoundarySegment(12.0, 16.0, Stage(1.3))],
)


def lines_of(side, array):
    """Views of (ny, nx, ...): [0] the line along the side, [1] the next one inside, each from low to high."""
    return {
        "west": np.moveaxis(array, 1, 0), "east": np.moveaxis(array, 1, 0)[::-1], "south": array, "north": array[::-1]
    }[side]  # fmt: skip


def condition_at(boundaries, side, m):
    """The condition beside cell m of a side, and the width that it has."""
    given = getattr(boundaries, side)
    if not isinstance(given, list):
        return given, (6.0 if side in ("south", "north") else 7.5)
    at = 10.5 + m if side in ("south", "north") else -3.0 + 1.5 * (m + 0.5)
    return next(((one.condition, one.stop - one.start) for one in given if one.start < at < one.stop), (Wall(), 0.0))


def ghost(condition, width, bed, face, away, first, second):
    """By the plain formulas."""
    mirrored = (first, second)[away - 1]
    if isinstance(condition, Stage):
        return plain.stage(condition.level, bed, face, away, first, second, mirrored)
    if isinstance(condition, Discharge):
        return plain.discharge(condition.rate / width, bed, face, away, first, second, False)
    if isinstance(condition, Inflow):
        return plain.inflow(condition.rate / width, condition.depth, bed, face, away, first, False)
    if isinstance(condition, Absorbing):
        return plain.absorbing(condition.incoming, condition.level, bed, away, first, second)
    if isinstance(condition, NormalDepth):
        return plain.normal_depth(condition.slope**0.5 / condition.manning, bed, first)
    if isinstance(condition, Outflow):
        return plain.outflow(bed, first)
    return Water(bed, mirrored.surface, -mirrored.across, mirrored.along)


def bed_beyond(boundaries, side, corners, m):
    """Bed of both ghosts beside cell m of a side, from the lines of corners: a corner of an open part goes on.

    It does not rise beside a level, a discharge or an inflow. The condition of the later part determines a corner that
    two parts share.
    """
    found = np.zeros(2)
    for c in (m, m + 1):
        beside = [condition_at(boundaries, side, k)[0] for k in (c - 1, c) if 0 <= k < corners.shape[1] - 1]
        edge, inner, deeper = corners[:3, c]
        first, second = inner, deeper
        for one in beside:
            if not one.closed:
                fall = min(edge - inner, 0.0) if isinstance(one, (Stage, Discharge, Inflow)) else edge - inner
                first, second = edge + fall, edge + 2 * fall
        found += 0.25 * np.array([edge + first, first + second])
    return found


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("boundaries", [FIRST, SECOND], ids=["first", "second"])
def test_ghosts_beside_every_cell(boundaries, precision, rng):
    corners = rng.uniform(-0.6, 0.6, GRID.shape_of("corner"))
    for _, lines in ((side, lines_of(side, corners)) for side in ("west", "south")):
        lines[1] = lines[0] + 0.3 * (lines[1] - lines[0])
    given = {
        "surface_elevation": 0.5 + 0.3 * rng.standard_normal(GRID.shape), "desingularisation_depth": 1e-4,
        "velocity_x": rng.standard_normal(GRID.shape), "velocity_y": rng.standard_normal(GRID.shape),
    }  # fmt: skip
    model = eagre.ShallowWater(
        GRID, corners, boundaries=boundaries, device=PlainDevice(), precision=precision, kernels="reference", **given
    )
    q, datum, single = model.state()["q"].astype(float), model.setup.datum.level, precision == "single"
    centres = 0.25 * (corners[1:, 1:] + corners[1:, :-1] + corners[:-1, 1:] + corners[:-1, :-1])
    eta = q[0, 2:-2, 2:-2]
    surface = eta + (datum + np.maximum(centres - datum, 0.0) if single else 0.0)
    checked = 0
    for side in ("west", "east", "south", "north"):
        across = 1 if side in ("west", "east") else 2
        inwards = 1.0 if side in ("west", "south") else -1.0
        padded = np.moveaxis(q, 0, -1)[2:-2] if across == 1 else np.moveaxis(q, 0, -1)[:, 2:-2]
        found = lines_of(side, padded)
        beds, surfaces, hu, hv = (lines_of(side, one) for one in (centres, surface, q[1, 2:-2, 2:-2], q[2, 2:-2, 2:-2]))
        normal, along = (hu, hv) if across == 1 else (hv, hu)
        for m in range(beds.shape[1]):
            condition, width = condition_at(boundaries, side, m)
            outside = bed_beyond(boundaries, side, lines_of(side, corners), m)
            face = lines_of(side, corners)[0, m : m + 2].mean()
            one, two = (Water(beds[k, m], surfaces[k, m], inwards * normal[k, m], along[k, m]) for k in (0, 1))
            for away in (1, 2):
                bed = outside[away - 1]
                wanted = ghost(condition, width, bed, face, away, one, two)
                got = found[2 - away, m]
                level = got[0] + (datum + max(bed - datum, 0.0) if single else 0.0)
                flows = (inwards * got[across], got[3 - across])
                close = {"rel": 1e-4, "abs": 2e-5} if single else {"rel": 1e-9, "abs": 1e-11}
                assert (level, *flows) == pytest.approx((wanted.surface, *wanted[2:]), **close), (side, m, away)
                checked += 1
    assert checked == 44


def test_bed_that_a_cell_has_of_a_side_of_one_line():
    """Grids one cell wide: what is beyond is copied from that cell, and there is no second one."""
    grid = eagre.Grid(1, 3, 1.0, 1.0)
    sides = Boundaries(west=Stage(0.5), east=Outflow())
    table, _ = segment_table(sides.segments(grid), grid)
    assert [row[[4, 5, 10, 11]].tolist() for row in table[:2]] == [[2, 2, 0, 0], [2, 2, 0, 0]]
    table, _ = segment_table(sides.segments(eagre.Grid(2, 3, 1.0, 1.0)), eagre.Grid(2, 3, 1.0, 1.0))
    assert table[:2, 11].tolist() == [1, -1] and table[:2, 10].tolist() == [0, 0]
    levels = edge_levels(sides.segments(grid), grid, padded_bed(np.zeros((4, 2)), False, False), 0.2)
    assert levels.shape == (4, 6, 3) and levels[0, 0].tolist() == [-0.2] * 3


def test_more_kinds_than_a_pass_has_are_refused():
    grid = eagre.Grid(14, 2, 1.0, 1.0)
    kinds = [Stage(1.0), Discharge(1.0), Absorbing(), Outflow(), Inflow(9.0, 0.3), NormalDepth(1e-3, 0.03)]
    parts = [BoundarySegment(2.0 * k, 2.0 * k + 2.0, kind) for k, kind in enumerate(kinds)]
    six = Boundaries(south=parts[:5]).segments(grid)
    assert len(segment_table(six, grid)[1]) == 6
    with pytest.raises(
        InputError, match=r"too many kinds of boundary condition[\s\S]*got 7 kinds[\s\S]*at most 6 per model"
    ):
        segment_table(Boundaries(south=parts).segments(grid), grid)


def test_tables_of_faces():
    """Every face of the boundary: segment, kind, wall or not, row of the balance, elevations; levels and beds."""
    segments = FIRST.segments(GRID)
    names = [(one.side, one.first, one.last, type(one.condition).__name__) for one in segments]
    assert names == [
        ("west", 0, 2, "Stage"), ("west", 2, 4, "Discharge"), ("west", 4, 5, "Wall"), ("east", 0, 5, "Absorbing"),
        ("south", 0, 2, "Wall"), ("south", 2, 5, "Outflow"), ("south", 5, 6, "Wall"), ("north", 0, 1, "Absorbing"),
        ("north", 1, 3, "Wall"), ("north", 3, 6, "Stage"),
    ]  # fmt: skip
    assert [one.width for one in segments] == [3.0, 3.0, 1.5, 7.5, 2.0, 3.0, 1.0, 1.0, 2.0, 3.0]
    kinds = [7, 6, 5, 4, 3, 2, 1, 0, 8, 9]
    table = edge_table(segments, GRID, kinds)
    assert table.shape == (4, 5, 6) and table.dtype == np.int32
    row = 0
    for number, (segment, kind) in enumerate(zip(segments, kinds, strict=True)):
        wall = isinstance(segment.condition, Wall)
        elevations = {Stage: 3, Discharge: 2, Absorbing: 2, Outflow: 2, Wall: 2}[type(segment.condition)]
        side = ["west", "east", "south", "north"].index(segment.side)
        for m in range(segment.first, segment.last):
            assert table[side, :, m].tolist() == [number, int(wall), -1 if wall else row, kind, elevations]
            row += not wall
    assert row == 16 == OpenSides(segments, GRID).lengths.size
    ring = edge_table(Boundaries(west=Periodic(), east=Periodic()).segments(GRID), GRID, [1, 1, 0, 0])
    assert ring[:, 1].max(axis=1).tolist() == [0, 0, 1, 1] and (ring[:, 2] == -1).all()


def test_walls_let_nothing_through():
    table = np.zeros((4, 5, 3), np.int32)
    table[2, CLOSED, 1] = 1
    assert [flux_if_open(table, 2, m, 7.0) for m in range(3)] == [7.0, 0.0, 7.0]
    assert flux_if_open(table, 1, 1, 7.0) == 7.0


@pytest.mark.parametrize("cells", [1, 2])
def test_second_cells_of_short_lines(cells, rng):
    """Of two cells the second one is the other; of one it is that one again."""
    for grid in (eagre.Grid(cells, 3, 1.0, 1.0), eagre.Grid(3, cells, 1.0, 1.0)):
        padded = rng.standard_normal((grid.ny + 5, grid.nx + 5))
        levels = edge_levels(Boundaries().segments(grid), grid, padded, 0.0)
        mean = 0.25 * (padded[1:, 1:] + padded[1:, :-1] + padded[:-1, 1:] + padded[:-1, :-1])[2:-2, 2:-2]
        for number, side in enumerate(("west", "east", "south", "north")):
            lines = lines_of(side, mean)
            count = lines.shape[1]
            assert levels[number, 1, :count] == pytest.approx(lines[0])
            assert levels[number, 2, :count] == pytest.approx(lines[min(1, len(lines) - 1)])


def test_levels_and_beds_of_faces(rng):
    corners = rng.standard_normal(GRID.shape_of("corner"))
    segments = FIRST.segments(GRID)
    padded = padded_bed(corners, False, False, segments)
    levels = edge_levels(segments, GRID, padded, 0.25)
    cells = 0.25 * (padded[1:, 1:] + padded[1:, :-1] + padded[:-1, 1:] + padded[:-1, :-1])
    wanted = {Stage: -0.25, Discharge: -0.25, Outflow: -0.25, Wall: -0.25}
    for number, side in enumerate(("west", "east", "south", "north")):
        lines = lines_of(side, cells)
        for m in range(5 if number < 2 else 6):
            condition, _ = condition_at(FIRST, side, m)
            level = condition.level - 0.25 if isinstance(condition, Absorbing) else wanted[type(condition)]
            beds = [lines[k, m + 2] for k in (2, 3, 1, 0)] + [lines_of(side, corners)[0, m : m + 2].mean()]
            assert levels[number, :, m] == pytest.approx([level, *beds], rel=1e-14)


def test_faces_of_a_segment():
    """The cell on the high side of each face, the axis, and the sign of inflow."""
    table, _ = segment_table(FIRST.segments(GRID), GRID)
    found = {tuple(row[[14, 15, 12]]): faces_of(row).tolist() for row in table}
    assert found[1, 1, 2] == [[4, 2, 1, 1], [5, 2, 1, 1]]
    assert found[1, -1, 5] == [[2 + m, 8, 1, -1] for m in range(5)] and FACE_I == 1
    assert found[2, 1, 3] == [[2, 4 + m, 2, 1] for m in range(3)]
    assert found[2, -1, 3] == [[7, 5 + m, 2, -1] for m in range(3)]


def test_books_of_open_sides():
    series = Series([0.0, 10.0], [2.0, 6.0])
    sides = Boundaries(
        west=[BoundarySegment(-3.0, 0.0, Stage(0.4)), BoundarySegment(0.0, 3.0, Discharge(series))],
        north=Inflow(30.0, 0.8), east=[BoundarySegment(-1.5, 1.5, Outflow())],
    )  # fmt: skip
    book = OpenSides(sides.segments(GRID), GRID)
    assert book.starts.tolist() == [0, 2, 4, 6, 12]
    assert book.lengths.tolist() == [1.5] * 6 + [1.0] * 6
    assert book.table().tolist() == [[0, 0, 2], [0, 2, 4], [1, 1, 3], [3, 0, 6]]
    assert book.are_those_of({"open_sides": book.table()}) and not book.are_those_of({})
    amounts = np.append(2.0 ** np.arange(12), [0.5, 0.25, 0.125])
    named, rain = book.by_name(amounts, ["pump", "", ""])
    assert named == {
        "west -3 to 0 m": 3.0, "west 0 to 3 m": 12.0, "east -1.5 to 1.5 m": 48.0, "north": 4032.0, "pump": 0.5,
    }  # fmt: skip
    assert rain == 0.375
    assert book.prescribed_volumes(5.0, 10.0) == {"west 0 to 3 m": 25.0, "north": 150.0}
    assert book.prescribed_volumes(5.0, 5.0) == {}


@pytest.mark.parametrize("side", ["west", "east", "south", "north"])
def test_what_is_said_of_the_water_beside_a_part(side):
    """It looks at the cells along the part, and at the speed out of the domain."""
    along_x = side in ("south", "north")
    part = BoundarySegment(11.0, 13.0, Outflow()) if along_x else BoundarySegment(-1.5, 1.5, Outflow())
    book = OpenSides(Boundaries(**{side: [part]}).segments(GRID), GRID)
    line = {"west": 0, "east": 5, "south": 0, "north": 4}[side]
    speed = -1.0 if side in ("west", "south") else 1.0

    def sample(names, cells):
        assert names == ("depth", "velocity_y" if along_x else "velocity_x")
        assert cells == [(line, m) if along_x else (m, line) for m in (1, 2)]
        return {"depth": np.ones(2), names[1]: 3.132 * speed * np.array([0.3, -0.6])}

    [(name, text)] = book.notes(sample, 9.81)
    assert name == f"{side} {'11 to 13' if along_x else '-1.5 to 1.5'} m" and "1 of 2 cells (Froude number 0.3)" in text


@pytest.mark.parametrize("cuts", [(0, 5), (0, 1, 5), (0, 2, 3, 5)])
def test_bands_have_pieces_of_all_sides(cuts):
    """Each face of the boundary belongs to one band, where it keeps its condition and width and its row of the book."""
    segments = FIRST.segments(GRID)
    whole = edge_table(segments, GRID, [0] * len(segments))[:, 2]
    book, seen = np.arange(18.0), []
    for low, high in pairwise(cuts):
        places = global_face_numbers(segments, GRID, low, high)
        wanted = []
        for one in clip_segments(segments, GRID.ny, low, high, low):
            side = ["west", "east", "south", "north"].index(one.side)
            down = low if side < 2 else 0
            own = next(s for s in segments if s.side == one.side and s.first <= one.first + down < s.last)
            assert (one.condition, one.width) == (own.condition, own.width)
            assert 0 <= one.first < one.last <= (high - low if side < 2 else 6)
            wanted += [row for row in whole[side, one.first + down : one.last + down] if row >= 0]
        assert sorted(places) == sorted(wanted)
        part = slab_sums(book, places, len(places) + 2)
        assert part.tolist() == [*places, 16.0, 17.0]
        part += 100.0
        join_sums(book, places, part)
        assert book[places].tolist() == part[: len(places)].tolist() and book[16:].tolist() == part[-2:].tolist()
        book = np.arange(18.0)
        seen += places.tolist()
    assert sorted(seen) == list(range(16))


def test_parts_end_between_the_nearest_cells():
    found = Boundaries(south=[BoundarySegment(10.4, 11.6, Outflow()), BoundarySegment(15.4, 16.0, Outflow())]).segments(
        GRID
    )
    assert [(s.first, s.last) for s in found if s.side == "south"] == [(0, 2), (2, 5), (5, 6)]
    for start, stop, what in ((9.0, 11.0, "9 m"), (15.0, 17.0, "17 m"), (12.0, 12.2, "12.2 m"), (14.0, 12.0, "14 m")):
        with pytest.raises(InputError, match=what):
            Boundaries(south=[BoundarySegment(start, stop, Outflow())]).segments(GRID)
    with pytest.raises(InputError, match=r"two segments of the .* side with an overlap at 12 m"):
        Boundaries(south=[BoundarySegment(12.0, 14.0, Outflow()), BoundarySegment(10.0, 13.0, Outflow())]).segments(
            GRID
        )


@pytest.mark.parametrize(("shape", "sides", "name"), [((1, 3), "west", "nx = 1"), ((3, 1), "north", "ny = 1")])
def test_a_wall_one_cell_across_from_an_open_side(shape, sides, name):
    with pytest.raises(InputError, match=name):
        Boundaries(**{sides: Outflow()}).segments(eagre.Grid(*shape, 1.0, 1.0))
    assert Boundaries(**{sides: Outflow()}).segments(eagre.Grid(2, 2, 1.0, 1.0))


@pytest.mark.parametrize(
    ("side", "lowest"), [("west", [0.1, -0.7]), ("east", [-0.9]), ("south", [-0.5]), ("north", [0.2])]
)
def test_lowest_bed_of_a_part(side, lowest):
    """The corners of a part, both of its ends."""
    corners = np.full(GRID.shape_of("corner"), 0.5)
    corners[2, 0], corners[3, 0], corners[1, -1], corners[0, 3], corners[-1, 6] = 0.1, -0.7, -0.9, -0.5, 0.2
    tide = Stage(Series([0.0, 1.0], [0.0, 3.0]))
    along = [BoundarySegment(-3.0, 0.0, tide), BoundarySegment(1.5, 4.5, tide)] if side == "west" else tide
    found = [one.deepest_arrival(corners, 9.81) for one in Boundaries(**{side: along}).segments(GRID)]
    deepest = [3.0 - low for low in lowest]
    assert sorted(one for one in found if one)[-len(deepest) :] == pytest.approx(sorted(deepest))


def test_nothing_is_poured_where_no_line_is():
    terms, walls = placed_inside([], FIRST.segments(GRID), Terms(GRID))
    assert walls is None and not terms.water
