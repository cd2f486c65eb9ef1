"""Implicit shallow-water runs on tall grids, to compare one device and several by."""

from __future__ import annotations

import numpy as np

import restarts
from eagre import (
    Absorbing,
    AtmosphericPressure,
    Boundaries,
    BoundarySegment,
    Coriolis,
    Discharge,
    GreenAmpt,
    Grid,
    InternalLine,
    Rain,
    Series,
    ShallowWaterADI,
    Stage,
    Wall,
    WindStress,
)

TIMES = np.array([0.0, 25.0, 60.0, 9000.0])
FIELDS = ("z", "p", "q_before", "q_after")


def series(*values):
    """A series whose kinks lie within steps."""
    return Series(TIMES, np.array(values))


def scattered_walls(shape, part=0.1):
    """Closed west faces, (ny, nx + 1), and south faces, (ny + 1, nx), two or more cells from the parallel sides."""
    rng, (ny, nx) = np.random.default_rng(6), shape
    west, south = rng.random((ny, nx + 1)) < part, rng.random((ny + 1, nx)) < part
    for faces in (west.T, south):
        faces[:2] = faces[-2:] = False
    return west, south


def lines_along(walls, dx, dy):
    """An internal wall for each of the closed faces."""
    west, south = (np.argwhere(faces) for faces in walls)
    ends = [((i * dx, j * dy), (i * dx, (j + 1) * dy)) for j, i in west.tolist()]
    ends += [((i * dx, j * dy), ((i + 1) * dx, j * dy)) for j, i in south.tolist()]
    return [InternalLine(points, Wall()) for points in ends]


def bay(device, precision="double", nx=37, ny=201, time_step=10.0, soil=(), **options):
    """A partly dry bay with islands, all terms, conditions on all sides, parts of which bands cut, and lines."""
    rng = np.random.default_rng(5)
    grid = Grid(nx, ny, 90.0, 70.0)
    x, y = grid.mesh()
    xc, yc = grid.mesh("corner")
    bed = -2.4 + 2.2 * np.sin(xc / 700.0) * np.cos(yc / 400.0) + 2.0 * np.exp(-(((xc - 2000.0) / 500.0) ** 2))
    wide, high = 90.0 * nx, 70.0 * ny
    given = {
        "surface_elevation": 0.2 * rng.standard_normal(grid.shape),
        "velocity_x": 0.1 * np.sin(x / 400.0),
        "velocity_y": 0.1 * np.cos(y / 300.0),
        "manning": 0.02 + 0.01 * rng.random(grid.shape),
        "viscosity": 4.0,
        "land_mask": np.hypot(x - 0.4 * wide, (y % (high / 6.0)) - high / 12.0) < 150.0,
        "boundaries": Boundaries(
            west=[BoundarySegment(0.3 * high, 0.8 * high, Stage(series(0.2, 0.5, 0.3, 0.3)))],
            east=[BoundarySegment(0.1 * high, 0.4 * high, Discharge(series(400.0, 900.0, 600.0, 600.0))),
                  BoundarySegment(0.4 * high, 0.9 * high, Absorbing(series(0.0, 0.1, -0.1, 0.0), level=0.1))],
            south=[BoundarySegment(0.0, 0.3 * wide, Discharge(series(50.0, 90.0, 60.0, 60.0)))],
            north=[BoundarySegment(0.3 * wide, 0.6 * wide, Stage(0.25)),
                   BoundarySegment(0.7 * wide, wide, Absorbing())],
        ),
        "sources": (
            Rain(series(1e-5, 0.0, 2e-5, 0.0), pattern=1.0 + x / 6300.0),
            Coriolis(latitude=50.0, beta=1e-9),
            WindStress(series(0.4, -0.2, 0.5, 0.1), -0.3),
            AtmosphericPressure(101325.0 + 80.0 * np.sin(x / 900.0) * np.cos(y / 800.0)),
            *soil,
        ),
        "cross_sections": {
            "across": [(50.0, 2000.0), (0.9 * wide, 0.8 * high)],
            "seams": [(wide if i else 0.0, 70.0 * (j % ny)) for j in (67, 100) for i in (0, 1)],
        },
    }  # fmt: skip
    model = ShallowWaterADI(grid, bed, time_step, device=device, precision=precision, **(given | options))
    model.cross_sections.sample()  # discharges are means since then
    return model


def loam(nx=37, ny=201):
    """Green-Ampt infiltration that varies in both directions."""
    j, i = np.mgrid[:ny, :nx]
    return [GreenAmpt(1e-4 + 2e-6 * i, 0.05 + 1e-4 * j, 0.3)]


def pool(device, precision="double", nx=19, ny=200, time_step=3.0, **options):
    """Noise on some ten metres of water over a rough bed between walls."""
    rng = np.random.default_rng(1)
    grid = Grid(nx, ny, 100.0, 70.0)
    given = {"surface_elevation": 0.2 * rng.standard_normal(grid.shape), "manning": 1 / 32}
    bed = rng.uniform(-12.0, -8.0, grid.shape_of("corner"))
    return ShallowWaterADI(grid, bed, time_step, device=device, precision=precision, **(given | options))


def largest_difference(ours, theirs):
    """Of the fields of two models, relative to the largest value of each; the book is compared as well."""
    first, second = ours.state(), theirs.state()
    apart = [np.abs(first[k].astype(float) - second[k]).max() / np.abs(second[k]).max() for k in FIELDS]
    scale = np.abs(second["book"]).max() or 1.0
    return float(np.max([*apart, np.abs(first["book"] - second["book"]).max() / scale]))


def assert_repeats_and_restarts(make, steps, end):
    """See `restarts`; the run is cut after `steps`."""
    restarts.assert_repeats_and_restarts(make, lambda model: model.advance(end, max_steps=steps), end)
