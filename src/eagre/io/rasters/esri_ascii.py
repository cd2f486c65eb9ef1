"""ESRI ASCII grids (.asc) and topography files of GeoClaw (topotypes 2 and 3), which share their layout.

A short header precedes the rows of numbers from north to south. GeoClaw writes the value first, as in ``120 ncols``.
"""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import BinaryIO

import numpy as np

from eagre.errors import InputError
from eagre.io.rasters.raster import Around, Dem, metric_crs, parse_crs
from eagre.names import nearest

_KEYS = {
    "ncols": "ncols",
    "nrows": "nrows",
    "xllcorner": "xllcorner",
    "yllcorner": "yllcorner",
    "xllcenter": "xllcenter",
    "yllcenter": "yllcenter",
    "xllcentre": "xllcenter",
    "yllcentre": "yllcenter",
    "mx": "ncols",
    "my": "nrows",
    "xlower": "xllcenter",
    "ylower": "yllcenter",
    "cellsize": "cellsize",
    "dx": "dx",
    "dy": "dy",
    "nodata_value": "nodata",
    "nodata": "nodata",
}
_START = re.compile(rb"(?:[-+.\deE]+\s+)?(?:ncols|nrows|mx|my)\b", re.IGNORECASE)
_DEFAULT_NODATA = -9999.0


def is_esri_ascii(path: Path) -> bool:
    """Return whether a file starts as an ESRI ASCII grid or a topography file of GeoClaw, whatever its suffix."""
    with path.open("rb") as file:
        return _START.match(file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")) is not None


def read_esri_ascii(path: Path, around: Around | None = None) -> Dem:
    """Read an ESRI ASCII grid.

    Parameters
    ----------
    path : Path
        The file; a ``.prj`` file of the same name gives its coordinate system.
    around : Around, optional
        Target: a raster in another coordinate system is read without conversion.

    Returns
    -------
    Dem
        Row 0 = south (the file's last row), values in the file's units.

    Raises
    ------
    InputError
        For a header that lacks a key, numbers that cannot be read, or the wrong number of them.

    Notes
    -----
    ``xllcorner`` is the outer edge of the first cell, ``xllcenter`` its centre, and so is ``xlower`` of GeoClaw.
    ``cellsize`` may have two values, along x and y. ``NODATA_value`` is -9999
    where the header does not give it, which is the format's own default.
    """
    with path.open("rb") as file:
        header = _read_header(file, path)
        nx, ny = _count(header, "ncols", path), _count(header, "nrows", path)
        values = _read_numbers(file, path)
    if values.size != nx * ny:
        raise InputError(
            f"{path}: {values.size} numbers after the header",
            allowed=f"ncols x nrows = {nx} x {ny} = {nx * ny} values; the file is truncated or its header is wrong",
            problem=f"The number of values in {path} differs from ncols x nrows.",
        )
    dx, dy = _cell_size(header, path)
    x0, y0 = _origin(header, "x", dx, path), _origin(header, "y", dy, path)
    nodata = header.get("nodata", _DEFAULT_NODATA)
    values[_is_nodata(values, nodata)] = np.nan
    centre = (x0 + 0.5 * nx * dx, y0 + 0.5 * ny * dy)
    crs = metric_crs(_sidecar_crs(path), str(path), centre, dx, around)
    return Dem(values.reshape(ny, nx)[::-1], x0, y0, dx, dy, crs, str(path))


def _is_nodata(values: np.ndarray, nodata: float) -> np.ndarray:
    """Return where `values` equals `nodata` to seven digits, the precision of single-precision writers."""
    return ~np.isfinite(values) | (np.abs(values - nodata) <= 1e-6 * abs(nodata))


def _read_header(file: BinaryIO, path: Path) -> dict[str, float]:
    """Read key-value lines; leave `file` at the first number of the data."""
    header: dict[str, float] = {}
    while True:
        start = file.tell()
        line = file.readline(4096)
        fields = line.decode("latin-1").replace("\u00ef\u00bb\u00bf", "").split()
        if not line:
            raise InputError(
                f"{path}: no numbers after the header",
                allowed="an ESRI ASCII grid",
                problem=f"The file {path} has no values after the header.",
            )
        if not fields:
            continue
        name, numbers = _split(fields)
        if name is None:
            file.seek(start)
            return header
        key = _KEYS.get(name.lower())
        if len(numbers) == 2 and key == "cellsize" and all(map(math.isfinite, numbers)):
            header["dx"], header["dy"] = numbers
            continue
        value = numbers[0] if len(numbers) == 1 else None
        if value is not None and not math.isfinite(value) and key != "nodata":
            value = None
        if key is None or value is None:
            near = nearest(name, _KEYS) if key is None else key
            raise InputError(
                f"{path}: header line {' '.join(fields)[:60]!r}",
                allowed="ncols, nrows, xllcorner or xllcenter, yllcorner or yllcenter, cellsize, NODATA_value, "
                "each with one finite number",
                fix=f"{near}  NUMBER" if near else "",
                problem=f"A header line of {path} is not valid.",
            )
        header[key] = value


def _split(columns: list[str]) -> tuple[str | None, list[float]]:
    """Return the key and the numbers of a header line, the key first or last; no key for a line of data."""
    if _number(columns[0]) is None:
        name, values = columns[0], columns[1:]
    elif columns[-1].lower() in _KEYS:
        name, values = columns[-1], columns[:-1]
    else:
        return None, []
    numbers = [number for number in map(_number, values) if number is not None]
    return name, numbers if len(numbers) == len(values) else []


def _number(word: str) -> float | None:
    """Return `word` as a number, or None."""
    try:
        return float(word)
    except ValueError:
        return None


def _count(header: dict[str, float], key: str, path: Path) -> int:
    """Return an integer >= 1 from the header."""
    value = header.get(key)
    if value is None or value < 1 or value != int(value):
        got = "no" if value is None else f"{value:g} as"
        raise InputError(
            f"{path}: {got} {key} in the header",
            allowed="an integer >= 1",
            fix=f"{key}  100",
            problem=f"The header of {path} has no valid {key}.",
        )
    return int(value)


def _cell_size(header: dict[str, float], path: Path) -> tuple[float, float]:
    """Return (dx, dy) from ``cellsize``, or from ``dx`` and ``dy``."""
    dx = header.get("dx", header.get("cellsize"))
    dy = header.get("dy", header.get("cellsize"))
    if dx is None or dy is None or not (dx > 0 and dy > 0):
        raise InputError(
            f"{path}: no cell size > 0 in the header",
            allowed="cellsize, or dx and dy",
            fix="cellsize  10.0",
            problem=f"The header of {path} has no positive cell size.",
        )
    return dx, dy


def _origin(header: dict[str, float], axis: str, size: float, path: Path) -> float:
    """Return the outer edge of the first cell along `axis`."""
    if f"{axis}llcorner" in header:
        return header[f"{axis}llcorner"]
    if f"{axis}llcenter" in header:
        return header[f"{axis}llcenter"] - 0.5 * size
    raise InputError(
        f"{path}: no {axis}llcorner in the header",
        allowed=f"{axis}llcorner or {axis}llcenter",
        fix=f"{axis}llcorner 0",
        problem=f"The header of {path} has neither {axis}llcorner nor {axis}llcenter.",
    )


def _read_numbers(file: BinaryIO, path: Path) -> np.ndarray:
    """Return all numbers from the current position to the end of `file`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromfile(file, dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError) as error:
            line, word = _first_bad_word(path)
            comma = "," in word
            raise InputError(
                f"{path}: {word[:40]!r} in line {line}",
                allowed="numbers with a decimal point, separated by blanks" if comma else "numbers separated by blanks",
                fix=word[:40].replace(",", ".") if comma else "",
                problem=f"Line {line} of {path} has an entry that is not a number.",
            ) from error


def _first_bad_word(path: Path) -> tuple[int, str]:
    """Return the line number and text of the first data word that is not a number."""
    with path.open("r", encoding="latin-1") as file:
        in_data = False
        for number, line in enumerate(file, start=1):
            if not in_data and line.split() and line.split()[-1].lower() in _KEYS:
                continue
            for word in line.split():
                in_data = in_data or _number(word) is not None
                if in_data and _number(word) is None:
                    return number, word
                if not in_data:
                    break
    return 0, "?"


def _sidecar_crs(path: Path):
    """Return the coordinate system in the ``.prj`` file next to `path`, if it exists."""
    for suffix in (".prj", ".PRJ"):
        sidecar = path.with_suffix(suffix)
        if sidecar.is_file():
            crs = parse_crs(sidecar.read_text(encoding="utf-8", errors="replace"))
            if crs is None:
                raise InputError(
                    f"{sidecar}: not a coordinate system in WKT",
                    fix=f"remove or repair {sidecar.name}",
                    problem=f"The file {sidecar} does not contain a coordinate system in WKT.",
                )
            return crs
    return None
