"""Source terms in the sweeps of the ADI model: mass sources at centres, forces at faces."""

from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.backend.device import Device
from eagre.boundaries.internal import SOUTH_FACE, WEST_FACE
from eagre.kernels.roots import select
from eagre.models.shallow_water_adi.kernels import ABOVE, BELOW, HIGH, LAND, LOW, MAY_DRY
from eagre.models.shallow_water_adi.memory_layout import PADDING, faces_of, layout_of, padded
from eagre.terms.compose import FORCE, WATER, Bound, TermArrays, bind


@cell
def water_on(d, forcing, row, index, p):
    """Return the mass source of half a step in a cell with bed d, m; 0 on land."""
    water = real(0.5) * p.dt * WATER(real(0.0), forcing, row, index)
    if MAY_DRY:
        return select(d > real(LAND), real(0.0), water)
    return water


@cell
def push_on(depths, p_here, q_sum, forcing, row, index, p):
    """Return the explicit forces on a face times dt, m2 s-1.

    depths : sum of two depths; q_sum : sum of four cross fluxes.
    """
    return p.dt * FORCE(real(0.0), real(0.5) * depths, p_here, real(0.25) * q_sum, forcing, row, index)


@cell
def row_and_column(row, index, pitch):
    """Return row and column for `terms.base.WHERE` from a flat index and an offset in padded arrays."""
    return np.int32(row) - 1, np.int32(np.int64(index[0]) + index[1] - np.int64(row) * np.int64(pitch)) - PADDING


def with_walls(bound: Bound, along: str, setup: Any, device: Device) -> Bound:
    """Append the padded `closed_faces` to the terms of a run with internal walls: they are the last of the terms."""
    if setup.walls is None:
        return bound
    bits = device.array(padded(closed_faces(setup.walls, along), setup.grid, np.uint8, 0))
    return bound._replace(arguments=(*bound.arguments, bits), switches={**bound.switches, "WALLS": True})


def closed_faces(walls: np.ndarray, along: str) -> np.ndarray:
    """Return the closed faces of each cell, LOW + .., for lines along "x" or "y"; walls : as in `Setup`."""
    west, south = (walls & WEST_FACE) != 0, (walls & SOUTH_FACE) != 0
    east, north = np.zeros_like(west), np.zeros_like(south)
    east[:, :-1], north[:-1] = west[:, 1:], south[1:]
    low, high, below, above = (west, east, south, north) if along == "x" else (south, north, west, east)
    return (LOW * low + HIGH * high + BELOW * below + ABOVE * above).astype(np.uint8)


def terms_along(along: str, setup: Any, device: Device, kind: Any, values: Any, first: int) -> Bound:
    """Return the terms for the sweep along "x" or "y": mass sources at centres, forces at faces, in the padded layout.

    kind : floating-point type of the run; values, first : see `eagre.terms.compose.bind`.
    """
    grid = setup.grid

    def column(role: str, values: np.ndarray) -> Any:
        values = faces_of(values[:, None], "y")[:, 0] if role == "y" else values
        table = np.zeros(layout_of(grid.shape).shape[0], kind)
        table[1 : 1 + values.size] = values
        return device.array(table)

    def map_of(role: str, values: np.ndarray) -> Any:
        if role != "water" and values.shape == grid.shape:
            values = faces_of(values, role)
        return device.array(padded(values, grid, kind, 0.0))

    term_arrays = TermArrays(column, map_of, device, layout_of(grid.shape).shape[1], at_faces=True)
    return bind(setup.terms, {"WATER": "water", "FORCE": along}, values, first, kind, term_arrays)
