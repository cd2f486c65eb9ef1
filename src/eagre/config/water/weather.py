"""Section [sources.weather]: rain, wind and pressure in space and time from NetCDF files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PlainValidator, ValidationInfo

from eagre.config.section import Section
from eagre.config.toml import literal
from eagre.config.values.types import InputFiles, NoData, key_of, quantity
from eagre.config.water.terrain import Crs
from eagre.errors import InputError
from eagre.terms.weather_wind import AIR_DENSITY, LAWS, MAX_DRAG

if TYPE_CHECKING:
    from eagre.grid import Grid
    from eagre.io.weather.weather import Weather


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
    Field(
        description="levels at stage boundaries: inverse-barometer (rise as the pressure falls) or given (unchanged)",
        examples=["given"],
    ),
]
Drag = Annotated[
    str | float,
    PlainValidator(checked_drag),
    Field(description=f"drag law of the wind: {', '.join(LAWS)}, or a constant coefficient", examples=["garratt"]),
]
LargestDrag = Annotated[
    float, Field(gt=0.0, le=0.01, description="upper bound of the drag coefficient of a law", examples=[MAX_DRAG])
]
AirDensity = Annotated[float, Field(ge=0.5, le=2.0, description="air density, kg/m3", examples=[AIR_DENSITY])]
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

    file: InputFiles = Field(
        description="NetCDF file with a time axis, or a list of files with further times or quantities",
        examples=["era5.nc"],
    )
    rain: Name = Field(
        default=True, description="true (if the file contains it), false, or the name of the variable", examples=["tp"]
    )
    wind: Annotated[bool | list[str], PlainValidator(checked_pair)] = Field(
        default=True,
        description="true (if the file contains it), false, or the names of both components",
        examples=[["u10", "v10"]],
    )
    pressure: Name = Field(
        default=True, description="true (if the file contains it), false, or the name of the variable", examples=["msl"]
    )
    side_levels: SideLevels = "inverse-barometer"
    reference_pressure: Annotated[float, quantity("pressure")] = Field(
        default=101_325.0,
        description="pressure at which levels at stage boundaries equal their prescribed values, Pa",
        examples=["1013.25 hPa"],
    )
    nodata: NoData = Field(default="error", description='"error", or the value of missing rain and wind, m/s')
    crs: Crs | None = Field(
        default=None, description="coordinate system of a file that does not declare it", examples=["EPSG:4326"]
    )
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
