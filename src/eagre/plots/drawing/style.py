"""Colours, shading, and labels of variables, units, times, dates and periods."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.io.netcdf_attributes import read_reference

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

INK, PAPER, SHORE = "#22303a", "#ffffff", "#13232e"

_WATER = ("#d3eef0", "#9fd9e0", "#5fb9d0", "#2f93bf", "#1f6ba6", "#1d4a86", "#16305f")
_LAND = ("#a9b98a", "#c3c699", "#d9cfa6", "#cdb48c", "#b6977a", "#a58b7c", "#d9d4cf")
_BALANCE = ("#163a6b", "#2f78b4", "#8fc1dc", "#f4f3ee", "#f0b48d", "#cf5f42", "#7d1d2b")
_SPEED = ("#eef3e2", "#f6d98b", "#f2a65a", "#dd6b4d", "#a83a57", "#672360", "#2d1547")
_GROUND = ("bed", "bed_elevation", "surface_altitude", "elevation", "raster")
_WET = ("depth", "still_water_depth", "infiltration_depth")  # first words of names of non-negative variables
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
_THRESHOLD = re.compile(r"(arrival_time|duration)(_rise)?_([\dp]+(?:e[-+]?\d+)?)mm")
_STATISTIC = re.compile(r"time: (maximum|minimum|mean|variance)")
_EXTREME = re.compile(
    r"^([xy]-component of )?(?:largest|highest|maximum|smallest|lowest|minimum|mean|variance of) (?:the )?"
)


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


def label_of(attributes: Mapping[Any, Any], name: str) -> str:
    """Return a label such as ``"water depth (m)"`` from CF attributes."""
    long_name = str(attributes.get("long_name") or name.replace("_", " ")).partition(";")[0]
    return with_units(long_name, str(attributes.get("units") or ""))


def with_units(text: str, units: str) -> str:
    """Append units in parentheses, except for dimensionless quantities."""
    return f"{text} ({pretty_units(units)})" if units and units != "1" else text


def short_label(name: str, attributes: Mapping[Any, Any], units: str) -> str:
    """Return the label of a field for a colour bar.

    Maps with a threshold, such as ``arrival_time_300mm``, are labelled ``"arrival time, depth > 0.3 m (min)"``. Words
    for a maximum or minimum are left out, because `period_of` has them.
    """
    if threshold := _THRESHOLD.fullmatch(name):
        stem, rise, millimetres = threshold.groups()
        metres = 1e-3 * float(millimetres.replace("p", "."))
        return with_units(f"{stem.replace('_', ' ')}, {'rise' if rise else 'depth'} > {metres:.10g} m", units)
    long_name = str(attributes.get("long_name") or name.replace("_", " ")).partition(";")[0]
    if is_statistic(attributes):
        long_name = _EXTREME.sub(r"\1", long_name)
    return with_units(long_name, units)


def arrival_threshold(name: str) -> float | None:
    """Return the depth, m, of a map such as ``arrival_time_300mm``; None for other fields."""
    threshold = _THRESHOLD.fullmatch(name)
    if threshold is None or threshold.group(1) != "arrival_time" or threshold.group(2):
        return None
    return 1e-3 * float(threshold.group(3).replace("p", "."))


def is_statistic(attributes: Mapping[Any, Any]) -> bool:
    """Return whether the cell methods of a variable are a statistic over a period that labels state."""
    return _STATISTIC.search(str(attributes.get("cell_methods", ""))) is not None


def start_of(attributes: Mapping[Any, Any], otherwise: float = 0.0) -> float:
    """Return the start of the period of a statistic, s, from the comment in its cell methods, or `otherwise`."""
    start = re.search(r"from ([-+.\de]+) s", str(attributes.get("cell_methods", "")))
    return float(start.group(1)) if start else otherwise


def period_of(attributes: Mapping[Any, Any], bounds: tuple[float, float] | None) -> str:
    """Return the method and period of a statistic, such as ``"maximum over 0 to 1 h"``; empty without `bounds`, s."""
    method = _STATISTIC.search(str(attributes.get("cell_methods", "")))
    return "" if method is None or bounds is None else f"{method.group(1)} over {time_span(*bounds)}"


def time_span(first: float, last: float) -> str:
    """Return a period such as ``"0 to 1 h"``, in the largest unit that needs at most two decimals; times in s."""
    for name, seconds in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        numbers = [first / seconds, last / seconds]
        if last >= seconds and all(abs(number - round(number, 2)) < 1e-9 for number in numbers):
            return f"{numbers[0]:g} to {numbers[1]:g} {name}"
    return f"{first:g} to {last:g} s"


def pretty_units(units: str) -> str:
    """Return units such as ``"m2 s-1"`` with superscripts in mathtext."""
    return re.sub(r"([A-Za-z])(-?\d+)", r"\1$^{\2}$", units)


def plain(label: str) -> str:
    """Return a label without mathtext: ``"m2 s-1"`` instead of superscripts."""
    return re.sub(r"\$\^\{(-?\d+)\}\$", r"\1", label)


def date_of(units: str, seconds: float) -> str:
    """Return date and time of `seconds` after the reference in ``"seconds since ..."``, or an empty string.

    Fractions of a second are written to the microsecond, without trailing zeros.
    """
    start = date_of_zero(units)
    try:
        text = "" if start is None else (start + datetime.timedelta(seconds=seconds)).isoformat(" ")
    except OverflowError:
        return ""
    return text.rstrip("0") if "." in text else text


def date_of_zero(units: str) -> datetime.datetime | None:
    """Return the reference date in ``"seconds since ..."``, UTC, or None."""
    return read_reference(units.partition("since")[2])


def time_unit(span: float) -> tuple[str, float]:
    """Return the unit for times up to `span`, s, and the factor from seconds to it."""
    for name, seconds, minimum in (("d", 86400.0, 3.0), ("h", 3600.0, 3.0), ("min", 60.0, 5.0)):
        if span >= minimum * seconds:
            return name, 1.0 / seconds
    return "s", 1.0
