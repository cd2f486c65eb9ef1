"""Section [wind] of a barotropic case: wind forcing, steady or time-varying."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import PlainValidator, model_validator

from eagre.config.section import Section, case_key
from eagre.config.values.field_values import NumberField, StressField
from eagre.config.values.signals import NumberSignal, Signal
from eagre.config.values.types import InputFiles, NoData, PositiveMetres, quantity
from eagre.config.water.terrain import Crs
from eagre.config.water.weather import AirDensity, Drag, LargestDrag, checked_pair, weather_of
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.plausible import check_plausible
from eagre.terms.wind import AIR_DENSITY, MAX_DRAG
from eagre.time_varying.series import Series

if TYPE_CHECKING:
    from eagre.time_varying.fields import TimeVaryingField

At = Callable[..., Any]
"""Context manager that adds the path of a key, such as "wind", "curl", to errors."""
Stress = Annotated[float, quantity("stress")]
WINDS = ("curl", "stress", "stress_x and stress_y", "weather")  # alternative sources of the forcing
Pair = Annotated[bool | list[str], PlainValidator(checked_pair)]


def height_of(grid: Grid, periodic: tuple[bool, bool]) -> float:
    """Return the length of a basin along y, m: between the walls, or the period."""
    return (grid.ny if periodic[1] else grid.ny - 1) * grid.dy


def double_gyre(grid: Grid, periodic: tuple[bool, bool]) -> np.ndarray:
    """Return sin(2 pi y / length_y) at the points, (ny, nx); periodic : along x and y."""
    wave = np.sin(2.0 * np.pi * (grid.y - grid.y[0]) / height_of(grid, periodic))
    return np.repeat(wave[:, None], grid.nx, axis=1)


class WindWeatherSection(Section):
    """Time-varying wind stress from NetCDF files, read directly or computed from the wind at 10 m."""

    file: InputFiles = case_key(
        "NetCDF file with a time axis, or a list of files for further times or variables", "era5.nc"
    )
    stress: Pair = case_key(
        "wind stress: true (if the file contains it), false, or the names of both components",
        ["ewss", "nsss"],
        default=True,
    )
    wind: Pair = case_key("wind at 10 m: true, false, or the names of both components", ["u10", "v10"], default=True)
    nodata: NoData = case_key('missing values: "error", or a replacement in N/m2 or m/s', default="error")
    crs: Crs | None = case_key(
        "coordinate reference system of the file, if the file does not define one", "EPSG:4326", default=None
    )
    drag: Drag = "large-pond"
    largest_drag: LargestDrag = MAX_DRAG
    air_density: AirDensity = AIR_DENSITY

    def stresses(self, grid: Grid, start_date: datetime | None) -> tuple[TimeVaryingField, TimeVaryingField]:
        """Return the stress along x and y, N m-2, on the nodes of the cells between the points of a basin."""
        from eagre.models.barotropic.forcing.wind import between_points, stress_of_wind

        choices = {("stress_x", "stress_y"): self.stress, ("wind_x", "wind_y"): self.wind}
        weather = weather_of(self, between_points(grid), start_date, choices, leave_out=("rain", "pressure"))
        if weather.stress_x is not None and weather.stress_y is not None:
            if weather.wind_x is not None:
                got = f"{', '.join(map(str, self.file))} with stress and wind"
                raise InputError(got, allowed="either stress or wind", fix="wind = false")
            return weather.stress_x, weather.stress_y
        assert weather.wind_x is not None and weather.wind_y is not None
        return stress_of_wind(weather.wind_x, weather.wind_y, self.drag, self.largest_drag, self.air_density)


class WindSection(Section):
    """Wind forcing: a curl, the stress of a double gyre, stress components, or a time-varying file."""

    curl: NumberField | None = case_key(
        "curl of the wind stress divided by density and depth, 1/s2", "-1e-17 * sin(y / 1e6)", default=None
    )
    stress: Stress | None = case_key(
        "amplitude tau0 of the double-gyre stress -tau0 / 2 cos(2 pi y / length_y)", "0.05 N/m2", default=None
    )
    stress_x: StressField | None = case_key(
        "eastward wind stress, N/m2", {"file": "stress.nc", "variable": "tauuo", "record": 1}, default=None
    )
    stress_y: StressField | None = case_key(
        "northward wind stress, N/m2; default 0", {"file": "stress.nc", "variable": "tauvo", "record": 1}, default=None
    )
    weather: WindWeatherSection | None = case_key("the section [wind.weather]", default=None)
    factor: NumberSignal = case_key(
        "time-dependent factor of curl, stress, or stress_x and stress_y",
        {"expression": "1 + 0.2 * sin(2 * pi * t / 3.156e7)", "every": "5 d"},
        default=Signal(1.0, "number"),
    )
    density: float = case_key("water density, kg m-3", default=1000.0, gt=0)
    depth: PositiveMetres | None = case_key("water depth; required with a stress", "300 m", default=None)

    @model_validator(mode="after")
    def _one_of_them(self) -> WindSection:
        fields = self.stress_x is not None or self.stress_y is not None
        sources = (self.curl, self.stress, fields or None, self.weather)
        names = [name for name, has in zip(WINDS, sources, strict=True) if has is not None]
        if len(names) != 1:
            none = "neither curl nor stress, nor stress_x and stress_y, nor weather"
            got = f"both {' and '.join(names)}" if names else none
            raise InputError(got, allowed="exactly one of them", fix='stress = "0.05 N/m2"')
        if self.curl is None and self.depth is None:
            raise InputError("stress without depth", allowed="a stress and a depth", fix='depth = "300 m"')
        if self.weather is not None and self.factor != Signal(1.0, "number"):
            raise InputError("factor with weather", allowed="one of them: weather files are time-varying")
        return self

    def make(
        self, grid: Grid, periodic: tuple[bool, bool], end: float, start_date: datetime | None, error_context: At
    ) -> Any:
        """Return the model's `wind_forcing` for a run to `end`, s: a number, an array or a time-varying field."""
        from eagre.models.barotropic.forcing.wind import moving_curl, varying_curl

        if self.depth is not None:
            with error_context("wind", "depth"):
                check_plausible("depth", self.depth, "depth")
        if self.weather is not None:
            assert self.depth is not None
            with error_context("wind", "weather", "file"):
                stresses = self.weather.stresses(grid, start_date)
                stresses[0].instants.hats[0].covers(0.0, end)
                forcing = moving_curl(*stresses, grid, self.density * self.depth, periodic)
                forcing.use(0.0)
                return forcing
        curl = self._curl(grid, periodic, error_context)
        with error_context("wind", "factor"):
            factor = self.factor.resolve(0.0, end, start_date)
        if isinstance(factor, Series) and not factor.is_constant:
            return varying_curl(np.broadcast_to(curl, grid.shape), factor)
        return curl if factor == 1.0 else curl * (factor(0.0) if isinstance(factor, Series) else factor)

    def _curl(self, grid: Grid, periodic: tuple[bool, bool], error_context: At) -> Any:
        """Return the steady forcing curl(tau) / (rho D), 1/s2, a number or (ny, nx)."""
        if self.curl is not None:
            with error_context("wind", "curl"):
                return self.curl.at_centres(grid)
        assert self.depth is not None
        over = self.density * self.depth
        if self.stress is not None:
            with error_context("wind", "stress"):
                check_plausible("wind_stress", self.stress, "stress")
            return -np.pi * self.stress / (over * height_of(grid, periodic)) * double_gyre(grid, periodic)
        return self._curl_of_fields(grid, periodic, error_context) / over

    def _curl_of_fields(self, grid: Grid, periodic: tuple[bool, bool], error_context: At) -> np.ndarray:
        """Return the curl of stress_x and stress_y, (ny, nx), N m-3."""
        from eagre.models.barotropic.inputs import curl_of_stress

        fields: dict[str, Any] = {"stress_x": 0.0, "stress_y": 0.0}
        for name in fields:
            if (value := getattr(self, name)) is not None:
                with error_context("wind", name):
                    fields[name] = value.at_centres(grid)
        return curl_of_stress(**fields, grid=grid, periodic=periodic)
