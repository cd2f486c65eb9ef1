"""What a device knows of a run in bands of rows: set-up, map and air at rest of the rows that it holds.

Beyond a cut a band ends as at a wall (or an open side, where the grid has such). What is wrong there reaches no row of
its own within a step: a band holds `reach` rows of its neighbours, which are theirs again after every step.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from eagre.models.anelastic.metric import Metric
from eagre.models.anelastic.rest import RestState
from eagre.models.anelastic.setup import Setup

Array = np.ndarray
REACH = 4  # of the divergence of a wind that MPDATA made of the present one: 3 and 1


def reach(setup: Setup) -> int:
    """Rows beyond its own on which a row of the next state depends."""
    mixed = 2 if setup.closure is not None else int(setup.viscous)
    return REACH + int(setup.advection.third_order) + mixed


def cut(values: Array, rows: Sequence[int]) -> Array:
    """Some rows of a field (.., ny, nx); profiles (nz, 1, 1) have none and stay."""
    return values if values.shape[-2] == 1 else values.take(rows, axis=-2)


def cut_setup(setup: Setup, rows: Sequence[int], first: int) -> Setup:
    """The set-up of some rows, of which the first is row `first`, below 0 across a periodic side."""
    grid, levels, surface = setup.grid, setup.levels, setup.surface
    if surface is not None:
        rough = surface.roughness
        surface = replace(
            surface, pattern=cut(surface.pattern, rows), roughness=None if rough is None else cut(rough, rows)
        )
    sponges, kinds, terrain = setup.side_sponges, setup.boundaries, levels.terrain_height
    return replace(
        setup,
        grid=replace(grid, ny=len(rows), y0=grid.y0 + first * grid.dy),
        levels=levels if terrain is None else replace(levels, terrain_height=cut(terrain, rows)),
        boundaries=(kinds[0], "wall" if kinds[1] == "periodic" else kinds[1], kinds[2]),
        side_sponges=None if sponges is None else cut(sponges, rows),
        surface=surface,
        forcing_rates=None if setup.forcing_rates is None else setup.forcing_rates.take(rows, axis=-1),
    )


def cut_metric(metric: Metric, rows: Sequence[int]) -> Metric:
    """The map of some rows, with the derivatives that it has in the whole grid."""
    found, sides = copy.copy(metric), metric.sides
    found.shape = (metric.shape[0], len(rows), metric.shape[2])
    found.sides = (sides[0], "wall" if sides[1] == "periodic" else sides[1], sides[2])
    for name in ("hill", "slope_x", "slope_y", "share", "height", "jacobian"):
        setattr(found, name, cut(getattr(metric, name), rows))
    return found


def cut_rest(rest: RestState, rows: Sequence[int]) -> RestState:
    """The air at rest over some rows."""
    found = {}
    for one in fields(rest):
        value = getattr(rest, one.name)
        if isinstance(value, tuple):
            found[one.name] = tuple(cut(part, rows) for part in value)
        else:
            found[one.name] = cut(value, rows) if isinstance(value, np.ndarray) else value
    return RestState(**found)
