"""prforc and divrhs over flat ground on a GPU: columns of a tile march upwards, and L phi is a star of tables.

As `operator.set_residual` and `operator.set_wind` with profiles for coefficients, without Coriolis and open sides.

    residual     r = L phi - (1 / rho*) div(rho* v^) in some rows, and whether it is small: the last block adds up what
                 all have left in `partials`, (2, 1, blocks); or others do, where a device has a band of the grid
    divergence   r = -(1 / rho*) div(rho* v^)
    wind         v = v^ - C grad phi, and half forces
    sweep        a q + b L q + c r while an iteration goes on
    add forces   what is advected, and the past velocity: `kernels.add_force_to_wind`
"""

from __future__ import annotations

from typing import Any, NamedTuple

from eagre.backend.cells import Entry, flat_load
from eagre.models.anelastic import flat_text
from eagre.models.anelastic.pace import HALF, SCALE
from eagre.solvers.gcr.fused_cuda import SCOPE, kernel, next_to


class Gradient(NamedTuple):
    """What differences between the two neighbours of a point are multiplied by, along z (nz,), y (ny,) and x (nx,).

    along_* : C times 1 / (2 d), 0 on sides; `across`, c11, is another factor along y and x.
    keep_* : 0 on sides, where the velocity across them is 0; else 1.
    """

    along_z: Any
    keep_z: Any
    across: Any
    along_y: Any
    keep_y: Any
    along_x: Any
    keep_x: Any


OWN = {**SCOPE, "flat_load": flat_load, "next_to": next_to, "HALF": HALF, "SCALE": SCALE}


def residual(vector: int, alone: bool) -> Entry:
    """For threads of so many points, as all of these; alone : whether the device has the whole grid."""
    return kernel(flat_text.RESIDUAL, vector, OWN, ALONE=int(alone))


def divergence(vector: int) -> Entry:
    """Without a look at phi."""
    return kernel(flat_text.DIVERGENCE, vector, OWN)


def wind(vector: int, in_place: bool, finishes: bool) -> Entry:
    """in_place, finishes : as of `operator`."""
    return kernel(flat_text.WIND, vector, OWN, IN_PLACE=int(in_place), FINISHES=int(finishes))


def sweep(vector: int, has_right: bool) -> Entry:
    """has_right : whether c is not 0."""
    return kernel(flat_text.SWEEP, vector, OWN, HAS_RIGHT=int(has_right))


def add_force_to_wind(vector: int, driven: bool) -> Entry:
    """driven : whether there are explicit tendencies."""
    return kernel(flat_text.ADD_FORCES, vector, OWN, DRIVEN=int(driven))
