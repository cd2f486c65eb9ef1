"""What result files hold: fields over time, series at gauges, profiles over height, or tracks of particles."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagre.config.units import parse_quantity
from eagre.errors import InputError
from eagre.io.files import read_values
from eagre.io.table import parse_date
from eagre.names import components, did_you_mean, nearest
from eagre.plots.labels import date_of, date_of_zero, label_of, time_unit

if TYPE_CHECKING:
    import xarray as xr

THIN_FILM = 1e-3
"""Water thinner than this part of the largest depth is drawn as land."""


@dataclass
class FieldFile:
    """Fields over time on a grid.

    Parameters
    ----------
    path : Path
    dataset : xarray.Dataset
        With dimensions time, y, x; times undecoded.
    axes : pair of str
        What x and y are, where the fields are a slice.
    place : str
        Of the slice.
    """

    path: Path
    dataset: xr.Dataset
    axes: tuple[str, str] = ("x", "y")
    place: str = ""
    title: str = field(init=False)
    times: np.ndarray = field(init=False)
    x: np.ndarray = field(init=False)
    y: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.title = str(self.dataset.attrs.get("title") or self.path.stem) + (f", {self.place}" if self.place else "")
        self.times = np.asarray(self.dataset["time"].values, dtype=np.float64)
        self.x = np.asarray(self.dataset["x"].values, dtype=np.float64)
        self.y = np.asarray(self.dataset["y"].values, dtype=np.float64)
        if self.times.size == 0:
            raise InputError(f"{self.path} without a record", allowed="a file with at least one time")

    @property
    def variables(self) -> list[str]:
        """Names of the fields that change with time."""
        return [str(name) for name, item in self.dataset.data_vars.items() if item.dims == ("time", "y", "x")]

    @property
    def fixed(self) -> list[str]:
        """Names of the fields that do not change with time."""
        return [str(name) for name, item in self.dataset.data_vars.items() if item.dims == ("y", "x")]

    def check_variable(self, name: str) -> str:
        """`name`, or `InputError` with the names in the file."""
        return known_variable(name, [*self.variables, *self.fixed], self.path)

    def check_variables(self, names: list[str]) -> list[str]:
        """Fields that `names` ask for, components in place of a vector, or `InputError`."""
        known = [*self.variables, *self.fixed]
        found = [self.check_variable(one) for name in names for one in components(name, known) or [name]]
        return list(dict.fromkeys(found))

    def default_variable(self) -> str:
        """The depth, the largest depth or the surface, else the first field, whether fields change or not."""
        for name in ("depth", self.largest_depth(), "surface_elevation", *self.variables, *self.fixed):
            if name in self.variables or name in self.fixed:
                return name
        raise InputError(f"{self.path} without a field over y and x", allowed="an output file of eagre run")

    def record_at(self, time: str | None) -> int:
        """Index of the record nearest to a time such as ``"2 h"``, or to a date; None is the last one."""
        return nearest_record(self.path, self.times, time, self._since)

    def values(self, name: str, record: int) -> np.ndarray:
        """A field at a record, (ny, nx), float64, south in row 0."""
        item = self.dataset[name]
        item = item.isel(time=record) if "time" in item.dims else item
        values = read_values(item, self.path, "result file").astype(np.float64)
        return values if self.y.size < 2 or self.y[0] < self.y[-1] else values[::-1]

    def bed(self) -> np.ndarray | None:
        """Bed elevation at centres, (ny, nx), m, or None where the file has none."""
        if "bed" in self.dataset and self.dataset["bed"].dims == ("y", "x"):
            return self.values("bed", 0)
        if "bed_elevation" not in self.dataset or self.dataset["bed_elevation"].ndim != 2:
            return None
        values = self.values("bed_elevation", 0)
        if values.shape == (self.y.size + 1, self.x.size + 1):
            values = 0.25 * (values[:-1, :-1] + values[:-1, 1:] + values[1:, :-1] + values[1:, 1:])
        return values

    def wet(self, record: int) -> np.ndarray | None:
        """Cells with water, (ny, nx), or None where the file cannot tell."""
        depth = self.depth(record)
        return None if depth is None else depth > self._thin

    def depth_of(self, name: str, record: int) -> np.ndarray | None:
        """Depth that tells where a field shows water, (ny, nx), m: that of its time, or the largest up to it.

        None where the file cannot tell, and for the ground.
        """
        depth = self.depth(record) if name in self.variables else None
        found = self.largest_depth()
        if depth is not None or found is None or name in ("bed", "bed_elevation"):
            return depth
        return np.nan_to_num(self.values(found, record))

    def flooded(self, name: str, record: int) -> np.ndarray | None:
        """Cells that a field can show, (ny, nx): `wet`, or of maps of a run what ever was.

        None where the file cannot tell, and for what does not change.
        """
        wet, found = self.wet(record), self.largest_depth()
        if name in self.variables and wet is None and found is not None:
            return np.isfinite(self.values(found, record))
        return wet if name in self.variables else None

    def largest_depth(self) -> str | None:
        """Name of the largest depth, where the file has it."""
        for name in (*self.variables, *self.fixed):
            about = self.dataset[name].attrs
            if "time: maximum" in str(about.get("cell_methods", "")) and "depth" in name and about.get("units") == "m":
                return name
        return None

    def depth(self, record: int) -> np.ndarray | None:
        """Depth of water, (ny, nx), m, or None where the file cannot tell."""
        if "depth" in self.variables:
            return np.nan_to_num(self.values("depth", record))
        bed = self.bed()
        if bed is None or "surface_elevation" not in self.variables:
            return None
        return np.nan_to_num(self.values("surface_elevation", record) - bed)

    @cached_property
    def _thin(self) -> float:
        """Depth of a film that is drawn as land, m."""
        depths = [self.depth(record) for record in (0, self.times.size - 1)]
        return THIN_FILM * max(float(depth.max()) for depth in depths if depth is not None)

    def shown(self, name: str, record: int) -> np.ndarray:
        """As `values`, in the unit of `label`."""
        return self.values(name, record) * self._unit(name)[1]

    def label(self, name: str) -> str:
        """Long name and unit of a field: of times the unit that the last record is read best in."""
        return label_of(self.dataset[name].attrs | {"units": self._unit(name)[0]}, name)

    def _unit(self, name: str) -> tuple[str, float]:
        """Unit that a field is drawn in, and its factor."""
        units = str(self.dataset[name].attrs.get("units", ""))
        if units != "s":
            return units, 1.0
        values = np.abs(self.values(name, self.times.size - 1))
        return time_unit(float(np.max(values, initial=0.0, where=np.isfinite(values))))

    def classes(self, name: str) -> dict[float, str]:
        """Meanings of the values of a field of classes, in their order; nothing for other fields."""
        about = self.dataset[name].attrs
        meanings = str(about.get("flag_meanings", "")).split()
        return dict(sorted(zip(map(float, np.atleast_1d(about.get("flag_values", []))), meanings, strict=False)))

    def date(self, record: int) -> str:
        """The date of a record, or an empty text where times have no reference."""
        return date_of(self._since, float(self.times[record]))

    @property
    def _since(self) -> str:
        """Units of the times."""
        return str(self.dataset["time"].attrs.get("units", ""))


@dataclass
class GaugeFile:
    """Series at named points.

    Parameters
    ----------
    path : Path
    times : (n,) array, s
    names : list of str
        Names of the points.
    values : dict
        Variable to array of shape (n, number of points).
    labels : dict
        Variable to long name and units.
    """

    path: Path
    times: np.ndarray
    names: list[str]
    values: dict[str, np.ndarray]
    labels: dict[str, str]
    title: str = ""

    def check_variable(self, name: str | None) -> str:
        """`name` or the default one, or `InputError` with the names in the file."""
        if name is None:
            return "surface_elevation" if "surface_elevation" in self.values else next(iter(self.values))
        return known_variable(name, [*self.values], self.path)


@dataclass
class _AtHeights:
    """Values at heights and several times."""

    path: Path
    times: np.ndarray
    heights: np.ndarray
    values: dict[str, np.ndarray]
    labels: dict[str, str]
    title: str
    since: str = ""

    def check_variable(self, name: str | None) -> str:
        """`name` or the first, or `InputError` with the names in the file."""
        return known_variable(next(iter(self.values)) if name is None else name, [*self.values], self.path)

    def record_at(self, time: str | None) -> int:
        """Index of the record nearest to a time such as ``"2 h"``, or to a date; None is the last one."""
        return nearest_record(self.path, self.times, time, self.since)


@dataclass
class ProfileFile(_AtHeights):
    """Averages over height at several times.

    Parameters
    ----------
    path : Path
    times : (n,) array, s
    heights : (nz,) array, m
    values : dict
        Variable to array of shape (n, nz).
    labels : dict
        Variable to long name and units.
    title : str
    since : str
        Units of the times, with the date that they count from.
    """


@dataclass
class NumberFile:
    """Numbers over time that belong to no place, such as extremes of a run.

    Parameters
    ----------
    path : Path
    times : (n,) array, s
    values : dict
        Name to array of shape (n,).
    labels : dict
        Name to long name and units.
    title : str
    """

    path: Path
    times: np.ndarray
    values: dict[str, np.ndarray]
    labels: dict[str, str]
    title: str

    def check_variable(self, name: str) -> str:
        """`name`, or `InputError` with the names in the file."""
        return known_variable(name, [*self.values], self.path)


@dataclass
class SpectrumFile(_AtHeights):
    """Spectral densities over wave numbers at heights and times.

    Parameters
    ----------
    path : Path
    times : (n,) array, s
    heights : (nz,) array, m
    values : dict
        Variable to array of shape (n, nz, nk).
    labels : dict
        Variable to long name and units.
    title : str
    since : str
        Units of the times, with the date that they count from.
    wave_numbers : dict
        Variable to wave numbers, (nk,), rad/m, and their label.
    """

    wave_numbers: dict[str, tuple[np.ndarray, str]] = field(default_factory=dict)


@dataclass
class TrackFile:
    """Tracks of particles.

    Parameters
    ----------
    path : Path
    times : (n,) array, s
    x, y : (n, particles) array, m
    title : str
    """

    path: Path
    times: np.ndarray
    x: np.ndarray
    y: np.ndarray
    title: str


def known_variable(name: str, known: list[str], path: Path) -> str:
    """`name`, or `InputError` with the names that a file has."""
    if name not in known:
        near = nearest(name, known) or known[0]
        allowed = f"in {path.name}: {', '.join(known)}"
        raise InputError(f'variable "{name}"{did_you_mean(name, known)}', allowed=allowed, fix=f"--variable {near}")
    return name


def nearest_record(path: Path, times: np.ndarray, time: str | None, units: str = "") -> int:
    """Index of the record nearest to a time such as ``"2 h"``, ``"first"`` or ``"last"``; None is the last one.

    Where the `units` of the times have a date, `time` may be a date, such as ``"2026-01-31T06:30"``.
    """
    if time is None or time == "last":
        return times.size - 1
    if time == "first":
        return 0
    first, last = float(times[0]), float(times[-1])
    date, zero = parse_date(time), date_of_zero(units)
    if date is None:
        seconds = parse_quantity(number_or_text(time), "time", "--time")
    elif zero is None:
        allowed = f"a time, {path.name} has no dates: {first:g} s to {last:g} s"
        raise InputError(f"--time {time}", allowed=allowed, fix=f'--time "{last:g} s"')
    else:
        seconds = (date - zero).total_seconds()
    slack = 0.5 * (last - first) / max(times.size - 1, 1) + 1e-9
    if not first - slack <= seconds <= last + slack:
        allowed = f"{first:g} s to {last:g} s in {path.name}"
        if zero is not None:
            allowed += f", or {date_of(units, first)} to {date_of(units, last)}"
        raise InputError(f"--time {time}", allowed=allowed, fix=f'--time "{last:g} s"')
    return int(np.argmin(np.abs(times - seconds)))


def number_or_text(text: str) -> float | str:
    """A plain number of SI units as a number; any other text as it is."""
    try:
        return float(text)
    except ValueError:
        return text
