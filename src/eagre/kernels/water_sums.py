"""Sums and extremes over a domain of water, row by row: their places in a table, and their names."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from eagre.grid import Grid

VOLUME, KINETIC, POTENTIAL, WET, DEEPEST, SHALLOWEST, FASTEST = 0, 1, 2, 3, 4, 5, 6
WATER_SUMS = 7
MUCH = 1e-3  # of the water, won or lost by rounding
SHORT = 0.01  # of what was to be taken out, which was not there
BLOCK = 128  # threads that sum a row on a GPU


def named_sums(rows: np.ndarray, grid: Grid) -> dict[str, float]:
    """Sums and extremes of all rows.

    Parameters
    ----------
    rows : (ny, WATER_SUMS or more) array
        Sums of depth, m, kinetic and potential energy per area and density, m3 s-2, and wet cells of each
        row; largest and smallest depth, m; largest speed, m s-1.
    grid : Grid

    Returns
    -------
    dict
        Volume, m3, energies over density, m5 s-2, and the rest as above.
    """
    total = rows.sum(axis=0)
    found = {
        "volume": total[VOLUME] * grid.cell_area,
        "kinetic_energy": total[KINETIC] * grid.cell_area,
        "potential_energy": total[POTENTIAL] * grid.cell_area,
        "wet_fraction": total[WET] / grid.cells,
        "max_depth": rows[:, DEEPEST].max(),
        "min_depth": rows[:, SHALLOWEST].min(),
        "max_speed": rows[:, FASTEST].max(),
    }
    return {name: float(value) for name, value in found.items()}


def water_balance(volume: float, first: float, inflow: float, rain: float) -> dict[str, float]:
    """Change of the volume since the start, inflow and rain, m3, and what they leave over.

    That is relative to the largest of the volumes at the start, now, and as it should be: water that came and is lost
    counts where none is left.
    """
    change, larger = float(volume - first), float(max(volume, first, first + inflow + rain))
    error = (change - inflow - rain) / larger if larger > 0.0 else math.nan
    return {"volume_change": change, "volume_inflow": float(inflow), "volume_rain": float(rain), "volume_error": error}


def rounding_rows(found: Mapping[str, float]) -> list[tuple[str, str]]:
    """What a run's summary says of water that single precision won or lost, if that is much."""
    error = found["volume_error"]
    if not abs(error) > MUCH:
        return []
    amount = abs(found["volume_change"] - found["volume_inflow"] - found["volume_rain"])
    way = "won by" if error > 0.0 else "lost to"
    return [("rounding", f'{amount:.4g} m3 ({abs(error):.2g} of the water) were {way} rounding: precision = "double"')]


def water_rows(
    found: Mapping[str, float], inflow: Mapping[str, float], asked: Mapping[str, float]
) -> list[tuple[str, str]]:
    """Return summary rows: the change of the volume, and the inflow through each open side.

    Parameters
    ----------
    found : mapping
        Diagnostics of a water model.
    inflow : mapping of str to float
        Volume that entered through each open side, m3.
    asked : mapping of str to float
        Prescribed volume of each side with a prescribed discharge, m3.
    """
    change, rain = found["volume_change"], found["volume_rain"]
    if change != change or (found["volume_error"] == found["volume_error"] and not inflow and not rain > 0.0):
        return []
    prescribed = {}
    for name, volume in asked.items():
        is_short = volume < 0.0 and inflow[name] > (1.0 - SHORT) * volume
        prescribed[name] = f" (prescribed: {volume:+.4g} m3{'; limited by the available water' * is_short})"
    parts = [f"{value:+.4g} m3 through {name}{prescribed.get(name, '')}" for name, value in inflow.items()]
    parts += [f"{rain:+.4g} m3 of rain"] if rain > 0.0 else []
    gained = f"{abs(change):.4g} m3 {'more' if change > 0 else 'less'} than at the start"
    return [("volume", f"{found['volume']:.4g} m3, {gained}")] + [("", part) for part in parts]
