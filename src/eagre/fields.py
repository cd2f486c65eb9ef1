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
