"""Directional spectra from output files of wave models: SWAN and WAVEWATCH III."""

from __future__ import annotations

import gzip
import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.waves.spectra import DirectionalSpectrum, from_nautical, wrapped

DENSITY = 1025.0
"""Density of sea water in SWAN's energy densities, kg m-3 (its default)."""
GRAVITY = 9.81
"""Gravity in SWAN's energy densities, m s-2 (its default)."""
BLOCKS = ("FACTOR", "ZERO", "NODATA")
"""Keywords that start the spectrum of a location: densities, no waves, no data."""


class Header(NamedTuple):
    """Header of a file.

    has_times : bool; sites : number of locations; frequency : (n,), Hz; direction of travel : (m,), rad;
    factor : conversion of the densities to m2/(Hz rad).
    """

    has_times: bool
    sites: int
    frequency: np.ndarray
    direction: np.ndarray
    factor: float


class _Lines:
    """Lines of a file in order, without comments."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("latin-1")
        self.path, self.number = path, 0
        self._lines = text.splitlines()

    def peek(self) -> list[str]:
        """Return the words of the next line that is neither empty nor a comment; empty at the end of the file."""
        while self.number < len(self._lines):
            items = self._lines[self.number].split()
            if items and not items[0].startswith("$"):
                return items
            self.number += 1
        return []

    def next(self, what: str) -> list[str]:
        """Read the next line, which must hold `what`."""
        items = self.peek()
        if not items:
            raise self.error(f"the end of the file instead of {what}", "The SWAN file is incomplete.")
        self.number += 1
        return items

    def keyword(self, *allowed: str) -> str:
        """Read a line that starts with one of these keywords; return it in capitals."""
        word = self.next(" or ".join(allowed))[0].upper()
        if word not in allowed:
            raise self.error(f"{word[:40]!r} instead of {' or '.join(allowed)}")
        return word

    def numbers(self, count: int, what: str) -> np.ndarray:
        """Read `count` finite numbers from one or several lines."""
        values: list[float] = []
        while len(values) < count:
            values += self._floats(self.next(what), what).tolist()
        if len(values) > count:
            raise self.error(f"{len(values)} numbers instead of {count}")
        return np.array(values)

    def skip(self, count: int, what: str) -> None:
        """Skip `count` items in one or several lines."""
        while count > 0:
            count -= len(self.next(what))

    def _floats(self, items: Sequence[str], what: str) -> np.ndarray:
        try:
            values = np.array(items, dtype=np.float64)
        except ValueError:
            values = np.full(1, np.nan)
        if not np.isfinite(values).all():
            raise self.error(f"{' '.join(items)[:40]!r} instead of {what}")
        return values

    def column(self, what: str) -> np.ndarray:
        """Read a line with a count, then `count` lines that start with a number."""
        count = self.count(what)
        return np.array([float(self._floats(self.next(what)[:1], what)[0]) for _ in range(count)])

    def count(self, what: str) -> int:
        """Read a line that starts with a positive integer."""
        word = self.next(f"the number of {what}")[0]
        if not (word.isdecimal() and 1 <= int(word) <= len(self._lines)):
            raise self.error(f"{word[:40]!r} as the number of {what}")
        return int(word)

    def error(self, got: str, problem: str = "The file is not a SWAN spectral file, or it is damaged.") -> InputError:
        """Return the error for the line read last."""
        where = f"{self.path}, line {self.number}: {got}"
        return InputError(where, allowed="a spectral file written by SWAN (SPECOUT ... SPEC2D)", problem=problem)


def read_swan(path: Path, time: int = 0, site: int = 0) -> DirectionalSpectrum:
    """Read a directional spectrum from a SWAN spectral file.

    Parameters
    ----------
    path : Path
        SWAN spectral file, optionally compressed by gzip.
    time, site : int
        Index of the time and of the location in the file, from 0; -1 for the last.

    Raises
    ------
    InputError
        If the file is damaged, holds 1-D spectra, or has no such time or location, or no data there.
    """
    lines = _Lines(path)
    header = _read_header(lines)
    blocks: list[list[int]] = []
    while lines.peek():
        if header.has_times and lines.next("a date")[0].upper() in BLOCKS:
            raise lines.error("a spectrum instead of a date")
        blocks.append([_skip_block(lines, header) for _ in range(header.sites)])
        if not header.has_times:
            break
    for name, index, count in (("time", time, len(blocks)), ("site", site, header.sites)):
        if not -count <= index < count:
            held = f"0 to {count - 1} in {path}" if count else f"none: {path} has no spectrum after its header"
            raise InputError(f"{name} = {index}", allowed=held, fix=f"{name} = 0" if count else "")
    values = _read_block(lines, header, blocks[time][site])
    if values is None:
        number = lines.number
        there = [str(k) for k, start in enumerate(blocks[time]) if _read_block(lines, header, start) is not None]
        raise InputError(
            f"site = {site} at time = {time} in {path}: NODATA in line {number}",
            allowed=f"a site with data at that time: {', '.join(there[:20]) or 'none'}",
            fix=f"site = {there[0]}" if there else "",
            problem="SWAN has no spectrum at this site, which is dry or outside its grid.",
        )
    return DirectionalSpectrum(header.frequency, header.direction, values)


def _read_header(lines: _Lines) -> Header:
    """Read the header of a file."""
    lines.keyword("SWAN")
    has_times = lines.peek()[:1] == ["TIME"]
    if has_times:
        lines.keyword("TIME")
        lines.count("the option of time coding")
    lines.keyword("LOCATIONS", "LONLAT")
    sites = lines.count("locations")
    for _ in range(sites):
        lines.next("x and y of a location")
    lines.keyword("AFREQ", "RFREQ")
    frequency = lines.column("frequencies")
    word = (lines.peek() or [""])[0].upper()
    if word == "QUANT":
        raise InputError(
            f"{lines.path}: spectra over frequency alone (SPEC1D)", allowed="spectra over frequency and direction",
            fix="SPECOUT 'point' SPEC2D ABS 'sea.swn'   (in the command file of SWAN)",
            problem="The file holds 1-D spectra of SWAN, whose distribution over directions is not known.",
        )  # fmt: skip
    kind = lines.keyword("NDIR", "CDIR")
    degrees = lines.column("directions")
    direction = from_nautical(degrees) if kind == "NDIR" else wrapped(np.deg2rad(degrees))
    lines.keyword("QUANT")
    if (quantities := lines.count("quantities")) != 1:
        raise lines.error(
            f"{quantities} quantities", "The file holds more than one quantity, so the density is ambiguous."
        )
    kind = lines.keyword("VADENS", "ENDENS")
    lines.next("a unit")
    lines.next("the exception value")
    factor = np.rad2deg(1.0) / (1.0 if kind == "VADENS" else DENSITY * GRAVITY)
    return Header(has_times, sites, frequency, direction, float(factor))


def _skip_block(lines: _Lines, header: Header) -> int:
    """Skip the spectrum of one location; return the number of lines before it."""
    lines.peek()
    offset = lines.number
    if lines.keyword(*BLOCKS) == "FACTOR":
        lines.skip(1 + header.frequency.size * header.direction.size, "a density")
    return offset


def _read_block(lines: _Lines, header: Header, offset: int) -> np.ndarray | None:
    """Return the spectrum after `offset` lines, m2/(Hz rad); None without data."""
    lines.number = offset
    shape = header.frequency.size, header.direction.size
    kind = lines.keyword(*BLOCKS)
    if kind != "FACTOR":
        return np.zeros(shape) if kind == "ZERO" else None
    factor = float(lines.numbers(1, "a factor")[0])
    values = lines.numbers(shape[0] * shape[1], "a density").reshape(shape)
    if factor < 0.0 or (values < 0.0).any():
        raise lines.error("a negative density in the spectrum that ends here")
    return values * factor * header.factor


KINDS = ("swan", "ww3")


def read_directional_spectrum(
    path: str | os.PathLike[str], kind: str, *, time: int = 0, site: int = 0
) -> DirectionalSpectrum:
    """Read a directional spectrum from a file of SWAN or WAVEWATCH III.

    Parameters
    ----------
    path : path-like
        A SWAN spectral file over frequency and direction (``kind="swan"``) or a WW3 point output in NetCDF
        (``kind="ww3"``).
    time, site : int
        Index of the time and of the site in the file, from 0; -1 for the last.

    Raises
    ------
    InputError
        If the file, kind, time or site does not exist, the file is damaged, has no data at this time and site or holds
        1-D spectra, or, for "ww3", if the library `wavespectra` is not installed.
    """
    from eagre.io.files import input_file

    if kind not in KINDS:
        raise InputError(f"kind = {kind!r}", allowed=", ".join(KINDS), fix='kind = "swan"')
    file = input_file(path, "spectrum")
    return read_swan(file, time, site) if kind == "swan" else _read_ww3(file, time, site)


def _read_ww3(file: Path, time: int, site: int) -> DirectionalSpectrum:
    """Read a spectrum of WAVEWATCH III; directions of the library are nautical (coming from, clockwise from north)."""
    from eagre.io.files import read_values

    try:
        library: Any = importlib.import_module("wavespectra")
    except ImportError:
        raise InputError(
            f"{file}, a file of WAVEWATCH III, without the library wavespectra", allowed="an installed wavespectra",
            fix="pip install 'eagre[spectra]'",
        ) from None  # fmt: skip
    try:
        data: Any = library.read_ww3(str(file))["efth"]
    except Exception as error:  # of many kinds: the library raises what its parsers meet
        raise InputError(
            f"{file}, in which wavespectra finds no spectrum ({type(error).__name__})",
            allowed="point output of WAVEWATCH III in NetCDF (efth)", fix='kind = "swan", if the file is of that model',
        ) from error  # fmt: skip
    for name, index in (("time", time), ("site", site)):
        if name in data.dims:
            if not -data.sizes[name] <= index < data.sizes[name]:
                raise InputError(
                    f"{name} = {index}", allowed=f"0 to {data.sizes[name] - 1} in {file}", fix=f"{name} = 0"
                )
            data = data.isel({name: index})
    others = [name for name in data.dims if name not in ("freq", "dir") and data.sizes[name] > 1]
    if others or not {"freq", "dir"} <= set(data.dims):
        got = f"{file}: a spectrum over {', '.join(map(str, data.dims))}"
        raise InputError(got, allowed="spectra over time, site, frequency and direction")
    data = data.squeeze([name for name in data.dims if name not in ("freq", "dir")], drop=True).transpose("freq", "dir")
    values = read_values(data, file).astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError(
            f"{file}: {int((~np.isfinite(values)).sum())} of {values.size} densities without a value",
            allowed="finite numbers", problem=f"The spectrum at time = {time}, site = {site} has missing values.",
        )  # fmt: skip
    return DirectionalSpectrum(data["freq"].values, from_nautical(data["dir"].values), np.rad2deg(1.0) * values)
