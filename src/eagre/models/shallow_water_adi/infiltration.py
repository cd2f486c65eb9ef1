"""Infiltration at the end of a step of the ADI model (`eagre.terms.soil`)."""

from __future__ import annotations

from typing import Any

from eagre.backend.compilation.cells import cell
from eagre.backend.device import Launch
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.terms.compose import TERM_FACTORS
from eagre.terms.soil import infiltrated


@cell
def infiltrate(j, i, z, bed, soil, terms, p):
    """Remove the infiltration of a step from interior cell (j, i) of the surface z; the discharges do not change.

    soil : cumulative infiltration, m
    """
    row, column = j + 1, i + PADDING
    forcing = (terms, TERM_FACTORS(terms, 0))
    level, depth = infiltrated(z[row, column], bed[row, column], soil[j, i], p.dt, forcing, j, (j, i))
    z[row, column] = level
    soil[j, i] = depth


def launches(engine: Any, z: Any) -> list[Launch]:
    """Return the launch of the infiltration from the new surface z; empty without infiltration."""
    soil, device = engine.soil, engine.device
    if not soil.present:
        return []
    program = device.loop(infiltrate, engine.precision, soil.switches)
    arguments = (z, engine.bed, soil.depths[0], soil.arguments, engine.numbers[1])
    return [device.over(program, engine.setup.grid.shape, arguments)]
