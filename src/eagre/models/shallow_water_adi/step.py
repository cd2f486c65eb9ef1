"""A step of the implicit model, in the order of M. B. Abbott et al. (1973); numbers of equations as in README.md.

    along x:  z(n) -> z(n + 1/2),      p(n) -> p(n + 1),            across: q(n - 1/2), q(n + 1/2)     (1)-(12)
    along y:  z(n + 1/2) -> z(n + 1),  q(n + 1/2) -> q(n + 3/2),    across: p(n), p(n + 1)             (1)-(12)

and after each what came through open sides and as rain. A sweep makes the rows of its lines from the fields (equations
4 to 12), solves them for the new flux (3) and takes the new surface from that (1). What a sweep is on a device:
`sweep_cpu`, `sweep_cuda_x`, `sweep_cuda_y`, or the plain cells of `reference`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from eagre.backend.device import Launch


class Sweep(NamedTuple):
    """The fields of a sweep, along its lines and across them."""

    z: Any
    bed: Any
    flux: Any
    across_old: Any
    across_new: Any
    z_new: Any
    flux_new: Any


def step(engine: Any, parity: int, row: int) -> list[Launch]:
    """Launches of a step; parity : which of two buffers hold the newer fluxes; row : of the series' values."""
    return [*along_x(engine, parity, row), *along_y(engine, parity, row + 1)]


def along_x(engine: Any, parity: int, row: int) -> list[Launch]:
    """The sweep along x, which makes p and z half a step on; the older p is overwritten."""
    p, p_new, q_before, q = engine.p[parity], engine.p[1 - parity], engine.q[1 - parity], engine.q[parity]
    fields = Sweep(engine.z[0], engine.bed, p, q_before, q, engine.z[1], p_new)
    return [
        *engine.take_up(parity, row),
        *engine.sweep(0, fields, row),
        *engine.boundary_volume((p, p_new, q_before, q), row),
    ]


def along_y(engine: Any, parity: int, row: int) -> list[Launch]:
    """The sweep along y, which makes q and z; q half a step before is overwritten."""
    p, p_new, q_new, q = engine.p[parity], engine.p[1 - parity], engine.q[1 - parity], engine.q[parity]
    fields = Sweep(engine.z[1], engine.bed, q, p, p_new, engine.z[0], q_new)
    return [*engine.sweep(1, fields, row), *engine.boundary_volume((p, p_new, q, q_new), row)]
