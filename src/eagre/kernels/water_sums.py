"""Row sums and extrema of a shallow-water domain: table layout and names."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from eagre.grid import Grid

VOLUME, KINETIC, POTENTIAL, WET, DEEPEST, SHALLOWEST, FASTEST = 0, 1, 2, 3, 4, 5, 6
WATER_SUMS = 7
MUCH = 1e-3  # relative volume change by rounding that is reported
SHORT = 0.01  # relative deficit of prescribed outflow that is reported
BLOCK = 128  # threads per row sum on a GPU


def named_sums(rows: np.ndarray, grid: Grid) -> dict[str, float]:
    """Return the sums and extrema over all rows, by name.

    Parameters
    ----------
    rows : (ny, WATER_SUMS or more) array
        Sums per row of depth, m, kinetic and potential energy per area and density, m3 s-2, and wet cells; maximum and
        minimum depth, m; maximum speed, m s-1.
    grid : Grid

    Returns
    -------
    dict
        Volume, m3, energies divided by density, m5 s-2, and the other values as above.
    """
    total = rows.sum(axis=0)
    values = {
        "volume": total[VOLUME] * grid.cell_area,
        "kinetic_energy": total[KINETIC] * grid.cell_area,
        "potential_energy": total[POTENTIAL] * grid.cell_area,
        "wet_fraction": total[WET] / grid.cells,
        "max_depth": rows[:, DEEPEST].max(),
        "min_depth": rows[:, SHALLOWEST].min(),
        "max_speed": rows[:, FASTEST].max(),
    }
    return {name: float(value) for name, value in values.items()}


def water_balance(
    volume: float, first: float, inflow: float, rain: float, infiltrated: float | None = None
) -> dict[str, float]:
    """Return the volume change since the start, inflow, rain and infiltration, m3, and the relative residual.

    The residual is relative to the largest of the initial, current and expected volumes, so that losses also count in a
    domain that is empty at the end. infiltrated : volume, m3, or None in a run without infiltration
    """
    lost = 0.0 if infiltrated is None else infiltrated
    change, larger = float(volume - first), float(max(volume, first, first + inflow + rain))
    error = (change - inflow - rain + lost) / larger if larger > 0.0 else math.nan
    soil = {} if infiltrated is None else {"volume_infiltrated": float(lost)}
    return {"volume_change": change, "volume_inflow": float(inflow), "volume_rain": float(rain), **soil,
            "volume_error": error}  # fmt: skip


def rounding_rows(diagnostics: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return summary rows about water gained or lost by rounding in single precision, if significant."""
    error = diagnostics["volume_error"]
    if not abs(error) > MUCH:
        return []
    soil = diagnostics.get("volume_infiltrated", 0.0)
    amount = abs(diagnostics["volume_change"] - diagnostics["volume_inflow"] - diagnostics["volume_rain"] + soil)
    way = "gained" if error > 0.0 else "lost"
    text = f'{amount:.4g} m3 ({abs(error):.2g} of the volume) {way} by rounding; use precision = "double"'
    return [("rounding", text)]


def water_rows(
    diagnostics: Mapping[str, float], inflow: Mapping[str, float], prescribed: Mapping[str, float]
) -> list[tuple[str, str]]:
    """Return summary rows: volume change, and sources and sinks of water, if any.

    `diagnostics` describe a water model, `inflow` the inflow volume, m3, by open boundary, `prescribed` its
    prescribed part.
    """
    change, rain = diagnostics["volume_change"], diagnostics["volume_rain"]
    error, soil = diagnostics["volume_error"], diagnostics.get("volume_infiltrated", 0.0)
    if change != change or (error == error and not inflow and not rain > 0.0 and not soil > 0.0):
        return []
    suffixes = {name: f" of {volume:+.4g} m3 prescribed" for name, volume in prescribed.items()}
    for name, volume in prescribed.items():
        if volume < 0.0 and inflow[name] > (1.0 - SHORT) * volume:
            suffixes[name] += " (limited by the available water)"
    flows = [f"{value:+.4g} m3{suffixes.get(name, '')} through {name}" for name, value in inflow.items()]
    flows += [f"{rain:+.4g} m3 of rain"] if rain > 0.0 else []
    flows += [f"{-soil:+.4g} m3 infiltrated"] if soil > 0.0 else []
    gained = f"{abs(change):.4g} m3 {'more' if change > 0 else 'less'} than at the start"
    return [("volume", f"{diagnostics['volume']:.4g} m3, {gained}")] + [("", flow) for flow in flows]
