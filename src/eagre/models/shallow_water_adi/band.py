"""A band of rows of a run on one device: an engine of its own, with rows of its neighbours beside its own.

Where a band is cut its lines along y end as at a wall. What that changes fades along a line like the coupling
of its unknowns (`reach`): a band that holds more rows of its neighbours than that has its own rows right.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from eagre.backend.device import Device
from eagre.boundaries.subdomain import cut_segments, places_of_faces
from eagre.decomposition import Decomposition
from eagre.models.shallow_water_adi.balance import Balance
from eagre.models.shallow_water_adi.engine import Engine
from eagre.models.shallow_water_adi.plan import EPSILON, SAFETY
from eagre.models.shallow_water_adi.setup import Setup

EDGE = 4  # rows at a cut whose equations lack a neighbour: of the sweep along x one, of that along y two more


def reach(setup: Setup, precision: str, deepest: float) -> int:
    """Rows over which the coupling of a line along y falls to rounding.

    With m = g h dt^2 / (4 dy^2) + E dt / dy^2 and a velocity of a cell a step, the most that is stable, all taken
    upstream, a row is (m + 1) P_below - (2 m + 2) P + m P_above = 0: its solutions fade by s / (s + 1) a row,
    s = sqrt(1 + m), downstream, and those of slower or central flow fade faster.
    """
    dt, dy = setup.time_step, setup.grid.dy
    m = setup.gravity * deepest * (dt / (2.0 * dy)) ** 2 + setup.viscosity * dt / dy**2
    s = math.sqrt(1.0 + m)
    return math.ceil(math.log(EPSILON[precision]) / math.log(s / (s + 1.0)))


def rows_beside(setup: Setup, precision: str, deepest: float, safe: bool = True) -> int:
    """Rows of its neighbours that a band needs at each cut; safe : with room for water that rises."""
    return EDGE + reach(setup, precision, deepest * SAFETY**2 if safe else deepest)


def band_setup(setup: Setup, low: int, high: int) -> Setup:
    """The set-up of rows low .. high - 1."""
    rows, grid = slice(low, high), setup.grid
    part = replace(grid, ny=high - low, y0=grid.y0 + low * grid.dy)
    return replace(
        setup,
        grid=part,
        bed=setup.bed[rows],
        friction=setup.friction[rows],
        walls=None if setup.walls is None else setup.walls[rows],
        terms=setup.terms.rows(low, high, part),
        segments=cut_segments(setup.segments, grid.ny, low, high, low),
        dries=setup.may_dry,
    )


class Band:
    """One of the subdomains of a decomposition.

    Attributes
    ----------
    engine : Engine
        Of all rows held here.
    first, last : int
        First row of the domain that is this band's own, and the one behind the last.
    low, high : int
        First row of the domain that is held here, and the one behind the last.
    places : array
        Where the faces that it books stand in the book of the whole domain.
    """

    def __init__(self, setup: Setup, device: Device, precision: str, decomposition: Decomposition, rank: int) -> None:
        ny = setup.grid.ny
        (self.first, self.last), (self.low, self.high) = decomposition.own(rank)[0], decomposition.held(rank)[0]
        lines = None if setup.cross_sections is None else setup.cross_sections.part(self.first, self.last, self.low)
        self.setup, self.device = replace(band_setup(setup, self.low, self.high), cross_sections=lines), device
        self.engine = Engine(self.setup, device, precision)
        own = cut_segments(setup.segments, ny, self.first, self.last, self.low)
        self.engine.balance = Balance(own, self.setup.grid, self.setup.bed, self.setup.terms, device)
        self.places = places_of_faces(setup.segments, setup.grid, self.first, self.last)

    def own_row_sums(self) -> np.ndarray:
        """`Engine.row_sums` of the rows that are this band's own."""
        return self.engine.row_sums()[self.first - self.low : self.last - self.low]
