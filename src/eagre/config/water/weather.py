"""Sections [sources.weather] and [sources.cyclone]: rain, wind and pressure from files or a cyclone track."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import PlainValidator, ValidationInfo

from eagre.config.section import Section, case_key
from eagre.config.toml import literal
from eagre.config.values.types import InputFile, InputFiles, NoData, key_of, quantity
from eagre.config.values.units import unit_factor
from eagre.config.water.terrain import Crs
from eagre.errors import InputError
from eagre.terms.wind import AIR_DENSITY, LAWS, MAX_DRAG

if TYPE_CHECKING:
    from eagre.grid import Grid
    from eagre.io.weather.weather import Weather
    from eagre.time_varying.cyclone import Track


def checked_drag(value: Any, info: ValidationInfo) -> str | float:
    """Return a drag law or a constant drag coefficient."""
    if isinstance(value, str) and value in LAWS:
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 < value <= 0.01:
        return float(value)
    allowed = f"{', '.join(LAWS)}, or a coefficient above 0 and up to 0.01"
    raise InputError(f"{key_of(info)} = {literal(value)}", allowed=allowed, fix='drag = "garratt"')


def _names(value: Any, info: ValidationInfo) -> bool | str:
    if isinstance(value, (bool, str)):
        return value
    raise InputError(
        f"{key_of(info)} = {literal(value)}",
        allowed="false, true, or the name of a variable",
        fix=f'{key_of(info)} = "tp"',
    )


PAIRS = {"wind": '["u10", "v10"]', "stress": '["ewss", "nsss"]'}


def checked_pair(value: Any, info: ValidationInfo) -> bool | list[str]:
    """Return true or false, or the names of both components of a vector."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) for one in value):
        return value
    raise InputError(
        f"{key_of(info)} = {literal(value)}", allowed="false, true, or the names of both components",
        fix=f'{key_of(info)} = {PAIRS.get(key_of(info), PAIRS["wind"])}',
    )  # fmt: skip


SideLevels = Annotated[
    Literal["inverse-barometer", "given"],
    case_key(
        "levels at stage boundaries: inverse-barometer (rise as the pressure falls) or given (unchanged)", "given"
    ),
]
Drag = Annotated[
    str | float,
    PlainValidator(checked_drag),
    case_key(f"drag law of the wind: {', '.join(LAWS)}, or a constant coefficient", "garratt"),
]
LargestDrag = Annotated[float, case_key("upper bound of the drag coefficient of a law", MAX_DRAG, gt=0.0, le=0.01)]
AirDensity = Annotated[float, case_key("air density, kg/m3", AIR_DENSITY, ge=0.5, le=2.0)]
Name = Annotated[bool | str, PlainValidator(_names)]


def weather_of(
    section: Any, grid: Grid, start_date: datetime | None, choices: Mapping[tuple[str, ...], Any],
    leave_out: tuple[str, ...],
) -> Weather:  # fmt: skip
    """Read the weather fields of a section with file, crs and nodata.

    choices : by quantities of `read_weather`: true (if the files contain them), false, or names of variables.
    leave_out : quantities that are not read, in addition to quantities with the choice false.
    """
    from eagre.io.weather.weather import read_weather

    variables: dict[str, str] = {}
    for kinds, value in choices.items():
        if value is False:
            leave_out += kinds
        elif value is not True:
            variables |= dict(zip(kinds, [value] if isinstance(value, str) else value, strict=True))
    nodata = None if section.nodata == "error" else section.nodata
    return read_weather(
        section.file, grid, variables=variables, leave_out=leave_out, crs=section.crs, start=start_date, nodata=nodata
    )


class WeatherSection(Section):
    """Rain, 10 m wind and sea-level pressure from NetCDF files, such as those of ERA5."""

    file: InputFiles = case_key(
        "NetCDF file with a time axis, or a list of files with further times or quantities", "era5.nc"
    )
    rain: Name = case_key("true (if the file contains it), false, or the name of the variable", "tp", default=True)
    wind: Annotated[bool | list[str], PlainValidator(checked_pair)] = case_key(
        "true (if the file contains it), false, or the names of both components", ["u10", "v10"], default=True
    )
    pressure: Name = case_key("true (if the file contains it), false, or the name of the variable", "msl", default=True)
    side_levels: SideLevels = "inverse-barometer"
    reference_pressure: Annotated[float, quantity("pressure")] = case_key(
        "pressure at which levels at stage boundaries equal their prescribed values, Pa",
        "1013.25 hPa",
        default=101_325.0,
    )
    nodata: NoData = case_key('"error", or the value of missing rain and wind, m/s', default="error")
    crs: Crs | None = case_key("coordinate system of a file that does not declare it", "EPSG:4326", default=None)
    drag: Drag = "large-pond"
    largest_drag: LargestDrag = MAX_DRAG
    air_density: AirDensity = AIR_DENSITY

    def read(self, grid: Grid, end: float, start_date: datetime | None) -> Weather:
        """Open the fields, which must cover time 0 to `end`, s, and read their first records."""
        choices = {("rain",): self.rain, ("wind_x", "wind_y"): self.wind, ("pressure",): self.pressure}
        weather = weather_of(self, grid, start_date, choices, leave_out=("stress_x", "stress_y"))
        for field in (weather.rain, weather.wind_x, weather.wind_y, weather.pressure):
            if field is not None:
                field.instants.hats[0].covers(0.0, end)
                field.use(0.0)
        return weather

    def make(self, grid: Grid, end: float, start_date: datetime | None) -> list[Any]:
        """Create the source terms of a run."""
        from eagre.terms import WeatherPressure, WeatherRain, WeatherWind

        weather, terms = self.read(grid, end, start_date), []
        if weather.rain is not None:
            terms.append(WeatherRain(weather.rain))
        if weather.wind_x is not None and weather.wind_y is not None:
            terms.append(WeatherWind(weather.wind_x, weather.wind_y, self.drag, self.largest_drag, self.air_density))
        if weather.pressure is not None:
            terms.append(WeatherPressure(weather.pressure))
        return terms


COLUMNS = {"pressure": "pressure", "wind": "speed", "radius": "length"}  # with their dimensions


class CycloneSection(Section):
    """Tropical cyclone (Holland 1980 or 2010) along a track."""

    track: InputFile = case_key(
        "CSV file: time, lon and lat (or x and y, m), pressure, wind, radius, outer_radius (unit)", "track.csv"
    )
    ambient_pressure: Annotated[float, quantity("pressure")] = case_key(
        "ambient sea-level pressure, Pa", "1013 hPa", default=101_300.0
    )
    profile: Literal["holland-1980", "holland-2010"] = case_key(
        "radial wind profile: holland-1980, or holland-2010 (with outer_radius)", "holland-2010", default="holland-1980"
    )
    outer_wind: Annotated[float, quantity("speed")] = case_key(
        "wind speed at outer_radius for holland-2010, m/s", "34 kn", default=17.491, gt=0.0
    )
    side_levels: SideLevels = "inverse-barometer"
    latitude: float | None = case_key(
        "latitude of a track in x and y, degrees north", 20.0, default=None, ge=-60.0, le=60.0
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
        from eagre.io import read_series
        from eagre.io.rasters.lattice import reprojected
        from eagre.io.rasters.raster import parse_crs
        from eagre.io.tables.table import read_table, split_unit
        from eagre.time_varying.cyclone import Track

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
        from eagre.terms import WeatherPressure, WeatherWind
        from eagre.time_varying.cyclone import cyclone_fields

        track = self.read(grid, start_date)
        wind_x, wind_y, pressure = cyclone_fields(track, grid, self.ambient_pressure, str(self.track), self.profile)
        pressure.instants.hats[0].covers(0.0, end)
        wind = WeatherWind(wind_x, wind_y, self.drag, self.largest_drag, self.air_density)
        return [wind, WeatherPressure(pressure)]
