"""Discharge through lines: rings close the water balance, lines across a flume carry what comes in, restarts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import eagre
from eagre.boundaries.cross_sections import CrossSections

RING = [(22.0, 13.0), (61.0, 9.0), (71.0, 41.0), (33.0, 52.0), (22.0, 13.0)]
SCHEMES = ("euler", "rk2", "srk2", "ds1", "ds2")
INSIDE = eagre.InternalArea([[30.0, 20.0], [50.0, 20.0], [50.0, 40.0], [30.0, 40.0]], eagre.Discharge(12.0))


def pond(implicit=False, precision="double", **options):
    """Water rises out of an area of a pond with a rough bed that a ring goes round, and flows about."""
    grid = eagre.Grid(20, 16, 4.0, 5.0)
    bed = 0.1 * np.random.default_rng(2).random((17, 21))
    given = {
        "surface_elevation": 0.6, "manning": 0.02, "precision": precision, "device": "cpu",
        "boundaries": eagre.Boundaries(internal=[INSIDE]), "cross_sections": {"ring": RING, "back": RING[::-1]},
    } | options  # fmt: skip
    if implicit:
        return eagre.ShallowWaterADI(grid, bed, 0.8, **given)
    return eagre.ShallowWater(grid, bed, **given)


def inside_of(ring, grid):
    """Which centres a ring of points, against the clock, has inside: plane geometry, a ray to the east."""
    x, y = grid.mesh()
    count = np.zeros(grid.shape, int)
    for (x_a, y_a), (x_b, y_b) in pairwise(ring):
        crosses = (y_a <= y) != (y_b <= y)
        with np.errstate(divide="ignore", invalid="ignore"):
            count += crosses & (x < x_a + (y - y_a) * (x_b - x_a) / (y_b - y_a))
    return count % 2 == 1


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("scheme", [*SCHEMES, "implicit"])
def test_a_ring_closes_the_balance_of_what_it_holds(scheme, precision, light_device):
    """In single precision to what depths are rounded by."""
    options = {} if scheme == "implicit" else {"scheme": scheme}
    model = pond(scheme == "implicit", precision, device=light_device, **options)
    own = inside_of(RING, model.grid)
    first = model.field("depth")[own].astype(float).sum() * model.grid.cell_area
    model.advance(8.0)
    change = model.field("depth")[own].astype(float).sum() * model.grid.cell_area - first
    poured = 12.0 * 8.0
    through = model.cross_sections.volumes()
    assert through["ring"] > 10.0  # outwards
    assert through["back"] == -through["ring"]
    assert change + through["ring"] == pytest.approx(poured, rel={"single": 1e-5, "double": 1e-11}[precision])


@pytest.mark.parametrize("implicit", [False, True])
def test_series_of_lines_sum_up_and_go_on_after_a_restart(implicit, light_device):
    whole, cut, on = (pond(implicit, device=light_device) for _ in range(3))
    found = []
    for model, times in ((whole, (0.0, 2.0, 4.0, 6.0)), (cut, (0.0, 2.0)), (on, (4.0, 6.0))):
        if model is on:
            on.restore(cut.state())
        for time in times:
            if time > model.time:
                model.advance(time)
            found.append(model.cross_sections.sample())
    unbroken, parts = found[:4], found[4:]
    for ours, theirs in zip(unbroken, parts, strict=True):
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name])
    assert np.isnan(unbroken[0]["discharge"]).all()
    total = sum(2.0 * one["discharge"] for one in unbroken[1:])
    np.testing.assert_allclose(total, unbroken[-1]["volume"], rtol=1e-12)


@pytest.mark.parametrize("implicit", [False, True])
def test_a_line_of_one_face_goes_on_after_a_restart(implicit):
    whole, on = (pond(implicit, cross_sections={"gauge": [(54.1, 21.0), (54.1, 24.0)]}) for _ in range(2))
    whole.advance(4.0)
    on.restore(whole.state())
    assert len(on.cross_sections.names) == 1 and on.cross_sections.volumes() == whole.cross_sections.volumes()
    assert abs(on.cross_sections.volumes()["gauge"]) > 0.1


def test_a_line_stands_midway_between_its_ends():
    """In files: not at the mean of its points."""
    found = pond(
        cross_sections={"bent": [(20.0, 20.0), (30.0, 60.0), (44.0, 60.0), (60.0, 50.0)]}
    ).cross_sections.coordinates
    assert [found[name][0].tolist() for name in ("x", "y", "path")] == [
        [40.0], [35.0], ["LINESTRING (20 20, 30 60, 44 60, 60 50)"]
    ]  # fmt: skip


def test_other_lines_begin_anew_on_several_devices_as_on_one():
    first = pond()
    first.advance(2.0)
    other = {"across": [(2.0, 40.0), (78.0, 30.0)]}
    ours, theirs = (pond(device=device, cross_sections=other) for device in ("cpu,cpu", "cpu"))
    for model in (ours, theirs):
        model.restore(first.state())
        assert model.cross_sections.volumes() == {"across": 0.0}
        model.advance(3.0)
    assert abs(ours.cross_sections.volumes()["across"]) > 1e-3
    assert ours.cross_sections.volumes() == theirs.cross_sections.volumes()


def test_a_line_across_a_flume_has_what_comes_in_from_its_left():
    grid = eagre.Grid(30, 4, 2.0, 2.0)
    sides = eagre.Boundaries(west=eagre.Discharge(3.0), east=eagre.Outflow())
    lines = {"gate": [(31.0, 8.0), (31.0, 0.0)]}  # from the north to the south: the west is to its right
    model = eagre.ShallowWater(
        grid, 0.0, depth=1.0, boundaries=sides, cross_sections=lines, device="cpu", precision="double", manning=0.03
    )
    model.advance(50.0)
    stored = model.field("depth")[:, :16].sum() * grid.cell_area - 16 * 4 * 4.0
    assert model.cross_sections.volumes()["gate"] == pytest.approx(-(model.inflow["west"] - stored), rel=1e-12)
    assert model.cross_sections.volumes()["gate"] < -50.0


@pytest.mark.parametrize("scheme", ["rk2", "ds2"])
def test_lines_beside_walls_inside(scheme):
    """A wall with a gap: what goes through the gap fills the other half; nothing goes through the wall."""
    grid = eagre.Grid(20, 12, 2.0, 2.0)
    wall = eagre.InternalLine([(20.0, 0.0), (20.0, 16.0)], eagre.Wall())
    lines = {"gap": [(20.0, 24.0), (20.0, 16.0)], "wall": wall.points, "beside": [(22.0, 24.0), (22.0, 0.0)]}
    depth = np.where(grid.mesh()[0] < 20.0, 1.0, 0.2)
    model = eagre.ShallowWater(
        grid, 0.0, depth=depth, boundaries=eagre.Boundaries(internal=[wall]), cross_sections=lines, device="cpu",
        scheme=scheme, precision="double",
    )  # fmt: skip
    model.advance(6.0)
    through, h = model.cross_sections.volumes(), model.field("depth") - depth
    assert through["wall"] == 0.0
    assert -through["gap"] == pytest.approx(4.0 * h[:, 10:].sum(), rel=1e-12)
    assert -through["beside"] == pytest.approx(4.0 * h[:, 11:].sum(), rel=1e-12)
    assert -through["gap"] > 10.0


def test_lines_do_not_change_a_run():
    plain, model = pond(cross_sections=None), pond()
    for one in (plain, model):
        one.advance(3.0)
    np.testing.assert_array_equal(plain.field("depth"), model.field("depth"))
    assert plain.cross_sections is None and "cross_sections" not in plain.state()


def test_faces_of_lines_lie_where_they_are_drawn():
    grid = eagre.Grid(4, 3, 1.0, 1.0)
    north = CrossSections({"line": [(2.1, 0.0), (2.1, 3.0)]}, grid)
    assert north.faces.tolist() == [[0, 2, 1, 1], [1, 2, 1, 1], [2, 2, 1, 1]]  # the east is to the right
    there_and_back = {"line": [(2.1, 0.0), (2.1, 3.0), (2.1, 1.0)]}
    assert CrossSections(there_and_back, grid).faces.tolist() == [[0, 2, 1, 1]]
    west = CrossSections({"line": [(4.0, 1.1), (0.0, 1.1)]}, grid)
    assert west.faces.tolist() == [[1, i, 2, 1] for i in range(4)]  # the north is to the right


@pytest.mark.parametrize(
    ("points", "what"),
    [
        ([(1.0, 1.0)], "two or more points"),
        ("here", "two or more points"),
        ([(1.0, 1.0), (9.0, 1.0)], "the domain"),
        ([(1.1, 1.1), (1.2, 1.1)], "longer than a cell"),
    ],
)
def test_what_lines_refuse(points, what):
    with pytest.raises(eagre.InputError, match=what):
        CrossSections({"line": points}, eagre.Grid(4, 3, 1.0, 1.0))


def test_the_line_to_write_lies_in_the_domain_to_the_metre():
    grid = eagre.Grid(4, 3, 10.0, 10.0, 512_001.0, 4_660_123.0)
    with pytest.raises(eagre.InputError) as told:
        CrossSections({"weir": [(512_001.5, 4_660_123.5), (512_002.5, 4_660_123.5)]}, grid)
    assert told.value.fix == "weir = [[512026, 4660123], [512026, 4660153]]"
