"""GPU kernels of prforc and divrhs for flat terrain: tiles stream upwards, and L phi is a separable stencil.

See `operator.set_residual` and `operator.set_wind`; coefficients are profiles, without Coriolis and open boundaries.

    residual     r = L phi - (1 / rho*) div(rho* v^) in some rows, and its convergence test: the last block sums the
                 `partials` of all blocks, (2, 1, blocks); for several devices, a separate kernel sums them
    divergence   r = -(1 / rho*) div(rho* v^)
    wind         v = v^ - C grad phi, and increments dt/2 R
    sweep        a q + b L q + c r until convergence
    add forces   the advected field and the past velocity: `kernels.add_force_to_wind`
"""

from __future__ import annotations

from typing import Any, NamedTuple

from eagre.backend.compilation.cells import Entry, flat_load
from eagre.models.anelastic.pressure import flat_source
from eagre.models.anelastic.step_coefficients import HALF, SCALE
from eagre.solvers.gcr.fused_cuda import SCOPE, kernel, next_to


class Gradient(NamedTuple):
    """Factors of the differences between the two neighbours of a point, along z (nz,), y (ny,) and x (nx,).

    along_* : C times 1 / (2 d), 0 on boundaries; `across`, c11, is an additional factor along y and x.
    keep_* : 0 on boundaries with zero normal velocity, otherwise 1.
    """

    along_z: Any
    keep_z: Any
    across: Any
    along_y: Any
    keep_y: Any
    along_x: Any
    keep_x: Any


NAMESPACE = {**SCOPE, "flat_load": flat_load, "next_to": next_to, "HALF": HALF, "SCALE": SCALE}


def residual(vector: int, alone: bool) -> Entry:
    """Return the kernel for `vector` points per thread; alone : True for a single device."""
    return kernel(flat_source.RESIDUAL, vector, NAMESPACE, ALONE=int(alone))


def divergence(vector: int) -> Entry:
    """Return the kernel of the residual of phi = 0."""
    return kernel(flat_source.DIVERGENCE, vector, NAMESPACE)


def wind(vector: int, in_place: bool, finishes: bool) -> Entry:
    """Return the kernel of the wind; in_place, finishes : see `operator`."""
    return kernel(flat_source.WIND, vector, NAMESPACE, IN_PLACE=int(in_place), FINISHES=int(finishes))


def sweep(vector: int, has_right: bool) -> Entry:
    """Return the kernel of a sweep; has_right : True if c is not 0."""
    return kernel(flat_source.SWEEP, vector, NAMESPACE, HAS_RIGHT=int(has_right))


def add_force_to_wind(vector: int, has_tendency: bool) -> Entry:
    """Return the kernel of the forces; has_tendency : True with explicit tendencies."""
    return kernel(flat_source.ADD_FORCES, vector, NAMESPACE, DRIVEN=int(has_tendency))
