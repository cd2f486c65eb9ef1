"""Step of the ADI model, in the order of M. B. Abbott et al. (1973); equation numbers refer to README.md.

    along x:  z(n) -> z(n + 1/2),      p(n) -> p(n + 1),            across: q(n - 1/2), q(n + 1/2)     (1)-(12)
    along y:  z(n + 1/2) -> z(n + 1),  q(n + 1/2) -> q(n + 3/2),    across: p(n), p(n + 1)             (1)-(12)

After each sweep the water balance is accumulated. At the end of the step the infiltration is removed from z. A sweep
assembles the equations of its lines (4 to 12), solves them for the new flux (3) and computes the new surface (1).
Implementations: `sweep_cpu`, `sweep_cuda_x`, `sweep_cuda_y`, and `reference`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from eagre.backend.device import Launch


class Sweep(NamedTuple):
    """Fields of a sweep, along and across its lines."""

    z: Any
    bed: Any
    flux: Any
    across_old: Any
    across_new: Any
    z_new: Any
    flux_new: Any


def step(engine: Any, parity: int, row: int) -> list[list[Launch]]:
    """Return the launches of a step in phases; parity : buffers with the newer fluxes; row : row of the series values.

    All devices of a run complete a phase before the next one.
    """
    reduced = engine.reduce_y(parity, row + 1)
    return [along_x(engine, parity, row), *([reduced] if reduced else []), along_y(engine, parity, row + 1)]


def along_x(engine: Any, parity: int, row: int) -> list[Launch]:
    """Return the launches of the sweep along x, for p and for z after half a step; the older p is overwritten."""
    p, p_new, q_before, q = engine.p[parity], engine.p[1 - parity], engine.q[1 - parity], engine.q[parity]
    fields = Sweep(engine.z[0], engine.bed, p, q_before, q, engine.z[1], p_new)
    return [
        *engine.take_up(parity, row),
        *engine.sweep(0, fields, row),
        *engine.boundary_volume((p, p_new, q_before, q), row),
    ]


def along_y(engine: Any, parity: int, row: int) -> list[Launch]:
    """Return the launches of the sweep along y, for q and z; q half a step before is overwritten."""
    fields = fields_along_y(engine, parity)
    fluxes = (fields.across_old, fields.across_new, fields.flux, fields.flux_new)
    return [*engine.sweep(1, fields, row), *engine.boundary_volume(fluxes, row), *engine.infiltration(fields.z_new)]


def fields_along_y(engine: Any, parity: int) -> Sweep:
    """Return the fields of the sweep along y."""
    p, p_new, q_new, q = engine.p[parity], engine.p[1 - parity], engine.q[1 - parity], engine.q[parity]
    return Sweep(engine.z[1], engine.bed, q, p, p_new, engine.z[0], q_new)
