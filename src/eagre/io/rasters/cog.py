"""Maps as Cloud-Optimised GeoTIFF, written by rasterio."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.io.files import writing
from eagre.io.records.output_paths import Growing

TILE = 512
"""Side of a tile, pixels; rasters larger than it get overviews, each with half the pixels along x and y."""


@dataclass(frozen=True, eq=False)
class Band:
    """One band of a GeoTIFF.

    Parameters
    ----------
    values : (ny, nx) array
        Row 0 = south; NaN where there is no value.
    description : str
        Name of the band in a GIS.
    units : str
        UDUNITS string.
    tags : mapping
        Additional metadata of the band.
    """

    values: np.ndarray
    description: str
    units: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Frame:
    """Position and size of the cells of a map.

    Parameters
    ----------
    x0, y0 : float
        South-west edge, m.
    dx, dy : float
        Cell size, m.
    crs : rasterio.crs.CRS or None
    """

    x0: float
    y0: float
    dx: float
    dy: float
    crs: Any = None

    @classmethod
    def from_centres(cls, x: np.ndarray, y: np.ndarray, crs: Any = None) -> Frame:
        """Return the frame of cells with evenly spaced, increasing centres; cells of a single row or column are square.

        Raises
        ------
        InputError
            If there is only one cell.
        """
        steps = [float(axis[-1] - axis[0]) / (axis.size - 1) if axis.size > 1 else 0.0 for axis in (x, y)]
        if not any(steps):
            raise InputError(
                "a map of one cell",
                allowed="two or more cells",
                problem="The cell size is unknown, because the map has only one cell.",
            )
        dx, dy = steps[0] or steps[1], steps[1] or steps[0]
        return cls(float(x[0]) - 0.5 * dx, float(y[0]) - 0.5 * dy, dx, dy, crs)

    def transform(self, rows: int) -> Any:
        """Return the rasterio transform of an array of `rows` rows from north to south."""
        from rasterio.transform import Affine

        return Affine(self.dx, 0.0, self.x0, 0.0, -self.dy, self.y0 + rows * self.dy)


def write_geotiff(
    path: Path,
    frame: Frame,
    shape: tuple[int, int],
    bands: Iterable[Band],
    count: int,
    *,
    tags: Mapping[str, str] | None = None,
    classes: bool = False,
) -> None:
    """Write compressed single-precision bands with nodata NaN and overviews; an incomplete file is never left behind.

    Parameters
    ----------
    path : Path
        Path that `eagre.io.files.output_file` has checked; an existing file is replaced at the end.
    frame : Frame
    shape : (ny, nx)
    bands : iterable of Band
        `count` bands.
    tags : mapping, optional
        Metadata of the file.
    classes : bool
        Overviews show one of the pixels below, not their mean: for class numbers.

    Raises
    ------
    WriteError
        If the disk is full.
    """
    import rasterio

    ny, nx = shape
    output = Growing(path, there=False)
    options: dict[str, Any] = {
        "driver": "COG",
        "height": ny,
        "width": nx,
        "count": count,
        "dtype": "float32",
        "nodata": np.nan,
        "crs": frame.crs,
        "transform": frame.transform(ny),
        "compress": "deflate",
        "predictor": "yes",
        "blocksize": TILE,
        "overview_resampling": "nearest" if classes else "average",
        "bigtiff": "if_safer",
    }
    try:
        with writing(path, safe="an existing file is unchanged", fix="free disk space"):
            with _gdal_errors(), rasterio.open(output.current_path, "w", **options) as file:
                file.update_tags(AREA_OR_POINT="Area", **(tags or {}))
                for number, band in enumerate(bands, 1):
                    file.write(np.ascontiguousarray(band.values[::-1], np.float32), number)
                    file.set_band_description(number, band.description)
                    file.set_band_unit(number, band.units)
                    file.update_tags(number, **band.tags)
            output.take_name()
    finally:
        output.discard()


@contextmanager
def _gdal_errors() -> Iterator[None]:
    """Convert errors of rasterio about failed writes of GDAL to `OSError`."""
    from rasterio._err import CPLE_BaseError

    try:
        yield
    except (CPLE_BaseError, SystemError) as error:
        text = str(error) if isinstance(error, CPLE_BaseError) else "no reason given"
        raise OSError(f"GDAL stopped ({text}): a full disk, a quota or a folder that cannot be written") from error
