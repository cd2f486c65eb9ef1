"""Coordinate systems of NetCDF variables, from WKT, EPSG codes or CF grid-mapping attributes (appendix F)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
