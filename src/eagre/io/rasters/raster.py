"""Container for rasters read from files, and checks of their coordinates that all formats share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import numpy as np

from eagre.constants import FARTHEST, LONGEST, SHORTEST
from eagre.errors import InputError

WEB_MERCATOR = 3857
METRES_PER_DEGREE = 111_320.0


@dataclass(frozen=True, eq=False)
class Dem:
    """Values on a raster of rectangular cells in projected metres.

    Parameters
    ----------
    elevation : (ny, nx) array
        Cell values, float64, row 0 = SOUTH, NaN where the file has no data. Metres, positive up, from `read_dem`;
        in the file's units from `read_raster`.
    x0, y0 : float
        South-west EDGE of the raster (the outer corner of its first cell), m.
    dx, dy : float
        Cell size, m, > 0.
    crs : str, optional
        Coordinate reference system, ``"EPSG:n"`` or WKT.
    name : str
        Source of the raster, for error messages.
    units : str, optional
        Units of the values, if the file declares them.
    positive : str, optional
        ``"up"`` or ``"down"``, if the file declares the direction.
    variable : str, optional
        Name of the variable of a NetCDF file.

    Raises
    ------
    InputError
        If the values are not a 2-D array or a cell size is not a positive number.
    """

    elevation: np.ndarray
    x0: float
    y0: float
    dx: float
    dy: float
    crs: str | None = None
    name: str = "DEM"
    units: str | None = None
    positive: str | None = None
    variable: str | None = None

    def __post_init__(self) -> None:
        values = np.ascontiguousarray(self.elevation, dtype=np.float64)
        if values.ndim != 2 or values.size == 0:
            raise InputError(
                f"{self.name}: values of shape {values.shape}",
                allowed="a 2-D array (ny, nx)",
                problem=f"The values of {self.name} are not a two-dimensional array.",
            )
        for size in ("dx", "dy"):
            value = getattr(self, size)
            if not SHORTEST <= value <= LONGEST:
                allowed = f"a length in metres, > 0 ({SHORTEST:g} to {LONGEST:g})"
                raise InputError(
                    f"{self.name}: {size} = {value}",
                    allowed=allowed,
                    problem=f"The cell size {size} of {self.name} is not valid.",
                )
        for axis in ("x0", "y0"):
            if not abs(getattr(self, axis)) <= FARTHEST:
                allowed = f"metres, at most {FARTHEST:g} from 0"
                raise InputError(
                    f"{self.name}: {axis} = {getattr(self, axis)}",
                    allowed=allowed,
                    problem=f"The origin {axis} of {self.name} is not valid.",
                )
        object.__setattr__(self, "elevation", values)

    @property
    def nx(self) -> int:
        """Number of cells along x."""
        return self.elevation.shape[1]

    @property
    def ny(self) -> int:
        """Number of cells along y."""
        return self.elevation.shape[0]

    @property
    def x(self) -> np.ndarray:
        """x of the cell centres, (nx,), m."""
        return self.x0 + (np.arange(self.nx) + 0.5) * self.dx

    @property
    def y(self) -> np.ndarray:
        """y of the cell centres, (ny,), m, increasing."""
        return self.y0 + (np.arange(self.ny) + 0.5) * self.dy

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """(west, east, south, north) edges, m."""
        return (self.x0, self.x0 + self.nx * self.dx, self.y0, self.y0 + self.ny * self.dy)

    def shifted(self, x: float, y: float) -> Dem:
        """Return the values shifted by `x` m east and `y` m north; the result has no coordinate system."""
        if x == y == 0.0:
            return self
        return replace(self, x0=self.x0 + x, y0=self.y0 + y, crs=None)


@dataclass(frozen=True)
class Around:
    """Target of a raster: a raster in another coordinate system is read without conversion and reprojected later.

    Parameters
    ----------
    crs : str
        ``"EPSG:n"`` or WKT, in metres.
    extent : (west, east, south, north), m, or None
        Region to read; None reads the whole raster.
    """

    crs: str
    extent: tuple[float, float, float, float] | None = None

    def differs(self, crs: Any) -> bool:
        """Return whether a rasterio CRS is known and differs from this coordinate system."""
        raster_crs = parse_crs(self.crs)
        return bool(crs) and raster_crs is not None and crs != raster_crs

    def bounds(self, crs: Any) -> tuple[float, float, float, float]:
        """Return (west, south, east, north), in another coordinate system, of a rectangle that contains `extent`."""
        from rasterio.warp import transform_bounds

        assert self.extent is not None
        west, east, south, north = self.extent
        return transform_bounds(parse_crs(self.crs), crs, west, south, east, north, densify_pts=21)

    def nothing(self, name: str) -> InputError:
        """Return the error for a raster that does not overlap the extent."""
        where = "x {:.10g} to {:.10g} m, y {:.10g} to {:.10g} m".format(*self.extent or ())
        return InputError(
            f"{name}, without data in the domain ({where} in {self.crs[:60]})",
            allowed="a raster that overlaps the domain",
            problem=f"The raster {name} does not overlap the domain.",
        )


def rolled(values: np.ndarray, x0: float, dx: float, around: Around) -> tuple[np.ndarray, float]:
    """Shift the columns of a global raster so that its ends are far from the target region.

    `x0` is the west edge. Values are not interpolated between the last and the first column, which usually meet at
    180 degrees.
    """
    columns = values.shape[1]
    if around.extent is None or abs(columns * dx - 360.0) > 1e-6 * columns * dx:
        return values, x0
    from rasterio.warp import transform

    west, east, south, north = around.extent
    [centre] = transform(parse_crs(around.crs), "OGC:CRS84", [0.5 * (west + east)], [0.5 * (south + north)])[0]
    low = centre % 360.0 - 180.0  # of the rolled raster; its middle lies within 0 to 360
    first = round((low - x0) / dx)
    return np.roll(values, -first, axis=1), x0 + first * dx


def metric_crs(
    crs: Any, name: str, centre: tuple[float, float], spacing: float, around: Around | None = None
) -> str | None:
    """Return the text of a projected coordinate system in metres; raise `InputError` for other systems.

    Parameters
    ----------
    crs : rasterio.crs.CRS or None
        Coordinate system of the file.
    name : str
        File name, for the message.
    centre : (x, y)
        Centre of the raster, in the units of `crs`.
    spacing : float
        Cell size in the units of `crs`.
    around : Around, optional
        Coordinate systems that differ from this one are allowed.

    Returns
    -------
    str or None
        ``"EPSG:n"``, or WKT for a system without a code; None if `crs` is None or empty.

    Raises
    ------
    InputError
        For degrees, feet and Web Mercator, with a ``gdalwarp`` command that creates a valid file.
    """
    if not crs:
        return None
    if around is not None and around.differs(crs):
        return f"EPSG:{crs.to_epsg()}" if crs.to_epsg() else crs.to_wkt()
    if crs.is_geographic:
        refuse_degrees(name, centre, spacing)
    code = crs.to_epsg()
    unit, factor = crs.linear_units_factor if crs.is_projected else ("metre", 1.0)
    if abs(factor - 1.0) > 1e-9:
        raise InputError(
            f"{name}: coordinates in {unit}",
            allowed=f"projected coordinates in metres, {_or_warped(_longitude_latitude(crs, centre))}",
            fix=warp_line(name, _longitude_latitude(crs, centre), spacing * factor),
            problem=f"The coordinates of {name} are not in metres.",
        )
    if code == WEB_MERCATOR:
        lon_lat = _longitude_latitude(crs, centre)
        stretch = 1.0 / math.cos(math.radians(lon_lat[1]))
        raise InputError(
            f"{name}: Web Mercator (EPSG:3857), where lengths are {stretch:.2f} times the true lengths",
            allowed=f"a projection with true lengths, such as UTM, {_or_warped(lon_lat)}",
            fix=warp_line(name, lon_lat, spacing / stretch),
            problem=f"The coordinates of {name} are in Web Mercator, which distorts lengths.",
        )
    return f"EPSG:{code}" if code else crs.to_wkt()


def refuse_degrees(name: str, centre: tuple[float, float], spacing: float, guess: bool = False) -> None:
    """Raise `InputError` for longitude and latitude; `centre` and `spacing` are in degrees.

    `guess` is True if the file declares no coordinate system and only the numbers look like degrees.
    """
    what = "coordinates that look like degrees" if guess else "geographic coordinates (degrees)"
    fix = warp_line(name, centre, spacing * METRES_PER_DEGREE, source="EPSG:4326" if guess else "")
    raise InputError(
        f"{name}: {what}, cell size {spacing:.6g}",
        allowed=f"projected coordinates in metres, {_or_warped(centre)}",
        fix=f'coordinates = "metres"   (in [bed], if they are metres)\nelse: {fix}' if guess else fix,
        problem="The file has no coordinate system, and its numbers look like longitudes and latitudes." * guess,
    )


WHERE = "in [grid], or in [basin] of gyres and waves and [domain] of air"
"""Sections of a case that hold the coordinate system, for messages."""


def warp_line(name: str, lon_lat: tuple[float, float], spacing: float, source: str = "") -> str:
    """Return the command that reprojects `name` to the UTM zone of (longitude, latitude), with cells of `spacing` m."""
    size = float(f"{spacing:.2g}")
    files = f"{quote(name)} {quote(name.rsplit('.', 1)[0] + '_utm.tif')}"
    option = f"-s_srs {source} " if source else ""
    return f"gdalwarp {option}-t_srs EPSG:{_utm(lon_lat)} -tr {size:g} {size:g} -r bilinear {files}"


def _or_warped(lon_lat: tuple[float, float]) -> str:
    """Return the alternative: a grid with its own coordinate system, to which rasters are reprojected on reading."""
    crs = f'crs = "EPSG:{_utm(lon_lat)}"'
    return f"or dx, extent and {crs} of such in [grid], {crs} in [basin] or [domain], for which it is warped on reading"


def _utm(lon_lat: tuple[float, float]) -> int:
    """Return the EPSG code of the UTM zone of (longitude, latitude)."""
    longitude, latitude = lon_lat
    zone = int((longitude + 180.0) // 6.0) % 60 + 1
    return (32700 if latitude < 0 else 32600) + zone


def _longitude_latitude(crs: Any, centre: tuple[float, float]) -> tuple[float, float]:
    """Return longitude and latitude of a point given in `crs`."""
    from rasterio.warp import transform

    longitude, latitude = transform(crs, "EPSG:4326", [centre[0]], [centre[1]])[:2]
    return longitude[0], latitude[0]


def parse_crs(text: str | None) -> Any:
    """Return the rasterio CRS of a code or WKT (also in ESRI's dialect); None if it is not valid."""
    if not text:
        return None
    from rasterio import Env
    from rasterio.crs import CRS
    from rasterio.errors import CRSError

    with Env():  # keeps GDAL's own messages off the screen
        try:
            if text.strip().upper().startswith(("PROJCS", "GEOGCS", "COMPD_CS")):
                return CRS.from_wkt(text, morph_from_esri_dialect=True)
            return CRS.from_user_input(text)
        except (CRSError, ValueError, TypeError, AttributeError):  # some strings are parsed as JSON
            return None
