"""Bounds of the time step (as asked for, and on dry ground before the water has come) and of thin water."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eagre.boundaries import Segment
from eagre.checks import checked_number
from eagre.errors import InputError
from eagre.grid import Grid, centre_bed
from eagre.terms.collect import Terms

HIGH_GROUND = 5.0  # m: a closed valley that falls from 10 m won 4 % of water in 6 h
UNBOUNDED = 1e12  # s


def longest_step_asked(name: str, step: float | None) -> float:
    """The step of an option, s, checked; without one there is no bound."""
    return UNBOUNDED if step is None else checked_number(name, step, 1e-12, UNBOUNDED)


def longest_step_with_arrivals(segments: Sequence[Segment], grid: Grid, bed: np.ndarray, gravity: float) -> float:
    """Bound for water that a boundary series brings to dry ground: dx / (4 sqrt(g h)) at its deepest, s."""
    deepest = max(segment.deepest_arrival(bed, gravity) for segment in segments)
    return 0.25 * min(grid.dx, grid.dy) / math.sqrt(gravity * deepest) if deepest > 0.0 else UNBOUNDED


def longest_step_with_rain(terms: Terms, grid: Grid, gravity: float) -> float:
    """Bound for rain on dry ground, where no wave limits the time step: the film of one step obeys it.

    With h = R dt, sqrt(g h) dt <= dx / 4 gives dt = (dx / 4)^(2/3) (g R)^(-1/3).
    """
    if terms.wettest <= 0.0:
        return UNBOUNDED
    return (0.25 * min(grid.dx, grid.dy)) ** (2.0 / 3.0) / (gravity * terms.wettest) ** (1.0 / 3.0)


def rain_remarks(terms: Terms, grid: Grid, bed: np.ndarray, gravity: float) -> list[str]:
    """What single precision makes of rain, if it may lose more than 1 % of it.

    A step under a metre of water, dx / (4 sqrt(g 1 m)), adds some multiple of the smallest difference of a surface as
    high as the bed; rounding may take half of one.

    Parameters
    ----------
    terms : Terms
    grid : Grid
    bed : array
        Bed elevation, m.
    gravity : float
        m s-2.
    """
    rate = terms.wettest
    highest = float(np.abs(bed).max())
    step = 0.25 * min(grid.dx, grid.dy) / math.sqrt(gravity)
    lost = 0.5 * float(np.spacing(np.float32(highest))) / (rate * step) if rate > 0.0 else 0.0
    if lost < 0.01:
        return []
    return [
        f"rain of {3.6e6 * rate:.3g} mm/h on a bed of up to {highest:.4g} m in single precision: up to "
        f'{min(lost, 1.0):.0%} of it may be lost to rounding; write: precision = "double"'
    ]


def height_remarks(surface: np.ndarray, corners: np.ndarray) -> list[str]:
    """What single precision makes of water on high ground; surface : at the start, m; corners : the bed there."""
    bed = centre_bed(corners)
    highest = float(np.max(bed, where=surface > bed, initial=-math.inf))
    if highest < HIGH_GROUND:
        return []
    return [
        f"water on ground {highest:.4g} m high in single precision, which holds its surface to "
        f"{float(np.spacing(np.float32(highest))):.1g} m: where it drains from there its volume may grow by percents "
        'in hours; write: precision = "double"'
    ]


def desingularisation_depth(given: float | None, thickness: np.ndarray, wet_dry: str) -> float:
    """Depth below which velocities are damped, m: as given, or a small part of the greatest depth at the start."""
    if given is not None:
        return checked_number("desingularisation_depth", given, 1e-9, 1e3)
    scale = float(thickness.max())
    if wet_dry == "hydrostatic":
        return 1e-4 * min(1.0, scale) if scale > 0 else 1e-4
    return min(0.01, 0.01 * scale) if scale > 0 else 1e-3


def early_exit(given: bool | None, wet_dry: str) -> bool:
    """Whether fluxes between dry rows are left out: as given, or wherever that is exact."""
    exact = wet_dry == "hydrostatic"
    if given and not exact:
        raise InputError(
            f'early_exit = True with wet_dry = "{wet_dry}", whose dry cells have fluxes',
            allowed='early_exit = True with wet_dry = "hydrostatic"',
            fix="early_exit=False",
        )
    return exact if given is None else bool(given)
