"""Declared variables: one declaration drives allocation, output and documentation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """What a model's field is.

    Parameters
    ----------
    name : str
        Name in files and in the Python interface.
    units : str
        UDUNITS string, for example ``"m2 s-1"``.
    long_name : str
        One line for people.
    standard_name : str, optional
        CF standard name, where the table has one.
    location : str
        ``"centre"``, ``"face_x"``, ``"face_y"`` or ``"corner"`` (see `eagre.grid`).
    static : bool
        True for fields that do not change with time (bed elevation).
    """

    name: str
    units: str
    long_name: str
    standard_name: str | None = None
    location: str = "centre"
    static: bool = False


WATER_VARIABLES = (
    Variable(
        "surface_elevation",
        "m",
        "surface elevation; the bed where dry",
        "water_surface_height_above_reference_datum",
    ),
    Variable("depth", "m", "water depth", "sea_floor_depth_below_sea_surface"),
    Variable("discharge_x", "m2 s-1", "unit discharge in x"),
    Variable("discharge_y", "m2 s-1", "unit discharge in y"),
    Variable("velocity_x", "m s-1", "velocity in x, averaged over depth", "sea_water_x_velocity"),
    Variable("velocity_y", "m s-1", "velocity in y, averaged over depth", "sea_water_y_velocity"),
    Variable("speed", "m s-1", "speed, averaged over depth", "sea_water_speed"),
    Variable("bed", "m", "bed elevation, mean of the cell", "ground_level_altitude", static=True),
)
"""What the shallow-water models show of their state, at centres."""
