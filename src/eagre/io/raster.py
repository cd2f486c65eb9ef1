"""Rasters read from files: the container and the checks of coordinates that every format shares."""

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
        One value a cell, float64, row 0 = SOUTH, NaN where the file has no data. Metres, positive up, when it
        comes from `read_dem`; the file's own units when it comes from `read_raster`.
    x0, y0 : float
        South-west EDGE of the raster (the outer corner of its first cell), m.
    dx, dy : float
        Cell size, m, > 0.
    crs : str, optional
        Coordinate reference system, ``"EPSG:n"`` or WKT.
    name : str
        Where the raster comes from, for error messages.
    units : str, optional
        Units of the values where the file tells them.
    positive : str, optional
        ``"up"`` or ``"down"`` where it is known.
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
        """The same values `x`, `y` m further east and north; moved, they have no known coordinate system."""
        if x == y == 0.0:
            return self
        return replace(self, x0=self.x0 + x, y0=self.y0 + y, crs=None)


@dataclass(frozen=True)
class Around:
    """Where a raster is wanted: of another coordinate system than this, it is read as it is, to be warped.

    Parameters
    ----------
    crs : str
        ``"EPSG:n"`` or WKT, in metres.
    extent : (west, east, south, north), m, or None
        Without one, everywhere.
    """

    crs: str
    extent: tuple[float, float, float, float] | None = None

    def differs(self, crs: Any) -> bool:
        """Whether a rasterio CRS is known and another one."""
        ours = parse_crs(self.crs)
        return bool(crs) and ours is not None and crs != ours

    def bounds(self, crs: Any) -> tuple[float, float, float, float]:
        """(west, south, east, north) in another coordinate system, of a rectangle with all of `extent`."""
        from rasterio.warp import transform_bounds

        assert self.extent is not None
        west, east, south, north = self.extent
        return transform_bounds(parse_crs(self.crs), crs, west, south, east, north, densify_pts=21)

    def nothing(self, name: str) -> InputError:
        """The error for a raster that lies elsewhere."""
        where = "x {:.10g} to {:.10g} m, y {:.10g} to {:.10g} m".format(*self.extent or ())
        return InputError(
            f"{name}, without data in the domain ({where} in {self.crs[:60]})",
            allowed="a raster that overlaps the domain",
            problem=f"The raster {name} does not overlap the domain.",
        )


def turned(values: np.ndarray, x0: float, dx: float, around: Around) -> tuple[np.ndarray, float]:
    """Columns of a raster right around the Earth, from `x0` on, rolled so that its ends lie far from what is wanted.

    Between the last and the first column nothing is interpolated, wherever they are: at 180 degrees as a rule.
    """
    columns = values.shape[1]
    if around.extent is None or abs(columns * dx - 360.0) > 1e-6 * columns * dx:
        return values, x0
    from rasterio.warp import transform

    west, east, south, north = around.extent
    [middle] = transform(parse_crs(around.crs), "OGC:CRS84", [0.5 * (west + east)], [0.5 * (south + north)])[0]
    low = middle % 360.0 - 180.0  # of the rolled raster; its middle lies within 0 to 360
    first = round((low - x0) / dx)
    return np.roll(values, -first, axis=1), x0 + first * dx


def metric_crs(
    crs: Any, name: str, centre: tuple[float, float], spacing: float, around: Around | None = None
) -> str | None:
    """Text of a projected coordinate system in metres; refuse any other.

    Parameters
    ----------
    crs : rasterio.crs.CRS or None
        What the file says.
    name : str
        File, for the message.
    centre : (x, y)
        Middle of the raster, in the units of `crs`.
    spacing : float
        Cell size in the units of `crs`.
    around : Around, optional
        Any system is allowed that differs from this one's.

    Returns
    -------
    str or None
        ``"EPSG:n"``, or WKT where the system has no code; None where `crs` is None or empty.

    Raises
    ------
    InputError
        For degrees, feet and Web Mercator, with the ``gdalwarp`` line that makes a usable file.
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
    """Raise the error for longitude and latitude; `centre` and `spacing` in degrees.

    `guess` is True where no file says so and only the numbers look like it.
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
"""Where a case says which coordinate system its x and y are in."""


def warp_line(name: str, lon_lat: tuple[float, float], spacing: float, source: str = "") -> str:
    """The command that projects `name` to the UTM zone of (longitude, latitude), cells of `spacing` m."""
    size = float(f"{spacing:.2g}")
    files = f"{quote(name)} {quote(name.rsplit('.', 1)[0] + '_utm.tif')}"
    given = f"-s_srs {source} " if source else ""
    return f"gdalwarp {given}-t_srs EPSG:{_utm(lon_lat)} -tr {size:g} {size:g} -r bilinear {files}"


def _or_warped(lon_lat: tuple[float, float]) -> str:
    """The other way: rasters are warped on reading to the cells of a grid in a system of its own."""
    crs = f'crs = "EPSG:{_utm(lon_lat)}"'
    return f"or dx, extent and {crs} of such in [grid], {crs} in [basin] or [domain], for which it is warped on reading"


def _utm(lon_lat: tuple[float, float]) -> int:
    """EPSG code of the UTM zone of (longitude, latitude)."""
    longitude, latitude = lon_lat
    zone = int((longitude + 180.0) // 6.0) % 60 + 1
    return (32700 if latitude < 0 else 32600) + zone


def _longitude_latitude(crs: Any, centre: tuple[float, float]) -> tuple[float, float]:
    """Longitude and latitude of a point given in `crs`."""
    from rasterio.warp import transform

    longitude, latitude = transform(crs, "EPSG:4326", [centre[0]], [centre[1]])[:2]
    return longitude[0], latitude[0]


def parse_crs(text: str | None) -> Any:
    """The rasterio CRS of a code or WKT (ESRI's dialect too); None where it cannot be understood."""
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
        except (CRSError, ValueError, TypeError, AttributeError):  # it takes some texts for JSON
            return None
