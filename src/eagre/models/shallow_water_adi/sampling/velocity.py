"""Velocity at cell centres from face fluxes, for all outputs: discharge over depth, limited by the face velocities.

A cell at a wet-dry front contains little water while its face already has the flow of the deep upstream cell. There the
discharge divided by the depth has no meaning. The velocity of a face uses the flow depth of the face (README.md,
equation 15). In smooth flow the limit changes the velocity by terms of second order in the cell size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.kernels.implicit_lines import MIN_DEPTH
from eagre.kernels.roots import larger, select, smaller
from eagre.models.shallow_water_adi.kernels import BEYOND, OUTSIDE


@cell
def face_speed(flux, z, d, z_beyond, d_beyond, dry):
    """Return the maximum speed, m s-1, that a face gives the cell (z, d).

    A boundary face has the depth of this cell.
    """
    zero = real(0.0)
    outside = d_beyond >= real(BEYOND)
    z_other, d_other = select(outside, z, z_beyond), select(outside, d, d_beyond)
    h, h_other = larger(z - d, zero), larger(z_other - d_other, zero)
    weighted = (h * h + h_other * h_other) / larger(h + h_other, real(MIN_DEPTH))
    over_ridge = larger(z, z_other) - larger(d, d_other)
    min_depth = larger(dry, real(MIN_DEPTH))
    return select(over_ridge > dry, abs(flux) / larger(smaller(weighted, over_ridge), min_depth), zero)


@cell
def limited(flux, h, low, high):
    """Return the velocity of a cell, m s-1, from its unit discharge, its depth and the speeds of its two faces."""
    limit = larger(low, high)
    return larger(smaller(flux / larger(h, real(MIN_DEPTH)), limit), -limit)


@cell
def velocity_x(j, i, z, d, p_low, p_high, dry):
    """Return the velocity along x of the cell at row j and column i of padded arrays, m s-1."""
    here, bed = z[j, i], d[j, i]
    low = face_speed(p_low, here, bed, z[j, i - 1], d[j, i - 1], dry)
    high = face_speed(p_high, here, bed, z[j, i + 1], d[j, i + 1], dry)
    return limited(real(0.5) * (p_low + p_high), larger(here - bed, real(0.0)), low, high)


@cell
def velocity_y(j, i, z, d, q_low, q_high, dry):
    """Return the velocity along y of the cell at row j and column i of padded arrays, m s-1."""
    here, bed = z[j, i], d[j, i]
    low = face_speed(q_low, here, bed, z[j - 1, i], d[j - 1, i], dry)
    high = face_speed(q_high, here, bed, z[j + 1, i], d[j + 1, i], dry)
    return limited(real(0.5) * (q_low + q_high), larger(here - bed, real(0.0)), low, high)


def velocities(z: Sequence[Any], d: Sequence[Any], flux: Sequence[Any], dry: float) -> np.ndarray:
    """Return `velocity_x` or `velocity_y` of many cells on the host.

    Parameters
    ----------
    z, d : three arrays
        Surface and bed of the cell before, the cell, and the cell after it along the axis, m.
    flux : two arrays
        Unit discharge through the low and the high face, m2 s-1.
    dry : float
        Depth at which a face is closed, m.
    """
    kind = z[1].dtype.type
    tiny, zero, dry = kind(MIN_DEPTH), kind(0.0), kind(dry)
    h = np.maximum(z[1] - d[1], zero)
    limit = np.zeros_like(h)
    for one, beyond in zip(flux, (0, 2), strict=True):
        outside = d[beyond] >= BEYOND
        z_other, d_other = np.where(outside, z[1], z[beyond]), np.where(outside, d[1], d[beyond])
        h_other = np.maximum(z_other - d_other, zero)
        weighted = (h * h + h_other * h_other) / np.maximum(h + h_other, tiny)
        over_ridge = np.maximum(z[1], z_other) - np.maximum(d[1], d_other)
        divisor = np.maximum(np.minimum(weighted, over_ridge), max(dry, tiny))
        limit = np.maximum(limit, np.where(over_ridge > dry, np.abs(one) / divisor, zero))
    return np.clip(kind(0.5) * (flux[0] + flux[1]) / np.maximum(h, tiny), -limit, limit)


def velocities_of(
    z: np.ndarray, p: np.ndarray, q: np.ndarray, bed: np.ndarray, dry: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the velocities along x and y of all cells on the host from the surface and the face discharges."""
    cells = (_with_neighbours(z, 0.0), _with_neighbours(bed.astype(z.dtype), OUTSIDE))
    return _of_cells(*cells, (p[:, :-1], p[:, 1:]), (q[:-1], q[1:]), dry)


def velocities_at(
    samples: Sequence[np.ndarray] | np.ndarray, beds: Sequence[np.ndarray], dry: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the velocities along x and y in cells on the host.

    samples : values of `outputs.sample_points`. beds : of `beds_at`. dry : depth at which a face is closed, m.
    """
    z, p, p_high, q_before, q_before_high, q_after, q_after_high, *neighbours = samples
    half = z.dtype.type(0.5)
    q = ((q_before + q_after) * half, (q_before_high + q_after_high) * half)
    return _of_cells((z, *neighbours), [bed.astype(z.dtype) for bed in beds], (p, p_high), q, dry)


def beds_at(setup: Any, j: np.ndarray, i: np.ndarray) -> list[np.ndarray]:
    """Return the bed in cells (j, i) and to the west, east, south and north of them; `OUTSIDE` beyond the domain."""
    ny, nx = setup.grid.shape
    j, i = (np.stack([one + shift for shift in shifts]) for one, shifts in ((j, _UP), (i, _RIGHT)))
    inside = (j >= 0) & (j < ny) & (i >= 0) & (i < nx)
    return [*np.where(inside, setup.rows.values_in(setup.bed, np.clip(j, 0, ny - 1), np.clip(i, 0, nx - 1)), OUTSIDE)]


_UP, _RIGHT = (0, 0, 0, -1, 1), (0, -1, 1, 0, 0)  # of a cell and its neighbours to the west, east, south and north


def _with_neighbours(values: np.ndarray, outside: float) -> list[np.ndarray]:
    """Return values of all cells and of their neighbours to the west, east, south and north."""
    (ny, nx), wide = values.shape, np.pad(values, 1, constant_values=outside)
    return [wide[1 + up : 1 + up + ny, 1 + right : 1 + right + nx] for up, right in zip(_UP, _RIGHT, strict=True)]


def _of_cells(
    surfaces: Sequence[Any], beds: Sequence[Any], p: Any, q: Any, dry: float
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the velocities in cells; surfaces, beds : of the cells and to the west, east, south and north of them."""
    (z, west, east, south, north), (here, bed_w, bed_e, bed_s, bed_n) = surfaces, beds
    u = velocities((west, z, east), (bed_w, here, bed_e), p, dry)
    return u, velocities((south, z, north), (bed_s, here, bed_n), q, dry)
