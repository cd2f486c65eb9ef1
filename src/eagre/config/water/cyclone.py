"""Section [sources.cyclone]: wind and pressure of a tropical cyclone from its track."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from eagre.config.section import Section
from eagre.config.values.types import InputFile, one_of, quantity
from eagre.config.values.units import unit_factor
from eagre.config.water.weather import AirDensity, Drag, LargestDrag, SideLevels
from eagre.cyclone import PROFILES
from eagre.errors import InputError
from eagre.terms.weather_wind import AIR_DENSITY, MAX_DRAG

if TYPE_CHECKING:
    from eagre.cyclone import Track
    from eagre.grid import Grid

COLUMNS = {"pressure": "pressure", "wind": "speed", "radius": "length"}  # with their dimensions


class CycloneSection(Section):
    """Tropical cyclone (Holland 1980 or 2010) along a track."""

    track: InputFile = Field(
        description="CSV file: time, lon and lat (or x and y, m), pressure, wind, radius, outer_radius (unit)",
        examples=["track.csv"],
    )
    ambient_pressure: Annotated[float, quantity("pressure")] = Field(
        default=101_300.0, description="ambient sea-level pressure, Pa", examples=["1013 hPa"]
    )
    profile: Annotated[str, one_of(*PROFILES)] = Field(
        default="holland-1980", description="radial wind profile: holland-1980, or holland-2010 (with outer_radius)",
        examples=["holland-2010"],
    )  # fmt: skip
    outer_wind: Annotated[float, quantity("speed")] = Field(
        default=17.491, gt=0.0, description="wind speed at outer_radius for holland-2010, m/s",
        examples=["34 kn"],
    )  # fmt: skip
    side_levels: SideLevels = "inverse-barometer"
    latitude: float | None = Field(
        default=None, ge=-60.0, le=60.0, description="latitude of a track in x and y, degrees north", examples=[20.0]
    )
    drag: Drag = "large-pond"
    largest_drag: LargestDrag = MAX_DRAG
    air_density: AirDensity = AIR_DENSITY

    @property
    def reference_pressure(self) -> float:
        """Pressure at which the water levels at stage boundaries equal their prescribed values, Pa."""
        return self.ambient_pressure

    def read(self, grid: Grid, start_date: datetime | None) -> Track:
        """Read the track in the coordinates of the grid."""
        from eagre.cyclone import Track
        from eagre.io import read_series
        from eagre.io.rasters.lattice import reprojected
        from eagre.io.rasters.raster import parse_crs
        from eagre.io.tables.table import read_table, split_unit

        def column(name: str, dimension: str | None = None) -> Any:
            def scale(unit: str) -> float:
                return unit_factor(unit, dimension) if dimension and unit else 1.0

            return read_series(self.track, value=name, scale=scale, start=start_date, need_start=True)

        names = [split_unit(name)[0].casefold() for name in read_table(self.track).names]
        columns = {name: column(name, dimension) for name, dimension in COLUMNS.items()}
        times = columns["pressure"].times
        if "lon" in names:
            crs = parse_crs(grid.crs)
            if crs is None:
                raise InputError(
                    f"{self.track} in degrees", allowed="a grid with crs", fix='crs = "EPSG:32617" in [grid]'
                )
            latitude = column("lat").values
            x, y = reprojected(parse_crs("OGC:CRS84"), crs, column("lon").values, latitude)
        else:
            x, y = column("x", "length").values, column("y", "length").values
            if self.latitude is None:
                raise InputError(f"{self.track} in x and y", allowed="a latitude", fix="latitude = 20.0")
            latitude = np.full(times.size, self.latitude)
        outer = [None, None]
        if self.profile == "holland-2010":
            radius = column("outer_radius", "length").values
            outer = [np.full(radius.shape, self.outer_wind), radius]
        return Track(times, x, y, latitude, *(columns[name].values for name in COLUMNS), *outer)

    def make(self, grid: Grid, end: float, start_date: datetime | None) -> list[Any]:
        """Create the source terms of a run to `end`, s."""
        from eagre.cyclone import cyclone_fields
        from eagre.terms import WeatherPressure, WeatherWind

        track = self.read(grid, start_date)
        wind_x, wind_y, pressure = cyclone_fields(track, grid, self.ambient_pressure, str(self.track), self.profile)
        pressure.instants.hats[0].covers(0.0, end)
        wind = WeatherWind(wind_x, wind_y, self.drag, self.largest_drag, self.air_density)
        return [wind, WeatherPressure(pressure)]
