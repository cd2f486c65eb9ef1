"""Initial state: fluxes at faces, and q half a step before and after the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eagre.boundaries.internal import SOUTH_FACE, WEST_FACE
from eagre.models.shallow_water_adi.kernels import LAND, WALL
from eagre.models.shallow_water_adi.memory_layout import faces_of
from eagre.models.shallow_water_adi.sides import Side, open_ends

BITS = {"x": WEST_FACE, "y": SOUTH_FACE}
SIDES_ACROSS = {"x": ("west", "east"), "y": ("south", "north")}  # sides normal to a flux along x, along y


def open_faces(setup: Any, z: np.ndarray, along: str) -> np.ndarray:
    """Return a mask of the faces between cells through which water can pass now; False on the boundary."""
    axis = 1 if along == "x" else 0
    low, high = (slice(None, -1), slice(1, None))
    if along == "y":
        low_cells, high_cells = (low, slice(None)), (high, slice(None))
    else:
        low_cells, high_cells = (slice(None), low), (slice(None), high)
    ridge = np.maximum(setup.bed[low_cells], setup.bed[high_cells])
    inner = ridge < LAND
    if setup.drying == "on":
        inner &= np.maximum(z[low_cells], z[high_cells]) - ridge > setup.dry_depth
    if setup.walls is not None:
        inner &= setup.walls[high_cells] & BITS[along] == 0
    return np.insert(np.insert(inner, 0, False, axis), inner.shape[axis] + 1, False, axis)


def stopped_at_walls(
    state: Mapping[str, np.ndarray], sides: Sequence[Side], walls: np.ndarray | None
) -> list[np.ndarray]:
    """Return p, q before and q after of a state with 0 at walls: the run that wrote a restart can have other walls."""
    fluxes = [state[name].copy() for name in ("p", "q_before", "q_after")]
    for side in sides:
        if side.kind == WALL:
            for flux in fluxes[:1] if side.segment.side in SIDES_ACROSS["x"] else fluxes[1:]:
                flux[side.faces] = 0.0
    if walls is not None:
        fluxes[0][:, :-1][walls & WEST_FACE != 0] = 0.0
        for flux in fluxes[1:]:
            flux[:-1][walls & SOUTH_FACE != 0] = 0.0
    return fluxes


def face_flux(setup: Any, sides: Any, z: np.ndarray, discharge: np.ndarray, along: str) -> np.ndarray:
    """Return the flux at faces from the unit discharge at centres: means, and 0 at closed faces."""
    faces = faces_of(discharge, along)
    flux = np.where(open_faces(setup, z, along), faces, 0.0)
    for side in sides:
        if side.segment.side in SIDES_ACROSS[along] and side.kind != WALL:
            flux[side.faces] = np.where(setup.bed[side.faces] < LAND, faces[side.faces], 0.0)
    return flux


def with_given_fluxes(
    setup: Any, sides: Any, z: np.ndarray, pair: Sequence[np.ndarray], along: str, time: float, dt: float
) -> list[np.ndarray]:
    """Return the fluxes at faces (p twice, or q half a step before and after) with the prescribed boundary fluxes.

    They are those before the first step of `dt`, s, from `time`, s.
    """
    fluxes = [flux.copy() for flux in pair]
    size = setup.grid.dx if along == "x" else setup.grid.dy
    depth, shared = np.maximum(z - setup.bed, 0.0), open_ends(sides, setup.grid.shape)
    for side in sides:
        if side.segment.side not in SIDES_ACROSS[along] or not side.gives_flux:
            continue
        where, inward = side.faces, -1.0 if side.segment.side == SIDES_ACROSS[along][1] else 1.0
        for flux, value in zip(fluxes, side.first_fluxes(time, dt), strict=True):
            speed_limit = size / (2.0 * dt * shared[where])
            outwards = -inward * flux[where]
            limit = _most_out(depth[where], outwards, speed_limit, setup.gravity) if setup.drying == "on" else np.inf
            flux[where] = np.where(setup.bed[where] < LAND, inward * np.maximum(value, -limit), 0.0)
    return fluxes


def _most_out(h: np.ndarray, outwards: np.ndarray, speed_limit: np.ndarray, gravity: float) -> np.ndarray:
    """Return the maximum outflow of a discharge condition from depths h, m2 s-1.

    outwards : present flux (see `prescribed_flux`).
    """
    return np.minimum(h * speed_limit, np.maximum(h * np.sqrt(gravity * h), outwards))


def half_step(
    setup: Any, z: np.ndarray, p: np.ndarray, q: np.ndarray, dt: float, time: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return q half a step before and after the start, `time`, from q at the start, the surface gradient and the terms.

    With these values the scheme is second-order. With the initial q for both it would be first-order.
    """
    depth = np.maximum(z - setup.bed, 0.0)
    rise = np.zeros_like(q)
    rise[1:-1] = (z[1:] - z[:-1]) / setup.grid.dy
    rate = -setup.gravity * faces_of(depth, "y") * rise
    mean_p = faces_of(0.5 * (p[:, 1:] + p[:, :-1]), "y")
    rate += setup.terms.force("y", time, faces_of(depth, "y"), q, mean_p, lambda values: faces_of(values, "y"))
    may_move = open_faces(setup, z, "y")
    if setup.drying == "on":
        ridge = np.maximum(setup.bed[1:], setup.bed[:-1])
        may_move[1:-1] &= np.minimum(z[1:], z[:-1]) >= ridge
    push = np.where(may_move, 0.5 * dt * rate, 0.0)
    return q - push, q + push
