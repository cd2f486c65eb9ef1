"""Limits of the time step (user options, and water that reaches dry cells later) and of thin water."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.boundaries import FaceRange
from eagre.boundaries.cross_sections import CrossSections
from eagre.checks import DEVICE_WORDS, check_memory, checked_number, one_of
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.stepping.averages import StatisticsPlan, statistics_array_count
from eagre.stepping.maps import Maps, planes_of
from eagre.stepping.substeps import STAGES
from eagre.terms.collect import ROLES, Terms

UNBOUNDED = 1e12  # s
SCHEMES = ("rk2", "euler", "srk2", "ds1", "ds2")
TO_EVERY_CELL = ("srk2", *STAGES)  # schemes without active-tile lists
ACTIVE_TILES = ("auto", "on", "off")
MIN_KAPPA = 1e-9  # m; its fourth power is a normal number in single precision


def requested_step_limit(name: str, step: float | None) -> float:
    """Return the checked time step of an option, s; no limit if it is None."""
    return UNBOUNDED if step is None else checked_number(name, step, 1e-12, UNBOUNDED)


def longest_step_with_water_to_come(
    terms: Terms, segments: Sequence[FaceRange], grid: Grid, bed: np.ndarray, gravity: float
) -> float:
    """Return the limit of the time step for rain and for water from boundary series, s."""
    arrivals = longest_step_with_arrivals(segments, grid, bed, gravity)
    return min(longest_step_with_rain(terms, grid, gravity), arrivals)


class Steps(NamedTuple):
    """Maximum time step and maximum first step, s, and whether the time step is fixed."""

    longest_step: float
    first_step: float
    fixed: bool


def steps_of(longest: float | None, fixed: float | None, coming: float, first: Callable[[], float]) -> Steps:
    """Return the limits of the time step, s.

    longest, fixed : options of the user. coming : limit for water that arrives later. first : returns the limit of the
    first adaptive step.
    """
    if fixed is not None:
        step = requested_step_limit("time_step", fixed)
        return Steps(step, step, True)
    step = min(requested_step_limit("max_time_step", longest), coming)
    return Steps(step, min(step, first()), False)


def longest_step_with_arrivals(segments: Sequence[FaceRange], grid: Grid, bed: np.ndarray, gravity: float) -> float:
    """Return the limit for water that boundary series bring to dry cells, s.

    The limit is dx / (4 sqrt(g h)) with the maximum depth h of that water.
    """
    deepest = max(segment.deepest_arrival(bed, gravity) for segment in segments)
    return 0.25 * min(grid.dx, grid.dy) / math.sqrt(gravity * deepest) if deepest > 0.0 else UNBOUNDED


def longest_step_with_rain(terms: Terms, grid: Grid, gravity: float) -> float:
    """Return the limit for rain on dry cells, where no wave limits the time step.

    The thin layer of one step obeys the limit of waves: h = R dt and sqrt(g h) dt <= dx / 4 give
    dt = (dx / 4)^(2/3) (g R)^(-1/3).
    """
    if terms.wettest <= 0.0:
        return UNBOUNDED
    return (0.25 * min(grid.dx, grid.dy)) ** (2.0 / 3.0) / (gravity * terms.wettest) ** (1.0 / 3.0)


def first_step(surface: np.ndarray, depth: np.ndarray, grid: Grid, courant_number: float, gravity: float) -> float:
    """Return the limit of the first step, s, for water at rest, which has no speed yet.

    A surface drop d between adjacent cells accelerates the water to the speed g d dt / dx after dt; the limit is
    courant_number dx / dt.
    """
    max_drop = 0.0
    for axis, size in ((0, grid.dy), (1, grid.dx)):
        drop, wet = np.diff(surface, axis=axis), depth > 0.0
        low, high = (np.moveaxis(wet, axis, 0)[side] for side in (slice(None, -1), slice(1, None)))
        falls = np.where(np.moveaxis(drop, axis, 0) > 0.0, high, low)
        max_drop = max(max_drop, float((np.abs(np.moveaxis(drop, axis, 0)) * falls).max(initial=0.0)) / size**2)
    return math.sqrt(courant_number / (gravity * max_drop)) if max_drop > 0.0 else UNBOUNDED


def desingularisation_depth(value: float | None, thickness: np.ndarray, wet_dry: str) -> float:
    """Return the desingularisation depth, m; the default is a fraction of the maximum initial depth."""
    if value is not None:
        return checked_number("desingularisation_depth", value, MIN_KAPPA, 1e3)
    scale = float(thickness.max())
    if wet_dry == "hydrostatic":
        return max(MIN_KAPPA, 1e-4 * min(1.0, scale)) if scale > 0 else 1e-4
    return max(MIN_KAPPA, min(0.01, 0.01 * scale)) if scale > 0 else 1e-3


def scheme_of(scheme: str, time_step_control: str, predicted_fraction: float) -> dict[str, Any]:
    """Return the scheme and the time-step control of a run, for its set-up."""
    options = {
        "scheme": one_of("scheme", scheme, SCHEMES),
        "time_step_control": one_of("time_step_control", time_step_control, ("predicted", "exact")),
    }
    fraction = checked_number("predicted_fraction", predicted_fraction, 0.5, 1.0)
    if scheme not in STAGES:
        return options
    if time_step_control == "exact":
        raise InputError(
            f'time_step_control = "exact" with scheme = "{scheme}"',
            allowed='time_step_control = "predicted" with "ds1" and "ds2"',
            fix='time_step_control = "predicted"',
            problem='time_step_control = "exact" is not supported by the split schemes: the limit of the second sweep '
            "is unknown at the start of the step.",
        )
    return options | {"predicted_fraction": fraction}


def active_tiles(value: str | bool, wet_dry: str, kernels: str, scheme: str) -> str:
    """Return "auto", "on" or "off": the option, or "off" where skipping dry tiles would not be exact.

    The reference kernels compute all cells.
    """
    requested = ("on" if value else "off") if isinstance(value, bool) else one_of("active_tiles", value, ACTIVE_TILES)
    exact, plain = wet_dry == "hydrostatic", kernels == "reference"
    if requested == "on" and not exact:
        raise InputError(
            f'active_tiles = "on" with wet_dry = "{wet_dry}"',
            allowed='active_tiles = "on" with wet_dry = "hydrostatic"',
            fix='active_tiles = "auto"',
            problem="Dry tiles cannot be skipped: this wetting-and-drying scheme has fluxes between dry cells.",
        )
    if requested == "on" and plain:
        raise InputError(
            'active_tiles = "on" with kernels = "reference"',
            allowed='active_tiles = "auto" or "off" with kernels = "reference"',
            fix='active_tiles = "auto"',
            problem="Dry tiles cannot be skipped: the reference kernels compute all cells.",
        )
    if requested == "on" and scheme in TO_EVERY_CELL:
        raise InputError(
            f'active_tiles = "on" with scheme = "{scheme}"',
            allowed='active_tiles = "on" with scheme = "rk2" or "euler"',
            fix='active_tiles = "auto"',
            problem="Dry tiles cannot be skipped in every step: this scheme computes all cells.",
        )
    return requested if exact and not plain else "off"


def check_device_memory(
    grid: Grid,
    device: Any,
    precision: str,
    scheme: str,
    maps: Maps | None,
    time_statistics: StatisticsPlan | None,
    terms: Terms,
) -> None:
    """Raise `MemoryNeededError` if the arrays do not fit the devices, or their input does not fit the host."""
    forced = terms.record_maps(device.kind) + sum(terms.maps(role) for role in ROLES)
    arrays = planes_of(maps) + statistics_array_count(time_statistics, precision) + 3 * (scheme in ("srk2", "ds2"))
    check_memory(grid, device, precision, DEVICE_WORDS + forced + arrays)


def requested_outputs(
    maps: Maps | None, time_statistics: StatisticsPlan | None, lines: Mapping[str, Any] | None, grid: Grid
) -> dict[str, Any]:
    """Return the maps, time statistics and cross-sections of a set-up."""
    return {
        "maps": maps,
        "time_statistics": time_statistics,
        "cross_sections": CrossSections(lines, grid) if lines else None,
    }
