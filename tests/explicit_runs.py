"""Explicit shallow-water runs, to compare one device and several by."""

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
    Outflow,
    Periodic,
    Rain,
    Series,
    ShallowWater,
    Stage,
    Wall,
    WindStress,
)
from eagre.boundaries import InternalArea, InternalLine
from eagre.stepping.clock import STEPS_LEFT

TIMES = np.array([0.0, 2.5, 6.0, 9000.0])
RING = Periodic()
LINES = [[(31.0, 9.0), (60.0, 51.0)], [(40.0, 0.0), (40.0, 27.0)], [(10.0, 28.5), (30.0, 28.5)]]
AREA = [(8.0, 12.0), (24.0, 12.0), (24.0, 33.0), (8.0, 38.0)]
WALLS = [InternalArea(AREA, Wall()), *(InternalLine(line, Wall()) for line in LINES)]
PLAIN = {"active_tiles": "off"}  # one device makes some steps of "srk2" and "ds2" on a list of active tiles


def series(*values):
    """A series whose kinks lie within steps."""
    return Series(TIMES, np.array(values))


def bay(device, precision="double", nx=37, ny=61, internal=(), soil=(), **options):
    """A partly dry bay with islands, all sources, conditions on all sides, parts of which bands cut, and lines."""
    rng = np.random.default_rng(5)
    grid = Grid(nx, ny, 2.0, 1.5)
    x, y = grid.mesh()
    xc, yc = grid.mesh("corner")
    bed = -0.8 + 0.7 * np.sin(xc / 15.0) * np.cos(yc / 9.0) + 1.2 * np.exp(-(((xc - 45.0) / 9.0) ** 2))
    bed += 0.05 * rng.standard_normal(bed.shape)
    wide, high = 2.0 * nx, 1.5 * ny
    given = {
        "surface_elevation": 0.1 * rng.standard_normal(grid.shape),
        "velocity_x": 0.1 * np.sin(x / 9.0),
        "velocity_y": 0.1 * np.cos(y / 7.0),
        "manning": 0.02 + 0.01 * rng.random(grid.shape),
        "boundaries": Boundaries(
            west=[BoundarySegment(0.3 * high, 0.8 * high, Stage(series(0.2, 0.5, 0.3, 0.3)))],
            east=[BoundarySegment(0.1 * high, 0.4 * high, Discharge(series(4.0, 9.0, 6.0, 6.0))),
                  BoundarySegment(0.4 * high, 0.9 * high, Absorbing(series(0.0, 0.1, -0.1, 0.0), level=0.1))],
            south=[BoundarySegment(0.0, 0.3 * wide, Discharge(2.0))],
            north=[BoundarySegment(0.3 * wide, 0.6 * wide, Stage(0.25)), BoundarySegment(0.7 * wide, wide, Outflow())],
            internal=internal,
        ),
        "sources": [
            Rain(series(1e-5, 0.0, 2e-5, 0.0), pattern=np.maximum(0.0, 1.0 - 3.0 * x / wide)),
            Coriolis(latitude=50.0, beta=1e-9),
            WindStress(series(0.4, -0.2, 0.5, 0.1), -0.3),
            AtmosphericPressure(101325.0 + 80.0 * np.sin(x / 9.0) * np.cos(y / 8.0)),
            *soil,
        ],
        "cross_sections": {
            "across": [(1.0, 20.0), (0.9 * wide, 0.8 * high)],
            "seams": [(0.5, 1.5 * (j % ny)) if i else (wide - 0.5, 1.5 * (j % ny)) for j in (21, 41) for i in (0, 1)],
        },
    }  # fmt: skip
    model = ShallowWater(grid, bed, device=device, precision=precision, **(given | options))
    model.cross_sections.sample()  # discharges are means since then
    return model


def loam(nx=37, ny=61):
    """Green-Ampt infiltration that varies in both directions, strong enough to empty cells."""
    j, i = np.mgrid[:ny, :nx]
    return [GreenAmpt(1e-3 + 2e-5 * i, 0.05 + 1e-3 * j, 0.3)]


def basin(device, precision="double", nx=41, ny=38, sides=None, internal=(), **options):
    """Noise over a rough bed, partly dry; sides: "ring", periodic in x; "torus", in both; else walls."""
    rng = np.random.default_rng(1)
    grid = Grid(nx, ny, 2.0, 1.5)
    bed = rng.uniform(-1.0, 0.3, grid.shape_of("corner"))
    bed[:, -1], bed[-1] = bed[:, 0], bed[0]
    boundaries = {
        "ring": Boundaries(west=RING, east=RING, internal=internal),
        "torus": Boundaries(RING, RING, RING, RING, internal),
        None: Boundaries(internal=internal),
    }[sides]
    given = {"surface_elevation": 0.1 * rng.standard_normal(grid.shape), "velocity_y": 0.3, "manning": 0.03}
    return ShallowWater(grid, bed, boundaries=boundaries, device=device, precision=precision, **(given | options))


def different(ours, theirs):
    """Names of what differs between two states, ghosts included; but for the steps that the host ordered."""
    first, second = ours.state(), theirs.state()
    assert first.keys() == second.keys()
    for state in (first, second):
        state["clock"][STEPS_LEFT] = 0.0
    return [name for name, value in first.items() if not np.array_equal(value, second[name])]


def apart(ours, theirs):
    """Largest difference of the states of two models, relative to the largest value of each variable."""
    first, second = (model.state()["q"][:, 2:-2, 2:-2].astype(float) for model in (ours, theirs))
    return float(max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(first, second, strict=True)))


def assert_repeats_and_restarts(make, steps, end):
    """See `restarts`; the run is cut after `steps`."""
    restarts.assert_repeats_and_restarts(make, lambda model: model.advance(end, max_steps=steps), end, different)
