"""Contents of result files: fields, series at gauges, profiles over height, scalars, spectra and particle tracks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from eagre.plots.data.fields import FieldFile
from eagre.plots.data.selection import known_variable, nearest_record

__all__ = ["FieldFile", "GaugeFile", "NumberFile", "ProfileFile", "SpectrumFile", "TrackFile"]


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
    title : str
    axis : str
        Label of the abscissa if it is not time: spectra have ``"frequency (Hz)"``, in `times`.
    """

    path: Path
    times: np.ndarray
    names: list[str]
    values: dict[str, np.ndarray]
    labels: dict[str, str]
    title: str = ""
    axis: str = ""

    def check_variable(self, name: str | None) -> str:
        """Return `name` or the default variable, or raise `InputError` with the names in the file."""
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
        """Return `name` or the default variable, or raise `InputError` with the names in the file."""
        default = "theta" if "theta" in self.values else next(iter(self.values))
        return known_variable(default if name is None else name, [*self.values], self.path)

    def record_at(self, time: str | None) -> int:
        """Return the index of the record nearest to a time such as ``"2 h"``, or to a date; None is the last one."""
        return nearest_record(self.path, self.times, time, self.since)


@dataclass
class ProfileFile(_AtHeights):
    """Horizontal means over height at several times.

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
        Units of the times, with their reference date.
    """


@dataclass
class NumberFile:
    """Scalar time series, such as domain maxima of a run.

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
        """Return `name`, or raise `InputError` with the names in the file."""
        return known_variable(name, [*self.values], self.path)


@dataclass
class SpectrumFile(_AtHeights):
    """Spectral densities over wavenumber at heights and times.

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
        Units of the times, with their reference date.
    wave_numbers : dict
        Variable to angular wavenumbers, (nk,), rad/m, and their label.
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
