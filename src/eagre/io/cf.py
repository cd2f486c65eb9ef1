"""Attributes of the output files, after the CF conventions 1.11 (https://cfconventions.org)."""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from importlib import metadata
from typing import Any

import numpy as np

from eagre.contract import Model
from eagre.errors import InputError
from eagre.fields import Variable
from eagre.io.rasters.raster import parse_crs
from eagre.io.tables.table import parse_date

CONVENTIONS = "CF-1.11"
GREGORIAN = datetime(1582, 10, 15)
"""First date at which the standard calendar of CF equals the proleptic Gregorian calendar."""
_RESERVED = ("Conventions", "source", "history", "kind")

_METHODS = {
    "Transverse Mercator": "transverse_mercator",
    "Lambert Conic Conformal (2SP)": "lambert_conformal_conic",
    "Lambert Azimuthal Equal Area": "lambert_azimuthal_equal_area",
    "Albers Equal Area": "albers_conical_equal_area",
    "Mercator (variant A)": "mercator",
    "Mercator (variant B)": "mercator",
    "Polar Stereographic (variant A)": "polar_stereographic",
    "Polar Stereographic (variant B)": "polar_stereographic",
}
"""CF names by EPSG names. Conic projections with one parallel and a scale, and double stereographic ones, have none."""
_PARAMETERS = {
    "Latitude of natural origin": "latitude_of_projection_origin",
    "Latitude of false origin": "latitude_of_projection_origin",
    "Longitude of natural origin": "longitude_of_projection_origin",
    "Longitude of false origin": "longitude_of_central_meridian",
    "Longitude of origin": "straight_vertical_longitude_from_pole",
    "Latitude of standard parallel": "standard_parallel",
    "Latitude of 1st standard parallel": "standard_parallel",
    "Latitude of 2nd standard parallel": "standard_parallel",
    "Scale factor at natural origin": "scale_factor_at_projection_origin",
    "False easting": "false_easting",
    "Easting at false origin": "false_easting",
    "False northing": "false_northing",
    "Northing at false origin": "false_northing",
}
_RENAMED = {
    ("transverse_mercator", "longitude_of_projection_origin"): "longitude_of_central_meridian",
    ("transverse_mercator", "scale_factor_at_projection_origin"): "scale_factor_at_central_meridian",
    ("polar_stereographic", "longitude_of_projection_origin"): "straight_vertical_longitude_from_pole",
}
_FIGURES = {
    "semi_major_axis": "semi_major_axis", "semi_minor_axis": "semi_minor_axis",
    "inverse_flattening": "inverse_flattening", "radius": "earth_radius",
}  # fmt: skip
"""Parameters of the ellipsoid: PROJJSON name and CF name."""
_OF_NAMES = {
    "height": {"positive": "up"},
    "altitude": {"positive": "up"},
    "air_potential_temperature": {"units_metadata": "temperature: on_scale"},
}
"""Attributes that CF requires in addition to a standard name."""


def eagre_version() -> str:
    """Return the version of this package."""
    known = getattr(sys.modules.get("eagre"), "__version__", None)
    return known or _version_of("eagre") or "unknown"


def _version_of(package: str) -> str | None:
    """Return the version of an installed package, without importing it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def versions() -> str:
    """Return the versions of the packages that affect results, as one line."""
    names = ("numpy", "numba", "cupy-cuda13x", "numba-cuda", "h5netcdf", "h5py", "zarr")
    packages = [(name, _version_of(name)) for name in names]
    return ", ".join([f"python {platform.python_version()}", *(f"{name} {text}" for name, text in packages if text)])


def history_line(action: str) -> str:
    """Return one line of the ``history`` attribute."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} eagre {eagre_version()}: {action}"


def attribute(value: Any) -> Any:
    """Convert `value` to a type that a NetCDF attribute can hold."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return np.int64(value) if not -(2**31) <= value < 2**31 else np.int32(value)
    if isinstance(value, (float, np.floating)):
        return np.float64(value)
    if isinstance(value, (list, tuple)) and value and all(isinstance(entry, (int, float)) for entry in value):
        return np.asarray(value, dtype=np.float64)
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


def global_attributes(model: Model, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the attributes of a file: conventions, source, device and all resolved settings of the model.

    Parameters
    ----------
    model : Model
        Read: `kind`, `precision`, `device` and `settings()`, which become ``setting_NAME``.
    options : mapping, optional
        Additional attributes (title, institution, the text of the case file ...), which may replace all except
        ``Conventions``, ``source``, ``history`` and ``kind``.

    Raises
    ------
    InputError
        If `options` contains one of these four.
    """
    for name in options or {}:
        if name in _RESERVED:
            raise InputError(
                f"attribute {name!r}",
                allowed=f"any name but {', '.join(_RESERVED)}",
                fix='comment = "..."',
                problem=f"Eagre sets the attribute {name} itself.",
            )
    attributes: dict[str, Any] = {
        "Conventions": CONVENTIONS,
        "title": f"eagre {model.kind}",
        "source": f"eagre {eagre_version()}",
        "history": history_line("created"),
        "kind": model.kind,
        "device": str(model.device),
        "precision": model.precision,
        "versions": versions(),
    }
    attributes |= {f"setting_{name}": attribute(value) for name, value in model.settings().items()}
    attributes |= {name: attribute(value) for name, value in (options or {}).items()}
    return attributes


def time_attributes(start_date: str | date | None) -> dict[str, str]:
    """Return the attributes of the time coordinate: seconds since a date, or seconds of model time.

    Dates before 15 October 1582 are in the proleptic Gregorian calendar, because the standard calendar is Julian then.

    Raises
    ------
    InputError
        If `start_date` is not a date.
    """
    attributes = {"standard_name": "time", "long_name": "time since the start of the model", "axis": "T"}
    if start_date is None:  # CF requires a reference date, and none is available
        return attributes | {"units": "s"}
    parsed = parse_date(start_date if isinstance(start_date, str) else start_date.isoformat())
    if parsed is None:
        raise InputError(
            f"start_date = {start_date!r}",
            allowed="an ISO date",
            fix="start_date = 2026-01-31T12:00:00",
            problem="The start date is not an ISO date.",
        )
    calendar = "standard" if parsed >= GREGORIAN else "proleptic_gregorian"
    attributes |= {"calendar": calendar, "units_metadata": "leap_seconds: none"}
    return attributes | {"units": f"seconds since {parsed.isoformat(sep=' ')}"}


def axis_attributes(axis: str, long_name: str) -> dict[str, str]:
    """Return the attributes of an ``"x"`` or ``"y"`` coordinate, m."""
    return {
        "standard_name": f"projection_{axis}_coordinate",
        "long_name": long_name,
        "units": "m",
        "axis": axis.upper(),
    }


def level_attributes(a: str = "", b: str = "", ground: str = "") -> dict[str, str]:
    """Return the attributes of the level coordinate, m: heights, or ``z = a + b ground`` of the named variables."""
    attributes = {"long_name": "height of the level", "units": "m", "axis": "Z", "positive": "up"}
    if not a:
        return attributes | {"standard_name": "height"}
    named = {"standard_name": "atmosphere_hybrid_height_coordinate", "computed_standard_name": "altitude"}
    return attributes | named | {"formula_terms": f"a: {a} b: {b} orog: {ground}"}


def variable_attributes(variable: Variable) -> dict[str, Any]:
    """Return the attributes of a model variable."""
    attributes: dict[str, Any] = {"long_name": variable.long_name, "units": variable.units or "1"}
    if variable.standard_name:
        attributes["standard_name"] = variable.standard_name
        attributes |= _OF_NAMES.get(variable.standard_name, {})
    if not variable.static:
        attributes["cell_methods"] = variable.cell_methods
    if variable.flags:
        attributes["flag_values"] = np.arange(1, len(variable.flags) + 1, dtype=np.float32)
        attributes["flag_meanings"] = " ".join(variable.flags)
    return attributes


def grid_mapping(crs: str | None) -> dict[str, Any] | None:
    """Return the attributes of the grid-mapping variable; None if the CRS is unknown or not projected.

    Parameters
    ----------
    crs : str or None
        Code or WKT.

    Returns
    -------
    dict or None
        CF name and parameters if CF lists the projection, and WKT in ``crs_wkt`` and ``spatial_ref`` (read by GDAL
        and QGIS).
    """
    parsed = parse_crs(crs)
    if parsed is None or not parsed.is_projected:
        return None
    wkt = parsed.to_wkt(version="WKT2_2019")
    attributes: dict[str, Any] = {"crs_wkt": wkt, "spatial_ref": parsed.to_wkt()}
    if parsed.to_epsg():
        attributes["epsg_code"] = f"EPSG:{parsed.to_epsg()}"
    return _cf_parameters(parsed.to_dict(projjson=True)) | attributes


def _cf_parameters(description: dict[str, Any]) -> dict[str, Any]:
    """Return CF grid-mapping parameters from PROJJSON; empty for projections that CF does not list."""
    conversion = description.get("conversion", {})
    name = _METHODS.get(conversion.get("method", {}).get("name", ""))
    if name is None:
        return {}
    result: dict[str, Any] = {"grid_mapping_name": name}
    for parameter in conversion.get("parameters", []):
        key = _PARAMETERS.get(parameter["name"])
        if key is None:
            return {}
        key = _RENAMED.get((name, key), key)
        value = _in_si(parameter)
        result[key] = [*np.atleast_1d(result[key]), value] if key in result else value
    if name == "polar_stereographic" and "latitude_of_projection_origin" not in result:
        result["latitude_of_projection_origin"] = math.copysign(90.0, result["standard_parallel"])
    base = description.get("base_crs", {})
    datum = base.get("datum") or base.get("datum_ensemble") or {}
    figure = datum.get("ellipsoid", {})
    result |= {key: _in_si(figure[figure_key]) for figure_key, key in _FIGURES.items() if figure_key in figure}
    meridian = _in_si(datum.get("prime_meridian", {}).get("longitude", 0.0))
    return result | ({"longitude_of_prime_meridian": meridian} if meridian else {})


def _in_si(quantity: Any) -> float:
    """Return a number of PROJJSON, with or without a unit, in metres, degrees or 1."""
    if not isinstance(quantity, dict):
        return float(quantity)
    value, unit = float(quantity["value"]), quantity["unit"]
    if isinstance(unit, str):  # metre, degree or unity
        return value
    value *= float(unit["conversion_factor"])
    return math.degrees(value) if unit["type"] == "AngularUnit" else value
