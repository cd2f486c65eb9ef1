"""Infiltration at the end of a step of the explicit model (`eagre.terms.infiltration`).

The last stage of a step has written the new state; the boundary pass that follows fills its ghosts. The cumulative
infiltration has as many buffers as the state, so a rejected step changes neither.
"""

from __future__ import annotations

from typing import Any

from eagre.backend.compilation.cells import cell, real
from eagre.backend.device import Launch
from eagre.kernels.elevation import dry_surface
from eagre.kernels.roots import larger, select
from eagre.models.shallow_water.kernels import bed_centre
from eagre.stepping.clock import DOUBLE, DT, SPLIT, STEPS, open_gate
from eagre.terms.compose import TERM_FACTORS
from eagre.terms.infiltration import infiltrated

MIN_DEPTH = 1e-30  # m: avoids 0 / 0 in dry cells


@cell
def lowered(q, j, i, eta, level, fraction):
    """Lower the surface of cell (j, i) of q from eta to level, m, and multiply the discharges by a fraction."""
    q[0, j, i] = level
    q[1, j, i] *= fraction
    q[2, j, i] *= fraction


@lowered.variant("cuda")
def _lowered(q, j, i, eta, level, fraction):
    if level < eta:  # dry cells move no data; on a CPU the branch would prevent vector instructions
        q[0, j, i] = level
        q[1, j, i] *= fraction
        q[2, j, i] *= fraction


@cell
def infiltrate(j, i, q, bed, soil, terms, clock, phase):
    """Remove the infiltration of a step from interior cell (j, i) of the new state q, at constant velocity.

    soil : cumulative infiltration before and after the step, m
    """
    if open_gate(clock, phase):
        soil_n, soil_np1 = soil
        dt = real(2.0 * clock[DT] if SPLIT == DOUBLE else clock[DT])
        bottom, eta = dry_surface(bed_centre(bed, j + 2, i + 2)), q[0, j + 2, i + 2]
        forcing = (terms, TERM_FACTORS(terms, 0))
        level, depth = infiltrated(eta, bottom, soil_n[j, i], dt, forcing, j, (j, i))
        soil_np1[j, i] = depth
        fraction = select(level < eta, (level - bottom) / larger(eta - bottom, real(MIN_DEPTH)), real(1.0))
        lowered(q, j + 2, i + 2, eta, level, fraction)


@cell
def infiltrate_listed(j, i, q, bed, soil, terms, active, sizes, clock, phase):
    """Run `infiltrate` in the listed tiles (`active_tiles`), whose rows j counts; i : column in the tile.

    sizes : rows and columns of a tile and of the grid
    """
    rows, columns, ny, nx = sizes
    number = j // rows
    if number < active.work[int(clock[STEPS]) & 1]:
        tile, across = active.listed[number], active.live.shape[1] - 2
        row, column = tile // across * rows + j % rows, tile % across * columns + i
        if row < ny and column < nx:
            infiltrate(row, column, q, bed, soil, terms, clock, phase)


def launches(engine: Any, phase: int, source: int, target: int, tiles: Any, **switches: Any) -> list[Launch]:
    """Return the launch of the infiltration from buffer `source` to `target`; empty without infiltration.

    tiles : `ActiveTiles` of a step on the listed tiles, or None.
    """
    soil, grid, device = engine.soil, engine.setup.grid, engine.device
    if not soil.present:
        return []
    fields = (engine.q[target], engine.bed, (soil.depths[source], soil.depths[target]), soil.arguments)
    switches |= soil.switches
    if tiles is None:
        program = device.loop(infiltrate, engine.precision, switches)
        return [device.over(program, grid.shape, (*fields, engine.clock, phase))]
    rows, columns = tiles.size
    program = device.loop(infiltrate_listed, engine.precision, switches)
    work = (tiles.active, (rows, columns, *grid.shape))
    return [device.over(program, (tiles.count * rows, columns), (*fields, *work, engine.clock, phase))]
