"""Colours, shading and time labels of the pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

INK, PAPER, SHORE = "#22303a", "#ffffff", "#13232e"

_WATER = ("#d3eef0", "#9fd9e0", "#5fb9d0", "#2f93bf", "#1f6ba6", "#1d4a86", "#16305f")
_LAND = ("#a9b98a", "#c3c699", "#d9cfa6", "#cdb48c", "#b6977a", "#a58b7c", "#d9d4cf")
_BALANCE = ("#163a6b", "#2f78b4", "#8fc1dc", "#f4f3ee", "#f0b48d", "#cf5f42", "#7d1d2b")
_SPEED = ("#eef3e2", "#f6d98b", "#f2a65a", "#dd6b4d", "#a83a57", "#672360", "#2d1547")
_GROUND = ("bed", "bed_elevation", "surface_altitude", "elevation", "raster")
_WET = ("depth", "still_water_depth")  # first words of names of non-negative variables
_FAST = ("speed", "froude", "kinetic_energy", "unit_discharge", "hazard_rating", "hazard_class",
         "significant_height", "variance", "turbulent_kinetic_energy", "eddy_kinetic_energy", "wind_speed",
         "time_of_max", "arrival_time", "arrival_time_rise", "duration")  # fmt: skip
_OF_TIME = ("max_", "min_", "mean_")  # prefixes of statistics over time

RC: dict[Any, Any] = {
    "font.size": 9.5,
    "axes.titlesize": 11.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 6),
    "savefig.facecolor": PAPER,
}


def colormap(name: str) -> Colormap:
    """Return the colour map ``"water"``, ``"land"``, ``"balance"`` (diverging) or ``"speed"``."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = {"water": _WATER, "land": _LAND, "balance": _BALANCE, "speed": _SPEED}[name]
    return LinearSegmentedColormap.from_list(f"eagre_{name}", list(colours))


def is_one_sided(variable: str) -> bool:
    """Return whether a variable is non-negative."""
    return variable == "discharge" or _bare(variable).startswith(_WET + _FAST)


def is_ground(variable: str) -> bool:
    """Return whether a variable is a terrain elevation or a raster of unknown meaning."""
    return variable in _GROUND or variable.startswith("band_")


def _bare(variable: str) -> str:
    """Return the name of a variable without the prefix of a maximum, minimum or mean."""
    return next((variable.removeprefix(one) for one in _OF_TIME if variable.startswith(one)), variable)


def colormap_for(variable: str) -> Colormap:
    """Return the colour map of a variable."""
    if is_ground(variable):
        return colormap("land")
    if is_one_sided(variable):
        return colormap("water" if _bare(variable).startswith(_WET) else "speed")
    return colormap("balance")


def hillshade(elevation: np.ndarray, dx: float, dy: float, strength: float = 1.0) -> np.ndarray:
    """Return the shading of a surface, 0 to 1, with light from the north-west.

    Parameters
    ----------
    elevation : (ny, nx) array, m
        Elevation, row 0 in the south; NaN is replaced by the minimum.
    dx, dy : float, m
    strength : float
        Contrast; values below 1 reduce it.

    Notes
    -----
    The relief is exaggerated so that its typical slope (90 per cent quantile) becomes 35 degrees, both for flat deltas
    and for fjords.
    """
    if min(elevation.shape) < 2:
        return np.full(elevation.shape, 0.75)
    if not np.isfinite(elevation).all():
        elevation = np.where(
            np.isfinite(elevation), elevation, np.min(elevation, initial=np.inf, where=elevation > -np.inf)
        )
        elevation = np.where(np.isfinite(elevation), elevation, 0.0)
    slope_y, slope_x = np.gradient(elevation, dy, dx)
    typical = float(np.quantile(np.hypot(slope_x, slope_y), 0.9))
    scale = 0.7 / typical if typical > 0 else 0.0
    normal = np.stack([-slope_x * scale, -slope_y * scale, np.ones_like(elevation)])
    normal /= np.sqrt((normal**2).sum(axis=0))
    light = np.array([-0.5, 0.5, 0.75])
    light /= np.sqrt((light**2).sum())
    shade = np.clip(np.tensordot(light, normal, axes=1), 0.0, 1.0)
    flat = light[2]
    return np.clip(0.78 + strength * 0.62 * (shade - flat), 0.2, 1.0)


def shaded_land(bed: np.ndarray, dx: float, dy: float, land: np.ndarray) -> np.ndarray:
    """Return the colours of the terrain, (ny, nx, 3): height above the lowest land, shaded from the north-west."""
    heights = bed[land] if land.any() else bed
    low, high = float(heights.min()), float(np.quantile(heights, 0.99))
    span = high - low
    level = np.clip((bed - low) / span, 0.0, 1.0) if span > 0 else np.full(bed.shape, 0.3)
    colours = colormap("land")(level)[..., :3]
    return np.clip(colours * (0.25 + hillshade(bed, dx, dy))[..., None], 0.0, 1.0)


def nice_time(seconds: float, step: float = 0.0) -> str:
    """Return a time such as ``"2 h 05 min"`` or ``"12.5 s"``, with enough digits to resolve `step`, s."""
    if seconds < 120 or (step and step < 1.0):
        digits = 1 if not step else int(np.clip(np.ceil(-np.log10(step)), 0, 6))
        return f"{seconds:.{digits}f} s"
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    items = [f"{days} d" if days else "", f"{hours} h" if hours or days else ""]
    items.append(f"{minutes:02d} min" if hours or days else f"{minutes} min")
    show_seconds = left or (step and step % 60)
    return " ".join(word for word in items if word) + (f" {left:02d} s" if show_seconds else "")


def length_unit(span: float) -> tuple[float, str]:
    """Return the factor from metres and the unit for an axis of `span` metres."""
    return (1e-3, "km") if span >= 5000 else (1.0, "m")


def new_figure(width: float, height: float) -> Figure:
    """Return a figure without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)
    FigureCanvasAgg(figure)
    return figure
