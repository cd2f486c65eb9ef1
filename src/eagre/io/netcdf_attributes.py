"""Attributes of NetCDF variables that are read: coordinate system, valid range, reference date (CF conventions).

Coordinate systems are defined by WKT, EPSG codes or grid-mapping attributes (appendix F). Valid ranges are `valid_min`,
`valid_max` and `valid_range` (section 2.5.1). Dates, ``hours since 2026-01-31 02:00:00 +2:00``, have time zones as in
UDUNITS.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.io.rasters.raster import parse_crs

LENGTHS = {"m": 1.0, "metre": 1.0, "meter": 1.0, "metres": 1.0, "meters": 1.0, "km": 1000.0}
"""Factors from units of x and y to m."""
ORIGIN = {
    "lat_0": ("latitude_of_projection_origin", 0.0), "x_0": ("false_easting", 0.0), "y_0": ("false_northing", 0.0),
}  # fmt: skip
CENTRAL = {"lon_0": ("longitude_of_central_meridian", 0.0)}
MIDDLE = {"lon_0": ("longitude_of_projection_origin", 0.0)}
PROJECTIONS: dict[str, tuple[str, Mapping[str, tuple[str, float | None]]]] = {
    "albers_conical_equal_area": ("aea", ORIGIN | CENTRAL),
    "lambert_azimuthal_equal_area": ("laea", ORIGIN | MIDDLE),
    "lambert_conformal_conic": ("lcc", ORIGIN | CENTRAL),
    "mercator": ("merc", ORIGIN | MIDDLE | {"lat_ts": ("standard_parallel", None), "k_0": (
        "scale_factor_at_projection_origin", None)}),
    "polar_stereographic": ("stere", ORIGIN | {"lon_0": ("straight_vertical_longitude_from_pole", 0.0), "lat_ts": (
        "standard_parallel", None), "k_0": ("scale_factor_at_projection_origin", None)}),
    "transverse_mercator": ("tmerc", ORIGIN | CENTRAL | {"k_0": ("scale_factor_at_central_meridian", 1.0)}),
}  # fmt: skip
"""CF names: PROJ name, and for each PROJ parameter its CF name and default (None: the parameter is left out)."""
_DATE = re.compile(
    r"\s*(\d{1,4})-(\d{1,2})-(\d{1,2})(?:(?:T|\s+)(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?)?(?P<zone>.*)",
    re.DOTALL,
)
_CLOCK = re.compile(r"([+-]?)(\d{1,2}):(\d{1,2})")
_DIGITS = re.compile(r"([+-]?)(\d{1,4})")
ZONES = "a zone as +02:00, -3, 2:00, 0200, UTC, GMT or Z"
"""Forms of time zones, for messages."""


def crs_of(dataset: Any, array: Any, path: Path) -> Any:
    """Return the coordinate system of a variable; None if the file does not declare one.

    Raises
    ------
    InputError
        If the declared coordinate system is not supported.
    """
    said = str(array.attrs.get("grid_mapping") or array.encoding.get("grid_mapping") or "")
    name = said.split(":")[0].split(" ")[0]
    if not name or name not in dataset.variables:
        return None
    attributes = dict(dataset[name].attrs)
    code = attributes.get("epsg_code")
    definitions = [attributes.get("crs_wkt"), attributes.get("spatial_ref"), code, f"EPSG:{code}" if code else None]
    for text in filter(None, definitions):
        if (parameters := parse_crs(str(text))) is not None:
            return parameters
    kind = str(attributes.get("grid_mapping_name", ""))
    if not kind and not any(definitions):
        return None
    if kind == "latitude_longitude":
        return parse_crs("OGC:CRS84")
    parameters = parse_crs(_projection(kind, attributes))
    if parameters is None:
        raise InputError(
            f"{path}: {array.name} in {kind or f'the coordinate system of {name}'}",
            allowed=f"crs_wkt in {name}, or one of {', '.join(PROJECTIONS)}, rotated_latitude_longitude",
            fix=f"gdalwarp -t_srs EPSG:4326 NETCDF:{path}:{array.name} warped.nc",
            problem=f"The coordinate system of {array.name} in {path} is not supported.",
        )
    return parameters


def _projection(kind: str, attributes: Mapping[str, Any]) -> str | None:
    """Return the PROJ string of a grid mapping; None if it is not supported."""
    number = _reader(attributes)
    if kind == "rotated_latitude_longitude":
        pole, rotation = number("grid_north_pole_latitude", 90.0), number("grid_north_pole_longitude", 0.0)
        terms = ["ob_tran", "+o_proj=longlat", f"+o_lon_p={number('north_pole_grid_longitude', 0.0)!r}"]
        terms += [f"+o_lat_p={pole!r}", f"+lon_0={180.0 + float(rotation or 0.0)!r}"]
    elif kind in PROJECTIONS:
        proj, keys = PROJECTIONS[kind]
        terms = [proj, *_standard_parallels(proj, attributes)]
        parameters = {key: number(*where) for key, where in keys.items()}
        terms += [f"+{key}={value!r}" for key, value in parameters.items() if value is not None]
    else:
        return None
    meridian = number("longitude_of_prime_meridian", 0.0)
    terms += [f"+pm={meridian!r}"] if meridian else []
    return " ".join([f"+proj={terms[0]}", *terms[1:], _ellipsoid(number), "+no_defs"])


def _reader(attributes: Mapping[str, Any]) -> Callable[[str, float | None], float | None]:
    def number(name: str, otherwise: float | None) -> float | None:
        value = attributes.get(name)
        return otherwise if value is None else float(np.ravel(value)[0])

    return number


def _standard_parallels(proj: str, attributes: Mapping[str, Any]) -> list[str]:
    """Return one or two standard parallels of a conic projection."""
    if proj not in ("aea", "lcc"):
        return []
    parallels = np.ravel(attributes.get("standard_parallel", attributes.get("latitude_of_projection_origin", 0.0)))
    return [f"+lat_{k}={float(value)!r}" for k, value in enumerate((parallels[0], parallels[-1]), 1)]


def _ellipsoid(number: Callable[[str, float | None], float | None]) -> str:
    """Return the ellipsoid; WGS 84 if none is declared."""
    for name in ("earth_radius", "semi_major_axis"):
        radius = number(name, None)
        if radius is not None and name == "earth_radius":
            return f"+R={radius!r}"
        if radius is not None:
            flat, minor = number("inverse_flattening", None), number("semi_minor_axis", None)
            return f"+a={radius!r} " + (f"+rf={flat!r}" if flat else f"+b={minor or radius!r}")
    return "+datum=WGS84"


def true_degrees(longitude: Any, path: Path) -> str:
    """Return the coordinate system of degrees without a declared one; raise `InputError` for a rotated grid."""
    if str(longitude.attrs.get("standard_name", "")).startswith("grid_"):
        raise InputError(
            f"{path}: rotated coordinates ({longitude.name}) without a grid mapping",
            allowed="a grid mapping rotated_latitude_longitude, or crs",
            problem=f"The coordinates of {path} are rotated, and the position of the rotated pole is unknown.",
        )
    return "OGC:CRS84"


def metres_of(coordinate: Any, path: Path) -> np.ndarray:
    """Return the values of an x or y coordinate, m."""
    unit = str(coordinate.attrs.get("units", "m")).strip() or "m"
    if unit not in LENGTHS:
        got = f"{path}: coordinate {coordinate.name} in {unit!r}"
        raise InputError(
            got,
            allowed=", ".join(LENGTHS),
            fix=f'{coordinate.name}:units = "m"',
            problem=f"The units of the coordinate {coordinate.name} in {path} are not supported.",
        )
    return np.asarray(coordinate.values, np.float64) * LENGTHS[unit]


def valid_range(variable: Any) -> tuple[float, float]:
    """Return the minimum and maximum valid value of an unpacked variable; infinite if the file declares none.

    The attributes are of packed values. Following the NetCDF User Guide (attribute conventions), attributes of real
    type of a variable that is packed as integers refer to unpacked values.

    Parameters
    ----------
    variable : xarray.DataArray
        Unpacked by xarray, which keeps the packing in `encoding` and these attributes in `attrs`.
    """
    low, high = -math.inf, math.inf
    pair = _numbers(variable, "valid_range", 2)
    bounds = [_numbers(variable, "valid_min", 1), _numbers(variable, "valid_max", 1)]
    if pair is not None:
        low, high = float(pair.min()), float(pair.max())
    low = low if bounds[0] is None else max(low, float(bounds[0][0]))
    high = high if bounds[1] is None else min(high, float(bounds[1][0]))
    packed = np.dtype(variable.encoding.get("dtype", variable.dtype))
    scale = float(variable.encoding.get("scale_factor", 1.0))
    offset = float(variable.encoding.get("add_offset", 0.0))
    attribute = next(one.dtype for one in (pair, *bounds, np.zeros(0, packed)) if one is not None)
    if (scale, offset) == (1.0, 0.0) or (packed.kind in "iu" and attribute.kind == "f"):
        return low, high
    slack = 0.5 * abs(scale) if packed.kind in "iu" else 0.0  # unpacking rounds
    ends = sorted((low * scale + offset, high * scale + offset))
    return ends[0] - slack, ends[1] + slack


def without_invalid(values: Any, variable: Any) -> np.ndarray:
    """Return the values of a variable as float64, NaN outside of its valid range."""
    unpacked = np.asarray(values, np.float64)
    low, high = valid_range(variable)
    if low == -math.inf and high == math.inf:
        return unpacked
    return np.where((unpacked < low) | (unpacked > high), np.nan, unpacked)


def _numbers(variable: Any, name: str, count: int) -> np.ndarray | None:
    """Return an attribute as an array of `count` numbers of the type of the file; None if absent or not numeric."""
    attribute = variable.attrs.get(name)
    if attribute is None:
        return None
    array = np.atleast_1d(np.asarray(attribute))
    if array.dtype.kind not in "iuf" or array.size != count or not np.isfinite(array).all():
        return None
    packed = np.dtype(variable.encoding.get("dtype", variable.dtype))
    if str(variable.encoding.get("_Unsigned", "")).lower() == "true" and array.dtype.kind == "i":
        array = array.view(array.dtype.str.replace("i", "u"))
    elif packed.kind == "f" and array.dtype.kind == "f":
        array = array.astype(packed).astype(np.float64)  # as the values are rounded
    return array


def read_reference(text: str) -> datetime | None:
    """Read a date with an optional time zone, UTC; return None for other text.

    The zone is subtracted: 02:00 in the zone 2:00 is midnight, UTC. Zones are those of the grammar of UDUNITS-2
    (`parser.y`: DATE CLOCK CLOCK, DATE CLOCK INT and DATE CLOCK ID), on which the CF conventions, section 4.4, rely:
    hours and minutes with or without a sign; one or two digits for hours, three or four for hours and minutes; UTC, GMT
    and Z.
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute = (int(digits or 0) for digits in match.groups()[:5])
    offset = _offset(match["zone"])
    if offset is None:
        return None
    try:
        start = datetime(year, month, day, hour, minute)
        return start + timedelta(seconds=float(match[6] or 0.0)) - offset
    except (ValueError, OverflowError):
        return None


def _offset(zone: str) -> timedelta | None:
    """Return the offset of a time zone from UTC, positive in the east; None for an unknown zone."""
    text = zone.strip()
    if text.upper() in ("", "Z", "UTC", "GMT"):
        return timedelta(0)
    if zone[0] not in "+- \t":  # "12:00:002"
        return None
    if match := _CLOCK.fullmatch(text):
        hours, minutes = int(match[2]), int(match[3])
    elif match := _DIGITS.fullmatch(text):
        number = int(match[2])
        hours, minutes = divmod(number, 100) if len(match[2]) > 2 else (number, 0)
    else:
        return None
    if hours > 24 or minutes > 59:
        return None
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if match[1] == "-" else offset


def without_zone(units: str) -> str | None:
    """Return units of time with the date in UTC; unchanged without a zone, None for an unknown zone."""
    unit, since, text = units.partition(" since ")
    match = _DATE.fullmatch(text)
    if not since or match is None or not match["zone"].strip():
        return units
    date = read_reference(text)
    return None if date is None else f"{unit} since {date.isoformat(sep=' ')}"
