"""Beginnings of case files that several tests share."""

from __future__ import annotations


def still_water(end_time: str, run: str = "", more: str = "") -> str:
    """Water at rest, 64 x 64 cells, on a CPU; `run` are more lines of [run], `more` further sections."""
    return f"""
model = "shallow-water"
[run]
end_time = "{end_time}"
device = "cpu"
{run}
[grid]
nx = 64
ny = 64
dx = 1.0
[bed]
value = 0.0
[initial]
depth = 1.0
{more}
"""


def flat_sea(crs: str, dx: float, extent: str, start: str, end_time: str, depth: float, section: str) -> str:
    """Deep water somewhere on Earth under the weather of a `section`, whose further keys may follow."""
    return f"""
model = "shallow-water"
[run]
end_time = "{end_time}"
start_date = {start}
device = "cpu"
[grid]
crs = "{crs}"
dx = {dx}
extent = {extent}
[bed]
value = {-depth}
{section}
"""


def stage_in_the_west(end_time: float, bed: str, level: object) -> str:
    """Twelve cells of water, on a CPU; `bed` are the lines of [bed], `level` is written for the level of the stage."""
    return f"""\
model = "shallow-water"
[run]
end_time = {end_time}
device = "cpu"
[grid]
nx = 4
ny = 3
dx = 10.0
[bed]
{bed}
[boundaries.west]
kind = "stage"
level = {level}
"""
