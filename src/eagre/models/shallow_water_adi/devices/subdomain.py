"""Row-slab subdomain of the ADI model on one device: an engine with rows of its neighbours.

At an interface of overlapping slabs the lines along y end as at a wall. The resulting error decays along a line like
the coupling of its unknowns (`coupling_rows`). With more neighbour rows than this distance the interior rows are
correct. At an interface of slabs with joined lines, a line continues in the other slab (`sweeps.segments`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from eagre.backend.device import Device
from eagre.boundaries.subdomain import clip_segments, global_face_numbers
from eagre.decomposition import Decomposition
from eagre.models.shallow_water_adi.engine import Engine
from eagre.models.shallow_water_adi.sampling.water_balance import Balance
from eagre.models.shallow_water_adi.setup import Segment, Setup
from eagre.models.shallow_water_adi.sweeps.launch_parameters import EPSILON, SAFETY

# Rows at an interface whose equations lack a neighbour: one of the sweep along x, two more of the sweep along y.
EDGE = 4
MAX_OVERLAP = 0.25  # of the rows of a slab; joined lines are faster beyond it (decision 0111)
JOINED_OVERLAP = 3  # neighbour rows in the equations of the faces of a slab, and one for the sweep along x of these


def coupling_rows(setup: Setup, precision: str, deepest: float) -> int:
    """Return the number of rows over which the coupling of a line along y decays to rounding error.

    With m = g h dt^2 / (4 dy^2) + E dt / dy^2 and a velocity of one cell per step, the stability limit, fully upwind, a
    row is (m + 1) P_below - (2 m + 2) P + m P_above = 0. Its solutions decay by s / (s + 1) per row downstream, s =
    sqrt(1 + m). Solutions of slower or central flow decay faster.
    """
    dt, dy = setup.time_step, setup.grid.dy
    m = setup.gravity * deepest * (dt / (2.0 * dy)) ** 2 + setup.viscosity * dt / dy**2
    s = math.sqrt(1.0 + m)
    return math.ceil(math.log(EPSILON[precision]) / math.log(s / (s + 1.0)))


def overlap_rows(setup: Setup, precision: str, deepest: float, safe: bool = True) -> int:
    """Return the neighbour rows that a slab needs at each interface; safe : include a margin for rising water."""
    return EDGE + coupling_rows(setup, precision, deepest * SAFETY**2 if safe else deepest)


def subdomain_setup(setup: Setup, low: int, high: int) -> Setup:
    """Return the set-up of rows low .. high - 1."""
    rows, grid = slice(low, high), setup.grid
    local_grid = replace(grid, ny=high - low, y0=grid.y0 + low * grid.dy)
    return replace(
        setup,
        grid=local_grid,
        bed=setup.bed[rows],
        friction=setup.friction[rows],
        walls=None if setup.walls is None else setup.walls[rows],
        terms=setup.terms.rows(low, high, local_grid),
        segments=clip_segments(setup.segments, grid.ny, low, high, low),
        dries=setup.may_dry,
    )


class Subdomain:
    """Row slab of a decomposition.

    Attributes
    ----------
    engine : Engine
        Engine of all rows of the slab, including neighbour rows.
    first, last : int
        First interior row and the row after the last, in the domain.
    low, high : int
        First row of the slab and the row after the last, in the domain, including neighbour rows.
    face_numbers : array
        Global numbers of its boundary faces in the water balance of the domain.
    """

    def __init__(
        self, setup: Setup, device: Device, precision: str, decomposition: Decomposition, rank: int, joined: bool
    ) -> None:
        ny = setup.grid.ny
        (self.first, self.last), (self.low, self.high) = decomposition.owned(rank)[0], decomposition.held(rank)[0]
        lines = None if setup.cross_sections is None else setup.cross_sections.subset(self.first, self.last, self.low)
        one = Segment(rank, decomposition.count, self.first - self.low, self.last - self.low) if joined else None
        local_setup = subdomain_setup(setup, self.low, self.high)
        self.setup, self.device = replace(local_setup, cross_sections=lines, segment=one), device
        self.engine = Engine(self.setup, device, precision)
        local_segments = clip_segments(setup.segments, ny, self.first, self.last, self.low)
        self.engine.balance = Balance(local_segments, self.setup.grid, self.setup.bed, self.setup.terms, device)
        self.face_numbers = global_face_numbers(setup.segments, setup.grid, self.first, self.last)

    def interior_row_sums(self) -> np.ndarray:
        """Return `Engine.row_sums` of the interior rows."""
        return self.engine.row_sums()[self.first - self.low : self.last - self.low]
