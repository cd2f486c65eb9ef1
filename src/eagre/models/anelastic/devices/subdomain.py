"""Subdomain of a device: configuration, metric and base state of its rows and halo rows.

At an internal interface a subdomain ends as at a wall (or an open boundary). The resulting errors do not reach interior
rows within a step: the halo has `halo_rows` rows, which are exchanged after every step.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from eagre.backend.device import Device
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.setup import Setup

Array = np.ndarray
HALO_ROWS = 4  # halo rows: 3 for MPDATA and 1 for the divergence


def halo_rows(setup: Setup) -> int:
    """Return the number of halo rows on which a row of the next state depends."""
    mixed = 2 if setup.closure is not None else int(setup.viscous)
    return HALO_ROWS + int(setup.advection.third_order) + mixed


def rows_of(values: Array, rows: Sequence[int]) -> Array:
    """Return rows of a field (.., ny, nx); profiles (nz, 1, 1) are unchanged."""
    return values if values.shape[-2] == 1 else values.take(rows, axis=-2)


def subdomain_setup(setup: Setup, rows: Sequence[int], first: int) -> Setup:
    """Return the configuration of rows from row `first` on, negative across a periodic boundary."""
    grid, levels, surface = setup.grid, setup.levels, setup.surface
    if surface is not None:
        rough = surface.roughness
        surface = replace(
            surface, pattern=rows_of(surface.pattern, rows), roughness=None if rough is None else rows_of(rough, rows)
        )
    sponges, kinds, terrain = setup.side_sponges, setup.boundaries, levels.terrain_height
    return replace(
        setup,
        grid=replace(grid, ny=len(rows), y0=grid.y0 + first * grid.dy),
        levels=levels if terrain is None else replace(levels, terrain_height=rows_of(terrain, rows)),
        boundaries=(kinds[0], "wall" if kinds[1] == "periodic" else kinds[1], kinds[2]),
        side_sponges=None if sponges is None else rows_of(sponges, rows),
        surface=surface,
        forcing_rates=None if setup.forcing_rates is None else setup.forcing_rates.take(rows, axis=-1),
    )


def rows_held(device: Device, rows: Sequence[int]) -> Sequence[int]:
    """Return the rows of three-dimensional host fields of a device: one row for devices of other processes."""
    return rows[:1] if device.is_remote else rows


def subdomain_metric(metric: Metric, rows: Sequence[int], held: Sequence[int]) -> Metric:
    """Return the metric of rows, with the derivatives of the global grid; held : rows of fields, see `rows_held`."""
    subdomain, sides = copy.copy(metric), metric.sides
    subdomain.shape = (metric.shape[0], len(rows), metric.shape[2])
    subdomain.sides = (sides[0], "wall" if sides[1] == "periodic" else sides[1], sides[2])
    for name in ("hill", "slope_x", "slope_y", "depth_fraction"):
        setattr(subdomain, name, rows_of(getattr(metric, name), rows))
    for name in ("height", "jacobian"):
        setattr(subdomain, name, rows_of(getattr(metric, name), held))
    return subdomain


def subdomain_base_state(base_state: BaseState, rows: Sequence[int]) -> BaseState:
    """Return the base state of rows."""
    attributes = {}
    for one in fields(base_state):
        value = getattr(base_state, one.name)
        if isinstance(value, tuple):
            attributes[one.name] = tuple(rows_of(profile, rows) for profile in value)
        else:
            attributes[one.name] = rows_of(value, rows) if isinstance(value, np.ndarray) else value
    return BaseState(**attributes)
