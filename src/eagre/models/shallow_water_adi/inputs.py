"""Checks of the arguments of the ADI model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.checks import checked_field, initial_surface
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.local_rows import LocalRows
from eagre.models.shallow_water_adi.setup import Setup
from eagre.terms.collect import Terms

STRIDE = 16.0  # spacing of the possible reference levels, m
LOST_RAIN = 1e-3  # loss of rain in single precision, as a fraction, above which the default precision is double
RAIN_PART = 0.05  # maximum unit in the last place of elevations, as a fraction of the rain of half a step


class InputFields(NamedTuple):
    """Checked fields with the rows of this process, float64.

    Attributes
    ----------
    bed : (rows + 1, nx + 1) array, m
    surface, thickness : (rows, nx) array, m
    discharge : two (rows, nx) arrays, m2 s-1
    land : (rows, nx) array of bool
    """

    bed: np.ndarray
    surface: np.ndarray
    thickness: np.ndarray
    discharge: list[np.ndarray]
    land: np.ndarray


def input_fields(
    rows: LocalRows, bed: Any, water: tuple[Any, Any], velocity: tuple[Any, Any], land: Any
) -> InputFields:
    """Check the arguments of the model; water : surface elevation and depth, of which one is None.

    Raises
    ------
    InputError
        In all processes, for values that one of them rejects.
    """
    with rows.agreed_errors():
        corners = checked_field("bed_elevation", bed, rows, "corner", "elevation")
        surface, thickness = initial_surface(*water, corners, rows)
        speeds = [checked_field(f"velocity_{a}", u, rows, "centre") for a, u in zip("xy", velocity, strict=True)]
        return InputFields(corners, surface, thickness, [thickness * u for u in speeds], checked_land(land, rows))
    raise AssertionError  # the block returns or raises


def checked_land(land: Any, rows: LocalRows) -> np.ndarray:
    """Return the checked land mask, (rows, nx); False everywhere if no mask is given."""
    shape = rows.shape_of("centre")
    mask = np.zeros(shape, bool) if land is None else np.asarray(rows.held(land))
    if mask.shape != shape or mask.dtype != bool:
        raise wrong_land(mask, rows.grid)
    return mask


def wrong_land(mask: np.ndarray, grid: Grid) -> InputError:
    """Return the error for a land mask of another shape or type."""
    return InputError(
        f"land_mask of shape {mask.shape} and type {mask.dtype}",
        allowed=f"a boolean array of shape {grid.shape}",
        fix="land_mask = bed > 5.0",
        problem="The land mask has the wrong shape or type.",
    )


def level_of(precision: str, surface: np.ndarray, land: np.ndarray, rows: LocalRows) -> float:
    """Return the reference level of the elevations of a run, m; surface, land : in the rows of this process.

    In single precision the level is near the lowest initial surface, so that water on high terrain keeps its
    significant digits. The level is an integer multiple of 16 m: additions are exact, coastal cases have level 0, and
    the members of an ensemble usually have one level.
    """
    lowest, _ = rows.extremes(surface, where=~land)
    return 0.0 if precision == "double" or math.isinf(lowest) else STRIDE * round(lowest / STRIDE)


def over_level(state: Mapping[str, np.ndarray], level: float) -> Mapping[str, np.ndarray]:
    """Return a state of any level, or of a version without levels, relative to `level`, m; other maps are reset."""
    state_level = float(state.get("level", 0.0))
    if state_level == level:
        return state
    z = np.asarray(state["z"])
    fields = {name: values for name, values in state.items() if not name.startswith("maps")}
    return {**fields, "z": (z.astype(np.float64) + (state_level - level)).astype(z.dtype)}


def rain_lost_in_single(
    terms: Terms, surface: np.ndarray, land: np.ndarray, rows: LocalRows, time_step: float
) -> float:
    """Return the fraction of the heaviest rain that rounding to single precision can lose, 0 without rain.

    A sweep adds the rain of half a time step, r, to elevations z relative to the level of the run and rounds the sum.
    The loss is at most half a unit in the last place of z. The estimate is the mean of that unit divided by 2 r.
    """
    rates = [one.series.values.max() * float(np.max(one.values)) for one in terms.sources]
    rain = 0.5 * time_step * sum(rate for rate, name in zip(rates, terms.source_names, strict=True) if not name)
    if rain <= 0.0:
        return 0.0
    water = rows.owned(surface)[~rows.owned(land)]
    z = np.abs(water - level_of("single", surface, land, rows)).astype(np.float32)
    sums = rows.each((float(np.spacing(z).sum(dtype=np.float64)), z.size))
    return sum(one for one, _ in sums) / max(1, sum(count for _, count in sums)) / (2.0 * rain)


def chosen_precision(
    requested: str | None, terms: Terms, surface: np.ndarray, land: np.ndarray, rows: LocalRows, time_step: float
) -> tuple[str, str]:
    """Return the precision of the run, and the reason if the precision was not given and is not single."""
    if requested is not None:
        return requested, ""
    lost = rain_lost_in_single(terms, surface, land, rows, time_step)
    if lost <= LOST_RAIN:
        return "single", ""
    why = f"single precision can lose {min(lost, 1.0):.1%} of the rain on this relief"
    return "double", f'Double precision is used because {why}. Set precision = "single" to keep single precision.'


def fine_rain(setup: Setup) -> list[str]:
    """Return a note if the rain is too weak for the elevations of a single-precision run."""
    rain = 0.5 * setup.time_step * setup.terms.wettest
    unit = float(np.spacing(np.float32(max(map(abs, setup.bed_range)))))
    if rain == 0.0 or unit < RAIN_PART * rain:
        return []
    return [
        f"The rain adds at most {rain:.1e} m per half time step. Single precision resolves the bed elevations to "
        f'{unit:.1e} m, so rounding can change the rain volume. Use precision = "double".'
    ]


def depth_of_dry_faces(dry_depth: float | None, deepest: float) -> float:
    """Return the depth below which a face is closed, m; the default is a thousandth of the maximum initial depth."""
    if dry_depth is not None:
        return dry_depth
    return max(1e-3 * min(1.0, deepest), 1e-6) if deepest > 0 else 1e-3


def check_wet(thickness: np.ndarray, land: np.ndarray, rows: LocalRows, drying: bool) -> None:
    """Raise `InputError` for dry cells that are not land if drying is off."""
    dry = ~land & (thickness <= 0.0)
    if dry.any() and not drying:
        j, i = np.argwhere(dry)[0]
        raise InputError(
            f"a dry cell (j, i) = ({j + rows.low}, {i}) with drying = 'off'",
            allowed="water in every cell that is not land",
            fix='drying = "on", or land_mask = depth <= 0',
            problem="A cell is dry at the start, and wetting and drying is off.",
        )
