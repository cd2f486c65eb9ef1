"""What the CF conventions 1.11 ask of a file (https://cfconventions.org, DOI 10.5281/zenodo.11288138), by section.

Stricter than the standard where it only recommends: names and descriptions.
"""

from __future__ import annotations

import re

import h5netcdf
import numpy as np

CANONICAL = {
    "air_potential_temperature": "K",
    "altitude": "m",
    "atmosphere_hybrid_height_coordinate": "m",
    "flood_water_duration_above_threshold": "s",
    "flood_water_speed": "m s-1",
    "flood_water_thickness": "m",
    "ground_level_altitude": "m",
    "height": "m",
    "height_above_mean_sea_level": "m",
    "humidity_mixing_ratio": "1",
    "ocean_relative_vorticity": "s-1",
    "projection_x_coordinate": "m",
    "projection_y_coordinate": "m",
    "sea_floor_depth_below_mean_sea_level": "m",
    "sea_floor_depth_below_sea_surface": "m",
    "sea_surface_height_above_mean_sea_level": "m",
    "sea_surface_wave_significant_height": "m",
    "sea_water_pressure_due_to_sea_water": "dbar",
    "sea_water_speed": "m s-1",
    "sea_water_x_velocity": "m s-1",
    "sea_water_y_velocity": "m s-1",
    "specific_kinetic_energy_of_sea_water": "m2 s-2",
    "specific_turbulent_kinetic_energy_of_air": "m2 s-2",
    "surface_altitude": "m",
    "time": "s",
    "upward_air_velocity": "m s-1",
    "upward_sea_water_velocity": "m s-1",
    "water_surface_height_above_reference_datum": "m",
    "water_volume_transport_in_river_channel": "m3 s-1",
    "wind_speed": "m s-1",
    "x_wind": "m s-1",
    "y_wind": "m s-1",
}
"""Units of standard names, from table 93: those that are used."""

BASE = {
    "m": {"m": 1}, "s": {"s": 1}, "seconds": {"s": 1}, "kg": {"kg": 1}, "K": {"K": 1}, "rad": {}, "1": {},
    "N": {"kg": 1, "m": 1, "s": -2}, "Pa": {"kg": 1, "m": -1, "s": -2}, "dbar": {"kg": 1, "m": -1, "s": -2},
}  # fmt: skip
METHODS = {"point", "sum", "maximum", "minimum", "mean", "variance", "standard_deviation", "mid_range"}
FEATURES = {
    "timeSeries": "timeseries_id",
    "trajectory": "trajectory_id",
    "timeSeriesProfile": None,  # one profile over a whole domain: there is nothing to name
}
VERTICAL = ("height", "altitude")
TERMS = {"atmosphere_hybrid_height_coordinate": {"a", "b", "orog"}}


def violations(path):
    """Sentences about what is wrong in a NetCDF file; none if it keeps the rules."""
    with h5netcdf.File(path, "r") as file:
        found = list(_of_file(file))
        for name, variable in file.variables.items():
            found += [f"{name}: {what}" for rule in RULES for what in rule(file, name, variable)]
    return found


def _of_file(file):
    """2.6.1 and 2.6.2; chapter 9."""
    if file.attrs.get("Conventions") != "CF-1.11":
        yield "Conventions is not CF-1.11"
    for name in ("title", "history", "source"):
        if not str(file.attrs.get(name, "")).strip():
            yield f"no {name}"
    feature = file.attrs.get("featureType")
    if feature is not None:
        if feature not in FEATURES:
            yield f"featureType {feature}"
            return
        roles = [variable.attrs["cf_role"] for variable in file.variables.values() if "cf_role" in variable.attrs]
        if roles != ([FEATURES[feature]] if FEATURES[feature] else []):
            yield f"cf_role {roles} for the featureType {feature}"


def _is_mapping(variable):
    return "grid_mapping_name" in variable.attrs or "crs_wkt" in variable.attrs


def _boundaries(file):
    return {str(one.attrs["bounds"]) for one in file.variables.values() if "bounds" in one.attrs}


def _names(file, name, variable):
    """2.3: letters, digits and underscores; 3.2, 3.3: a description."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        yield "a name of other characters than letters, digits and underscores"
    about = variable.attrs
    if not (_is_mapping(variable) or name in _boundaries(file) or "long_name" in about or "standard_name" in about):
        yield "neither long_name nor standard_name"


def _dimension_of(units):
    """Exponents of the base units; None for what is no unit."""
    total = {}
    for part in units.split():
        found = re.fullmatch(r"([A-Za-z]+|1)(-?\d+)?", part)
        if found is None or found[1] not in BASE:
            return None
        for base, power in BASE[found[1]].items():
            total[base] = total.get(base, 0) + power * int(found[2] or 1)
    return {base: power for base, power in total.items() if power}


def _units(file, name, variable):
    """3.1: units of everything with a dimension; 3.3: they are those of the standard name; 4.4: times have a date."""
    about = variable.attrs
    if (
        _is_mapping(variable)
        or name in _boundaries(file)
        or "cf_role" in about
        or np.dtype(variable.dtype).kind in "OSU"
    ):
        return
    if "units" not in about:
        yield "no units"
        return
    units, _, since = str(about["units"]).partition(" since ")
    own = _dimension_of(units)
    if own is None:
        yield f"units {units}"
    standard = about.get("standard_name")
    squared = 2 if "variance" in str(about.get("cell_methods", "")) else 1  # appendix E
    if standard is not None and standard not in CANONICAL:
        yield f"the standard name {standard} is not in the table"
    elif standard is not None and own != _dimension_of(" ".join([CANONICAL[standard]] * squared)):
        yield f"{units} for {standard}, whose canonical units are {CANONICAL[standard]}"
    a_time = standard == "time" or about.get("axis") == "T"
    if a_time != bool(since):
        yield "a time is what counts from a date, and nothing else"
    if since and (about.get("calendar") != "standard" or not re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", since)):
        yield f"a time since {since} in the calendar {about.get('calendar')}"
    if units == "K" and standard and about.get("units_metadata") != "temperature: on_scale":
        yield "a temperature without units_metadata"


def _cells(file, name, variable):
    """7.1, 7.3: bounds and methods."""
    about = variable.attrs
    if "bounds" in about:
        other = file.variables.get(str(about["bounds"]))
        if other is None or other.dimensions[:-1] != variable.dimensions or other.shape[-1] != 2:
            yield f"bounds {about['bounds']}"
    methods = re.sub(r"\(.*?\)", "", str(about.get("cell_methods", "")))
    for places, method in re.findall(r"((?:\w+: )+)(\w+)", methods):
        for place in places.replace(":", "").split():
            if place != "area" and place not in file.variables and place not in file.dimensions:
                yield f"cell_methods over {place}"
        if method not in METHODS:
            yield f"cell_methods: {method}"
        if method != "point" and "time" in places.replace(":", "").split():
            if "bounds" not in file.variables["time"].attrs:
                yield f"{method} over time without time bounds"


def _references(file, name, variable):
    """5.6, 6.1, 4.3.3: what is named is there."""
    about = variable.attrs
    for key in ("coordinates", "ancillary_variables"):
        for other in str(about.get(key, "")).split():
            held = file.variables.get(other)
            if held is None:
                yield f"{key} names {other}"
            elif key == "coordinates" and not set(held.dimensions) <= set(variable.dimensions):
                yield f"{key}: {other} has other dimensions"
    if "grid_mapping" in about:
        other = file.variables.get(str(about["grid_mapping"]))
        if other is None or not _is_mapping(other):
            yield f"grid_mapping {about['grid_mapping']}"
    standard = about.get("standard_name")
    terms = dict(zip(*[iter(str(about.get("formula_terms", "")).replace(":", "").split())] * 2, strict=False))
    if set(terms) != TERMS.get(str(standard), set()) or not set(terms.values()) <= set(file.variables):
        yield f"formula_terms {terms}"


def _flags(file, name, variable):
    """3.5."""
    about = variable.attrs
    if "flag_values" not in about and "flag_meanings" not in about:
        return
    values, meanings = np.atleast_1d(about.get("flag_values", [])), str(about.get("flag_meanings", "")).split()
    if len(values) != len(meanings) or len(set(values.tolist())) < len(values):
        yield f"{len(values)} flag_values and {len(meanings)} flag_meanings"
    elif values.dtype != variable.dtype:
        yield "flag_values are not of the type of the variable"


def _axes(file, name, variable):
    """4 and 2.4: axes say what they are, are monotonic, and stand in the order T, Z, Y, X."""
    about = variable.attrs
    expected = {"projection_x_coordinate": "X", "projection_y_coordinate": "Y", "time": "T"}
    standard = str(about.get("standard_name"))
    if "axis" in about and (about["axis"] not in "TZYX" or expected.get(standard, about["axis"]) != about["axis"]):
        yield f"axis {about['axis']} for {standard}"
    if standard in (*VERTICAL, *TERMS) and about.get("positive") not in ("up", "down"):
        yield "a vertical coordinate that is not positive up or down"
    if variable.dimensions == (name,) and np.dtype(variable.dtype).kind in "fi":
        values = np.asarray(variable[...], float)
        steps = np.diff(values)
        if not (np.isfinite(values).all() and ((steps > 0).all() or (steps < 0).all())):
            yield "a coordinate that is not monotonic"
    held = [file.variables[one].attrs.get("axis") for one in variable.dimensions if one in file.variables]
    known = [axis for axis in held if axis]
    if known != sorted(set(known), key="TZYX".index):
        yield f"axes in the order {known}"


RULES = (_names, _units, _cells, _references, _flags, _axes)
